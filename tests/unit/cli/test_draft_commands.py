"""The commands about drafts: which session, which drafts, what they decide and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell
from msgspec.structs import replace
from phase2_world import DAY, NOW, entry, learned

from memory_pipeline.records import Draft, Entry, ReviewStatus, Speaker

FIRST = "01a20000-0000-7000-8000-00000000000a"
LATER = "01a20000-0000-7000-8000-00000000000b"
GUESS = learned("The cache is cleared at night.", speaker=Speaker.ASSISTANT)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A command line with two sessions of which nothing passes without a person."""
    made = Shell(tmp_path)
    with made.config.open("a", encoding="utf-8") as config:
        config.write('[review]\nmode = "manual"\n')
    made.world.says(FIRST, entry("Use pnpm for packages."), entry("Squash before merging."), GUESS)
    made.world.says(LATER, entry("Write tests first."), entry("The build is still failing today."))
    yield made
    made.world.close()


def draft(shell: Shell, statement: str) -> Draft:
    """The one draft that says this, as the store has it."""
    (found,) = [one for one in shell.world.store.drafts.every() if one.entry.statement == statement]
    return found


def id_of(shell: Shell, statement: str) -> str:
    """The id of the draft that says this; what is not labelled yet is."""
    shell.call("drafts", "status")
    return draft(shell, statement).entry.entry_id


def told(shell: Shell, *arguments: str) -> Any:
    """The one JSON document of a command that ends well."""
    printed = shell.call("drafts", *arguments, "--json")
    assert printed.code == 0, printed.err
    return json.loads(printed.out)


def test_the_latest_session_is_taken_when_none_is_named_and_that_is_said(shell: Shell) -> None:
    """On standard error for a person, in the document for a program."""
    shell.world.says(LATER, entry("Write tests first."), entry("Name branches after tickets."))
    printed = shell.call("drafts", "list")
    latest = told(shell, "list")["thread_id"]
    assert latest in printed.err
    named = told(shell, "list", "--session", FIRST)
    assert (named["thread_id"], named["taken"]) == (FIRST, "named")
    assert {one["thread_id"] for one in named["drafts"]} == {FIRST}
    assert {one["thread_id"] for one in told(shell, "list", "--all")["drafts"]} == {FIRST, LATER}


def test_the_options_choose_by_label_readiness_and_status(shell: Shell) -> None:
    """One after the other, and together."""
    shell.call("drafts", "reject", "--entry", id_of(shell, "Squash before merging."))

    def chosen(*options: str) -> set[str]:
        return {one["statement"] for one in told(shell, "list", "--all", *options)["drafts"]}

    assert chosen("--label", "ephemeral") == {"The build is still failing today."}
    assert chosen("--readiness", "local-only") == {"The build is still failing today."}
    assert chosen("--review-status", "rejected") == {"Squash before merging."}
    assert chosen("--label", "ephemeral", "--review-status", "rejected") == set()


def test_counts_equal_the_drafts_that_are_listed(shell: Shell) -> None:
    """Of one session, and how many wait in all."""
    status, listed = told(shell, "status", "--session", FIRST), told(shell, "list", "--session", FIRST)
    assert status["drafts"] == len(listed["drafts"]) == 3
    assert sum(status["label_counts"].values()) == 3
    assert status["review_counts"] == {"pending": 3}
    assert status["waiting"] == 5


def test_a_decision_keeps_its_note_and_its_time_and_can_be_taken_back(shell: Shell) -> None:
    """The id may be shortened; undoing leaves the draft as it was."""
    entry_id = id_of(shell, "Use pnpm for packages.")
    before = draft(shell, "Use pnpm for packages.")
    document = told(shell, "approve", "--entry", entry_id[:12], "--note", "seen")
    (decided,) = document["drafts"]
    assert (decided["review_status"], decided["review_note"], decided["decided_by"]) == ("approved", "seen", "person")
    assert decided["reviewed_at"]
    assert [one["note"] for one in decided["review_log"]] == ["seen"]
    assert [one["entry_id"] for one in told(shell, "undo")["undone"]] == [entry_id]
    assert draft(shell, "Use pnpm for packages.") == before


def test_what_its_readiness_forbids_is_approved_by_force_alone(shell: Shell) -> None:
    """The reason is told, and nothing is changed."""
    entry_id = id_of(shell, "The build is still failing today.")
    refused = shell.call("drafts", "approve", "--entry", entry_id)
    assert refused.code == 2
    assert "local-only" in refused.err
    assert "--force" in refused.err
    assert draft(shell, "The build is still failing today.").review_status is ReviewStatus.PENDING
    assert told(shell, "approve", "--entry", entry_id, "--force")["drafts"][0]["review_status"] == "approved"


def test_a_batch_takes_what_is_ready_says_what_it_left_out_and_is_undone_as_a_whole(shell: Shell) -> None:
    """With force it takes all; one undoing takes all of it back."""
    left = id_of(shell, "The build is still failing today.")
    document = told(shell, "approve-batch", "--all", "--note", "week 3")
    assert len(document["drafts"]) == 4
    assert document["left_out"] == {left: "local-only"}
    assert len(told(shell, "undo")["undone"]) == 4
    assert told(shell, "status", "--all")["review_counts"] == {"pending": 5}
    printed = shell.call("drafts", "reject-batch", "--all", "--label", "ephemeral")
    assert "left out: 1 local-only" in printed.err
    assert "Nothing was rejected." in printed.out
    assert len(told(shell, "reject-batch", "--all", "--force")["drafts"]) == 5


def test_a_batch_of_named_drafts_takes_those_alone(shell: Shell) -> None:
    """Whatever their session; separated by commas, shortened, named twice."""
    names = [id_of(shell, "Use pnpm for packages."), id_of(shell, "Write tests first.")]
    document = told(shell, "reject-batch", "--entries", f"{names[0][:14]}, {names[1]},{names[1]}")
    assert {one["entry_id"] for one in document["drafts"]} == set(names)
    assert told(shell, "status", "--all")["review_counts"] == {"rejected": 2, "pending": 3}


@pytest.mark.parametrize("wrong", ["e_ffffffffffff", "e_"])
def test_one_wrong_id_in_a_batch_decides_nothing(shell: Shell, wrong: str) -> None:
    """Unknown, or the beginning of several: it can be typed anew, and nothing was half done."""
    known = id_of(shell, "Use pnpm for packages.")
    refused = shell.call("drafts", "approve-batch", "--entries", f"{known},{wrong}")
    assert refused.code == 2
    assert wrong in refused.err
    assert draft(shell, "Use pnpm for packages.").review_status is ReviewStatus.PENDING


def test_a_withdrawn_draft_is_refused_with_its_reason(shell: Shell) -> None:
    """Its session says something else by now."""
    entry_id = id_of(shell, "Write tests first.")
    shell.world.says(LATER, entry("Name branches after tickets."))
    for command in (["approve"], ["reject"], ["defer"], ["note", "--note", "x"]):
        refused = shell.call("drafts", *command, "--entry", entry_id)
        assert refused.code == 2
        assert "withdrawn" in refused.err


def test_a_draft_of_another_session_than_the_named_one_is_refused(shell: Shell) -> None:
    """So that a shortened id does not reach into a session that was not meant."""
    entry_id = id_of(shell, "Write tests first.")
    refused = shell.call("drafts", "approve", "--entry", entry_id, "--session", FIRST)
    assert refused.code == 2
    assert LATER in refused.err
    assert shell.call("drafts", "approve", "--entry", entry_id, "--session", LATER).code == 0


def test_a_note_decides_nothing_and_is_taken_back_like_a_decision(shell: Shell) -> None:
    """It stands beside the draft, which waits on."""
    entry_id = id_of(shell, "Write tests first.")
    (noted,) = told(shell, "note", "--entry", entry_id, "--note", "ask Kim")["drafts"]
    assert (noted["review_note"], noted["review_status"]) == ("ask Kim", "pending")
    told(shell, "undo", "--entry", entry_id)
    assert draft(shell, "Write tests first.").review_note == ""


def test_undoing_nothing_is_an_error_that_says_so(shell: Shell) -> None:
    """With an entry and without."""
    assert "no decision of yours" in shell.call("drafts", "undo").err
    refused = shell.call("drafts", "undo", "--entry", id_of(shell, "Write tests first."))
    assert refused.code == 2
    assert "no decision of yours about" in refused.err


def test_a_deferred_draft_says_when_it_comes_back(shell: Shell) -> None:
    """After the days that are named."""
    (deferred,) = told(shell, "defer", "--entry", id_of(shell, "Write tests first."), "--days", "3")["drafts"]
    assert deferred["review_status"] == "deferred"
    assert deferred["deferred_until"] > deferred["reviewed_at"]


def test_given_memories_are_compared_with_instead_and_nothing_is_stored(shell: Shell, tmp_path: Path) -> None:
    """Labels, readiness and the nearest are of the file; the stored ones stay."""
    given = tmp_path / "known.json"
    given.write_text(json.dumps({"items": [{"id": "k1", "statement": "Use npm for packages."}]}), encoding="utf-8")
    id_of(shell, "Use pnpm for packages.")
    before = shell.world.store.drafts.every()
    listed = told(shell, "list", "--session", FIRST, "--memory", str(given))["drafts"]
    (conflict,) = [one for one in listed if one["label"] == "conflict"]
    assert (conflict["statement"], conflict["nearest"]) == ("Use pnpm for packages.", ["k1"])
    assert conflict["readiness"] == "needs-conflict-review"
    counted = told(shell, "status", "--session", FIRST, "--memory", str(given))
    assert counted["label_counts"] == {"new": 2, "conflict": 1}
    assert shell.world.store.drafts.every() == before


def test_what_left_the_queue_is_listed(shell: Shell) -> None:
    """Of all sessions, since the notice names none."""
    with shell.config.open("a", encoding="utf-8") as config:
        config.write("max_pending = 2\n")
    assert len(told(shell, "list", "--dropped")["drafts"]) == 3
    assert told(shell, "status", "--all")["dropped"] == 3


def test_review_without_a_terminal_names_the_commands_that_do(shell: Shell) -> None:
    """And ends as wrong usage."""
    refused = shell.call("drafts", "review")
    assert refused.code == 2
    assert "drafts approve --entry" in refused.err


def test_the_self_test_holds(shell: Shell) -> None:
    """Every built-in case, and it leaves nothing in the person's state."""
    before = shell.world.store.drafts.every()
    document = told(shell, "self-test")
    assert document["ok"] is True
    assert len(document["checks"]) > 20
    assert shell.world.store.drafts.every() == before


def test_forgotten_words_are_not_noted(shell: Shell) -> None:
    """What was forgotten for good does not come back through a note."""
    shell.call("forget", "--match", "Zanzibar", "--yes")
    refused = shell.call("drafts", "approve", "--entry", id_of(shell, "Write tests first."), "--note", "see Zanzibar")
    assert refused.code == 2
    assert "forgotten" in refused.err
    assert draft(shell, "Write tests first.").review_status is ReviewStatus.PENDING


def test_a_run_and_the_status_say_how_many_wait(shell: Shell) -> None:
    """In one line each, with the command that shows them."""
    ran = shell.call("run", "--phase2")
    assert "5 drafts wait for you" in ran.out
    assert "drafts review" in ran.out
    assert "5 drafts wait for you" in shell.call("status").out
    assert json.loads(shell.call("status", "--json").out)["drafts"] == {"waiting": 5}


def hostile() -> Entry:
    """An entry whose statement would turn a terminal's text round."""
    return replace(entry("Use pnpm.", at=NOW - 3 * DAY), statement="Use \u202epnpm\u200b.")


def test_hidden_characters_show_in_lists(shell: Shell) -> None:
    """As their code, so that nothing looks like something else."""
    shell.world.says(LATER, hostile())
    printed = shell.call("drafts", "list", "--session", LATER, columns=200)
    assert "Use ⟨U+202E⟩pnpm⟨U+200B⟩." in printed.out


def test_export_prints_what_the_draft_file_holds(shell: Shell, tmp_path: Path) -> None:
    """In its shape; written elsewhere it is the same; with given memories it is compared with those."""
    entry_id = id_of(shell, "Use pnpm for packages.")
    shell.call("drafts", "approve", "--entry", entry_id, "--note", "yes")
    document = told(shell, "export", "--session", FIRST)
    written = json.loads((tmp_path / "state" / "memory-drafts" / f"{FIRST}.json").read_bytes())
    assert document == written
    assert shell.call("drafts", "export", "--session", FIRST, "--output", str(tmp_path / "out.json")).code == 0
    assert json.loads((tmp_path / "out.json").read_bytes()) == written
    known = tmp_path / "known.json"
    known.write_text('["Use pnpm for packages."]', encoding="utf-8")
    compared = told(shell, "export", "--session", FIRST, "--memory", str(known))
    assert compared["memory_input"] == str(known)
    assert compared["label_counts"]["confirm"] == 1
    refused = shell.call("drafts", "export", "--session", FIRST, "--output", str(tmp_path / "absent" / "out.json"))
    assert refused.code == 2


def test_the_sync_list_follows_each_decision(shell: Shell, tmp_path: Path) -> None:
    """It is there while something is approved and ready, on disk as it is printed, and goes with the undoing."""
    path = tmp_path / "state" / "sync-lists" / f"{FIRST}.json"
    assert told(shell, "sync-list", "--session", FIRST) is None
    told(shell, "approve", "--entry", id_of(shell, "Use pnpm for packages."))
    listed = told(shell, "sync-list", "--session", FIRST)
    assert [one["statement"] for one in listed["entries"]] == ["Use pnpm for packages."]
    assert json.loads(path.read_bytes()) == listed
    told(shell, "undo")
    assert told(shell, "sync-list", "--session", FIRST) is None
    assert not path.exists()


def test_a_distilled_proposal_goes_through_the_same_commands(shell: Shell) -> None:
    """Listed, exported with its evidence, approved, carried out by a run, undone with the history of the memories."""
    shell.world.says(FIRST, entry("The web build needs Node 20 and pnpm.", at=NOW - 9 * DAY))
    shell.world.says(LATER, entry("The web build needs Node 20 and the pnpm tool.", at=NOW - DAY))
    shell.world.run()
    before = shell.world.told()
    distilled = json.loads(shell.call("memory", "distill", "--json").out)
    assert (distilled["looked_at"], distilled["proposed"]) == (2, 1)
    (proposal,) = distilled["proposals"]
    assert "proposals: 1, new: 0" in shell.call("memory", "distill").out
    (listed,) = told(shell, "list", "--session", "memories")["drafts"]
    assert listed["merges"] == [proposal["keeps"], *proposal["gives_way"]]
    assert len(listed["evidence"]) == 2
    (approved,) = told(shell, "approve", "--entry", proposal["entry_id"][:10], "--session", "memories")["drafts"]
    assert approved["review_status"] == "approved"
    shell.call("run", "--phase2")
    assert len(shell.world.told()) == 1
    assert shell.call("memory", "lint").code == 0
    refused = shell.call("drafts", "undo", "--entry", proposal["entry_id"])
    assert refused.code == 2
    assert "memory undo" in refused.err
    assert shell.call("memory", "undo").code == 0
    assert shell.world.told() == before
    assert told(shell, "list", "--session", "memories")["drafts"][0]["carried_out"]
