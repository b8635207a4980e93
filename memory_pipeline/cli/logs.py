"""Logs on standard error: one line an event, with its fields, without words of the logs we read."""

from __future__ import annotations

import logging
import sys

from memory_pipeline.clock import iso

_FIELDS = ("action", "thread_id", "outcome", "seconds", "reason")


class FieldFormatter(logging.Formatter):
    """Writes time, level, message and the fields that an event carries."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of one event."""
        fields = [f"{name}={getattr(record, name)!s}" for name in _FIELDS if hasattr(record, name)]
        return " ".join([iso(record.created) or "", record.levelname, record.getMessage(), *fields])


def log_to_stderr(level: int) -> None:
    """Send our own events of this level and above to standard error; those of libraries from warning on."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(FieldFormatter())
    stream.setLevel(level)  # the log file may want more
    own = logging.getLogger("memory_pipeline")
    own.handlers[:] = [stream]
    own.setLevel(level)
    own.propagate = False
    # Libraries may log what they send; only that something went wrong is of interest here.
    root = logging.getLogger()
    root.handlers[:] = [logging.NullHandler()]
