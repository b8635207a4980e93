"""Whether what is told can stand beside what is remembered: one rule for the review and for phase two."""

from __future__ import annotations

from typing import Protocol

from memory_pipeline.entries import are_of_one_family
from memory_pipeline.likeness import choose_otherwise, contradicts, same_condition
from memory_pipeline.records import EntryKind


class Conditioned(Protocol):
    """Something that is said under a condition."""

    @property
    def statement(self) -> str:
        """What it says."""
        ...

    @property
    def condition(self) -> str:
        """When it holds; "" is always."""
        ...


class Statement(Conditioned, Protocol):
    """The same with its kind: an entry, a memory, or a statement given for comparison."""

    @property
    def kind(self) -> EntryKind | None:
        """What sort of statement it is; None where that is not known, so that it may be of any."""
        ...


def contradict_in_place(first: Conditioned, second: Conditioned) -> bool:
    """Whether two can't both hold, under the same condition, or whatever condition their own words make no limit."""
    repeats_it = all(
        not one.condition or one.condition.casefold() in one.statement.casefold() for one in (first, second)
    )
    if repeats_it and choose_otherwise(first.statement, second.statement):
        return True
    return same_condition(first.condition, second.condition) and contradicts(first.statement, second.statement)


def stands_against(known: Statement, told: Statement, *, known_by_person: bool, by_person: bool) -> bool:
    """Whether something known can't stand beside what is told; ``…_by_person`` say whose word each is.

    What a person wants and how a thing is are told apart, and may differ, until the person's word is doubted.
    """
    is_related = (
        known.kind is None
        or told.kind is None
        or are_of_one_family(known.kind, told.kind)
        or (known_by_person and not by_person)
    )
    return is_related and contradict_in_place(known, told)
