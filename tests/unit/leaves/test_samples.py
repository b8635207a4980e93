"""The bundled sample sessions are valid logs, and hold no secret but the planted fakes."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.config import load_config
from memory_pipeline.redact import redact

SAMPLES = Path(__file__).parents[3] / "samples"
CODEX = sorted((SAMPLES / "codex-home").rglob("*.jsonl"))
CLAUDE = sorted((SAMPLES / "claude-home").rglob("*.jsonl"))
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _seconds(record: dict[str, Any]) -> float:
    return datetime.fromisoformat(record["timestamp"]).timestamp()


def _ids(paths: list[Path]) -> list[Any]:
    return [pytest.param(path, id=path.stem[-36:]) for path in paths]


def test_there_is_a_handful_of_short_sessions_of_both_agents() -> None:
    """Enough to show what the program can do, small enough to read."""
    assert len(CODEX) >= 4
    assert len(CLAUDE) >= 4
    assert all(2_000 < path.stat().st_size < 24_000 for path in (*CODEX, *CLAUDE))


@pytest.mark.parametrize("path", _ids(CODEX))
def test_a_codex_sample_is_an_interactive_session_named_after_its_thread(path: Path) -> None:
    """The id and the local day of the name are those of the first line; every line has a time and a payload."""
    records = _records(path)
    meta = records[0]["payload"]
    name = re.fullmatch(rf"rollout-(\d{{4}})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-({UUID})", path.stem)

    assert name is not None
    assert name[4] == meta["id"]
    assert path.parts[-4:-1] == name.groups()[:3]
    assert records[0]["type"] == "session_meta"
    assert meta["source"] == "cli"
    assert meta["git"]["repository_url"]
    assert all(isinstance(record["payload"], dict) for record in records)
    assert [_seconds(record) for record in records] == sorted(_seconds(record) for record in records)
    if "ordinal" in records[0]:
        assert [record["ordinal"] for record in records] == list(range(len(records)))


@pytest.mark.parametrize("path", _ids(CODEX))
def test_every_codex_call_has_its_output(path: Path) -> None:
    """Calls and outputs pair up."""
    payloads = [record["payload"] for record in _records(path)]
    calls = [item["call_id"] for item in payloads if item.get("type") in ("function_call", "custom_tool_call")]
    outputs = [item["call_id"] for item in payloads if str(item.get("type")).endswith("_call_output")]

    assert sorted(calls) == sorted(outputs)
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("path", _ids(CLAUDE))
def test_a_claude_sample_is_a_typed_session_named_after_its_id(path: Path) -> None:
    """The file's stem is the session id, its folder is the slug of the working folder, each record follows the last."""
    records = _records(path)
    messages = [record for record in records if "uuid" in record]
    prompts = [record for record in messages if record.get("promptSource")]

    assert re.fullmatch(UUID, path.stem)
    assert {record.get("sessionId", path.stem) for record in records} == {path.stem}
    assert {re.sub(r"[^A-Za-z0-9]", "-", record["cwd"]) for record in messages} == {path.parent.name}
    assert {record["entrypoint"] for record in messages} == {"cli"}
    assert prompts
    assert {record["promptSource"] for record in prompts} == {"typed"}
    assert [record["parentUuid"] for record in messages] == [None, *[record["uuid"] for record in messages[:-1]]]
    assert [_seconds(record) for record in messages] == sorted(_seconds(record) for record in messages)


def test_no_record_is_told_twice() -> None:
    """Ids are unique across all Claude samples: each counts."""
    uuids = Counter(record["uuid"] for path in CLAUDE for record in _records(path) if "uuid" in record)

    assert set(uuids.values()) == {1}


@pytest.mark.parametrize("path", _ids([*CODEX, *CLAUDE]))
def test_a_sample_lasts_longer_than_the_gate_for_short_sessions(path: Path) -> None:
    """The default gates pass all of them, age apart."""
    times = [_seconds(record) for record in _records(path) if "timestamp" in record]

    assert max(times) - min(times) > 30
    assert datetime.fromtimestamp(max(times)).year == 2026  # noqa: DTZ006 — only the year counts


def test_the_only_secrets_are_the_planted_fakes_and_they_are_masked() -> None:
    """Two passwords, each plainly a fake, in two sessions; nothing else in the samples looks like a secret."""
    found: Counter[str] = Counter()
    for path in (*CODEX, *CLAUDE):
        masked = redact(path.read_text("utf-8"))
        assert "not-a-real-password" not in masked.text
        assert "fake-mima" not in masked.text
        found.update({path.name: sum(masked.counts.values())})

    assert sorted(name[:18] for name, count in found.items() if count) == ["rollout-2026-09-25", "rollout-2026-10-12"]


def test_the_config_reads_the_samples_whatever_their_age() -> None:
    """Homes and state are found beside the file, and no sample is too old."""
    config = load_config(str(SAMPLES / "config.toml"), environ={"CODEX_HOME": "/elsewhere"})

    assert Path(config.sources.codex.home) == SAMPLES / "codex-home"
    assert Path(config.sources.claude.home) == SAMPLES / "claude-home"
    assert Path(config.state_dir) == SAMPLES.parent / "state" / "samples"
    assert config.gates.max_age_days == 0


def test_the_readme_tells_every_session() -> None:
    """Its table has one row for each file."""
    rows = re.findall(r"^\| \d+ (?:Sep|Oct) \|", (SAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)

    assert len(rows) == len(CODEX) + len(CLAUDE)
