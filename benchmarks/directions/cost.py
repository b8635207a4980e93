"""What it costs to ask of every prompt whether it gives a direction, as the first index of the logs does.

Run in the repository: python -m benchmarks.directions.cost. Prompts of an invented world are asked one by one, and as
long ones of twelve; beside it stands what finding all directions takes in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks.rightness.bank import read_bank
from benchmarks.rightness.world import make_world
from memory_pipeline.directions import find_directions, gives_direction
from memory_pipeline.directions.sense import sense

SEED = 31
RUNS = 7
LONG = 12  # prompts in one


def main() -> None:
    """Ask and print."""
    short = [text for _moment, text, _place in make_world(read_bank("build"), seed=SEED).prompts]
    long = [" ".join(short[at : at + LONG]) for at in range(0, len(short), LONG)]
    for name, texts in (("short", short), ("long", long)):
        asked, found = _median_ms(gives_direction, texts), _median_ms(find_directions, texts)
        chars = sum(map(len, texts)) // len(texts)
        print(
            f"{name}: {len(texts)} prompts of {chars} characters: asked {asked:.3f} ms, all found {found:.3f} ms each"
        )


def _median_ms(ask: Callable[[str], object], texts: Sequence[str]) -> float:
    """Process time a prompt, with nothing known from the run before but the compiled patterns."""
    taken = []
    for run in range(RUNS):
        sense.cache_clear()
        begin = time.process_time()
        for text in texts:
            ask(text + " " * run)  # so that it is a new one each time
        taken.append(time.process_time() - begin)
    return statistics.median(taken) * 1000 / len(texts)


if __name__ == "__main__":
    main()
