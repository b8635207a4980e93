"""A meter that writes down what it hears."""

from __future__ import annotations

from collections.abc import Callable

from memory_pipeline.llm.port import Taken


class RecordingMeter:
    """Notes each request with what ``look`` sees at that moment; raises ``error`` after the free ones, if given."""

    def __init__(
        self,
        look: Callable[[], int],
        *,
        most: int | None = None,
        error: Exception | None = None,
        free_requests: int = 0,
    ) -> None:
        self.announced: list[tuple[int, int]] = []
        self.taken: list[Taken] = []
        self._look = look
        self._most = most
        self._error = error
        self._free_requests = free_requests

    def before_request(self, *, input_tokens: int, output_tokens: int) -> int:
        """Note the estimate."""
        if self._error is not None and len(self.announced) >= self._free_requests:
            raise self._error
        self.announced.append((input_tokens, self._look()))
        return output_tokens if self._most is None else self._most

    def after_request(self, taken: Taken) -> None:
        """Note what was taken."""
        self.taken.append(taken)
