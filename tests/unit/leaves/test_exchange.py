"""Two files trade names: nothing is overwritten, whatever the file system offers."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_pipeline.files import (
    ExchangeWay,
    by_link,
    by_rename,
    by_swap,
    exchange,
    finish_exchange,
    is_open_for_writing,
)

WAYS = [
    pytest.param((by_swap,), id="swap"),
    pytest.param((by_link,), id="link"),
    pytest.param((by_rename,), id="rename"),
]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


def two_files(folder: Path) -> tuple[Path, Path]:
    """Make a new file and the one that it shall replace."""
    new, target = folder / "new", folder / "target"
    new.write_bytes(b"ours")
    target.write_bytes(b"theirs")
    return new, target


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ways", WAYS)
def test_two_files_trade_names(tmp_path: Path, ways: tuple[ExchangeWay, ...]) -> None:
    """The very files change places: who had the old one open still writes to what is kept. Twice is back again."""
    new, target = two_files(tmp_path)
    with target.open("ab") as editor:
        exchange(new, target, ways)
        editor.write(b", later")
    assert (new.read_bytes(), target.read_bytes()) == (b"theirs, later", b"ours")
    exchange(new, target, ways)
    assert (new.read_bytes(), target.read_bytes()) == (b"ours", b"theirs, later")
    assert names(tmp_path) == ["new", "target"]


@pytest.mark.parametrize("ways", WAYS)
def test_where_nothing_stood_the_new_file_is_put(tmp_path: Path, ways: tuple[ExchangeWay, ...]) -> None:
    """Then nothing has the other name."""
    new, target = two_files(tmp_path)
    target.unlink()
    exchange(new, target, ways)
    assert target.read_bytes() == b"ours"
    assert names(tmp_path) == ["target"]


@pytest.mark.parametrize("ways", WAYS)
def test_a_link_trades_its_name_and_is_not_followed(tmp_path: Path, ways: tuple[ExchangeWay, ...]) -> None:
    """What it leads to stays as it was, and so does one that leads nowhere."""
    new, target = two_files(tmp_path)
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    exchange(new, target, ways)
    assert new.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == b"theirs"
    assert (target.is_symlink(), target.read_bytes()) == (False, b"ours")


@pytest.mark.parametrize("ways", WAYS)
def test_a_folder_in_the_place_is_an_error(tmp_path: Path, ways: tuple[ExchangeWay, ...]) -> None:
    """Somebody's folder does not trade its name for a file's."""
    new, target = two_files(tmp_path)
    target.unlink()
    target.mkdir()
    with pytest.raises(IsADirectoryError, match="target"):
        exchange(new, target, ways)
    assert new.read_bytes() == b"ours"


@pytest.mark.parametrize("ways", WAYS)
def test_a_missing_new_file_is_an_error(tmp_path: Path, ways: tuple[ExchangeWay, ...]) -> None:
    """Whether or not something stands in the place; what stands there stays."""
    new, target = two_files(tmp_path)
    new.unlink()
    with pytest.raises(FileNotFoundError):
        exchange(new, target, ways)
    assert target.read_bytes() == b"theirs"
    target.unlink()
    with pytest.raises(FileNotFoundError):
        exchange(new, target, ways)
    assert names(tmp_path) == []


def test_a_way_that_is_not_offered_gives_way_to_the_next(tmp_path: Path) -> None:
    """Old kernels and simple file systems have neither swaps nor links."""
    new, target = two_files(tmp_path)
    tried: list[str] = []

    def not_offered(one: Path, other: Path) -> bool:
        tried.append(one.name)
        return False

    exchange(new, target, (not_offered, not_offered, by_rename))
    assert tried == ["new", "new"]
    assert (new.read_bytes(), target.read_bytes()) == (b"theirs", b"ours")


def test_a_file_that_is_taken_away_while_we_look_is_no_error(tmp_path: Path) -> None:
    """An editor that saves by rename may leave a moment without the file."""
    new, target = two_files(tmp_path)

    def taken_away(one: Path, other: Path) -> bool:
        other.unlink()
        return by_swap(one, other)

    exchange(new, target, (taken_away,))
    assert target.read_bytes() == b"ours"
    assert names(tmp_path) == ["target"]


def test_a_fault_is_told_and_leaves_both(tmp_path: Path) -> None:
    """What is no question of the way, like another file system, ends the exchange."""
    new, target = two_files(tmp_path)

    def other_file_system(one: Path, other: Path) -> bool:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(one))

    with pytest.raises(OSError, match="new") as caught:
        exchange(new, target, (other_file_system, by_rename))
    assert caught.value.errno == errno.EXDEV
    assert (new.read_bytes(), target.read_bytes()) == (b"ours", b"theirs")


def cut_off(*, linked: bool, moved: bool) -> Callable[[Path, Path], None]:
    """Do the first steps of an exchange, as a crash cuts it off."""

    def steps(new: Path, target: Path) -> None:
        aside = new.with_name("new.aside")
        if linked:
            os.link(target, aside)
        else:
            target.rename(aside)
        if moved:
            new.replace(target)

    return steps


def test_a_crash_before_the_new_file_has_its_place_leaves_the_old_one_there(tmp_path: Path) -> None:
    """Whether it was linked or moved aside, it stands in its place again, and the new one is still there."""
    for name, linked in (("linked", True), ("moved", False)):
        (tmp_path / name).mkdir()
        new, target = two_files(tmp_path / name)
        cut_off(linked=linked, moved=False)(new, target)
        finish_exchange(new, target)
        finish_exchange(new, target)
        assert (new.read_bytes(), target.read_bytes()) == (b"ours", b"theirs")
        assert names(tmp_path / name) == ["new", "target"]


def test_a_crash_after_the_new_file_has_its_place_keeps_the_old_one(tmp_path: Path) -> None:
    """The exchange is brought to its end."""
    for name, linked in (("linked", True), ("moved", False)):
        (tmp_path / name).mkdir()
        new, target = two_files(tmp_path / name)
        cut_off(linked=linked, moved=True)(new, target)
        finish_exchange(new, target)
        finish_exchange(new, target)
        assert (new.read_bytes(), target.read_bytes()) == (b"theirs", b"ours")
        assert names(tmp_path / name) == ["new", "target"]


def test_a_file_that_came_into_the_gap_stays_and_the_old_one_is_kept(tmp_path: Path) -> None:
    """What an editor saved after the crash stands where it was saved."""
    for linked in (True, False):
        new, target = two_files(tmp_path)
        cut_off(linked=linked, moved=False)(new, target)
        (tmp_path / "saved").write_bytes(b"saved meanwhile")
        (tmp_path / "saved").replace(target)
        finish_exchange(new, target)
        assert (new.read_bytes(), target.read_bytes()) == (b"theirs", b"saved meanwhile")
        assert names(tmp_path) == ["new", "target"]


@on_linux
def test_whoever_can_still_write_to_a_file_is_noticed(tmp_path: Path) -> None:
    """Readers don't count; a writer does until they close it, also when the file got another name meanwhile."""
    path = tmp_path / "file"
    path.write_bytes(b"text")
    assert is_open_for_writing(path) is False
    with path.open("rb"):
        assert is_open_for_writing(path) is False
    with path.open("ab"):
        path = path.rename(tmp_path / "renamed")
        assert is_open_for_writing(path) is True
    assert is_open_for_writing(path) is False


def test_what_can_not_be_told_is_not_guessed(tmp_path: Path) -> None:
    """A file with a second name can be opened by it any time; a link or a missing file is no file of ours."""
    path = tmp_path / "file"
    path.write_bytes(b"text")
    os.link(path, tmp_path / "second")
    (tmp_path / "link").symlink_to(path)
    assert [is_open_for_writing(tmp_path / name) for name in ("file", "second", "link", "gone")] == [None] * 4
