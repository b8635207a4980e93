"""Reads the phrase bank: ``bank/build.txt``, the held-out parts, and what they all share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).resolve().parent / "bank"
PARTS = ("build", "heldout", "second", "third", "fourth", "fifth")

#: Shapes of which every sentence states something that lasts, and those of which none does.
STATING = ("tool", "change", "decide", "act", "dont", "act-user", "dont-user", "said", "workflow")
PASSING = ("task", "ask", "chat")

_HEADING = re.compile(r"\[(.+)\]")

#: Each of these must stand in a statement for it to say the fact; of several in one, one is enough.
Marks = tuple[tuple[str, ...], ...]


class Phrase(Struct, frozen=True, kw_only=True):
    """One sentence or frame, and where in the bank it stands."""

    shape: str
    language: str
    family: str
    text: str
    marks: Marks = ()


class Action(Struct, frozen=True, kw_only=True):
    """Something that a rule asks for or forbids, as an imperative and (in English) as a gerund."""

    do: str
    doing: str
    marks: Marks


class Topic(Struct, frozen=True, kw_only=True):
    """Something of which a project uses one, and the rivals for it."""

    name: str
    name_zh: str
    tools: tuple[str, ...]


class Cause(Struct, frozen=True, kw_only=True):
    """Why something failed, and what helped: as a gerund and as what the agent did."""

    cause: str
    remedy: str
    did: str
    mark: str


class Failure(Struct, frozen=True, kw_only=True):
    """A command with ``{word}``, what it prints when it fails, and when it passes."""

    command: str
    failing: str
    passing: str


class Bank(Struct, frozen=True, kw_only=True):
    """One part of the bank, with what all parts share."""

    part: str
    phrases: tuple[Phrase, ...]
    actions: dict[tuple[str, str], tuple[Action, ...]]  # by what it is (actions, bad-actions) and language
    causes: tuple[Cause, ...]
    topics: tuple[Topic, ...]
    failures: tuple[Failure, ...]
    words: tuple[str, ...]
    joiners: dict[str, tuple[str, ...]]

    def of(self, shape: str, language: str = "") -> list[Phrase]:
        """Return the phrases of a shape, in one language or in all."""
        return [one for one in self.phrases if one.shape == shape and language in {"", one.language}]


def read_bank(part: str) -> Bank:
    """Read one part of the bank.

    Raises:
        ValueError: there is no such part.
    """
    if part not in PARTS:
        raise ValueError(f"the bank has no part {part!r}, only {' and '.join(PARTS)}")
    own, shared = dict(_blocks(f"{part}.txt")), dict(_blocks("common.txt"))
    return Bank(
        part=part,
        phrases=tuple(phrase for heading, lines in own.items() for phrase in _phrases(heading.split(), lines)),
        actions={
            (heading.split()[0], heading.split()[1]): tuple(_action(line) for line in lines)
            for heading, lines in own.items()
            if heading.startswith(("actions", "bad-actions"))
        },
        causes=tuple(Cause(**_named(line, "cause", "remedy", "did", "mark")) for line in own["causes"]),
        topics=tuple(_topic(line) for line in shared["tools"]),
        failures=tuple(Failure(**_named(line, "command", "failing", "passing")) for line in shared["failures"]),
        words=tuple(shared["words"][0].split()),
        joiners={
            language: tuple(line.replace("\\n", "\n") for line in shared[f"joiners {language}"])
            for language in ("en", "zh")
        },
    )


def with_slots(text: str, **slots: str) -> str:
    """Fill the slots of a frame."""
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text


def says(statement: str, marks: Marks) -> bool:
    """Whether a statement has all marks: each in full words from its beginning, whatever its case."""
    folded = statement.casefold()
    return all(any(_has(folded, mark.casefold()) for mark in choice) for choice in marks)


def _has(text: str, mark: str) -> bool:
    if not mark.isascii():
        return mark in text
    return re.search(rf"(?<![a-z0-9]){re.escape(mark)}", text) is not None


def _blocks(name: str) -> Iterator[tuple[str, list[str]]]:
    heading, lines = "", list[str]()
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        match = _HEADING.fullmatch(line)
        if match is None:
            if line and not line.startswith("#"):
                lines.append(line)
            continue
        yield heading, lines
        heading, lines = match[1], []
    yield heading, lines


def _phrases(heading: Sequence[str], lines: Sequence[str]) -> Iterator[Phrase]:
    if not heading or heading[0] not in {*STATING, *PASSING, "fix"}:
        return
    for line in lines:
        text, _, marks = line.partition(" || ")
        yield Phrase(
            shape=heading[0],
            language=heading[1],
            family=heading[2],
            text=text.replace("\\n", "\n"),
            marks=_marks(marks),
        )


def _action(line: str) -> Action:
    do, *rest = (field.strip() for field in line.split(" | "))
    return Action(do=do, doing=rest[0] if len(rest) > 1 else "", marks=_marks(rest[-1]))


def _marks(text: str) -> Marks:
    """Read words that are all needed, or, with bars, alternatives of which one is enough."""
    return (tuple(text.split("|")),) if "|" in text else tuple((mark,) for mark in text.split())


def _topic(line: str) -> Topic:
    name, name_zh, tools = (field.strip() for field in line.split(" | "))
    return Topic(name=name, name_zh=name_zh, tools=tuple(tools.split()))


def _named(line: str, *names: str) -> dict[str, str]:
    return dict(zip(names, (field.strip().replace("\\n", "\n") for field in line.split(" | ")), strict=True))
