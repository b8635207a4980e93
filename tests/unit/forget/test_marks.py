"""The marks by which a search looks for what was forgotten."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.forget.marks import Marks, marks_of

FORGOTTEN = 'Serve tea in the "aardvarkmug" at noon.'


def test_marks_are_words_and_phrases_that_nothing_left_holds() -> None:
    """A word that a survivor holds, even inside a longer one, is no mark; a phrase of such words may be."""
    marks = marks_of([FORGOTTEN], ["We serve coffee in the aardvarkmugs.", "Tea at noon, in order."])
    assert "aardvarkmug" not in marks.words
    assert any("aardvarkmug" in phrase for phrase in marks.phrases)


def test_words_of_the_program_itself_are_no_marks() -> None:
    """The database holds them in its schema, and every rendering in its headings."""
    assert marks_of(["evidence statement preference"], []).words == frozenset()


def test_a_word_of_hex_digits_is_no_mark() -> None:
    """It can't be told from a piece of a hash."""
    assert marks_of(["facade decade"], []).words == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "x THE AARDVARKMUG y",
        json.dumps({"text": FORGOTTEN}),
        json.dumps({"text": FORGOTTEN}, ensure_ascii=False),
        "activeaardvarkmugpreference",
    ],
)
def test_marks_are_found_however_they_are_written(text: str) -> None:
    """In any case, in JSON, and where a database puts its fields side by side."""
    assert marks_of([FORGOTTEN], []).are_in(text)


def test_a_phrase_of_common_words_is_found_in_json() -> None:
    """Quotation marks are escaped there."""
    forgotten = 'never say "commit always" here'
    marks = Marks(phrases=marks_of([forgotten], []).phrases)
    assert marks.are_in(json.dumps(forgotten))


def test_chinese_is_found_as_it_stands_and_escaped() -> None:
    """There are no words of letters; characters in a row are the phrases."""
    marks = marks_of(["绿色青蛙茶杯"], [])
    assert marks.are_in("我喜欢绿色青蛙茶杯。")
    assert marks.are_in(json.dumps("绿色青蛙茶杯"))
    assert not marks.are_in("蓝色杯子")


@given(st.lists(st.text(max_size=80), max_size=4))
@settings(max_examples=50, deadline=None)
def test_what_survives_as_a_whole_leaves_no_mark(texts: list[str]) -> None:
    """Whatever is forgotten in one place and survives in another is not searched for."""
    assert marks_of(texts, texts).count == 0
