"""Directions that a word marks as lasting: cuts sentences into clauses and looks where one begins, goes on and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from memory_pipeline.directions import english_words
from memory_pipeline.directions.chinese import ZH_DECISIONS, ZH_PREFERENCES
from memory_pipeline.directions.clauses import (
    CJK,
    MEANT_TO_BE_BUILT,
    MOST_STARTS,
    SENTENCE_MAX_CHARS,
    SPECIFIES,
    after_lead,
    is_asked,
)
from memory_pipeline.directions.english import (
    CORRECTED,
    CORRECTION,
    DECISIONS,
    INNER_START,
    NOW_ONLY,
    PREFERENCES,
    REPORTED,
    TROUBLE,
    UNSURE,
    VERBS,
    WANTS,
    V,
)
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.others import OTHERS
from memory_pipeline.directions.segments import cut, turns_over
from memory_pipeline.directions.statement import EVERYWHERE, SETS_SCENE, Direction, state, stated_kind
from memory_pipeline.directions.words import Sentence
from memory_pipeline.records import EntryKind

_GOES_ON = Lazy(
    r"(?:or|nor|even|because|since|so that|so|unless|except|when|whenever|if|before|after|in|for|on|with"
    r"|without|not|never|e\.g|i\.e|such as"
    r"|including|like|instead|then|too|as well|which|where|while|only|etc|to|until|as|by default|regardless"
    r"|at least|at most|no matter"
    r"|from now on|going forward)\b|and (?!please|now|can|could|fix|add|write|implement|create|refactor"
    r"|look|check|tell|show|explain|let|also)"
    r"|(?:直接(?!说)|因为|除非|除了|并且|而且|包括|比如|例如|而不是|要用|要|再|然后|否则|不然|先|才|而|方便|以免|这样)"
)

_SCENE_MAX_CHARS = 60

_MARKS = Lazy(
    r"""\b(?:always|never|ever|from\ (?:now|here|this|today)|forward|henceforth|future|remember|memori[sz]e|memory
        |in\ mind|prefer\w*|rather|like|hate|dislike|stand|stop|quit|avoid|longer|any\ ?more|unless|without|again
        |don[’']?t|not|instead|only|stick|default|we|i|our|team|every\ ?\w*|each|whenever|before|after|when|globally
        |all|any|new|must|should|shall|let[’']?s|let|go|going|decision|decided|option|no|nope|wrong|incorrect|use
        |rule|everywhere|exception|until|next\ time|make\ sure)\b
      | [下总始一永绝不别以今从记务必每统优默尽只用改我就选定决采禁严切请所任凡错应往日后]
      | \b(?:siempre|nunca|partir|adelante|recuerda|prefier\w*|sempre|agora|lembre|prefiro|toujours|jamais|désormais
        |dorénavant|souviens|rappelle|préfère|immer|niemals|nie|jetzt|sofort|nun|zukunft|merk|denk|bevorzuge)\b
      | всегда|никогда|отныне|момента|впредь|запомни|предпочитаю
      | 今後|これ|必ず|常に|絶対|毎回|覚え|앞으로|항상|절대|반드시|기억""",
    re.VERBOSE | re.IGNORECASE,
)


def marked_directions(sentence: Sentence, *, corrected: bool) -> Iterator[Direction]:
    """Yield the directions of one sentence; ``corrected`` says that the sentence before rejected what was done."""
    masked = sentence.masked
    if len(masked) > SENTENCE_MAX_CHARS or not _MARKS.search(masked):
        return
    if is_asked(sentence) or UNSURE.search(masked) or MEANT_TO_BE_BUILT.search(masked):
        return
    correction = corrected or CORRECTION.match(masked) is not None
    segments = cut(masked)
    index = 0
    while index < len(segments):
        start, end = segments[index]
        found = _match_clause(masked, start, end, correction=correction)
        if found is None:
            index += 1
            continue
        kind, begin = found
        if index and SETS_SCENE.match(masked, segments[index - 1][0], segments[index - 1][1]) and begin <= start + 1:
            begin = after_lead(masked, *segments[index - 1])
        if 0 < begin < _SCENE_MAX_CHARS and EVERYWHERE.search(masked, 0, begin):
            begin = after_lead(masked, 0, begin)  # "in all my projects: never …" holds everywhere
        index += 1
        while index < len(segments) and (
            turns_over(masked, segments[index - 1], segments[index])
            or _continues(masked, segments[index], correction=correction)
        ):
            end = segments[index][1]
            index += 1
        if _POINTS_ELSEWHERE.match(masked, begin, end):
            continue
        direction = state(sentence, begin, end, kind=kind, correction=correction)
        if direction is not None:
            yield direction


def _match_clause(masked: str, start: int, end: int, *, correction: bool) -> tuple[EntryKind, int] | None:
    """Find the first place in a segment where a direction begins; return its kind and that place."""
    for begin in islice(_starts(masked, start, end), MOST_STARTS):
        if REPORTED.search(masked, 0, begin) or SPECIFIES.search(masked, 0, begin):
            return None
        if english_words.TASK.match(masked, begin) and SPECIFIES.search(masked, begin, end):
            return None
        kind = _kind_at(masked, begin, end, correction=correction)
        if kind is not None:
            return kind, begin
    return None


def _starts(masked: str, start: int, end: int) -> Iterator[int]:
    led = after_lead(masked, start, end)
    yield led
    if led != start:
        yield start
    for match in INNER_START.finditer(masked, led, end):
        yield after_lead(masked, match.end(), end)


def _kind_at(masked: str, begin: int, end: int, *, correction: bool) -> EntryKind | None:
    clause = masked[begin:end]
    chinese = CJK.search(clause) is not None
    decided = _first(DECISIONS, clause) or (_first(ZH_DECISIONS, clause) if chinese else None)
    stated = None
    if not decided:
        stated = _first(PREFERENCES, clause) or (_first(ZH_PREFERENCES, clause) if chinese else None)
        stated = stated or _first(OTHERS, clause)
    if decided:
        momentary = clause.startswith("let") and _is_momentary(clause, masked)
        return None if momentary else EntryKind.DECISION
    if stated:
        return None if _is_momentary(clause, masked) or _reports_trouble(clause) else stated_kind(clause)
    if (
        correction
        and _first(CORRECTED, clause)
        and not _POINTS.search(clause)
        and not _is_momentary(clause, masked)
        and not TROUBLE.search(clause)
    ):
        is_fact = re.match(r"(?:the|our|my)\s|(?:端口|版本|分支|路径|地址|默认|文件|目录|命令)", clause)
        return EntryKind.DECISION if is_fact else EntryKind.PREFERENCE
    return None


_POINTS = Lazy(r"\b(?:it|this|that|these|those|them|here|there|again|something|anything)\b|[这那它]")


def _first(patterns: tuple[str, ...], clause: str) -> re.Match[str] | None:
    return _any_of(patterns).match(clause)


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern that matches where any of a group does; compiled when a text first needs it."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_LASTING = Lazy(
    r"always|never|from now on|remember|every|each|whenever|总是|永远|以后|今后|每次|记住|一律|始终|从现在|务必"
)


def _is_momentary(clause: str, masked: str) -> bool:
    """Whether the clause is bound to this very moment or place, and no word makes it last."""
    if _LASTING.search(clause):
        return False
    if re.search(NOW_ONLY, clause) or re.search(
        r"这次|这一次|暂时|目前先|今天|现在先|这里先|先别|这个(?:函数|文件|方法|地方|类|测试)", clause
    ):
        return True
    if re.match(r"把|帮", clause) or re.search(r"这里(?!都|的|统一)", clause):
        return True
    return bool(re.search(r"\bhere\b", clause) and not re.search(r"\bwe\b", masked))


def _reports_trouble(clause: str) -> bool:
    """Whether what looks like a rule reports how something misbehaves."""
    if not TROUBLE.search(clause):
        return False
    ordered = re.match(rf"(?:please )?(?:always|never|don't|do not|remember|make sure|(?:{VERBS}))\b", clause)
    return not (
        ordered
        or re.search(r"\b(?:must|should|have to)\b|必须|务必|不要|绝不|一律|统一|不得|记住|记得|都要|以后|禁止", clause)
    )


def _continues(masked: str, segment: tuple[int, int], *, correction: bool) -> bool:
    """Whether a further segment still belongs to the direction before it."""
    start, end = segment
    if re.match(r"(?:and )?(?:now|please|first|also|thanks)\b", masked[start:end]):
        return False
    if _match_clause(masked, start, end, correction=correction) is not None:
        return False
    if _GOES_ON.match(masked, start, end):
        return True
    words = masked[start:end].split()
    return len(words) <= 2 and not re.match(V, masked[start:end]) and masked[start:end].isascii()


_POINTS_ELSEWHERE = Lazy(
    rf"{WANTS}?(?:(?:never|always) \w+ (?:it|this|that|these|those|them)$"
    rf"|(?:please )?{V} (?:it|this|that|these|those|them)\b(?! \w+ (?:instead|not))|.*, (?:please )?(?:fix|find"
    r"|investigate|debug) (?:it|this|that)$|if (?:the|an?|it|this|that)\b)"
)
