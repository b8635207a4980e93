"""The calls about a user's settings, and the flags of one task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from memory_pipeline.errors import ConfigError
from memory_pipeline.records import TASK_THREAD_PREFIX
from memory_pipeline.settings import GENERATE, USE, SettingOrigin
from memory_pipeline.web import documents
from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.endpoints import Call, Endpoint
from memory_pipeline.web.task_calls import check_name

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.settings import InForce

_EXTERNAL = "gates.external_context"
_EXTRACT_MODEL = "model.extract_model"
_CONSOLIDATION_MODEL = "model.consolidation_model"
#: The keys that a user sees, and what they set.
_KEYS: Mapping[str, str] = {
    "generate_memories": GENERATE,
    "use_memories": USE,
    "disable_on_external_context": _EXTERNAL,
    "min_rate_limit_remaining_percent": "gates.min_rate_limit_remaining_percent",
    "idle_seconds": "gates.idle_seconds",
    "min_duration_seconds": "gates.min_duration_seconds",
    "min_result_chars": "gates.min_result_chars",
    "extract_model": _EXTRACT_MODEL,
    "consolidation_model": _CONSOLIDATION_MODEL,
}

Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=31_536_000)]
Chars = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Model = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$")]


class SettingsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to set. What is left out stays as it is; null lets what a new user has hold again."""

    generate_memories: bool | UnsetType | None = UNSET
    use_memories: bool | UnsetType | None = UNSET
    disable_on_external_context: bool | UnsetType | None = UNSET
    min_rate_limit_remaining_percent: Percent | UnsetType | None = UNSET
    idle_seconds: Seconds | UnsetType | None = UNSET
    min_duration_seconds: Seconds | UnsetType | None = UNSET
    min_result_chars: Chars | UnsetType | None = UNSET
    extract_model: Model | UnsetType | None = UNSET
    consolidation_model: Model | UnsetType | None = UNSET


class FlagsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The switches of one task. What is left out stays as it is; null follows the user's setting."""

    use: bool | UnsetType | None = UNSET
    generate: bool | UnsetType | None = UNSET


def show_settings(app: App, call: Call) -> documents.SettingsDocument:
    """Show the settings in force."""
    del call
    return _document(app.settings().in_force())


def change_settings(app: App, call: Call) -> documents.SettingsDocument:
    """Change settings; returns those in force then."""
    settings = app.settings()
    for name, value in _given(call.body):
        key = _KEYS[name]
        now = settings.in_force()
        if value is None:
            if now.of(key).origin is SettingOrigin.WHOLE:
                settings.unset(key)
        elif value != getattr(_document(now), name):
            # What holds already is not set anew: sending back what was read pins nothing.
            _set(app, key, _value_of(key, value))
    app.regate()
    return _document(app.settings().in_force())


def set_flags(app: App, call: Call) -> documents.FlagsDocument:
    """Switch use and generation on or off for one task, which need not be known yet."""
    task_id = call.path["task_id"]
    check_name(task_id, "the id of a task")
    thread_id = f"{TASK_THREAD_PREFIX}{task_id}"
    settings = app.settings()
    for name, value in _given(call.body):
        key = {"use": USE, "generate": GENERATE}[name]
        if value is None:
            settings.unset(key, thread_id=thread_id)
        else:
            _set(app, key, value, thread_id=thread_id)
    app.regate()
    thread = app.store.threads.get(thread_id)
    scope = thread.scope if thread is not None else None
    now = app.settings().in_force()
    return documents.FlagsDocument(
        task_id=task_id,
        use=now.flag(USE, thread_id),
        generate=now.flag(GENERATE, thread_id),
        may_use=now.may_use(scope=scope, thread_id=thread_id),
        may_generate=now.may_generate(scope=scope, thread_id=thread_id),
    )


def _given(body: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    for name in body.__struct_fields__:
        value = getattr(body, name)
        if value is not UNSET:
            yield name, value


def _set(app: App, key: str, value: Any, *, thread_id: str | None = None) -> None:
    try:
        app.settings().set(key, value, thread_id=thread_id)
    except ConfigError as error:
        raise HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "refused", str(error)) from error


def _value_of(key: str, value: Any) -> Any:
    if key == _EXTERNAL:
        return "skip" if value else "withhold"
    return value


def _document(now: InForce) -> documents.SettingsDocument:
    values = {name: now.of(key).value for name, key in _KEYS.items()}
    values["disable_on_external_context"] = values["disable_on_external_context"] == "skip"
    values["extract_model"] = values["extract_model"] or None
    values["consolidation_model"] = values["consolidation_model"] or None
    return documents.SettingsDocument(**values)


ENDPOINTS = (
    Endpoint(
        name="showSettings",
        method="GET",
        path="/users/me/auto-memory-settings",
        summary="Show your settings as they are in force.",
        answer=documents.SettingsDocument,
        run=show_settings,
    ),
    Endpoint(
        name="changeSettings",
        method="PUT",
        path="/users/me/auto-memory-settings",
        summary="Change settings. What is left out stays as it is; null lets what a new user has hold again.",
        body=SettingsBody,
        answer=documents.SettingsDocument,
        run=change_settings,
    ),
    Endpoint(
        name="setTaskFlags",
        method="POST",
        path="/tasks/{task_id}/auto-memory-flags",
        summary="Switch use and generation on or off for one task; null follows your settings.",
        body=FlagsBody,
        answer=documents.FlagsDocument,
        run=set_flags,
    ),
)
