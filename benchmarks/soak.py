"""Days of a running program in minutes: does memory, do open files, does the database grow?

Run: python benchmarks/soak.py [--days N] [--quiet]. With --quiet nothing is new after the first pass.
Prints a line for every simulated hour: memory, open files, threads, size of the database and of the state folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from soaking import Sample, soak

PASSES_A_DAY = 2_880


def main() -> int:
    """Soak, and print what was held."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=float, default=1.0)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        passes = int(options.days * PASSES_A_DAY)
        samples = soak(Path(folder), passes=passes, busy=not options.quiet, every=120, on_sample=_tell)
    print(f"{passes} passes in {time.monotonic() - started:.0f} s; the second half against the first sample of it:")
    first, last = samples[len(samples) // 2], samples[-1]
    for name in ("resident_bytes", "files", "threads", "database_bytes", "state_bytes"):
        print(f"  {name}: {getattr(first, name)} -> {getattr(last, name)}")
    return 0


def _tell(sample: Sample) -> None:
    print(
        f"pass {sample.number:6}: {sample.resident_bytes >> 10:8} KiB resident, {sample.files:3} files, "
        f"{sample.threads} threads, database {sample.database_bytes >> 10:6} KiB, "
        f"state {sample.state_bytes >> 10:6} KiB",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
