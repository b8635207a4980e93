"""Where a clause begins, and whether it asks: what every reading of a sentence starts from."""

from __future__ import annotations

import re

from memory_pipeline.directions import chinese_plain, english_words
from memory_pipeline.directions.chinese import ZH_LEAD
from memory_pipeline.directions.english import ASKS, LEAD, POLITE_REQUEST
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.words import Sentence


def requests_work(sentence: Sentence) -> bool:
    """Whether a sentence asks for work or an answer now."""
    begin = after_lead(sentence.masked, 0, len(sentence.masked))
    clause = sentence.masked[begin:]
    if sentence.question:
        return POLITE_REQUEST.match(sentence.masked) is None or english_words.TASK.match(clause) is not None
    if CJK.search(clause):
        return chinese_plain.TASK.match(clause) is not None
    return english_words.TASK.match(clause) is not None


CJK = Lazy(r"[\u4e00-\u9fff]")


def is_asked(sentence: Sentence) -> bool:
    """Whether a sentence is a question, and not a request in the form of one."""
    masked = sentence.masked
    if sentence.question:
        match = POLITE_REQUEST.match(masked)
        return match is None or _NOT_POLITE.match(masked, match.end()) is not None
    return ASKS.match(masked) is not None or re.search(r"(?:吗|呢|么)[\s.。]*$", masked) is not None


def is_question(clause: str) -> bool:
    """Whether a clause asks by its words alone, without a mark: "which of the two do you prefer", 配置文件在哪里."""
    return _QUESTION_WORDS.search(clause) is not None


_QUESTION_WORDS = Lazy(
    r"^(?:which|what|who|whose|where|how) "
    r"(?!(?:i|we) (?:want|need|like|said|told|asked|wrote|mentioned)|matters|we (?:want|need))"
    r"|(?:什么|怎么|为何|哪[里个些儿]?|来着|多少|几个|如何)$|^(?:我们|你们?)?为(?:什么|啥|何)"
    r"|(?<!不管)(?<!无论)(?<!不论)(?<!没)(?<!有)什么(?!都|也|时候都)|(?:是不是|要不要|能不能|有没有|还是.{1,14}[好呢])$"
    r"|^一般怎么"
)

_NOT_POLITE = Lazy(
    r"(?:always|never|really|even|still|actually) (?:reproduce|see|get|rely|be|have|trust|happen|tell if"
    r"|know)\b"
)

SENTENCE_MAX_CHARS = 1000  # a longer one was pasted

MOST_STARTS = 12  # places in one segment where a direction is looked for

MEANT_TO_BE_BUILT = Lazy(r"[,;] (?:please |now |so )*(?:implement|build|code|program) (?:that|this|it)\b")

#: What comes after "it should", "users must", "a function that", says what the product shall do.
SPECIFIES = Lazy(
    r"(?:^|[,;:] |\band )(?:it|they|users?|(?:the|a|an|each|every"
    r"|this) (?:new )?[\w-]+)(?: [\w-]+)? (?:should|must"
    r"|will|shall|may)\b(?! (?:be )?(?:fixed))"
    r"|\b(?:explaining|that checks|which|(?:function|rule|script|cache|button|test|option|method|class|cli"
    r"|tool) (?:that|which))\b"
)


def after_lead(masked: str, start: int, end: int) -> int:
    """Pass over the words that lead into a clause and say nothing: "ok, and please"."""
    while True:
        while start < end and masked[start].isspace():
            start += 1
        match = LEAD.match(masked, start, end) or ZH_LEAD.match(masked, start, end)
        if not match or match.end() == start or match.end() >= end:
            return start
        if _zh_negation_follows(masked, match):
            return start
        start = match.end()


def _zh_negation_follows(masked: str, match: re.Match[str]) -> bool:
    """Whether the lead is really half of 不要 or 不用: no correction, but the direction itself."""
    return match.group() in {"不", "不是", "好", "那", "你"} and masked[match.end()] in "要用能许准得再可是会像"
