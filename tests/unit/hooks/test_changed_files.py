"""Files of others are replaced whole: links, modes and what somebody saved meanwhile stay."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memory_pipeline.errors import HookError
from memory_pipeline.hooks.places import change_file, read_file


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    """The file that it leads to is changed, as somebody keeps it among their dotfiles."""
    kept = tmp_path / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_bytes(b"{}")
    kept.chmod(0o644)
    link = tmp_path / "settings.json"
    link.symlink_to(kept)
    change_file(link, b"{}", b"[]")
    assert link.is_symlink()
    assert kept.read_bytes() == b"[]"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o644
    assert [path.name for path in kept.parent.iterdir()] == ["settings.json"]


def test_a_new_file_and_its_folder_are_private(tmp_path: Path) -> None:
    """As everything that we make."""
    path = tmp_path / "home" / "settings.json"
    change_file(path, None, b"{}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    change_file(path, b"{}", None)
    assert read_file(path) is None


def test_what_somebody_saved_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """It is refused, to be tried again."""
    path = tmp_path / "settings.json"
    path.write_bytes(b"new")
    with pytest.raises(HookError, match="try again"):
        change_file(path, b"old", b"ours")
    assert path.read_bytes() == b"new"


def test_what_needs_no_change_is_not_touched(tmp_path: Path) -> None:
    """Not even its time stamps."""
    path = tmp_path / "settings.json"
    path.write_bytes(b"{}")
    before = path.stat()
    change_file(path, b"{}", b"{}")
    assert path.stat() == before


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    """A folder in its place."""
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(HookError, match=r"settings\.json"):
        read_file(tmp_path / "settings.json")
