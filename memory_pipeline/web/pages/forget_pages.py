"""The pages that forget: first what would go, then, said once more, for good, with a receipt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from memory_pipeline.errors import UsageError
from memory_pipeline.web import documents, forget_calls
from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown, fitting

if TYPE_CHECKING:
    from memory_pipeline.app import App

PATH = "/page/forget"
#: What can be named -> how that is told.
KINDS: Mapping[str, str] = {
    "match": "whatever holds these words",
    "memory": "a memory, by its id",
    "thread": "a session or task, by its id",
    "entry": "an entry, by its id",
    "scope": "all of a scope",
}


def ask(app: App, asked: Asked) -> Shown | Elsewhere:
    """Ask what to forget; an address may name it already."""
    named = next(((kind, asked.query[kind]) for kind in KINDS if asked.query.get(kind)), ("match", ""))
    return _asking(app, *named)


def preview(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show exactly what would go. Nothing is changed."""
    kind, which = _named(asked.form)
    try:
        goes = _forgotten(app, asked, kind, which, dry_run=True)
    except (HttpFault, UsageError) as error:
        return _asking(app, kind, which, fault=str(error))
    return _previewed(kind, which, goes)


def forget(app: App, asked: Asked) -> Shown | Elsewhere:
    """Forget what was previewed, and show the receipt; where something else would go by now, show that instead."""
    kind, which = _named(asked.form)
    goes = _forgotten(app, asked, kind, which, dry_run=True)
    if "sure" not in asked.form:
        return _previewed(
            kind, which, goes, fault="Nothing was forgotten: tick that it can't be undone, if you mean it."
        )
    if asked.form.get("seen") != _mark(goes):
        return _previewed(kind, which, goes, fault="Nothing was forgotten: what goes has changed. Look at it again.")
    return Shown(template="forgot", values={"goes": _forgotten(app, asked, kind, which, dry_run=False)})


def _named(form: Mapping[str, str]) -> tuple[str, str]:
    kind = form.get("kind", "")
    if kind not in KINDS:
        raise HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", "this form names nothing that can be forgotten")
    return kind, form.get("which", "").strip()


def _forgotten(app: App, asked: Asked, kind: str, which: str, *, dry_run: bool) -> documents.ForgetAnswer:
    body = fitting({kind: which, "dry_run": dry_run}, forget_calls.ForgetBody)
    return forget_calls.forget(app, asked.call(body=body))


def _asking(app: App, kind: str, which: str, *, fault: str | None = None) -> Shown:
    return Shown(
        template="forget",
        values={
            "kinds": KINDS,
            "kind": kind,
            "which": which,
            "scopes": app.store.memories.scopes(),
            "fault": fault,
        },
        status=HTTPStatus.OK if fault is None else HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _previewed(kind: str, which: str, goes: documents.ForgetAnswer, *, fault: str | None = None) -> Shown:
    return Shown(
        template="forget_preview",
        values={"kinds": KINDS, "kind": kind, "which": which, "goes": goes, "seen": _mark(goes), "fault": fault},
        status=HTTPStatus.OK if fault is None else HTTPStatus.CONFLICT,
    )


def _mark(goes: documents.ForgetAnswer) -> str:
    """Return a mark of what would go, which differs when something else would."""
    return hashlib.sha256(msgspec.json.encode(goes)).hexdigest()


PAGES = (
    Page(name="pageForget", path=PATH, answer=ask),
    Page(name="pageForgetPreview", path=f"{PATH}/preview", method="POST", answer=preview, back=PATH),
    Page(name="pageForgetForGood", path=f"{PATH}/for-good", method="POST", answer=forget, back=PATH),
)
