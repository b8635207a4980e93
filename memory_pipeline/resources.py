"""Finds the files that come with the program: prompt templates, samples, the default configuration."""

from __future__ import annotations

from pathlib import Path

from memory_pipeline.errors import MemoryPipelineError

#: What is bundled. In an installed package these lie below ``_bundled``; in a checkout at the repository's top.
BUNDLED_NAMES = ("prompts", "samples", "config.toml")

_PACKAGE = Path(__file__).resolve().parent


def bundled_path(name: str, *, package: Path = _PACKAGE) -> Path:
    """Return where the bundled file or folder ``name`` lies; ``package`` is the folder of the installed code.

    An installed copy wins, so that a folder that merely stands beside the installed package is never read.

    Raises:
        MemoryPipelineError: nothing of that name comes with the program, or this installation lacks it.
    """
    if name not in BUNDLED_NAMES:
        raise MemoryPipelineError(f"nothing called {name!r} comes with the program; known: {', '.join(BUNDLED_NAMES)}")
    installed = package / "_bundled"
    path = installed / name if installed.is_dir() else package.parent / name
    if not path.exists():
        raise MemoryPipelineError(f"{path} is missing: this installation is incomplete; install memory-pipeline again")
    return path
