"""Runs of forgetting for acceptance tests: planted words, a look at every byte, and a program that is killed midway.

    python forgetting_runs.py --config CONFIG --state-dir STATE --at STEP --match TEXT

forgets, and kills its own process, as a crash would, once STEP is done. A run that never comes to that step ends with
exit code 3.
"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

from memory_pipeline.app import App
from memory_pipeline.config import load_config
from memory_pipeline.forget.selection import Selector


def files_holding(folder: Path, *words: str) -> list[str]:
    """Return the files below a folder that hold one of the words, in any case, in any byte."""
    wanted = [word.encode().lower() for word in words]
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word in path.read_bytes().lower() for word in wanted)
    )


def main() -> int:
    """Forget until the step, then die."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("config", "state-dir", "at"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("thread", "entry", "memory", "scope", "match"):
        parser.add_argument(f"--{name}")
    options = parser.parse_args()

    def die(step: str) -> None:
        if step.startswith(options.at):
            os.kill(os.getpid(), signal.SIGKILL)

    selector = Selector(
        thread=options.thread,
        entry=options.entry,
        memory=options.memory,
        scope=options.scope,
        match=options.match,
    )
    with App(load_config(options.config, options.state_dir)) as app:
        app.forgetting(on_step=die).forget(selector)
    return 3


if __name__ == "__main__":
    raise SystemExit(main())
