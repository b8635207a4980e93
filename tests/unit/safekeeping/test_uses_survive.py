"""Usage outlives the database: the journal and the logs tell it again, and a forgetting takes it out of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from kept_state import LONG_ANSWER, START, KeptState
from rollout_logs import CodexSession, thread_id_of

from memory_pipeline.forget.selection import Selector
from memory_pipeline.records import Memory, Usage

LINT = "Always run make lint before you commit"
PUSH = "From now on, never push to main without asking me"


@pytest.fixture
def kept(tmp_path: Path) -> KeptState:
    """Two sessions that are remembered."""
    made = KeptState(tmp_path)
    made.say(1, LINT)
    made.say(2, PUSH)
    made.run()
    made.clock.go_on(3_600)
    return made


def memory_of(kept: KeptState, statement: str) -> Memory:
    """Return the memory that says this."""
    with kept.open() as app:
        (found,) = [one for one in app.store.memories.every() if one.statement == statement]
    return found


def usage_of(kept: KeptState, number: int) -> Usage:
    """Return how often a session was used."""
    with kept.open() as app:
        return app.store.extractions.usage("thread", thread_id_of(number))


def use(kept: KeptState, *used: tuple[str, str]) -> None:
    """Record uses now, as a command does."""
    with kept.open() as app:
        app.record_uses(used, origin="command", distinct=kept.clock.at, at=kept.clock.at)


def cite(kept: KeptState, number: int, *, lines: str, threads: str = "") -> None:
    """Let a session that begins now cite lines of MEMORY.md, and threads."""
    block = f"<oai-mem-citation>\n<citation_entries>\n{lines}</citation_entries>\n"
    block += f"<rollout_ids>\n{threads}\n</rollout_ids>\n</oai-mem-citation>"
    after = timedelta(seconds=kept.clock.at) - timedelta(seconds=START.timestamp())
    session = CodexSession(thread_id=thread_id_of(number), start=START + after)
    session.prompt("Tidy up the cart.").answer(f"{LONG_ANSWER}\n\n{block}").write(kept.codex)
    kept.clock.go_on(86_400)


def line_of(kept: KeptState, words: str) -> str:
    """Return the line of MEMORY.md that says this, as a citation names it."""
    lines = kept.handbook().splitlines()
    (number,) = [number for number, line in enumerate(lines, start=1) if line.startswith("- ") and words in line]
    return f"MEMORY.md:{number}|note=[used]\n"


def lose_the_database(kept: KeptState) -> None:
    """Delete the database."""
    kept.database.unlink()


def lose_it_and_its_backups(kept: KeptState) -> None:
    """Delete the database with all that could take its place."""
    kept.database.unlink()
    for path in sorted(kept.backups.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("lose", [lose_the_database, lose_it_and_its_backups])
def test_uses_outlive_the_database(kept: KeptState, lose: Callable[[KeptState], None]) -> None:
    """Those that were reported, and cited lines of which nothing else could tell what they told. Each counts once."""
    lint = memory_of(kept, LINT)
    use(kept, ("memory", lint.memory_id), ("thread", thread_id_of(2)))
    cite(kept, 3, lines=line_of(kept, PUSH), threads=thread_id_of(1))
    kept.run(force=True)
    before = (memory_of(kept, LINT).usage, memory_of(kept, PUSH).usage, usage_of(kept, 1), usage_of(kept, 2))
    assert [one.count for one in before] == [1, 1, 1, 1]
    lose(kept)
    kept.run(force=True)
    kept.run(force=True)
    assert (memory_of(kept, LINT).usage, memory_of(kept, PUSH).usage, usage_of(kept, 1), usage_of(kept, 2)) == before


def test_what_was_written_down_and_not_counted_is_counted_by_the_next_run(kept: KeptState) -> None:
    """A crash between the journal and the database costs no use."""
    lint = memory_of(kept, LINT)
    use(kept, ("memory", lint.memory_id))
    journal = kept.config.journal_path
    (line,) = journal.read_text(encoding="utf-8").splitlines()
    again = json.loads(line) | {"id": "j_ffffffffffffffffffffffff"}
    journal.write_text(f"{line}\n{json.dumps(again)}\n", encoding="utf-8")
    kept.run()
    assert memory_of(kept, LINT).usage.count == 2


def test_uses_are_no_deeds(kept: KeptState) -> None:
    """They alone give a consolidation nothing to do."""
    before = (kept.config.workspace_path / "MEMORY.md").stat()
    use(kept, ("memory", memory_of(kept, LINT).memory_id))
    assert kept.run().phase2.outcome == "no_changes"
    assert (kept.config.workspace_path / "MEMORY.md").stat().st_mtime_ns == before.st_mtime_ns


def test_a_forgetting_takes_uses_along(kept: KeptState) -> None:
    """Of a memory and of a thread: neither the database nor the journal names them any more."""
    lint, push = memory_of(kept, LINT), memory_of(kept, PUSH)
    use(kept, ("memory", lint.memory_id), ("thread", thread_id_of(2)), ("memory", push.memory_id))
    with kept.open() as app:
        app.forgetting().forget(Selector(memory=lint.memory_id))
        app.forgetting().forget(Selector(thread=thread_id_of(2)))
        assert app.store.extractions.usage("memory", lint.memory_id) == Usage()
        assert app.store.extractions.usage("memory", push.memory_id) == Usage()
        assert app.store.extractions.usage("thread", thread_id_of(2)) == Usage()
    journal = kept.config.journal_path.read_text(encoding="utf-8")
    assert not any(name in journal for name in (lint.memory_id, push.memory_id, thread_id_of(2)))
    kept.run()
    assert usage_of(kept, 2) == Usage()
