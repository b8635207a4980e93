"""Tasks as other programs submit them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

ENDED = datetime(2026, 9, 3, 8, 0, tzinfo=UTC)
RESULT = (
    "The upload client retries three times with growing waits, and gives up with the last error. "
    "The waits are two, four and eight seconds, and the limit stands in upload.toml under retries."
    "\n\nThe tests of the client cover a server that answers late, one that never answers, and one that "
    "answers with a fault at the second try."
)


def task(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return the body of a completed task of ten minutes that ended an hour before the clock of the tests."""
    ended = fields.pop("ended", ENDED)
    return {
        "id": f"t{number}",
        "project": "git@example.org:sam/shop.git",
        "goal": "Let uploads be tried again when the server does not answer",
        "result": RESULT,
        "status": "completed",
        "started_at": (ended - timedelta(minutes=10)).isoformat(),
        "finished_at": ended.isoformat(),
        **fields,
    }
