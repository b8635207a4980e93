"""Judges the whole extractor, patterns and weights together, on families of phrases that nothing was learnt from.

Run in the repository: python -m benchmarks.directions.judge [--misses]. The families of the build part of the phrase
bank are left out by turns: the weights are learnt from all others and the tests' prompts, and each phrase of those left
out is said alone and beside a request, as in benchmarks/rightness.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

from msgspec import Struct

from benchmarks.directions.train import examples, packed, train
from benchmarks.rightness.bank import PASSING, STATING, Action, Bank, Marks, Phrase, read_bank, says, with_slots
from memory_pipeline.directions import find_directions
from memory_pipeline.directions.engine import forget_what_was_found
from memory_pipeline.directions.sense import use_weights

FOLDS = 5
SAID = 6  # times that a frame is said


class Said(Struct, frozen=True, kw_only=True):
    """A prompt, and what of it must be found: marks of a statement, or nothing."""

    phrase: Phrase
    text: str
    marks: Marks | None


def main() -> None:
    """Leave out, learn, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.directions.judge")
    parser.add_argument("--misses", action="store_true", help="print what was missed or taken for lasting")
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    bank = read_bank("build")
    learnt = examples()
    families = sorted({one.group for one in learnt})
    random.Random(5).shuffle(families)
    fold_of = {family: number % FOLDS for number, family in enumerate(families)}
    counts: dict[str, list[int]] = {}
    for fold in range(FOLDS):
        use_weights(packed(train([one for one in learnt if fold_of[one.group] != fold])))
        forget_what_was_found()
        chance = random.Random(options.seed)
        for said in _prompts(bank, chance):
            if fold_of[said.phrase.family] == fold:
                told = _count(counts, said)
                if told and options.misses:
                    print(f"{said.phrase.shape}\t{said.phrase.family}\t{said.text!r}\t{told}")
    use_weights(None)
    for name, (good, extra, number) in sorted(counts.items()):
        print(f"{name:24} {good / number:.3f} of {number}, {extra / number:.3f} besides")


def _count(counts: dict[str, list[int]], said: Said) -> str:
    found = [each.text for each in find_directions(said.text)]
    right = [text for text in found if said.marks is not None and says(text, said.marks)]
    good = bool(right) if said.marks is not None else not found
    what = "states" if said.marks is not None else "passes"
    spoken = said.phrase.language
    for name in (what, f"{what} {spoken}", f"{what} {said.phrase.shape} {spoken}"):
        count = counts.setdefault(name, [0, 0, 0])
        count[0] += good
        count[1] += len(found) > len(right)
        count[2] += 1
    return "" if good else ("missed" if said.marks is not None else "taken") + f" {found}"


def _prompts(bank: Bank, chance: random.Random) -> Iterator[Said]:
    for phrase in bank.phrases:
        if phrase.shape in PASSING:
            yield Said(phrase=phrase, text=_filled(bank, phrase, chance)[0], marks=None)
        elif phrase.shape in STATING:
            for turn in range(SAID if "{" in phrase.text else 3):
                rule, marks = _filled(bank, phrase, chance)
                yield Said(phrase=phrase, text=_joined(bank, phrase, rule, chance) if turn else rule, marks=marks)


def _joined(bank: Bank, phrase: Phrase, rule: str, chance: random.Random) -> str:
    spoken = "en" if phrase.language == "en" else "zh"
    task = chance.choice(bank.of("task", spoken)).text
    said = with_slots(chance.choice(bank.joiners[spoken]), task=task, rule=rule)
    return said[0].upper() + said[1:] if chance.random() < 0.5 else said


def _filled(bank: Bank, phrase: Phrase, chance: random.Random) -> tuple[str, Marks]:
    topic = chance.choice(bank.topics)
    x, y = chance.sample(topic.tools, k=2)
    name = topic.name_zh if phrase.language == "zh" else topic.name
    slots = {"x": x, "y": y, "topic": name}
    marks: Marks = phrase.marks or ((x,),)
    if "{do" in phrase.text:
        action = _any_action(bank, phrase, chance)
        slots |= {"do": action.do, "doing": action.doing}
        marks = action.marks
    return with_slots(phrase.text, **slots), marks


def _any_action(bank: Bank, phrase: Phrase, chance: random.Random) -> Action:
    what = "bad-actions" if phrase.shape.startswith("dont") else "actions"
    return chance.choice(bank.actions[what, "en" if phrase.language == "en" else "zh"])


if __name__ == "__main__":
    main()
