"""The ports to whoever writes the text: one turns evidence into a proposed extraction, one talks and calls tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from memory_pipeline.records import Evidence, ExtractionAnswer


class Extractor(Protocol):
    """Proposes what is worth keeping of one thread. Safe to call from several threads at once."""

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Return what is worth keeping of the rows of ``evidence``; an answer with all fields empty is valid.

        The rows may be cited by number; nothing in the answer is trusted yet. ``deadline`` is a reading of the
        monotonic clock, in seconds, by which the call has answered or failed; None sets no limit of the caller's.

        Raises:
            ProviderError: a fault of the provider; the same evidence may be tried again later.
            AnswerError: a fault of this evidence or of the answer to it.
            InterruptedRunError: ``close`` was called while the answer was awaited, or before.
        """
        ...

    def close(self) -> None:
        """Give up what is in flight, from any thread, and release connections. May be called twice."""
        ...


class ModelExtractor(Protocol):
    """An extractor that can be told for each thread which model to ask."""

    def extract(
        self, evidence: Evidence, *, deadline: float | None = None, model: str | None = None
    ) -> ExtractionAnswer:
        """Do as an Extractor does; ``model`` is asked, None for the one that is configured."""
        ...

    def close(self) -> None:
        """Do as an Extractor does."""
        ...


class Taken(Struct, frozen=True, kw_only=True):
    """What one request took, in tokens: never less than what we counted ourselves of what went out and came in.

    ``reported_tokens`` is what the provider said, None where it said nothing that can be read.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    reported_tokens: int | None = None


class Meter(Protocol):
    """Hears of each request before it is sent and after it was answered, in the thread that asks."""

    def before_request(self, *, input_tokens: int, output_tokens: int) -> int:
        """Return how many tokens the answer may have, at most ``output_tokens``; ``input_tokens`` are estimated.

        Raises:
            BudgetHoldError, CapReachedError: it must not be sent.
        """
        ...

    def after_request(self, taken: Taken) -> None:
        """Take in what the last request took. Not called where nobody knows: it was cut off, and may be billed."""
        ...


class Tool(Struct, frozen=True, kw_only=True):
    """Something that a model may call in a conversation."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schemas by name; every one must be given


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call that a model makes. ``arguments`` is what it wrote: JSON, if it kept to the schema."""

    call_id: str
    name: str
    arguments: str


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a call gave, for the model to read."""

    call_id: str
    text: str


class Turn(Struct, frozen=True, kw_only=True):
    """One turn of a model: what it said, what it calls, and what that cost. Without a call, it has ended."""

    text: str
    calls: tuple[ToolCall, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0


class Conversation(Protocol):
    """One talk with a model, which it forgets when it ends. For one thread at a time."""

    def say(self, text: str, *, deadline: float | None = None) -> Turn:
        """Say something and return the model's turn; ``deadline`` and errors as in Extractor.extract."""
        ...

    def give(self, results: Sequence[ToolResult], *, deadline: float | None = None) -> Turn:
        """Give the results of all calls of the last turn, and return the model's next turn; errors as in ``say``."""
        ...


class ToolModel(Protocol):
    """A model that can hold conversations with tool calls."""

    def converse(self, *, system: str, tools: Sequence[Tool]) -> Conversation:
        """Begin a conversation under these instructions; nothing is sent yet."""
        ...

    def close(self) -> None:
        """Give up what is in flight, from any thread, and release connections. May be called twice."""
        ...
