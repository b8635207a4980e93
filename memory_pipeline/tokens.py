"""How many tokens a text takes, about."""

from __future__ import annotations


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few: three bytes of UTF-8 a token."""
    return byte_count(text) // 3 + 1


def byte_count(text: str) -> int:
    """Return how many bytes of UTF-8 a text takes; what can't be encoded counts as one."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
