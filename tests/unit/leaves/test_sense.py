"""What is told from a request by all of its words together, where no pattern knows it."""

from __future__ import annotations

import pytest
from direction_prompts import AT_LENGTH, LASTING_IN_CHINESE, LASTING_IN_ENGLISH, PASSING, lines, prompts
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.directions import find_directions, gives_direction
from memory_pipeline.directions.sense import BUCKETS, buckets, sense


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Sort the orders by date. Oh, the team voted for svelte.", "the team voted for svelte"),
        ("can we agree on vitest as the default", "agree on vitest as the default"),
        ("that's changed, it's bun by now with us", "it's bun by now with us"),
        ("给订单表加一个索引。端口改成 9000 了", "端口改成 9000 了"),
    ],
)
def test_rule_said_in_passing_is_found_without_a_word_that_says_so(prompt: str, text: str) -> None:
    """No pattern knows these; the request beside them is left out."""
    assert find_directions(prompt, by_patterns_alone=True) == ()
    assert [each.text for each in find_directions(prompt)] == [text]


@pytest.mark.parametrize(
    "prompt",
    [
        "turn the list into a table and make the header sticky",
        "put a spinner on the upload button, it looks frozen",
        "we have a meeting at ten",
        "thanks, that did it",
        "把刚才的改动撤销，再跑一遍",
    ],
)
def test_request_of_the_moment_is_none_even_then(prompt: str) -> None:
    """One-off requests and talk are the mass of what people type."""
    assert find_directions(prompt) == ()


def test_second_half_of_a_rule_is_told_with_the_first() -> None:
    """What takes the place of the old tool would be lost without it."""
    assert [each.text for each in find_directions("stop using tox, it's nox now")] == ["stop using tox, it's nox now"]


@pytest.mark.parametrize("passed_on", ["the blog post says never to use sqlite", "they said we should only use tabs"])
def test_what_others_say_is_passed_on_and_not_laid_down(passed_on: str) -> None:
    """A person who tells what a document says does not make it a rule."""
    assert find_directions(passed_on) == ()


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_words_are_judged_and_always_alike(text: str) -> None:
    """The judgement is a number that depends on the words alone."""
    found = buckets(text)
    assert found == sorted(set(found))
    assert all(0 <= bucket < BUCKETS for bucket in found)
    once = sense(text)
    sense.cache_clear()
    assert sense(text) == once
    assert -100 < once < 100


def test_steps_of_a_way_of_working_are_told_together() -> None:
    """Half a recipe is worse than none."""
    recipe = "the release process is: update CHANGELOG, run make release, announce it"
    assert [each.text for each in find_directions(recipe)] == [recipe]


@pytest.mark.parametrize(
    "prompt",
    ["survey in parallel", "interactive notes", "slug test worktree", "écris un fichier ☃ 😀", "after auto compaction"],
)
def test_what_says_nothing_of_anything_is_no_fact(prompt: str) -> None:
    """A heap of nouns, or words of a language that is not known, tells neither how something is nor what it does."""
    assert find_directions(prompt) == ()


def test_whether_there_is_a_direction_is_told_as_if_all_were_found() -> None:
    """It is asked of every prompt of every log, and takes a shorter way: patterns first, weights where none matched."""
    listed = [*lines(LASTING_IN_ENGLISH), *lines(LASTING_IN_CHINESE)]
    told = [line.partition(" => ")[0] for line in listed] + lines(PASSING) + [one.text for one in prompts(AT_LENGTH)]
    assert [gives_direction(text) for text in told] == [bool(find_directions(text)) for text in told]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("No vitest! Mocha!", "No vitest! Mocha"),
        ("we finally got rid of yarn; pnpm took over", "we finally got rid of yarn; pnpm took over"),
        ("现在改用 pnpm 了，yarn 别再用", "现在改用 pnpm 了，yarn 别再用"),
    ],
)
def test_a_rival_named_beside_what_it_replaces_is_told_with_it(prompt: str, text: str) -> None:
    """Half of such a change would tell the old tool, or none."""
    assert [each.text for each in find_directions(prompt)] == [text]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("single quotes, no semicolons", "single quotes, no semicolons"),
        ("最好先写测试再写实现，以后都这样", "最好先写测试再写实现，以后都这样"),
        ("a migration is reversible, so write the way back", "a migration is reversible, so write the way back"),
    ],
)
def test_what_belongs_to_a_rule_is_told_with_it(prompt: str, text: str) -> None:
    """The clause before says what the one behind only points at, and the one behind says what comes of it."""
    assert [each.text for each in find_directions(prompt)] == [text]


@pytest.mark.parametrize(
    "prompt",
    [
        "delegate a survey of the repo",
        "enumerate all callers of loadUser",
        "ping me when the run is through",
        "I never understood this part",
        "never let the counter drop below zero",
        "we used to have a script for that, long ago",
        "配置文件在哪里",
        "我们为什么用 webpack",
    ],
)
def test_errand_story_or_question_is_no_rule_whatever_its_words(prompt: str) -> None:
    """A verb of work that few use, an "always" in a story, and a question without its mark."""
    assert find_directions(prompt) == ()


@pytest.mark.parametrize("prompt", ["constants in caps", "snake case for files", "prs against develop"])
def test_fragment_that_relates_two_things_is_a_rule(prompt: str) -> None:
    """People leave out the verb of what they say every day."""
    assert [each.text for each in find_directions(prompt)] == [prompt]


@pytest.mark.parametrize(
    ("prompt", "everywhere"),
    [
        ("Always answer in German. That goes for all my projects.", True),
        ("以后用中文回答。这条对所有项目有效", True),
        ("wherever you work for me, don't use emojis", True),
        ("generally, whatever the repo, squash your commits", True),
        ("never push to main. fix it in all repos", False),
        ("we use tabs everywhere except in the legacy folder", False),
    ],
)
def test_rule_is_lifted_by_what_says_where_it_holds(prompt: str, everywhere: bool) -> None:
    """The words may stand before the rule, in it, or in a sentence of their own; a request lifts nothing."""
    assert [each.everywhere for each in find_directions(prompt)] == [everywhere]
