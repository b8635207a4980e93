"""A collaborator may add notes; missing, slow, broken or talkative, it blocks nothing, and it never decides."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import wait_until
from msgspec.structs import replace
from phase2_world import NOW, World, entry

from memory_pipeline.config import Config, ReviewConfig, parse_config
from memory_pipeline.errors import ConfigError, InterruptedRunError
from memory_pipeline.records import Draft, ReviewStatus
from memory_pipeline.review.collaborator import CollaboratorFaultError, ask_collaborator, read_remarks, run_bounded
from memory_pipeline.review.files import FiledReview
from memory_pipeline.review.run import Review
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones


def command(code: str) -> str:
    """A command that runs some Python."""
    return shlex.join([sys.executable, "-I", "-c", code])


def configured(world: World, collaborator: str, **review: object) -> Config:
    """The configuration with a collaborator; nothing passes by itself."""
    made = ReviewConfig(mode="manual", collaborator=collaborator, **review)  # type: ignore[arg-type]
    return replace(world.config, review=made)


def waiting(world: World, config: Config, *statements: str) -> Sequence[Draft]:
    """Drafts that wait."""
    world.says("thread-a", *(entry(statement) for statement in statements))
    Review(config, world.store, world.clock).run_once()
    return world.store.drafts.queue()


ECHOES = (
    "import json, os, sys; d = json.load(sys.stdin);"
    "print(json.dumps({'notes': [d['draft']['statement'], *sorted(os.environ)],"
    "'evidence': [d['evidence'][0]['quote']], 'review_status': 'approved'}))"
)


def test_it_adds_notes_and_evidence_and_decides_nothing(world: World) -> None:
    """It learns the draft and nothing of our keys; what it says stands in the file as its own."""
    config = configured(world, command(ECHOES))
    waiting(world, config, "Use pnpm.")
    environ = {"PATH": os.defpath, "OPENAI_API_KEY": "sk-fake", "HOME": "/home/sam", "MEMORY_PIPELINE_CONFIG": "x"}
    counts = FiledReview(config, world.store, world.clock, environ=environ).run_once()
    assert counts.problems == ()
    (draft,) = world.store.drafts.queue()
    assert draft.review_status is ReviewStatus.PENDING
    assert draft.collaborator_notes[0] == "Use pnpm."
    assert set(draft.collaborator_notes[1:]) <= {"HOME", "PATH", "LC_CTYPE"}
    assert draft.collaborator_evidence == ("Use pnpm.",)
    document = json.loads((config.draft_files_path / "thread-a.json").read_bytes())
    (told,) = document["draft_entries"]
    assert told["collaborator"]["notes"][0] == "Use pnpm."
    assert told["review_note"] == ""


def test_it_is_not_asked_twice_and_only_about_what_waits(world: World, tmp_path: Path) -> None:
    """Also when it had nothing to say, or failed; at most so many in one run."""
    asked = tmp_path / "asked"
    code = f"open({str(asked)!r}, 'a').write('x'); import sys; sys.exit(3)"
    config = configured(world, command(code), collaborator_max_drafts=2)
    drafts = waiting(world, config, "Use pnpm.", "Squash before merging.", "Keep the changelog.", "Tidy up.")
    Review(config, world.store, world.clock).approve([drafts[0].entry])
    for wanted in (2, 3, 3):
        ask_collaborator(config, world.store, environ={})
        assert len(asked.read_text()) == wanted


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import time; time.sleep(60)", "did not end"),
        ("print('hello')", "no JSON"),
        ("print([1])", "no JSON object"),
        ("print('{\"notes\": [1]}')", "list of texts"),
        ("print('x' * 10_000_000)", "more than 64 KiB"),
        ("import sys; sys.exit(7)", "exit code 7"),
    ],
)
def test_a_fault_of_it_is_told_and_blocks_nothing(world: World, code: str, told: str) -> None:
    """The draft waits as before."""
    config = configured(world, command(code), collaborator_timeout_seconds=1)
    waiting(world, config, "Use pnpm.")
    counts = FiledReview(config, world.store, world.clock, environ={}).run_once()
    (problem,) = counts.problems
    assert told in problem
    assert counts.pending == 1
    assert (config.draft_files_path / "thread-a.json").exists()


def test_a_missing_one_is_told_once_and_asked_again_when_it_is_there(world: World) -> None:
    """Not once for every draft."""
    config = configured(world, "no-such-program --now")
    waiting(world, config, "Use pnpm.", "Squash before merging.")
    (problem,) = ask_collaborator(config, world.store, environ={"PATH": os.defpath})
    assert "no such program" in problem
    ask_collaborator(configured(world, command('print(\'{"notes": ["hm"]}\')')), world.store, environ={})
    assert [draft.collaborator_notes for draft in world.store.drafts.queue()] == [("hm",), ("hm",)]


def test_it_is_given_up_after_three_faults_in_a_row(world: World) -> None:
    """A run is not held up by each of many drafts."""
    config = configured(world, command("import sys; sys.exit(1)"))
    waiting(world, config, *(f"Rule number {number}." for number in range(5)))
    assert len(ask_collaborator(config, world.store, environ={})) == 3


def test_its_children_are_ended_with_it(tmp_path: Path) -> None:
    """A child that holds its output open, and outlives it, is gone at the time limit."""
    pid = tmp_path / "pid"
    child = "import time; time.sleep(120)"
    code = (
        f"import subprocess, sys; c = subprocess.Popen([sys.executable, '-I', '-c', {child!r}]);"
        f"open({str(pid)!r}, 'w').write(str(c.pid))"
    )
    with pytest.raises(CollaboratorFaultError):
        run_bounded(shlex.split(command(code)), b"{}", timeout_seconds=3, environ={}, folder=tmp_path)
    wait_until(lambda: not is_running(int(pid.read_text())))


def is_running(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_shell_reads_its_words(world: World, tmp_path: Path) -> None:
    """What a shell would do with them is not done."""
    config = configured(world, f"echo '{{}}' > {tmp_path / 'made'}; touch {tmp_path / 'made'}")
    waiting(world, config, "Use pnpm.")
    ask_collaborator(config, world.store, environ={"PATH": os.defpath})
    assert not (tmp_path / "made").exists()


def test_what_it_says_is_bounded_masked_and_one_line() -> None:
    """And holds no word that was forgotten."""
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value="Zanzibar")], now=NOW)
    said = {
        "notes": ["# a\nb\u202e " + "ghp_" + "0" * 36, "in Zanzibar", "", *["n" * 900] * 9],
        "evidence": [],
        "review_status": "approved",
    }
    remarks = read_remarks(json.dumps(said).encode(), stones)
    assert remarks.notes[0] == "a b [redacted:github-token]"
    assert len(remarks.notes) == 5
    assert max(map(len, remarks.notes)) <= 300
    assert read_remarks(b" \n", stones).notes == ()


def test_a_stopped_run_does_not_wait_for_it(world: World) -> None:
    """It is cut off at once, which ends the run as one that was not through; and asked again next time."""
    config = configured(world, command("import time; time.sleep(60)"), collaborator_timeout_seconds=60)
    waiting(world, config, "Use pnpm.")
    for answers in (iter([False, False, False]), iter([])):
        with pytest.raises(InterruptedRunError):
            ask_collaborator(config, world.store, environ={}, should_stop=lambda answers=answers: next(answers, True))
    assert len(world.store.drafts.unasked(limit=9)) == 1


def test_a_command_line_that_can_not_be_split_is_refused(tmp_path: Path) -> None:
    """With the key that holds it."""
    with pytest.raises(ConfigError, match=r"review\.collaborator"):
        parse_config('[review]\ncollaborator = "say \'hello"', tmp_path / "config.toml")
