"""Directions without a word that says so: whole sentences, and clauses that follow or stand beside something else."""

from __future__ import annotations

import re
from itertools import islice

from msgspec.structs import replace

from memory_pipeline.directions import chinese_plain, english_plain, english_rules, english_words
from memory_pipeline.directions.clauses import CJK, MEANT_TO_BE_BUILT, MOST_STARTS, SPECIFIES, after_lead, is_asked
from memory_pipeline.directions.company import Company
from memory_pipeline.directions.english import CORRECTION, POLITE_REQUEST, REPORTED, TROUBLE, UNSURE
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.statement import Direction, says_enough, state
from memory_pipeline.directions.words import Sentence
from memory_pipeline.records import EntryKind

_ZH_SCENE = Lazy(r"(?:凡|凡是|对于|涉及|如果|若|当|只要|由于|因为|考虑到|鉴于|为了)[^，。]{2,30}$")


def with_first_half(found: Direction, sentence: Sentence, company: Company) -> Direction:
    """What was found in a sentence, or the whole of it when what goes before belongs to it: "no shadows, we use …"."""
    begin = after_lead(sentence.masked, 0, len(sentence.masked))
    place = sentence.text.find(found.text)
    before = re.sub(r"\s+(?:so|and|but|hence|therefore)\s*$", "", sentence.text[begin:place]).rstrip()
    if len(before) < _SHORTEST_CLAUSE // 2:
        return found
    earlier = _begin_before(sentence, company, begin, begin + len(before))
    if earlier is None:
        return found
    whole = state(sentence, earlier, place + len(found.text), kind=found.kind, correction=found.correction)
    return whole or found


def _begin_before(sentence: Sentence, company: Company, begin: int, end: int) -> int | None:
    """Where what goes before begins to lay something down: with the sentence, or with its last clause."""
    masked = sentence.masked
    joined = masked[begin:end].endswith((",", "，"))
    last = re.search(r",? (?:so|because|since) |, ", masked[begin : end - 1])
    for start in (begin, *([begin + last.end()] if last else [])):
        clause = masked[start:end].rstrip(" ,，")
        lays_down = joined or _BARE_REFUSAL.match(clause)
        if lays_down and _kind_before(sentence, company, start, start + len(clause)) is not None:
            return start
    return None


_BARE_REFUSAL = Lazy(r"(?:no|never|don't|do not|not) ")


def _kind_before(sentence: Sentence, company: Company, begin: int, end: int) -> EntryKind | None:
    clause = sentence.masked[begin:end]
    if CJK.search(clause):
        if _ZH_SCENE.match(clause):
            return EntryKind.PREFERENCE
        return chinese_plain.plain_kind(clause, in_task=True, in_spec=company.builds)
    if english_words.TASK.match(clause) or UNSURE.search(clause) or REPORTED.search(clause) or is_asked(sentence):
        return None
    return english_plain.plain_kind(clause, in_task=True, in_spec=company.builds, noted=False)


def plain_direction(sentence: Sentence, company: Company, *, corrected: bool) -> Direction | None:
    """Return what a sentence lays down by its grammar; ``corrected``: the one before rejected what was done."""
    masked = sentence.masked
    if masked.endswith((":", "：")):
        return None  # what it heads stands below
    if len(masked) > _PLAIN_MAX_CHARS or is_asked(sentence) or company.says_how_to_answer(sentence):
        return None
    begin, end = after_lead(masked, 0, len(masked)), len(masked)
    if masked.endswith(")") and masked.count("(", begin) < masked.count(")", begin):
        end -= 1
    if CJK.search(masked, begin):
        if UNSURE.search(masked) or REPORTED.search(masked):
            return None
        begin, end, kind = _plain_chinese(sentence, company, begin)
    else:
        task = _TASK_FOLLOWS.search(masked, begin + 1)
        end = task.start() if task else end
        authority = _AUTHORITY.search(masked, 0, end)
        if authority:
            begin = after_lead(masked, authority.end(), end)
        if UNSURE.search(masked, begin, end) or (not authority and REPORTED.search(masked, 0, end)):
            return None
        if MEANT_TO_BE_BUILT.search(masked):
            return None
        kind, first = _plain_english(sentence, company, begin, end)
        begin, end, kind = (first, end, kind) if kind else _later_english(sentence, company, begin, end)
    if kind is None:
        return None
    correction = corrected or CORRECTION.match(masked) is not None
    return state(sentence, begin, end, kind=kind, correction=correction)


#: Whose word the person passes on as binding.
_AUTHORITY = Lazy(
    r"\b(?:my|our|the) (?:(?:team|tech|engineering|project|product) )?(?:lead|boss|manager|mentor|cto|ceo"
    r"|architect|dba"
    r"|ops|designer|owner|team|company|legal|auditors?|security|client|contract)(?: (?:team|people|guys"
    r"|department))?"
    r" (?:told (?:me|us)|says?|said|wants?(?: us)?|asked(?: us| me)?|requires?|insists|agreed"
    r"|decided)(?: that| to)? "
    r"(?=(?:we|no|never|not|all|every|don't|everything|nothing|only|nobody)\b)"
    r"|\bi(?:'ve| have)? (?:told|promised|assured|agreed with) (?:the |my |our )?\w+(?: that (?=\w)| (?=we\b))"
    r"|^(?:(?:the|our|my) )?(?:\w+ )?(?:threat model|policy|policies|contract|law|gdpr|legal|guidelines?"
    r"|conventions?|standards?|style guide"
    r"|regulations?|agreement|sla) (?:says?|requires?|forbids?|demands?|prescribes?"
    r"|wants?)(?: that)? (?=no |only |never |all |every |we )"
)

#: Where a request begins that follows a rule in one breath.
_TASK_FOLLOWS = Lazy(
    r",? (?:(?:so|and|but|okay|ok|alright|anyway|anyways)[ ,]+)+(?:now\b|please\b|can you\b|could you\b"
    r"|would you\b"
    r"|let's\b|with that\b|just \w+ |for (?:this|now)\b|what i'd like now|have a look|for the \w+ what)"
)

#: Says of the sentence before that it holds in general.
CONFIRMS = Lazy(
    r"(?:and )?(?:that's|that is|this is) (?:the|our|my|how|what) (?:\w+ )?(?:line|rule|principle|policy"
    r"|convention|standard"
    r"|deal|way|codebase|we do|i like|all|everyone|everybody|we|i want)\b|(?:that|this|it"
    r"|same)? ?(?:applies|goes|holds|counts)"
    r" (?:to|for|in) (?:every|all|any|each)|(?:like |as )?(?:always|every time|each time|everywhere"
    r"|without exception|in general|from now on)$|in that order$"
    r"|(?:i|we) (?:need|want|do) (?:this|that|it) (?:every|each|always)|same (?:everywhere|for all)"
    r"|(?:rewrite|redo|change|adapt|adjust) .*\b(?:that way|accordingly)$|keep that in mind|(?:and )?(?:that's "
    r"|it's )?(?:decided|settled|final|not optional|non-negotiable)$"
)


#: Says of the sentence before that people work so.
IS_CUSTOM = Lazy(
    r"(?:and )?(?:that's|that is|this is) how (?:\w+ ){1,4}(?:works?|do(?:es)? it|rolls?|likes? it)\b|always$"
)


def confirmed(sentence: Sentence, *, custom: bool = False) -> Direction | None:
    """A sentence that the next one says holds in general: "raw sql there, ORM elsewhere. that's the line.".

    ``custom``: it says that this is how people work; then it may read like a request.
    """
    masked = sentence.masked
    begin = after_lead(masked, 0, len(masked))
    if len(masked) > _PLAIN_MAX_CHARS or (custom and is_asked(replace(sentence, question=False))):
        return None
    if sentence.question and not custom and POLITE_REQUEST.search(masked) is None:
        return None
    polite = POLITE_REQUEST.search(masked) if sentence.question else None
    begin = polite.end() if polite else begin
    if not says_enough(masked[begin:], words=3):
        return None
    if CJK.search(masked) or TROUBLE.search(masked):
        return None
    if english_words.TASK.match(masked, begin) and not custom:
        return None
    return state(sentence, begin, len(masked), kind=EntryKind.PREFERENCE, correction=False)


def _later_english(sentence: Sentence, company: Company, begin: int, end: int) -> tuple[int, int, EntryKind | None]:
    """A rule or fact that follows a request, a remark or another half within one sentence, or stands in brackets."""
    masked = sentence.masked
    for match in islice(_CLAUSE_START.finditer(masked, begin, end), MOST_STARTS):
        start = after_lead(masked, match.end(), end)
        closed = masked.find(")", start, end) if match.group().endswith("(") else -1
        stop = closed if closed > 0 else end
        clause = masked[start:stop]
        if len(clause) < _SHORTEST_CLAUSE or SPECIFIES.search(masked, 0, start):
            continue
        if english_words.TASK.match(clause) and not _CONTRASTED.search(clause):
            continue
        if match.group().strip() in {":", ","} and TROUBLE.search(masked, begin, match.start()):
            continue
        if match.group().strip() in {":", ","} and english_words.TASK.match(masked, begin):
            continue  # "add validation: the name is required" tells what to add
        if match.group().strip() == "," and _HALF.match(clause):
            continue
        noted = match["noted"] is not None
        kind = english_plain.plain_kind(clause, in_task=True, in_spec=company.builds and not noted, noted=noted)
        if (
            kind is None
            and noted
            and says_enough(clause, words=4)
            and (_DIRECTS.match(clause) or not TROUBLE.search(clause))
        ):
            kind = EntryKind.PREFERENCE
        if kind is not None:
            return start, stop, kind
    return begin, end, None


_SHORTEST_CLAUSE = 8

#: No clause of its own: it lacks its verb or its subject.
_HALF = Lazy(r"(?:in|on|at|for|with|of|by|from|to|must|should|may|can|will|which|that|who|where)\b")

_DIRECTS = Lazy(
    r"(?:[\w' ]{2,30} (?:so|and) (?:you can't|don't|we)\b|[\w ]{2,30}they\b|i (?:want|need|expect"
    r"|would like) (?:you|us)|you|we|always|never|don't|whatever|please)\b"
)

_CLAUSE_START = Lazy(
    r"(?P<noted>\b(?:keep in mind|bear in mind|remember|note|the rule(?: \w+){0,3} is|the way (?:i"
    r"|we) (?:like|work|do)\b"
    r"[^,]{0,30}? is|(?:the|one|another)(?: more)? thing about(?= )|(?:my|our) (?:rule|convention"
    r"|principle|policy|agreement|preference|standard) is|for the future"
    r"|this goes for everything(?: not just today)?|in general with me it works best if"
    r"|(?:i think )?in general (?:with me )?it works best if)"
    r"(?: that|:|,)? )"
    r"|(?:,|\s[-–—]+|[:;])?\s(?:because|since|so|but|and|as|though|plus|btw|by the way|fyi"
    r"|just so you know|oh and|anyway"
    r"|which means|that means|i think|turns out|means|the thing [\w' ]{2,30} is|context)(?: that)?[,:]?\s+"
    r"|[(]|\s[-–—]+\s|:\s|,\s"
)

_PLAIN_MAX_CHARS = 500


def _plain_english(sentence: Sentence, company: Company, begin: int, end: int) -> tuple[EntryKind | None, int]:
    masked = sentence.masked
    clause = masked[begin:end]
    told = _TOLD_TO_KNOW.search(masked, 0, begin) is not None
    noted = told or _ASIDE.search(masked, 0, begin) is not None or company.follows_a_complaint(sentence)
    exempt = (
        _CONTRASTED.search(clause) is not None
        and english_words.BUILDS.match(clause) is None
        and SPECIFIES.search(clause) is None
    )
    if exempt or english_words.TASK.match(clause) is None:
        kind = english_plain.plain_kind(
            clause, in_task=company.has_task_beside(sentence), in_spec=company.builds, noted=noted
        )
        if kind is None and told and says_enough(clause, words=4) and not TROUBLE.search(clause):
            kind = EntryKind.KNOWLEDGE
        if kind is not None:
            return kind, begin
    later = english_rules.later_ban(clause)
    return (EntryKind.PREFERENCE, begin + later) if later is not None else (None, begin)


_TOLD_TO_KNOW = Lazy(
    r"\b(?:note(?: that)?|fyi|for the record|keep in mind|remember|good to know|for your information"
    r"|house rules?|rule"
    r"|reminder)[:,]? *$"
)

_ASIDE = Lazy(
    r"\b(?:also|btw|by the way|fyi|note|rule|record|reminder|remember|usual|future|hint|tip|important"
    r"|context)\b"
)

_CONTRASTED = Lazy(
    r"\bhouse style\b|\b(?:every|each|all) (?:new )?[\w-]+(?: [\w-]+)?$|\bplan before\b|,? (?:not"
    r"|never) \S+(?: \S+){0,2}$|\b(?:always|never|unless|before (?:you|each|every|any)|after (?:each|every"
    r"|any))\b"
    r"|\bor (?:nothing|not at all)$"
)


def _plain_chinese(sentence: Sentence, company: Company, begin: int) -> tuple[int, int, EntryKind | None]:
    """The first clause of a sentence that lays something down, with those that belong to it."""
    masked = sentence.masked
    in_task = company.has_task_beside(sentence)
    noted = _ZH_NOTED.search(masked, 0, begin) is not None
    in_spec = company.builds and not noted
    kind = chinese_plain.plain_kind(masked[begin:].strip(), in_task=in_task, in_spec=in_spec)
    if kind is None and chinese_plain.is_custom(masked[begin:]):
        kind = EntryKind.PREFERENCE
    if kind is not None:
        return begin, len(masked), kind
    cuts = [match.span() for match in islice(_ZH_COMMA.finditer(masked, begin), MOST_STARTS)]
    starts = [begin, *(after_lead(masked, after, len(masked)) for _, after in cuts)]
    ends = [*(before for before, _ in cuts), len(masked)]
    clauses = [masked[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    asks = [chinese_plain.TASK.match(clause) is not None for clause in clauses]
    for index, clause in enumerate(clauses):
        if asks[index] or len(clause) < _ZH_SHORTEST_CLAUSE or chinese_plain.tells_what_was_done(clause):
            continue
        explains = any(map(chinese_plain.tells_trouble, clauses[:index])) or any(asks[index + 1 :])
        explains = explains or any(map(chinese_plain.tells_state, clauses[index + 1 :]))
        if explains and not chinese_plain.INSISTS.search(clause):
            continue  # what explains the trouble, or the request that follows
        kind = chinese_plain.plain_kind(clause, in_task=in_task or index > 0, in_spec=in_spec)
        if kind is not None:
            last = next((later for later in range(index + 1, len(asks)) if asks[later]), len(asks)) - 1
            return starts[index], ends[last], kind
    return begin, len(masked), None


_ZH_SHORTEST_CLAUSE = 4

_ZH_NOTED = Lazy(r"注意|另外|还有|对了|提醒|补充|顺便|规范|约定|规则")

_ZH_COMMA = Lazy(r"[，,]\s*|\s*[（(]")
