"""Concepts: words of the field that mean the same share one, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.concepts import concepts_of, words_that_count
from memory_pipeline.terms import terms_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("install the deps", "安装依赖"),
        ("Dependencies are pinned.", "packages"),
        ("running the tests", "execute a suite"),
        ("deployments", "(shipped)"),
        ("open a pull request", "提一个合并请求"),
        ("sign in", "登录"),
        ("the user's password", "secret"),
        ("SQL", "database"),
    ],
)
def test_words_that_mean_the_same_share_a_concept(one: str, other: str) -> None:
    """In whatever form, with whatever stands around them."""
    assert set(concepts_of(one)) & set(concepts_of(other))


@pytest.mark.parametrize(
    "text", ["getUserName", "--no-verify", "src/test/commit.ts", "test_total", "合", "pull", "foo.bar", ""]
)
def test_identifiers_and_half_words_have_none(text: str) -> None:
    """What a name is made of tells of the name, not of what somebody does."""
    assert concepts_of(text) == []


def test_the_longest_chinese_word_counts() -> None:
    """A merge request is no merge."""
    assert concepts_of("合并请求") == ["pull_request"]
    assert concepts_of("合并分支") == ["merge"]


@given(st.text(max_size=60), st.text(max_size=60))
@settings(max_examples=80, deadline=None)
def test_any_text_has_its_concepts_whatever_stands_beside_it(one: str, other: str) -> None:
    """And each once; a sentence more takes none away."""
    alone, together = concepts_of(one), concepts_of(f"{one} \n {other}")
    assert len(alone) == len(set(alone))
    assert set(alone) <= set(together)


@given(st.text(max_size=60))
@settings(max_examples=80, deadline=None)
def test_a_query_keeps_a_term_if_it_has_any(query: str) -> None:
    """Of nothing but function words all stay."""
    terms = terms_of(query)
    assert bool(words_that_count(terms)) == bool(terms)
    assert set(words_that_count(terms)) <= set(terms)
