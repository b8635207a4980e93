"""What a session waits for loads little: the libraries and rooms that take long are left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from remembered import remember, row

from memory_pipeline.store.store import Store

HEAVY = {
    *("apscheduler", "filelock", "logging.handlers", "openai", "orjson", "rich", "sqlite_utils"),
    *("memory_pipeline.app", "memory_pipeline.cli.output", "memory_pipeline.records", "memory_pipeline.store.store"),
}
CODE = """
import json, sys
from memory_pipeline.cli.main import run
assert run(sys.argv[1:]) == 0
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "words",
    [("--version",), ("context", "--cwd", "/home/sam", "--task", "lint", "--strict")],
    ids=["version", "context"],
)
def test_a_light_command_loads_nothing_heavy(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Each of these costs more than the answer itself."""
    store = Store(tmp_path / "memory.db")
    remember(store.path, [row("m_1", "Always run make lint")])
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", CODE, "--state-dir", str(tmp_path), *words],
        env={"HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("make lint" in done.stdout) == (words[0] == "context")
    assert HEAVY & set(json.loads(done.stderr)) == set()
