"""What a session waits for loads little: the libraries and rooms that take long are left out."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from remembered import remember, row

from memory_pipeline.app import App
from memory_pipeline.config import Config, load_config
from memory_pipeline.kinds import SettingRecord
from memory_pipeline.phase2.run import Phase2
from memory_pipeline.records import Phase2Outcome
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


#: What a pass of phase two needs only where something changed.
OF_WORK = {
    *("apscheduler", "openai", "rich", "sqlite_utils"),
    *(f"memory_pipeline.{name}" for name in ("directions", "likeness", "slots", "llm.deterministic", "phase1.index")),
    *(
        f"memory_pipeline.{name}"
        for name in ("phase1.run", "phase2.consolidate", "forget.forgetting", "rollouts.codex")
    ),
}


def test_a_pass_of_phase_two_with_nothing_to_do_loads_nothing_that_works(tmp_path: Path) -> None:
    """Loading what curates and extracts takes many times as long as finding that there is nothing for it to do."""
    written = tmp_path / "config.toml"
    written.write_text(
        f'state_dir = "{tmp_path}/state"\n[sources]\ncodex.home = "{tmp_path}/c"\nclaude.home = "{tmp_path}/d"\n'
    )
    config = load_config(str(written))
    config.state_path.mkdir()
    Store(config.database_path).close()
    remember(config.database_path, [row("m_1", "Always run make lint")])

    def run() -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", CODE, "--config", str(written), "run", "--phase2"],
            env={"HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return OF_WORK & set(json.loads(done.stderr.splitlines()[-1]))

    assert "memory_pipeline.phase2.consolidate" in run()
    run()
    with App(config) as app:
        # As if it were a minute later: what was written a moment ago is not relied upon.
        later = Phase2(
            config,
            app.store,
            app.clock,
            owner="test",
            jitter=lambda: 0.0,
            should_stop=lambda: False,
            disk_time=lambda: time.time() + 60,
        )
        assert later.run_once().outcome is Phase2Outcome.NO_CHANGES
    assert not run()
