"""Slots: directives that settle the same thing in ways that can't both hold, and those that don't."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.likeness import contradicts, signature
from memory_pipeline.slots import exclude_each_other, settled_by

EXCLUDING = [
    ("Answer in German", "Reply in English"),
    ("Always answer me in German.", "From now on, please respond in English."),
    ("用中文回答", "Answer in English"),
    ("用中文回答", "回答用英文"),
    ("以后请用中文回复我", "Your answers should be in English"),
    ("说中文", "Talk to me in French"),
    ("Use tabs", "Indent with spaces"),
    ("Use tabs for indentation.", "Indent with 4 spaces, not tabs."),
    ("Indent with 2 spaces", "Use four spaces for indentation"),
    ("缩进用空格", "Indent with tabs"),
    ("用两个空格缩进", "缩进用4个空格"),
    ("Never use tabs", "Indent with tabs"),
    ("别用制表符", "Use tabs to indent"),
    ("Use npm", "Install packages with pnpm"),
    ("Manage dependencies with poetry", "Use uv as the package manager"),
    ("用npm安装依赖", "Use pnpm for dependencies"),
    ("Prefer single quotes", "Quote strings with double quotes"),
    ("字符串用单引号", "Use double quotes for strings"),
    ("Run tests with pytest", "Use unittest"),
    ("测试用jest", "Write tests with vitest"),
    ("Keep lines under 80 characters", "The maximum line length is 120"),
    ("每行不超过80个字符", "Limit lines to 100 columns"),
    ("Run the dev server on port 3000", "The dev server listens on port 8080"),
    ("Write commit messages in English", "提交信息用中文"),
    ("Write commit messages in the imperative mood", "Use past tense in commit messages"),
    ("Follow conventional commits", "Use gitmoji for commit messages"),
    ("Write the docs in English", "文档用中文写"),
    ("Indent with four spaces here, never with tabs", "Use tabs"),
    ("Answer in English, not in German", "Reply in German"),
    ("用 pnpm，不要用 npm", "Use yarn"),
    ("Use pnpm, never npm or yarn", "Use bun"),
]

HOLDING = [
    ("Write docs in English", "Answer in German"),
    ("Write commit messages in English", "Answer in German"),
    ("Answer in German", "Reply in German"),
    ("用中文回答", "Answer in Chinese"),
    ("Answer in German", "Answer in English when Kim asks"),
    ("Answer in German", "Reply in English in code reviews"),
    ("Answer in German", "Answer in German or English"),
    ("Answer in German", "Don't answer in English"),
    ("Never answer in French", "Never answer in English"),
    ("Use tabs", "Indent YAML with spaces"),
    ("Use tabs in Makefiles", "Indent with spaces"),
    ("Use spaces", "Indent with 4 spaces"),
    ("Use pip", "Install packages with pnpm"),
    ("Use npm", "Run tests with pytest"),
    ("Use pytest", "Use jest"),
    ("Use npm for the old shop", "Install packages with pnpm"),
    ("Run the dev server on port 3000", "The registry listens on port 8080"),
    ("Keep lines under 80 characters", "Keep functions under 50 lines"),
    ("Prefer single quotes", "Use double quotes for docstrings"),
    ("Write commit messages in English", "Write commit messages in the imperative mood"),
    ("Answer briefly", "Answer in English"),
    ("Use tabs, not in Python files", "Use spaces"),
    ("Use npm, not for the backend", "Use pnpm"),
    ("Use pip, not in Docker", "Use uv, not in CI"),
    ("Answer in German, not only English", "Answer in English"),
    ("Prefer double quotes, not around keys", "Prefer single quotes"),
    ("用中文回答，不要用英文术语", "用英文回答，不要用中文标点"),
    ("用空格缩进，不要用在 Makefile", "用制表符缩进"),
    ("Talk to me in German", "Write in English"),
    ("It runs on 8001", "It runs on 9001"),
    ("Never answer in English", "Never answer in German"),
    ("Never use npm", "Never use yarn"),
]


@pytest.mark.parametrize(("first", "second"), EXCLUDING)
def test_directives_about_one_slot_exclude_each_other_in_whatever_words(first: str, second: str) -> None:
    """Either way round, and an index of words brings the two together."""
    assert contradicts(first, second)
    assert contradicts(second, first)
    assert exclude_each_other(first, second)
    assert signature(first) & signature(second)


@pytest.mark.parametrize(("first", "second"), HOLDING)
def test_another_slot_scope_or_condition_excludes_nothing(first: str, second: str) -> None:
    """Both can hold, so neither stands in the other's way."""
    assert not exclude_each_other(first, second)
    assert not exclude_each_other(second, first)


def test_two_refusals_of_one_slot_both_hold() -> None:
    """Whoever refuses two values has not changed their mind, however alike the sentences are."""
    for first, second in (
        ("Never answer in English", "Never answer in German"),
        ("Don't write commit messages in French", "Don't write commit messages in German"),
        ("不要用英文回答", "不要用德语回答"),
    ):
        assert not contradicts(first, second)
        assert not contradicts(second, first)


def test_a_statement_about_more_than_a_slot_settles_none() -> None:
    """A word more may be a scope or a condition."""
    for text in (
        "Use tabs in Go files",
        "Answer in German when I write German",
        "用中文回答技术文档里的客户",
        "Use npm run",
    ):
        assert settled_by(text) is None


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_whatever_is_said_excluding_is_symmetric_and_never_of_itself(first: str, second: str) -> None:
    """No text excludes itself."""
    assert exclude_each_other(first, second) == exclude_each_other(second, first)
    assert not exclude_each_other(first, first)
