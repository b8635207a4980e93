"""Labels, as tables of cases in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import OTHER_PROJECT, entry, learned, memory

from memory_pipeline.records import DraftLabel, EntryKind, Memory
from memory_pipeline.review.labels import Known, Labelled, Labeller, is_passing, known_of


def label(new: str, *known: str, **fields: str) -> Labelled:
    """Label one statement against a person's memories of the same scope."""
    labeller = Labeller(known_of([memory(text, number=n) for n, text in enumerate(known)], is_persons=lambda _m: True))
    return labeller.label(entry(new, thread="thread-b", **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use npm for packages.", "Use pnpm for packages."),
        ("Use npm for packages.", "Use pnpm, not npm."),
        ("The dev server listens on port 8080.", "The dev server listens on port 9090."),
        ("Never commit to main directly.", "Commit to main directly."),
        ("Always write commit messages in English.", "Never write commit messages in English."),
        ("The config lives in /etc/shop/app.toml.", "The config lives in /srv/shop/app.toml."),
        ("Write logs to /var/log/app.", "Write logs to /srv/log/app."),
        ("Enable strict mode.", "Disable strict mode."),
        ("Yarn is used here.", "Yarn is not used here."),
        ("日志写到 /var/log/app", "日志写到 /srv/log/app"),
        ("文档要写", "文档不要写"),
        ("端口用 8080", "端口改成 9090"),
        ("Keep functions under 50 lines.", "Keep functions under 80 lines."),
        ("The database is PostgreSQL 15.", "The database is PostgreSQL 16."),
        ("Prefer httpx over requests.", "Prefer requests over httpx."),
        ("Use spaces, not tabs.", "Indent with tabs."),
        ("提交信息用中文写。", "提交信息用英文写。"),
        ("用 npm 安装依赖。", "用 pnpm 安装依赖。"),
        ("Answer in German.", "Reply in English."),
        ("用中文回答", "Answer in English"),
        ("Use tabs.", "Indent with spaces."),
        ("开发服务器的端口是 8080。", "开发服务器的端口是 9090。"),
        ("不要直接推送到 main 分支。", "可以直接推送到 main 分支。"),
        ("提交前要跑测试", "提交前不要跑测试"),
        ("合并之后删除分支", "合并之后不要删除分支"),
    ],
)
def test_what_cannot_hold_together_is_a_conflict(old: str, new: str) -> None:
    """A negation, a changed value and an opposite directive contradict, whichever of the two came first."""
    assert label(new, old).label is DraftLabel.CONFLICT
    assert label(old, new).label is DraftLabel.CONFLICT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Run the tests with pytest before every commit.", "Before every commit run pytest and ruff."),
        ("Use pnpm for packages.", "Please always install packages with pnpm."),
        ("Always write commit messages in English.", "Commit messages are written in English."),
        ("Deploy only after Kim has approved.", "Kim must approve before you deploy."),
        ("部署前先跑测试。", "部署之前要先跑一遍测试。"),
    ],
)
def test_what_is_much_like_a_memory_refines_it(old: str, new: str) -> None:
    """Other words and another order of words do not hide what a draft is about."""
    labelled = label(new, old, "The logo is blue.")
    assert labelled.label is DraftLabel.REFINE
    assert labelled.nearest[0] == "m_0000000000000000"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use pnpm for packages.", "Always use pnpm for packages!"),
        ("提交信息用中文写。", "提交信息一律用中文写"),
        ("Run ruff before every commit.", "Before every commit run ruff."),
    ],
)
def test_what_says_the_same_confirms(old: str, new: str) -> None:
    """In another session it is independent; in the same one it is not."""
    labelled = label(new, old)
    assert (labelled.label, labelled.is_independent) == (DraftLabel.CONFIRM, True)
    labeller = Labeller(known_of([memory(old, thread="thread-a")], is_persons=lambda _m: True))
    again = labeller.label(entry(new, thread="thread-a"))
    assert (again.label, again.is_independent) == (DraftLabel.CONFIRM, False)


def test_a_copied_session_confirms_nothing() -> None:
    """A draft that rests on the very line that the memory rests on is not independent of it."""
    draft = entry("Use pnpm.", thread="fork")
    lines = frozenset(line.line_sha256 for line in draft.evidence)
    labeller = Labeller(known_of([memory("Use pnpm.")], is_persons=lambda _m: True), lines_of=lambda _known: lines)
    assert labeller.label(draft).is_independent is False


@pytest.mark.parametrize(
    "text",
    [
        "For now, skip the flaky test.",
        "The tests are still failing on main.",
        "Don't deploy until Friday.",
        "Leave the old endpoint in place this week.",
        "Just this once, push without a review.",
        "CI is down, so merge by hand.",
        "目前构建是坏的",
        "当前测试还在失败",
        "今天先不要部署。",
        "暂时不要动数据库。",
        "这次用 npm 装。",
        "Use npm today, not pnpm.",
        "Use pnpm this week instead of npm",
        "For now we switched from npm to yarn",
    ],
)
def test_what_holds_for_the_moment_only_is_ephemeral(text: str) -> None:
    """Whatever it contradicts or is like."""
    assert label(text, "Use pnpm.", "Deploy on Friday.").label is DraftLabel.EPHEMERAL


@pytest.mark.parametrize(
    "text",
    [
        "Use pnpm.",
        "Never deploy on Fridays.",
        "临时文件放在 tmp 目录。",
        "Keep the temporary files in /var/tmp.",
        "Never skip a failing test.",
        "When CI is red, fix it before anything else.",
        "If the build is broken, revert the commit.",
        "Call Kim when the server is down.",
        "Tag releases that are still pending as drafts.",
        "Write today's date into the changelog.",
        "如果测试还在失败，不要合并",
        "服务挂了要先看日志",
        "From today it's pnpm.",
        "Starting this week we deploy on Tuesdays.",
        "从今天起用 mysql，不用 mariadb",
        'Files changed for "The date test is red today": src/date.ts.',
        "`make today` rebuilds the index.",
        "We changed from uv to conda yesterday",
        "The api moved from 8080 to 9090 today.",
        "昨天从 yarn 换成了 pnpm",
    ],
)
def test_what_lasts_is_not_ephemeral(text: str) -> None:
    """A weekday, a temporary file and a failing test may all stand in a rule that lasts."""
    assert not is_passing(text)


def test_what_tells_of_another_command_refines_nothing() -> None:
    """However alike the two sentences are; of the same command it does."""
    build, test = "`pnpm build` builds the project; it passed", "`pnpm test -- landing` runs the tests; it passed"
    assert label(build, test).label is DraftLabel.NEW
    assert label("`pnpm build` builds the whole project", build).label is DraftLabel.REFINE


def test_a_failure_is_told_of_the_past() -> None:
    """What was down, and how it came up again, is worth remembering."""
    failure = entry("The build is broken without node 20 -> fixed by nvm.", kind=EntryKind.FAILURE)
    assert Labeller([]).label(failure).label is DraftLabel.NEW


def test_what_is_remembered_elsewhere_or_no_longer_counts_for_nothing() -> None:
    """Only active memories of the same scope are compared with."""
    other = memory("Use npm.", number=1, scope=OTHER_PROJECT)
    labeller = Labeller(known_of([other], is_persons=lambda _m: True))
    assert labeller.label(entry("Use pnpm.")).label is DraftLabel.NEW


def test_a_statement_of_a_file_is_compared_with_drafts_of_every_scope_and_kind() -> None:
    """What is given for comparison need not say where it holds."""
    labeller = Labeller([Known(known_id="file:1", statement="The port is 8080.")])
    labelled = labeller.label(learned("The port is 9090."))
    assert (labelled.label, labelled.nearest) == (DraftLabel.CONFLICT, ("file:1",))


def test_what_a_person_wants_does_not_contradict_how_a_thing_is() -> None:
    """A wish may differ from the present state; a tool that says otherwise than the person is a conflict."""
    fact: Memory = memory("The package manager is npm.", kind=EntryKind.KNOWLEDGE)
    wish = entry("The package manager is pnpm.", kind=EntryKind.PREFERENCE)
    assert Labeller(known_of([fact], is_persons=lambda _m: False)).label(wish).label is not DraftLabel.CONFLICT
    stated: Memory = memory("The package manager is npm.")
    seen = learned("The package manager is pnpm.")
    assert Labeller(known_of([stated], is_persons=lambda _m: True)).label(seen).label is DraftLabel.CONFLICT


def test_what_a_model_flagged_is_a_conflict() -> None:
    """The curator's model may see what no rule sees."""
    labeller = Labeller(known_of([memory("Ship on Mondays.")], is_persons=lambda _m: True))
    assert labeller.label(entry("Releases leave the house late."), is_flagged=True).label is DraftLabel.CONFLICT


WORDS = st.sampled_from(
    [
        *("use", "pnpm", "npm", "ruff", "deploy", "main", "tests", "never", "always", "before", "commit"),
        *("port", "8080", "9090", "部署", "测试"),
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)


@given(old=st.lists(TEXTS, max_size=6), new=TEXTS)
@settings(max_examples=80, deadline=None)
def test_every_draft_has_one_label_and_names_only_what_is_known(old: list[str], new: str) -> None:
    """Whatever is remembered, in whatever order it is given."""
    memories = [memory(text, number=n) for n, text in enumerate(old)]
    one = Labeller(known_of(memories, is_persons=lambda _m: True)).label(entry(new, thread="thread-b"))
    other = Labeller(known_of(memories[::-1], is_persons=lambda _m: True)).label(entry(new, thread="thread-b"))
    assert one == other
    assert set(one.nearest) <= {item.memory_id for item in memories}
    assert len(set(one.nearest)) == len(one.nearest)
