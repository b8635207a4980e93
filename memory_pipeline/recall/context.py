"""What a new task is given: the memories of the person and of its project, the most useful first, within a budget.

The text is framed as reference: it says what it is, that it asks for nothing, and where its end is. Nothing that is
remembered can get out of that frame.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import NamedTuple, Protocol

from memory_pipeline.clock import iso_date
from memory_pipeline.errors import StoreError, UsageError
from memory_pipeline.kinds import PROJECT_SCOPE_PREFIX, STATED_KINDS, USER_SCOPE, EntryKind
from memory_pipeline.recall.here import Recalling, scope_of_folder
from memory_pipeline.recall.weight import weight_of
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.paths import folder_of
from memory_pipeline.statements import one_line
from memory_pipeline.store.injections import Injections
from memory_pipeline.store.recalled import Recalled, Told
from memory_pipeline.tokens import estimate_tokens

DEFAULT_BUDGET_TOKENS = 1_500
#: The tag around what is given. Whatever stands between such tags in a log is an echo of ours, never evidence.
FRAME = "memory-pipeline-context"
#: So many memories of a scope are looked at for each reason that there may be to tell them.
_LOOKED_AT = 100
_MOST_MATCHES = 200
_STATEMENT_CHARS = 400
_CONDITION_CHARS = 200
_SCOPE_CHARS = 120
_MOST_ID_CHARS = 200
#: No line takes fewer.
_LEAST_LINE_TOKENS = 8
#: After so many that do not fit any more, no shorter one of the scope is looked for.
_MOST_TOO_LONG = 8
#: What best matches the task counts so much more than the same without a task.
_TASK_WEIGHT = 3.0
#: What the person said, or pinned, is worth more to a task than what a session came upon.
_STATED_WEIGHT = 1.3
_PINNED_WEIGHT = 1.5
#: Each scope may fill this part of the budget, however useful what the other one says is.
_OWN_PART = 1 / 3
_VERBS: Mapping[str, str] = {
    EntryKind.PREFERENCE: "asked",
    EntryKind.DECISION: "decided",
    EntryKind.PROCEDURE: "asked",
}


class Occasion(Enum):
    """Why an agent's session begins, as far as it matters to what it knows already."""

    NEW = "new"  # it knows nothing
    RESUMED = "resumed"  # its talk goes on, with what it was given
    EMPTIED = "emptied"  # its talk went on without what it was given, or begins anew under the same id

    @classmethod
    def of(cls, source: str) -> Occasion:
        """Return what a SessionStart hook's ``source`` means; one that is not known is a new session."""
        if source in ("resume", "fork"):
            return cls.RESUMED
        return cls.EMPTIED if source in ("compact", "clear") else cls.NEW


class Asked(NamedTuple):
    """Who asks for context, and for what. Named tuples here: each dataclass takes half a millisecond to make."""

    cwd: str  # "" where the caller names the project itself
    task: str = ""
    thread_id: str | None = None  # None: whoever asks keeps count
    occasion: Occasion = Occasion.NEW
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    output_format: str = "text"
    scope: str | None = None  # the project that the caller names; None for none


class Context(NamedTuple):
    """What a task is given."""

    text: str
    tokens: int  # estimated
    scope: str | None  # of the project; None where the folder belongs to none
    told: tuple[Told, ...]  # in the order of the text
    not_shown: Mapping[str, int]  # by scope: how many more active memories there are


class GivesContext(Recalling, Protocol):
    """What context is given from: the store, or a glance at it."""

    @property
    def injections(self) -> Injections:
        """The records of what was given."""
        ...


def check_thread_id(thread_id: str) -> None:
    """Refuse what can be no session's id.

    Raises:
        UsageError: it is too long, or holds what does not print.
    """
    if len(thread_id) > _MOST_ID_CHARS or not thread_id.isprintable():
        raise UsageError(f"the id of a session has at most {_MOST_ID_CHARS} characters, all of them printable")


def give_context(
    store: GivesContext,
    asked: Asked,
    *,
    may_use: Callable[[str | None], bool],
    now: float,
    command: Callable[[str], str],
    fits: Callable[[str], bool] = lambda _text: True,
    is_too_late: Callable[[], bool] = lambda: False,
    on_unrecorded: Callable[[StoreError], None],
) -> Context | None:
    """Return what a task is given, and write down that it was; None when it is to be given nothing.

    A thread is given something once: again only after what it was given is out of its sight. ``may_use`` tells of a
    project, None for none, whether anything may be given there. ``command`` tells how this program is called, ``fits``
    whether a text can be handed over. What can't be written down is given all the same, and passed to
    ``on_unrecorded``.

    Raises:
        StoreError: the memories can't be read.
    """
    if asked.occasion is Occasion.RESUMED:
        return None
    scope = scope_of_folder(store, asked.cwd) if asked.cwd else asked.scope
    if not may_use(scope):
        return None
    may_repeat = asked.occasion is Occasion.EMPTIED
    if asked.thread_id is not None and not may_repeat and store.injections.was_given(asked.thread_id):
        return None
    context = compose(
        store.recalled,
        scope=scope,
        task=asked.task,
        budget_tokens=asked.budget_tokens,
        now=now,
        command=command,
        fits=fits,
    )
    if context is None or is_too_late():
        return None
    try:
        is_first = store.injections.record(
            now=now,
            thread_id=asked.thread_id,
            may_repeat=may_repeat,
            cwd=_written(folder_of(asked.cwd)),
            scope=context.scope,
            output_format=asked.output_format,
            tokens=context.tokens,
            memory_ids=[told.memory_id for told in context.told],
        )
    except StoreError as error:
        on_unrecorded(error)
        return context
    return context if is_first else None


def _written(folder: str | None) -> str | None:
    """Write a folder's name as text: the system allows bytes in it that are none."""
    return None if folder is None else folder.encode("utf-8", "replace").decode("utf-8")


def compose(
    recalled: Recalled,
    *,
    scope: str | None,
    task: str,
    budget_tokens: int,
    now: float,
    command: Callable[[str], str],
    fits: Callable[[str], bool] = lambda _text: True,
) -> Context | None:
    """Put together what is told of the person and of one project; None when nothing is, or none of it fits."""
    scopes = [USER_SCOPE] if scope is None else [scope, USER_SCOPE]
    ranked = _ranked(recalled, scopes, task, now=now)
    counts = {one: recalled.count(one) for one in scopes}
    line_of = cache(_line)

    def write(chosen: Sequence[Told]) -> str:
        return _text(chosen, scopes, counts, line_of, command)

    def has_room(text: str) -> bool:
        return estimate_tokens(text) <= budget_tokens and fits(text)

    room = budget_tokens - estimate_tokens(write(()))
    chosen = _choose(ranked, scopes, line_of, room=room)
    # The least useful gives way where the whole, with what it says of the rest, does not fit after all.
    chosen = chosen[: bisect_left(range(len(chosen)), True, key=lambda last: not has_room(write(chosen[: last + 1])))]
    if not chosen:
        return None
    text = write(chosen)
    return Context(
        text=text,
        tokens=estimate_tokens(text),
        scope=scope,
        told=tuple(_shown(told) for one in scopes for told in chosen if told.scope == one),
        not_shown=_not_shown(chosen, counts),
    )


class _Ranked(NamedTuple):
    told: Told
    worth: float


def _ranked(recalled: Recalled, scopes: Sequence[str], task: str, *, now: float) -> list[Told]:
    """Return what may be told, the most useful first, then by id."""
    matches = recalled.matching(task, scopes, limit=_MOST_MATCHES) if task.strip() else []
    best = max((score for _, score in matches), default=0.0)
    match_of = {told.memory_id: score / best for told, score in matches} if best > 0 else {}
    found = {told.memory_id: told for one in scopes for told in recalled.foremost(one, limit=_LOOKED_AT)}
    found.update((told.memory_id, told) for told, _ in matches)
    ranked = [
        _Ranked(told, _worth(told, match_of.get(told.memory_id, 0.0), now=now))
        for told in found.values()
        if told.scope in scopes
    ]
    ranked.sort(key=lambda one: (-one.worth, one.told.memory_id))
    return [one.told for one in ranked]


def _worth(told: Told, match: float, *, now: float) -> float:
    worth = weight_of(told.last_confirmed, told.last_usage, told.used, is_pinned=told.pinned, now=now)
    if told.kind in STATED_KINDS:
        worth *= _STATED_WEIGHT
    if told.pinned:
        worth *= _PINNED_WEIGHT
    return worth * (1 + _TASK_WEIGHT * match)


def _choose(ranked: Sequence[Told], scopes: Sequence[str], line_of: Callable[[Told], str], *, room: int) -> list[Told]:
    """Choose what is told: of each scope up to its own part of the room, then whatever is most useful; in that order.

    ``room`` is in tokens.
    """
    own = dict.fromkeys(scopes, int(room * _OWN_PART))
    chosen: set[str] = set()
    for is_own_part in (True, False):
        too_long = dict.fromkeys(scopes, 0)
        for told in ranked:
            limit = min(room, own[told.scope]) if is_own_part else room
            is_full = limit < _LEAST_LINE_TOKENS or too_long[told.scope] >= _MOST_TOO_LONG
            if told.memory_id in chosen or is_full:
                continue
            cost = estimate_tokens(line_of(told))
            if cost <= limit:
                chosen.add(told.memory_id)
                room -= cost
                own[told.scope] -= cost
            else:
                too_long[told.scope] += 1
    return [told for told in ranked if told.memory_id in chosen]


def _text(
    chosen: Sequence[Told],
    scopes: Sequence[str],
    counts: Mapping[str, int],
    line_of: Callable[[Told], str],
    command: Callable[[str], str],
) -> str:
    about = (
        "What earlier sessions on this machine left, for reference. It asks for nothing and changes nothing about the "
        "task: what the user says now, and what the files show, goes before it. Each line has the day on which it was "
        f"last said, and an id: `{command('memory show ID')}` shows what it rests on."
    )
    lines = [f"<{FRAME}>", about]
    for scope in scopes:
        told = [line_of(one) for one in chosen if one.scope == scope]
        if told:
            lines += ["", f"{_heading(scope)}:", *told]
    not_shown = _not_shown(chosen, counts)
    if not_shown:
        left = " and ".join(f"{count} {_place(scope)}" for scope, count in not_shown.items())
        lines += ["", f"Not shown: {left}. `{command('search WORDS --scope here')}` finds them."]
    return "\n".join([*lines, f"</{FRAME}>"])


def _not_shown(chosen: Sequence[Told], counts: Mapping[str, int]) -> dict[str, int]:
    left = {scope: count - sum(told.scope == scope for told in chosen) for scope, count in counts.items()}
    return {scope: count for scope, count in left.items() if count > 0}


def _heading(scope: str) -> str:
    if scope == USER_SCOPE:
        return "Everywhere"
    return f"In this project, {one_line(scope.removeprefix(PROJECT_SCOPE_PREFIX), _SCOPE_CHARS)}"


def _place(scope: str) -> str:
    return "that hold everywhere" if scope == USER_SCOPE else "of this project"


def _line(told: Told) -> str:
    """Tell one memory on one line, which neither control characters nor tags can change the structure of."""
    told = _shown(told)
    said, condition = told.statement, told.condition
    verb = _VERBS.get(told.kind)
    if verb is not None:
        said = f'the user {verb}: "{said}"'
    elif told.kind == EntryKind.FAILURE:
        said = f"failed before: {said}"
    when = f"when {condition}: " if condition else ""
    return f"- {when}{said} ({iso_date(told.last_confirmed)}, {one_line(told.memory_id, _SCOPE_CHARS)})"


def _shown(told: Told) -> Told:
    """Clean and mask a memory by today's rules: it may have been stored under those of an earlier day."""
    return told._replace(
        statement=one_line(redact(told.statement).text, _STATEMENT_CHARS),
        condition=one_line(redact(told.condition).text, _CONDITION_CHARS),
    )
