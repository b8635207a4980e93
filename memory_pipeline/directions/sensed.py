"""Directions that no pattern knows: clauses whose words, taken together, sound as if they last."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from memory_pipeline.changes import is_unsettled
from memory_pipeline.directions import chinese_plain, english_words
from memory_pipeline.directions.clauses import (
    CJK,
    MEANT_TO_BE_BUILT,
    SENTENCE_MAX_CHARS,
    after_lead,
    is_asked,
    is_question,
)
from memory_pipeline.directions.company import Company
from memory_pipeline.directions.english import CORRECTION, ORDER, REPORTED, TROUBLE, UNSURE
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.segments import cut
from memory_pipeline.directions.sense import sense, telling_words
from memory_pipeline.directions.statement import Direction, says_enough, state
from memory_pipeline.directions.words import Sentence
from memory_pipeline.records import EntryKind
from memory_pipeline.rivals import names_a_tool, names_rivals
from memory_pipeline.switches import switch_in

#: How sure it must be that a clause lasts. Chosen by cross-validation: see benchmarks/README.md.
SURE = -0.2
#: The same where it may belong to what is asked for: it points at something, is short, or describes what is built.
SURE_BESIDE_A_REQUEST = 0.3
#: The same for an order beside a request.
SURE_OF_AN_ORDER = 0.9
#: How sure it must be where a tool is named of which a project uses one, and where two rivals are.
SURE_OF_A_TOOL = -0.5
SURE_OF_RIVALS = -0.8
#: How sure it must be of words that make no sentence.
SURE_OF_A_FRAGMENT = 0.65
#: The same for trouble that is told beside a request.
SURE_OF_TROUBLE = 0.45
#: How sure it must be that a clause does not last, for what a pattern found not to count; and where it has such a word
#: as "every".
SURE_NOT = -0.8
SURE_NOT_IN_SPITE = -1.2

#: A rule in two halves may be surer than either of them, by so much.
_HALVES_MAY_FALL_SHORT_BY = 0.4

_Span = tuple[int, int]


def sensed_direction(sentence: Sentence, company: Company, *, corrected: bool) -> Direction | None:
    """Return the direction of a sentence in which no pattern found one; None when it does not sound as if it lasts."""
    masked = sentence.masked
    if len(masked) > SENTENCE_MAX_CHARS or masked.endswith((":", "：")) or not says_enough(masked):
        return None  # no part of it would be told, however sure its words were
    if is_asked(sentence) or company.says_how_to_answer(sentence):
        rest = _beside_the_question(sentence)
        return sensed_direction(rest, company, corrected=corrected) if rest is not None else None
    switched = _switched(masked)
    if MEANT_TO_BE_BUILT.search(masked):
        return None
    insisted = _without_exception(masked) or _insisted_on(masked)
    span = (
        switched
        or insisted
        or _lasting_span(masked, beside_a_request=company.has_task_beside(sentence), in_spec=company.builds)
    )
    if span is None:
        return None
    begin, end = span
    clause = masked[begin:end]
    if UNSURE.search(clause) or _is_passed_on(clause) or _TELLS_A_STORY.search(clause) or is_question(clause):
        return None
    if _HEADS_A_TASK.match(clause) or _DO_IT_NOW.search(clause):
        return None
    # Trouble that is told beside a request is mostly what the request is about.
    sure_of_trouble = SURE_OF_TROUBLE if company.has_task_beside(sentence) else SURE_BESIDE_A_REQUEST
    if english_words.reports(clause) and not names_rivals(clause) and sense(clause) < sure_of_trouble:
        return None
    if (
        insisted is None
        and switched is None
        and (REPORTED.search(clause) or TROUBLE.search(clause) or _is_task(clause))
        and sense(clause) < SURE_BESIDE_A_REQUEST
    ):
        return None
    kind = _kind_of(clause)
    if kind is EntryKind.KNOWLEDGE and not _says_something(clause):
        return None
    correction = corrected or CORRECTION.match(masked) is not None
    return state(sentence, begin, end, kind=kind, correction=correction)


def _beside_the_question(sentence: Sentence) -> Sentence | None:
    """What is told in the same breath as a question that has no mark: "why is ci red - and we're on uv here"."""
    joint = _ANOTHER_THING.search(sentence.masked) if not sentence.question else None
    if joint is None:
        return None
    return Sentence(text=sentence.text[joint.end() :], masked=sentence.masked[joint.end() :], question=False)


_ANOTHER_THING = Lazy(r"\s[-–—]\s|, (?:and|also|but|oh|btw) |[，,](?:另外|还有|对了)，?")


def _switched(masked: str) -> _Span | None:
    """The fewest clauses in a row that say which tool left and which came; what asks for a change now does not."""
    if not names_rivals(masked):
        return None
    pieces = cut(masked)
    for length in range(1, len(pieces) + 1):
        for first in range(len(pieces) - length + 1):
            start, end = pieces[first][0], pieces[first + length - 1][1]
            behind = (match.end() for match in _AND_NOT.finditer(masked, start, pieces[first][1]))
            begins = (after_lead(masked, start, end), _first_sign(masked, start), *behind)
            saying_both = [begin for begin in begins if _says_both(masked[begin:end])]
            if saying_both:
                return next(((begin, end) for begin in saying_both if _is_told(masked, begin, end)), None)
    return None


def _says_both(clause: str) -> bool:
    switch = switch_in(clause)
    return switch is not None and bool(switch.entered and switch.left)


#: "replace the regex, and not npm after all, pnpm": the request before it goes on no further.
_AND_NOT = Lazy(r"(?:, (?:and|so|but)|\s[-–—]) (?=(?:not|no longer|no more|never)\b)")


def _first_sign(masked: str, start: int) -> int:
    return len(masked) - len(masked[start:].lstrip())


def _is_told(masked: str, begin: int, end: int) -> bool:
    parts = [
        masked[after_lead(masked, max(start, begin), stop) : stop] for start, stop in cut(masked) if begin < stop <= end
    ]
    return not any(map(_is_task, parts)) and not _is_passed_on(masked[begin:end]) and sense(masked[begin:end]) > SURE


def _is_passed_on(clause: str) -> bool:
    """Whether others say it; behind "but" the person speaks."""
    found = _OTHERS_SAY.search(_CONCEDES.sub("", clause))
    return found is not None and _BUT.search(clause, found.end()) is None


_CONCEDES = Lazy(r"\b(?:whatever|no matter what|regardless of what) [^,]{2,40},|不管[^，]{2,14}，")
_BUT = Lazy(r"\bbut\b|但|不过")


def _insisted_on(masked: str) -> _Span | None:
    """What comes after words by which a person says that it was said before, or is a rule; trouble never does."""
    said = _SAID_BEFORE.match(masked)
    if said is None:
        return None
    begin = after_lead(masked, 0, len(masked))
    if said.group().endswith((":", ",", "：", "，")):
        begin = max(begin, said.end())
    clause = masked[begin:]
    if begin == 0 or english_words.reports(clause) or not says_enough(clause, words=3):
        return None
    return (begin, len(masked)) if sense(clause) > SURE_NOT else None


_SAID_BEFORE = Lazy(
    r"(?:(?:and|so|oh|but|please|ugh|no|ok),? )*(?:again:|(?:as|like) i (?:already )?(?:said|told you)"
    r"|how (?:often|many times)\b"
    r"|for the (?:last|second|third|hundredth) time|(?:this is |it's )?the (?:second|third|last) time"
    r"|(?:i'm )?(?:sick|tired) of"
    r"|(?:(?:the|my|our|one|a|an|small|another|important|new|house|general|standing|team) )*(?:rule|policy|convention"
    r"|principle|instruction|order)s?(?: (?:here|for you|of (?:mine|ours)|for this \w+))?:"
    r"|(?:whatever|no matter what|regardless of what) [^,]{2,40},)"
    r"|(?:我)?(?:都|已经)?(?:说|讲)(?:了|过)(?:多少|好几|很多|无数)|再(?:说|讲)一遍|最后(?:说|讲)一次|怎么又忘了"
    r"|(?:规矩|规则|约定|原则|铁律)[：:]|不管[^，]{2,14}，"
)


def _without_exception(masked: str) -> _Span | None:
    """What stands right before a clause that says that nothing is excepted: "…, always", "…, every single time"."""
    if not any(word in masked for word in _WORDS_OF_NO_EXCEPTION):
        return None
    pieces = cut(masked)
    for before, piece in pairwise(pieces):
        if _NOTHING_EXCEPTED.fullmatch(masked, *piece) is None:
            continue
        begin = after_lead(masked, *before)
        clause = masked[begin : before[1]]
        if says_enough(clause, words=3) and not english_words.reports(clause) and sense(clause) > SURE_NOT_IN_SPITE:
            return begin, piece[1]
    return None


_WORDS_OF_NO_EXCEPTION = (
    " always",
    " time",
    "exception",
    "no matter what",
    "not even you",
    "avoid it",
    "例外",
    "商量",
    "雷打不动",
    "包括你",
    "你也",
)
_NOTHING_EXCEPTED = Lazy(
    r"\s*(?:always|every (?:single )?time|each (?:single )?time|no exceptions?|without (?:any )?exceptions?"
    r"|no matter what"
    r"|(?:so |and )?(?:please )?(?:do|keep doing) (?:that|this|it|so)(?: please)? (?:each|every) (?:single )?time"
    r"|not even you|(?:and )?avoid it (?:here|in this \w+))\s*"
    r"|(?:没有|无一|绝无)例外|没得商量|雷打不动|包括你|你也(?:一样|不例外)"
)


def _says_something(clause: str) -> bool:
    """Whether a clause says how something is, or what it does: "interactive notes" says nothing of them."""
    if CJK.search(clause) or _STATES.search(clause) or telling_words(clause) >= _FEWEST_TELLING:
        return True
    return sense(clause) > (SURE_OF_A_FRAGMENT if _RELATES.search(clause) is None else 0.0)


#: "constants in caps", "prs against develop": without a verb, but of two things.
_RELATES = Lazy(r"\w (?:for|in|per|on|against|over|without|under|at|via|through|by|from|before|after) \w")


#: So many words beside those for things make a sentence of them, whatever its verb is.
_FEWEST_TELLING = 2
_STATES = Lazy(
    r"[▮\d/]|\b(?:is|isn't|are|aren't|was|were|be|been|has|hasn't|have|haven't|had|do|does|doesn't|did|can|can't"
    r"|cannot|will"
    r"|won't|would|may|might|needs?|goes|go|lives?|runs?|uses?|sits?|stays?|belongs?|happens?|comes?|means?|takes?"
    r"|expects?|requires?|holds?|keeps?|gets?|works?|starts?|ends?|stands?|depends?|listens?|points?|ships?|covers?"
    r"|wants?|talks?|speaks?|reads?|writes?|breaks?|fails?|moved|dropped|switched|deployed|hosted|stored|written"
    r"|pinned|named|called|kept|cached|generated|owned|signed|blocked|frozen|deprecated|voted?|agreed?|picked"
    r"|chosen)\b|\w['’](?:s|re|ve|ll)\b|=|→"
)


#: What others say or write is passed on, not laid down.
_OTHERS_SAY = Lazy(
    r"\b(?:docs?|documentation|readme|articles?|blog|posts?|manual|errors?|logs?|messages?|linter"
    r"|compiler|output|tutorial|website"
    r"|page|ticket|issue|file|he|she|they|it|people|someone|vendor|support|customers?|users?|internet"
    r"|stack ?overflow|chatgpt|answer)"
    r"(?: \w+)? (?:says?|said|claims?|claimed|recommends?|suggests?|mentions?|tells|told|writes|wrote"
    r"|insists?|complains?|warns?)\b"
    r"|according to (?!our|my|the team)"
    r"|(?:文档|日志|报错|提示|他们?|她|网上|客户|教程|文章)[^，]{0,3}(?:说|写|建议|推荐|提示)"
)


_OF_MINE = Lazy(r"\b(?:my|mine|i own|for me|regardless|no matter|whatever|whichever)\b|所有|每个|任何|哪")
#: What is only imagined, was once so, or is not settled.
_TELLS_A_STORY = Lazy(
    r"\b(?:i|we|it|they) (?:might|used to)\b|\b(?:theoretically|in theory|imagine|hypothetically|pretend)\b|let's say"
    r"|\b(?:was|were) going to\b|how long would|what would happen|long ago$|(?:haven't|have not|not yet) decided"
    r"|\bonce tried\b|以前用过|曾经|还没(?:决定|想好)|假如|假设|万一"
)


def whole_of(found: Direction, sentence: Sentence) -> Direction:
    """A direction with the clauses around it that say more of it: "stop using tox, it's nox now"."""
    masked = sentence.masked
    place = sentence.text.find(found.text)
    if place < 0 or found.text.endswith(":"):
        return found
    first, last = place, place + len(found.text)
    if names_rivals(masked[first:last]) and is_unsettled(masked[first:last]):
        span = _switched(masked)
        if span is not None and first <= span[0] and span[1] <= last and not is_unsettled(masked[slice(*span)]):
            # What holds for now alone is left out: "for now use the default - no more npm, we went for pnpm".
            return state(sentence, *span, kind=found.kind, correction=found.correction) or found
    switched = _switched(masked) if not names_rivals(masked[first:last]) else None
    if switched is not None and (names_a_tool(masked[first:last]) or (switched[0] < last and first < switched[1])):
        first, last = min(first, switched[0]), max(last, switched[1])
    clauses = list(clauses_of(masked))
    for begin, end in clauses:
        joined = begin < first < end and _JOINED.search(masked, begin, first) is not None
        if joined and not _is_task(masked[begin:last]) and _belongs(masked[begin:last]):
            first = begin  # "since the migration it's uv and no longer pip"
    for begin, end in clauses:
        if begin >= last and (_TELLS_STEPS.match(masked, first, last) or _goes_on(masked, (first, last), (begin, end))):
            last = end
    for begin, end in reversed(clauses):
        if end <= first and _leads_up(masked, (begin, end), (first, last)):
            first = begin
    if (first, last) == (place, place + len(found.text)):
        return found
    whole = state(sentence, first, last, kind=found.kind, correction=found.correction) or found
    if whole.everywhere and not found.everywhere and _OF_MINE.search(masked, first, last) is None:
        return replace(whole, everywhere=False)  # what was said beside it may be meant of this project alone
    return whole


_TELLS_HOW = Lazy(
    r"(?:\w+ing|(?:our|the|a) [\w ]{3,20}) (?:works?|goes|is done|runs)(?: like this)?: |(?:\w+ing|our"
    r"|the) [\w ]{2,30} means \w+ing\b"
    r"|[\w -]{3,24}: (?:\w+ [^,:]+|[\w-]+), (?:\w+ [^,:]+|[\w-]+), (?:and |then )?\w+ [^,:]+$"
    r"|to (?!be\b)[\w -]{3,24},? (?:use|run|call|do|first)\b|for an? [\w-]+(?: [\w-]+)?,? (?:run|use|branch"
    r"|first|start)\b"
    r"|[\u4e00-\u9fff]{1,8}(?:用|走|先|要)\s?[^，]+[，,]\s?(?:再|然后|最后)"
)
#: "outage: tell the channel, fix it, write it up": a name, and three steps or more; what is to be done now has another.
_HEADED_STEPS = Lazy(
    r"(?!(?:(?:the|my|your|our|one|two|three|next|last|first|open|still|some) )*(?:to ?dos?|tasks?|todays?|now"
    r"|next|plans?|please|notes?"
    r"|fyi|goals?|issues?|bugs?|errors?|problems?|remaining|left|status|done|summary|things?|points?|items?"
    r"|list|changes?|questions?"
    r"|options?|ideas?|examples?|scope|result|output|steps|tomorrow|tonight|monday|request|ticket|comments?"
    r"|feedback)\b)"
    r"[a-z][a-z -]{2,20}: (?:[a-z][^,:]{2,30}, ){2,4}(?:and |then )?[a-z][^,:]{2,30}"
)
_JOINED = Lazy(r"(?:\b(?:and|so|but)|,) $")
#: What follows says why, or what comes of it.
_FOLLOWS = Lazy(r"[\s,]*(?:so|because|since|hence|therefore)\s+$|[\s，,]*(?:所以|因为|否则|不然)$")
_TELLS_STEPS = Lazy(
    r"(?:to (?!be\b)\w+[\w ]*|(?:the|our|a|an) [\w ]*(?:process|workflow|steps?|procedure|way|recipe)\b[\w ]*"
    r"|\w+ing[\w ]*|when you [\w ]+):"
    r"|.*(?:流程|步骤|顺序)[^，]{0,4}[：:是]"
)
_GOES_ON = Lazy(
    r"(?:it's|it is|we're|we are|we have|that's|we|the project|so no more|not|never|only|use|and|no|as"
    r"|except|because|since|in any|any"
    r"|don't|nobody)\b|改用|现在|我们|不|再|最后|然后|而|只|因为"
    r"|(?:改|换)成"
)


def _goes_on(masked: str, told: _Span, then: _Span) -> bool:
    """Whether a clause that follows in the same breath says more about what is told, and asks for nothing by itself."""
    clause = masked[slice(*then)]
    if then[0] - told[1] > _LONGEST_JOINT or is_question(clause):
        return False
    if names_rivals(masked[told[0] : then[1]]) and not names_rivals(masked[slice(*told)]):
        return True  # one of them takes the other's place
    if _is_task(clause):
        return False
    if _FOLLOWS.fullmatch(masked, told[1], then[0]):
        return sense(clause) > SURE_NOT
    if _GOES_ON.match(clause) is not None:
        return sense(masked[told[0] : then[1]]) > SURE
    return _belongs(clause)


def _leads_up(masked: str, before: _Span, told: _Span) -> bool:
    """Whether the clause before what is told belongs to it: it lasts as well, or is what the other points back at."""
    clause = masked[slice(*before)]
    if told[0] - before[1] > _LONGEST_JOINT or is_question(clause):
        return False
    if _SAYS_SO.match(masked, *told) is not None:
        return sense(clause) > SURE_NOT
    if _is_task(clause) or english_words.reports(clause) or _TELLS_A_STORY.search(clause):
        return False
    halves = sense(masked[before[0] : told[1]]) > SURE and sense(clause) > SURE - _HALVES_MAY_FALL_SHORT_BY
    return halves or sense(clause) > SURE


def _belongs(clause: str) -> bool:
    """Whether a clause lasts by itself, and tells of no trouble."""
    return sense(clause) > SURE and not english_words.reports(clause) and not _TELLS_A_STORY.search(clause)


#: Says of what stands before it that it lasts, or points back at it.
_SAYS_SO = Lazy(
    r"(?:please )?(?:always|never|everywhere|every time|in general)$|(?:so )?that's (?:how|what|the)\b"
    r"|(?:so )?that one$"
    r"|nobody|i said|we switched|(?:以后|一直|每次|都|我们|我|大家)*(?:都|就)?(?:是)?这样|.{0,6}(?:一直"
    r"|都)用(?:它|这个)$"
    r"|.{0,12}别再用|我一向|(?:以后|下次|千万|请|你)*(?:别|不要|不许)(?:再)?这样"
)
_LONGEST_JOINT = 6


_SAYS_THAT_IT_LASTS = Lazy(
    r"(?:(?:please|pls|and|also|so|ok|but|no)[ ,]+)*(?:always|never(?! let\b)|remember(?: to| that|:)|keep in mind)\b"
    r"|(?:请|要)*(?:记住|始终|总是|永远)"
)


def does_not_last(masked: str) -> bool:
    """Whether a clause sounds so much like the moment that no pattern makes it last.

    Who begins with "always" or "never", or asks to remember something, has said themselves that it lasts.
    """
    if _SAYS_THAT_IT_LASTS.match(masked) is not None:
        return False
    return sense(masked) < (SURE_NOT if english_words.LASTS.search(masked) is None else SURE_NOT_IN_SPITE)


def _lasting_span(masked: str, *, beside_a_request: bool, in_spec: bool) -> _Span | None:
    """The longest run of clauses that last; what leads into it is passed over."""
    clauses = list(clauses_of(masked))
    if not clauses:
        return None
    whole = (clauses[0][0], clauses[-1][1])
    if _TELLS_HOW.match(masked, *whole) and sense(masked[slice(*whole)]) > SURE:
        return whole  # its steps read like requests
    if _HEADED_STEPS.fullmatch(masked, *whole) and sense(masked[slice(*whole)]) > SURE_NOT:
        return whole
    asked = [_is_task(masked[begin:end]) or sense(masked[begin:end]) < SURE_NOT for begin, end in clauses]
    if not any(asked) and _lasts(masked[slice(*whole)], beside_a_request=beside_a_request, in_spec=in_spec):
        each = [sense(masked[begin:end]) for begin, end in clauses]
        if min(each) > SURE - _HALVES_MAY_FALL_SHORT_BY or not names_a_tool(masked):
            return whole if max(each) > SURE - _HALVES_MAY_FALL_SHORT_BY else None
    if len(clauses) == 1:
        return None
    beside_a_request = beside_a_request or any(asked)
    lasting = [_lasts(masked[begin:end], beside_a_request=beside_a_request, in_spec=in_spec) for begin, end in clauses]
    runs = list(_runs([holds and not task for holds, task in zip(lasting, asked, strict=True)]))
    if not runs:
        return None
    first, last = max(runs, key=lambda run: clauses[run[1]][1] - clauses[run[0]][0])
    if last + 1 < len(clauses) and _SCENE_ALONE.fullmatch(masked, clauses[first][0], clauses[last][1]):
        last += 1  # the circumstances alone lay nothing down
    return clauses[first][0], clauses[last][1]


_SCENE_ALONE = Lazy(
    r"(?:if|when|whenever|before|after|unless|while|as long as|wherever|whatever) [^,]+|如果[^，]+|[^，]+的时候"
)


def _lasts(clause: str, *, beside_a_request: bool, in_spec: bool) -> bool:
    """Whether a clause surely lasts; what may belong to a request beside it must be surer."""
    points = english_words.MOMENT.search(clause) or english_words.POINTS_BACK.search(clause) or _POINTS.search(clause)
    value = sense(clause)
    if beside_a_request and not CJK.search(clause) and ORDER.match(clause) and not english_words.LASTS.search(clause):
        return value > SURE_OF_AN_ORDER
    if names_rivals(clause):
        return value > SURE_OF_RIVALS
    in_doubt = in_spec or points or (beside_a_request and not says_enough(clause, words=3))
    if names_a_tool(clause) and not in_spec:
        return value > (SURE if in_doubt else SURE_OF_A_TOOL)
    return value > (SURE_BESIDE_A_REQUEST if in_doubt else SURE)


def clauses_of(masked: str) -> Iterator[_Span]:
    """Yield where the clauses of a sentence begin and end, without what leads into them."""
    head = after_lead(masked, 0, len(masked))
    for start, end in cut(masked):
        begin = after_lead(masked, max(start, head), end)
        if begin < end:
            yield begin, end


_POINTS = Lazy(r"\b(?:for|over|of|with|to) (?:this|it|that|them)\b|这个(?!项目|仓库|库|工程)|这次|这里|那个|这段")


def _is_task(clause: str) -> bool:
    patterns = chinese_plain.TASK if CJK.search(clause) else english_words.TASK
    names_it = patterns.match(clause) or _HEADS_A_TASK.match(clause)
    return names_it is not None and sense(clause) < SURE_BESIDE_A_REQUEST


_DO_IT_NOW = Lazy(r"一下$")
_HEADS_A_TASK = Lazy(
    r"(?:(?:the|your|my|first|second|third|next|last|another) )+(?:task|job|todo|step|ticket|issue|bug)\b"
)


def _runs(flags: list[bool]) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for index, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = index
        elif not flag and start is not None:
            yield start, index - 1
            start = None


_DECIDES = Lazy(
    r"\b(?:decided|settled on|agreed on|chose|chosen|opted|verdict|decision|going with|we'll (?:go|use"
    r"|stay)|it is for)\b"
    r"|决定|定了|敲定|选定|选了"
)
_BINDS = Lazy(
    r"\b(?:i|i'm|i'd|my|me|you|your|please|always|never|must|should|don't|no|not|only|stop|avoid|use|prefer)\b"
    r"|要|别|请|不|用|我(?!们)|你|尽量|统一|一律|必须"
)


def _kind_of(clause: str) -> EntryKind:
    if _DECIDES.search(clause):
        return EntryKind.DECISION
    return EntryKind.PREFERENCE if _BINDS.search(clause) else EntryKind.KNOWLEDGE
