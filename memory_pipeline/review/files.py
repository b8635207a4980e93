"""The files of a review: the drafts of each session and its sync list, written whole, and taken in when edited.

What lies there is known by its hash: whatever we did not write is the person's, or a tool's. It is checked and becomes
their decisions, or it is refused with a reason and kept aside. Only then is the file written anew. Two writers meet in
one lock.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError, reason_of
from memory_pipeline.files import (
    TEMPORARY_PREFIX,
    exchange,
    finish_exchange,
    is_open_for_writing,
    make_private_folder,
    sha256_hex,
    write_whole,
)
from memory_pipeline.lock import os_lock
from memory_pipeline.records import Draft, ReviewCounts
from memory_pipeline.review.collaborator import ask_collaborator
from memory_pipeline.review.documents import (
    DRAFTS_FOLDER,
    PACKETS_FOLDER,
    SYNC_FOLDER,
    draft_document,
    drafts_name,
    encode,
    packet_name,
    session_named,
    sync_document,
    sync_name,
)
from memory_pipeline.review.edited import EditRefusedError, TakenIn, note_hash, take_in_edit
from memory_pipeline.review.run import Review
from memory_pipeline.store.session_files import WrittenVersion
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder, Tombstones

LOCK_FILE = "session-files.lock"
REFUSED_SUFFIX = ".refused"

_LOCK_SECONDS = 30.0
_MOST_BYTES = 16 * 1024 * 1024
#: How often a file may be saved while it is written before it is left for the next time.
_MOST_TRIES = 5
#: A full disk fails them all for one reason.
_MOST_FAILURES_TOLD = 3


class FilesReport(Struct, frozen=True, kw_only=True):
    """What became of the files: counts, and sentences for the person."""

    decided: int = 0  # decisions and notes that were taken in from files
    written: int = 0
    removed: int = 0
    problems: tuple[str, ...] = ()


def write_session_files(config: Config, store: Store, clock: Clock, thread_id: str | None = None) -> FilesReport:
    """Take in what was edited in the files of a session, or of all, then write those that must change.

    Call it after whatever changed labels or decisions. A file that can't be written is among the problems.

    Raises:
        LockedError: another run has been writing them for a long time.
    """
    with locked_files(config):
        return ReviewFiles(config, store, clock).bring_up_to_date(thread_id)


def session_document(store: Store, thread_id: str, drafts: Sequence[Draft]) -> dict[str, Any] | None:
    """Make the draft document of a session as its file would hold it, None where there is nothing to tell."""
    thread, extraction = store.threads.get(thread_id), store.extractions.get(thread_id)
    if thread is None or extraction is None or not drafts:
        return None
    return draft_document(thread, extraction, drafts, audit=_audit_of(store, thread_id))


def _audit_of(store: Store, thread_id: str) -> dict[str, object] | None:
    packet = store.session_files.versions_of(packet_name(thread_id))
    audit = packet[-1].told.get("audit") if packet else None
    return audit if isinstance(audit, dict) else None


class FiledReview:
    """The review between the phases, with its files: what was edited counts before anything is labelled."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        environ: Mapping[str, str] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the parts. Without ``environ``, of which it learns a part, no collaborator is asked; see there."""
        self._config = config
        self._store = store
        self._clock = clock
        self._environ = environ
        self._should_stop = should_stop
        self._review = Review(config, store, clock)

    def run_once(self) -> ReviewCounts:
        """Take in edited files, review, ask the collaborator, write the files. No fault of these keeps a phase back.

        Raises:
            InterruptedRunError: it was stopped while the collaborator was asked; see there.
        """
        problems: list[str] = []
        self._meet_files(problems, take_in_only=True)
        counts = self._review.run_once()
        if self._environ is not None:
            problems += ask_collaborator(
                self._config, self._store, environ=self._environ, should_stop=self._should_stop
            )
        self._meet_files(problems)
        return replace(counts, problems=tuple(dict.fromkeys((*counts.problems, *problems)))) if problems else counts

    def _meet_files(self, problems: list[str], *, take_in_only: bool = False) -> None:
        try:
            with locked_files(self._config):
                files = ReviewFiles(self._config, self._store, self._clock)
                report = files.take_in() if take_in_only else files.bring_up_to_date()
                problems += report.problems
        except (OSError, MemoryPipelineError) as error:
            told = f"the files of the review could not be written: {reason_of(error)}"
            problems.append(told)


@contextlib.contextmanager
def locked_files(config: Config) -> Iterator[None]:
    """Hold the lock of packets, drafts and sync lists.

    Raises:
        LockedError: another run has been holding it for a long time.
        StoreError: it can't be locked.
    """
    make_private_folder(config.state_path)
    with os_lock(config.state_path / LOCK_FILE, purpose="the files of the review", wait_seconds=_LOCK_SECONDS):
        yield


class ReviewFiles:
    """The draft files and sync lists of one state folder; the caller holds their lock."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._store = store
        self._review = Review(config, store, clock)
        self._folder = TombstoneFolder(config.tombstones_path)
        self._root = config.state_path
        self._defer_days = config.review.defer_days
        self._judged: dict[tuple[str, str], str] = {}  # name and hash of a file -> why it is refused; "" is taken in
        self._edited: set[str] = set()  # files that are not as we wrote them
        self._decided = self._written = self._removed = self._failures = 0
        self._problems: list[str] = []

    def bring_up_to_date(self, thread_id: str | None = None, *, anew: bool = False) -> FilesReport:
        """Take in what was edited, then write what must change; with ``anew``, look at every file's content."""
        self._sweep_forgotten()
        self.take_in(thread_id)
        version = self._store.session_files.version()
        if not anew and self._tell_all():
            return self._report()
        versions = self._store.session_files.versions()
        stamps = self._store.session_files.stamps()
        due = [name for name in stamps if thread_id in (None, name)]
        due = due if anew else [name for name in due if self._is_due(name, stamps[name], versions)]
        for name in due:
            with self._told_when_it_fails():
                self._write_session(name, stamps[name])
        gone = [
            (name, known[0].thread_id)
            for name, known in versions.items()
            if name.startswith((DRAFTS_FOLDER, SYNC_FOLDER)) and known[0].thread_id not in stamps
        ]
        for name, of_thread in gone:
            with self._told_when_it_fails():
                self._remove(name, of_thread)
        if thread_id is None and (due or gone) and not (self._decided or self._edited):
            # Noted together with what was written: a look that finds nothing to do writes nothing.
            versions = self._store.session_files.versions()
            if not any(self._is_due(name, stamps[name], versions) for name in due) and not versions.keys() & dict(gone):
                self._store.session_files.settle_all(version=version)
        return self._report()

    def put_packet(self, thread_id: str, content: bytes, *, told: Mapping[str, object]) -> FilesReport:
        """Write the packet of a session, and the draft file that tells its audit.

        Raises:
            OSError: it can't be written.
        """
        self._put(packet_name(thread_id), thread_id, "", content, told=told)
        return self.bring_up_to_date(thread_id)

    def take_in(self, thread_id: str | None = None) -> FilesReport:
        """Take in what was edited; writes nothing but what is refused, when the file is next written.

        Raises:
            OSError: a file can't be read.
        """
        self._finish_what_was_cut_off()
        self._review.catch_up()
        on_disk = self._on_disk()
        for name, known in self._store.session_files.lying().items():
            changed_at = on_disk.get(name)
            if changed_at is None or changed_at == known.mtime_ns or thread_id not in (None, known.thread_id):
                continue
            path = self._root / name
            hashes = {version.sha256 for version in self._store.session_files.versions_of(name)}
            content = read_plain(path)
            if content is None or sha256_hex(content) not in hashes:
                self._edited.add(name)
                if not is_open_for_writing(path):
                    self._judge(name, known.thread_id, content)
        return self._report()

    def _on_disk(self) -> dict[str, int]:
        """Return when each draft file and sync list on disk was last written to, in nanoseconds."""
        found: dict[str, int] = {}
        for folder in (DRAFTS_FOLDER, SYNC_FOLDER):
            # Where something else stands in its place, writing the first file says so.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._root / folder) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):  # somebody deletes it
                        found[f"{folder}/{entry.name}"] = entry.stat(follow_symlinks=False).st_mtime_ns
        return found

    def _sweep_forgotten(self) -> None:
        """Delete files that were put back, from a backup say, and tell of what was forgotten."""
        tombstones = self._tombstones()
        if tombstones.is_empty:
            return
        ours = {
            name: known[0].mtime_ns for name, known in self._store.session_files.versions().items() if len(known) == 1
        }
        for folder in review_folders(self._config):
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                name = f"{folder.name}/{path.name}"
                if name.endswith(".json") and name in ours:
                    continue  # what was edited is judged as a whole
                if ours.get(name) == path.lstat().st_mtime_ns:
                    continue
                content = read_plain(path)
                if content is not None and tells_forgotten(session_named(path.name), content, tombstones):
                    path.unlink()
                    self._problems.append(f"{path}: told of what was forgotten, so it is gone")

    @contextlib.contextmanager
    def _told_when_it_fails(self) -> Iterator[None]:
        """Let what stands in the way of one file keep no other back."""
        try:
            yield
        except OSError as error:
            self._failures += 1
            if self._failures <= _MOST_FAILURES_TOLD:
                self._problems.append(f"{reason_of(error)}; the file of the review was not written")

    def _report(self) -> FilesReport:
        problems = list(self._problems)
        if self._failures > _MOST_FAILURES_TOLD:
            problems.append(f"{self._failures - _MOST_FAILURES_TOLD} more files of the review were not written")
        return FilesReport(
            decided=self._decided, written=self._written, removed=self._removed, problems=tuple(problems)
        )

    def _tell_all(self) -> bool:
        """Whether every file was found to tell what is stored, and neither has changed since."""
        if self._edited or not self._store.session_files.are_settled():
            return False
        ours = (name for name in self._store.session_files.lying() if name.startswith((DRAFTS_FOLDER, SYNC_FOLDER)))
        return self._on_disk().keys() >= set(ours)

    def _is_due(self, thread_id: str, stamp: str, versions: Mapping[str, Sequence[WrittenVersion]]) -> bool:
        names = (drafts_name(thread_id), sync_name(thread_id))
        if not versions.get(names[0]):
            return True
        return any(
            name in self._edited
            or len(versions[name]) > 1
            or versions[name][0].mtime_ns is None
            or versions[name][0].stamp != stamp
            or not os.path.lexists(self._root / name)
            for name in names
            if name in versions
        )

    def _write_session(self, thread_id: str, stamp: str) -> None:
        for _ in range(_MOST_TRIES):
            decided = self._decided
            thread = self._store.threads.get(thread_id)
            extraction = self._store.extractions.get(thread_id)
            drafts = self._store.drafts.every(thread_id=thread_id)
            if thread is None or extraction is None or not drafts:
                return
            document = draft_document(thread, extraction, drafts, audit=_audit_of(self._store, thread_id))
            self._put(drafts_name(thread_id), thread_id, stamp, encode(document), told=_told(drafts))
            listed = sync_document(extraction, drafts)
            if listed is None:
                self._remove(sync_name(thread_id), thread_id)
            else:
                self._put(sync_name(thread_id), thread_id, stamp, encode(listed), told={})
            if self._decided == decided:
                return  # else somebody saved the file a moment ago, and it must tell of that too
            stamp = self._store.session_files.stamps().get(thread_id, stamp)

    def _put(self, name: str, thread_id: str, stamp: str, content: bytes, *, told: Mapping[str, object]) -> None:
        path = self._root / name
        if is_open_for_writing(path):
            return  # somebody is saving it right now; it is looked at next time
        make_private_folder(path.parent)
        digest = sha256_hex(content)
        version = WrittenVersion(name=name, sha256=digest, thread_id=thread_id, stamp=stamp, told=told, mtime_ns=None)
        known = {one.sha256 for one in self._store.session_files.versions_of(name)}
        self._store.session_files.announce(version)
        if read_plain(path) != content:
            temporary = _temporary(path)
            write_whole(temporary, content, sync_name=False)
            exchange(temporary, path)
            self._written += 1
            self._settle_old(temporary, name, thread_id, known | {digest}, was_ours=bool(known))
        self._store.session_files.settle(name, digest, mtime_ns=path.lstat().st_mtime_ns, stamp=stamp)

    def _remove(self, name: str, thread_id: str) -> None:
        path = self._root / name
        if os.path.lexists(path):
            if is_open_for_writing(path):
                return
            known = {one.sha256 for one in self._store.session_files.versions_of(name)}
            temporary = _temporary(path)
            os.replace(path, temporary)  # noqa: PTH105 - a link is moved, not followed
            self._removed += 1
            self._settle_old(temporary, name, thread_id, known, was_ours=bool(known))
        self._store.session_files.drop(name)

    def _settle_old(self, temporary: Path, name: str, thread_id: str, known: set[str], *, was_ours: bool) -> None:
        """Let go what stood in a file's place, once it is ours or taken in; keep aside what was refused."""
        if not os.path.lexists(temporary):
            return
        content = read_plain(temporary)
        if content is not None and sha256_hex(content) in known:
            temporary.unlink()
            return
        path = self._root / name
        # A version that was announced just now is no reason to take a stranger's file for an edited one of ours.
        reason = self._judge(name, thread_id, content) if was_ours else "memory-pipeline did not write it"
        if not reason:
            temporary.unlink()
            return
        if self._tells_forgotten(thread_id, content):
            temporary.unlink()
            self._problems.append(
                f"{path}: not taken in, since {reason}; it may tell of what was forgotten, so it is gone"
            )
            return
        aside = _free_name(path)
        os.replace(temporary, aside)  # noqa: PTH105
        self._problems.append(f"{path}: not taken in, since {reason}; it is kept as {aside.name}")

    def _judge(self, name: str, thread_id: str, content: bytes | None) -> str:
        """Take in an edited file, once; returns why it is refused, "" when it is not."""
        key = (name, sha256_hex(content) if content is not None else "")
        if key not in self._judged:
            self._judged[key] = ""
            try:
                taken = self._take_in(name, thread_id, content)
                self._decided += taken.decided
                self._problems += [f"{self._root / name}: {told}" for told in taken.problems]
            except EditRefusedError as refused:
                self._judged[key] = str(refused)
        return self._judged[key]

    def _take_in(self, name: str, thread_id: str, content: bytes | None) -> TakenIn:
        if content is None:
            raise EditRefusedError("it is no plain file of a bearable size")
        if name.startswith(PACKETS_FOLDER):
            raise EditRefusedError("a packet follows from its log; nothing is taken in from one that was edited")
        if not name.startswith(DRAFTS_FOLDER):
            raise EditRefusedError("a sync list follows from the decisions about drafts; decide there")
        told = [version.told for version in self._store.session_files.versions_of(name)]
        return take_in_edit(
            content,
            thread_id,
            told,
            store=self._store,
            review=self._review,
            tombstones=self._tombstones(),
            defer_days=self._defer_days,
        )

    def _tells_forgotten(self, thread_id: str, content: bytes | None) -> bool:
        if content is None:  # what can't be read may tell it
            return not self._tombstones().is_empty
        return tells_forgotten(thread_id, content, self._tombstones())

    def _tombstones(self) -> Tombstones:
        return self._folder.current()

    def _finish_what_was_cut_off(self) -> None:
        """Bring to its end what a crash left between two names; what the person saved then is taken in."""
        for folder in (DRAFTS_FOLDER, SYNC_FOLDER, PACKETS_FOLDER):
            left = sorted((self._root / folder).glob(f"{TEMPORARY_PREFIX}*"))
            for temporary in left:
                target = _target_of(temporary)
                if target is None:
                    temporary.unlink(missing_ok=True)  # our own words, written halfway
                    continue
                finish_exchange(_temporary(target), target)
                name = f"{folder}/{target.name}"
                known = self._store.session_files.versions_of(name)
                thread_id = known[0].thread_id if known else target.stem
                hashes = {version.sha256 for version in known}
                self._settle_old(_temporary(target), name, thread_id, hashes, was_ours=bool(known))


def review_folders(config: Config) -> tuple[Path, ...]:
    """Return the folders of packets, drafts and sync lists."""
    return (config.packets_path, config.draft_files_path, config.sync_lists_path)


def tells_forgotten(thread_id: str, content: bytes, tombstones: Tombstones) -> bool:
    """Whether a file of a session tells, or may tell, what was forgotten."""
    if tombstones.is_empty:
        return False
    if tombstones.touches(thread_id):
        return True
    text = content.decode("utf-8", "replace")
    return tombstones.holds_words(text) or any(
        tombstones.holds_text(line) or tombstones.is_text(line) for line in text.splitlines()
    )


def _told(drafts: Sequence[Draft]) -> dict[str, object]:
    """What a file says of each draft that a person may change there, or must not; of notes, hashes alone."""
    return {
        draft.entry.entry_id: [draft.review_status, note_hash(draft.review_note), draft.label, draft.readiness]
        for draft in drafts
    }


def read_plain(path: Path, *, most_bytes: int = _MOST_BYTES) -> bytes | None:
    """Return the content of a plain file of a bearable size; None of anything else, and where there is nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(most_bytes)


def _temporary(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{path.name}")


def _target_of(temporary: Path) -> Path | None:
    """Return the file that a temporary one was to replace, None for one that was not written whole."""
    name = temporary.name.removeprefix(TEMPORARY_PREFIX).removesuffix(".aside")
    return temporary.with_name(name) if name.endswith((".json", ".md")) else None


def _free_name(path: Path) -> Path:
    number = 1
    while True:
        suffix = REFUSED_SUFFIX if number == 1 else f"{REFUSED_SUFFIX}-{number}"
        aside = path.with_name(f"{path.name}{suffix}")
        if not os.path.lexists(aside):
            return aside
        number += 1
