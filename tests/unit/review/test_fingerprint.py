"""Fingerprints: what was rejected is known again in other words, and nothing else is taken for it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import entry

from memory_pipeline.records import EntryKind
from memory_pipeline.review.fingerprint import fingerprint_of, new_salt, read_fingerprint
from memory_pipeline.review.run import Rejections
from memory_pipeline.store.drafts import Rejection

SALT = "00" * 16


@pytest.mark.parametrize(
    ("rejected", "said_again"),
    [
        ("Use pnpm for packages.", "Use pnpm for packages."),
        ("Use pnpm for packages.", "Please always use pnpm for all packages!"),
        ("Use pnpm for installing packages.", "Packages are installed with pnpm."),
        ("Deploy only after Kim has approved.", "Kim must approve before you deploy."),
        ("提交信息用中文写。", "提交信息一律用中文写"),
        ("不要直接推送到 main 分支", "禁止直接推 main"),
        ("不要直接推送到 main 分支", "main 分支不能直接推送"),
        ("Never squash before merging.", "Avoid squashing prior to merging."),
        ("Never squash before merging.", "Squashing before merging is not wanted."),
    ],
)
def test_what_was_rejected_is_known_again_reworded_or_not(rejected: str, said_again: str) -> None:
    """Other words, another order and other marks hide nothing."""
    assert fingerprint_of(rejected, "", salt=SALT).covers(said_again, "")


@pytest.mark.parametrize(
    ("rejected", "other"),
    [
        ("Use pnpm for packages.", "Use npm for packages."),
        ("Use pnpm for packages.", "Never use pnpm for packages."),
        ("The port is 8080.", "The port is 9090."),
        ("Deploy with make ship.", "Deploy only after Kim has approved."),
        ("提交信息用中文写。", "提交信息用英文写。"),
        ("不要直接推送到 main 分支。", "直接推送到 main 分支。"),
        ("不要直接推送到 main 分支。", "不要直接推送到 dev 分支。"),
        ("Don't touch the vendor/ directory.", "Don't touch the legacy/ directory."),
        ("Don't mock the database in tests.", "Don't mock the network in tests."),
        ("Never use npm or yarn.", "Use yarn, never npm."),
        ("Yarn is used here.", "Yarn is not used here."),
    ],
)
def test_something_else_is_not_taken_for_it(rejected: str, other: str) -> None:
    """Another value, the opposite, and another matter pass."""
    assert not fingerprint_of(rejected, "", salt=SALT).covers(other, "")


@given(text=st.text(max_size=60), condition=st.text(max_size=20))
@settings(max_examples=80, deadline=None)
def test_a_fingerprint_covers_its_own_words_and_holds_none(text: str, condition: str) -> None:
    """Whatever was rejected; written and read back it is the same."""
    made = fingerprint_of(text, condition, salt=new_salt())
    assert made.covers(text, condition)
    assert read_fingerprint(made.as_json()) == made
    assert set(made.as_json()) <= set('0123456789abcdef"{}[],:saltwhoewrdxcngiu')


_SAID = st.lists(
    st.sampled_from(["use", "never", "npm", "pnpm", "8080", "tests", "tests.", "run", "前端", "不要"]),
    min_size=1,
    max_size=5,
).map(" ".join)


@given(rejected=st.lists(_SAID, max_size=6), said=_SAID)
@settings(max_examples=100, deadline=None)
def test_of_many_rejections_those_are_found_that_cover_a_statement(rejected: list[str], said: str) -> None:
    """Looking at few of them overlooks none, whatever their salts are."""
    made = [fingerprint_of(one, "", salt=f"{number % 2:032}") for number, one in enumerate(rejected)]
    rejections = Rejections(
        Rejection(entry_id=f"e_{number}", scope="user", kind=EntryKind.PREFERENCE, fingerprint=one.as_json())
        for number, one in enumerate(made)
    )
    assert rejections.holds(entry(said, scope="user")) is any(one.covers(said, "") for one in made)
