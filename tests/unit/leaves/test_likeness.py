"""When two statements are the same, and when they can't both hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.likeness import (
    choose_otherwise,
    contradicts,
    likeness,
    same_condition,
    same_statement,
    sense_of,
    signature,
)

SAME = [
    ("use uv, never pip", "always use uv and never use pip"),
    ("I prefer uv over pip", "use uv, never pip"),
    ("run make lint before every commit", "before committing, run make lint"),
    ("always run make lint before committing", "remember to run make lint before commits"),
    ("we use pnpm, not npm", "use pnpm instead of npm"),
    ("Never commit directly to main.", "never commit directly to main"),
    ("总是使用 uv，不要用 pip", "以后用 uv，别用 pip"),
    ("提交前都要跑 make lint", "每次提交前运行 make lint"),
    ("use pnpm, not npm", "we use pnpm here instead of npm"),
    ("use pnpm, not npm", "这个项目用 pnpm，别用 npm"),
    ("Don't touch the vendor/ directory", "please never touch the vendor/ directory"),
    ("Keep responses short", "keep your responses short"),
    ("我们用 pnpm，不用 npm", "这个项目用 pnpm，别用 npm"),
    ("This repo uses tabs", "we use tabs in this repo"),
    ("the default branch is called trunk", "our default branch is trunk"),
    ("Use ruff. Not flake8", "we use ruff, not flake8"),
    ("never commit directly to main; open a PR instead", "Never commit directly to main, open a PR instead"),
    ("不要修改 vendor 目录", "请不要修改 vendor 目录"),
    ("always run make fmt before you commit", "run make fmt before every commit"),
    ("ask me before deleting files", "You should ask me before deleting files"),
    ("remember make lint", "always run make lint"),
    ("never disable the cache", "don't ever disable the cache"),
    ("文档不要写", "不要写文档"),
]
CONTRADICTING = [
    ("run the tests 3 times", "run the tests 5 times"),
    ("use make with jobs 4", "use make with jobs 8"),
    ("show 20 users per page", "show 50 users per page"),
    ("page size is 50", "page size is 20"),
    ("always commit lock files", "never commit lock files"),
    ("use npm", "never use npm"),
    ("use npm", "use pnpm"),
    ("use tabs", "use spaces"),
    ("use 2 spaces", "use 4 spaces"),
    ("prefer uv over pip", "prefer pip over uv"),
    ("use uv, never pip", "use pip"),
    ("always use uv", "from now on use poetry"),
    ("the dev server runs on port 8080", "the dev server runs on port 9090"),
    ("the default branch is main", "the default branch is trunk"),
    ("always squash commits", "don't squash commits"),
    ("answer in English", "answer in Chinese"),
    ("总是用 npm", "不要用 npm"),
    ("用中文回答", "用英文回答"),
    ("Use npm for packages and scripts in this repo", "From now on use pnpm in this repo, not npm"),
    ("the staging DB lives at db-staging.internal:5433", "the staging DB lives at db-staging.internal:5434"),
    ("端口改成 9090 了，不是 8080", "端口是 8080"),
    ("the default branch is trunk", "the default branch is called main"),
    ("这个仓库的默认分支是 develop", "这个仓库的默认分支是 main"),
    ("This repo uses tabs", "this repo uses spaces"),
    ("Keep functions under 40 lines", "Keep functions under 60 lines"),
    ("Use British spelling in docs", "use American spelling in docs"),
    ("reply in French", "reply in English"),
    ("we deploy on Tuesdays", "we deploy on Fridays"),
    ("函数不要超过 50 行", "函数不要超过 80 行"),
    ("线上用的是 Node 18", "线上用的是 Node 20"),
    ("注释写中文", "注释写英文"),
    ("our API is versioned under /v2", "our API is versioned under /v3"),
    ("wrap lines at 100 characters", "wrap lines at 120 characters"),
    ("we host everything on Hetzner", "we host everything on AWS"),
    ("don't mock the database in tests", "mock the database in tests"),
    ("we support Python 3.9 and up", "we support Python 3.11 and up"),
    ("yarn is used here", "yarn is not used here"),
    ("the docs must be used", "the docs must not be used"),
    ("use it in tests", "don't use it in tests"),
    ("migrations run by themselves", "migrations don't run by themselves"),
    ("文档要写", "文档不要写"),
    ("缓存要用", "缓存不要用"),
    ("enable strict mode", "disable strict mode"),
    ("never disable strict mode", "disable strict mode"),
    ("allow force pushes", "forbid force pushes"),
    ("启用缓存", "禁用缓存"),
    ("logs go to /var/log/app", "logs go to /srv/log/app"),
    ("put migrations into db/migrations", "put migrations into database/migrations"),
    ("日志写到 /var/log/app", "日志写到 /srv/log/app"),
    ("配置放在 config/app.yaml", "配置放在 settings/app.yaml"),
    ("端口用 8080", "端口改成 9090"),
    ("变量名用驼峰", "变量名用下划线"),
    ("yarn is used here", "yarn is not used here anymore"),
    ("用 yarn 装依赖", "不再用 yarn 装依赖"),
    ("测试里用 mock", "测试里避免用 mock"),
    ("可以访问网络", "不可以访问网络"),
    ("允许访问网络", "不允许访问网络"),
    ("需要写 changelog", "不需要写 changelog"),
    ("应该用绝对路径", "不应该用绝对路径"),
    ("合并前 rebase", "合并前无需 rebase"),
    ("有 staging 环境", "没有 staging 环境"),
    ("部署到 aws", "部署到 阿里云"),
    ("run 4 workers in CI", "run 8 workers in CI"),
    ("always record 30 fps demos", "always record 60 fps demos"),
    ("give each user 5 seats", "give each user 10 seats"),
    ("split a task 4 ways", "split a task 8 ways"),
    ("每个任务 3 次重试", "每个任务 5 次重试"),
    ("默认用第 3 版接口", "默认用第 4 版接口"),
]
NEITHER = [
    ("always use uv", "always run make lint"),
    ("use uv, never pip", "never use pip"),
    ("use uv", "never use pip"),
    ("always run make lint", "never run make lint in CI"),
    ("always use uv", "always use uv in CI"),
    ("use pytest", "use uv"),
    ("`npm test` runs the tests", "`pnpm lint` lints the code"),
    ("never push to main", "never commit to main"),
    ("use tabs in Makefiles", "use spaces in Python files"),
    ("don't use mocks in integration tests", "use mocks in unit tests"),
    ("`pytest -q` runs the tests", "`pytest -x tests/a.py` runs the tests"),
    ("run pytest -x", "run pytest -v"),
    ("edit src/a.py", "edit src/b.py"),
    ("squash before rebase", "rebase before squash"),
    ("先跑测试再提交", "先提交再跑测试"),
    ("use uv, never pip", "use uv, never poetry"),
    ("use absolute imports", "use trailing commas"),
    ("Don't touch the vendor/ directory", "Don't touch the legacy/ directory"),
    ("the staging DB lives at a:5433", "the prod DB lives at b:5433"),
    ("函数不要超过 50 行", "文件不要超过 300 行"),
    ("注释用英文", "提交信息用英文"),
    ("our linter is eslint", "our formatter is prettier"),
    ("Use ruff", "use mypy"),
    ("branch names start with feat/", "branch names end with the ticket"),
    ("Keep responses short", "keep functions short"),
    ("the backend is written in Go", "the frontend is written in TypeScript"),
    ("we use Redis for caching", "we use Postgres for caching jobs"),
    ("use npm in web/", "use pnpm in api/"),
    ("前端是 Vue3", "后端是 Spring Boot"),
    ("测试环境的数据库在 10.0.3.12:3306", "生产环境的数据库在 10.0.3.13:3306"),
    ("don't add dependencies", "don't add comments"),
    ("We deploy from the release branch only", "we deploy on Fridays only"),
    ("don't use port 8080", "don't use port 9090"),
    ("use pnpm, not npm", "use uv, not pip"),
    ("the queue is called orders-v2, not orders", "the bucket is called orders"),
    ("put unit tests into tests/unit", "put web tests into tests/web"),
    ("run the tests in packages/web", "run the tests in packages/api"),
    ('files changed for "Mend it": src/a.py', 'files changed for "Mend it": src/b.py'),
    ("disable the cache in tests", "never disable the cache"),
    ("不要用 yarn", "用 pnpm"),
    ("不需要加许可证头", "要加 changelog"),
    ("Always ship order 453 first", "Always ship order 493 first"),
    ("keep invoice #17 as a fixture", "keep invoice #18 as a fixture"),
    ("see ticket 345 for the layout", "see ticket 346 for the layout"),
    ("skip test 3 on Windows", "skip test 4 on Windows"),
    ("订单 453 要先处理", "订单 493 要先处理"),
    ("跳过第 3 章", "跳过第 4 章"),
    ("跳过第 3 个用例", "跳过第 4 个用例"),
    ("test 4 fails on CI", "test 5 fails on CI"),
    ("run 12 was the last good one", "run 15 was the last good one"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_reworded_statement_is_the_same(a: str, b: str) -> None:
    """Other words and another order for the same rule may be merged."""
    assert same_statement(a, b)
    assert not contradicts(a, b)


@pytest.mark.parametrize(("a", "b"), CONTRADICTING)
def test_opposite_or_changed_statement_contradicts(a: str, b: str) -> None:
    """What was turned round or given another value contradicts, and is never merged."""
    assert contradicts(a, b)
    assert contradicts(b, a)
    assert not same_statement(a, b)


@pytest.mark.parametrize(("a", "b"), NEITHER)
def test_different_statements_are_neither_merged_nor_opposed(a: str, b: str) -> None:
    """Rules about different things, tools, places or values stand beside each other."""
    assert not same_statement(a, b)
    assert not contradicts(a, b)
    assert not contradicts(b, a)


@pytest.mark.parametrize(("a", "b"), SAME + CONTRADICTING)
def test_what_must_be_compared_shares_a_key(a: str, b: str) -> None:
    """A caller that compares only statements with a common key misses nothing."""
    assert signature(a) & signature(b)


def test_reworded_statement_is_more_alike_than_another_one() -> None:
    """Likeness orders candidates as a reader would."""
    rule = "run make lint before every commit"
    assert likeness(rule, "before commits, run make lint") > likeness(rule, "run make test before every release")
    assert likeness(rule, "the cache is in Redis") < 0.3


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("", "", True),
        ("before every commit", "before committing", True),
        ("before every commit", "before every release", False),
        ("in CI", "", False),
        ("提交前", "每次提交前", True),
        ("in CI", "not in CI", False),
        ("when asked", "unless asked", False),
        ("in code reviews", "except in code reviews", False),
        ("如果失败", "除非失败", False),
    ],
)
def test_conditions_are_compared_by_what_they_name(a: str, b: str, *, same: bool) -> None:
    """Two ways to name the same circumstances are one condition."""
    assert same_condition(a, b) is same


_VOCABULARY = """
use never uv pip npm pnpm always before commit 8080 9090 tabs spaces not 不要 用 总是 测试 src/a.py
, is in CI over instead of
"""
_WORDS = st.sampled_from(_VOCABULARY.split())
_TEXT = st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=8).map(" ".join))


@settings(max_examples=100, deadline=None)
@given(_TEXT)
def test_every_statement_is_its_own_and_never_against_itself(a: str) -> None:
    """Likeness is one, merging is safe and nothing contradicts itself."""
    assert likeness(a, a) == 1.0
    assert same_statement(a, a)
    assert not contradicts(a, a)
    assert signature(a)


@settings(max_examples=100, deadline=None)
@given(_TEXT, _TEXT)
def test_comparison_is_symmetric_and_bounded(a: str, b: str) -> None:
    """The order of the two makes no difference, and candidates are found by their keys."""
    assert 0.0 <= likeness(a, b) <= 1.0
    assert likeness(a, b) == likeness(b, a)
    assert same_statement(a, b) == same_statement(b, a)
    assert contradicts(a, b) == contradicts(b, a)
    assert not (same_statement(a, b) and contradicts(a, b))
    if same_statement(a, b) or contradicts(a, b):
        assert signature(a) & signature(b)


def test_the_sense_of_a_statement_is_what_a_rewording_must_keep() -> None:
    """Words that count by their stems, what is refused of them, circumstances, names, and whether it negates."""
    sense = sense_of("Never use npm before releases")
    assert (sense.refused, sense.place, sense.exact) == ({"npm"}, {"releas"}, {"npm"})
    assert sense.asked == {"releas"}
    assert sense.negates
    assert not sense_of("Use pnpm").negates
    assert sense_of("不要用 npm").refused == sense.refused


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("we're a urllib3 project by the way", "we no longer use urllib3, use httpx"),
        ("always go for biome when you need something like prettier", "biome is gone, we use dprint now"),
        ("don't forget we're using poetry", "we replaced poetry with uv"),
        ("最好用 bun", "从今天起用 yarn，不用 bun"),
        ("poetry is what we have", "poetry is history, we moved over to uv last week"),
        ("whenever you'd take npm, take pnpm", "we went back to npm"),
    ],
)
def test_another_choice_of_one_family_contradicts_in_whatever_words(older: str, newer: str) -> None:
    """A project uses one package manager, one test runner: who names another one says that it changed."""
    assert contradicts(older, newer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use kafka for events", "use rabbitmq for mails"),
        ("we use postgres in production", "use sqlite in tests"),
        ("we use postgres", "在测试里用 sqlite"),
        ("`npm test` runs the tests", "`pnpm lint` lints the code"),
        ("we use uv", "never use pip"),
        ("use pnpm, not npm", "we use pnpm here, npm is gone"),
    ],
)
def test_choices_in_other_places_or_of_the_same_tool_stand_beside_each_other(one: str, other: str) -> None:
    """What is said of a part, of a command, or of what is not used, changes no choice."""
    assert not contradicts(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "the thing is, we've got kafka set up everywhere and I'd like to keep it that way",
            "we swapped kafka for nats",
        ),
        ("whenever there's a choice between jest and mocha take jest", "jest was retired, use ava"),
        ("uv for everything but the demo, which has conda", "we're off uv and on poetry now"),
        ("我们一直都用 yarn", "yarn 换成 pnpm 了"),
        ("whenever I save it flickers - I'm happier with yarn", "we swapped yarn for pnpm"),
        ("for all of these we take bun and not yarn", "we ended up swapping bun for npm"),
        ("stick to pytest for this billing repo, nobody can install nose", "pytest 已全部切到 unittest"),
        ("the team's notebooks expect mocha rather than ava", "we cut over from mocha to jest last night"),
    ],
)
def test_announced_switch_ends_what_was_said_of_the_old_tool(old: str, new: str) -> None:
    """However much was said around it."""
    assert choose_otherwise(old, new)
    assert choose_otherwise(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use tox when releasing to pypi", "we moved from tox to nox"),
        ("jest in the scripts folder", "we replaced jest with ava"),
        ("kafka has its certificate in /etc/kafka/tls", "we swapped kafka for nats"),
        ("never use jest", "we replaced jest with ava"),
    ],
)
def test_announced_switch_ends_nothing_that_holds_elsewhere_or_says_more(old: str, new: str) -> None:
    """What holds at times, names a path, or refuses the old tool as well, stays."""
    assert not choose_otherwise(old, new)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("in future please put secrets into the vault", "put secrets into the vault"),
        ("no mocking the database, house rule", "do not mock the database in this repo"),
        ("everyone on the project is expected to squash commits", "squash your commits, that's how we do it"),
        ("以后请先写测试再写实现", "我比较喜欢先写测试再写实现"),
    ],
)
def test_words_that_only_say_that_it_is_a_rule_make_no_second_rule(one: str, other: str) -> None:
    """The same is asked for, whoever asks and however politely."""
    assert same_statement(one, other)
    assert same_statement(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the rule is not to push to main", "push to main"),
        ("I'd rather you didn't push to main", "push to main"),
        ("don't forget to push", "don't push"),
    ],
)
def test_a_frame_never_takes_a_refusal_with_it(one: str, other: str) -> None:
    """What is left of two rules may be alike, and one of them still refuse it."""
    assert not same_statement(one, other)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("we use npm", "don't switch from npm to pnpm"),
        ("use npm", "we decided against moving away from npm to pnpm"),
        ("we use npm", "Just this once, use pnpm instead of npm"),
        ("我们用 npm", "别从 npm 换成 pnpm"),
        ("use npm", "就这一次用 pnpm 代替 npm"),
    ],
)
def test_a_change_that_is_refused_or_made_once_ends_nothing(known: str, told: str) -> None:
    """It says that all stays as it is, or comes back."""
    assert not contradicts(known, told)
    assert not contradicts(told, known)
    assert not choose_otherwise(known, told)


@pytest.mark.parametrize("told", ["we switched from npm to pnpm", "use pnpm"])
def test_a_refusal_of_a_change_gives_way_once_it_is_made(told: str) -> None:
    """The one who refused it has made it after all."""
    assert contradicts("don't switch from npm to pnpm", told)
