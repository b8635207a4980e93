"""What is read from a model's answer, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.errors import AnswerError
from memory_pipeline.llm.answers import read_answer
from memory_pipeline.records import EntryDraft, ExtractionAnswer, TaskDraft

ENTRY = {"kind": "preference", "scope": "project", "condition": "in CI", "statement": "Use uv.", "evidence": [1, 3]}
VALUE: dict[str, Any] = {
    "rollout_summary": "The lock file was made with uv.",
    "rollout_slug": "uv_lock",
    "tasks": [{"title": "Lock the dependencies", "outcome": "success", "entries": [ENTRY]}],
}
ANSWER = ExtractionAnswer(
    rollout_summary="The lock file was made with uv.",
    rollout_slug="uv_lock",
    tasks=(
        TaskDraft(
            title="Lock the dependencies",
            outcome="success",
            entries=(
                EntryDraft(kind="preference", scope="project", condition="in CI", statement="Use uv.", evidence=(1, 3)),
            ),
        ),
    ),
)
EMPTY = ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=())
WRITTEN = json.dumps(VALUE)


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"\ufeff{WRITTEN}",
        f"\n\n  {WRITTEN}\n",
        f"```json\n{WRITTEN}\n```",
        f"```\n{json.dumps(VALUE, indent=2)}\n```",
        f"Here is what I found:\n\n```json\n{WRITTEN}\n```\nI hope it helps.",
        f"Here it is: {WRITTEN} That is all.",
        f"The set {{a, b}} matters. {WRITTEN}",
        f"{WRITTEN}\n{WRITTEN}",
        f"<think>maybe {{'x': 1}} or {{</think>\n{WRITTEN}",
        WRITTEN.replace("]", ",]", 1).replace('"}]', '",}]'),
        json.dumps(VALUE | {"confidence": 0.9}),
    ],
    ids=[
        "plain",
        "byte-order-mark",
        "blank-lines",
        "fence",
        "fence-without-language",
        "fence-in-prose",
        "prose",
        "braces-in-prose",
        "said-twice",
        "reasoning",
        "trailing-comma",
        "further-key",
    ],
)
def test_an_answer_with_one_possible_reading_is_read(text: str) -> None:
    """Whatever a model puts around its object, the same answer is read."""
    assert read_answer(text) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "```json\n{}\n```",
        '{"rollout_summary": "", "rollout_slug": "", "tasks": []}',
        '{"rollout_summary": null, "rollout_slug": null, "tasks": null}',
        '{"tasks": []}',
        '{"rollout_summary": "  ", "rollout_slug": "a_name", "tasks": [{}]}',
        '{"tasks": [{"title": "", "outcome": "", "entries": [{"statement": "", "evidence": []}]}]}',
        'Nothing lasting here.\n{"rollout_summary": "", "rollout_slug": "", "tasks": []}',
    ],
)
def test_an_object_whose_fields_are_all_empty_says_nothing_is_worth_keeping(text: str) -> None:
    """Empty fields, in any of their spellings, are a valid answer."""
    assert read_answer(text) == EMPTY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\ufeff ", "empty"),
        ("<think>hm</think>", "empty"),
        ("There is nothing worth remembering in this session.", "prose"),
        ("Nothing worth keeping: {}", "prose"),
        ("```json\n\n```", "prose"),
        (WRITTEN[:-1], "cut off"),
        (WRITTEN[: len(WRITTEN) // 2], "cut off"),
        (f"```json\n{WRITTEN[:-20]}\n```", "cut off"),
        (f"[{WRITTEN}]", "list"),
        (f"Here: [{WRITTEN}]", "list"),
        ("[]", "list"),
        ('"nothing"', "string"),
        ("null", "null"),
        ("42", "number"),
        (WRITTEN.replace('"', "'"), "prose"),
        (WRITTEN.replace('"success"', "success"), "not valid"),
        ('{"rollout_summary": NaN}', "not valid"),
        ('{"tasks": [], "tasks": [{"title": "a"}]}', "not valid"),
        (f'{WRITTEN} {{"tasks": []}}', "several"),
        ('{"error": "I can not do that"}', "without any of the wanted fields"),
        ('{"answer": {"tasks": []}}', "without any of the wanted fields"),
        ('{"rollout_summary": 7}', "number where rollout_summary"),
        ('{"rollout_summary": ["a"]}', "list where rollout_summary"),
        ('{"tasks": {"title": "a"}}', "object where tasks"),
        ('{"tasks": "none"}', "string where tasks"),
        ('{"tasks": ["write tests"]}', "no task of the wanted shape"),
        ('{"tasks": [{"title": "a", "entries": "none"}]}', "no task of the wanted shape"),
        ('{"tasks": [{"title": "a", "entries": ["use uv"]}]}', "no entry of the wanted shape"),
        ('{"tasks": [{"title": "a", "entries": [{"statement": "x", "evidence": ["row one"]}]}]}', "no entry"),
        ("[" * 100_000, "prose"),
        ('{"tasks":' * 100_000, "cut off"),
    ],
)
def test_an_answer_that_can_not_be_read_for_sure_is_refused_with_its_reason(text: str, reason: str) -> None:
    """What is empty, cut, prose, ambiguous or misshapen is a fault, never an empty success."""
    with pytest.raises(AnswerError, match=reason):
        read_answer(text)


def test_a_refusal_to_read_repeats_no_word_of_the_answer() -> None:
    """A message may end in a log file, so it says where the fault is, not what stood there."""
    for text in ("zebra {", "zebra", '{"zebra": 1}', '{"rollout_summary": {"zebra": 1}}', '{"tasks": ["zebra"]}'):
        with pytest.raises(AnswerError) as caught:
            read_answer(text)
        assert "zebra" not in str(caught.value)


def test_entries_of_the_wrong_shape_are_dropped_while_others_stand() -> None:
    """One broken entry does not cost the good ones beside it."""
    broken: list[Any] = ["text", 5, {"statement": ["a"], "evidence": [1]}, {"statement": "b", "evidence": [True]}]
    value = {"tasks": [{"title": "t", "outcome": "fail", "entries": [*broken, ENTRY]}, "not a task"]}
    tasks = read_answer(json.dumps(value)).tasks
    assert [entry.statement for task in tasks for entry in task.entries] == ["Use uv."]


@pytest.mark.parametrize(
    ("written", "numbers"),
    [([1, 2], (1, 2)), ([2, 1, 2], (2, 1)), (["3"], (3,)), ([4.0], (4,)), (5, (5,)), (None, ()), ([], ())],
)
def test_row_numbers_are_read_in_every_plain_spelling(written: Any, numbers: tuple[int, ...]) -> None:
    """A number is a number, in quotes or not; a repeated one counts once."""
    value = {"tasks": [{"title": "t", "entries": [ENTRY | {"evidence": written}]}]}
    assert read_answer(json.dumps(value)).tasks[0].entries[0].evidence == numbers


def test_a_missing_outcome_is_uncertain() -> None:
    """An outcome that the model did not give is not guessed."""
    assert read_answer('{"tasks": [{"title": "t"}]}').tasks[0].outcome == "uncertain"


def test_lone_surrogates_and_nul_do_not_survive_reading() -> None:
    """What no file or database could take is replaced on reading."""
    text = '{"rollout_summary": "a\\udc88b\\u0000c", "tasks": [{"title": "\udc88"}]}'
    answer = read_answer(text)
    assert (answer.rollout_summary, answer.tasks[0].title) == ("a\ufffdbc", "\ufffd")


def test_a_raw_newline_inside_a_string_is_read() -> None:
    """Some models break lines inside strings; that can mean only one thing."""
    assert read_answer('{"rollout_summary": "one\ntwo"}').rollout_summary == "one\ntwo"


@given(st.integers(min_value=1, max_value=len(WRITTEN) - 1))
@settings(max_examples=100, deadline=None)
def test_no_true_prefix_of_an_answer_is_read_as_an_answer(length: int) -> None:
    """However an answer is cut, it is refused rather than read as less."""
    with pytest.raises(AnswerError):
        read_answer(WRITTEN[:length])


@given(st.text(alphabet='{}[]",:\\ tasks01\n`', max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_either_read_or_refused(text: str) -> None:
    """Nothing that a model may write raises anything but AnswerError."""
    try:
        answer = read_answer(text)
    except AnswerError:
        return
    assert isinstance(answer, ExtractionAnswer)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["tasks", "title", "entries", "evidence", "statement", "rollout_summary"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_json_value_is_either_read_or_refused(value: Any) -> None:
    """Whatever kinds stand where, reading ends in an answer or in AnswerError."""
    try:
        answer = read_answer(json.dumps(value))
    except AnswerError:
        return
    assert isinstance(answer, ExtractionAnswer)
