"""The raw memory of a thread, as text."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.clock import iso_date
from memory_pipeline.records import PROJECT_SCOPE_PREFIX, Entry, Speaker, Task


def render_raw_memory(tasks: Sequence[Task]) -> str:
    """Write tasks and entries as the raw memory. It is made from them alone: there is no second truth."""
    lines: list[str] = []
    for number, task in enumerate(tasks, start=1):
        if lines:
            lines.append("")
        lines += [f"### Task {number}: {task.title}", f"outcome: {task.outcome}"]
        lines += [_render_entry(entry) for entry in task.entries]
    return "\n".join(lines)


def _render_entry(entry: Entry) -> str:
    said = next((line for line in entry.evidence if line.speaker is Speaker.USER), entry.evidence[0])
    condition = f" (when: {entry.condition})" if entry.condition else ""
    where = "" if entry.scope.startswith(PROJECT_SCOPE_PREFIX) else " (everywhere)"
    when = f", {iso_date(said.at)}" if said.at is not None else ""
    return f"- {entry.kind}: {entry.statement}{condition}{where} [{said.speaker}{when}]"
