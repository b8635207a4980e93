"""What a person takes back is out of the very next answer, long before a consolidation writes that down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import call
from kept_state import KeptState
from rollout_logs import thread_id_of

from memory_pipeline.app import App
from memory_pipeline.mcp.answers import HANDBOOK_URI, SUMMARY_URI, Answers
from memory_pipeline.recall.context import compose
from memory_pipeline.recall.search import search
from memory_pipeline.records import MemoryStatus
from memory_pipeline.settings import GENERATE

SHOP = "project:/home/sam/shop"
RULE = "Always run make lint before you commit"
OTHER = "Never push to main by yourself"


@pytest.fixture
def state(tmp_path: Path) -> KeptState:
    """A state that has learned one rule in each of two sessions."""
    kept = KeptState(tmp_path)
    kept.say(1, f"{RULE}.")
    kept.say(2, f"{OTHER}.")
    kept.run()
    return kept


def switch(state: KeptState, number: int, *, on: bool | None) -> None:
    """Switch a session, as `threads disable` and `threads enable` do."""
    with state.open() as app:
        app.settings().set_flags(thread_id_of(number), {GENERATE: on})
        app.regate()


def given(app: App) -> tuple[set[str], dict[str, int]]:
    """Return what a new task is given, and of how much more it is told."""
    found = compose(
        app.store.recalled, scope=SHOP, task="lint commit push", budget_tokens=1_000, now=app.clock.now(), command=str
    )
    return (set(), {}) if found is None else ({one.statement for one in found.told}, dict(found.not_shown))


def found_by_search(app: App, *statuses: MemoryStatus) -> set[str]:
    """Return what a search for words of both rules finds."""
    hits = search(app.store, "lint push", now=app.clock.now(), statuses=statuses or (MemoryStatus.ACTIVE,))
    return {one.memory.statement for one in hits}


def test_a_session_that_is_switched_off_is_out_of_every_answer_at_once(state: KeptState) -> None:
    """Nothing of it is given, counted or found any more, though the memory itself is as the last run left it."""
    with state.open() as app:
        assert given(app) == ({RULE, OTHER}, {})
    switch(state, 1, on=False)
    with state.open() as app:
        assert given(app) == ({OTHER}, {})
        assert found_by_search(app) == {OTHER}
        assert found_by_search(app, *MemoryStatus) == {RULE, OTHER}
    assert RULE in state.statements()


def test_an_agent_is_told_nothing_of_it(state: KeptState) -> None:
    """Neither by its tools nor in the handbook, and what it reads by an id says that this is retired."""
    switch(state, 1, on=False)
    server = Answers(state.config, folder="/home/sam/shop", clock=state.clock)
    for tool, asked in (("search_memories", {"query": "lint push"}), ("memory_context", {"task": "lint push"})):
        text, _ = server.call(tool, asked)
        assert (OTHER in text, RULE in text) == (True, False)
    handbook = server.read_resource(HANDBOOK_URI)
    assert (OTHER in handbook, RULE in handbook) == (True, False)
    with state.open() as app:
        (memory,) = (one for one in app.store.memories.every() if one.statement == RULE)
    text, _ = server.call("read_memory", {"memory_id": memory.memory_id})
    assert '"status":"retired"' in text.replace(" ", "").replace('\\"', '"')


def test_the_summary_for_agents_is_told_without_it(state: KeptState) -> None:
    """As it would be rendered now; while nothing is switched off, that is what was published."""
    everywhere = "In all my projects, always write commit messages in English"
    state.say(3, f"{everywhere}.")
    state.run()
    server = Answers(state.config, folder="/home/sam/shop", clock=state.clock)
    before = server.read_resource(SUMMARY_URI)
    published = (state.config.workspace_path / "memory_summary.md").read_text(encoding="utf-8")
    assert "commit messages in English" in published
    assert published in before
    switch(state, 3, on=False)
    assert "commit messages in English" not in server.read_resource(SUMMARY_URI)


def test_switched_on_again_it_is_told_again_at_once(state: KeptState) -> None:
    """As long as no consolidation came between, nothing has to be learned anew."""
    switch(state, 1, on=False)
    switch(state, 1, on=None)
    with state.open() as app:
        assert given(app) == ({RULE, OTHER}, {})
        assert found_by_search(app) == {RULE, OTHER}


def test_what_another_session_says_too_stays(state: KeptState) -> None:
    """A memory goes with the last thing that it rests on."""
    state.say(3, f"{RULE}.")
    state.run()
    switch(state, 1, on=False)
    with state.open() as app:
        assert given(app) == ({RULE, OTHER}, {})
    switch(state, 3, on=False)
    with state.open() as app:
        assert given(app) == ({OTHER}, {})


def test_a_project_of_which_no_more_is_to_be_learned_keeps_what_it_has(state: KeptState) -> None:
    """Generation off for a project withdraws nothing: that is what the same switch of one session does."""
    with state.open() as app:
        app.settings().set(GENERATE, False, scope=SHOP)
        app.regate()
        assert given(app) == ({RULE, OTHER}, {})


def test_a_statement_that_was_rejected_after_all_is_not_told(state: KeptState) -> None:
    """A person's decision counts like a switch."""
    with state.open() as app:
        (draft,) = (one for one in app.store.drafts.every() if one.entry.statement == RULE)
        app.review().reject([draft.entry])
        assert given(app) == ({OTHER}, {})
        assert found_by_search(app) == {OTHER}


def asked(state: KeptState, *words: str) -> Any:
    """Return the document that a command prints."""
    config = state.root / "config.toml"
    homes = "".join(f'[sources.{name}]\nhome = "{state.root / name}"\n' for name in ("codex", "claude"))
    config.write_text(f'state_dir = "{state.state}"\n{homes}', encoding="utf-8")
    return call("--config", str(config), *words, "--json").json()


def test_every_command_tells_its_memory_as_one_that_is_not_told_any_more(state: KeptState) -> None:
    """The list and what is chosen from it, a memory alone, why it was told, a search of all, and the counts."""
    switch(state, 1, on=False)
    told = {one["statement"]: one["status"] for one in asked(state, "memory", "list")}
    assert told == {RULE: "retired", OTHER: "active"}
    assert [one["statement"] for one in asked(state, "memory", "list", "--status", "active")] == [OTHER]
    (retired,) = asked(state, "memory", "list", "--status", "retired")
    assert asked(state, "memory", "show", retired["memory_id"])["status"] == "retired"
    (explained,) = asked(state, "memory", "why", retired["memory_id"])["memories"]
    assert (explained["status"], [one["stands"] for one in explained["entries"]]) == ("retired", [False])
    found = {one["statement"]: one["status"] for one in asked(state, "search", "lint push", "--all")}
    assert found == told
    assert asked(state, "status")["memories"] == {"active": 1, "retired": 1}


def test_no_merge_is_proposed_with_what_is_not_told_any_more(state: KeptState) -> None:
    """It could not be carried out, and would give what is told away for it."""
    with state.open() as app:
        assert app.distill().looked_at == 2
    switch(state, 1, on=False)
    with state.open() as app:
        assert app.distill().looked_at == 1
