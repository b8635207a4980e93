"""Discover and index: the disk is the truth, and only what changed is opened."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rollout_logs import START, ClaudeSession, CodexSession, thread_id_of

from memory_pipeline.config import Config, SourceConfig, SourcesConfig
from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.phase1.gates import apply_gates
from memory_pipeline.phase1.index import Discovery, index_rollouts
from memory_pipeline.records import Agent, Gate, IndexedThread, JobState, RolloutFile
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.store.store import Store

#: A week after the sessions.
NOW = START.timestamp() + 7 * 86_400

ONE, TWO = thread_id_of(1), thread_id_of(2)


class FixedClock:
    """A clock that stands."""

    def __init__(self, now: float = NOW) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


class Machine:
    """Two agents' homes and an index over them."""

    def __init__(self, root: Path, store: Store) -> None:
        self.codex = root / "codex"
        self.claude = root / "claude"
        (self.codex / "sessions").mkdir(parents=True)
        (self.claude / "projects").mkdir(parents=True)
        self.store = store
        self.config = Config(
            state_dir=str(root / "state"),
            memories_dir=str(root / "state" / "memories"),
            sources=SourcesConfig(codex=SourceConfig(home=str(self.codex)), claude=SourceConfig(home=str(self.claude))),
        )

    def look(self, *, config: Config | None = None) -> Discovery:
        """Look at the disk once."""
        return index_rollouts(config or self.config, self.store, FixedClock())

    def thread(self, thread_id: str) -> IndexedThread:
        """Return a thread that must be there."""
        found = self.store.threads.get(thread_id)
        assert found is not None
        return found


@pytest.fixture
def machine(tmp_path: Path, store: Store) -> Machine:
    """A machine with bare homes."""
    return Machine(tmp_path, store)


def _session(thread_id: str = ONE, **fields: object) -> CodexSession:
    return CodexSession(thread_id=thread_id, **fields).prompt("Mend the checkout.").answer("It is mended.")  # type: ignore[arg-type]


def test_new_rollouts_of_both_agents_are_indexed(machine: Machine) -> None:
    """Every log on disk has its row after one look."""
    _session().write(machine.codex)
    ClaudeSession(thread_id=TWO).prompt("Mend it.").answer("Mended.").write(machine.claude)
    found = machine.look()
    assert (found.threads, found.opened, found.unreadable, found.problems) == (2, 2, 0, ())
    assert machine.thread(ONE).title == "Mend the checkout."
    assert machine.thread(TWO).prompt_count == 1


def test_a_second_look_opens_nothing(machine: Machine) -> None:
    """Unchanged files are not opened: one that could no longer be read keeps its row as it was."""
    path = _session().write(machine.codex)
    machine.look()
    before = machine.thread(ONE)
    stamp = path.stat()
    path.write_bytes(b"\x00" * stamp.st_size)  # same inode, size and time: only opening it could tell
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert machine.look() == Discovery(threads=1)
    assert machine.thread(ONE) == before


def test_a_grown_file_is_read_again(machine: Machine) -> None:
    """More words change the digest and the counts of the row."""
    session = _session()
    session.write(machine.codex)
    machine.look()
    before = machine.thread(ONE)
    session.prompt("And the cart.").write(machine.codex)
    assert machine.look().opened == 1
    after = machine.thread(ONE)
    assert (before.prompt_count, after.prompt_count) == (1, 2)
    assert after.content_digest != before.content_digest


def test_a_touched_file_says_nothing_new(machine: Machine) -> None:
    """A new stamp has the file read, and its digest shows that there is nothing to extract."""
    path = _session().write(machine.codex)
    machine.look()
    before = machine.thread(ONE)
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    assert machine.look().opened == 1
    assert machine.thread(ONE).content_digest == before.content_digest


def test_a_file_moved_to_the_archive_and_back_is_the_same_thread(machine: Machine) -> None:
    """The path follows without opening the file."""
    path = _session().write(machine.codex)
    machine.look()
    archive = machine.codex / "archived_sessions"
    archive.mkdir()
    archived = path.rename(archive / path.name)
    assert machine.look() == Discovery(threads=1, moved=1)
    thread = machine.thread(ONE)
    assert (thread.rollout_path, thread.archived, thread.present) == (str(archived), True, True)
    archived.rename(path)
    assert machine.look() == Discovery(threads=1, moved=1)
    assert (machine.thread(ONE).rollout_path, machine.thread(ONE).archived) == (str(path), False)


def test_a_vanished_file_keeps_its_row_and_may_return(machine: Machine, tmp_path: Path) -> None:
    """Gone is normal; a file that comes back unchanged is not read again, and its pending job is due again."""
    path = _session().write(machine.codex)
    machine.look()
    apply_gates(machine.config, machine.store, FixedClock(), force=True)
    away = path.rename(tmp_path / "away.jsonl")
    assert machine.look() == Discovery(threads=0, vanished=1)
    assert machine.thread(ONE).present is False
    assert machine.store.jobs.count_due(now=NOW) == 0
    assert machine.look() == Discovery(threads=0)
    away.rename(path)
    assert machine.look() == Discovery(threads=1)
    assert machine.thread(ONE).present is True
    assert machine.store.jobs.count_due(now=NOW) == 1


def test_two_files_of_one_thread_are_one_row(machine: Machine) -> None:
    """After a revert the name holds two ids; the file with the latest words is the one that counts."""
    session = _session()
    path = session.write(machine.codex)
    kept = path.read_bytes()
    other = path.with_name(f"{path.stem}_{thread_id_of(77)}.jsonl")
    session.prompt("And the cart.").write(machine.codex)
    path.rename(other)
    path.write_bytes(kept)
    assert machine.look().threads == 1
    assert [thread.thread_id for thread in machine.store.threads.every()] == [ONE]
    assert (machine.thread(ONE).rollout_path, machine.thread(ONE).prompt_count) == (str(other), 2)


def test_the_other_file_of_a_thread_counts_when_the_first_is_gone(machine: Machine, tmp_path: Path) -> None:
    """The thread follows the file that is left, though that one did not change, and goes back when both are there."""
    session = _session()
    path = session.write(machine.codex)
    kept = path.read_bytes()
    other = path.with_name(f"{path.stem}_{thread_id_of(77)}.jsonl")
    session.prompt("And the cart.").write(machine.codex)
    path.rename(other)
    path.write_bytes(kept)
    machine.look()
    away = other.rename(tmp_path / "away.jsonl")
    assert machine.look().vanished == 1
    thread = machine.thread(ONE)
    assert (thread.rollout_path, thread.present, thread.prompt_count) == (str(path), True, 1)
    away.rename(other)
    machine.look()
    assert (machine.thread(ONE).rollout_path, machine.thread(ONE).prompt_count) == (str(other), 2)
    assert machine.look().opened == 0


def test_a_compressed_twin_takes_over_without_a_second_thread(machine: Machine) -> None:
    """When Codex compresses an idle log, the thread follows, and nothing new was said."""
    import zstandard

    path = _session().write(machine.codex)
    machine.look()
    digest = machine.thread(ONE).content_digest
    twin = path.with_suffix(".jsonl.zst")
    twin.write_bytes(zstandard.compress(path.read_bytes()))
    assert machine.look() == Discovery(threads=1)
    path.unlink()
    machine.look()
    thread = machine.thread(ONE)
    assert (thread.rollout_path, thread.content_digest, thread.present) == (str(twin), digest, True)
    assert len(machine.store.threads.every()) == 1


def test_a_file_that_can_not_be_read_is_told_and_tried_again(machine: Machine, tmp_path: Path) -> None:
    """An unreadable log has a row with its reason, and is a candidate once it can be read."""
    path = _session().write(machine.codex)
    hidden = path.rename(tmp_path / "hidden.jsonl")
    os.mkfifo(path)
    machine.look()  # a FIFO is no log, and opening it must not hang
    assert machine.store.threads.every() == []
    path.unlink()
    hidden.rename(path)
    machine.store.threads.record_unreadable(
        next(iter(_files(machine))), "permission denied", "project:unknown", now=NOW
    )
    apply_gates(machine.config, machine.store, FixedClock(), force=True)
    assert (machine.thread(ONE).gate, machine.thread(ONE).state) == (Gate.UNREADABLE, JobState.GATED)
    assert machine.look().opened == 1
    apply_gates(machine.config, machine.store, FixedClock(), force=True)
    assert (machine.thread(ONE).gate, machine.thread(ONE).state) == (None, JobState.PENDING)


def _files(machine: Machine) -> list[RolloutFile]:
    return list(find_rollouts(Agent.CODEX, str(machine.codex)))


def test_a_log_that_turns_into_a_link_out_of_the_home_is_never_followed(machine: Machine, tmp_path: Path) -> None:
    """A link that leads elsewhere is passed over; its thread counts as vanished."""
    path = _session().write(machine.codex)
    machine.look()
    path.rename(tmp_path / "elsewhere.jsonl")
    path.symlink_to(tmp_path / "elsewhere.jsonl")
    assert machine.look().vanished == 1
    assert machine.thread(ONE).present is False


def test_a_missing_home_is_one_sentence_and_stops_nobody(machine: Machine) -> None:
    """The other agent's logs are indexed all the same."""
    _session().write(machine.codex)
    sources = replace(machine.config.sources, claude=SourceConfig(home="/nowhere/claude"))
    found = machine.look(config=replace(machine.config, sources=sources))
    assert found.threads == 1
    assert len(found.problems) == 1
    assert "/nowhere/claude" in found.problems[0]


def test_a_folder_that_can_not_be_listed_is_counted_and_told(machine: Machine) -> None:
    """What lies in it is not seen, which nobody would notice otherwise; the other logs are indexed."""
    _session().write(machine.codex)
    locked = machine.codex / "sessions" / "locked"
    locked.mkdir()

    def scan(folder: str) -> Any:
        if folder == str(locked):
            raise PermissionError(13, "Permission denied")
        return os.scandir(folder)

    found = index_rollouts(machine.config, machine.store, FixedClock(), scan=scan)
    assert (found.threads, found.unlistable) == (1, 1)
    assert str(locked) in found.problems[0]


# --- log folders that look as before ---


def _listings(machine: Machine) -> int:
    """Look at the disk, and count how often its folders are listed for it: once, unless anything is not as before."""
    listed: list[str] = []

    def scan(folder: str) -> Any:
        listed.append(folder)
        return os.scandir(folder)

    index_rollouts(machine.config, machine.store, FixedClock(), scan=scan)
    return max(listed.count(folder) for folder in listed)


@pytest.fixture
def settled(machine: Machine) -> Machine:
    """A machine on which a look found everything as it was: two sessions of one agent, one of the other."""
    _session().write(machine.codex)
    _session(TWO).write(machine.codex)
    ClaudeSession(thread_id=thread_id_of(3)).prompt("Mend it.").answer("Done.").write(machine.claude)
    assert (_listings(machine), _listings(machine)) == (2, 1)
    return machine


def test_log_folders_that_look_as_before_are_listed_once(settled: Machine) -> None:
    """And what is told of them is the same."""
    found = settled.look()
    assert (found.threads, found.opened, found.vanished, found.problems) == (3, 0, 0, ())


def _grow(machine: Machine, path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def _rewrite_in_place(machine: Machine, path: Path) -> None:
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"checkout", b"checkins"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def _archive(machine: Machine, path: Path) -> None:
    folder = machine.codex / "archived_sessions"
    folder.mkdir()
    path.rename(folder / path.name)


def _come(machine: Machine, path: Path) -> None:
    _session(thread_id_of(9)).write(machine.codex)


def _come_in_the_other_home(machine: Machine, path: Path) -> None:
    ClaudeSession(thread_id=thread_id_of(8)).prompt("Mend it.").answer("Done.").write(machine.claude)


def _become_a_link(machine: Machine, path: Path) -> None:
    path.rename(machine.codex / "elsewhere.jsonl")
    path.symlink_to(machine.codex / "elsewhere.jsonl")


def _be_noted_as_gone(machine: Machine, path: Path) -> None:
    machine.store.threads.record_presence(returned=(), vanished=[str(path)], now=NOW)


def _be_noted_as_unreadable(machine: Machine, path: Path) -> None:
    file = next(file for file in _files(machine) if file.path == str(path))
    machine.store.threads.record_unreadable(file, "permission denied", "project:unknown", now=NOW)


@pytest.mark.parametrize(
    "change",
    [
        _grow,
        _rewrite_in_place,
        _archive,
        _come,
        _come_in_the_other_home,
        lambda _, path: path.unlink(),
        _become_a_link,
        _be_noted_as_gone,
        _be_noted_as_unreadable,
    ],
    ids=["grown", "rewritten", "archived", "new", "new of the other", "gone", "a link", "noted gone", "noted faulty"],
)
def test_whatever_changes_in_folders_or_index_is_seen(settled: Machine, change: Callable[..., None]) -> None:
    """The next look is a whole one, and leaves what one over a fresh index would find."""
    path = next(Path(file.path) for file in _files(settled) if file.thread_id == ONE)
    change(settled, path)
    assert _listings(settled) == 2
    afresh = Machine.__new__(Machine)
    afresh.__dict__ |= settled.__dict__
    afresh.store = Store(Path(settled.config.state_dir) / "afresh.db")
    afresh.look()
    told = {(one.thread_id, one.rollout_path, one.content_digest) for one in afresh.store.threads.every()}
    known = settled.store.threads.every()
    assert {(one.thread_id, one.rollout_path, one.content_digest) for one in known if one.present} == told
    assert all(one.index_error is None for one in known)
    afresh.store.close()


def test_a_source_that_is_switched_off_is_seen(settled: Machine) -> None:
    """Its sessions are gone from what is on disk, though no folder changed."""
    sources = replace(settled.config.sources, claude=SourceConfig(home="", enabled=False))
    assert settled.look(config=replace(settled.config, sources=sources)).vanished == 1


def test_what_another_process_notes_during_a_look_is_not_settled(settled: Machine) -> None:
    """It may have taken a file out of the index that this look still counted as known."""
    version = settled.store.threads.version()
    other = Store(settled.store.path)
    other.threads.set_disabled(ONE, disabled=True, now=NOW)
    other.close()
    settled.store.threads.settle("a look", threads=3, version=version)
    assert settled.store.threads.settled_at("a look") is None


def test_records_that_wait_to_be_shared_out_are(settled: Machine) -> None:
    """A look that was cut off before it shared them out is finished by the next one, though no file changed."""
    connection = settled.store.threads._connect()
    connection.execute("UPDATE threads SET claimed_records = x'' WHERE thread_id = ?", (ONE,))
    settled.look()
    assert settled.thread(ONE).is_shared_out


def test_a_look_that_did_not_read_all_is_followed_by_a_whole_one(machine: Machine) -> None:
    """One that was stopped, and one that met a log that can't be read."""
    _session().write(machine.codex)
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedRunError):
        index_rollouts(machine.config, machine.store, FixedClock(), stop=stop)
    assert (_listings(machine), _listings(machine)) == (2, 1)
    _be_noted_as_unreadable(machine, Path(_files(machine)[0].path))
    assert (_listings(machine), _listings(machine)) == (2, 1)


def test_a_disabled_source_is_not_looked_at(machine: Machine) -> None:
    """Switching an agent off neither reads its logs nor complains about its home."""
    _session().write(machine.codex)
    sources = SourcesConfig(
        codex=SourceConfig(enabled=False, home=str(machine.codex)),
        claude=SourceConfig(enabled=False, home="/nowhere/claude"),
    )
    assert machine.look(config=replace(machine.config, sources=sources)) == Discovery()


def test_a_name_that_is_no_text_is_passed_over_and_told(machine: Machine) -> None:
    """A file name that is not UTF-8 can't stand in the index; the other logs are not held up by it."""
    path = _session().write(machine.codex)
    odd = os.fsencode(path.parent) + b"/rollout-\xff\xfe.jsonl"
    with open(odd, "wb") as stream:  # noqa: PTH123 - the name can't be written as text
        stream.write(b"{}\n")
    found = machine.look()
    assert found.threads == 1
    assert "not UTF-8" in found.problems[0]
    found.problems[0].encode()


def test_a_session_inside_our_own_folders_is_our_own(machine: Machine) -> None:
    """A log of a run in the memory workspace is recognised at the index."""
    _session(cwd=machine.config.memories_dir).write(machine.codex)
    machine.look()
    apply_gates(machine.config, machine.store, FixedClock(), force=True)
    assert machine.thread(ONE).gate is Gate.OWN_RUN


def test_a_remote_in_one_log_scopes_the_folder_in_every_log(machine: Machine) -> None:
    """A Claude session in the folder has the scope that Codex's log records."""
    ClaudeSession(thread_id=TWO, cwd="/home/sam/shop").prompt("Mend it.").write(machine.claude)
    machine.look()
    assert machine.thread(TWO).scope == "project:/home/sam/shop"
    _session(remote="git@Example.org:sam/shop.git").write(machine.codex)
    machine.look()
    assert {thread.scope for thread in machine.store.threads.every()} == {"project:example.org/sam/shop"}


def test_an_old_codex_fork_yields_its_own_part_and_goes_on_doing_so(machine: Machine) -> None:
    """A fork that does not say so, but holds its parent's meta, counts from its own first words, also when it grows."""
    parent = _session().prompt("And the cart.").answer("The cart too.")
    parent.write(machine.codex)
    forked_at = START + timedelta(hours=5)
    fork = CodexSession(thread_id=TWO, start=forked_at)
    fork.lines += [dict(copied, timestamp=fork.lines[0]["timestamp"]) for copied in parent.lines]
    fork.prompt("Rename the shop.").answer("It is renamed.").write(machine.codex)
    machine.look()
    assert (machine.thread(TWO).prompt_count, machine.thread(TWO).title) == (1, "Rename the shop.")
    fork.prompt("And its logo.").write(machine.codex)
    machine.look()
    assert (machine.thread(TWO).prompt_count, machine.thread(TWO).title) == (2, "Rename the shop.")
    assert machine.thread(ONE).prompt_count == 2


def _gate_at(machine: Machine, now: float) -> Gate | None:
    """Look and gate under a clock that stands at ``now``; returns what holds the first thread back."""
    clock = FixedClock(now)
    index_rollouts(machine.config, machine.store, clock)
    apply_gates(machine.config, machine.store, clock, force=False)
    return machine.thread(ONE).gate


def test_a_log_with_a_stamp_of_another_century_is_not_too_recent_each_time_it_is_touched(machine: Machine) -> None:
    """The newest honest time counts, whatever one record says and whenever the file is touched."""
    session = CodexSession(thread_id=ONE).prompt("Always run the linter.").answer("It is mended.")
    session.lines[1]["timestamp"] = "2098-01-01T00:00:00.000Z"
    path = session.write(machine.codex)
    for now in (NOW, NOW + 60):
        os.utime(path, (now, now))
        assert _gate_at(machine, now) is None
        assert machine.thread(ONE).updated_at == START.timestamp() + 40


def test_a_log_whose_file_is_of_another_century_too_is_extracted_and_does_not_jump_the_queue(machine: Machine) -> None:
    """The last time that has come counts."""
    session = CodexSession(thread_id=ONE).prompt("Always run the linter.").answer("It is mended.")
    session.lines[1]["timestamp"] = "2098-01-01T00:00:00.000Z"
    path = session.write(machine.codex)
    os.utime(path, (4_100_000_000, 4_100_000_000))
    assert _gate_at(machine, NOW) is None
    assert machine.thread(ONE).updated_at == START.timestamp() + 40


def test_a_first_look_under_a_clock_far_in_the_past_freezes_nothing(machine: Machine) -> None:
    """Once the clock is right, the thread has its true time and is extracted."""
    path = CodexSession(thread_id=ONE).prompt("Always run the linter.").answer("It is mended.").write(machine.codex)
    os.utime(path, (START.timestamp() + 40, START.timestamp() + 40))
    past = START.timestamp() - 700 * 86_400
    assert _gate_at(machine, past) is Gate.TOO_RECENT
    assert machine.thread(ONE).updated_at == past
    assert _gate_at(machine, NOW) is None
    assert machine.thread(ONE).updated_at == START.timestamp() + 40


def test_a_stopped_look_keeps_what_it_read_and_goes_on_next_time(machine: Machine) -> None:
    """A stop leaves the rest unread, to be read by the next look."""
    for number in range(4):
        _session(thread_id_of(number)).write(machine.codex)
    stop = threading.Event()

    def stop_after_two(done: int, _total: int) -> None:
        if done == 2:
            stop.set()

    with pytest.raises(InterruptedRunError, match="3 of 4 logs"):
        index_rollouts(machine.config, machine.store, FixedClock(), stop=stop, on_progress=stop_after_two)
    assert 0 < len(machine.store.threads.every()) < 4
    machine.look()
    assert len(machine.store.threads.every()) == 4
