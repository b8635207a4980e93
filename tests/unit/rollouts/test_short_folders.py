"""A folder of short names is taken as it stands, without loading the rules of masking: they would change nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.redact import redact
from memory_pipeline.rollouts.paths import folder_of, plain_path

WORDS = "home sam password token secret api_key sk- ghp_ glpat- xoxb- AKIA AIza Bearer pwd eyJ hf_ v1 A1b2C3 9f8e7d ."
NAMES = st.lists(st.sampled_from(WORDS.split()) | st.text("abcXYZ019._-", max_size=6), min_size=1, max_size=4)


@settings(max_examples=100)
@given(parts=st.lists(NAMES.map("".join), min_size=1, max_size=8))
def test_a_folder_is_masked_as_any_other_text(parts: list[str]) -> None:
    """Whether its names are short or long, and however much they look like a key."""
    written = "/" + "/".join(parts)
    plain = plain_path(written)
    assert folder_of(written) == (redact(plain).text if plain else None)
