"""The one value that a statement gives to one thing: on which weekday, at what time, how often, how long, how much.

"Releases move to Thursday" names no older value, and yet ends "We release every Tuesday". That is certain only where
both say nothing but the same thing and one value of the same sort. So a text is read only where it has one value in
all, neither doubts nor refuses, and tells of no single occasion; what stands beside the value is left for a comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct

from memory_pipeline.folding import folded


class Valued(Struct, frozen=True, kw_only=True):
    """What a text says of one thing."""

    sort: str  # of the value, such as "weekday" or "duration"
    value: str
    about: str  # the words beside it, without those of moving and of taking place
    way: str  # "begins", "leaves" or "is due" where it says so: the same thing does each at another time
    is_new: bool  # the text says that the thing has this value from now on


@lru_cache(maxsize=1 << 13)
def value_told(text: str) -> Valued | None:
    """Return the value that a text gives to one thing; None where it gives none, more than one, or not for certain."""
    said = " ".join(folded(text).replace("`", " ").split())
    said = said.strip(" .!。")
    if not _HINT.search(said) or _UNCERTAIN.search(said):
        return None
    found = list(_values_in(said))
    if len(found) != 1:
        return None
    start, end, sort, value = found[0]
    marked = f"{said[:start].rstrip()} {_HERE} {said[end:].lstrip()}"
    begun = _BEGINS.sub(" ", marked)
    moved = _MOVES.sub(r" \g<between> ", begun)
    is_new = begun != marked or moved != begun
    about = _WITH_VALUES.sub(" ", moved)
    if is_new and sort in _OF_OCCASIONS and _is_of_one_occasion(about):
        return None
    way = next((name for name, form in _WAYS if form.search(moved)), "")
    return Valued(sort=sort, value=value, about=" ".join(_ARTICLES.sub(" ", about).split()), way=way, is_new=is_new)


def _is_of_one_occasion(about: str) -> bool:
    """Whether one thing is told of that may be an occasion: "the release moves to Thursday", but not "the retro"."""
    return _ONE_OCCASION.search(about.strip()) is not None and _RECURS.search(about) is None


#: Stands where the value was.
_HERE = "§"

#: No value is without one of these, and most statements have none: they are not looked at further.
_DUTIES = "(?:owns|reviews|approves|maintains|merges|handles|leads|signs off)"
_ZH_DUTIES = "(?:审核|审批|负责|合并|维护|处理|批准|把关)"
_HINT = re.compile(
    rf"{_DUTIES}|{_ZH_DUTIES}"
    r"|\d|days?\b|\bnoon\b|ly\b|\b(?:every|once)\b|[周每隔点期拜一二两三四五六七八九十]"
)
#: Doubts, questions, wishes, refusals, circumstances, what holds for a while or beside another, others' things.
_UNCERTAIN = re.compile(
    r"[?§]|\b(?:if|unless|until|except|only|not|never|no|don'?t|isn'?t|aren'?t|won'?t|can|could|may|might|would|or"
    r"|maybe|perhaps|probably|between|at (?:least|most)|(?:more|less|longer|fewer) than|before|after|when|whenever"
    r"|while|during|their|his|her|they|he|she|some(?:one|body)?|most|several|half"
    r"|for (?:now|today|the (?:moment|time being))|temporar(?:y|ily)|used to|once(?! a\b)|back then|at (?:that"
    r"|the) time|originally|too|as well|additionally|in addition"
    r"|this (?:time|once|run|test|build|branch|session|task|case)"
    r"|(?:want(?:s|ed)?|plan(?:s|ned|ning)?|hop(?:e[sd]?|ing)|intend(?:s|ed)?|try|tr(?:ies|ied|ying)) to)\b"
    r"|^(?:is|are|was|were|does|did|has|why|what|how|who|where|which|should|shall|will)\b|(?<!^)\balso\b"
    r"|如果|要是|假如|除非|除了|不|别|没|只有|只在|吗|呢|或|可能|也许|大概|至少|最多|最少|超过|少于"
    r"|之前|之后|的时候|他们"
)

# --- values ----------------------------------------------------------------------------------------------------------

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ZH_DAYS = {
    day: number for number, days in enumerate(("一1", "二2", "三3", "四4", "五5", "六6", "日天7")) for day in days
}
_ZH_NUMBERS = {word: str(number) for number, word in enumerate("零一二三四五六七八九十")} | {"两": "2"}
_ZH_NUMBER = r"(?:\d+(?:\.\d+)?|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_NOT_IN_NUMBERS = r"(?<![a-z0-9_.:一二两三四五六七八九十])"
_OFTEN = {
    "hour": "hourly|every hour|每小时",
    "day": "daily|nightly|every (?:day|night)|once a (?:day|night)|每天|每日|每晚",
    "week": "weekly|every week|once a week|每周|每星期",
    "fortnight": "biweekly|fortnightly|every (?:two|other|second|2) weeks?|每两周|隔周",
    "month": "monthly|every month|once a month|每个?月",
    "quarter": "quarterly|every quarter|once a quarter|每个?季度",
    "year": "yearly|annually|every year|once a year|每年",
}
_SECONDS = {
    0.001: "ms|milliseconds?|毫秒",
    1: "s|secs?|seconds?|秒钟?",
    60: "mins?|minutes?|分钟",
    3600: "h|hrs?|hours?|个?小时",
    86400: "days?|天",
    604800: "weeks?|个?星期",
}
_BYTES = {1: "kb", 1024: "mb|megabytes?|兆", 1024**2: "gb|gigabytes?|gigs?"}
_COUNTED = {
    "tries": "retries|tries|attempts|times|次",
    "characters": "characters|chars|columns|字符?",
    "lines": "lines|行",
    "rows": "rows|items|records|entries|条",
    "approvals": "approvals|reviewers|reviews",
    "replicas": "replicas|instances|workers|nodes|个?(?:副本|实例)",
    "percent": "%|percent|per cent",
}
#: Who or what has a duty and is no person that another may take it over from.
_NOBODY_KNOWN = (
    r"(?:we|i|you|it|he|she|they|everyone|everybody|nobody|someone|who|that|this|which|ci|bot|team"
    r"|code|repo|module|service"
    r"|server|worker|api|client|app|script|function|class)\b"
)
_NOT_AMONG_LETTERS = r"(?![a-z0-9])"
#: Behind these a weekday is that of one week.
_ANY_WEEK = r"(?<!this )(?<!next )(?<!last )(?<!coming )"


def _weekday(found: re.Match[str]) -> str:
    return _DAYS[_ZH_DAYS[found["zh"]]] if found["zh"] else found["day"]


def _time(found: re.Match[str]) -> str:
    if found["noon"]:
        return "12:00"
    hour = int(_plain_number(found["hour"] or found["zh"] or found["half"] or found["bare"]))
    is_late = "p" in (found["half_day"] or "") or (found["zh_day"] or "") in {"下午", "晚上", "傍晚"}
    minute = int(found["minute"] or found["zh_minute"] or 0) + (30 if found["zh_half"] else 0)
    return f"{hour + 12 if is_late and hour < 12 else hour}:{minute:02}"


def _often(found: re.Match[str]) -> str:
    return next(name for name, form in _OFTEN.items() if re.fullmatch(form, found["often"]))


def _measured(units: dict[float, str] | dict[int, str]) -> Callable[[re.Match[str]], str]:
    def value(found: re.Match[str]) -> str:
        size = next(size for size, form in units.items() if re.fullmatch(form, found["unit"]))
        return f"{float(_plain_number(found['number'])) * size:.10g}"

    return value


def _plain_number(said: str) -> str:
    """Return a number of at most two Chinese characters, or of digits, as digits."""
    if said[0] not in _ZH_NUMBERS:
        return said
    tens, _, ones = said.partition("十") if "十" in said else ("", "", said)
    has_tens = "十" in said
    digits = (int(_ZH_NUMBERS[tens]) if tens else 1) * 10 if has_tens else 0
    return str(digits + (int(_ZH_NUMBERS[ones]) if ones else 0))


def _number_with(units: Iterator[str] | list[str]) -> str:
    return rf"{_NOT_IN_NUMBERS}(?P<number>{_ZH_NUMBER})[ -]?(?P<unit>{'|'.join(units)}){_NOT_AMONG_LETTERS}"


_SORTS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        "weekday",
        re.compile(
            rf"(?:\b(?:every|each|on) )?\b{_ANY_WEEK}(?P<day>{'|'.join(_DAYS)})s?\b"
            r"|每?(?<![本这下上])(?:个?(?:周|星期|礼拜))(?P<zh>[一二三四五六日天])(?![个点月次年])"
        ),
        _weekday,
    ),
    (
        "time",
        re.compile(
            rf"(?<![a-z0-9_.:])(?:(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})|(?P<half>\d{{1,2}})(?= ?[ap]\.?m))"
            rf" ?(?P<half_day>[ap]\.?m\.?)?{_NOT_AMONG_LETTERS}|\b(?P<noon>noon)\b"
            r"|(?:(?<=\bat )|(?<=\bto ))(?P<bare>[01]?\d|2[0-3])(?=$|[,;.] | (?:now|sharp|o'clock|from now"
            r"|every|instead)\b)"
            rf"|(?P<zh_day>早上|上午|中午|下午|傍晚|晚上|凌晨)?{_NOT_IN_NUMBERS}(?P<zh>(?!一点){_ZH_NUMBER}) ?点"
            r"(?:钟|(?P<zh_half>半)|(?P<zh_minute>\d{1,2})分?)?(?![\u4e00-\u9fff]*[建议求理由见])"
        ),
        _time,
    ),
    (
        "day of the month",
        re.compile(r"(?<![a-z0-9_.])(?P<value>\d{1,2})(?:(?:st|nd|rd|th)\b(?: of (?:the|each|every) month)?| ?号)"),
        lambda found: found["value"],
    ),
    (
        "frequency",
        re.compile(rf"(?<![a-z0-9_])(?P<often>{'|'.join(_OFTEN.values())})(?:一次)?(?! ?[a-z0-9\u4e00-\u9fff])"),
        _often,
    ),
    (
        "port",
        re.compile(r"\bport (?P<value>\d{2,5})\b|端口(?: ?号)? ?(?P<zh>\d{2,5})"),
        lambda m: m["value"] or m["zh"],
    ),
    (
        "interval",
        re.compile(rf"(?:\b(?:every|each) |每隔? ?){_number_with(list(_SECONDS.values()))}(?:一次)?"),
        _measured(_SECONDS),
    ),
    (
        "rate",
        re.compile(
            rf"{_NOT_IN_NUMBERS}(?P<number>{_ZH_NUMBER}) times (?:an?|per|each|every) "
            r"(?P<per>hour|day|night|week|month|year)\b"
        ),
        lambda found: f"{_plain_number(found['number'])} a {found['per']}",
    ),
    (
        "person",
        re.compile(
            rf"^(?:now |from now on |as of today )?(?!{_NOBODY_KNOWN})(?P<value>[a-z]{{2,}})(?= (?:now )?{_DUTIES}\b)"
            rf"|由(?P<zh>[\u4e00-\u9fff]{{2,3}}|[a-z]+)(?={_ZH_DUTIES})"
        ),
        lambda found: found["value"] or found["zh"],
    ),
    ("duration", re.compile(_number_with(list(_SECONDS.values()))), _measured(_SECONDS)),
    ("size", re.compile(_number_with(list(_BYTES.values()))), _measured(_BYTES)),
    *(
        (f"number of {name}", re.compile(_number_with([form])), lambda found: _plain_number(found["number"]))
        for name, form in _COUNTED.items()
    ),
)
#: Of these a single occasion may have another value than usual.
_OF_OCCASIONS = frozenset({"weekday", "time", "day of the month"})


def _values_in(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield begin, end, sort and value of each value; none twice."""
    taken: list[tuple[int, int]] = []
    for sort, form, read in _SORTS:
        for found in form.finditer(text):
            start, end = found.span()
            if all(end <= other_start or start >= other_end for other_start, other_end in taken):
                taken.append((start, end))
                yield start, end, sort, read(found)


# --- what stands around a value --------------------------------------------------------------------------------------

#: From when on: whoever says so tells of something new that lasts.
_BEGINS = re.compile(
    r"\b(?:from now on|going forward|from here on|henceforth|(?:right )?now|these days|instead"
    r"|(?:from|starting|beginning|as of|since) (?:now|today|tomorrow|(?:this|next) (?:week|month|sprint|release|year))"
    r"(?: on(?!ly))?)\b"
    r"|(?:从|自)?(?:今天|明天|现在|下周|本周|这周|下个?月|本月|这个月|即日|今)(?:起|开始)|以后|今后|往后|现在"
)
_WAY = "(?:up |down |back |forward |over |out )?"
_MOVES = re.compile(
    r"\b(?:(?:is|are|was|were|has|have|had|been|be|being|gets?|got|will) ){0,3}"
    r"(?:mov(?:e[sd]?|ing)|shift(?:s|ed|ing)?|switch(?:es|ed|ing)?|chang(?:e[sd]?|ing)|goes|go|went|rais(?:e[sd]?|ing)"
    r"|lower(?:s|ed|ing)?|increas(?:e[sd]?|ing)|reduc(?:e[sd]?|ing)|cut|extend(?:s|ed|ing)?|shorten(?:s|ed|ing)?"
    r"|bump(?:s|ed|ing)?|postpon(?:e[sd]?|ing)|push(?:es|ed|ing)?|reschedul(?:e[sd]?|ing)|brought|bring|drop(?:s|ped)?"
    r"|rises?|rose|grew|grows?|set)\b"
    rf"(?P<between>(?: [\w'-]+){{0,4}}?) {_WAY}(?:on ?)?to (?:the )?(?:on )?(?={_HERE})"
    r"|(?:已经?|刚刚?)?(?:改|换|挪|(?<!迁)移|调|推迟|提前|顺延|延长|缩短|提高|降低|提|升|降|减|增加?)"
    rf"(?:到|至|成|为|在)?了? ?(?={_HERE})"
)
#: What goes with any value, and doesn't say what it is the value of.
_WITH_VALUES = re.compile(
    rf"{_HERE}|\b(?:we|our|it's|its|is|are|was|were|been|be|on|at|in|to|by|of|for|every|each|set|held|scheduled|due"
    r"|planned|always|usually|please|also|just|happens?|takes? place|goes|go|out|ships?|starts?|starting|runs?|running"
    r"|listens?|served?|serves|days?|times?|o'clock|sharp|hi|hey|ok|so|fyi|btw|everyone|all|folks)\b|'ve\b"
    r"|[,;:，；：、。]|我们|咱们|大家|时间|日期|安排|一般|通常|固定|统一|都|在|定在?|放在|排在|进行"
    r"|举行|召开|开始|运行|跑"
    r"|是|为|了|的|到|至|于|另外|对了|一次"
)
_WAYS = (
    ("begins", re.compile(r"\bstart(?:s|ing)?\b|开始")),
    ("leaves", re.compile(r"\b(?:out|ships?)\b")),
    ("is due", re.compile(r"\bdue\b")),
)
_ONE_OCCASION = re.compile(r"\b(?:the|this|that|a|next)\b.*(?<!s)$")
_RECURS = re.compile(
    r"\b(?:stand-?up|retro(?:spective)?|sync|planning|refinement|demo|rotation|window|freeze|slot|cron|job"
    r"|hourly|daily|nightly|weekly|biweekly|monthly|quarterly)\b"
)
_ARTICLES = re.compile(r"\b(?:the|a|an)\b")
