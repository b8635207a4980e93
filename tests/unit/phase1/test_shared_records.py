"""Forks and resumed transcripts: what several logs hold counts once, for the thread that owns it."""

from __future__ import annotations

import copy
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from rollout_logs import START, ClaudeSession, CodexSession, stamp, thread_id_of

from memory_pipeline.config import Config, GatesConfig, SourceConfig, SourcesConfig
from memory_pipeline.llm.deterministic import DeterministicExtractor
from memory_pipeline.phase1.run import Phase1, Phase1Options
from memory_pipeline.records import Gate, IndexedThread, Phase1Counts
from memory_pipeline.store.store import Store

NOW = START.timestamp() + 7 * 86_400
OLD, NEW, THIRD = thread_id_of(1), thread_id_of(2), thread_id_of(3)


class FixedClock:
    """A clock that stands."""

    def now(self) -> float:
        return NOW


class Machine:
    """Two homes and phase one over them, with the embedded extractor."""

    def __init__(self, root: Path, store: Store) -> None:
        self.codex, self.claude = root / "codex", root / "claude"
        (self.codex / "sessions").mkdir(parents=True)
        (self.claude / "projects").mkdir(parents=True)
        self.store = store
        self.config = Config(
            state_dir=str(root / "state"),
            memories_dir=str(root / "state" / "memories"),
            sources=SourcesConfig(codex=SourceConfig(home=str(self.codex)), claude=SourceConfig(home=str(self.claude))),
            gates=GatesConfig(min_duration_seconds=0),
        )

    def run(self) -> Phase1Counts:
        """Run phase one once."""
        extractor = DeterministicExtractor()
        phase = Phase1(
            self.config,
            self.store,
            FixedClock(),
            extract=extractor.extract,
            abort_extractions=extractor.close,
            owner="test",
            jitter=lambda: 0.0,
            stop=threading.Event(),
        )
        return phase.run_once(Phase1Options())

    def thread(self, thread_id: str) -> IndexedThread:
        """Return a thread that must be there."""
        found = self.store.threads.get(thread_id)
        assert found is not None
        return found

    def said(self, thread_id: str) -> list[str]:
        """Return the statements of a thread."""
        return [entry.statement for entry in self.store.extractions.entries(thread_id)]


@pytest.fixture
def machine(tmp_path: Path, store: Store) -> Machine:
    """Empty homes."""
    return Machine(tmp_path, store)


def session(thread_id: str = OLD) -> ClaudeSession:
    """A session in which a rule was given."""
    return (
        ClaudeSession(thread_id=thread_id)
        .prompt("From now on always run make lint before committing.")
        .answer("Understood.")
        .prompt("Thanks, and never force-push here.")
        .answer("Understood, I never will.")
    )


def forked(parent: ClaudeSession, thread_id: str) -> ClaudeSession:
    """A fork as Claude Code writes it: the old records again, with their uuids, under the new session's id."""
    fork = ClaudeSession(thread_id=thread_id, start=parent.start + timedelta(hours=2))
    fork.lines = [dict(copy.deepcopy(line), sessionId=thread_id) for line in parent.lines]
    return fork


def test_a_fork_yields_only_what_it_adds(machine: Machine) -> None:
    """The parent's words are the parent's; the fork's first new prompt is its own."""
    parent = session()
    parent.write(machine.claude)
    forked(parent, NEW).prompt("Always use uv in this project.").answer("I will.").write(machine.claude)
    machine.run()
    assert machine.said(OLD) == [
        "From now on always run make lint before committing",
        "never force-push here",
    ]
    assert machine.said(NEW) == ["Always use uv in this project"]
    assert machine.thread(NEW).prompt_count == 1


def test_a_fork_that_adds_nothing_is_no_session(machine: Machine) -> None:
    """A copy has no prompt of its own, so nothing is extracted from it."""
    parent = session()
    parent.write(machine.claude)
    forked(parent, NEW).write(machine.claude)
    assert machine.run().succeeded == 1
    assert machine.thread(NEW).gate is Gate.NO_USER_MESSAGE


def test_who_owns_a_record_is_decided_once(machine: Machine) -> None:
    """A parent that grows after its fork keeps its words, and a copy that turns up later takes none."""
    parent = session()
    parent.write(machine.claude)
    forked(parent, NEW).prompt("Always use uv in this project.").answer("I will.").write(machine.claude)
    machine.run()
    parent.prompt("Always write docstrings.").answer("I will.").write(machine.claude)
    forked(session(), THIRD).write(machine.claude)
    machine.run()
    assert machine.said(OLD)[-1] == "Always write docstrings"
    assert machine.said(NEW) == ["Always use uv in this project"]
    assert machine.said(THIRD) == []


def test_unchanged_forks_are_not_read_again(machine: Machine) -> None:
    """A second pass opens nothing, and extracts nothing."""
    parent = session()
    parent.write(machine.claude)
    forked(parent, NEW).prompt("Always use uv in this project.").answer("I will.").write(machine.claude)
    machine.run()
    counts = machine.run()
    assert (counts.eligible, counts.claimed) == (0, 0)


@pytest.mark.parametrize("parent_is_there", [True, False])
def test_a_copied_codex_fork_yields_only_what_it_adds(machine: Machine, *, parent_is_there: bool) -> None:
    """The parent's lines, stamped anew with the time of the fork, are not said a second time."""
    parent = (
        CodexSession(thread_id=OLD)
        .prompt("From now on always run make lint before committing.")
        .answer("Understood, lint before every commit.")
    )
    fork = CodexSession(thread_id=NEW, start=parent.start + timedelta(hours=3), meta={"forked_from_id": OLD})
    moment = stamp(fork.start)
    fork.lines += [dict(line, timestamp=moment, ordinal=at) for at, line in enumerate(parent.lines[1:], start=1)]
    fork.prompt("Always use uv in this project.").answer("I will use uv.")
    if parent_is_there:
        parent.write(machine.codex)
    fork.write(machine.codex)
    machine.run()
    assert machine.said(NEW) == ["Always use uv in this project"]
    assert machine.thread(NEW).prompt_count == 1


def test_a_log_that_replaced_a_fork_is_read_whole(machine: Machine) -> None:
    """Where the fork's own part began says nothing about another log under the same name."""
    parent = CodexSession(thread_id=OLD).prompt("From now on always run make lint.").answer("Understood.")
    parent.write(machine.codex)
    fork = CodexSession(thread_id=NEW, start=parent.start + timedelta(hours=3), meta={"forked_from_id": OLD})
    fork.lines += [dict(line, timestamp=stamp(fork.start)) for line in parent.lines[1:]]
    fork.prompt("Always use uv in this project.").answer("I will use uv.").write(machine.codex)
    machine.run()
    other = CodexSession(thread_id=NEW, start=fork.start)
    other.prompt("Never force-push here.").answer("I never will.").write(machine.codex)
    machine.run()
    assert machine.said(NEW) == ["Never force-push here"]
