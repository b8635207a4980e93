"""Cuts a sentence at its commas and dashes, but keeps both halves of one rule together."""

from __future__ import annotations

import re

from memory_pipeline.directions.clauses import after_lead
from memory_pipeline.directions.english import V
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.statement import REMEMBER

_SEGMENT_END = Lazy(r",\s+|，|\s[-–—]{1,3}\s|——|,(?=[\u4e00-\u9fff])")

_ELLIPTIC = Lazy(
    rf"(?:and |but )?(?:(?:never|not|no) (?!{V}|longer\b|more\b|mind\b)\S+(?: \S+){{0,3}}$|instead of "
    r"|rather than |over |unless |except |even |nor )"
    r"|(?:and |y |et |und |e )?(?:nunca|jamais|nie|niemals) \S+$|(?:而不是|而非|除非|除了|不要$|不是)"
)

_USES = Lazy(
    r"(?:.*\s)?(?:always |only |please |we |i )*(?:use|using|prefer|choose|stick (?:to|with)|run)\s|.*(?:用"
    r"|使用|统一|优先)"
)

_REFUSES = Lazy(
    r"(?:please )?(?:don't use|do not use|never use|stop using|avoid) |(?:不要|别|不再|禁止)(?:再)?(?:用|使用)"
)

_USES_THEN = Lazy(
    r"(?:but |and )?(?:always |please |rather )?(?:use|prefer) |(?:而是|要|请|应该|改|都)*(?:用|使用|改用|换成)"
)

_SCENE_LASTS = Lazy(
    r"(?:from now on(?:wards)?|from here on(?: out)?|from today on|going forward|moving forward|henceforth"
    r"|in (?:the )?future(?: \w+)?|by default|as a (?:general )?rule|once and for all|in general"
    r"|no matter (?:which|what) \w+|regardless of [\w ]+|next time|when(?:ever)?"
    r" i (?:say|ask|type|write|tell)\b[^,]*|if i (?:say|ask)\b[^,]*"
    r"|globally|everywhere|(?:in|across|for|on) (?:this|our|all|every|each|any)(?: of)?(?: (?:my|our"
    r"|the))? (?:projects?|repos?|repository|repositories|codebases?)"
    r"|从现在(?:起|开始)|从今以后|以后|今后|往后|在?(?:所有|每个|任何)(?:的)?(?:项目|仓库)(?:里面?|中)?"
    r"|在?这个(?:项目|仓库)(?:里面?|中)?|请?(?:记住|记得)|(?:whenever|every ?time|each time) [^,]+)"
)

_REFUSES_MORE = Lazy(r"(?:and |but )?(?:never|not|don't|do not|no) |(?:不要|别|绝不|永远不|不用|禁止|不准|不许)")

_REFUSAL = Lazy(
    r"(?:please |and |but |also |we )*(?:never|don't|do not|dont|not|no|avoid|stop)\b|(?:请|也|都|就)*"
    r"(?:不要|别|禁止|不许|不准|绝不|不用|不)"
)

_CONTRARY = Lazy(
    rf"(?:please |and |but |always |instead,? |rather |we )*{V}|(?:always|never|don't|do not|not)\b"
    r"|(?:请|要|都|而是|改|直接|一律|统一|应该)*(?:用|走|使用|改用|换成|给|写|发|提)|(?:不要|别|禁止|不用|不)"
)


def turns_over(masked: str, before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether a segment says the other half of the same rule: "never edit old migrations, always make a new one"."""
    if re.match(r"(?:and )?(?:also|please|now|then|remember)\b|另外|还有", masked[after[0] : after[1]]):
        return False
    refused = _refuses(masked, before)
    return (
        refused is not _refuses(masked, after)
        and _CONTRARY.match(masked, *after) is not None
        and (refused or _refuses(masked, after))
    )


def _refuses(masked: str, segment: tuple[int, int]) -> bool:
    start, end = segment
    return _REFUSAL.match(masked, after_lead(masked, start, end), end) is not None or (
        re.search(r"\b(?:never|don't|do not)\b|不要|别|禁止", masked[start:end]) is not None
    )


def cut(masked: str) -> list[tuple[int, int]]:
    """Cut a sentence at its commas and dashes, but keep what is only half a clause with what it belongs to."""
    segments: list[tuple[int, int]] = []
    start = 0
    for match in [*_SEGMENT_END.finditer(masked), None]:
        end = match.start() if match else len(masked)
        joins = bool(segments) and (
            _ELLIPTIC.match(masked, start, end) is not None
            or _SCENE_LASTS.fullmatch(masked, _after_remember(masked, *segments[-1]), segments[-1][1]) is not None
            or (
                _REFUSES.match(masked, after_lead(masked, *segments[-1]), segments[-1][1]) is not None
                and _USES_THEN.match(masked, start, end) is not None
            )
            or (
                _REFUSES_MORE.match(masked, start, end) is not None
                and _USES.match(masked, after_lead(masked, *segments[-1]), segments[-1][1]) is not None
            )
        )
        if joins:
            segments[-1] = (segments[-1][0], end)
        elif end > start:
            segments.append((start, end))
        start = match.end() if match else end
    return segments


def _after_remember(masked: str, start: int, end: int) -> int:
    start = after_lead(masked, start, end)
    remember = REMEMBER.match(masked, start, end)
    return remember.end() if remember else start
