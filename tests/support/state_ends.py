"""What a state folder holds once all is done, to be compared with that of another run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from command import contents, rows_of

_MEMORIES = """
    SELECT m.memory_id, m.scope, m.kind, m.condition, m.statement, m.status, m.superseded_by, m.reason, m.first_seen,
        m.last_confirmed, e.entry_id
    FROM memories AS m LEFT JOIN memory_entries AS e ON e.memory_id = m.memory_id ORDER BY m.memory_id, e.entry_id
"""


def end_of(state: Path) -> dict[str, Any]:
    """Return everything that must not depend on whether a run was killed, and check that no leftovers lie about."""
    assert [path.name for path in state.rglob("*") if ".new" in path.name or path.name.startswith(".memory")] == []
    assert [name for name in ("staging", "kept", "baseline.old") if (state / name).exists()] == []
    baseline = contents(state / "baseline")
    del baseline["manifest.json"]  # it names its consolidation, and a killed one has a number too
    return {
        "workspace": contents(state / "memories"),
        "baseline": baseline,
        "memories": rows_of(state / "memory.db", _MEMORIES),
    }
