"""MEMORY.md and memory_summary.md, rendered from the memories. Same memories, same bytes; dates, never ages."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import iso, iso_date
from memory_pipeline.phase2.layout import MEMORY_FILE, SUMMARIES_FOLDER, summary_path
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    STATED_KINDS,
    USER_SCOPE,
    Agent,
    EntryKind,
    IndexedThread,
    Memory,
    SelectedThread,
    Task,
)
from memory_pipeline.statements import one_line

#: Raised whenever the same memories render to other bytes, so that workspaces are rendered anew after an update.
RENDERER_VERSION = 2

MOST_TASKS_SHOWN = 20
MOST_KEYWORDS = 15
MOST_TASK_MARKS = 4
EVERYWHERE = "Everywhere"
GROUP_HEADING = "# Task Group: "
PREFERENCES_HEADING = "## User preferences"
KNOWLEDGE_HEADING = "## Reusable knowledge"
FAILURES_HEADING = "## Failures and how to do differently"


class Saying(Struct, frozen=True, kw_only=True):
    """What a memory said when it was rendered: a line of MEMORY.md alone does not tell all of it."""

    kind: EntryKind
    condition: str
    statement: str
    at: float  # when it was last said

    def as_list(self) -> list[str | float]:
        """Return it as JSON has it."""
        return [self.kind, self.condition, self.statement, self.at]


def read_saying(written: Sequence[Any] | None) -> Saying | None:
    """Read what ``as_list`` gave.

    Raises:
        ValueError, TypeError: it is something else.
    """
    if written is None:
        return None
    kind, condition, statement, at = written
    return Saying(kind=EntryKind(kind), condition=str(condition), statement=str(statement), at=float(at))


#: Returns the tasks of threads, in the order of these.
FindTasks = Callable[[Sequence[SelectedThread]], Sequence[Sequence[Task]]]


class RenderedLine(Struct, frozen=True, kw_only=True):
    """One line of a rendered file, the memory that it tells, and the scope of the group in which it stands."""

    text: str
    memory_id: str | None = None
    scope: str | None = None
    saying: Saying | None = None


class _ShownTask(Struct, frozen=True, kw_only=True):
    """One task of a group, with its number there."""

    number: int
    task: Task
    item: SelectedThread


class Told(Struct, frozen=True, kw_only=True):
    """The active memories, of which only so many are at hand as could stand in a file."""

    memories: Sequence[Memory]  # the greatest worth first: at least all that MEMORY.md can hold
    count: int  # of all
    own: Sequence[Memory]  # those that hold everywhere: at least all that memory_summary.md can hold
    own_count: int  # of all of these
    last_said: Mapping[str, float]  # all scopes, and when the newest of each was said


def told_of(memories: Sequence[Memory]) -> Told:
    """Return active memories, all of which are at hand, as what is told."""
    by_worth = sorted(memories, key=worth, reverse=True)
    own = [memory for memory in by_worth if memory.scope == USER_SCOPE]
    last_said: dict[str, float] = {}
    for memory in memories:
        last_said[memory.scope] = max(memory.last_confirmed, last_said.get(memory.scope, memory.last_confirmed))
    return Told(memories=by_worth, count=len(by_worth), own=own, own_count=len(own), last_said=last_said)


def what_can_fit(by_worth: Iterable[Memory], max_bytes: int) -> list[Memory]:
    """Return the first of these memories, up to the last whose line may fit a file of so many bytes."""
    fitting: list[Memory] = []
    for memory in by_worth:
        max_bytes -= len(_told(memory).encode())
        if max_bytes < 0:
            break
        fitting.append(memory)
    return fitting


def _tasks_held(items: Sequence[SelectedThread]) -> list[Sequence[Task]]:
    return [item.extraction.tasks for item in items]


def render_handbook(
    told: Told,
    threads: Mapping[str, SelectedThread],
    *,
    max_bytes: int,
    tasks_of: FindTasks = _tasks_held,
) -> list[RenderedLine]:
    """Render MEMORY.md from active memories; when not all fit, those that nothing uses and nobody stated give way.

    What the person wrote by hand stands in their own words, with nothing put around them. ``tasks_of`` is asked for
    the tasks of the threads whose tasks are shown, where the threads don't hold them.
    """
    names = scope_names(told.last_said)
    by_worth = what_can_fit(told.memories, max_bytes)[::-1]
    memories = sorted(by_worth, key=lambda memory: (memory.scope, memory.first_seen, memory.memory_id))
    keywords = _Keywords()  # the tasks are the same, however often it is rendered

    # Leaving out in steps keeps this short for a large store; the last step may leave out a few more than needed.
    step = max(1, len(by_worth) // 50)
    rendered: dict[int, list[RenderedLine]] = {}

    def without(steps: int) -> list[RenderedLine]:
        if steps not in rendered:
            gone = {memory.memory_id for memory in by_worth[: steps * step]}
            shown = [memory for memory in memories if memory.memory_id not in gone]
            left_out = told.count - len(shown)
            rendered[steps] = _handbook(shown, threads, names, keywords, tasks_of, left_out=left_out)
        return rendered[steps]

    def size(steps: int) -> int:
        return _size(without(steps))

    if not by_worth or size(0) <= max_bytes:
        return without(0)
    return without(_fewest(size, max_bytes=max_bytes, most=-(-len(by_worth) // step)))


def _fewest(size: Callable[[int], int], *, max_bytes: int, most: int) -> int:
    """Return the least number above 0 at which the size is within bounds, ``most`` where it is at no smaller one.

    The size falls nearly evenly, so that each look tells nearly where the next one is to be.
    """
    too_few, too_large = 0, size(0)
    enough, small = most, 0
    while enough - too_few > 1:
        share = (too_large - max_bytes) / max(too_large - small, 1)
        at = too_few + min(max(math.ceil(share * (enough - too_few)), 1), enough - too_few - 1)
        found = size(at)
        if found <= max_bytes:
            enough, small = at, found
        else:
            too_few, too_large = at, found
    return enough


def render_summary(
    told: Told,
    threads: Iterable[IndexedThread],
    *,
    max_bytes: int,
    unused: Collection[str] = frozenset(),
) -> bytes:
    """Render memory_summary.md: the user's scope only, and one pointer line a project; at most ``max_bytes``.

    Nothing is said of the scopes that are ``unused``: their memories may not be given to tasks.
    """
    # Named as in MEMORY.md, where the unused ones stand too.
    names = scope_names(told.last_said)
    agents = {thread.agent for thread in threads if thread.scope not in unused}
    is_off = USER_SCOPE in unused
    own = [] if is_off else what_can_fit(told.own, max_bytes)
    own_count = 0 if is_off else told.own_count
    projects = [pair for pair in told.last_said.items() if pair[0] != USER_SCOPE and pair[0] not in unused]
    newest_first = sorted(projects, key=lambda project: (-project[1], project[0]))
    kept_own, kept_pointers = len(own), len(projects)
    while True:
        kept = sorted(newest_first[:kept_pointers])
        text = _summary_text(
            own[:kept_own],
            [_pointer(scope, names[scope], newest) for scope, newest in kept],
            agents,
            left_out=own_count - kept_own,
            more_projects=len(projects) - kept_pointers,
            is_off=is_off,
        )
        if len(text.encode()) <= max_bytes or (kept_own == 0 and kept_pointers == 0):
            return text.encode()
        # What the person said everywhere is worth more here than pointers, which MEMORY.md repeats.
        if kept_pointers > 0:
            kept_pointers -= max(1, kept_pointers // 20)
        else:
            kept_own -= max(1, kept_own // 20)


def as_bytes(lines: Sequence[RenderedLine]) -> bytes:
    """Return the text of rendered lines."""
    return "".join(f"{line.text}\n" for line in lines).encode()


def scope_names(scopes: Iterable[str]) -> dict[str, str]:
    """Return a short name for each scope: the last part of a project's key, or as many as tell it apart."""
    parts = {scope: _key_parts(scope) for scope in scopes}
    names: dict[str, str] = {}
    for scope, own in parts.items():
        for length in range(1, len(own) + 1):
            name = "/".join(own[-length:])
            if all(other[-length:] != own[-length:] for known, other in parts.items() if known != scope):
                break
        names[scope] = one_line(name, 80) or "unnamed project"
    taken = Counter(name.casefold() for name in names.values())
    return {scope: f"{name} {_mark(scope)}" if taken[name.casefold()] > 1 else name for scope, name in names.items()}


def _mark(scope: str) -> str:
    """A few letters that tell apart what is still named alike, for example by names that were cut."""
    return hashlib.sha256(scope.encode("utf-8", "replace")).hexdigest()[:6]


def _key_parts(scope: str) -> list[str]:
    if scope == USER_SCOPE:
        return [EVERYWHERE]
    key = scope.removeprefix(PROJECT_SCOPE_PREFIX)
    return [part for part in re.split(r"[/\\]", key) if part] or [key]


def _handbook(
    memories: Sequence[Memory],
    threads: Mapping[str, SelectedThread],
    names: Mapping[str, str],
    keywords: _Keywords,
    tasks_of: FindTasks,
    *,
    left_out: int,
) -> list[RenderedLine]:
    lines: list[RenderedLine] = []
    for scope, group in _by_scope(memories):
        if lines:
            lines.append(RenderedLine(text=""))
        lines += _group(scope, names[scope], group, threads, keywords, tasks_of)
    if left_out:
        note = f"{left_out} more memories did not fit here; `memory-pipeline memory list` shows all of them."
        lines += [RenderedLine(text=""), RenderedLine(text=note)]
    return lines


def _by_scope(memories: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    groups: dict[str, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(memory.scope, []).append(memory)
    return sorted(groups.items(), key=lambda item: (item[0] != USER_SCOPE, item[0]))


def _group(
    scope: str,
    name: str,
    memories: Sequence[Memory],
    threads: Mapping[str, SelectedThread],
    keywords: _Keywords,
    tasks_of: FindTasks,
) -> list[RenderedLine]:
    thread_ids = sorted({thread_id for memory in memories for thread_id in memory.thread_ids})
    items = [threads[thread_id] for thread_id in thread_ids if thread_id in threads]
    tasks = _shown_tasks(memories, items, tasks_of)
    lines = [RenderedLine(text=text) for text in _group_head(scope, name, items)]
    for shown in tasks:
        lines += [RenderedLine(text=text) for text in _task_lines(shown, keywords.of(shown.task))]
    numbers: dict[str, set[int]] = {}
    for shown in tasks:
        for entry in shown.task.entries:
            numbers.setdefault(entry.entry_id, set()).add(shown.number)
    sections = (
        (PREFERENCES_HEADING, [m for m in memories if m.kind in STATED_KINDS]),
        (KNOWLEDGE_HEADING, [m for m in memories if m.kind is EntryKind.KNOWLEDGE]),
        (FAILURES_HEADING, [m for m in memories if m.kind is EntryKind.FAILURE]),
    )
    for heading, section in sections:
        if section:
            lines += [RenderedLine(text=""), RenderedLine(text=heading)]
            lines += [
                RenderedLine(text=_memory_line(m, numbers), memory_id=m.memory_id, saying=_saying_of(m))
                for m in _next_to_one_another(section)
            ]
    return [replace(line, scope=scope) for line in lines]


def _next_to_one_another(memories: Sequence[Memory]) -> list[Memory]:
    """Put memories in the order in which they were first seen, those of one group where the first of them stands."""
    ordered = sorted(memories, key=lambda m: (m.first_seen, m.memory_id))
    groups: dict[str, int] = {}
    places = [groups.setdefault(memory.group, place) if memory.group else place for place, memory in enumerate(ordered)]
    return [memory for _, memory in sorted(zip(places, ordered, strict=True), key=lambda pair: pair[0])]


def _group_head(scope: str, name: str, items: Sequence[SelectedThread]) -> list[str]:
    if scope == USER_SCOPE:
        return [
            f"{GROUP_HEADING}{name}",
            "scope: what the user said holds in every project",
            "applies_to: cwd=any; reuse_rule=safe in every project",
        ]
    folders = sorted({one_line(item.thread.cwd, 200) for item in items if item.thread.cwd})
    shown = ", ".join(folders[:4]) or "unknown"
    key = one_line(scope.removeprefix(PROJECT_SCOPE_PREFIX), 200)
    return [
        f"{GROUP_HEADING}{name}",
        f"scope: work in {key}; use it for any task in this project",
        f"applies_to: cwd={shown}; reuse_rule=only in this project, its clones and its worktrees",
    ]


def _shown_tasks(memories: Sequence[Memory], items: Sequence[SelectedThread], tasks_of: FindTasks) -> list[_ShownTask]:
    """Number the tasks that the group's memories rest on, by thread id; of too many, the newest are shown."""
    resting = {entry_id for memory in memories for entry_id in memory.entry_ids}
    newest_first = sorted(items, key=lambda item: item.extraction.source_updated_at, reverse=True)
    found: list[tuple[SelectedThread, Task]] = []
    while newest_first and len(found) < MOST_TASKS_SHOWN:
        some, newest_first = newest_first[:MOST_TASKS_SHOWN], newest_first[MOST_TASKS_SHOWN:]
        found += [
            (item, task)
            for item, tasks in zip(some, tasks_of(some), strict=True)
            for task in tasks
            if any(entry.entry_id in resting for entry in task.entries)
        ]
    shown = sorted(found[:MOST_TASKS_SHOWN], key=lambda pair: pair[0].thread.thread_id)
    return [_ShownTask(number=number, task=task, item=item) for number, (item, task) in enumerate(shown, start=1)]


def _task_lines(shown: _ShownTask, keywords: Sequence[str]) -> list[str]:
    thread = shown.item.thread
    updated_at = iso(shown.item.extraction.source_updated_at)
    origin = (
        f"cwd={one_line(thread.cwd or '', 200)}, rollout_path={one_line(thread.rollout_path, 500)}, "
        f"updated_at={updated_at}, thread_id={one_line(thread.thread_id, 200)}"
    )
    lines = [
        "",
        f"## Task {shown.number}: {shown.task.title}, {shown.task.outcome}",
        "### rollout_summary_files",
        f"- {summary_path(shown.item)} ({origin})",
    ]
    if keywords:
        lines += ["### keywords", f"- {', '.join(keywords)}"]
    return lines


def _memory_line(memory: Memory, numbers: Mapping[str, Collection[int]]) -> str:
    """Render a memory; ``numbers`` are those of the shown tasks, by entry."""
    tasks = {number for entry_id in memory.entry_ids for number in numbers.get(entry_id, ())}
    marks = "".join(f" [Task {number}]" for number in sorted(tasks)[:MOST_TASK_MARKS])
    when = f" ({iso_date(memory.last_confirmed)})" if memory.last_confirmed else ""
    return f"- {_told(memory)}{when}{marks}"


def _told(memory: Memory) -> str:
    # Words that already stand in the statement are not told twice.
    condition = "" if memory.condition.casefold() in memory.statement.casefold() else memory.condition
    if memory.kind in STATED_KINDS and not memory.by_hand:
        verb = {EntryKind.PREFERENCE: "asked", EntryKind.DECISION: "decided", EntryKind.PROCEDURE: "asked"}[memory.kind]
        lead = f"{as_circumstance(condition)}, the user {verb}" if condition else f"the user {verb}"
        return f'{lead}: "{memory.statement}"'
    return f"{as_circumstance(condition)}: {memory.statement}" if condition else memory.statement


def as_circumstance(condition: str) -> str:
    """Let a condition read on from the list mark: ``when …``, unless it says so itself."""
    first = condition.split(" ", 1)[0].casefold()
    speaks_for_itself = first in _CIRCUMSTANCE_WORDS or not condition.isascii()
    return condition if speaks_for_itself else f"when {condition}"


_CIRCUMSTANCE_WORDS = frozenset(
    (
        *("when", "whenever", "if", "before", "after", "while", "during", "for", "in", "on", "at", "with"),
        *("without", "unless", "until", "once", "as", "by", "every", "each", "from"),
    )
)


def worth(memory: Memory) -> tuple[bool, bool, int, float, str]:
    """How much a memory is worth a line: pinned and stated first, then used, then newest."""
    return (
        memory.pinned,
        memory.kind in STATED_KINDS,
        memory.usage.count,
        max(memory.usage.last_usage or 0.0, memory.last_confirmed),
        memory.memory_id,
    )


def _saying_of(memory: Memory) -> Saying:
    return Saying(kind=memory.kind, condition=memory.condition, statement=memory.statement, at=memory.last_confirmed)


def _size(lines: Sequence[RenderedLine]) -> int:
    return sum(len(line.text.encode()) + 1 for line in lines)


def _pointer(scope: str, name: str, newest: float) -> str:
    key = one_line(scope.removeprefix(PROJECT_SCOPE_PREFIX), 200)
    return f"- {name} ({key}), last on {iso_date(newest)}: {MEMORY_FILE}, `# Task Group: {name}`"


def _summary_text(
    own: Sequence[Memory],
    pointers: Sequence[str],
    agents: Collection[Agent],
    *,
    left_out: int,
    more_projects: int,
    is_off: bool,
) -> str:
    stated = [m for m in own if m.kind in STATED_KINDS]
    tips = [m for m in own if m.kind not in STATED_KINDS]
    names = {"codex": "Codex", "claude": "Claude Code"}
    known = sorted(agent.value for agent in agents)
    lines = ["v1", "", "## User Profile"]
    if is_off:
        lines.append("- The use of memories is switched off (settings.use_memories).")
    elif known:
        lines.append(f"- Works with {' and '.join(names.get(agent, agent) for agent in known)}.")
    else:
        lines.append("- Nothing is remembered yet.")
    lines += ["", "## User preferences"]
    if not stated and not left_out:
        lines.append("- None that hold in every project.")
    lines += [_summary_line(m) for m in stated]
    lines += ["", "## General Tips"]
    lines += [_summary_line(m) for m in tips]
    lines += [
        f"- What holds in one project stands in {MEMORY_FILE}, under its `# Task Group`; grep it by name or keyword.",
        f"- Each task there names its file in {SUMMARIES_FOLDER}/, which tells more.",
    ]
    lines += ["", "## What's in Memory"]
    if not pointers and not more_projects:
        lines.append("- Nothing about a single project yet.")
    lines += pointers
    if more_projects:
        lines.append(f"- {more_projects} more projects, longest not worked on: {MEMORY_FILE}, `# Task Group`")
    if left_out:
        lines.append(f"- {left_out} more that hold everywhere: {MEMORY_FILE}, `# Task Group: {EVERYWHERE}`")
    return "\n".join(lines) + "\n"


def _summary_line(memory: Memory) -> str:
    when = f" ({iso_date(memory.last_confirmed)})" if memory.last_confirmed else ""
    return f"- {_told(memory)}{when}"


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.+/-]*[A-Za-z0-9_+]|[\u4e00-\u9fff]{2,8}")
_COMMON_WORDS = """
a about after again all also always an and any are as at be because been before being but by can could did do does
don't done each every everywhere first for from going had has have how i if in instead into is it it's its just
keep let like make may me more most must my need never new no not now of off on once one only or other our out over
please prefer project projects remember run runs said same see should so some still stop such than that the their
them then there these they this those to too unless until up use used user uses using very want was we were what
when where which while who why will with without work works would yes you your passed failed ended fixed changed
files file error line left out worked working exit code instead
"""
_COMMON = frozenset(_COMMON_WORDS.split())


class _Keywords:
    """The keywords of tasks, found once for each."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Task, list[str]]] = {}

    def of(self, task: Task) -> Sequence[str]:
        """Return the keywords of a task."""
        if id(task) not in self._found:
            # The task is kept with them, so that no other one gets its id.
            self._found[id(task)] = (task, _keywords([task.title, *(entry.statement for entry in task.entries)]))
        return self._found[id(task)][1]


def _keywords(texts: Iterable[str]) -> list[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        for word in _WORD.findall(text):
            folded = word.casefold().strip(".-/")
            if len(folded) > 2 and folded not in _COMMON and not folded.isdigit():
                counts[folded] += 1
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_KEYWORDS]]
