"""Learns the weights of ``memory_pipeline/directions/sense.py`` from labelled sentences.

Run in the repository: python -m benchmarks.directions.train [--check | --judge]. Without an option the weights are
written; --check says whether the packaged ones are what this gives, and --judge how well it does on families and lines
that it did not learn from.

A linear model with hinge loss, averaged over its way. It needs no more than sums, products and square roots, so that
every machine gets the same bytes.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from benchmarks.rightness.bank import PARTS, PASSING, STATING, Action, Bank, Phrase, read_bank, with_slots
from memory_pipeline.directions import own_words, sentences
from memory_pipeline.directions.clauses import after_lead
from memory_pipeline.directions.sense import BUCKETS, buckets
from memory_pipeline.directions.sensed import clauses_of

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "memory_pipeline" / "directions" / "sense.weights"
HERE = Path(__file__).resolve().parent

ROUNDS = 12
RATE = 0.4
MARGIN = 1.0
DECAY = 2e-4
DRAWN = 24  # sentences of each line of the grammars
PAIRS = 900
PAIRED_CHARS = 50
FILLINGS = 10  # of each frame of the bank
SCALE = 32.0

sys.path.insert(0, str(ROOT / "tests" / "unit" / "leaves"))


class Example(Struct, frozen=True, kw_only=True):
    """A sentence in lower case, whether it lasts, and the group that is learnt from or judged as one."""

    masked: str
    lasts: bool
    group: str
    weight: float = 1.0


def main() -> int:
    """Train, and write, compare or judge."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.directions.train", description=(__doc__ or "").partition("\n")[0]
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with the packaged weights; exit 1 if they differ")
    what.add_argument(
        "--judge", action="store_true", help="cross-validate, and judge the held-out parts of the phrase bank"
    )
    options = parser.parse_args()
    if options.judge:
        _judge()
        return 0
    made = packed(train(examples()))
    if options.check:
        same = WEIGHTS.read_bytes() == made
        print(
            "the packaged weights are what the examples give" if same else "the packaged weights are others: train anew"
        )
        return 0 if same else 1
    WEIGHTS.write_bytes(made)
    print(f"{WEIGHTS}: {len(made)} bytes")
    return 0


# --- examples --------------------------------------------------------------------------------------------------------


def examples() -> list[Example]:
    """Return all that is learnt from, in a fixed order. Nothing held out is among it."""
    found = [*_lines_of("lasting", lasts=True), *_lines_of("passing", lasts=False)]
    found += _drawn()
    found += _prompts()
    found += bank_examples(read_bank("build"), seed=7)
    found += _pairs([one for one in found if not one.lasts and len(one.masked) < PAIRED_CHARS])
    unique = {one.masked: one for one in found}
    return list(unique.values())


def _pairs(passing: Sequence[Example]) -> Iterator[Example]:
    """Two things that pass, said in one breath, pass as well."""
    chance = random.Random(13)
    for _ in range(PAIRS):
        one, other = chance.sample(passing, k=2)
        joint = "，" if one.masked[-1:] >= "\u3000" else chance.choice((", ", ", ", " and ", ", then ", ", it's "))
        yield Example(masked=one.masked + joint + other.masked, lasts=False, group=one.group, weight=0.5)


def _lines_of(name: str, *, lasts: bool) -> Iterator[Example]:
    for path in (HERE / f"{name}.txt", HERE / f"{name}_zh.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                yield from _example(line, lasts=lasts, group=line)


def _drawn() -> Iterator[Example]:
    """Sentences drawn from the two grammars."""
    chance = random.Random(3)
    for path in (HERE / "grammar.txt", HERE / "grammar_zh.txt"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        named = dict(line.split(" = ") for line in lines if line.startswith("<"))
        words = {name: tuple(named[name].split("|" if "|" in named[name] else None)) for name in named}
        for line in lines:
            if not line.startswith("<"):
                for _ in range(DRAWN):
                    yield from _example(_draw(line[2:], words, chance), lasts=line[0] == "+", group=line, weight=0.5)


def _draw(line: str, words: dict[str, tuple[str, ...]], chance: random.Random) -> str:
    """Choose in a line of a grammar: the innermost brackets first, then the words of what is left of them."""
    while (match := re.search(r"\(([^()]*)\)|(<[a-z]+>)(?![^()]*\))", line)) is not None:
        chosen = chance.choice(match[1].split("|")) if match[2] is None else chance.choice(words[match[2]])
        line = line[: match.start()] + chosen + line[match.end() :]
    return " ".join(line.split())


def _prompts() -> Iterator[Example]:
    """What the tests of directions hold: lines that last, lines that don't, and prompts of several sentences."""
    from direction_prompts import AT_LENGTH, LASTING_IN_CHINESE, LASTING_IN_ENGLISH, lines, prompts
    from direction_prompts import PASSING as PASSING_LINES

    for block in (LASTING_IN_ENGLISH, LASTING_IN_CHINESE):
        for line in lines(block):
            prompt, _, words = line.partition(" => ")
            yield from _of_prompt(prompt, wanted=[words.split(" & ")] if words else None, group=line)
    for line in lines(PASSING_LINES):
        yield from _of_prompt(line, wanted=[], group=line)
    for prompt in prompts(AT_LENGTH):
        wanted = [words.split(" & ") for words in prompt.wanted]
        yield from _of_prompt(prompt.text, wanted=wanted, allowed=prompt.allowed, group=prompt.text)


def _of_prompt(
    prompt: str, *, wanted: list[list[str]] | None, group: str, allowed: Iterable[str] = ()
) -> Iterator[Example]:
    """Yield the sentences of a prompt; ``wanted`` None: each of them lasts. What may be found is left out."""
    for sentence in sentences(own_words(prompt)):
        folded = sentence.text.casefold()
        if wanted is None or any(all(word.casefold() in folded for word in words) for words in wanted):
            yield from _example(sentence.text, lasts=True, group=group, weight=2.0)
        elif not sentence.question and not any(word.casefold() in folded for word in allowed):
            yield from _example(sentence.text, lasts=False, group=group, weight=3.0)


def bank_examples(bank: Bank, *, seed: int, fillings: int = FILLINGS) -> list[Example]:
    """Return the sentences of a part of the phrase bank, each frame filled in several ways."""
    chance = random.Random(seed)
    found: list[Example] = []
    for phrase in bank.phrases:
        if phrase.shape not in {*STATING, *PASSING}:
            continue
        lasts = phrase.shape in STATING
        texts = list(dict.fromkeys(islice(_filled(bank, phrase, chance), fillings)))
        for text in texts:
            found += _example(text, lasts=lasts, group=phrase.family, weight=1.0 if len(texts) == 1 else 0.5)
    return found


def _filled(bank: Bank, phrase: Phrase, chance: random.Random) -> Iterator[str]:
    while True:
        topic = chance.choice(bank.topics)
        x, y = chance.sample(topic.tools, k=2)
        name = topic.name_zh if phrase.language == "zh" else topic.name
        action = _any_action(bank, phrase, chance)
        slots = {"x": x, "y": y, "topic": name} | ({"do": action.do, "doing": action.doing} if action else {})
        yield with_slots(phrase.text, **slots)


def _any_action(bank: Bank, phrase: Phrase, chance: random.Random) -> Action | None:
    if "{do" not in phrase.text:
        return None
    what = "bad-actions" if phrase.shape.startswith("dont") else "actions"
    return chance.choice(bank.actions[what, "en" if phrase.language == "en" else "zh"])


def _example(text: str, *, lasts: bool, group: str, weight: float = 1.0) -> Iterator[Example]:
    """Yield the sentences of a text; of one that passes, each clause passes too."""
    for sentence in sentences(text):
        begin = after_lead(sentence.masked, 0, len(sentence.masked))
        yield Example(masked=sentence.masked[begin:], lasts=lasts, group=group, weight=weight)
        clauses = list(clauses_of(sentence.masked))
        if len(clauses) > 1 and not lasts:
            for first, end in clauses:
                yield Example(masked=sentence.masked[first:end], lasts=False, group=group, weight=weight)


# --- learning --------------------------------------------------------------------------------------------------------


def train(learnt: Sequence[Example]) -> list[float]:
    """Return the averaged weights."""
    chance = random.Random(11)
    shown = [(buckets(one.masked), 1.0 if one.lasts else -1.0, one.weight) for one in learnt]
    order = list(range(len(shown)))
    weights, total, since = [0.0] * BUCKETS, [0.0] * BUCKETS, [0] * BUCKETS
    step = 0
    for turn in range(ROUNDS):
        chance.shuffle(order)
        rate = RATE / (1 + turn)
        for index in order:
            found, sign, weight = shown[index]
            step += 1
            value = 1.0 / math.sqrt(len(found))
            if sign * value * sum(weights[bucket] for bucket in found) >= MARGIN:
                continue
            change = rate * weight * sign * value
            for bucket in found:
                total[bucket] += weights[bucket] * (step - since[bucket])
                since[bucket] = step
                weights[bucket] += change
    return [(total[at] + weights[at] * (step + 1 - since[at])) / (step + 1) for at in range(BUCKETS)]


def packed(weights: Sequence[float]) -> bytes:
    """Write one byte a weight, compressed."""
    return zlib.compress(bytes(max(0, min(255, round(weight * SCALE) + 128)) for weight in weights), 9)


def judged(weights: Sequence[float], masked: str) -> float:
    """Judge a clause by weights that are not packaged."""
    found = buckets(masked)
    return sum(weights[bucket] for bucket in found) / math.sqrt(len(found))


# --- judging ---------------------------------------------------------------------------------------------------------

FOLDS = 5


def _judge() -> None:
    everything = examples()
    groups = sorted({one.group for one in everything})
    random.Random(5).shuffle(groups)
    scored: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        held = set(groups[fold::FOLDS])
        weights = train([one for one in everything if one.group not in held])
        scored += [(judged(weights, one.masked), one.lasts) for one in everything if one.group in held]
    print(f"cross-validated by family and line: {_curve(scored)}")
    weights = train(everything)
    for part in PARTS:
        if part != "build":
            held_out = bank_examples(read_bank(part), seed=9)
            print(f"{part} families: {_curve([(judged(weights, one.masked), one.lasts) for one in held_out])}")
    apart = [one for one in everything if one.group not in {phrase.family for phrase in read_bank("build").phrases}]
    print(
        f"{len(everything)} examples, {sum(one.lasts for one in everything)} that last, "
        f"{len(apart)} outside of the bank"
    )


def _curve(scored: Sequence[tuple[float, bool]]) -> str:
    """Tell at some thresholds which share of what lasts is found, and which of what passes is taken for it."""
    told = []
    for threshold in (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4):
        found = sum(value > threshold for value, lasts in scored if lasts) / sum(lasts for _, lasts in scored)
        false = sum(value > threshold for value, lasts in scored if not lasts) / sum(not lasts for _, lasts in scored)
        told.append(f"{threshold:+.1f}: {found:.3f} / {false:.3f}")
    return ", ".join(told)


if __name__ == "__main__":
    raise SystemExit(main())
