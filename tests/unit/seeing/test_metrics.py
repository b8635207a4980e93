"""The figures for Prometheus: read by a parser of its text format, without a word of any log."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from phase2_world import NOW, World, entry

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.records import Gate, JobState, Phase1Counts, Phase2Counts, Phase2Outcome, RunCounts
from memory_pipeline.seeing.metrics import metrics_text, write_textfile

_SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"\})? (\S+)')
_HEAD = re.compile(r"# (HELP|TYPE) ([a-z_]+) (.+)")


def parse(text: str) -> dict[str, dict[str, float]]:
    """Read the text format strictly: HELP, then TYPE, then samples of that name; no sample twice."""
    assert text.endswith("\n")
    found: dict[str, dict[str, float]] = {}
    current = ""
    expected = "HELP"
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head:
            assert head.group(1) == expected, line
            if expected == "HELP":
                current = head.group(2)
                assert current not in found, f"{current} stands twice"
                found[current] = {}
            else:
                assert head.group(2) == current
                assert head.group(3) in ("gauge", "counter")
                assert (head.group(3) == "counter") == current.endswith("_total")
            expected = "TYPE" if expected == "HELP" else "HELP"
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, line
        assert expected == "HELP", f"{line} before its type"
        assert sample.group(1) == current
        label = sample.group(3) or ""
        assert label not in found[current], f"{line} stands twice"
        found[current][label] = float(sample.group(4))
    assert all(found.values()), "a metric without a value"
    return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A store with one consolidated session."""
    made = World(tmp_path)
    made.says("t1", entry("use the canary"), title="canary")
    made.run()
    return made


COUNTS = RunCounts(
    phase1=Phase1Counts(discovered=7, succeeded=2, no_output=1, failed=3, seconds=1.25),
    phase2=Phase2Counts(outcome=Phase2Outcome.CONSOLIDATED, seconds=0.5),
)


def test_the_figures_are_what_is_stored(world: World) -> None:
    """By state, gate and status, with a value for each that there is."""
    found = parse(metrics_text(world.config, world.store, now=NOW, counts=COUNTS))
    assert found["memory_pipeline_threads"] == {state: float(state == "done") for state in JobState}
    assert found["memory_pipeline_threads_held_back"] == dict.fromkeys(Gate, 0.0)
    assert found["memory_pipeline_memories"] == {"active": 1, "superseded": 0, "retired": 0}
    assert found["memory_pipeline_consolidations_total"] == {"": 1}
    assert found["memory_pipeline_last_consolidation_timestamp_seconds"] == {"": NOW}
    assert found["memory_pipeline_last_pass_threads"] == {"succeeded": 2, "no_output": 1, "failed": 3}
    assert found["memory_pipeline_last_pass_duration_seconds"] == {"one": 1.25, "two": 0.5}
    assert found["memory_pipeline_last_pass_consolidation"]["consolidated"] == 1
    assert sum(found["memory_pipeline_last_pass_consolidation"].values()) == 1
    assert found["memory_pipeline_database_readable"] == {"": 1}
    assert found["memory_pipeline_database_bytes"][""] > 0
    world.close()


def test_no_word_of_a_session_stands_in_them(world: World) -> None:
    """Neither statements and titles nor projects: those are words too."""
    told = metrics_text(world.config, world.store, now=NOW, counts=COUNTS)
    for word in ("canary", "shop", "t1", "project"):
        assert word not in told
    world.close()


def test_a_database_that_can_not_be_read_is_a_figure(world: World) -> None:
    """So that somebody is called."""
    assert parse(metrics_text(world.config, None, now=NOW))["memory_pipeline_database_readable"] == {"": 0}
    world.close()


def test_the_file_is_whole_and_may_be_read_by_the_collector(tmp_path: Path) -> None:
    """It is renamed into place, mode 0644, and nothing is left beside it."""
    path = tmp_path / "memory.prom"
    write_textfile("old 1\n", path)
    inode = path.stat().st_ino
    write_textfile("new 1\n", path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new 1\n", 0o644)
    assert path.stat().st_ino != inode
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_can_not_be_written_is_named_with_its_key(tmp_path: Path) -> None:
    """What to do about it, too."""
    with pytest.raises(MemoryPipelineError, match=r"metrics\.textfile: .*none.*make its folder writable"):
        write_textfile("x 1\n", tmp_path / "none" / "memory.prom")
