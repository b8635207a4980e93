"""The page of a user's settings, those that the interface has."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from memory_pipeline.web import settings_calls
from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown, fitting

if TYPE_CHECKING:
    from memory_pipeline.app import App

PATH = "/page/settings"
_SWITCHES = ("generate_memories", "use_memories", "disable_on_external_context")
_NUMBERS = ("min_rate_limit_remaining_percent", "idle_seconds", "min_duration_seconds", "min_result_chars")
_MODELS = ("extract_model", "consolidation_model")
_TOLD = {"saved": "Saved; it holds from the next run on.", "reset": "What a new user starts with holds again."}


def show_settings(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show the settings in force."""
    return _shown(app, asked, told=_TOLD.get(asked.query.get("told", "")))


def change_settings(app: App, asked: Asked) -> Shown | Elsewhere:
    """Store settings; what does not fit is shown again as it was typed, with the reason."""
    if asked.form.get("what") == "reset":
        values: dict[str, Any] = dict.fromkeys((*_SWITCHES, *_NUMBERS, *_MODELS))
    else:
        values = _typed(asked.form)
    try:
        body = fitting(values, settings_calls.SettingsBody)
        settings_calls.change_settings(app, asked.call(body=body))
    except HttpFault as fault:
        return _shown(app, asked, typed=values, fault=str(fault))
    return Elsewhere(path=PATH, query={"told": "reset" if asked.form.get("what") == "reset" else "saved"})


def _typed(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form says: a box that is not ticked does not come with it, and an empty field is none."""
    return {
        **{name: name in form for name in _SWITCHES},
        **{name: form[name].strip() or None for name in (*_NUMBERS, *_MODELS) if name in form},
    }


def _shown(
    app: App, asked: Asked, *, told: str | None = None, typed: Mapping[str, Any] | None = None, fault: str | None = None
) -> Shown:
    now = settings_calls.show_settings(app, asked.call())
    values = {name: getattr(now, name) for name in (*_SWITCHES, *_NUMBERS, *_MODELS)}
    return Shown(
        template="settings",
        values={"values": {**values, **(typed or {})}, "told": told, "fault": fault},
        status=HTTPStatus.OK if fault is None else HTTPStatus.UNPROCESSABLE_ENTITY,
    )


PAGES = (
    Page(name="pageSettings", path=PATH, answer=show_settings),
    Page(name="pageSettingsChange", path=f"{PATH}/change", method="POST", answer=change_settings, back=PATH),
)
