"""Tasks of other programs: from their submission to a memory, and out again."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from served import Served, code_of
from submitted import ENDED, RESULT, task

from memory_pipeline.app import App
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import EntryDraft, Evidence, ExtractionAnswer, TaskDraft
from memory_pipeline.statements import statement_fault

RUN = "/users/me/auto-memory/run"
SECRET = "ghp_" + "a1B2c3D4e5" * 4
LOG = "/users/me/auto-memory-log"
PROJECT = "project:example.org/sam/shop"
OTHER_RESULT = "Uploads go through a queue now, which tries each of them until the server has it. " * 4


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A server whose user ann has generation and use switched on."""
    made = Served(tmp_path)
    made.ask(
        "PUT", "/users/me/auto-memory-settings", user="ann", json={"generate_memories": True, "use_memories": True}
    )
    return made


def _submit(served: Served, *args: Any, **fields: Any) -> dict[str, Any]:
    answer = served.ask("POST", "/tasks", user="ann", json=task(*args, **fields))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["task"]
    return found


def _run(served: Served, **options: Any) -> dict[str, Any]:
    answer = served.ask("POST", RUN, user="ann", json=options)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _memories(served: Served, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.ask("GET", "/memories", user="ann", params=query).json()["memories"]
    return found


def test_a_completed_task_becomes_one_memory_of_its_project(served: Served) -> None:
    """What came of it is remembered under its goal, for its project alone, with evidence that is read back."""
    _submit(served, result=f"{RESULT}\n\nAlways use pnpm everywhere, in all projects. Never use npm again.")
    assert _run(served)["phase1"]["succeeded"] == 1
    (memory,) = _memories(served)
    assert (memory["scope"], memory["kind"], memory["status"]) == (PROJECT, "knowledge", "active")
    assert memory["statement"].startswith("The upload client retries three times")
    assert memory["condition"] == "the task is: Let uploads be tried again when the server does not answer"
    details = served.ask("GET", f"/memories/{memory['memory_id']}", user="ann").json()
    assert [step["operation"] for step in details["history"]] == ["add"]
    (evidence,) = details["entries"][0]["evidence"]
    assert (evidence["state"], evidence["speaker"], evidence["rollout_path"]) == ("verified", "tool", "journal.jsonl")
    (row,) = served.ask("GET", LOG, user="ann").json()["tasks"]
    assert (row["task_id"], row["state"], row["memories"]) == ("t1", "done", [memory["memory_id"]])


@pytest.mark.parametrize(
    ("fields", "gate", "forced"),
    [
        ({"status": "running", "finished_at": None}, "not_completed", "not_completed"),
        ({"status": "failed"}, "not_completed", "not_completed"),
        ({"status": "cancelled"}, "not_completed", "not_completed"),
        ({"outside_context_used": True}, "external_context", "external_context"),
        ({"parent_task_id": "t0"}, "external_context", "external_context"),
        ({"continued_from": "t0"}, "external_context", "external_context"),
        ({"started_at": (ENDED - timedelta(seconds=29)).isoformat()}, "too_short", None),
        ({"result": "x" * 199}, "too_short", None),
        ({"ended": ENDED + timedelta(minutes=50)}, "too_recent", None),
        ({"ended": ENDED - timedelta(days=31)}, "too_old", "too_old"),
    ],
)
def test_each_gate_holds_a_task_back(served: Served, fields: dict[str, Any], gate: str, forced: str | None) -> None:
    """Duration and length must both be enough; ``force`` passes over idle, duration and length alone."""
    assert _submit(served, **fields)["gate"] == gate
    counts = _run(served)["phase1"]
    assert (counts["claimed"], counts["skipped"]) == (0, {gate: 1})
    counts = _run(served, force=True)["phase1"]
    assert (counts["claimed"], counts["skipped"]) == ((1, {}) if forced is None else (0, {forced: 1}))


def test_force_passes_over_no_switch(served: Served) -> None:
    """A task whose generation is off is extracted by no run, however it is asked for."""
    _submit(served)
    served.ask("POST", "/tasks/t1/auto-memory-flags", user="ann", json={"generate": False})
    assert _run(served, force=True)["phase1"]["skipped"] == {"disabled": 1}


def test_withheld_results_of_others_teach_nothing(served: Served) -> None:
    """Where external context doesn't exclude a task, its result is kept from extraction all the same."""
    served.ask("PUT", "/users/me/auto-memory-settings", user="ann", json={"disable_on_external_context": False})
    _submit(served, outside_context_used=True)
    assert _run(served)["phase1"]["no_output"] == 1
    assert _memories(served) == []


def test_the_same_task_again_is_no_news(served: Served) -> None:
    """Submitting it twice writes one line, before and after it was extracted."""
    assert served.ask("POST", "/tasks", user="ann", json=task()).json()["is_new"]
    journal = served.user("ann").config.journal_path
    before = journal.read_bytes()
    assert not served.ask("POST", "/tasks", user="ann", json=task()).json()["is_new"]
    _run(served)
    assert not served.ask("POST", "/tasks", user="ann", json=task()).json()["is_new"]
    assert journal.read_bytes() == before
    assert _run(served)["phase1"]["claimed"] == 0


def test_a_changed_task_says_what_it_says_now(served: Served) -> None:
    """The task has one row and one memory; the memory says the new result and keeps its id and history."""
    _submit(served)
    _run(served)
    (before,) = _memories(served)
    _submit(served, result=OTHER_RESULT)
    _run(served)
    (after,) = _memories(served)
    assert after["memory_id"] == before["memory_id"]
    assert after["statement"].startswith("Uploads go through a queue")
    assert served.ask("GET", LOG, user="ann").json()["total"] == 1


def test_a_task_that_ends_is_the_same_task(served: Served) -> None:
    """What was submitted while it ran is extracted once it is completed."""
    _submit(served, status="running", finished_at=None, result="")
    assert _submit(served)["gate"] is None
    assert _run(served)["phase1"]["succeeded"] == 1


@pytest.mark.parametrize("status", ["failed", "cancelled", "running"])
def test_a_task_that_is_not_completed_after_all_teaches_nothing(served: Served, status: str) -> None:
    """Its memory is no longer told while the task says so, and told again once it is completed."""
    _submit(served)
    _run(served)
    (memory,) = _memories(served, status="active")
    assert _submit(served, status=status)["gate"] == "not_completed"
    _run(served)
    assert _memories(served, status="active") == []
    assert served.ask("GET", "/context", user="ann", params={"project": PROJECT}).json()["without"] is not None
    _submit(served)
    _run(served)
    (again,) = _memories(served, status="active")
    assert again["statement"] == memory["statement"]


@pytest.mark.parametrize(
    "goal", ["Let uploads be tried again when the server does not answer", "LET UPLOADS be tried " * 40]
)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_newer_result_for_the_same_goal_supersedes_the_older(served: Served, goal: str, newest_first: bool) -> None:
    """Whichever is submitted first: the newer result is told, the older one is linked to it and kept."""
    older = {"number": 1, "goal": goal, "ended": ENDED - timedelta(days=1)}
    newer = {"number": 2, "goal": goal, "result": OTHER_RESULT}
    for fields in (newer, older) if newest_first else (older, newer):
        _submit(served, **fields)
        _run(served)
    (told,) = _memories(served, status="active")
    (gone,) = _memories(served, status="superseded")
    assert (told["threads"], gone["threads"]) == (["task-t2"], ["task-t1"])
    assert gone["superseded_by"] == told["memory_id"]
    assert told["supersedes"] == [gone["memory_id"]]
    with served.open("ann") as app:
        assert app.lint() == []


@pytest.mark.parametrize("fields", [{"project": "another"}, {"goal": "Let downloads be tried again"}])
def test_another_goal_or_project_supersedes_nothing(served: Served, fields: dict[str, Any]) -> None:
    """Only a result for the same goal in the same project takes a memory's place."""
    _submit(served)
    _submit(served, 2, result=OTHER_RESULT, **fields)
    _run(served)
    assert len(_memories(served, status="active")) == 2


def test_goals_that_only_begin_alike_are_two(served: Served) -> None:
    """Long goals are told apart by more than what is shown of them."""
    begin = "Bring the upload client in line with what the server asks for since the new version, " * 3
    _submit(served, goal=f"{begin} first part")
    _submit(served, 2, goal=f"{begin} second part", result=OTHER_RESULT)
    _run(served)
    assert len(_memories(served, status="active")) == 2


def test_contradicting_results_of_one_goal_need_no_person(served: Served) -> None:
    """A result that turns the older one round is no conflict to be decided: it is newer."""
    _submit(
        served, ended=ENDED - timedelta(days=1), result="The tests of the client are run with npm test. " + "ok " * 80
    )
    _run(served)
    _submit(served, 2, result="The tests of the client are run with pnpm test. " + "ok " * 80)
    assert _run(served)["drafts_waiting"] == 0
    (told,) = _memories(served, status="active")
    assert "pnpm" in told["statement"]


def test_should_the_newer_result_go_the_older_is_told_again(served: Served) -> None:
    """Switched off, the newer task takes nothing with it: the result before it stands again."""
    _submit(served, ended=ENDED - timedelta(days=1))
    _submit(served, 2, result=OTHER_RESULT)
    _run(served)
    served.ask("POST", "/tasks/t2/auto-memory-flags", user="ann", json={"generate": False})
    _run(served)
    (told,) = _memories(served, status="active")
    assert told["threads"] == ["task-t1"]


def test_secrets_are_masked_before_the_journal(served: Served) -> None:
    """What looks like a key reaches no byte of the state."""
    key = "ghp_" + "a1B2" * 9
    _submit(served, goal=f"Use {key} to upload", result=f"{RESULT} It was called with {key}.")
    _run(served)
    found = [
        path for path in served.config.users_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/tasks", task(id=SECRET)),
        ("/tasks", task(parent_task_id=SECRET)),
        ("/tasks", task(continued_from=SECRET)),
        ("/tasks", task(project=f"shop {SECRET}")),
        ("/tasks/t1/context", {"project": f"shop {SECRET}"}),
        (f"/tasks/{SECRET}/context", {"project": "shop"}),
        (f"/tasks/{SECRET}/auto-memory-flags", {"use": False}),
    ],
)
def test_no_secret_is_kept_as_a_name(served: Served, path: str, body: dict[str, Any]) -> None:
    """A name can't be masked and stay the name of one thing: it is refused, and nothing of it is written."""
    answer = served.ask("POST", path, user="ann", json=body)
    assert (answer.status_code, code_of(answer)) == (422, "refused")
    assert SECRET not in answer.text
    kept = [one for one in served.config.users_path.rglob("*") if one.is_file()]
    assert kept
    assert not [one for one in kept if SECRET.encode() in one.read_bytes()]


@pytest.mark.parametrize(
    "name",
    [
        "build-17",
        "0198c0de-3f6a-7abc-9d21-1f2e3d4c5b6a",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ],
)
def test_ids_as_programs_make_them_are_names(served: Served, name: str) -> None:
    """A number, a uuid, a hash and a sortable id are no secrets."""
    assert _submit(served, id=name)["task_id"] == name


def test_a_journal_that_can_not_be_written_is_told_as_such(served: Served) -> None:
    """A full disk, or a folder in its place, is no fault to report: the caller may try again."""
    journal = served.user("ann").config.journal_path
    journal.unlink(missing_ok=True)
    journal.mkdir()
    answer = served.ask("POST", "/tasks", user="ann", json=task())
    assert (answer.status_code, code_of(answer)) == (503, "unavailable")
    assert str(journal) not in answer.text
    journal.rmdir()
    assert _submit(served)["task_id"] == "t1"


def test_a_rebuilt_database_knows_the_tasks_again(served: Served) -> None:
    """Without the database, the journal has them, and the next run remembers what they said."""
    _submit(served)
    _run(served)
    (before,) = _memories(served)
    folder = served.config.users_path / "ann"
    for name in ("memory.db", "baseline", "backups", "memories"):
        path = folder / name
        if path.is_dir():
            path.rename(folder / f"old-{name}")
        else:
            path.unlink()
    _run(served)
    (after,) = _memories(served)
    assert (after["memory_id"], after["statement"]) == (before["memory_id"], before["statement"])


@pytest.mark.parametrize("what", ["thread", "memory", "scope", "match"])
def test_forgetting_a_task_reaches_the_journal(served: Served, what: str) -> None:
    """Forgotten as a whole, by its memory, its project or its words, it is in no byte, and can't be submitted again."""
    _submit(served)
    _submit(
        served, 2, project="another", goal="Paint the shed", result="The shed is green, inside as well as outside. " * 6
    )
    _run(served)
    memory = next(one for one in _memories(served) if one["scope"] == PROJECT)
    named = {"thread": "task-t1", "memory": memory["memory_id"], "scope": PROJECT, "match": "upload client retries"}
    plan = served.ask("POST", "/forget", user="ann", json={what: named[what]}).json()
    assert (plan["dry_run"], plan["counts"]["journal_lines"], plan["counts"]["memories"]) == (True, 1, 1)
    assert len(_memories(served)) == 2
    done = served.ask("POST", "/forget", user="ann", json={what: named[what], "dry_run": False}).json()
    assert done["counts"] == plan["counts"]
    assert done["receipt"]["is_clean"]
    held = [
        path for path in served.config.users_path.rglob("*") if path.is_file() and b"three times" in path.read_bytes()
    ]
    assert held == []
    again = served.ask("POST", "/tasks", user="ann", json=task())
    assert (again.status_code, code_of(again)) == (409, "forgotten")
    _run(served, force=True)
    assert [one["scope"] for one in _memories(served)] == ["project:another"]


def test_the_longest_task_fits_however_it_is_escaped(served: Served) -> None:
    """A goal and a result as long as they may be, of characters that take twelve bytes each, are taken in."""
    body = json.dumps(
        task(goal="\U0001f33f a" + "\U0001f33f" * 7_997, result="\U0001f33f" * 200_000), ensure_ascii=True
    )
    answer = served.ask("POST", "/tasks", user="ann", content=body.encode())
    assert answer.status_code == 200, answer.text[:200]


def test_a_stamp_in_the_future_keeps_no_task_waiting_for_years(served: Served) -> None:
    """A program whose clock runs ahead is believed as far as ours."""
    row = _submit(served, ended=ENDED + timedelta(days=4_000))
    assert row["finished_at"].startswith("2026-09-03")
    served.clock.go_on(3_600)
    assert _run(served)["phase1"]["succeeded"] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "../x"},
        {"id": ""},
        {"id": "a" * 101},
        {"goal": ""},
        {"goal": " \u200b"},
        {"project": "   "},
        {"finished_at": None},
        {"finished_at": "2026-09-03T07:00:00+00:00"},
        {"finished_at": "2026-09-03T08:00:00"},
        {"started_at": 5},
        {"started_at": "0110-06-12T01:21:28Z"},
        {"started_at": "0001-01-01T00:00:00+03:00"},
        {"finished_at": "9999-12-31T23:59:59-03:00"},
        {"status": "done"},
        {"result": "x" * 200_001},
        {"outside_context_used": "no"},
        {"secret": 1},
    ],
)
def test_a_task_that_makes_no_sense_is_refused(served: Served, fields: dict[str, Any]) -> None:
    """Nothing of it is written."""
    answer = served.ask("POST", "/tasks", user="ann", json=task(**fields))
    assert answer.status_code == 422, answer.text
    assert code_of(answer) in ("unfit", "refused")
    assert served.ask("GET", LOG, user="ann").json()["total"] == 0


@pytest.mark.parametrize(
    ("written", "scope"),
    [
        ("git@example.org:sam/shop.git", PROJECT),
        ("https://sam:x@Example.org:443/sam/shop", PROJECT),
        (PROJECT, PROJECT),
        ("example.org/sam/shop", PROJECT),
        ("/home/sam/shop/", "project:/home/sam/shop"),
        ("the shop\n# heading", "project:the shop # heading"),
    ],
)
def test_a_project_has_one_key_however_it_is_written(served: Served, written: str, scope: str) -> None:
    """Remotes, folders and names lead to the scope that sessions of the same project have."""
    assert _submit(served, project=written)["scope"] == scope


def test_a_task_is_given_its_context_once(served: Served) -> None:
    """The first turn of a task gets what is remembered of its project; a second asking gets nothing."""
    _submit(served)
    _submit(served, 2, project="another", result=OTHER_RESULT)
    _run(served)
    asked = {"project": "git@example.org:sam/shop.git", "goal": "Make uploads faster"}
    journal = served.user("ann").config.journal_path.read_bytes()
    given = served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()
    assert (given["scope"], given["without"]) == (PROJECT, None)
    assert "retries three times" in given["context"]
    assert "queue" not in given["context"]
    again = served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()
    assert (again["context"], again["without"]) == (None, "given_before")
    assert served.user("ann").config.journal_path.read_bytes() == journal, "the stored tasks are as they were"
    assert all(one["usage_count"] == 0 for one in _memories(served)), "being given is no use"


def test_what_can_not_be_written_down_is_not_given_to_a_task(served: Served) -> None:
    """Else it would be given again; once it can be written down the task gets it."""
    _submit(served)
    _run(served)
    asked = {"project": "git@example.org:sam/shop.git"}
    with sqlite3.connect(served.user("ann").config.database_path) as database:
        database.execute("CREATE TRIGGER fails BEFORE INSERT ON injections BEGIN DELETE FROM nowhere; END")
    answer = served.ask("POST", "/tasks/t3/context", user="ann", json=asked)
    assert (answer.status_code, code_of(answer)) == (503, "unavailable")
    with sqlite3.connect(served.user("ann").config.database_path) as database:
        database.execute("DROP TRIGGER fails")
    assert served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()["without"] is None


def test_a_continued_task_is_given_nothing(served: Served) -> None:
    """It goes on with what the task before it was given, whether the call says so or the submitted task."""
    _submit(served)
    _run(served)
    _submit(served, 5, continued_from="t1")
    for place, body in (("/tasks/t5/context", {}), ("/tasks/t6/context", {"project": "x", "continued_from": "t1"})):
        given = served.ask("POST", place, user="ann", json=body).json()
        assert (given["context"], given["without"]) == (None, "continued")


def test_a_known_task_need_not_say_what_it_is_about(served: Served) -> None:
    """Project and goal of a submitted task are known; of an unknown one the project must be named."""
    _submit(served)
    _run(served)
    _submit(served, 2, status="running", finished_at=None, result="")
    assert served.ask("POST", "/tasks/t2/context", user="ann", json={}).json()["scope"] == PROJECT
    answer = served.ask("POST", "/tasks/t3/context", user="ann", json={})
    assert (answer.status_code, code_of(answer)) == (422, "refused")


def test_switched_off_nothing_is_given(served: Served) -> None:
    """Neither where the user's use is off, nor where the task's is; the task may ask again once it is on."""
    _submit(served)
    _run(served)
    asked = {"project": "git@example.org:sam/shop.git"}
    served.ask("POST", "/tasks/t3/auto-memory-flags", user="ann", json={"use": False})
    assert served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()["without"] == "switched_off"
    served.ask("PUT", "/users/me/auto-memory-settings", user="ann", json={"use_memories": False})
    served.ask("POST", "/tasks/t3/auto-memory-flags", user="ann", json={"use": None})
    assert served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()["without"] == "switched_off"
    assert served.ask("GET", "/context", user="ann", params=asked).json()["without"] == "switched_off"
    served.ask("POST", "/tasks/t3/auto-memory-flags", user="ann", json={"use": True})
    assert served.ask("POST", "/tasks/t3/context", user="ann", json=asked).json()["without"] is None


def test_what_we_gave_a_task_is_no_part_of_what_it_says(served: Served) -> None:
    """A program that submits the prefix with its goal, or a result that repeats it, teaches nothing anew."""
    _submit(served)
    _run(served)
    given = served.ask("GET", "/context", user="ann", params={"project": PROJECT}).json()["context"]
    row = _submit(served, 2, goal=f"{given}\n\nMake uploads faster", result=f"{given}\n" * 3)
    assert row["title"] == "Make uploads faster"
    assert _run(served)["phase1"]["no_output"] == 1
    alone = served.ask("POST", "/tasks", user="ann", json=task(3, goal=given))
    assert (alone.status_code, code_of(alone)) == (422, "refused")


def test_of_a_talkative_model_one_statement_is_kept(tmp_path: Path) -> None:
    """Whatever a model makes of a task: the first statement that stands, of its project, under its goal."""

    class Talkative:
        def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
            del deadline
            said = ("# heading", "knowledge", "preference of everybody", "second")
            fields: dict[str, Any] = {"kind": "knowledge", "scope": "user", "condition": "always", "evidence": (2,)}
            entries = tuple(EntryDraft(statement=text, **fields) for text in said)
            tasks = tuple(TaskDraft(title="t", outcome="success", entries=entries[first:]) for first in (0, 2))
            return ExtractionAnswer(rollout_summary="s", rollout_slug="s", tasks=tasks)

        def close(self) -> None:
            pass

    served = Served(tmp_path)
    served.ask("POST", "/tasks", json=task())
    with App(served.config, clock=served.clock, environ={}, extractor=Talkative()) as app:
        app.run_once(PassOptions())
        (kept,) = app.store.extractions.entries("task-t1")
    assert (kept.statement, kept.scope) == ("knowledge", PROJECT)
    assert kept.condition.startswith("the task is: Let uploads")


def test_a_task_is_shown_by_the_commands_as_a_session_is(served: Served) -> None:
    """Listed, shown with its state and evidence, switched off, and made into a packet."""
    _submit(served)
    _run(served)
    with served.open("ann") as app:
        (thread,) = app.store.threads.every()
        assert (thread.agent, thread.state) == ("task", "done")
        packet = app.packets().build("task-t1")
        assert "Let uploads be tried again" in packet.path.read_text(encoding="utf-8")
        assert app.why("upload client retries").memories[0].independent_threads == 1


@pytest.mark.parametrize("text", ["\\ud800", "\\u0000", "\\u202e", "<b>x</b>", "# heading"])
def test_strange_characters_in_a_task_harm_nothing(served: Served, text: str) -> None:
    """Half characters, NUL, marks of direction, tags and headings end in one harmless line, or are refused."""
    body = json.dumps(task(goal="Paint @ it", result="It is @ now. " * 40)).replace("@", text)
    answer = served.ask("POST", "/tasks", user="ann", content=body.encode())
    assert answer.status_code in (200, 400), answer.text
    _run(served)
    for memory in _memories(served):
        assert statement_fault(memory["statement"]) is None
        assert statement_fault(memory["condition"]) is None
