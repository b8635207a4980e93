"""Finds the directions of a text: cuts sentences into clauses and looks where one begins, goes on and ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice

from memory_pipeline.directions import chinese_plain, english_plain
from memory_pipeline.directions.chinese import ZH_DECISIONS, ZH_LEAD, ZH_PREFERENCES
from memory_pipeline.directions.english import (
    ASKS,
    BARE_CORRECTION,
    CORRECTED,
    CORRECTION,
    DECISIONS,
    INNER_START,
    LEAD,
    NOW_ONLY,
    ORDER,
    POLITE_REQUEST,
    PREFERENCES,
    RECURS,
    REPORTED,
    TROUBLE,
    UNSURE,
    VERBS,
    WANTS,
    V,
)
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.others import OTHERS
from memory_pipeline.directions.words import Sentence, both_ends, own_words, sentences
from memory_pipeline.records import EntryKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Direction:
    """One direction, or one lasting fact, in the person's own wording."""

    kind: EntryKind  # preference, procedure, decision, or knowledge for a fact that the person tells
    text: str  # the person's clause, verbatim but for what leads in and out of it ("please", "remember that")
    condition: str  # under which circumstances it holds, in the person's words; "" when it always does
    everywhere: bool  # the person says that it holds in all their projects
    correction: bool  # it corrects what was done or said before


def asks_for_work(sentence: Sentence) -> bool:
    """Whether a sentence asks for work or an answer now, or tells of trouble that is to be looked at."""
    return _asks_for_work(sentence) or TROUBLE.search(sentence.masked) is not None


def is_order(text: str) -> bool:
    """Whether a text begins, after "and then please", like an order: with a verb in its plain form."""
    return ORDER.match(text.lower()) is not None


def gives_direction(text: str) -> bool:
    """Whether a prompt holds a direction to keep. Quick on a prompt that holds none."""
    return bool(find_directions(text))


def find_directions(text: str) -> tuple[Direction, ...]:
    """Return the directions of a prompt in its order, each once. What was pasted or quoted gives none."""
    if _ONLY_ASKS.fullmatch(text):
        return ()
    return _find(both_ends(text))


#: A short request of one sentence, whose words leave no room for a direction: most prompts are such.
_ONLY_ASKS = Lazy(
    r"(?:please |now |can you |could you )?(?:fix|run|rerun|explain|add|remove|delete|refactor|implement|debug"
    r"|check|look at"
    r"|why|what|where|how|who|which|is|are|does|did|show me where)\b(?!.*(?:\b(?:always|never|ever|every|each|from"
    r"|before|after"
    r"|when|whenever|if|don[’']?t|do not|not|no|use|we|our|i|and|also|but|btw|remember|prefer|all|my|unless|without|by"
    r"|as|only|first|me)\b|[^\x00-\x7f]|[.;:,!]\s))[^\n]{0,200}",
    re.IGNORECASE,
)


@lru_cache(maxsize=128)
def _find(text: str) -> tuple[Direction, ...]:
    company = _Company(tuple(sentences(own_words(text))))
    found: dict[str, Direction] = {}
    corrected = False
    for sentence in company.sentences:
        directions = list(_directions_of_sentence(sentence, corrected=corrected))
        if directions and company.specifies(sentence):
            directions = []
        if not directions:
            plain = _plain_direction(sentence, company, corrected=corrected)
            directions = [plain] if plain else []
        for direction in directions:
            found.setdefault(direction.text.casefold(), direction)
        corrected = BARE_CORRECTION.fullmatch(sentence.masked) is not None
    return tuple(found.values())


# --- directions without a word that says so --------------------------------------------------------------------------


class _Company:
    """The sentences of a prompt: what stands beside a sentence tells a rule from a request."""

    def __init__(self, all_sentences: tuple[Sentence, ...]) -> None:
        self.sentences = all_sentences

    @cached_property
    def asking(self) -> frozenset[int]:
        """The sentences that ask for work or an answer now."""
        return frozenset(id(each) for each in self.sentences if _asks_for_work(each))

    @cached_property
    def builds(self) -> bool:
        """Whether the prompt opens by describing something to be made."""
        return any(english_plain.BUILDS.match(each.masked) is not None for each in self.sentences)

    def has_task_beside(self, sentence: Sentence) -> bool:
        """Whether another sentence of the prompt asks for work."""
        return bool(self.asking - {id(sentence)})

    def specifies(self, sentence: Sentence) -> bool:
        """Whether a sentence goes on with what a thing to be made shall do: "It must return JSON. Always include …"."""
        index = next(number for number, each in enumerate(self.sentences) if each is sentence)
        if index == 0 or not self.builds or _PRODUCT_ACT.match(sentence.masked) is None:
            return False
        before = self.sentences[index - 1].masked
        return _SPEC_SENTENCE.match(before) is not None or english_plain.BUILDS.match(before) is not None


_PRODUCT_ACT = Lazy(
    r"(?:it |they )?(?:should |must )?(?:always|never) (?:include|show|return|display|print|output|render|validate"
    r"|send|reject|accept|allow|raise|throw|sort|round|block)"
)
_SPEC_SENTENCE = Lazy(
    r"(?:it|they|users?|the \w+|each \w+|every \w+|all \w+) (?:should|must|shall|will|takes?|returns?|has|have|is"
    r"|are|can)\b"
)


def _asks_for_work(sentence: Sentence) -> bool:
    begin = _after_lead(sentence.masked, 0, len(sentence.masked))
    clause = sentence.masked[begin:]
    if sentence.question:
        return POLITE_REQUEST.match(sentence.masked) is None or english_plain.TASK.match(clause) is not None
    if _CJK.search(clause):
        return chinese_plain.TASK.match(clause) is not None
    return english_plain.TASK.match(clause) is not None


_CJK = Lazy(r"[\u4e00-\u9fff]")


def _plain_direction(sentence: Sentence, company: _Company, *, corrected: bool) -> Direction | None:
    masked = sentence.masked
    if len(masked) > _PLAIN_MAX_CHARS or _is_asked(sentence) or UNSURE.search(masked) or REPORTED.search(masked):
        return None
    end = len(masked)
    begin = _after_lead(masked, 0, end)
    clause = masked[begin:end]
    if _CJK.search(clause):
        kind = _plain_chinese(clause, company.has_task_beside(sentence))
        if kind is None:
            begin, kind = _later_chinese(masked, begin)
    else:
        kind, begin = _plain_english(sentence, company, begin)
    if kind is None:
        return None
    correction = corrected or CORRECTION.match(masked) is not None
    return _direction(sentence, begin, end, kind=kind, correction=correction)


_PLAIN_MAX_CHARS = 300


def _plain_english(sentence: Sentence, company: _Company, begin: int) -> tuple[EntryKind | None, int]:
    masked = sentence.masked
    clause = masked[begin:]
    noted = _ASIDE.search(masked, 0, begin) is not None
    exempt = _CONTRASTED.search(clause) is not None and english_plain.BUILDS.match(clause) is None
    if exempt or english_plain.TASK.match(clause) is None:
        kind = english_plain.plain_kind(
            clause, in_task=company.has_task_beside(sentence), in_spec=company.builds, noted=noted
        )
        if kind is not None:
            return kind, begin
    later = english_plain.later_ban(clause)
    return (EntryKind.PREFERENCE, begin + later) if later is not None else (None, begin)


_ASIDE = Lazy(
    r"\b(?:also|btw|by the way|fyi|note|rule|record|reminder|remember|usual|future|hint|tip|important|context)\b"
)
_CONTRASTED = Lazy(
    r"\bhouse style\b|\b(?:every|each|all) (?:new )?[\w-]+(?: [\w-]+)?$|\bplan before\b|,? (?:not"
    r"|never) \S+(?: \S+){0,2}$|\b(?:always|never|unless|before (?:you|each|every|any)|after (?:each|every|any))\b"
)


def _plain_chinese(clause: str, in_task: bool) -> EntryKind | None:
    return chinese_plain.plain_kind(clause.strip(), in_task=in_task)


def _later_chinese(masked: str, begin: int) -> tuple[int, EntryKind | None]:
    """A rule that follows a request or a remark within one sentence: "…，另外说一句，我不喜欢用 lombok"."""
    for match in _ZH_ASIDE.finditer(masked, begin):
        start = _after_lead(masked, match.end(), len(masked))
        kind = _plain_chinese(masked[start:], in_task=True)
        if kind is not None:
            return start, kind
    return begin, None


_ZH_ASIDE = Lazy(
    r"[，,](?:注意|另外(?:说一句|说下|提一下)?|还有|对了|顺便(?:说一句|说下)?|提醒一下|以后|记得|补充一点)[，,：:]?"
)


def _is_asked(sentence: Sentence) -> bool:
    """Whether a sentence is a question, and not a request in the form of one."""
    masked = sentence.masked
    if sentence.question:
        match = POLITE_REQUEST.match(masked)
        return match is None or _NOT_POLITE.match(masked, match.end()) is not None
    return ASKS.match(masked) is not None or re.search(r"(?:吗|呢|么)[\s.。]*$", masked) is not None


_NOT_POLITE = Lazy(
    r"(?:always|never|really|even|still|actually) (?:reproduce|see|get|rely|be|have|trust|happen|tell if|know)\b"
)

# --- one sentence ----------------------------------------------------------------------------------------------------

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
_GOES_ON = Lazy(
    r"(?:or|nor|even|because|since|so that|so|unless|except|when|whenever|if|before|after|in|for|on|with"
    r"|without|not|never|e\.g|i\.e|such as"
    r"|including|like|instead|then|too|as well|which|where|while|only|etc|to|until|as|by default|regardless"
    r"|at least|no matter"
    r"|from now on|going forward)\b|and (?!please|now|can|could|fix|add|write|implement|create|refactor"
    r"|look|check|tell|show|explain|let|also)"
    r"|(?:直接(?!说)|因为|除非|除了|并且|而且|包括|比如|例如|而不是|要用|要|再|然后|否则|不然|先|才|而|方便|以免|这样)"
)
_SETS_SCENE = Lazy(
    r"(?:(?:and|also|but|so|please|ok|no) )*(?:no matter|regardless|when|whenever|if|before|after|for|in|on|while"
    r"|unless|during"
    r"|at|inside|under|with|across|every ?time|each time|from now on|from here on"
    r"|from today|going forward|moving forward|by default|as a rule|once|until|globally|everywhere|in general)\b"
    r"|(?:当|在|每次|每个|如果|以后|今后|从现在|从今|写|提交|对于|凡是|只要|除非|所有|任何|全局)"
    r"|.*(?:时候?|之前|前|之后|的话|里)$"
)
_TAIL = Lazy(
    r"(?:[\s,，]*(?:please|thanks|thank you|thx|pls|谢谢|好吗|好吧|吧|ok吗)|[,，]\s*(?:ok|okay))?[\s,，.!。！~]*$",
    re.IGNORECASE,
)
_REMEMBER = Lazy(
    r"(?:please )?(?:do )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: that|\s+to|,|\s*:)*\s+"
    r"|(?:please )?(?:save|add|write|commit|store|put) (?:this |it )?(?:to|in|into) (?:your "
    r"|the )?memory\s*[:,-]?\s*(?:that )?"
    r"|(?:请)?(?:记住|请记得|记得|牢记|记下来|切记|谨记)[，,：:\s]*"
)


_SENTENCE_MAX_CHARS = 1000  # a longer one was pasted
_SCENE_MAX_CHARS = 60
_MOST_STARTS = 12  # places in one segment where a direction is looked for


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


def _directions_of_sentence(sentence: Sentence, *, corrected: bool) -> Iterator[Direction]:
    """Yield the directions of one sentence; ``corrected`` says that the sentence before rejected what was done."""
    masked = sentence.masked
    if len(masked) > _SENTENCE_MAX_CHARS or not _MARKS.search(masked):
        return
    if _is_asked(sentence) or UNSURE.search(masked):
        return
    correction = corrected or CORRECTION.match(masked) is not None
    segments = _segments(masked)
    index = 0
    while index < len(segments):
        start, end = segments[index]
        found = _match_clause(masked, start, end, correction=correction)
        if found is None:
            index += 1
            continue
        kind, begin = found
        if index and _SETS_SCENE.match(masked, segments[index - 1][0], segments[index - 1][1]) and begin <= start + 1:
            begin = _after_lead(masked, *segments[index - 1])
        if 0 < begin < _SCENE_MAX_CHARS and _EVERYWHERE.search(masked, 0, begin):
            begin = _after_lead(masked, 0, begin)  # "in all my projects: never …" holds everywhere
        index += 1
        while index < len(segments) and (
            _turns_over(masked, segments[index - 1], segments[index])
            or _continues(masked, segments[index], correction=correction)
        ):
            end = segments[index][1]
            index += 1
        if _POINTS_ELSEWHERE.match(masked, begin, end):
            continue
        direction = _direction(sentence, begin, end, kind=kind, correction=correction)
        if direction is not None:
            yield direction


_REFUSAL = Lazy(
    r"(?:please |and |but |also |we )*(?:never|don't|do not|dont|not|no|avoid|stop)\b|(?:请|也|都|就)*"
    r"(?:不要|别|禁止|不许|不准|绝不|不用|不)"
)
_CONTRARY = Lazy(
    rf"(?:please |and |but |always |instead,? |rather |we )*{V}|(?:always|never|don't|do not|not)\b"
    r"|(?:请|要|都|而是|改|直接|一律|统一|应该)*(?:用|走|使用|改用|换成|给|写|发|提)|(?:不要|别|禁止|不用|不)"
)


def _turns_over(masked: str, before: tuple[int, int], after: tuple[int, int]) -> bool:
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
    return _REFUSAL.match(masked, _after_lead(masked, start, end), end) is not None or (
        re.search(r"\b(?:never|don't|do not)\b|不要|别|禁止", masked[start:end]) is not None
    )


def _segments(masked: str) -> list[tuple[int, int]]:
    """Cut a sentence at its commas and dashes, but keep what is only half a clause with what it belongs to."""
    segments: list[tuple[int, int]] = []
    start = 0
    for match in [*_SEGMENT_END.finditer(masked), None]:
        end = match.start() if match else len(masked)
        joins = bool(segments) and (
            _ELLIPTIC.match(masked, start, end) is not None
            or _SCENE_LASTS.fullmatch(masked, _after_remember(masked, *segments[-1]), segments[-1][1]) is not None
            or (
                _REFUSES.match(masked, _after_lead(masked, *segments[-1]), segments[-1][1]) is not None
                and _USES_THEN.match(masked, start, end) is not None
            )
            or (
                _REFUSES_MORE.match(masked, start, end) is not None
                and _USES.match(masked, _after_lead(masked, *segments[-1]), segments[-1][1]) is not None
            )
        )
        if joins:
            segments[-1] = (segments[-1][0], end)
        elif end > start:
            segments.append((start, end))
        start = match.end() if match else end
    return segments


def _after_remember(masked: str, start: int, end: int) -> int:
    start = _after_lead(masked, start, end)
    remember = _REMEMBER.match(masked, start, end)
    return remember.end() if remember else start


def _match_clause(masked: str, start: int, end: int, *, correction: bool) -> tuple[EntryKind, int] | None:
    """Find the first place in a segment where a direction begins; return its kind and that place."""
    for begin in islice(_starts(masked, start, end), _MOST_STARTS):
        if REPORTED.search(masked, 0, begin) or _SPECIFIES.search(masked, 0, begin):
            return None
        kind = _kind_at(masked, begin, end, correction=correction)
        if kind is not None:
            return kind, begin
    return None


#: What comes after "it should", "users must", "a function that", says what the product shall do.
_SPECIFIES = Lazy(
    r"(?:^|[,;] |\band )(?:it|they|users?|(?:the|a|an|each|every|this) (?:new )?[\w-]+)(?: [\w-]+)? (?:should|must"
    r"|will|shall|may)\b(?! (?:be )?(?:fixed))"
    r"|\b(?:explaining|that checks|which|(?:function|rule|script|cache|button|test|option|method|class|cli"
    r"|tool) (?:that|which))\b"
)


def _starts(masked: str, start: int, end: int) -> Iterator[int]:
    led = _after_lead(masked, start, end)
    yield led
    if led != start:
        yield start
    for match in INNER_START.finditer(masked, led, end):
        yield _after_lead(masked, match.end(), end)


def _after_lead(masked: str, start: int, end: int) -> int:
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


def _kind_at(masked: str, begin: int, end: int, *, correction: bool) -> EntryKind | None:
    clause = masked[begin:end]
    chinese = _CJK.search(clause) is not None
    decided = _first(DECISIONS, clause) or (_first(ZH_DECISIONS, clause) if chinese else None)
    stated = None
    if not decided:
        stated = _first(PREFERENCES, clause) or (_first(ZH_PREFERENCES, clause) if chinese else None)
        stated = stated or _first(OTHERS, clause)
    if decided:
        momentary = clause.startswith("let") and _is_momentary(clause, masked)
        return None if momentary else EntryKind.DECISION
    if stated:
        return None if _is_momentary(clause, masked) or _reports_trouble(clause) else _stated_kind(clause)
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


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile a group of patterns once, when a text first needs it: most commands never do."""
    return tuple(map(re.compile, patterns))


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
        ordered or re.search(r"\b(?:must|should|have to)\b|必须|务必|不要|绝不|一律|记住|记得|都要|以后|禁止", clause)
    )


_ACTION = (
    r"(?:run|execute|build|deploy|release|rebase|squash|tag|bump|migrate|restart|regenerate|sync|test|lint"
    r"|format|commit(?! messages?)|push"
    r"|rerun|re-run|update|check|verify|ask|review|back ?up|start|open|create|generate)\b"
)
_PROCEDURE = Lazy(
    r"(?:(?:please|always|remember|to|that|you|we|i|should|must|need|have|want|make sure|be sure"
    r"|from now on|going forward"
    rf"|ensure|first|in future|{RECURS})[\s,:]+)*{_ACTION}"
)
_ZH_PROCEDURE = Lazy(r"(?:(?<!优)先|再|跑|运行|执行|构建|部署|测试一遍|检查|更新|重启|提交)")
_NEGATED = Lazy(
    r"\b(?:never|don't|do not|not|no longer|stop|avoid|prefer)\b(?! forget)|不要|别|绝不|永远不|禁止|不许|不准|喜欢"
)


def _stated_kind(clause: str) -> EntryKind:
    """A rule that says what to do when is a procedure; every other is a preference."""
    if _NEGATED.search(clause):
        return EntryKind.PREFERENCE
    scene = _SETS_SCENE.match(clause)
    acts = _PROCEDURE.match(clause) or (scene and re.search(rf", (?:please )?(?:always )?{_ACTION}", clause))
    if acts or (_ZH_PROCEDURE.search(clause) and re.search(r"每次|前|后|时|(?<!优)先|再", clause)):
        return EntryKind.PROCEDURE
    return EntryKind.PREFERENCE


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


def _direction(sentence: Sentence, begin: int, end: int, *, kind: EntryKind, correction: bool) -> Direction | None:
    text, masked = sentence.text[begin:end], sentence.masked[begin:end]
    remember = _REMEMBER.match(masked)
    if remember and _says_enough(masked[remember.end() :], words=3):
        text, masked = text[remember.end() :], masked[remember.end() :]
    tail = _TAIL.search(masked)
    if tail:
        text, masked = text[: tail.start()], masked[: tail.start()]
    if text.count("(") < text.count(")"):
        text, masked = text.rstrip(")"), masked.rstrip(")")
    if not _says_enough(masked):
        return None
    if kind not in {EntryKind.DECISION, EntryKind.KNOWLEDGE}:
        kind = _stated_kind(masked)
    everywhere = _EVERYWHERE.search(masked) is not None
    return Direction(
        kind=kind, text=text, condition=_condition(text, masked), everywhere=everywhere, correction=correction
    )


_POINTS_ELSEWHERE = Lazy(
    rf"{WANTS}?(?:(?:never|always) \w+ (?:it|this|that|these|those|them)$"
    rf"|(?:please )?{V} (?:it|this|that|these|those|them)\b(?! \w+ (?:instead|not))|.*, (?:please )?(?:fix|find"
    r"|investigate|debug) (?:it|this|that)$|if (?:the|an?|it|this|that)\b)"
)


def _says_enough(masked: str, *, words: int = 2) -> bool:
    """Whether a stranger could make anything of it: two words, or a few signs of Chinese."""
    return (
        len(re.findall(r"[\w▮][\w▮'./-]*", masked)) >= words
        or len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", masked)) >= 3
    )


# --- where and when it holds -----------------------------------------------------------------------------------------

_EVERYWHERE = Lazy(
    r"\b(?:in|across|for|on|with) (?:all|every|each|any)(?: of)?(?: (?:my|our|the|your"
    r"|other))* (?:projects?|repos?|repositor(?:y|ies)"
    r"|codebases?|workspaces?)\b|^(?!we\b|our\b|i (?:hate|don't)).*\beverywhere\b(?!"
    r" (?:in|else))|\bno matter (?:which|what) (?:project|repo)|\bregardless of (?:the|which) (?:project|repo)"
    r"|\ball my (?:projects|repos)\b|\b(?:all|any|every) (?:projects?|repos?|repositories) (?:i own|of mine)"
    r"|\bfor everything i\b"
    r"|\bas a global (?:rule|preference)|^globally\b|^(?!.*\binstall).*\bglobally$"
    r"|(?:所有|全部|每个|每一个|任何|各个)(?:的)?(?:项目|仓库|工程|代码库)(?!文件|成员)|全局(?!变量|安装"
    r"|状态|样式)(?:都|规则|适用|生效|统一|用|使用|，|$)|(?:不管|无论"
    r"|不论)(?:是)?(?:哪个|什么|哪一个|任何)(?:项目|仓库)|我的?项目都"
    r"|すべてのプロジェクト|全プロジェクト|모든 프로젝트|in allen (?:meinen )?projekten"
    r"|dans tous mes projets|en todos mis proyectos"
    r"|em todos os meus projetos|во всех проектах"
)
_PLACE = (
    r"(?:ci|production|prod|staging|dev|development|tests?|unit tests|docker|windows|macos|mac|linux|wsl"
    r"|github actions|main"
    r"|master|release branches|frontend|backend|python|typescript|javascript|rust|go|java|scripts?"
    r"|migrations?|docs|documentation"
    r"|commit messages|pull requests|prs|code reviews?|reviews|comments|notebooks|sql|yaml|markdown"
    r"|shell scripts|benchmarks)"
)
_CONDITIONS = (
    r"\b(?:when(?:ever)?|while|if|unless|until|as long as|every ?time|each time) [^,;]+",
    (
        r"\b(?:before|after) (?:(?:every|each|any|all|a|an|the|your|you|new|making|opening|creating|sending|we"
        r"|i|single) )*(?:pull requests?|merge requests?|[\w-]+)(?: (?:to|into) [\w▮/-]+)?"
    ),
    rf"\b(?:before|after) (?!going\b)[\w-]+ing(?: (?!(?:{VERBS})\b)[\w▮./-]+){{1,3}}",
    r"\b(?:on|with|for) (?:every|each) [\w-]+(?: [\w-]+)?",
    (
        rf"\b(?:in|on|for|inside|during) (?:the |our |all |new )?{_PLACE}\b(?: (?:files|code|projects|scripts"
        r"|work|changes|jobs?))?"
    ),
    (
        r"\b(?:for|in) (?:new |the |our )?[\w▮./-]+ (?:files|code|tests|scripts|changes|work|modules|components"
        r"|services|folder|directory)\b"
    ),
    r"\bat the (?:start|end|beginning) of [\w ]+",
    r"(?:当|在)[^，]{1,30}?(?:的时候|时候|之时|时)(?=，|都|要|先|必须|请|总|一律|$|用|不|务必)",
    r"如果[^，]{1,40}|除非[^，]{1,40}",
    (
        r"(?:(?:在|每次|每个)[^，]{1,20}?|(?:提交|合并|推送|发布|部署|上线|写|改|修改|跑|运行|开|新建"
        r"|更新)[^，]{0,12}?)(?:之前|以前|前|之后|以后|后|的时候|时)(?![端台缀者面])"
    ),
    r"在\s?(?:ci|docker|windows|linux|macos|生产|测试|开发|线上|本地)[^，]{0,6}?(?:环境)?(?:里|中|上|下)",
)


def _condition(text: str, masked: str) -> str:
    """Return the words that say under what circumstances a direction holds, or ""."""
    found = [match for pattern in _compiled(_CONDITIONS) if (match := pattern.search(masked))]
    found = [match for match in found if not _EVERYWHERE.search(match.group())]
    if not found:
        return ""
    match = min(found, key=lambda each: (each.start(), -each.end()))
    return text[match.start() : match.end()].strip()
