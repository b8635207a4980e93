"""The first page: what runs, what waits and why, what it may cost, what was learnt and used; and running a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_pipeline.seeing.status import status_document
from memory_pipeline.web import run_calls
from memory_pipeline.web.pages.chart import HEIGHT, WIDTH, chart_of
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown

if TYPE_CHECKING:
    from memory_pipeline.app import App

_DAYS = 30


def show_overview(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show what is going on."""
    now = app.clock.now()
    # Looking through every folder of logs takes long; `status` and `doctor` do it.
    status = status_document(asked.user.config, now=now, find_folder_problems=lambda _config: ())
    chart = chart_of(app.store.activity.days(now=now, count=_DAYS))
    return Shown(
        template="overview",
        values={"status": status, "chart": chart, "chart_size": (WIDTH, HEIGHT), "now": now, "days": _DAYS},
    )


def run(app: App, asked: Asked) -> Shown | Elsewhere:
    """Run both phases once, and show what they did."""
    body = run_calls.RunBody(force="force" in asked.form)
    return Shown(template="ran", values={"ran": run_calls.run(app, asked.call(body=body))})


PAGES = (
    Page(name="pageOverview", path="/", answer=show_overview),
    Page(name="pageRun", path="/page/run", method="POST", answer=run, is_run=True),
)
