"""The receipt: a search of every byte for the marks of what was forgotten. It names places and counts, never words."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memory_pipeline.forget.marks import Marks

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
#: A version control of somebody else's: its history is not ours to change.
_FOREIGN = ".git"
_MOST_PLAIN_BYTES = 1 << 30


class Receipt(Struct, frozen=True, kw_only=True):
    """What was done, and what a search found afterwards."""

    counts: Mapping[str, int]  # what went, by kind
    searched_for: int  # words and phrases that nothing left holds
    places: Mapping[str, int]  # folder -> how many files were searched
    still_hold: Sequence[str]  # files that hold some of them all the same
    unread: Sequence[str]  # files that could not be searched
    not_searched: Sequence[str]  # what is not ours to change, and may hold the words
    notes: Sequence[str] = ()  # sentences for the person

    @property
    def is_clean(self) -> bool:
        """Whether everything was searched and nothing was found."""
        return not self.still_hold and not self.unread


def search(
    folders: Sequence[Path],
    marks: Marks,
    *,
    read_database: Callable[[Path], bytes],
    database: Path,
    leave_out: Collection[Path] = (),
) -> tuple[dict[str, int], list[str], list[str]]:
    """Search every regular file below some folders but those to ``leave_out``, decompressed where it is compressed.

    Returns how many files each folder has, the files that hold a mark, and those that could not be read.
    ``read_database`` reads ``database`` and the files beside it without disturbing whoever has them open.
    """
    places: dict[str, int] = {}
    holding: list[str] = []
    unread: list[str] = []
    seen: set[Path] = set()
    for folder in folders:
        places[str(folder)] = 0
        for path in _files(folder, leave_out):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            places[str(folder)] += 1
            is_database = path.parent == database.parent and path.name.startswith(database.name)
            try:
                content = _plain(read_database(path) if is_database else path.read_bytes())
            except (OSError, ValueError, EOFError):
                unread.append(str(path))
                continue
            if marks.are_in(content.decode("utf-8", "replace")):
                holding.append(str(path))
    return places, holding, unread


def _files(folder: Path, leave_out: Collection[Path]) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != _FOREIGN and Path(root, name) not in leave_out)
        for name in sorted(names):
            path = Path(root) / name
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _plain(content: bytes) -> bytes:
    if content.startswith(_GZIP):
        return gzip.decompress(content)
    if content.startswith(_ZSTD):
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(content) as reader:
                return reader.read(_MOST_PLAIN_BYTES)
        except zstandard.ZstdError as error:
            raise ValueError("can't be decompressed") from error
    return content
