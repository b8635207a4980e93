"""Regular expressions that are compiled when a text first needs them: most commands never do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class Lazy:
    """A pattern that is compiled at its first use and then kept."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self._pattern, self._flags)

    @cached_property
    def search(self) -> Callable[..., re.Match[str] | None]:
        """As ``re.Pattern.search``."""
        return self.compiled.search

    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        """As ``re.Pattern.match``."""
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        """As ``re.Pattern.fullmatch``."""
        return self.compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """As ``re.Pattern.finditer``."""
        return self.compiled.finditer

    @cached_property
    def sub(self) -> Callable[..., str]:
        """As ``re.Pattern.sub``."""
        return self.compiled.sub
