"""Labels: what a draft is to what is already remembered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from memory_pipeline.contradiction import stands_against
from memory_pipeline.entries import are_of_one_family, have_one_goal, is_persons_word
from memory_pipeline.likeness import code_in, likeness, same_condition, same_statement, tells_a_switch
from memory_pipeline.nearness import StatementIndex
from memory_pipeline.records import DraftLabel, Entry, EntryKind, Memory, MemoryStatus

#: From here on a draft says, in other words or with more, what a memory says.
_REFINES_FROM = 0.45
#: What is less alike is not worth showing beside a draft.
_SHOWN_FROM = 0.3
_MOST_SHOWN = 3

#: Where a statement given for comparison has no scope, it is compared with drafts of every scope.
_ANY_SCOPE = "*"

_PASSING = re.compile(
    r"\b(?:for now|right now|just now|for the moment|at the moment|this time|just this once|only this once|temporarily"
    r"|today(?!'s)|tonight|tomorrow|yesterday|this (?:week|month|sprint|session|branch|pull request|pr|commit|morning"
    r"|afternoon|evening)|in the meantime|until (?:then|later|further notice|tomorrow|tonight|next|the end of|monday"
    r"|tuesday|wednesday|thursday|friday|saturday|sunday)|work in progress|wip)\b"
    r"|暂时|目前先|眼下|今天|今晚|明天|昨天|这次|这一次|本次|临时(?!文件|目录|文件夹|表|变量|分支|数据)"
    r"|这周|本周|这个月|本月|现在先|先别",
    re.IGNORECASE,
)
#: How things stand: that passes, unless it is the case for which a rule is made.
_STANDING = re.compile(
    r"\b(?:is|are) (?:still |currently |now )*(?:failing|broken|down|red|blocked|stuck|pending|unreachable)\b"
    r"|(?:目前|当前|现在|还|仍)[^，。；,;]{0,12}?(?:坏|失败|不通过|连不上|打不开|用不了|报错)(?!的\w)|还没修好|挂了"
    r"|正在(?:调试|排查|修|等)",
    re.IGNORECASE,
)
_CASE = re.compile(
    r"\b(?:if|when|whenever|once|unless|while|as long as|in case|that(?= (?:is|are)\b)|which)\b[^,;.:]*"
    r"|(?:如果|要是|假如|若|一旦|万一|(?<![应适])当(?![前时天中])|只要|除非)[^，。；,;]*"
    r"|[^，。；,;]*(?:的话|的时候)|[^，。；,;]*挂了(?=[要就时后再才先也]|之后|以后)",
    re.IGNORECASE,
)
#: Commands, and titles of tasks in the words of their time.
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|「[^」]*」")


class Known(Struct, frozen=True, kw_only=True):
    """A statement that a draft is compared with: a memory, or one given in a file."""

    known_id: str
    statement: str
    condition: str = ""
    kind: EntryKind | None = None  # None: may be of any kind
    scope: str | None = None  # None: may hold anywhere
    thread_ids: frozenset[str] = frozenset()
    is_persons_word: bool = False


class Labelled(Struct, frozen=True, kw_only=True):
    """The label of one draft."""

    label: DraftLabel
    rationale: str
    nearest: tuple[str, ...] = ()  # most alike first
    contradicted: tuple[Known, ...] = ()
    is_independent: bool = False  # of a confirm: it is from another session than what it confirms


def known_of(memories: Iterable[Memory], *, is_persons: Callable[[Memory], bool]) -> list[Known]:
    """Return the active ones of the memories, as drafts are compared with them."""
    return [
        Known(
            known_id=memory.memory_id,
            statement=memory.statement,
            condition=memory.condition,
            kind=memory.kind,
            scope=memory.scope,
            thread_ids=frozenset(memory.thread_ids),
            is_persons_word=is_persons(memory),
        )
        for memory in memories
        if memory.status is MemoryStatus.ACTIVE
    ]


class Labeller:
    """Labels drafts against what is known. Building it costs once what is known; each draft, the few that are near."""

    def __init__(
        self, known: Iterable[Known], *, lines_of: Callable[[Known], frozenset[str]] = lambda _known: frozenset()
    ) -> None:
        """``lines_of`` tells the hashes of the lines that a known one rests on: a copied session confirms nothing."""
        self._lines_of = lines_of
        self._known = {one.known_id: one for one in known}
        self._index = StatementIndex()
        for one in self._known.values():
            self._index.put(one.known_id, one.scope or _ANY_SCOPE, one.statement)

    def label(self, entry: Entry, *, is_flagged: bool = False) -> Labelled:
        """Say what a draft is; ``is_flagged`` when a curator's model saw a contradiction that no rule sees."""
        near = sorted(
            ((likeness(one.statement, entry.statement), one) for one in self._near(entry)),
            key=lambda item: (-item[0], item[1].known_id),
        )
        nearest = tuple(one.known_id for alike, one in near if alike >= _SHOWN_FROM)[:_MOST_SHOWN]
        # What failed, and how it was mended, is told of the past: that it passed is no reason to forget it.
        if entry.kind is not EntryKind.FAILURE and is_passing(f"{entry.statement} {entry.condition}"):
            return Labelled(label=DraftLabel.EPHEMERAL, rationale="holds for the moment only", nearest=nearest)
        by_person = is_persons_word(entry)
        contradicted = tuple(
            one
            for _, one in near
            if not have_one_goal(one, entry)
            and stands_against(one, entry, known_by_person=one.is_persons_word, by_person=by_person)
        )
        if contradicted:
            ids = ", ".join(one.known_id for one in contradicted)
            others = tuple(known_id for known_id in nearest if known_id not in {one.known_id for one in contradicted})
            return Labelled(
                label=DraftLabel.CONFLICT,
                rationale=f"can't hold together with {ids}",
                nearest=(*(one.known_id for one in contradicted), *others)[: max(_MOST_SHOWN, len(contradicted))],
                contradicted=contradicted,
            )
        if is_flagged:
            rationale = "the model that curates sees a contradiction"
            return Labelled(label=DraftLabel.CONFLICT, rationale=rationale, nearest=nearest)
        return self._agreeing(entry, near, nearest)

    def _agreeing(self, entry: Entry, near: list[tuple[float, Known]], nearest: tuple[str, ...]) -> Labelled:
        for _, one in near:
            if _may_be_of_one_family(one, entry) and _say_the_same(one, entry):
                is_independent = self._is_independent(one, entry)
                whence = "in another session" if is_independent else "in the same session, or a copy of it"
                others = tuple(known_id for known_id in nearest if known_id != one.known_id)
                return Labelled(
                    label=DraftLabel.CONFIRM,
                    rationale=f"says what {one.known_id} says, {whence}",
                    nearest=(one.known_id, *others)[:_MOST_SHOWN],
                    is_independent=is_independent,
                )
        for alike, one in near:
            if alike >= _REFINES_FROM and _may_be_of_one_family(one, entry) and not _tells_of_other_code(one, entry):
                return Labelled(
                    label=DraftLabel.REFINE, rationale=f"is much like {one.known_id}, and not the same", nearest=nearest
                )
        return Labelled(label=DraftLabel.NEW, rationale="nothing that is remembered says it", nearest=nearest)

    def _is_independent(self, one: Known, entry: Entry) -> bool:
        lines = {line.line_sha256 for line in entry.evidence}
        return entry.thread_id not in one.thread_ids and not lines & self._lines_of(one)

    def _near(self, entry: Entry) -> list[Known]:
        ids = [*self._index.near(entry.scope, entry.statement), *self._index.near(_ANY_SCOPE, entry.statement)]
        return [self._known[known_id] for known_id in ids]


#: Where something begins it does not end: "from today on" lasts.
_BEGINS = re.compile(
    r"\b(?:from|starting|beginning|as of|since)(?: (?:now|right))?(?: on)?(?: (?:with|in))? (?:today|tomorrow|yesterday"
    r"|this (?:week|month|sprint|morning))\b|(?:从|自)(?:今天|明天|昨天|这周|本周|这个月|本月|这次)(?:起|开始)?",
    re.IGNORECASE,
)

#: That something was changed, and when: what was done one day holds after it.
_CHANGED = re.compile(
    r"\b(?:moved|switched|migrated|changed|replaced|swapped|dropped|converted|upgraded|raised|lowered|retired"
    r"|adopted|settled|landed|went|gave up|ended up|left|parted|ported|rebuilt|banned|removed|superseded|was yesterday"
    r"|(?:is|are) (?:history|out|gone|dead))\b|[换改移迁](?:成|到|用|为|掉)?了|(?:弃用|下线)了|退役|接替",
    re.IGNORECASE,
)
_LATELY = re.compile(
    r"\b(?:yesterday|today|this (?:week|month|sprint|morning|afternoon))\b|昨天|今天|这周|本周|这个月|本月",
    re.IGNORECASE,
)


def is_passing(text: str) -> bool:
    """Whether a statement holds for the moment only. What it quotes does not count."""
    said = _BEGINS.sub(" ", _QUOTED.sub(" ", text))
    if _CHANGED.search(said) is not None and tells_a_switch(said):
        said = _LATELY.sub(" ", said)
    return _PASSING.search(said) is not None or _STANDING.search(_CASE.sub(" ", said)) is not None


def _tells_of_other_code(one: Known, entry: Entry) -> bool:
    known, told = code_in(one.statement), code_in(entry.statement)
    return bool(known and told) and not known & told


def _say_the_same(one: Known, entry: Entry) -> bool:
    return same_condition(one.condition, entry.condition) and same_statement(one.statement, entry.statement)


def _may_be_of_one_family(one: Known, entry: Entry) -> bool:
    return one.kind is None or are_of_one_family(one.kind, entry.kind)
