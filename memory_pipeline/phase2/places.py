"""Where publishing takes place, and how files are written and exchanged there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from memory_pipeline.files import EXCHANGE_WAYS, ExchangeWay, write_whole

#: Told the name of each step of a publication, so that a test can stop the program right there.
OnStep = Callable[[str], None]


class Places(Struct, frozen=True, kw_only=True):
    """The folders of phase two. Only ``workspace`` is a person's to look into; the others are state."""

    workspace: Path
    baseline: Path
    staging: Path
    replaced: Path  # copies of what stood in the workspace before our first publication, and of damaged files
    adopted: Path  # names the memory folder of Codex that is ours
    kept: Path  # the files that MEMORY.md was, while somebody may still write to one
    write: Callable[[Path, bytes], None] = write_whole
    exchange_ways: Sequence[ExchangeWay] = EXCHANGE_WAYS


def workspace_lock_path(workspace: Path) -> Path:
    """Return the lock beside the workspace: the only exclusion of phase two, whichever state folder a run uses."""
    resolved = workspace.resolve()
    return resolved.with_name(f"{resolved.name}.lock")


def places_below(state: Path, workspace: Path) -> Places:
    """Return the usual places: everything but the workspace lies in the state folder."""
    return Places(
        workspace=workspace,
        baseline=state / "baseline",
        staging=state / "staging",
        replaced=state / "replaced",
        adopted=state / "adopted",
        kept=state / "kept",
    )
