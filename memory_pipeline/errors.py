"""The one error tree. Each class carries the exit code with which a command ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class MemoryPipelineError(Exception):
    """Something went wrong; the message says what, to which file or key, and what to do.

    ``lines`` are shown below the message as they stand, to be copied.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "", *, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = tuple(lines)


class ConfigError(MemoryPipelineError):
    """The configuration can't be used: unreadable, not TOML, an unknown key, a value of the wrong kind."""

    exit_code: ClassVar[int] = 2


class UsageError(MemoryPipelineError):
    """A command was asked for something that does not exist or does not fit together."""

    exit_code: ClassVar[int] = 2


class LockedError(MemoryPipelineError):
    """Another run holds the lock that this command needs."""

    exit_code: ClassVar[int] = 75


class InterruptedRunError(MemoryPipelineError):
    """A signal asked the run to stop; what was in flight has been given back."""

    exit_code: ClassVar[int] = 130


class LostLeaseError(MemoryPipelineError):
    """Another run took over the job that was worked on: nothing more is sent or written for it here."""


class StoreError(MemoryPipelineError):
    """The database or the state folder can't be opened or written."""


class DamagedDatabaseError(StoreError):
    """What the database holds can't be read, or contradicts itself: it must be mended before anything is stored.

    ``reason`` is what SQLite says of it, without the file's name.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class ServiceError(MemoryPipelineError):
    """The system that is to run the service refused, or can't be asked."""


class HookError(MemoryPipelineError):
    """A file of an agent's settings can't be changed safely; it is as it was."""


class RolloutError(MemoryPipelineError):
    """A rollout can't be read: vanished, not a regular file, outside the home, no permission."""


class VanishedError(RolloutError):
    """A rollout was there when it was listed and is gone: normal, since the agents delete their logs themselves."""


class WorkspaceError(MemoryPipelineError):
    """The memory workspace can't be read, staged, checked or published."""


class FencedOutError(MemoryPipelineError):
    """The right to publish is gone: another run took over, or the lock file was deleted. Nothing was changed."""


class ModelError(MemoryPipelineError):
    """The extractor gave no usable answer. Base of the two kinds that are retried differently."""


class ProviderError(ModelError):
    """A fault of the provider (401, 403, 404, 429, 5xx, timeout, network). Uses up no try; the provider rests.

    ``retry_after_seconds`` is what the provider asked for (Retry-After), None if it named no time.
    ``per_thread_suspect`` is true for a 5xx or a timeout, which may be this input's fault when others succeed.
    """

    def __init__(
        self, message: str, *, retry_after_seconds: float | None = None, per_thread_suspect: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.per_thread_suspect = per_thread_suspect


class BudgetHoldError(ModelError):
    """The next paid call would pass a cap, or could not be written down: it was not made.

    ``is_too_large`` is true when this one call alone is larger than a cap: then it waits, and smaller ones go on.
    ``project`` is the scope whose own cap it would pass: then that project waits, and the others go on. Otherwise paid
    work holds as a whole.
    """

    def __init__(self, message: str, *, is_too_large: bool = False, project: str | None = None) -> None:
        super().__init__(message)
        self.is_too_large = is_too_large
        self.project = project


class AnswerError(ModelError):
    """A fault of this thread's request or answer (400, 413, 422, invalid, cut or empty answer). Uses up a try."""

    def __init__(self, message: str, *, input_tokens: int = 0, output_tokens: int = 0) -> None:
        super().__init__(message)
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class CapReachedError(ModelError):
    """One job went, or its next request would go, past a cap on turns, requests, tokens or seconds.

    What was done so far is not used.
    """


def reason_of(error: Exception) -> str:
    """Return what an error says; one of the system with the file that it is about."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}"
    return str(error)
