"""What lasts in English by its grammar alone, without a word that says so: rules of conduct and style, and facts.

Told apart are rules (what to do, or leave, whenever work is done), asks before actions, conditionals, what the person
says of themselves, and what they say of their project. What the product shall do, what is to be built now, and what
explains the trouble of the moment are none of these.
"""

from __future__ import annotations

from memory_pipeline.directions.english_facts import fact
from memory_pipeline.directions.english_general import (
    general_kind,
    has_standing,
    is_parallel,
    main_part,
    orders_or_binds,
)
from memory_pipeline.directions.english_rules import rule
from memory_pipeline.directions.english_words import IN_THIS, LASTS, MOMENT, NOTES, ORDERS_IT, POINTS_BACK, reports
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind


def plain_kind(clause: str, *, in_task: bool, in_spec: bool, noted: bool) -> EntryKind | None:
    """Return what a clause, in lower case, lays down by its grammar alone; None when it lays down nothing.

    ``in_task``: the prompt asks for work besides; ``in_spec``: it describes something to be made; ``noted``: the clause
    is introduced as something to know ("by the way", "house rule").
    """
    noted = noted or NOTES.match(clause) is not None
    lasting = (LASTS.search(clause) is not None and IN_THIS.search(clause) is None) or _HERE_WITH_US.match(
        clause.partition(", ")[0]
    )
    if is_parallel(clause) and not in_spec:
        return EntryKind.PREFERENCE
    if not lasting and MOMENT.search(clause.partition(", ")[0]):
        return None
    if not noted and _RULES_AT_ALL.search(clause) is None and reports(clause):
        return None
    in_task, in_spec = in_task and not noted, in_spec and not noted
    kind = rule(clause, in_task=in_task, in_spec=in_spec) or fact(clause, in_task=in_task, in_spec=in_spec)
    if kind is not None:
        return EntryKind.PREFERENCE if kind is EntryKind.KNOWLEDGE and orders_or_binds(clause) else kind
    head = main_part(clause)
    if _NAMES_A_FAULT.match(clause) or POINTS_BACK.search(head):
        return None
    if ORDERS_IT.search(head) and "instead" not in clause:
        return None
    if reports(head) and not has_standing(head):
        return None
    return general_kind(clause, in_task=in_task, in_spec=in_spec, noted=noted)


#: Without one of these words a clause that tells of trouble lays nothing down.
_RULES_AT_ALL = Lazy(
    r"\b(?:don't|dont|do not|never|no|not|must|should|shall|always|ever|every|each|any|all|please|ask|only"
    r"|keep|leave|avoid|stop|if"
    r"|when|whenever|we|our|use|prefer|before|after|unless|without|by|is (?:frozen|wrong)|for|with us"
    r"|hands|stays?|nothing|nobody|will be|out of|isn't"
    r"|aren't|can't|treat|log|raise|handle|exceptions|errors|warnings|i|i'm|my|you)\b"
)
_NAMES_A_FAULT = Lazy(r"(?:\S+ )?(?:error|exception|warning|failure|bug|crash)\b(?! messages?\b)")

_HERE_WITH_US = Lazy(
    r"(?:(?:no|we|our|nobody|everyone|everybody|only)\b|is not (?:possible|allowed|permitted)\b"
    r"|(?!(?:these|those)\b)[\w-]+s\b).*\bhere$"
    r"|from this (?:sprint|release|version|week|month|quarter) on\b"
)
