"""What a statement says has changed: one value that left, the one that came in its place, and what they are values of.

"The api moved from 8080 to 9090" tells of an older statement without its words. People announce a change by a verb of
moving and both values, in English and Chinese; a mere range ("from 9 to 17", "between 50 and 80 lines") has no such
verb.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct

from memory_pipeline.folding import in_simplified


class Change(Struct, frozen=True, kw_only=True):
    """What left, what came instead, and the words beside them, which say what it is that changed."""

    left: str
    entered: str
    about: str


@lru_cache(maxsize=1 << 12)
def change_in(text: str) -> Change | None:
    """Return the change of one value that a text announces; None where it announces none, or doesn't name both."""
    folded = in_simplified(text).casefold().replace("’", "'")
    has_value, has_name = _HAS_VALUE.search(folded) is not None, _SOMEBODY_LEAVES.search(folded) is not None
    if not (has_value or has_name) or is_unsettled(folded):
        return None
    for announced in (*(_ANNOUNCED if has_value else ()), *(_compiled_by_name() if has_name else ())):
        found = announced.search(folded)
        if found is not None and found["old"] != found["new"]:
            about = f"{folded[: found.start()]} {found['between'] or ''} {folded[found.end() :]}"
            return Change(left=found["old"], entered=found["new"], about=_MEASURES.sub(" ", about))
    return None


@lru_cache(maxsize=1 << 13)
def settles_nothing(text: str) -> bool:
    """Whether a text can't end what another states: it plans, doubts, tells of others, of one time or of what was once.

    Narrower than ``is_unsettled``: a rule may be asked for as a question, or hold under a condition.
    """
    return _SETTLES_NOTHING.search(in_simplified(text)) is not None


def is_unsettled(folded: str) -> bool:
    """Whether a text in lower case asks, plans, wishes, doubts, limits to one time, or tells of others: no change."""
    return _UNSETTLED.search(folded) is not None


#: A number, a version, a time, a path: what a rewording would have kept as it is.
_VALUE = r"(?:[~\w.:@-]*/[\w./:@-]*[\w/]|v?\d[\w.:%-]*(?<![.:]))"
_COUNT = rf"(?:{_VALUE}|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|sixty)\b)"
_HAS_VALUE = re.compile(
    r"[\d/]|\b(?:t(?:wo|hree|en|w?elve|wenty|hirty)|f(?:our|ive|orty|ifty)|s(?:ix|even|ixty)|eight|nine)\b"
)
_WENT = (
    r"(?:is|was|are|were|has been)(?: now| long)? (?:gone|outdated|obsolete|dead|over|wrong|history"
    r"|void|retired|deprecated)"
)
_ANNOUNCED = tuple(
    re.compile(form.format(old=rf"(?P<old>{_VALUE})", new=rf"(?P<new>{_VALUE})"))
    for form in (
        (
            r"\b(?:moved?|moving|switche?d?|change[ds]?|changing|raised?|lower(?:ed)?|went|bump(?:ed)?"
            r"|migrated?|upgraded?"
            r"|downgraded?|renamed?|increased?|reduced?|cut|extended?|shorten(?:ed)?|relocated?|grew|grown|dropped)\b"
            r"(?P<between>[^,;。，]*?) from (?:[a-z]+ )?{old} (?:up |down |over )?to (?:[a-z]+ )?{new}"
        ),
        (
            r"(?P<between>)(?:从|由) ?{old} ?(?:改|换|升|降|移|挪|搬|迁|调|切|提|涨|减)[\u4e00-\u9fff]{{0,3}}"
            r" ?{new}(?: ?了)?"
        ),
    )
) + tuple(
    re.compile(form.format(old=rf"(?P<old>{_COUNT})", new=rf"(?P<new>{_COUNT})"))
    for form in (
        r"(?P<between>){old} ?(?:->|=>|→|⇒) ?{new}",
        r"{new}(?P<between>[^,;.。，]*), (?:and )?(?:not|no longer) (?:[a-z]+ ){{0,2}}{old}(?![\w.:/])",
        rf"{{old}} {_WENT}[,;.] (?P<between>(?:[\w']+ ){{{{0,6}}}}?){{new}}",
        (
            r"(?:^|\b)(?:not|no longer|no more|forget|(?:i|we) (?:said|told you)) (?:about )?(?:[a-z]+ ){{0,2}}?{old}"
            r"(?: any ?more)?(?:,| but) (?P<between>(?:[\w']+ ){{0,6}}?){new}"
        ),
        r"(?:不是|不再是|之前说的?) ?{old}[^，,]{{0,4}}[，,](?P<between>)(?:而是|现在|改|应该)*[是成为到用]? ?{new}",
        r"{new}(?P<between>[^，,]{{0,6}})[，,](?:不是|不再是) ?{old}",
        r"(?P<between>){old} ?(?:作废|不对|过时了?|不算了?)?[，,]?(?:改|换)(?:成|为|到|用) ?{new}",
    )
)
#: No person and no command left without one of these.
_SOMEBODY_LEAVES = re.compile(
    r"\b(?:left|quit|resigned|retired|moved on|gone|no longer|tak(?:en|es|ing) over|took over|replace[sd]?"
    r"|succe(?:eds|eded)"
    r"|instead of|rather than|(?:make|just|run|yarn|cargo|invoke) [\w:.-]+|renamed|not [a-z]+$)\b"
    r"|\./|离职|走了|调走|退休|转岗|不在了|接替|接手|不找|别找|不问|别问"
)
_NAME = r"(?:(?!(?:us|we|you|it|the|a|an|me|them|him|her|that|this)\b)[a-z]{2,})"
_ZH_NAME = r"(?:[a-z]{2,}|[\u4e00-\u9fff]{2,3})"
_COMMAND = (
    r"(?:(?:make|just|invoke|task|rake|npm run|yarn|pnpm run|poetry run|uv run|cargo|python -m) [\w:./-]*\w"
    r"|\./[\w./-]*\w)"
)
_HAS_LEFT = (
    r"(?:(?:has |have |had )?(?:left|quit|resigned|retired|moved on)|(?:is|has) (?:gone|left)"
    r"|is no longer (?:here|with us|around)"
    r"|does(?:n't| not) work here any ?more)(?: (?:us|for good|the (?:company|team|project|firm)|last \w+|this \w+))*"
)
_IS_GONE = (
    r"(?:(?:is|was|has been|got) (?:now )?(?:gone|removed|dead|dropped|history|deprecated|retired|deleted)"
    r"|no longer (?:exists|works)|does(?:n't| not) exist(?: any ?more)?|goes away)"
)
_ASK = r"(?:ask|ping|tag|contact|message|write to|go to|talk to|turn to|assign|goes? to)"
_DOES = (
    r"(?:does|owns|reviews|approves|maintains|merges|handles|leads|signs off(?: on)?|is responsible for|takes care of)"
)
#: One that has a name left, another took over: a person, a command. Only what is told of both, or of the old with what
#: to do now, is a change.
_BY_NAME = (
    (
        (
            rf"{{old}} {_HAS_LEFT}[,;.:] (?:(?:so|and|please|now|from now on) )*"
            r"(?P<between>(?:for [\w ]{{2,30}} )?)"
            rf"{_ASK} {{new}}\b"
        ),
        _NAME,
    ),
    (rf"{{old}} {_HAS_LEFT}[,;.:] (?P<between>)(?:(?:so|and|now) )*{{new}} (?:now )?{_DOES}", _NAME),
    (
        r"\b{new} (?:has |have |is )?(?:now )?(?:taken|takes|took|taking) over (?P<between>[^,;.]*?) ?from {old}\b",
        _NAME,
    ),
    (r"\b{new} (?:has )?(?:replace[sd]|succeeds|succeeded) (?P<between>){old}\b", _NAME),
    (
        (
            rf"{_ASK} {{new}}(?P<between>(?: (?:about|for|on) [^,;.]*?)?),? (?:and )?(?:not|no longer|instead of"
            rf"|rather than) {{old}}\b"
        ),
        _NAME,
    ),
    (
        (
            r"(?:^|[，,。；\s]){old} ?(?:已经)?(?:离职|走|调走|退休|转岗"
            r"|不在)了?[，,。；;](?P<between>[^，,。]*?)(?:以后|现在|都|请|就)*"
            r"(?:找|问|联系|由|让) ?{new}(?=$|[，,。]|负责|审|管|处理|维护|合并|批)"
        ),
        _ZH_NAME,
    ),
    (
        (
            r"(?P<between>)(?:以后|现在|都|请)*(?:找|问|由) ?{new}(?:负责)?[，,](?:不|别)再?(?:找|问) ?{old}了?(?=$"
            r"|[，,。])"
        ),
        _ZH_NAME,
    ),
    (r"(?:^|[，,。\s]){new} ?(?:接替|接手|代替)了? ?{old}(?P<between>)(?=$|[，,。]|负责|审|管|处理)", _ZH_NAME),
    (rf"(?P<between>)`?{{new}}`?(?: from now on| now| instead)?[,;.] `?{{old}}`? {_IS_GONE}", _COMMAND),
    (rf"`?{{old}}`? {_IS_GONE}[,;.] (?P<between>[^,;.]*?)`?{{new}}`?", _COMMAND),
    (r"(?P<between>)`?{new}`? (?:has )?(?:replace[sd]|supersedes) `?{old}`?", _COMMAND),
    (
        r"(?P<between>)`?{old}`? (?:(?:was|is|has been) )?(?:renamed to|now called|replaced (?:by|with)) `?{new}`?",
        _COMMAND,
    ),
)


@cache
def _compiled_by_name() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(form.format(old=f"(?P<old>{name})", new=f"(?P<new>{name})"), re.ASCII if name is _NAME else 0)
        for form, name in _BY_NAME
    )


#: Words that go with any value, or with any change, and don't say what it is the value of.
_MEASURES = re.compile(
    r"\b(?:ports?|versions?|limits?|max(?:imum)?|min(?:imum)?|recently|yesterday|today|was|were|got"
    r"|has|have|been|the|our"
    r"|we|now|just|actually|as|of|please|scratch|forget|correction|sorry|that|wrong|about|concerning|regarding"
    r"|ask|questions?|goes|go|as the (?:one|person) who|no longer)\b|版本|现在|刚刚?|已经?|今天|昨天"
)
#: Questions, plans, wishes, conditions, single times, and what others do.
_UNSETTLED = re.compile(
    r"[?？]|^(?:is|are|was|were|does|did|do|has|have|why|what (?!i |we )|how|who|where|which|should"
    r"|shall|would|could|can"
    r"|may)\b"
    r"|\b(?:if|unless|maybe|perhaps|might|could|would (?!be)|should we|wonder\w*|consider\w*|thinking|think about"
    r"|plan(?:s|ned|ning)? (?:to|on)|(?:want|wish|hope|like|love|try|trying|going|about|planning|tempted|supposed) to"
    r"|some ?day|eventually|one day|at some point|experiment\w*|for now|for the (?:moment|time being)"
    r"|temporar\w+|until"
    r"|(?:just|only) (?:this|for)|this (?:time|once|branch|session)|(?:they|their|he|she|his|her"
    r"|customers?|vendor|upstream)"
    r"|(?:the )?other (?:team|project|repo|people|company)s?|another (?:team|project|repo|company)"
    r"|not (?:yet|sure)|stay(?:ed|ing|s)? (?:with|on)|don't switch"
    r"|do not switch|never (?:switch|move|migrate)|against|refus\w+ to|instead of (?:moving|switching)"
    r"|(?:is|are) also)\b|\b(?:too|as well)$"
    r"|如果|要是|假如|可能|也许|或许|(?<!不)打算|(?<!不)考虑|想要|想换|计划(?!有变)|要不要|是不是"
    r"|是否|吗|呢$|试试|暂时|临时|这[一]?次|别从|不要从|他们|她们|别的项目|将来"
)
#: Plans, doubts, others, single times, what was once, and what is used beside another: they end nothing.
_SETTLES_NOTHING = re.compile(
    r"\b(?:just|only) this (?:once|time)\b|[就只]这一?次|\b(?:(?:should|shall) we|this time|might"
    r"|could we|some ?day|plan(?:s|ned|ning)? to"
    r"|(?:like|love|going|want) to (?:move|switch|migrate|change)|(?:the )?other (?:team|project|repo)s?"
    r"|another (?:team|project|repo)|(?<!be )(?<!are )(?<!get )used to|is also"
    r"|(?:docs?|documentation|readme|articles?|tickets?|logs?|errors?) (?:still )?(?:say|tell|mention)s?"
    r"(?!.*\bbut\b))\b"
    r"|(?<!should )(?<!must )(?<!do )\b(?:too|as well)$|要不要|(?<!不)打算|考虑换|这次|别的项目|以前用(?!.*现在)",
    re.IGNORECASE,
)
