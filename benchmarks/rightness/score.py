"""What the memories of an invented world are worth: each figure counts something that was planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from benchmarks.rightness.bank import says
from benchmarks.rightness.world import Fact, Place, World

BYTES_A_TOKEN = 4


class Line(Struct, frozen=True, kw_only=True):
    """One statement that is told as current, and the lines of the logs that it rests on."""

    statement: str
    scope: str
    kind: str
    places: frozenset[Place]
    rests_on_the_person: bool = True


class Score(Struct, kw_only=True):
    """Counts; ``figures`` makes shares of them."""

    told: int = 0
    right: int = 0
    told_of_person: int = 0
    right_of_person: int = 0
    stated: int = 0
    recalled: int = 0
    fixes: int = 0
    fixes_recalled: int = 0
    superseded_told: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)
    narrowed: int = 0  # rules for everywhere that are told, but not as such
    rules_for_everywhere: int = 0
    trapped: dict[str, list[str]] = field(default_factory=dict)
    repeated: int = 0  # statements beyond the first of one fact
    missed: list[tuple[str, str, str, str]] = field(default_factory=list)  # kind, language, family, words
    wrong: list[tuple[str, str]] = field(default_factory=list)  # kind and statement of what rests on nothing planted
    by_kind: dict[str, list[int]] = field(default_factory=dict)  # recalled and stated
    by_language: dict[str, list[int]] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """Return what is told of it: shares from 0 to 1, and counts."""
        return {
            "recall_of_stated": _share(self.recalled, self.stated),
            "recall_of_fixes": _share(self.fixes_recalled, self.fixes),
            "precision": _share(self.right, self.told),
            "precision_of_the_persons": _share(self.right_of_person, self.told_of_person),
            "superseded_told": len(self.superseded_told),
            "scope_leaks": len(self.leaks),
            "poison": sum(len(found) for found in self.trapped.values()),
            "rules_for_everywhere_narrowed": _share(self.narrowed, self.rules_for_everywhere),
            "said_twice": self.repeated,
            "lines": self.told,
            "stated": self.stated,
            "fixes": self.fixes,
            "by_kind": {kind: _share(*counts) for kind, counts in sorted(self.by_kind.items())},
            "by_language": {language: _share(*counts) for language, counts in sorted(self.by_language.items())},
        }


def score(world: World, lines: Sequence[Line], *, scoped: bool = True) -> Score:
    """Score what is told as current. Without scopes every line is told everywhere, so that no scope is looked at."""
    made = Score(told=len(lines), told_of_person=sum(line.rests_on_the_person for line in lines))
    told_by: Counter[int] = Counter()
    for line in lines:
        here = [(number, fact) for number, fact in enumerate(world.facts) if _tells(line, fact)]
        right = [number for number, fact in here if not scoped or line.scope in {fact.scope, _narrow(line, fact)}]
        current = [number for number in right if not world.facts[number].superseded]
        told_by.update(current)
        made.repeated += bool(current) and all(told_by[number] > 1 for number in current)
        made.right += bool(current)
        made.right_of_person += bool(current) and line.rests_on_the_person
        if not current:
            _judge_wrong(made, line, [fact for _, fact in here], leaked=bool(here) and not right)
    for number, fact in enumerate(world.facts):
        _count_recall(made, fact, recalled=bool(told_by[number]))
    made.rules_for_everywhere = sum(fact.scope == "user" for fact in world.facts)
    made.narrowed = sum(
        fact.scope == "user" and not any(_tells(line, fact) and line.scope == "user" for line in lines)
        for number, fact in enumerate(world.facts)
        if told_by[number]
    )
    made.trapped = _trapped(world, [line.statement for line in lines])
    return made


def secrets_left(world: World, folders: Iterable[Path]) -> list[str]:
    """Return the files below some folders that hold a planted secret, in any byte."""
    found = []
    for path in sorted({path for folder in folders for path in folder.rglob("*") if path.is_file()}):
        content = path.read_bytes()
        found += [str(path) for secret in world.secrets if secret.encode() in content]
    return found


def baseline(world: World, size: int) -> list[Line]:
    """Return what a plain concatenation tells: the person's newest messages that fit into ``size`` bytes."""
    lines: list[Line] = []
    for _moment, text, place in reversed(world.prompts):
        size -= len(text.encode()) + 1
        if size < 0:
            break
        lines.append(Line(statement=text, scope="user", kind="message", places=frozenset({place})))
    return lines


def _tells(line: Line, fact: Fact) -> bool:
    return bool(line.places & fact.places) and says(line.statement, fact.marks)


def _narrow(line: Line, fact: Fact) -> str:
    """A rule for everywhere may be told in the project in which it was said: that is too little, not wrong."""
    return line.scope if fact.scope == "user" else fact.scope


def _judge_wrong(made: Score, line: Line, here: Sequence[Fact], *, leaked: bool) -> None:
    if leaked:
        made.leaks.append(f"{line.scope}: {line.statement}")
    elif here:
        made.superseded_told.append(line.statement)
    else:
        made.wrong.append((line.kind, line.statement))


def _count_recall(made: Score, fact: Fact, *, recalled: bool) -> None:
    if fact.kind == "fix":
        made.fixes += 1
        made.fixes_recalled += recalled
    if fact.superseded or fact.kind == "command":
        return
    if fact.is_stated:
        made.stated += 1
        made.recalled += recalled
        _tally(made.by_language, fact.language, recalled=recalled)
    _tally(made.by_kind, fact.kind, recalled=recalled)
    if not recalled:
        made.missed.append((fact.kind, fact.language, fact.family, " / ".join(dict.fromkeys(fact.texts))))


def _tally(counts: dict[str, list[int]], name: str, *, recalled: bool) -> None:
    both = counts.setdefault(name, [0, 0])
    both[0] += recalled
    both[1] += 1


def _trapped(world: World, statements: Sequence[str]) -> dict[str, list[str]]:
    found = {
        kind: [one for one in statements if any(marker in one for marker in markers)]
        for kind, markers in world.traps.items()
    }
    return {kind: statements for kind, statements in found.items() if statements}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def merged(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of several seeds as one: the mean of shares, the sum of counts."""
    whole: dict[str, Any] = {}
    for name in scores[0]:
        values = [one[name] for one in scores if name in one]
        if isinstance(values[0], Mapping):
            names = sorted({key for value in values for key in value})
            whole[name] = {key: _mean([value[key] for value in values if key in value]) for key in names}
        elif isinstance(values[0], float):
            whole[name] = _mean(values)
        elif isinstance(values[0], bool):
            whole[name] = all(values)
        else:
            whole[name] = sum(values)
    return whole


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)
