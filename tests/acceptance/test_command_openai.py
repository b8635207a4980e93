"""The provider openai against a real HTTP server on loopback: both wire APIs, and everything that can go wrong."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from command import LONG_ANSWER, Machine, Ran, below, session
from model_server import ModelServer, Reply, Request, answer, cut, fenced, hang, status, text, too_long
from rollout_logs import thread_id_of

RULE = "From now on always run make lint before you commit."
KEY = "fake-key-for-tests-0123456789"
LEARNED: Mapping[str, Any] = {
    "rollout_summary": "The person gave a rule.",
    "rollout_slug": "lint_rule",
    "tasks": [
        {
            "title": "Set up linting",
            "outcome": "success",
            "entries": [
                {
                    "kind": "procedure",
                    "scope": "project",
                    "condition": "before a commit",
                    "statement": "Run make lint",
                    "evidence": [1],
                },
                {
                    "kind": "knowledge",
                    "scope": "project",
                    "condition": "",
                    "statement": "Rests on air",
                    "evidence": [99],
                },
            ],
        }
    ],
}
NOTHING: Mapping[str, Any] = {"rollout_summary": "", "rollout_slug": "", "tasks": []}


def use(machine: Machine, server: ModelServer, *, wire_api: str = "responses", **tables: Any) -> None:
    """Configure the machine to ask this server in phase one; phase two works by rules unless it is told otherwise."""
    phase2 = {"curator": "rules", **tables.get("phase2", {})}
    model = {"provider": "openai", "extract_model": "test-model", "base_url": server.base_url, "wire_api": wire_api}
    machine.configure(**{**tables, "phase2": phase2, "model": {**model, **tables.get("model", {})}})


def waits(thread: Mapping[str, Any], *, at_least_seconds: float = 0.0) -> bool:
    """Tell whether a thread's next try lies in the future, and was this far away a moment ago."""
    retry_at = datetime.fromisoformat(thread["retry_at"])
    return retry_at - datetime.now(UTC) > timedelta(seconds=max(at_least_seconds - 15, 0))


@pytest.mark.parametrize(("wire_api", "path"), [("responses", "/v1/responses"), ("chat", "/v1/chat/completions")])
def test_an_answer_of_either_api_becomes_memory(machine: Machine, wire_api: str, path: str) -> None:
    """The answer is checked, stored with its evidence, told in MEMORY.md and counted; what cites nothing is dropped."""
    session(1, RULE).write(machine.codex)
    with ModelServer([answer(LEARNED, input_tokens=1200, output_tokens=80)]) as server, ModelServer() as stranger:
        use(machine, server, wire_api=wire_api)
        ran = machine.run(
            "run", "--json", env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": stranger.base_url, "OPENAI_ORG_ID": "org"}
        )
        assert stranger.requests == []
        (request,) = server.requests
    assert (ran.code, ran.err) == (0, "")
    assert ran.document["phase1"]["tokens"] == {"input": 1200, "output": 80}
    assert ran.document["phase2"]["outcome"] == "consolidated"
    assert (request.path, request.headers["authorization"]) == (path, f"Bearer {KEY}")
    assert request.body["model"] == "test-model"
    assert "user] " + RULE in request.shown
    thread = machine.thread(1)
    (entry,) = thread["entries"]
    assert (entry["statement"], entry["condition"]) == ("Run make lint", "before a commit")
    assert entry["evidence"][0]["quote"] == RULE
    assert thread["dropped_entries"] == {"no_such_row": 1}
    assert "Run make lint" in machine.handbook()
    assert "Rests on air" not in machine.handbook()
    written = b"".join(path.read_bytes() for path in machine.state.rglob("*") if path.is_file())
    assert KEY.encode() not in written


#: Session number -> what the server says to it, the state it ends in, and words of its last error.
ANSWERS: Mapping[int, tuple[Reply, str, str]] = {
    1: (fenced(LEARNED), "done", ""),
    2: (text('{"rollout_summary": nothing, "tasks": []}'), "error", "not valid JSON"),
    3: (cut(LEARNED), "error", "cut off"),
    4: (text(""), "error", "empty"),
    5: (text("I am sorry, but I would rather talk."), "error", "prose"),
    6: (answer(NOTHING), "no_output", ""),
    7: (status(400, message="no such parameter"), "error", "answered 400"),
    8: (status(422, message="bad schema"), "error", "answered 422"),
    9: (Reply(refusal="I can't help with that."), "error", "refused"),
    10: (Reply(body="[]"), "error", "JSON object"),
    11: (answer({"rollout_summary": "", "rollout_slug": "", "tasks": [], "notes": "x"}), "no_output", ""),
}
FAILING = {number for number, (_, state, _) in ANSWERS.items() if state == "error"}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Ran, Ran]:
    """A machine after a run in which the server gave each session its own kind of answer, and one run later."""
    machine = Machine(tmp_path_factory.mktemp("answered") / "machine")

    def reply_by_session(request: Request) -> Reply:
        (number,) = set(re.findall(r"session-(\d+)\.", request.shown))
        return ANSWERS[int(number)][0]

    for number in ANSWERS:
        session(number, f"{RULE} This is session-{number}.").write(machine.codex)
    with ModelServer(default=reply_by_session) as server:
        use(machine, server)
        ran = machine.run("run", "--json")
        asked = len(server.requests)
        again = machine.run("run", "--json")
        assert (asked, len(server.requests)) == (len(ANSWERS), asked)
        assert server.faults == []
    return machine, ran, again


@pytest.fixture(scope="module")
def answered_threads(answered: tuple[Machine, Ran, Ran]) -> dict[str, dict[str, Any]]:
    """What ``threads list`` tells after it."""
    return answered[0].threads()


@pytest.mark.parametrize("number", ANSWERS)
def test_each_kind_of_answer_ends_as_it_must(answered_threads: dict[str, dict[str, Any]], number: int) -> None:
    """What can be read is done; nothing worth keeping is no_output; anything else is an error with a try used."""
    thread = answered_threads[thread_id_of(number)]
    _, state, words = ANSWERS[number]
    assert (thread["state"], thread["attempts"]) == (state, 1)
    if state == "error":
        assert words in thread["last_error"]
        assert waits(thread)
    else:
        assert (thread["last_error"], thread["retry_at"]) == (None, None)


def test_a_run_with_failures_exits_1_and_one_inside_the_backoff_exits_0(answered: tuple[Machine, Ran, Ran]) -> None:
    """Failed jobs are counted; the next run finds nothing due, makes no request and is well."""
    _, ran, again = answered
    phase1 = ran.document["phase1"]
    assert (ran.code, phase1["failed"]) == (1, len(FAILING))
    assert (phase1["succeeded"], phase1["no_output"]) == (1, 2)
    assert ran.document["phase2"]["outcome"] == "consolidated"
    assert (again.code, again.document["phase1"]["eligible"], again.document["phase1"]["failed"]) == (0, 0, 0)
    assert again.document["phase2"]["outcome"] == "no_changes"


def test_too_many_requests_rests_the_provider_no_shorter_than_it_asked(machine: Machine) -> None:
    """A 429 with Retry-After leaves the thread in error without a try used; inside the wait no request is made."""
    for number in (1, 2, 3):
        session(number, RULE).write(machine.codex)
    with ModelServer([status(429, headers={"Retry-After": "3600"})]) as server:
        use(machine, server, phase1={"concurrency": 1})
        ran = machine.run("run", "--json")
        assert (ran.code, len(server.requests)) == (1, 1)
        assert (ran.document["phase1"]["failed"], ran.document["phase1"]["claimed"]) == (1, 1)
        (failed,) = [thread for thread in machine.threads().values() if thread["state"] == "error"]
        assert "429" in failed["last_error"]
        assert failed["attempts"] == 0
        assert waits(failed, at_least_seconds=3600)
        assert [thread["state"] for thread in machine.threads().values()].count("pending") == 2

        status_told = machine.run("status", "--json").document
        assert status_told["provider_rests_until"] >= failed["retry_at"]
        assert "429" in status_told["provider_rest_reason"]
        again = machine.run("run", "--json")
        assert (again.code, len(server.requests)) == (0, 1)
        assert again.document["phase1"]["claimed"] == 0
        assert "rests until" in again.complaint

        # A person may ask at once.
        machine.run("threads", "retry", failed["thread_id"])
        after = machine.run("run", "--json").document["phase1"]
        assert (after["no_output"], len(server.requests)) == (3, 4)


@pytest.mark.parametrize(
    ("reply", "words", "timeout_seconds"),
    [
        (status(500, message="internal"), "answered 500", 30),
        (status(401, message="bad key"), "OPENAI_API_KEY", 30),
        (status(404), "model.extract_model", 30),
        (Reply(drop=True), "can't be reached", 30),
        (hang(), "did not answer within", 0.4),
    ],
)
def test_a_fault_of_the_provider_is_an_error_with_a_wait_and_no_try_used(
    machine: Machine, reply: Reply, words: str, timeout_seconds: float
) -> None:
    """5xx, a refused key, no connection and a hang leave the thread in error; the run exits 1, the next one 0."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=reply) as server:
        use(machine, server, model={"timeout_seconds": timeout_seconds})
        ran = machine.run("run", "--json", env={"OPENAI_API_KEY": KEY})
        asked = len(server.requests)
        assert (ran.code, ran.document["phase1"]["failed"]) == (1, 1)
        thread = machine.thread(1)
        assert (thread["state"], thread["attempts"]) == ("error", 0)
        assert words in thread["last_error"]
        assert KEY not in json.dumps(thread)
        assert waits(thread)
        again = machine.run("run", "--json", env={"OPENAI_API_KEY": KEY})
        assert (again.code, again.document["phase1"]["claimed"], len(server.requests)) == (0, 0, asked)


def test_a_server_that_is_not_there_is_an_error_with_a_wait(machine: Machine) -> None:
    """A refused connection is told with host and port."""
    session(1, RULE).write(machine.codex)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, but nobody listens
        port = closed.getsockname()[1]
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": f"http://127.0.0.1:{port}/v1"})
        ran = machine.run("run", "--json")
    assert ran.code == 1
    thread = machine.thread(1)
    assert (thread["state"], thread["attempts"]) == ("error", 0)
    assert f"127.0.0.1:{port} can't be reached" in thread["last_error"]
    assert waits(thread)


def test_an_input_that_is_too_long_is_sent_once_more_and_shorter(machine: Machine) -> None:
    """The second request is cut, beginning and end kept; the outcome counts as partial; the first is never resent."""
    made = session(1, f"{RULE} This is the beginning.")
    for number in range(12):
        made.shell(f"make part-{number}", f"{number} lines of output that say little\n" * 60)
    made.prompt("Thanks, this is the end.").answer(LONG_ANSWER).write(machine.codex)
    with ModelServer([too_long(), answer(LEARNED)]) as server:
        use(machine, server)
        ran = machine.run("run", "--json")
        first, second = server.requests
    assert (ran.code, ran.document["phase1"]["succeeded"]) == (0, 1)
    assert len(second.shown) < 0.75 * len(first.shown)
    assert "This is the beginning." in second.shown
    assert "Thanks, this is the end." in second.shown
    assert "left out" in second.shown
    assert machine.thread(1)["coverage"] == "partial"


def test_an_input_that_stays_too_long_uses_a_try(machine: Machine) -> None:
    """When even the shorter one is refused the thread waits; no third request is made."""
    made = session(1, RULE)
    for number in range(12):
        made.shell(f"make part-{number}", "some line of output\n" * 60)
    made.write(machine.codex)
    with ModelServer(default=too_long()) as server:
        use(machine, server)
        assert machine.run("run", "--json").code == 1
        assert len(server.requests) == 2
    thread = machine.thread(1)
    assert (thread["state"], thread["attempts"]) == ("error", 1)
    assert "too long" in thread["last_error"]


def test_a_thread_without_tries_left_is_exhausted_until_a_person_or_the_source_asks(machine: Machine) -> None:
    """After max_attempts useless answers a thread is left alone; a person, or new words, give all its tries back."""
    path = session(1, RULE).write(machine.codex)
    with ModelServer(default=text("no")) as server:
        use(machine, server, phase1={"max_attempts": 2, "backoff_base_seconds": 0})
        assert machine.run("run", "--json").code == 1
        machine.run("run", "--json")
        thread = machine.thread(1)
        assert (thread["attempts"], thread["retry_at"]) == (2, None)
        assert "prose" in thread["last_error"]
        asked = len(server.requests)
        assert asked == 2
        assert machine.run("run", "--force", "--json").code == 0
        assert len(server.requests) == asked

        retried = machine.run("threads", "retry", thread_id_of(1), "--json").document
        assert (retried["state"], retried["attempts"], retried["last_error"]) == ("pending", 0, None)
        machine.run("run", "--json")
        machine.run("run", "--json")
        assert (machine.thread(1)["state"], len(server.requests)) == ("exhausted", 4)

        server.script([answer(NOTHING)])
        with path.open("a", encoding="utf-8") as log:
            longer = session(1, RULE, "And from now on always squash.").lines[3:]
            log.writelines(json.dumps(line) + "\n" for line in longer)
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1
        assert machine.thread(1)["attempts"] == 1


def test_a_failed_extraction_never_replaces_an_earlier_one(machine: Machine) -> None:
    """What a thread gave before it grew stays remembered while its new words can't be extracted."""
    path = session(1, RULE).write(machine.codex)
    with ModelServer([answer(LEARNED)], default=status(401)) as server:
        use(machine, server)
        machine.run("run", "--json")
        workspace = below(machine.memories)
        with path.open("a", encoding="utf-8") as log:
            longer = session(1, RULE, "And from now on always squash.").lines[3:]
            log.writelines(json.dumps(line) + "\n" for line in longer)
        ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase2"]["outcome"]) == (1, "no_changes")
    assert below(machine.memories) == workspace
    thread = machine.thread(1)
    assert thread["state"] == "error"
    assert [entry["statement"] for entry in thread["entries"]] == ["Run make lint"]


def test_a_missing_key_for_a_remote_server_is_one_line_and_costs_nothing(machine: Machine) -> None:
    """The variable is named, the exit code is 2, and no job was claimed."""
    session(1, RULE).write(machine.codex)
    machine.configure(model={"provider": "openai", "extract_model": "m", "api_key_env": "NO_SUCH_KEY"})
    ran = machine.run("run", "--json")
    assert ran.code == 2
    assert "NO_SUCH_KEY" in ran.complaint
    assert machine.threads() == {}


def test_no_more_jobs_than_the_limit_of_paid_calls_are_claimed(machine: Machine) -> None:
    """max_jobs_per_run bounds the requests of one run; the rest waits for the next."""
    for number in range(1, 6):
        session(number, RULE).write(machine.codex)
    with ModelServer() as server:
        use(machine, server, phase1={"max_jobs_per_run": 3})
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 3
        assert len(server.requests) == 3
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 2


def test_a_secret_in_an_answer_is_masked(machine: Machine) -> None:
    """What the model writes is redacted like what it reads."""
    secret = "ghp_" + "FAKEfakeFAKEfakeFAKEfakeFAKEfake0123"
    session(1, RULE).write(machine.codex)
    learned = json.loads(json.dumps(LEARNED).replace("Run make lint", f"Run make lint with {secret}"))
    learned["rollout_summary"] = f"The token is {secret}."
    with ModelServer([answer(learned)]) as server:
        use(machine, server)
        assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1
    written = b"".join(path.read_bytes() for path in machine.state.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert b"Run make lint" in written


def test_what_a_model_invents_about_the_person_is_dropped(machine: Machine) -> None:
    """A preference that rests only on the assistant's or a tool's words is not kept."""
    invented = {
        "kind": "preference",
        "scope": "user",
        "condition": "",
        "statement": "Always deploy on Fridays",
        "evidence": [2],
    }
    learned = {
        "rollout_summary": "Talk.",
        "rollout_slug": "talk",
        "tasks": [{"title": "Talk", "outcome": "success", "entries": [invented]}],
    }
    session(1, "How are deployments done?").write(machine.codex)
    with ModelServer([answer(learned)]) as server:
        use(machine, server)
        machine.run("run", "--json")
    thread = machine.thread(1)
    assert (thread["entries"], thread["dropped_entries"]) == ([], {"not_said_by_user": 1})
    assert machine.memory_list() == []
