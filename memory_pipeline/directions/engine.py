"""Finds the directions of a text: those that a word marks as lasting, then those that last by their grammar."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec.structs import replace

from memory_pipeline.directions.clauses import requests_work
from memory_pipeline.directions.company import Company
from memory_pipeline.directions.english import BARE_CORRECTION, ORDER, TROUBLE
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.marked import marked_directions
from memory_pipeline.directions.plain import CONFIRMS, IS_CUSTOM, confirmed, plain_direction, with_first_half
from memory_pipeline.directions.sensed import clauses_of, does_not_last, sensed_direction, whole_of
from memory_pipeline.directions.statement import EVERYWHERE, Direction
from memory_pipeline.directions.words import Sentence, both_ends, own_words, sentences
from memory_pipeline.rivals import names_a_tool, names_rivals
from memory_pipeline.switches import switch_in


def asks_for_work(sentence: Sentence) -> bool:
    """Whether a sentence asks for work or an answer now, or tells of trouble that is to be looked at."""
    return requests_work(sentence) or TROUBLE.search(sentence.masked) is not None


def is_order(text: str) -> bool:
    """Whether a text begins, after "and then please", like an order: with a verb in its plain form."""
    return ORDER.match(text.lower()) is not None


def gives_direction(text: str) -> bool:
    """Whether a prompt holds a direction to keep: the answer of ``find_directions``, without finding all of them.

    What a pattern knows settles it. Only where no sentence has such a word are clauses judged by learnt weights.
    """
    if _ONLY_ASKS.fullmatch(text):
        return False
    company = Company(tuple(sentences(own_words(both_ends(text)))))
    unknown: list[tuple[Sentence, bool]] = []
    corrected = False
    before: Sentence | None = None
    for sentence in company.sentences:
        known = _known(sentence, company, before, corrected=corrected)
        if not known:
            unknown.append((sentence, corrected))
        elif not all(does_not_last(each.text.lower()) for each in known):
            return True
        elif _may_tell_a_switch(sentence.masked):
            unknown.append((sentence, corrected))
        before = sentence
        corrected = BARE_CORRECTION.fullmatch(sentence.masked) is not None
    return any(sensed_direction(sentence, company, corrected=after) for sentence, after in unknown)


def find_directions(text: str, *, by_patterns_alone: bool = False) -> tuple[Direction, ...]:
    """Return the directions of a prompt in its order, each once. What was pasted or quoted gives none.

    ``by_patterns_alone``: only those that a pattern knows, for words of which most were not said by a person.
    """
    if _ONLY_ASKS.fullmatch(text):
        return ()
    return _find(both_ends(text), by_patterns_alone)


#: A short request of one sentence, whose words leave no room for a direction: most prompts are such.
_ONLY_ASKS = Lazy(
    r"(?:please |now |ok |then |can you |could you |i need you to |help me )?(?:fix|run|rerun|explain|add"
    r"|remove|delete"
    r"|refactor|implement|debug|check|look at|rename|move|create|update|change|convert|continue|translate"
    r"|compare|find"
    r"|build|generate|optimi[sz]e|investigate|show me|open|write (?:a|an|the|tests|unit tests)|make (?:a"
    r"|an|the|it|this)"
    r"|split|review|read|try|sort the|set the|increase|reduce|i'm getting"
    r"|the last|looks good"
    r"|you forgot"
    r"|why|what|where|how|who|which|is|are|does|did|show me where)\b(?!.*(?:\b(?:always|never|ever|every"
    r"|each|from"
    r"|before|after"
    r"|when|whenever|if|don[’']?t|do not|not|no|use|we|our|i|and|also|but|btw|remember|prefer|all|my"
    r"|unless|without|by"
    r"|as|only|first|me|one|in our|per|rather|instead|over|should|must|stay|stays|keep|nothing|nobody"
    r"|anything|everything"
    r"|frozen|style|convention)\b|[^\x00-\x7f]|[;:!()=]|[.,]\s|\s[-–—]+\s))[^\n]{0,200}"
    r"|(?:请|帮我|麻烦|再|先|现在)?(?:把|为什么|怎么|看看|看一下|修复|修一下|修改"
    r"|写个|写一个|加个|加一个|添加|实现|解释|跑一下|查一下"
    r"|删掉|删除|优化|生成|翻译)(?!.*[，,。；;：:！!（(\n都别不必统禁以每只永一总务默优尽改一凡遵律])[^\n]{2,40}",
    re.IGNORECASE,
)


def forget_what_was_found() -> None:
    """Ask every text anew: after other weights were chosen."""
    _find.cache_clear()


@lru_cache(maxsize=128)
def _find(text: str, by_patterns_alone: bool) -> tuple[Direction, ...]:
    company = Company(tuple(sentences(own_words(text))))
    found: dict[str, Direction] = {}
    corrected = False
    before: Sentence | None = None  # the sentence before, while nothing was found in it
    for sentence in company.sentences:
        directions = _known(sentence, company, before, corrected=corrected)
        if not by_patterns_alone:
            directions = _sensed(directions, sentence, company, corrected=corrected)
        if found and _LIFTS.match(sentence.masked) and EVERYWHERE.search(sentence.masked):
            last = next(reversed(found))
            found[last] = replace(found[last], everywhere=True)
            directions = []
        for each in directions:
            found.setdefault(each.text.casefold(), each)
        before = sentence if not directions else None
        corrected = BARE_CORRECTION.fullmatch(sentence.masked) is not None
    return tuple(found.values())


#: Says of what was said right before where it holds: "that goes for all my repos".
_LIFTS = Lazy(
    r"(?:and |also |by the way )*(?:(?:this|that|it|the same|same|all of this)\b(?:'s)?|not (?:just"
    r"|only) here)(?: \S+){1,11}$"
    r"|(?:这条|这点|这个(?:规则|要求)|以上|同样)[^，]{2,24}$"
)


def _may_tell_a_switch(masked: str) -> bool:
    """Whether a sentence names tools that take each other's place, or says that one came for another."""
    return names_rivals(masked) or (names_a_tool(masked) and any(switch_in(masked[a:b]) for a, b in clauses_of(masked)))


def _sensed(known: list[Direction], sentence: Sentence, company: Company, *, corrected: bool) -> list[Direction]:
    """What the words of a sentence, taken together, make of what patterns know of it."""
    if known:
        kept = [each for each in known if not does_not_last(each.text.lower())]
        if kept or not _may_tell_a_switch(sentence.masked):
            return [whole_of(kept[0], sentence)] if len(kept) == 1 else kept
    sensed = sensed_direction(sentence, company, corrected=corrected)
    return [whole_of(sensed, sentence)] if sensed is not None else []


def _known(sentence: Sentence, company: Company, before: Sentence | None, *, corrected: bool) -> list[Direction]:
    """What patterns know of one sentence, or of the sentence ``before`` when this one says that it holds."""
    marked = [
        each for each in marked_directions(sentence, corrected=corrected) if not _POINTS_ONLY.match(each.text.lower())
    ]
    if marked and not company.specifies(sentence):
        return [with_first_half(marked[0], sentence, company)] if len(marked) == 1 else marked
    held = None
    holds = CONFIRMS.match(sentence.masked) or IS_CUSTOM.match(sentence.masked)
    if before is not None and (holds or (before.question and _KEEPS_HAPPENING.match(sentence.masked))):
        held = confirmed(before, custom=IS_CUSTOM.match(sentence.masked) is not None)
    if held is not None:
        return [held]
    plain = plain_direction(sentence, company, corrected=corrected)
    return [with_first_half(plain, sentence, company)] if plain else []


#: Says of what was politely asked for right before that it is needed again and again: "it happens every time".
_KEEPS_HAPPENING = Lazy(
    r"(?:because |since )?(?:it|this|that) (?:keeps happening|happens (?:each"
    r"|every) (?:single )?time)\b"
)

#: Says nothing without what it points at.
_POINTS_ONLY = Lazy(
    r"(?:let's )?(?:do|keep|make|use) (?:it|this|that) (?:that|this) way\b|(?:must"
    r"|should) not\b|(?:没有|无一|绝无)例外$"
)
