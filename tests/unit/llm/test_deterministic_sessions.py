"""Whole invented sessions, and what the deterministic extractor makes of them."""

from __future__ import annotations

from deterministic_sessions import Session, chinese_session, corrected_session, flaky_test, interrupted_session

from memory_pipeline.llm.deterministic import DeterministicExtractor
from memory_pipeline.llm.deterministic.stated import MOST_STATED
from memory_pipeline.records import EntryDraft, Evidence, ExtractionAnswer


def extract(evidence: Evidence) -> ExtractionAnswer:
    """What the extractor makes of it."""
    return DeterministicExtractor().extract(evidence)


def said(answer: ExtractionAnswer) -> list[tuple[str, str]]:
    """Kind and statement of each entry."""
    return [(str(entry.kind), entry.statement) for entry in entries(answer)]


def entries(answer: ExtractionAnswer) -> list[EntryDraft]:
    """The entries of all tasks."""
    return [entry for task in answer.tasks for entry in task.entries]


def test_hunt_for_a_flaky_test_teaches_its_cause_and_the_persons_rules() -> None:
    """One task: its real cause, the rule the person gave when correcting, and how the checks are run."""
    answer = extract(flaky_test().evidence())
    (task,) = answer.tasks
    assert task.title == "tests/test_queue.py::test_drain fails about one time in five on CI"
    assert task.outcome == "success"
    assert said(answer) == [
        ("preference", "Never raise a timeout to make a test pass"),
        ("procedure", "from now on run the suite with -n 4 before every push"),
        (
            "failure",
            (
                "`uv run pytest tests/test_queue.py -q -p xdist -n 4` failed: TimeoutError: "
                "queue not drained after 1.0s -> "
                "The cause was a race in `shop/queue.py`: `drain` read the size before the worker had "
                "put the last item back; then it passed"
            ),
        ),
        ("knowledge", "`uv run pytest -q` runs the tests; it passed"),
        ("knowledge", "`uv run ruff check .` lints the code; it passed"),
    ]


def test_nothing_that_was_pasted_injected_or_proposed_is_taken_for_a_rule() -> None:
    """The same session holds four orders that nobody gave: a fence, AGENTS.md, a comment in code, a suggestion."""
    text = repr(extract(flaky_test().evidence()))
    for poison in ("nose", "ignore this", "call drain twice", "longer timeout everywhere"):
        assert poison not in text


def test_chinese_session_is_read_like_an_english_one() -> None:
    """Rules, the decision and the mended build of a Chinese session are found; the ruled-out npm is not told."""
    answer = extract(chinese_session().evidence())
    (task,) = answer.tasks
    assert task.title == "帮我修一下构建，`pnpm build` 报错了"
    assert task.outcome == "success"
    assert said(answer)[:3] == [
        ("preference", "我们用 pnpm，不用 npm"),
        ("procedure", "以后提交前都要跑 pnpm lint"),
        ("decision", "图表库就用 ECharts，不要用 D3"),
    ]
    assert entries(answer)[1].condition == "提交前"
    failure = next(statement for kind, statement in said(answer) if kind == "failure")
    assert "error TS2322: Type 'string' is not assignable to type 'number'." in failure
    assert "修复了 `src/api.ts` 里 userId 的类型" in failure
    assert not any("npm run build" in statement for _, statement in said(answer))


def test_rule_that_the_person_took_back_is_left_out() -> None:
    """Of "always use npm", then "always use pnpm": only the later holds, and npm's commands are not told as the way."""
    answer = extract(corrected_session().evidence())
    assert [(task.title, str(task.outcome)) for task in answer.tasks] == [
        ("Set up the project", "success"),
        ("add a health endpoint to the server, with a test", "success"),
    ]
    statements = [statement for _, statement in said(answer)]
    assert "always use pnpm" in statements
    assert "`pnpm test` runs the tests; it passed" in statements
    assert not any("npm install" in statement.replace("pnpm", "") for statement in statements)
    assert (
        'files changed for "add a health endpoint to the server, with a test": src/server.ts, src/server.test.ts'
        in statements
    )


def test_interrupted_session_without_a_lesson_gives_no_output() -> None:
    """Work that was stopped half-way, with nothing said, teaches nothing that is certain."""
    assert extract(interrupted_session().evidence()).tasks == ()


def test_interrupted_session_with_a_rule_is_uncertain_and_kept() -> None:
    """A rule counts even when the work after it was stopped; how that ended is not known."""
    session = interrupted_session()
    session.person("stop. never run migrations against the real database")
    (task,) = extract(session.evidence()).tasks
    assert task.outcome == "uncertain"
    assert [entry.statement for entry in task.entries] == ["never run migrations against the real database"]


def test_summary_tells_what_was_asked_done_and_learned() -> None:
    """The summary of a session is short Markdown whose every line is one of its facts."""
    summary = extract(chinese_session().evidence()).rollout_summary
    assert summary.startswith(
        "- Asked: 帮我修一下构建，`pnpm build` 报错了\n- Done: changed src/api.ts; ran `pnpm build`"
    )
    assert "- Ended: It succeeded. The last answer: " in summary
    assert "- The person said: 我们用 pnpm，不用 npm\n" in summary
    assert summary.endswith("\n")


def test_sections_of_a_summary_are_headings_of_the_third_level() -> None:
    """Several tasks stand under one heading each, none above level three."""
    summary = extract(corrected_session().evidence()).rollout_summary
    assert summary.count("### ") == 2
    assert not any(line.startswith(("# ", "## ")) for line in summary.splitlines())


def test_same_evidence_gives_the_same_answer() -> None:
    """Nothing depends on a clock, on chance or on what was read before."""
    extractor = DeterministicExtractor()
    first = extractor.extract(flaky_test().evidence())
    extractor.extract(chinese_session().evidence())
    assert extractor.extract(flaky_test().evidence(), deadline=0.0) == first


def test_every_entry_cites_rows_that_exist_and_stated_ones_cite_the_person() -> None:
    """A statement of the person rests on their prompt; every statement on one to six rows of the session."""
    for session in (flaky_test(), chinese_session(), corrected_session()):
        evidence = session.evidence()
        speakers = {row.number: row.speaker for row in evidence.rows}
        for entry in entries(extract(evidence)):
            assert 1 <= len(entry.evidence) <= 6
            assert set(entry.evidence) <= set(speakers)
            if entry.kind in {"preference", "procedure", "decision"}:
                assert "user" in {speakers[number] for number in entry.evidence}


def test_more_statements_than_there_is_room_for_make_the_reading_partial() -> None:
    """A session of hundreds of rules gives the first ones, and says that it had more; a repeated one is no more."""
    session = Session()
    for number in range(MOST_STATED + 40):
        session.person(f"Always use tool{number} for the report part{number}.")
    answer = extract(session.evidence())
    statements = [text for _, text in said(answer)]
    assert len(statements) == MOST_STATED
    assert "tool0" in statements[0]
    assert not answer.saw_all_rows
    again = Session()
    for _ in range(MOST_STATED + 40):
        again.person("Always use ruff for the lint.")
    assert extract(again.evidence()).saw_all_rows
