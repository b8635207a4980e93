"""What is hidden in a text shows."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),  # turns round what follows
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("a\u3164b", "a⟨U+3164⟩b"),  # a letter that is drawn as a blank
        ("a\U000e0041b", "a⟨U+E0041⟩b"),  # a tag, drawn as nothing
        ("a\U000e0101b", "a⟨U+E0101⟩b"),
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("tab\there", "tab here"),
        ("one\r\ntwo\nthree", "one\ntwo\nthree"),
        ("提交前都要跑测试 ❤️", "提交前都要跑测试 ❤️"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    """And ordinary text of any language stays as it is."""
    assert visible(text) == shown


@given(st.text())
@settings(max_examples=100)
def test_nothing_hidden_is_left(text: str) -> None:
    """Neither control nor format characters, nor a space that is none, whatever the text."""
    for character in visible(text):
        category = unicodedata.category(character)
        assert character in "\n " or category not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
