"""What a session waits for loads little: the libraries and rooms that take long are left out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from remembered import remember, row

from memory_pipeline.config import Config
from memory_pipeline.kinds import SettingRecord
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind

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


@pytest.mark.parametrize("was_told", [False, True], ids=["as it is", "with settings and tombstones"])
@pytest.mark.parametrize(
    "words",
    [("--version",), ("context", "--cwd", "/home/sam", "--task", "lint", "--strict")],
    ids=["version", "context"],
)
def test_a_light_command_loads_nothing_heavy(tmp_path: Path, words: tuple[str, ...], was_told: bool) -> None:
    """Each of these costs more than the answer itself. Tombstones are read with orjson, which is worth its time."""
    store = Store(tmp_path / "memory.db")
    remember(store.path, [row("m_1", "Always run make lint")])
    if was_told:
        store.settings.put(
            [SettingRecord(record_id="r", target="whole", key="settings.use_memories", value="true", at=1)]
        )
        tombstones = TombstoneFolder(Config(state_dir=str(tmp_path)).tombstones_path)
        tombstones.add([Tombstone(kind=TombstoneKind.WORDS, value="make coffee")], now=1.0)
        store.forgetting.set_met(tombstones.digest())
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
    assert HEAVY & set(json.loads(done.stderr)) <= ({"orjson"} if was_told else set())
