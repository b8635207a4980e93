"""The packets of a state folder: built from logs, imported from other tools, listed and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError, RolloutError, UsageError
from memory_pipeline.records import MEMORIES_THREAD, Agent, Event, IndexedThread
from memory_pipeline.review.documents import PACKETS_FOLDER, packet_name
from memory_pipeline.review.files import ReviewFiles, locked_files, read_plain, tells_forgotten
from memory_pipeline.review.packet import (
    MOST_PACKET_BYTES,
    Packet,
    PacketAudit,
    PacketBuilder,
    audit_of,
    read_packet,
    render_packet,
)
from memory_pipeline.rollouts.journal import JOURNAL_THREAD
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import RolloutReading, read_events
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder, Tombstones

#: Threads that hold no session.
_OURS = frozenset({JOURNAL_THREAD, MEMORIES_THREAD})


class KeptPacket(Struct, frozen=True, kw_only=True):
    """A packet that lies in the folder."""

    session_id: str
    path: Path
    audit: PacketAudit
    origin: str  # "built" from a log, "imported", or "other": a tool put it there, or somebody edited it
    is_known: bool  # its session is indexed
    drafts: int = 0  # that were made of it just now
    problems: tuple[str, ...] = ()


class Packets:
    """The packets of one state folder."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._folder = TombstoneFolder(config.tombstones_path)

    def build(self, thread_id: str) -> KeptPacket:
        """Build the packet of an indexed session anew from its log.

        Raises:
            UsageError: there is no such session, or it has no log of its own.
            RolloutError: its log can't be read.
            LockedError: another run is writing packets.
        """
        thread = self._store.threads.get(thread_id)
        if thread is None or thread.agent is Agent.JOURNAL:
            raise UsageError(f"there is no session {thread_id}; `memory-pipeline threads list` shows all")
        tombstones = self._folder.current()
        if tombstones.has_thread(thread_id):
            raise UsageError(f"session {thread_id} was forgotten, so no packet of it is built")
        packet = self._packet_of(thread, tombstones)
        return self._keep(packet, origin="built")

    def without_one(self, *, limit: int) -> list[str]:
        """Return the sessions without a packet whose logs can be read and count, the newest first."""
        kept = {packet.session_id for packet in self.every()}
        found = [
            thread.thread_id
            for thread in self._store.threads.every()
            if thread.agent is not Agent.JOURNAL
            and thread.present
            and not thread.is_withdrawn
            and thread.thread_id not in kept
        ]
        return found[:limit]

    def every(self) -> list[KeptPacket]:
        """Return the packets that lie in the folder, by session."""
        folder = self._config.packets_path
        found = [self._kept(path) for path in sorted(folder.glob("*.md")) if not path.name.startswith(".")]
        return sorted((packet for packet in found if packet is not None), key=lambda packet: packet.session_id)

    def read(self, session_id: str) -> tuple[KeptPacket, Packet]:
        """Return a packet that lies in the folder.

        Raises:
            UsageError: there is none of this session.
        """
        for kept in self.every():
            if kept.session_id == session_id:
                packet = read_packet(read_plain(kept.path) or b"")
                if packet is not None:
                    return kept, packet
        raise UsageError(
            f"there is no packet of session {session_id}; `memory-pipeline packet list` shows all, and "
            "`memory-pipeline packet build --session ID` builds one"
        )

    def import_file(self, path: Path) -> KeptPacket:
        """Take in a packet that another tool made, masked and written in our own form.

        Raises:
            UsageError: it is no packet, or of a session whose log is here, or that was forgotten.
        """
        content = read_plain(path, most_bytes=MOST_PACKET_BYTES)
        if content is None:
            raise UsageError(f"{path}: no plain file of at most {MOST_PACKET_BYTES // 1024 // 1024} MB is there")
        packet = read_packet(content)
        if packet is None or not packet.turns:
            raise UsageError(f"{path}: no session packet: it lacks `# Session Packet: <id>` or any `## Turn N`")
        if tells_forgotten(packet.session_id, content, self._folder.current()):
            raise UsageError(f"{path}: tells of what was forgotten, so it is not taken in")
        thread = self._store.threads.get(packet.session_id)
        if packet.session_id in _OURS or (thread is not None and thread.agent is Agent.JOURNAL):
            raise UsageError(f"{path}: {packet.session_id} is a name of our own, and no session")
        if thread is not None and thread.present:
            raise UsageError(
                f"{path}: session {packet.session_id} is indexed here with its own log, which tells more; "
                f"`memory-pipeline packet build --session {packet.session_id}` makes its packet"
            )
        return self._keep(packet, origin="imported")

    def _packet_of(self, thread: IndexedThread, tombstones: Tombstones) -> Packet:
        builder = PacketBuilder(is_forgotten=self._is_forgotten(thread, tombstones))
        reading = self._reading_of(thread)
        for event in reading:
            builder.add(event)
        if not reading.understood_lines:
            raise RolloutError(f"{thread.rollout_path}: no line of it is understood, so there is no packet of it")
        return builder.build(thread.thread_id, skipped=reading.skipped_lines)

    def _is_forgotten(self, thread: IndexedThread, tombstones: Tombstones) -> Callable[[Event], bool]:
        if tombstones.is_empty:
            return lambda _event: False
        hashes: Mapping[tuple[int, int], str] = {}
        if tombstones.touches(thread.thread_id):
            first = self._reading_of(thread)
            hashes = first.hash_lines({(event.byte_start, event.byte_end) for event in first})

        def is_forgotten(event: Event) -> bool:
            line = hashes.get((event.byte_start, event.byte_end))
            return (
                (line is not None and tombstones.has_line(thread.thread_id, line))
                or tombstones.has_said(thread.thread_id, event.text)
                or tombstones.holds_words(event.text, event.command, *event.paths)
                or any(tombstones.is_text(said) or tombstones.holds_text(said) for said in event.text.splitlines())
            )

        return is_forgotten

    def _reading_of(self, thread: IndexedThread) -> RolloutReading:
        share = self._store.lineage.share_of(thread.thread_id)
        return read_events(
            thread.rollout,
            self._config.sources.of(thread.agent).home,
            max_bytes=self._config.gates.max_rollout_bytes,
            own=OwnPart(foreign_hashes=share.foreign_hashes, own_from_byte=share.own_from_byte),
        )

    def _keep(self, packet: Packet, *, origin: str) -> KeptPacket:
        with locked_files(self._config):
            files = ReviewFiles(self._config, self._store, self._clock)
            told = {"audit": packet.audit.as_document(), "origin": origin}
            report = files.put_packet(packet.session_id, render_packet(packet), told=told)
        kept = self._kept(self._config.state_path / packet_name(packet.session_id))
        if kept is None:
            raise MemoryPipelineError(
                f"the packet of {packet.session_id} was not written; an editor may hold it open: close it and try again"
            )
        return replace(kept, problems=report.problems)

    def _kept(self, path: Path) -> KeptPacket | None:
        versions = self._store.session_files.versions_of(f"{PACKETS_FOLDER}/{path.name}")
        ours = [one for one in versions if one.mtime_ns == path.lstat().st_mtime_ns]
        if ours:  # what it tells is known without reading it
            session_id, audit = ours[-1].thread_id, audit_of(ours[-1].told.get("audit"))
            origin = str(ours[-1].told.get("origin"))
        else:
            packet = read_packet(read_plain(path, most_bytes=MOST_PACKET_BYTES) or b"")
            if packet is None:
                return None
            session_id, audit, origin = packet.session_id, packet.audit, "other"
        return KeptPacket(
            session_id=session_id,
            path=path,
            audit=audit,
            origin=origin,
            is_known=self._store.threads.get(session_id) is not None,
        )
