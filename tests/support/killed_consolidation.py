"""Runs phase two as the command does, and kills its own process, as a crash would, at one step of publishing.

    python killed_consolidation.py --config CONFIG --state-dir STATE --at STEP

STEP is a name of ``OnStep``, or the beginning of one: ``staged``, ``committed``, ``wrote MEMORY.md``… A run that never
comes to that step ends with exit code 3.
"""

from __future__ import annotations

import argparse
import os
import signal

from memory_pipeline.app import App
from memory_pipeline.config import load_config
from memory_pipeline.phase2.run import Phase2


def main() -> int:
    """Consolidate until the step, then die."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", required=True)
    parser.add_argument("--state-dir", required=True)
    parser.add_argument("--at", required=True)
    options = parser.parse_args()

    def die(step: str) -> None:
        if step.startswith(options.at):
            os.kill(os.getpid(), signal.SIGKILL)

    with App(load_config(options.config, options.state_dir)) as app:
        app.review().run_once()
        Phase2(
            app.config,
            app.store,
            app.clock,
            owner="killed",
            jitter=lambda: 0.0,
            should_stop=lambda: False,
            on_step=die,
        ).run_once()
    return 3


if __name__ == "__main__":
    raise SystemExit(main())
