"""What a look over the workspace may find: which rule, where, and what to do about it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Rule(StrEnum):
    """One rule that the memories and their files keep."""

    UNTRACED_LINE = "untraced_line"  # each memory line of MEMORY.md leads to an active memory
    OUTDATED_LINE = "outdated_line"  # and says what that memory says
    NO_ENTRY = "no_entry"  # an active memory rests on an entry that stands
    NO_EVIDENCE = "no_evidence"  # an entry rests on a line of a log
    MIXED_SCOPE = "mixed_scope"  # a memory and its entries have one scope
    BAD_STATEMENT = "bad_statement"  # a statement, or a condition, is one harmless line
    UNGROUNDED = "ungrounded"  # what a memory names stands in its entries
    NO_PERSON = "no_person"  # a preference, decision or procedure rests on a line of the person
    CONTRADICTION = "contradiction"  # two active memories of one scope and condition can both hold
    DUPLICATE = "duplicate"  # and say different things
    BROKEN_SUCCESSION = "broken_succession"  # what superseded a memory is there, and is not superseded by it
    SECRET = "secret"  # noqa: S105 - no secret stands anywhere
    BAD_SUMMARY = "bad_summary"  # memory_summary.md is as its readers expect, and of the user's scope alone
    MISSING_FILE = "missing_file"  # what was published is there
    CHANGED_FILE = "changed_file"  # and is as it was published, apart from MEMORY.md
    LINK = "link"  # where ours go, there are regular files of our own, and no links
    FOREIGN_FILE = "foreign_file"  # nor other files
    OPEN_MODE = "open_mode"  # our files are for their owner alone
    BAD_BASELINE = "bad_baseline"  # the copy of what was published can be read
    UNPUBLISHED = "unpublished"  # what was committed is published


class Finding(Struct, frozen=True, kw_only=True):
    """One place where a rule is broken. No secret is repeated in it."""

    rule: Rule
    place: str  # file, or file and line, of the workspace; a memory's or entry's id; the whole path of an open file
    problem: str
    advice: str


RUN = "run `memory-pipeline run`"
