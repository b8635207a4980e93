"""Files are written whole or not at all, and for their owner only."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_pipeline.files import TEMPORARY_PREFIX, make_private_folder, sha256_hex, write_whole


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    """Return the permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_written_for_its_owner_only(tmp_path: Path) -> None:
    """Content arrives, the mode is 0600, and no temporary file is left."""
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert mode_of(tmp_path / "a") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_existing_file_is_replaced_and_made_private(tmp_path: Path) -> None:
    """The new file takes the name of the old one, with our mode; who has the old one open still reads it whole."""
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with path.open("rb") as reader:
        write_whole(path, b"new")
        assert reader.read() == b"old"
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """When the rename is refused the old state stands."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kept").write_bytes(b"kept")
    with pytest.raises(OSError, match="a"):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a" / "kept").read_bytes() == b"kept"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_content_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A surprise between opening and renaming cleans up after itself."""
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", "text")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """Folders are not made on the way."""
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "no" / "a", b"new")


def test_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    """A symbolic link at the name does not lead the write elsewhere."""
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "a").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "a", b"ours")
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert not (tmp_path / "a").is_symlink()


def test_readers_never_see_a_part(tmp_path: Path) -> None:
    """While a file is replaced again and again, every reading is one whole version."""
    path = tmp_path / "a"
    versions = [bytes([65 + number]) * 200_000 for number in range(2)]
    write_whole(path, versions[0])
    done = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(30):
        write_whole(path, versions[number % 2])
    done.set()
    reader.join(timeout=30)
    assert seen <= set(versions)
    assert not any(other.name.startswith(TEMPORARY_PREFIX) for other in tmp_path.iterdir())


def test_new_folders_are_private_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    """Each missing parent is made 0700; what was there is the person's."""
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    make_private_folder(shared / "a" / "b")
    make_private_folder(shared / "a" / "b")
    assert [mode_of(path) for path in (shared, shared / "a", shared / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_file_in_the_way_of_a_folder_is_an_error(tmp_path: Path) -> None:
    """A file is never taken for a folder, nor removed."""
    (tmp_path / "a").write_bytes(b"kept")
    with pytest.raises(OSError, match="a"):
        make_private_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a").read_bytes() == b"kept"


def test_hashes_are_sha256_in_hex() -> None:
    """The manifest's hashes are the usual ones."""
    assert sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()
