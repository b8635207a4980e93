"""Bundled files are found in a checkout and in an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.resources import bundled_path


def test_a_checkout_has_its_files_at_the_top() -> None:
    """The prompts of this repository are found without an installation."""
    assert (bundled_path("prompts") / "extract_system.md").is_file()


def test_an_installed_package_has_its_files_inside(tmp_path: Path) -> None:
    """The package's own copy is taken, not a folder that stands beside the package."""
    inside = tmp_path / "memory_pipeline" / "_bundled" / "prompts"
    inside.mkdir(parents=True)
    (tmp_path / "prompts").mkdir()
    assert bundled_path("prompts", package=tmp_path / "memory_pipeline") == inside


@pytest.mark.parametrize("bundled", [True, False])
def test_a_missing_file_is_named(tmp_path: Path, bundled: bool) -> None:
    """An incomplete installation is told by the path that is missing, never filled from elsewhere."""
    package = tmp_path / "memory_pipeline"
    (package / "_bundled" if bundled else package).mkdir(parents=True)
    if bundled:
        (tmp_path / "samples").mkdir()
    with pytest.raises(MemoryPipelineError, match=r"samples is missing"):
        bundled_path("samples", package=package)


def test_an_unknown_name_is_refused() -> None:
    """Only what comes with the program is looked for, so no name leads out of its folder."""
    with pytest.raises(MemoryPipelineError, match="prompts, samples"):
        bundled_path("../state")
