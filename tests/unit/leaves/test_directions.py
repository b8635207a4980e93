"""What counts as a direction of the person, and what only looks like one."""

from __future__ import annotations

import pytest
from direction_prompts import AT_LENGTH, LASTING_IN_CHINESE, LASTING_IN_ENGLISH, PASSING, Prompt, lines, prompts
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.directions import find_directions, gives_direction, own_words, sentences
from memory_pipeline.records import EntryKind

PREFERENCES = [
    ("write a notes file, always use uv never pip", "always use uv never pip"),
    ("fix the failing test; I prefer uv over pip", "I prefer uv over pip"),
    ("write a notes file; remember we use uv, never pip", "we use uv, never pip"),
    ("please remember: use uv, never pip", "use uv, never pip"),
    ("I refused because always use uv", "always use uv"),
    ("Please always answer in German.", "always answer in German"),
    ("Never commit directly to main.", "Never commit directly to main"),
    ("Don't ever touch the generated files in src/gen.", "Don't ever touch the generated files in src/gen"),
    ("I'd rather you ask before deleting files.", "I'd rather you ask before deleting files"),
    ("I like short commit messages.", "I like short commit messages"),
    ("We use pnpm, not npm.", "We use pnpm, not npm"),
    ("use httpx instead of requests", "use httpx instead of requests"),
    ("Stop adding comments to every function.", "Stop adding comments to every function"),
    ("Use tabs by default.", "Use tabs by default"),
    ("going forward, no emojis in commit messages", "going forward, no emojis in commit messages"),
    ("We no longer use webpack.", "We no longer use webpack"),
    ("Don't push unless the tests are green.", "Don't push unless the tests are green"),
    ("When you write tests, always use pytest.", "When you write tests, always use pytest"),
    ("don't use npm, use pnpm", "don't use npm, use pnpm"),
    ("All new endpoints must have an integration test.", "All new endpoints must have an integration test"),
    ("fix the bug. Also, in this repo we use ruff, never flake8.", "in this repo we use ruff, never flake8"),
    ("Could you remember that our deploy branch is release/prod?", "our deploy branch is release/prod"),
    ("You should never edit files in vendor/.", "You should never edit files in vendor/"),
    ("I don't want you to touch the tests, ever.", "I don't want you to touch the tests, ever"),
    ("commit messages must be in English", "commit messages must be in English"),
    ("For commit messages use the imperative mood", "For commit messages use the imperative mood"),
    ("next time ask before you delete something", "next time ask before you delete something"),
    ("we deploy with fly, not heroku", "we deploy with fly, not heroku"),
    ("make the tests pass and never touch the fixtures", "never touch the fixtures"),
    ("我不想让你改测试文件", "我不想让你改测试文件"),
    ("请用中文回答", "用中文回答"),
    ("注释用英文", "注释用英文"),
    ("总是使用 uv，不要用 pip", "总是使用 uv，不要用 pip"),
    ("帮我修一下测试，以后一律用 pnpm", "以后一律用 pnpm"),
    ("永远不要直接推送到 main 分支", "永远不要直接推送到 main 分支"),
    ("记住：我们用 uv，不用 pip", "我们用 uv，不用 pip"),
    ("统一用 TypeScript 写新代码", "统一用 TypeScript 写新代码"),
    ("优先用标准库", "优先用标准库"),
    ("不要用 npm，要用 pnpm", "不要用 npm，要用 pnpm"),
    ("我更喜欢简短的提交信息", "我更喜欢简短的提交信息"),
    ("我们用 pnpm 不用 npm", "我们用 pnpm 不用 npm"),
    ("别用 print 调试，改用 logging", "别用 print 调试，改用 logging"),
    ("从现在起，回答都用中文", "从现在起，回答都用中文"),
    ("好的，谢谢。以后别再改 lock 文件了", "以后别再改 lock 文件了"),
    ("绝不要提交 .env 文件", "绝不要提交 .env 文件"),
    ("Bitte immer uv verwenden", "Bitte immer uv verwenden"),
    ("siempre usa uv, nunca pip", "siempre usa uv, nunca pip"),
    ("今後は日本語で答えて", "今後は日本語で答えて"),
]


@pytest.mark.parametrize(("prompt", "text"), PREFERENCES)
def test_preference_is_found_in_the_persons_own_words(prompt: str, text: str) -> None:
    """The clause that states a preference is returned verbatim, without the request around it."""
    assert [(each.kind, each.text) for each in find_directions(prompt)] == [(EntryKind.PREFERENCE, text)]


PROCEDURES = [
    ("and run make lint before every commit", "run make lint before every commit", "before every commit"),
    ("and always run make lint before committing", "always run make lint before committing", "before committing"),
    ("before committing run make lint", "before committing run make lint", "before committing"),
    ("remember to run make lint before commits", "run make lint before commits", "before commits"),
    (
        "make sure to update CHANGELOG.md every time you change the public API",
        "make sure to update CHANGELOG.md every time you change the public API",
        "every time you change the public API",
    ),
    (
        "whenever you change the schema, regenerate the client with make gen",
        "whenever you change the schema, regenerate the client with make gen",
        "whenever you change the schema",
    ),
    ("When I say ship it, run make release", "When I say ship it, run make release", "When I say ship it"),
    ("下次先问我再删文件", "下次先问我再删文件", ""),
    ("以后提交前都要跑 make lint", "以后提交前都要跑 make lint", "提交前"),
    ("请记得每次提交前运行 make test", "每次提交前运行 make test", "每次提交前"),
    ("每次发布前先跑 make check，然后打 tag", "每次发布前先跑 make check，然后打 tag", "每次发布前"),
]


@pytest.mark.parametrize(("prompt", "text", "condition"), PROCEDURES)
def test_procedure_is_found_with_its_condition(prompt: str, text: str, condition: str) -> None:
    """What to do when is a procedure, and the words that say when are its condition."""
    (found,) = find_directions(prompt)
    assert (found.kind, found.text, found.condition) == (EntryKind.PROCEDURE, text, condition)


DECISIONS = [
    "Let's go with Postgres for the job queue",
    "we decided to keep SQLite for now",
    "we'll use Redis for the cache",
    "I've decided to drop Python 3.9 support",
    "go with option B",
    "就用 Postgres 做队列",
    "图表库就用 ECharts，不要用 D3",
    "我们决定用 Redis 做缓存",
    "定下来用 FastAPI",
]


@pytest.mark.parametrize("prompt", DECISIONS)
def test_decision_is_found(prompt: str) -> None:
    """A settled choice is a decision."""
    assert [(each.kind, each.text) for each in find_directions(prompt + "。")] == [(EntryKind.DECISION, prompt)]


CORRECTIONS = [
    ("no, use pnpm", "use pnpm"),
    ("No. Use pnpm, not npm.", "Use pnpm, not npm"),
    ("that's wrong, the port is 9090", "the port is 9090"),
    ("not npm but pnpm", "not npm but pnpm"),
    ("I said use pnpm", "use pnpm"),
    ("不对，应该用 9090 端口", "应该用 9090 端口"),
    ("我说的是 pnpm，不是 npm", "我说的是 pnpm，不是 npm"),
]


@pytest.mark.parametrize(("prompt", "text"), CORRECTIONS)
def test_correction_is_marked(prompt: str, text: str) -> None:
    """What the person puts right is kept and marked as a correction."""
    assert [(each.text, each.correction) for each in find_directions(prompt)] == [(text, True)]


NO_DIRECTIONS = [
    "always returns null, why?",
    "The function never terminates.",
    "it always fails on the second run",
    "remember when we fixed the parser?",
    "do you remember the port?",
    "make sure the test passes",
    "why does it always crash?",
    "I never got an answer from the API",
    "we always get a timeout here",
    "as always, thanks",
    "never mind",
    "it no longer works",
    "use the helper here instead of the loop",
    "don't touch this yet",
    "don't commit yet",
    "I like this approach",
    "I prefer the second option",
    "it should never happen",
    "should we always use uv?",
    "what happens if I always use uv?",
    "maybe we should always use uv",
    "run the tests before you stop",
    "stop the server",
    "add a test for the parser and run it",
    "try to write without permission",
    "let's use a loop here",
    "go with that",
    "yes, do that",
    "we use redis and it fails with a timeout error",
    "the app crashes every time I click save",
    "Every time I open the page it reloads",
    "no, the other file",
    "No, don't paper over it.",
    "that's wrong",
    "write a function that always returns true",
    "implement a cache that never expires",
    "Implement retry: it should always retry 3 times on 5xx",
    "Write a test that checks that we never return null",
    "if the file is missing, always create it",
    "add a --never-cache flag",
    "rename always_on to enabled",
    "see docs/never.md",
    'What does "always" mean here?',
    "run it every time",
    "what do you know about me",
    "Always show the sidebar on the settings page",
    "the sidebar should always be visible",
    "users should never see this page",
    "The API must always return JSON",
    "You can always call me back",
    "Let's use sqlite for this, it's simpler",
    "hey remember the bug from yesterday? it's back",
    "你总是忘记跑测试",
    "记得把文档也更新一下",
    "帮我加一个永远不过期的缓存",
    "为什么总是返回 null？",
    "这个函数总是报错",
    "测试总是失败",
    "你还记得上次的端口吗",
    "以后再说",
    "我喜欢这个方案",
    "就用这个",
    "每次打开都报错",
    "不要用这个方法",
    "必须修好这个 bug",
    "他说以后都用 pip",
    "怎么每次都要重新登录",
]


@pytest.mark.parametrize("prompt", NO_DIRECTIONS)
def test_request_question_or_report_gives_no_direction(prompt: str) -> None:
    """One-off requests, questions and reported trouble are not rules, whatever words they use."""
    assert find_directions(prompt) == ()
    assert not gives_direction(prompt)


PASTED = [
    "look at this:\n```\nalways use pip\nnever use uv\n```",
    "fix it\n> always use pip\n> never use uv",
    "Here is our guide:\n# Contributing\n\nAlways use pip.\nNever use uv.\nSign your commits.\n",
    "the readme says:\nAlways use pip.",
    "the docs say: always use pip",
    'The error says "never use pip in production".',
    "2026-01-01 10:00:00 INFO always run X\n2026-01-01 10:00:01 ERROR never do Y\n2026-01-01 10:00:01 ERROR foo",
    'please fix:\nTraceback (most recent call last):\n  File "x.py", line 3\nValueError: never use this',
    "<document>\nremember: always use pip\n</document>\nsummarise it",
    "看一下日志：\n总是用 pip",
    "他在文档里写“永远不要用 uv”",
]


@pytest.mark.parametrize("prompt", PASTED)
def test_pasted_or_quoted_text_is_not_the_persons_word(prompt: str) -> None:
    """Fenced code, quotations, logs and documents give no direction."""
    assert find_directions(prompt) == ()


def test_direction_beside_a_pasted_block_is_found() -> None:
    """A rule that the person wrote themselves counts, though a fence beside it says the opposite."""
    prompt = "Look at the bug\n```\nalways use pip\n```\nAlso from now on never use pip."
    assert [each.text for each in find_directions(prompt)] == ["from now on never use pip"]


def test_placeholder_in_a_prompt_does_not_hide_what_follows() -> None:
    """A tag that the person typed and never closed leaves their words their own."""
    assert [each.text for each in find_directions("deploy to <env>. Always use uv for that project.")] == [
        "Always use uv for that project"
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "In all my projects, use conventional commits.",
        "never force push, in any repo",
        "always answer in English, in every project",
        "And in all my projects: never add a license header",
        "across all repos: sign your commits with -s",
        "always use uv everywhere I work",
        "no matter which project, don't push without my say",
        "无论哪个项目，都不要自动提交",
        "在所有项目里都不要用 any",
        "在所有项目里都用 conventional commits",
        "全局统一用 2 个空格缩进",
    ],
)
def test_direction_that_holds_everywhere_is_marked(prompt: str) -> None:
    """Only the person's own word lifts a direction above its project."""
    assert [each.everywhere for each in find_directions(prompt)] == [True]


@pytest.mark.parametrize(
    "prompt",
    [
        "in this repo we use ruff, never flake8",
        "never install packages globally, use uv",
        "use basket instead of cart everywhere it stands, always",
        "loguru everywhere",
        "no empty names allowed in the form, and loguru everywhere",
        "never add print statements, just loguru everywhere",
        "always write tox, not nox, everywhere i wrote it",
    ],
)
def test_direction_of_one_project_is_not_marked_everywhere(prompt: str) -> None:
    """The word "globally" in a command's sense, "this repo", or "everywhere" in a text, lifts nothing."""
    assert [each.everywhere for each in find_directions(prompt)] == [False]


@pytest.mark.parametrize("line", [*lines(LASTING_IN_ENGLISH), *lines(LASTING_IN_CHINESE)])
def test_what_a_person_lays_down_is_found_whole(line: str) -> None:
    """Rules, manners, decisions and facts are found without a word that says "always", and kept whole enough."""
    prompt, _, wanted = line.partition(" => ")
    words = [word.strip().casefold() for word in wanted.split(" & ")]
    found = [direction.text.casefold() for direction in find_directions(prompt)]
    assert [text for text in found if all(word in text for word in words)]


@pytest.mark.parametrize("prompt", lines(PASSING))
def test_what_is_asked_told_or_described_for_now_is_left_out(prompt: str) -> None:
    """Work for now, trouble, questions, and what a product shall do give no direction."""
    assert find_directions(prompt) == ()


def _missed(prompt: Prompt) -> list[str]:
    found = [each.text.casefold() for each in find_directions(prompt.text)]
    return [words for words in prompt.wanted if not any(words in text for text in found)]


def _wrong(prompt: Prompt) -> list[str]:
    known = (*prompt.wanted, *prompt.allowed)
    found = [each.text.casefold() for each in find_directions(prompt.text)]
    return [text for text in found if not any(words in text or text in words for words in known)]


def test_nine_of_ten_directions_that_are_buried_in_longer_prompts_are_found() -> None:
    """Fragments, asides, corrections, reasons, typed lists and learners' English count as much as plain rules do."""
    told = prompts(AT_LENGTH)
    missed = [words for each in told for words in _missed(each)]
    assert len(missed) <= sum(len(each.wanted) for each in told) * 0.1, missed


def test_hardly_anything_else_in_longer_prompts_is_taken_for_a_direction() -> None:
    """Of what is found, no more than three in a hundred were not laid down by the person."""
    told = prompts(AT_LENGTH)
    wrong = [text for each in told for text in _wrong(each)]
    assert len(wrong) <= sum(len(find_directions(each.text)) for each in told) * 0.03, wrong


REPORTS_WITH_AN_OK = ["ok set it. From now on always use uv.", "ok 3 things. Never push to main."]


@pytest.mark.parametrize("prompt", REPORTS_WITH_AN_OK)
def test_prompt_that_opens_with_ok_is_no_test_log(prompt: str) -> None:
    """``ok`` opens a line of some test logs, and many a prompt."""
    assert find_directions(prompt)


HELD_BY_THE_NEXT = [
    ("raw sql in reports, the ORM elsewhere. that's the rule.", "raw sql in reports, the ORM elsewhere"),
    ("could you spell out the variable names? like always", "spell out the variable names"),
]


@pytest.mark.parametrize(("prompt", "text"), HELD_BY_THE_NEXT)
def test_sentence_that_the_next_one_calls_a_rule_is_one(prompt: str, text: str) -> None:
    """Words like "that's the rule" and "like always" make the sentence before them last."""
    assert [each.text for each in find_directions(prompt)] == [text]


CONDITIONS = [
    ("Before you open the PR, run make audit", "Before you open the PR"),
    ("we never rebuild indexes before the nightly backup", "before the nightly"),
    ("always tell me what a command does before you run it for the first time", "before you run it"),
    ("I'd feel better if you never ran anything with sudo", ""),
    ("endpoints must be marked deprecated before it all goes", ""),
    ("runs before exp10 used the old tokenizer, they can't be compared with ours", ""),
]


@pytest.mark.parametrize(("prompt", "condition"), CONDITIONS)
def test_condition_is_told_whole_and_only_when_it_is_one(prompt: str, condition: str) -> None:
    """A circumstance at the start runs to its comma; what merely names a time of something else is none."""
    assert {each.condition for each in find_directions(f"Note: {prompt}")} == {condition}


@pytest.mark.parametrize(
    ("prompt", "condition"),
    [
        ("Always indent with tabs, not in Python files.", "not in Python files"),
        ("Always use npm, but not in CI.", "not in CI"),
        ("Always answer in German, except in code reviews.", "except in code reviews"),
        ("Always indent with tabs in Python files.", "in Python files"),
    ],
)
def test_an_exception_is_told_as_one(prompt: str, condition: str) -> None:
    """Where a rule does not hold is never told as where it holds."""
    (found,) = find_directions(prompt)
    assert found.condition == condition


SAID_WHOLE = [
    ("Never commit directly to main; open a PR instead", "Never commit directly to main; open a PR instead"),
    ("Use ruff. Not flake8.", "Use ruff. Not flake8"),
    ("Don't use mocks; use the fake server in tests/fakes", "Don't use mocks; use the fake server in tests/fakes"),
    ("we never edit old migrations, always make a new one", "we never edit old migrations, always make a new one"),
    ("不确定的时候先问我", "不确定的时候先问我"),
    ("Remember: in this project, always run make fmt", "in this project, always run make fmt"),
]


@pytest.mark.parametrize(("prompt", "text"), SAID_WHOLE)
def test_both_halves_of_a_rule_are_one_statement(prompt: str, text: str) -> None:
    """What to do and what not to do is one rule, and no half of it stands alone."""
    assert [each.text for each in find_directions(prompt)] == [text]


FACTS = [
    "This repo uses tabs",
    "the default branch is called trunk",
    "our API is versioned under /v2",
    "production runs on Kubernetes in eu-west-1",
    "the staging DB lives at db-staging.internal:5433",
    "这个仓库的默认分支是 develop",
    "数据库是 MySQL 8，字符集 utf8mb4",
]


@pytest.mark.parametrize("prompt", FACTS)
def test_fact_of_the_project_is_knowledge(prompt: str) -> None:
    """What is so, rather than what to do, is knowledge in the person's words."""
    assert [(each.kind, each.text) for each in find_directions(prompt)] == [(EntryKind.KNOWLEDGE, prompt)]


def test_the_same_words_are_a_rule_alone_and_a_part_of_the_task_beside_one() -> None:
    """A manner beside a request belongs to the request; a ban on what the agent does is a rule even there."""
    assert [each.text for each in find_directions("Use early returns and guard clauses.")]
    assert find_directions("Refactor the parser. Use early returns and guard clauses.") == ()
    assert [each.text for each in find_directions("Refactor the parser. Don't add new dependencies.")] == [
        "Don't add new dependencies"
    ]


def test_list_of_rules_gives_one_direction_each() -> None:
    """Each item of a list of rules stands for itself."""
    prompt = "Rules:\n- always use type hints\n- never use print, use logging\n- don't add emojis"
    assert [each.text for each in find_directions(prompt)] == [
        "always use type hints",
        "never use print, use logging",
        "don't add emojis",
    ]


def test_sentences_are_not_cut_in_versions_paths_code_or_abbreviations() -> None:
    """A full stop ends a sentence only where one ends."""
    text = "Use v1.2.3 of src/a.py, e.g. `x. y`. Then stop。好的！再见"
    assert [each.text for each in sentences(text)] == [
        "Use v1.2.3 of src/a.py, e.g. `x. y`",
        "Then stop",
        "好的",
        "再见",
    ]


def test_very_long_paste_keeps_only_short_ends_as_own_words() -> None:
    """Of a text that nobody types, the short paragraphs before and after it count."""
    middle = "\n\n".join(f"Line {number} of a manual\nmore of it" for number in range(80))
    kept = own_words(f"please summarise\n\n{middle}\n\nalways use uv")
    assert kept == "please summarise\n\nalways use uv"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read_without_error_and_directions_are_its_own_words(text: str) -> None:
    """Whatever was typed, a direction's words and condition stand in it."""
    for direction in find_directions(text + "\nalways use uv, when " + text):
        assert direction.text
        assert direction.condition in direction.text


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_quick_look_agrees_with_the_whole_search(text: str) -> None:
    """``gives_direction`` is true exactly when something is found."""
    assert gives_direction(text) == bool(find_directions(text))


def test_half_a_bracket_is_no_part_of_a_statement() -> None:
    """A remark in brackets that ran on behind the clause is left out, and what stands before it stays whole."""
    (found,) = find_directions("Always use Node 20 (not 18, our CI is on 20).")
    assert found.text == "Always use Node 20"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("from now on use sqs. write a test", "from now on use sqs"),
        ("from here on we're on nox. add a test", "from here on we're on nox"),
        ("class names are always in camel case. rename this one", "class names are always in camel case"),
    ],
)
def test_prompt_that_begins_with_a_word_of_code_is_no_code(prompt: str, text: str) -> None:
    """Lines of programs begin with "from" and "class", and so do rules."""
    assert text in [each.text for each in find_directions(prompt)]


@pytest.mark.parametrize(
    "line",
    [
        "from os import path",
        "import java.util.List;",
        "import { a } from 'b'",
        "def always(use, tabs):",
        "class Never extends Always {",
        "const always = use(tabs);",
        "#include <always.h>",
        "return always(tabs);",
    ],
)
def test_pasted_line_of_code_is_not_the_persons_word(line: str) -> None:
    """A paragraph of nothing else was not said."""
    assert own_words(line) == ""


@pytest.mark.parametrize(
    "prompt",
    [
        "flaky test: mark it, open a ticket, carry on",
        "Rename the column. Oh, flaky test: mark it, open a ticket, carry on.",
        "new client: copy the template, set the id, deploy",
    ],
)
def test_steps_under_a_name_are_a_way_of_doing_something(prompt: str) -> None:
    """Though each of them reads like a request."""
    assert any(found.text.count(",") == 2 for found in find_directions(prompt))


@pytest.mark.parametrize(
    "prompt",
    [
        "three things: the logo is off, the menu jumps, the footer is gone",
        "the page has: a header, a list, a footer",
    ],
)
def test_a_list_of_what_is_to_be_done_now_is_no_way_of_doing_something(prompt: str) -> None:
    """Its head says so, or it is no list of steps."""
    assert not find_directions(prompt)
