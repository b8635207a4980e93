"""A program that runs for days, in minutes: passes by a clock of its own, most of them with nothing to do."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from kept_state import KeptState
from msgspec import Struct

from memory_pipeline.app import App
from memory_pipeline.forget.selection import Selector
from memory_pipeline.phase2.settled import SETTLED_FILE
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import Phase2Outcome

TOPICS = ("lint", "tests", "docs", "types", "format", "release notes", "screenshots", "benchmarks")
#: Every so many passes. They share no factor, so that each meets each other.
NEW_SESSION, EDIT, FORGET = 23, 101, 509
#: Sessions of which the agent still keeps the log.
LOGS_KEPT = 40
_PROC = Path("/proc")


class Sample(Struct, frozen=True, kw_only=True):
    """What the program holds after a pass."""

    number: int
    traced_bytes: int  # by Python's own objects; 0 while nothing traces them
    resident_bytes: int
    files: int  # open ones
    threads: int
    database_bytes: int  # with what lies beside it
    state_bytes: int


def soak(
    root: Path,
    *,
    passes: int,
    seconds_between: float = 30.0,
    busy: bool = True,
    every: int = 100,
    on_sample: Callable[[Sample], None] = lambda _sample: None,
) -> list[Sample]:
    """Run passes in one open program, and look at it after ``every`` so many; fails when a pass fails."""
    kept = KeptState(root)
    kept.say(0, "Always run make check before you commit.")
    samples: list[Sample] = []
    with kept.open() as app:
        for number in range(1, passes + 1):
            kept.clock.go_on(seconds_between)
            if busy:
                _live(kept, app, number)
            counts = app.run_once(PassOptions())
            assert not counts.phase1.failed, counts
            assert counts.phase2.outcome in (Phase2Outcome.NO_CHANGES, Phase2Outcome.CONSOLIDATED), counts
            if number % every == 0:
                samples.append(_sample(kept, number))
                on_sample(samples[-1])
    return samples


def _live(kept: KeptState, app: App, number: int) -> None:
    """Do what a person and their agents do in between."""
    if number % NEW_SESSION == 0:
        session = number // NEW_SESSION
        topic = TOPICS[session % len(TOPICS)]
        began = timedelta(seconds=number * 30)
        kept.say(session, f"Always keep the {topic} in mind, as rule {session % 24} says.", after=began)
        if session > LOGS_KEPT:
            kept.forget_log(session - LOGS_KEPT)
    if number % EDIT == 0:
        lines = kept.handbook().splitlines(keepends=True)
        told = next((at for at, line in enumerate(lines) if line.startswith("- the user asked")), None)
        if told is not None:
            lines[told] = lines[told].replace("Always", f"At step {number % 7}, always", 1)
            kept.write_handbook("".join(lines))
    if number % FORGET == 0:
        memories = app.store.memories.every()
        if memories:
            app.forgetting().forget(Selector(memory=memories[number % len(memories)].memory_id))


def _sample(kept: KeptState, number: int) -> Sample:
    gc.collect()
    pages = int((_PROC / "self/statm").read_text(encoding="ascii").split()[1]) if _PROC.exists() else 0
    return Sample(
        number=number,
        traced_bytes=tracemalloc.get_traced_memory()[0],
        resident_bytes=pages * os.sysconf("SC_PAGE_SIZE"),
        files=len(list((_PROC / "self/fd").iterdir())) if _PROC.exists() else 0,
        threads=threading.active_count(),
        database_bytes=sum(_sizes(kept.state.glob("memory.db*"))),
        # The note that nothing changed comes once the real clock of the disk is past the last change.
        state_bytes=sum(_sizes(path for path in kept.state.rglob("*") if path.name != SETTLED_FILE)),
    )


def _sizes(paths: Iterator[Path]) -> Iterator[int]:
    for path in paths:
        if path.is_file():
            yield path.stat().st_size
