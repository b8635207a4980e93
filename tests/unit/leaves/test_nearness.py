"""The index of statements: what may be the same or contradict is found among thousands that are nearly like it."""

from __future__ import annotations

import pytest

from memory_pipeline.nearness import StatementIndex

UNIFORM = 3000


@pytest.fixture(scope="module")
def index() -> StatementIndex:
    """Thousands of sentences that differ in one name alone."""
    made = StatementIndex()
    for number in range(UNIFORM):
        made.put(f"k{number}", "user", f"Always run make target{number} before you deploy the service to staging.")
    made.put("retries", "user", "Retry the deploy of the service to staging 3 times.")
    made.put("german", "user", "Answer in German.")
    made.put("npm", "user", "Run make with npm before you deploy the service to staging.")
    made.put("staging", "project:x", "Retry the deploy of the service to staging 3 times.")
    return made


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("Before you deploy the service to staging, always run make target2999.", "k2999"),
        ("Retry the deploy of the service to staging 5 times.", "retries"),
        ("Reply in English.", "german"),
        ("Run make with pnpm before you deploy the service to staging.", "npm"),
    ],
)
def test_what_is_the_same_or_contradicts_is_found_first(index: StatementIndex, statement: str, found: str) -> None:
    """However many others share nearly every word with it."""
    near = index.near("user", statement)
    assert near[0] == found
    assert len(near) <= 64


def test_of_thousands_that_differ_in_a_name_none_is_close(index: StatementIndex) -> None:
    """So no pair of them is looked at for being the same, though each is shown as near."""
    statement = f"Always run make target{UNIFORM} before you deploy the service to staging."
    assert index.close("user", statement) == []
    assert len(index.near("user", statement)) == 64
