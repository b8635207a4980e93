"""Phase one as a whole, on real logs, with an extractor of the test's own: counts, faults, leases, stops."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fresh_database import lay_database
from msgspec.structs import replace
from rollout_logs import START, CodexSession, thread_id_of

from memory_pipeline.config import (
    BudgetConfig,
    Config,
    ModelConfig,
    Phase1Config,
    SettingsConfig,
    SourceConfig,
    SourcesConfig,
)
from memory_pipeline.errors import (
    AnswerError,
    BudgetHoldError,
    CapReachedError,
    ConfigError,
    InterruptedRunError,
    LostLeaseError,
    ProviderError,
    StoreError,
)
from memory_pipeline.llm.faults import TOO_LONG_PREFIX, TooLongError
from memory_pipeline.phase1.run import USELESS_ANSWERS_IN_A_ROW, Phase1, Phase1Options
from memory_pipeline.records import (
    Coverage,
    EntryDraft,
    Evidence,
    ExtractionAnswer,
    Gate,
    IndexedThread,
    JobState,
    Phase1Counts,
    Speaker,
    TaskDraft,
)
from memory_pipeline.store.ledger import window_caps
from memory_pipeline.store.store import Store

PAID = ModelConfig(provider="openai", extract_model="model-x", base_url="http://127.0.0.1:9/v1")
RULE = "Always run make lint before you commit."
DAY = 86_400.0
PATIENCE_SECONDS = 20.0

Answer = Callable[[Evidence], ExtractionAnswer]


class Clock:
    """A clock that the test moves; ``on_beat`` is called with every reading of the heartbeat."""

    def __init__(self) -> None:
        self.at = START.timestamp() + DAY
        self.on_beat: Callable[[], None] = lambda: None

    def now(self) -> float:
        if threading.current_thread().name == "heartbeat":
            self.on_beat()
        return self.at


class Machine:
    """A home with sessions, a store, and runs of phase one over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.codex = root / "codex"
        (self.codex / "sessions").mkdir(parents=True)
        (root / "claude" / "projects").mkdir(parents=True)
        self.store = Store(lay_database(root / "state" / "memory.db"))
        self.clock = Clock()
        self.stop = threading.Event()
        self.asked: list[str] = []
        self.abort: Callable[[], None] = lambda: None
        self.jitter = 0.0

    def config(self, **tables: Any) -> Config:
        """Make the configuration of this machine."""
        sources = SourcesConfig(
            codex=SourceConfig(home=str(self.codex)), claude=SourceConfig(home=str(self.root / "claude"))
        )
        return Config(
            state_dir=str(self.root / "state"),
            memories_dir=str(self.root / "state" / "memories"),
            **({"sources": sources} | tables),
        )

    def session(self, number: int, *prompts: str) -> Path:
        """Write one session; those with a higher number are newer."""
        session = CodexSession(
            thread_id=thread_id_of(number), start=START.replace(hour=9 + number // 60, minute=number % 60)
        )
        for prompt in prompts or (RULE,):
            session.prompt(prompt).answer("Done, and the tests pass. " * 20)
        return session.write(self.codex)

    def run(
        self,
        answer: Answer,
        *,
        options: Phase1Options | None = None,
        store: Store | None = None,
        on_extract: Callable[[int, int], None] | None = None,
        **tables: Any,
    ) -> Phase1Counts:
        """Run phase one once; ``answer`` stands for the model."""

        def extract(evidence: Evidence, *, deadline: float | None) -> ExtractionAnswer:
            self.asked.append(evidence.thread_id)
            return answer(evidence)

        return Phase1(
            self.config(**tables),
            store or self.store,
            self.clock,
            extract=extract,
            abort_extractions=self.abort,
            owner="test",
            jitter=lambda: self.jitter,
            stop=self.stop,
        ).run_once(options or Phase1Options(), on_extract=on_extract)

    def thread(self, number: int) -> IndexedThread:
        """Return a thread that must be there."""
        found = self.store.threads.get(thread_id_of(number))
        assert found is not None
        return found

    def states(self) -> dict[str, int]:
        """Count the threads by state."""
        return self.store.overview.states()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine without sessions."""
    made = Machine(tmp_path)
    yield made
    made.store.close()


def says(evidence: Evidence) -> ExtractionAnswer:
    """Answer with the rule that the person stated."""
    number = next(row.number for row in evidence.rows if row.speaker is Speaker.USER)
    proposal = EntryDraft(kind="preference", scope="project", condition="", statement=RULE, evidence=(number,))
    return ExtractionAnswer(
        rollout_summary="The linter was set up.",
        rollout_slug="linter",
        tasks=(TaskDraft(title="Set up the linter", outcome="success", entries=(proposal,)),),
        input_tokens=100,
        output_tokens=10,
    )


def says_nothing(_: Evidence) -> ExtractionAnswer:
    """Answer that nothing is worth keeping."""
    return ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=(), input_tokens=50, output_tokens=1)


def by_number(answers: dict[int, Answer], otherwise: Answer = says) -> Answer:
    """Answer by the number of the session."""
    by_id = {thread_id_of(number): answer for number, answer in answers.items()}
    return lambda evidence: by_id.get(evidence.thread_id, otherwise)(evidence)


def raising(error: Exception) -> Answer:
    """Fail instead of answering."""

    def answer(_: Evidence) -> ExtractionAnswer:
        raise error

    return answer


# --- what a run does and counts ---------------------------------------------------------------------------------------


def test_a_run_counts_what_it_did(machine: Machine) -> None:
    """Discovered, eligible, claimed and each outcome are told, with gates and tokens."""
    for number in range(4):
        machine.session(number)
    CodexSession(thread_id=thread_id_of(9), source="exec").prompt(RULE).write(machine.codex)
    answers = {0: says_nothing, 1: raising(AnswerError("no JSON", input_tokens=30, output_tokens=3))}
    counts = machine.run(by_number(answers))
    assert (counts.discovered, counts.eligible, counts.claimed) == (5, 4, 4)
    assert (counts.succeeded, counts.no_output, counts.failed) == (2, 1, 1)
    assert counts.skipped == {"source": 1}
    assert (counts.input_tokens, counts.output_tokens) == (280, 24)
    assert machine.states() == {"done": 2, "error": 1, "gated": 1, "no_output": 1}


def test_the_newest_session_is_extracted_first(machine: Machine) -> None:
    """One after the other, by their last words."""
    for number in (2, 0, 1):
        machine.session(number)
    machine.run(says)
    assert machine.asked == [thread_id_of(number) for number in (2, 1, 0)]


def test_a_second_run_asks_nothing(machine: Machine) -> None:
    """What is done and unchanged makes no call."""
    machine.session(0)
    machine.session(1)
    machine.run(by_number({1: says_nothing}))
    machine.asked.clear()
    counts = machine.run(raising(AssertionError("nothing was to be asked")))
    assert (counts.eligible, counts.claimed, counts.failed, machine.asked) == (0, 0, 0, [])


def test_an_extraction_is_stored_with_its_evidence(machine: Machine) -> None:
    """The entry's byte range and hash are those of the person's line in the file."""
    import hashlib

    path = machine.session(0)
    machine.run(says)
    (entry,) = machine.store.extractions.entries(thread_id_of(0))
    (line,) = entry.evidence
    raw = path.read_bytes()[line.byte_start : line.byte_end]
    assert json.loads(raw)["payload"]["content"][0]["text"] == RULE
    assert hashlib.sha256(raw).hexdigest() == line.line_sha256
    assert (entry.scope, line.rollout_path) == (machine.thread(0).scope, str(path))


def test_a_grown_session_is_extracted_again(machine: Machine) -> None:
    """New words are work; a touched file is not."""
    path = machine.session(0)
    machine.run(says)
    path.touch()
    assert machine.run(says).claimed == 0
    machine.session(0, RULE, "And never push on Fridays.")
    assert machine.run(says).succeeded == 1


def test_switched_off_means_indexed_only(machine: Machine) -> None:
    """With generate_memories = false nothing is sent anywhere, and that is said."""
    machine.session(0)
    counts = machine.run(says, settings=SettingsConfig(generate_memories=False))
    assert (counts.discovered, counts.claimed, machine.asked) == (1, 0, [])
    assert "generate_memories" in counts.problems[0]


@pytest.mark.parametrize(
    ("limit", "model", "claimed"),
    [(None, PAID, 2), (1, PAID, 1), (3, PAID, 2), (None, ModelConfig(), 4), (3, ModelConfig(), 3)],
)
def test_the_job_limit_binds_paid_calls(machine: Machine, limit: int | None, model: ModelConfig, claimed: int) -> None:
    """max_jobs_per_run counts for paid calls only; --limit counts for all."""
    for number in range(4):
        machine.session(number)
    options = Phase1Options(limit=limit)
    counts = machine.run(says, options=options, model=model, phase1=Phase1Config(max_jobs_per_run=2))
    assert counts.claimed == claimed


def test_paid_calls_run_side_by_side(machine: Machine) -> None:
    """As many as ``concurrency`` are in flight at once: each waits until all have begun."""
    for number in range(3):
        machine.session(number)
    together = threading.Barrier(3)

    def answer(evidence: Evidence) -> ExtractionAnswer:
        together.wait(timeout=PATIENCE_SECONDS)
        return says(evidence)

    assert machine.run(answer, model=PAID, phase1=Phase1Config(concurrency=3)).succeeded == 3


def test_two_runs_at_once_extract_each_thread_once(machine: Machine) -> None:
    """Without a run-wide lock two runs share the work."""
    for number in range(12):
        machine.session(number)
    other = Store(machine.store.path)
    runs = [
        threading.Thread(target=machine.run, args=(says,), kwargs={"store": store}) for store in (machine.store, other)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(timeout=PATIENCE_SECONDS)
    other.close()
    assert sorted(machine.asked) == [thread_id_of(number) for number in range(12)]
    assert machine.states() == {"done": 12}


# --- faults of a thread -----------------------------------------------------------------------------------------------


def test_a_fault_of_a_thread_backs_off_and_ends_exhausted(machine: Machine) -> None:
    """Each failure doubles the wait, up to the longest; a run inside it asks nothing; then the thread is exhausted."""
    machine.session(0)
    limits = Phase1Config(max_attempts=3, backoff_base_seconds=60, backoff_max_seconds=100)
    waits = []
    for _ in range(3):
        assert machine.run(raising(AnswerError("no JSON")), phase1=limits).failed == 1
        retry_at = machine.thread(0).retry_at
        if retry_at is not None:
            waits.append(retry_at - machine.clock.at)
            machine.clock.at = retry_at - 1
            assert machine.run(says, phase1=limits).claimed == 0
            machine.clock.at = retry_at
    assert waits == [60, 100]
    assert (machine.thread(0).state, machine.thread(0).attempts) == (JobState.EXHAUSTED, 3)
    assert machine.thread(0).last_error == "no JSON"
    machine.clock.at += DAY
    assert machine.run(says, phase1=limits).claimed == 0


def test_jitter_only_lengthens_the_wait(machine: Machine) -> None:
    """Many failures at once come back spread over up to a quarter more."""
    machine.session(0)
    machine.jitter = 1.0
    machine.run(raising(AnswerError("no JSON")))
    retry_at = machine.thread(0).retry_at
    assert retry_at == machine.clock.at + 75


def test_a_bug_in_extracting_one_thread_leaves_the_others_alone(machine: Machine) -> None:
    """The thread fails with a place to report and none of the log's words; the rest of the run goes on."""
    for number in range(3):
        machine.session(number)
    counts = machine.run(by_number({1: raising(KeyError("words of the person's log"))}))
    assert (counts.succeeded, counts.failed) == (2, 1)
    error = machine.thread(1).last_error
    assert error is not None
    assert error.startswith("internal error: KeyError in answer, line ")
    assert "words" not in error
    assert machine.thread(1).attempts == 1


def test_a_log_that_turned_unreadable_is_a_failure_of_its_thread(machine: Machine) -> None:
    """A file replaced between index and extraction by something else is told, not taken for an empty session."""
    path = machine.session(0)
    machine.session(1)

    def answer(evidence: Evidence) -> ExtractionAnswer:
        path.write_text("this is no log\n")
        return says(evidence)

    counts = machine.run(answer)
    assert (counts.succeeded, counts.failed) == (1, 1)
    assert "no line of it is understood" in (machine.thread(0).last_error or "")


def test_a_log_that_vanished_is_no_failure(machine: Machine) -> None:
    """The agent deleted it between index and extraction: no try is used, nobody asks again and again."""
    path = machine.session(0)
    machine.session(1)

    def answer(evidence: Evidence) -> ExtractionAnswer:
        path.unlink()
        return says(evidence)

    counts = machine.run(answer)
    assert (counts.claimed, counts.succeeded, counts.failed) == (2, 1, 0)
    assert (machine.thread(0).present, machine.thread(0).attempts) == (False, 0)
    machine.session(0)
    assert machine.run(says).succeeded == 1


def test_a_torn_log_adds_to_what_was_read_whole(machine: Machine) -> None:
    """A partial reading never replaces one of high coverage."""
    path = machine.session(0)
    machine.run(says)
    with path.open("ab") as stream:
        stream.write(b'{"timestamp": "2026-11-20T09:\n')
        stream.write(path.read_bytes().splitlines()[1].replace(RULE.encode(), b"Always use tabs.") + b"\n")

    def says_other(evidence: Evidence) -> ExtractionAnswer:
        number = max(row.number for row in evidence.rows if row.speaker is Speaker.USER)
        proposal = EntryDraft(
            kind="preference", scope="project", condition="", statement="Use tabs.", evidence=(number,)
        )
        task = TaskDraft(title="Tabs", outcome="success", entries=(proposal,))
        return ExtractionAnswer(rollout_summary="Tabs.", rollout_slug="tabs", tasks=(task,))

    assert machine.run(says_other).succeeded == 1
    stored = machine.store.extractions.get(thread_id_of(0))
    assert stored is not None
    assert stored.coverage is Coverage.PARTIAL
    assert {entry.statement for task in stored.tasks for entry in task.entries} == {RULE, "Use tabs."}


# --- faults of the provider -------------------------------------------------------------------------------------------


def test_a_providers_fault_rests_everyone_and_uses_no_try(machine: Machine) -> None:
    """The run stops claiming, says why and until when, and a run inside the rest makes no request."""
    for number in range(3):
        machine.session(number)
    limits = Phase1Config(concurrency=1)
    counts = machine.run(raising(ProviderError("429 from the server")), model=PAID, phase1=limits)
    assert (counts.claimed, counts.failed) == (1, 1)
    assert "429 from the server" in counts.problems[-1]
    assert machine.thread(2).attempts == 0
    machine.asked.clear()
    assert machine.run(says, model=PAID, phase1=limits).claimed == 0
    assert machine.asked == []
    machine.clock.at += 60
    assert machine.run(says, model=PAID, phase1=limits).succeeded == 3


def test_a_rest_is_never_shorter_than_the_server_asked_for(machine: Machine) -> None:
    """Retry-After wins over a shorter backoff."""
    machine.session(0)
    machine.run(raising(ProviderError("429", retry_after_seconds=500)), model=PAID)
    assert machine.thread(0).retry_at == machine.clock.at + 500


def test_a_poisoned_thread_becomes_its_own_fault_while_others_succeed(machine: Machine) -> None:
    """From its third 5xx on, with successes in between, a thread uses up its tries and ends exhausted."""
    machine.session(50)
    limits = Phase1Config(concurrency=1, max_attempts=2)
    poison = by_number({50: raising(ProviderError("500", per_thread_suspect=True))})
    attempts = []
    for number in range(4):
        machine.session(number)
        machine.clock.at += DAY
        counts = machine.run(poison, model=PAID, phase1=limits)
        assert counts.succeeded == (1 if number else 0)  # at first the poisoned thread, being newest, goes first
        attempts.append(machine.thread(50).attempts)
        if number == 0:
            machine.clock.at += DAY
            assert machine.run(poison, model=PAID, phase1=limits).succeeded == 1
            attempts.append(machine.thread(50).attempts)
    assert attempts == [0, 0, 1, 2, 2]
    assert machine.thread(50).state is JobState.EXHAUSTED
    assert [machine.thread(number).state for number in range(4)] == [JobState.DONE] * 4


def test_an_outage_is_nobodys_fault(machine: Machine) -> None:
    """While nobody succeeds, a thread on which the provider fails keeps all its tries."""
    machine.session(0)
    for _ in range(6):
        machine.clock.at += DAY
        machine.run(raising(ProviderError("500", per_thread_suspect=True)), model=PAID)
    assert (machine.thread(0).attempts, machine.thread(0).state) == (0, JobState.ERROR)


def test_a_spent_budget_holds_paid_work_as_a_whole(machine: Machine) -> None:
    """What could not be paid for is given back without a try, shown as held by the budget, and tried again later."""
    for number in range(3):
        machine.session(number)
    limits, budget = Phase1Config(concurrency=1), BudgetConfig(daily_tokens=1_000)
    answers = {1: raising(BudgetHoldError("the token budget is spent"))}
    counts = machine.run(by_number(answers), model=PAID, phase1=limits, budget=budget)
    assert (counts.claimed, counts.succeeded, counts.failed) == (2, 1, 0)
    assert counts.skipped == {"budget": 2}
    assert counts.problems == ("the token budget is spent",)
    assert [machine.thread(number).gate for number in range(3)] == [Gate.BUDGET, Gate.BUDGET, None]
    assert [machine.thread(number).attempts for number in range(2)] == [0, 0]
    assert machine.run(says, model=PAID, phase1=limits, budget=budget).succeeded == 2


def test_a_session_too_large_for_the_budget_does_not_hold_the_others(machine: Machine) -> None:
    """It waits by itself, gated and said; the smaller ones are extracted in the same run."""
    for number in range(3):
        machine.session(number)
    answers = {2: raising(BudgetHoldError("a session needs about 90000 tokens", is_too_large=True))}
    counts = machine.run(by_number(answers), model=PAID, phase1=Phase1Config(concurrency=1))
    assert (counts.claimed, counts.succeeded, counts.failed) == (3, 2, 0)
    assert (machine.thread(2).gate, machine.thread(2).attempts) == (Gate.BUDGET, 0)
    assert "90000 tokens" in counts.problems[0]


def test_a_spent_project_leaves_the_other_projects_alone(machine: Machine) -> None:
    """Its threads are gated at once, no try used, without reading each of them; the rest of the run goes on."""
    for number in range(4):
        machine.session(number)
    config = {"model": PAID, "phase1": Phase1Config(concurrency=1), "budget": BudgetConfig(project_daily_tokens=100)}

    def answer(evidence: Evidence) -> ExtractionAnswer:
        if len(machine.asked) == 2:
            reserve = machine.store.ledger.reserve
            caps = window_caps(daily=100, weekly=0, scope=evidence.scope)
            about: dict[str, Any] = {"phase": "phase1", "thread_id": None, "scope": evidence.scope, "model": "m"}
            reserve(tokens=90, caps=caps, now=machine.clock.at, **about)
            assert reserve(tokens=20, caps=caps, now=machine.clock.at, **about).booking_id is None
            raise BudgetHoldError("the budget of this project is spent", project=evidence.scope)
        return says(evidence)

    other = CodexSession(thread_id=thread_id_of(9), start=START.replace(hour=1), cwd="/home/sam/other")
    other.prompt(RULE).answer("Done, and the tests pass. " * 20).write(machine.codex)
    assert machine.run(says, options=Phase1Options(limit=0), **config).claimed == 0
    assert machine.thread(9).scope != machine.thread(0).scope
    counts = machine.run(answer, **config)
    assert (counts.claimed, counts.succeeded, counts.failed) == (3, 2, 0)
    assert [machine.thread(number).gate for number in range(3)] == [Gate.BUDGET] * 3
    assert [machine.thread(number).attempts for number in range(3)] == [0, 0, 0]
    assert machine.thread(9).state is JobState.DONE
    assert counts.problems == ("the budget of this project is spent",)
    machine.clock.at += DAY
    assert machine.run(says, **config).succeeded == 3


@pytest.mark.parametrize("is_of_project", [False, True])
def test_reservations_in_flight_slow_a_run_down_but_do_not_end_it(machine: Machine, is_of_project: bool) -> None:
    """A call without room beside another one waits for it: one worker fewer, and everything is extracted."""
    for number in range(6):
        machine.session(number)
    in_flight = threading.Semaphore(1)

    def answer(evidence: Evidence) -> ExtractionAnswer:
        if not in_flight.acquire(blocking=False):
            raise BudgetHoldError("the token budget is spent", project=evidence.scope if is_of_project else None)
        try:
            machine.stop.wait(0.02)
            return says(evidence)
        finally:
            in_flight.release()

    counts = machine.run(answer, model=PAID, phase1=Phase1Config(concurrency=4))
    assert (counts.succeeded, counts.problems) == (6, ())


def test_a_call_without_room_beside_one_that_has_ended_meanwhile_is_made_again(machine: Machine) -> None:
    """The budget is not spent: what the other call had reserved is free again."""
    machine.session(0)
    machine.session(1)
    has_begun, has_ended = threading.Event(), threading.Event()
    refused = []

    def answer(evidence: Evidence) -> ExtractionAnswer:
        if evidence.thread_id == thread_id_of(1) and not refused:
            refused.append(evidence.thread_id)
            assert has_begun.wait(10)
            assert has_ended.wait(10)
            raise BudgetHoldError("the token budget is spent")
        has_begun.set()
        return says(evidence)

    def note(done: int, total: int) -> None:
        del total
        if done:
            has_ended.set()

    counts = machine.run(answer, model=PAID, phase1=Phase1Config(concurrency=2), on_extract=note)
    assert (counts.succeeded, counts.problems, len(refused)) == (2, (), 1)


def test_a_ledger_that_can_not_be_read_stops_paid_work_alone(machine: Machine) -> None:
    """Nothing is sent, no try is used, the run says why; the embedded extractor goes on."""
    machine.session(0)
    with sqlite3.connect(machine.store.path) as connection:
        connection.execute("ALTER TABLE ledger RENAME TO lost")
    connection.close()
    budget = BudgetConfig(daily_tokens=1_000_000)
    counts = machine.run(says, model=PAID, budget=budget)
    assert (counts.claimed, machine.asked, machine.thread(0).gate) == (0, [], Gate.BUDGET)
    assert "can't be read" in counts.problems[0]
    assert machine.thread(0).attempts == 0
    assert machine.run(says).succeeded == 1


def test_a_job_past_its_caps_is_a_fault_of_its_thread(machine: Machine) -> None:
    """It uses a try, and the others go on."""
    for number in range(3):
        machine.session(number)
    counts = machine.run(by_number({1: raising(CapReachedError("past phase1.max_tokens_per_job"))}), model=PAID)
    assert (counts.succeeded, counts.failed) == (2, 1)
    assert (machine.thread(1).attempts, machine.thread(1).last_error) == (1, "past phase1.max_tokens_per_job")


def test_the_same_useless_answer_to_many_threads_rests_the_provider(machine: Machine) -> None:
    """Most threads keep all their tries while a server answers nonsense for a day; then all are extracted."""
    for number in range(30):
        machine.session(number)
    nonsense = raising(AnswerError("the model's answer is prose, without a JSON object"))
    limits = Phase1Config(concurrency=1)
    for _ in range(96):
        machine.run(nonsense, model=PAID, phase1=limits)
        machine.clock.at += 900
    used = [machine.thread(number).attempts for number in range(30)]
    assert sum(used) == USELESS_ANSWERS_IN_A_ROW - 1
    assert max(used) == 1
    assert len(machine.asked) < 30
    machine.clock.at += DAY
    assert machine.run(says, model=PAID, phase1=limits).succeeded == 30


def test_different_useless_answers_are_the_threads_own(machine: Machine) -> None:
    """A success in between, or another reason, begins the count anew; too long sessions never count."""
    for number in range(12):
        machine.session(number)
    answers = {number: raising(AnswerError(f"reason {number % 2}")) for number in range(4)}
    answers |= {number: raising(AnswerError("too long even when cut")) for number in range(5, 12)}
    counts = machine.run(by_number(answers), model=PAID, phase1=Phase1Config(concurrency=1))
    assert (counts.failed, counts.succeeded) == (11, 1)
    assert machine.store.jobs.provider_rest("openai").failures == 0


def test_a_provider_that_is_down_for_a_day_costs_nobody_a_try(machine: Machine) -> None:
    """Nothing is given up, the rests grow to the longest wait, and all of the work resumes."""
    for number in range(20):
        machine.session(number)
    limits = Phase1Config(concurrency=4, backoff_max_seconds=21_600)
    asked_at: list[float] = []

    def down(_: Evidence) -> ExtractionAnswer:
        asked_at.append(machine.clock.at)
        raise ProviderError("503", per_thread_suspect=True)

    for _ in range(2 * 96):
        machine.run(down, model=PAID, phase1=limits)
        machine.clock.at += 900
    moments = sorted(set(asked_at))
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert waits == sorted(waits)
    assert waits[-1] == 21_600
    assert len(asked_at) <= 4 * len(moments)
    assert {machine.thread(number).attempts for number in range(20)} == {0}
    machine.clock.at += 21_600 * 1.25
    assert machine.run(says, model=PAID, phase1=limits).succeeded == 20


def test_what_was_too_long_is_never_sent_again_unchanged(machine: Machine) -> None:
    """Each further try sends at most a quarter of what the last one began with, and what is left is told as partial."""
    machine.session(0, *(f"{RULE} And number {number} as well. " + "word " * 300 for number in range(40)))
    sizes: list[int] = []

    def answer(evidence: Evidence) -> ExtractionAnswer:
        sizes.append(sum(len(row.text) for row in evidence.rows))
        if sizes[-1] > 8_000:
            raise TooLongError(f"{TOO_LONG_PREFIX} even when cut to half")
        return says(evidence)

    for _ in range(6):
        machine.run(answer, model=PAID)
        machine.clock.at += DAY
    assert len(sizes) > 1
    assert all(later <= earlier / 3 for earlier, later in itertools.pairwise(sizes))
    stored = machine.store.extractions.get(thread_id_of(0))
    assert stored is not None
    assert stored.coverage is Coverage.PARTIAL


def test_what_can_not_be_cut_any_further_is_given_up_unsent(machine: Machine) -> None:
    """Nothing smaller is left to try, so the thread waits for a person or for new words."""
    machine.session(0)
    too_long = raising(TooLongError(f"{TOO_LONG_PREFIX}, and it can't be cut"))
    for _ in range(6):
        machine.run(too_long, model=PAID)
        machine.clock.at += DAY
    assert machine.thread(0).state is JobState.EXHAUSTED
    assert "nothing is left to cut" in (machine.thread(0).last_error or "")
    assert machine.thread(0).attempts < 5
    assert len(machine.asked) == machine.thread(0).attempts - 1


@pytest.mark.parametrize(("timeout_seconds", "most"), [(600.0, 3.0), (0.5, 11.0)])
def test_a_job_has_no_more_time_than_its_cap(machine: Machine, timeout_seconds: float, most: float) -> None:
    """The deadline is that of two answers, and never later than phase1.max_seconds_per_job."""
    machine.session(0)
    left: list[float] = []

    def extract(evidence: Evidence, *, deadline: float | None) -> ExtractionAnswer:
        assert deadline is not None
        left.append(deadline - time.monotonic())
        return says(evidence)

    model = replace(PAID, timeout_seconds=timeout_seconds)
    limits = Phase1Config(max_seconds_per_job=3.0 if timeout_seconds > 1 else 600.0)
    Phase1(
        machine.config(model=model, phase1=limits),
        machine.store,
        machine.clock,
        extract=extract,
        abort_extractions=machine.abort,
        owner="test",
        jitter=lambda: 0.0,
        stop=machine.stop,
    ).run_once(Phase1Options())
    assert len(left) == 1
    assert left[0] <= most


# --- leases -----------------------------------------------------------------------------------------------------------


def _taken_over(machine: Machine) -> None:
    """Let another run take over and complete whatever is in flight."""
    machine.clock.at += 10_000
    other = Store(machine.store.path)
    claim = other.jobs.claim(owner="other", now=machine.clock.at, lease_seconds=120, max_attempts=5)
    assert claim.lease is not None
    assert claim.lease.fence == 2
    other.close()


@pytest.mark.parametrize(
    "end",
    [
        says,
        raising(AnswerError("bad")),
        raising(ProviderError("500")),
        raising(LostLeaseError("gone")),
        raising(KeyError()),
    ],
)
def test_a_lost_lease_counts_and_stores_nothing(machine: Machine, end: Answer) -> None:
    """Whatever a worker comes back with after its job was taken over, the job is the other's."""
    machine.session(0)

    def answer(evidence: Evidence) -> ExtractionAnswer:
        _taken_over(machine)
        return end(evidence)

    counts = machine.run(answer, model=PAID)
    assert (counts.claimed, counts.succeeded, counts.no_output, counts.failed) == (1, 0, 0, 0)
    thread = machine.thread(0)
    assert (thread.state, thread.last_error, thread.extracted) == (JobState.RUNNING, None, False)
    assert machine.store.jobs.provider_rest("openai").rest_until is None


def test_heartbeats_keep_a_slow_extraction(machine: Machine) -> None:
    """While a worker waits for its answer nobody else gets the job, though its first lease is over."""
    machine.session(0)
    beats = threading.Semaphore(0)
    machine.clock.on_beat = beats.release  # type: ignore[assignment]

    def answer(evidence: Evidence) -> ExtractionAnswer:
        machine.clock.at += 1.0
        # The beat that reads the new time is written by the time the next but one begins.
        for _ in range(3):
            assert beats.acquire(timeout=PATIENCE_SECONDS)
        other = Store(machine.store.path)
        ended = machine.clock.at + 0.02
        assert other.jobs.claim(owner="other", now=ended, lease_seconds=9, max_attempts=5).lease is None
        other.close()
        return says(evidence)

    assert machine.run(answer, phase1=Phase1Config(lease_seconds=0.03)).succeeded == 1


def test_a_heartbeat_that_can_not_be_written_ends_the_run_with_its_reason(machine: Machine) -> None:
    """The fault is told by the run itself, not by a dying thread in the background."""
    machine.session(0)
    machine.session(1)
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise StoreError("memory.db: the disk is full")

    machine.clock.on_beat = fail

    def answer(evidence: Evidence) -> ExtractionAnswer:
        assert failed.wait(timeout=PATIENCE_SECONDS)
        return says(evidence)

    with pytest.raises(StoreError, match="disk is full"):
        machine.run(answer, phase1=Phase1Config(lease_seconds=0.03))


# --- stops and surprises ----------------------------------------------------------------------------------------------


def test_a_stopped_run_gives_back_what_is_in_flight(machine: Machine) -> None:
    """A model that hangs is aborted; the job is pending at once, with no try used, and nothing more is claimed."""
    for number in range(3):
        machine.session(number)
    aborted = threading.Event()
    machine.abort = aborted.set

    def answer(_: Evidence) -> ExtractionAnswer:
        machine.stop.set()
        assert aborted.wait(timeout=PATIENCE_SECONDS)
        raise InterruptedRunError("given up")

    with pytest.raises(InterruptedRunError):
        machine.run(answer, model=PAID, phase1=Phase1Config(concurrency=1))
    assert machine.states() == {"pending": 3}
    assert [machine.thread(number).attempts for number in range(3)] == [0, 0, 0]
    machine.stop.clear()
    assert machine.run(says).succeeded == 3


def test_a_stop_before_the_work_claims_nothing(machine: Machine) -> None:
    """A run that is stopped while it looks at the disk asks nobody."""
    machine.session(0)
    machine.stop.set()
    with pytest.raises(InterruptedRunError):
        machine.run(says)
    assert machine.asked == []


def test_a_fault_of_the_configuration_ends_the_run_and_costs_no_try(machine: Machine) -> None:
    """A base_url that can't be used says nothing about a thread."""
    machine.session(0)
    with pytest.raises(ConfigError):
        machine.run(raising(ConfigError("model.base_url can't be used")), model=PAID)
    assert (machine.thread(0).state, machine.thread(0).attempts) == (JobState.PENDING, 0)


def test_a_fault_of_the_store_ends_the_run(machine: Machine) -> None:
    """Where nothing can be written, the run says so instead of going through all sessions in vain."""
    for number in range(3):
        machine.session(number)
    with pytest.raises(StoreError, match="disk is full"):
        machine.run(raising(StoreError("memory.db: the disk is full")))
    assert len(machine.asked) == 1


def test_progress_is_told_up_to_the_end(machine: Machine) -> None:
    """The last report says that all that was eligible is done."""
    for number in range(3):
        machine.session(number)
    told: list[tuple[int, int]] = []
    machine.run(says, on_extract=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
