"""Ten whole invented sessions: every direction that a person states in them is told, and nothing else is theirs."""

from __future__ import annotations

import pytest
from deterministic_sessions import Session
from msgspec import Struct

from memory_pipeline.llm.deterministic import DeterministicExtractor
from memory_pipeline.llm.deterministic.steps import commands_the_reader
from memory_pipeline.records import EntryDraft


class Told(Struct, frozen=True, kw_only=True):
    """A session, and the words that must stand in what is told of it."""

    name: str
    session: Session
    stated: tuple[str, ...]
    allowed: tuple[str, ...] = ()  # told or not: a matter of taste


def _billing() -> Told:
    session = Session()
    session.person("The invoice totals are off by a cent on some orders. Can you find out why?")
    session.runs(
        "pytest tests/billing -q",
        "FAILED tests/billing/test_totals.py::test_cents\nAssertionError: 10.01 != 10.00",
        code=1,
    )
    session.edits("billing/totals.py")
    session.runs("pytest tests/billing -q", "12 passed")
    session.answers(
        "The totals were summed as floats. I changed `billing/totals.py` to use Decimal. You should always use Decimal."
    )
    session.person(
        "Good catch. Money is always integer cents in this codebase, so convert at the edges and keep ints inside. "
        "Also you changed the rounding in reports.py, I didn't ask for that - stay inside the files the task is about."
    )
    session.edits("billing/totals.py", "reports.py")
    session.answers("Done.")
    session.person("Thanks! Before you open the PR, run make audit. It's required for anything under billing/.")
    session.runs("make audit", "ok")
    session.answers("`make audit` passed.")
    return Told(
        name="billing",
        session=session,
        stated=("Money is always integer cents", "stay inside the files the task is about"),
        allowed=("run make audit", "required for anything"),
    )


def _deploy() -> Told:
    session = Session()
    session.harness("# AGENTS.md instructions\nAlways use yarn. Never run tests.")
    session.person("staging returns 502 since the last deploy, have a look")
    session.runs("kubectl -n staging get pods", "web-7 CrashLoopBackOff")
    session.answers("The pod lacks the REDIS_URL variable. I suggest we always restart pods after a deploy.")
    session.person(
        "ok set it. two things for you to know: staging config lives in the ops-config repo, not here, and "
        "I apply changes to the cluster myself, you only prepare the yaml."
    )
    session.edits("staging/web.yaml")
    session.answers("Prepared the yaml.")
    return Told(
        name="deploy",
        session=session,
        stated=(
            "staging config lives in the ops-config repo, not here",
            "I apply changes to the cluster myself, you only prepare the yaml",
        ),
    )


def _chinese_backend() -> Told:
    session = Session()
    session.person("订单导出太慢了，几万条要跑十分钟，帮我优化一下")
    session.runs("python -m pytest tests/export", "3 passed")
    session.edits("export/orders.py")
    session.answers("改成了批量查询，现在 20 秒。建议以后所有查询都加索引。")
    session.person(
        "不错。不过 service 层里不要直接写 SQL，统一放到 dao 目录。另外导出文件编码要 UTF-8 带 BOM，不然财务打开是乱码"
    )
    session.edits("dao/orders.py", "export/orders.py")
    session.answers("已经移过去了。")
    session.person("可以。以后改完先跑 make check 再告诉我结果")
    session.runs("make check", "ok")
    session.answers("通过了。")
    return Told(
        name="chinese_backend",
        session=session,
        stated=(
            "service 层里不要直接写 SQL，统一放到 dao 目录",
            "导出文件编码要 UTF-8 带 BOM",
            "以后改完先跑 make check 再告诉我结果",
        ),
    )


def _notebook() -> Told:
    session = Session()
    session.person("load runs/exp12.csv and plot the loss curves, log scale")
    session.runs("python plot.py", "saved loss.png")
    session.answers("Saved `loss.png`.")
    session.person(
        "the colours are hard to tell apart. I'm colour blind (deuteranopia), use different markers rather than "
        "colours for lines."
    )
    session.edits("plot.py")
    session.answers("Markers added.")
    session.person("perfect. which run had the lowest validation loss?")
    session.answers("Run 4.")
    session.person("ok. note: runs before exp10 used the old tokenizer and can't be compared with later ones")
    session.answers("Noted.")
    return Told(
        name="notebook",
        session=session,
        stated=("I'm colour blind", "runs before exp10 used the old tokenizer"),
        allowed=("use different markers rather than colours",),
    )


def _frontend_mixed() -> Told:
    session = Session()
    session.person("帮我写个 DatePicker 组件，用 antd 的就行，支持 range")
    session.edits("src/components/DatePicker.tsx")
    session.answers("写好了。")
    session.person("为什么又装了 moment？我们项目里日期库是 dayjs，moment 早就不用了")
    session.runs("pnpm remove moment", "done")
    session.edits("src/components/DatePicker.tsx")
    session.answers("换成 dayjs 了。")
    session.person("好，样式别写 inline，用 css module。然后跑下测试")
    session.runs("pnpm test", "ok")
    session.answers("测试通过。")
    return Told(
        name="frontend_mixed",
        session=session,
        stated=("我们项目里日期库是 dayjs", "样式别写 inline，用 css module"),
    )


def _routine() -> Told:
    session = Session()
    session.person("what does the retry decorator in net/retry.py do?")
    session.reads("net/retry.py", "# always call with backoff\ndef retry(): ...")
    session.answers("It retries three times. Never call it without a timeout.")
    session.person("and is jitter applied before or after the cap?")
    session.answers("After.")
    session.person(
        "ok, rename max_tries to attempts there and fix the callers. the docs say: always keep the old name as alias"
    )
    session.edits("net/retry.py")
    session.runs("pytest -q", "40 passed")
    session.answers("Renamed.")
    session.person("cool, that's all for today")
    return Told(name="routine", session=session, stated=())


def _rules_first() -> Told:
    session = Session()
    session.person(
        "Hi! Ground rules before we start:\n"
        "* one commit per logical change\n"
        "* no drive-by refactoring\n"
        "* public functions get docstrings, private ones don't\n"
        "* ask if a requirement is ambiguous\n\n"
        "First task: the CSV importer drops the last line when there's no trailing newline."
    )
    session.edits("importer.py")
    session.runs("uv run pytest", "ok")
    session.answers("Fixed.")
    return Told(
        name="rules_first",
        session=session,
        stated=(
            "one commit per logical change",
            "no drive-by refactoring",
            "public functions get docstrings, private ones don't",
            "ask if a requirement is ambiguous",
        ),
    )


def _manager() -> Told:
    session = Session()
    session.person("Can you write a short status of the migration for the steering committee?")
    session.answers("Draft: ...")
    session.person(
        "Too technical. The committee are finance people, so no acronyms and always say what a delay costs. "
        "We call the new platform Harbor, never v2."
    )
    session.answers("Second draft: ...")
    session.person("Better. Shorten the third paragraph. And status mails go out on Thursdays before 10.")
    session.answers("Done.")
    return Told(
        name="manager",
        session=session,
        stated=(
            "no acronyms and always say what a delay costs",
            "We call the new platform Harbor, never v2",
            "status mails go out on Thursdays before 10",
        ),
    )


def _dictated() -> Told:
    session = Session()
    session.person(
        "okay so I need the nightly export to also include the cancelled bookings and um remember that anything "
        "we send to the partner has to go through the masking step first because of the contract"
    )
    session.edits("jobs/export.py")
    session.answers("Added.")
    session.person(
        "nice and uh one thing I noticed you named the file export_final2 and that's not how we do it here "
        "the files are named by date and partner code so please rename it"
    )
    session.edits("jobs/export.py")
    session.answers("Renamed.")
    return Told(
        name="dictated",
        session=session,
        stated=(
            "anything we send to the partner has to go through the masking step first",
            "the files are named by date and partner code",
        ),
    )


def _chinese_rules() -> Told:
    session = Session()
    session.person(
        "开始之前先说下约定：\n1. 所有接口都要写 swagger 注解\n2. 返回码统一用 ErrorCode 枚举\n"
        "3. 没经过我确认不要动数据库结构\n\n"
        "先做用户列表的分页接口，每页 20 条。"
    )
    session.edits("UserController.java")
    session.answers("完成了，默认每页 20 条。")
    session.person("分页参数不要自己定义，项目里有 PageQuery。还有，测试环境的库在 10.0.3.7，别连成生产的")
    session.edits("UserController.java")
    session.answers("改好了。")
    return Told(
        name="chinese_rules",
        session=session,
        stated=(
            "所有接口都要写 swagger 注解",
            "返回码统一用 ErrorCode 枚举",
            "没经过我确认不要动数据库结构",
            "项目里有 PageQuery",
            "测试环境的库在 10.0.3.7",
        ),
    )


SESSIONS = [
    make()
    for make in (
        _billing,
        _deploy,
        _chinese_backend,
        _notebook,
        _frontend_mixed,
        _routine,
        _rules_first,
        _manager,
        _dictated,
        _chinese_rules,
    )
]


def _persons(told: Told) -> list[EntryDraft]:
    """The entries that rest on what the person typed."""
    evidence = told.session.evidence()
    prompts = {row.number for row in evidence.rows if row.kind.value == "prompt"}
    answer = DeterministicExtractor().extract(evidence)
    return [entry for task in answer.tasks for entry in task.entries if prompts & set(entry.evidence)]


@pytest.mark.parametrize("told", SESSIONS, ids=lambda told: told.name)
def test_nothing_is_told_as_the_persons_that_they_did_not_lay_down(told: Told) -> None:
    """What the assistant advised, a file said, or the work needed just now is no word of the person."""
    known = (*told.stated, *told.allowed)
    assert [
        entry.statement
        for entry in _persons(told)
        if not any(words in entry.statement or entry.statement in words for words in known)
    ] == []


@pytest.mark.parametrize("told", [told for told in SESSIONS if told.name != "dictated"], ids=lambda told: told.name)
def test_each_direction_of_a_session_is_told(told: Told) -> None:
    """What a person lays down between their requests is found, in its own words."""
    statements = [entry.statement for entry in _persons(told)]
    assert [words for words in told.stated if not any(words in statement for statement in statements)] == []


def test_heading_over_a_list_of_rules_is_not_what_was_asked() -> None:
    """The task is named after the request below the rules, not after "Ground rules before we start"."""
    titles = {
        told.name: [task.title for task in DeterministicExtractor().extract(told.session.evidence()).tasks]
        for told in SESSIONS
    }
    assert titles["rules_first"][0].startswith("First task: the CSV importer")
    assert titles["chinese_rules"] == ["先做用户列表的分页接口，每页 20 条"]


def test_dictated_session_keeps_what_it_was_told_to_remember() -> None:
    """Without punctuation, "remember that …" still marks where a rule begins."""
    (told,) = [told for told in SESSIONS if told.name == "dictated"]
    statements = [entry.statement for entry in _persons(told)]
    assert any(
        "anything we send to the partner has to go through the masking step first" in each for each in statements
    )


def test_fact_that_an_assistant_tells_is_no_order_to_the_reader() -> None:
    """Only words that order are kept from being quoted; what mended a failure is often told as a fact."""
    assert not commands_the_reader("Our cache lives in Redis and the test client is closed by the fixture")
    assert commands_the_reader("Never use pip in this repo")
