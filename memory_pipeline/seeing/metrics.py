"""Figures for Prometheus, as its text format: numbers with names and labels of ours alone, no word of any log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from memory_pipeline import __version__
from memory_pipeline.budget import paid_hold
from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.files import write_whole
from memory_pipeline.records import Gate, JobState, MemoryStatus, Phase2Outcome, RunCounts
from memory_pipeline.store.store import Store

#: The collector that reads the file usually runs as another user, and nothing in it is anybody's secret.
TEXTFILE_MODE = 0o644
_PREFIX = "memory_pipeline_"


class Metric(Struct, frozen=True, kw_only=True):
    """One metric: what it counts, and its value for each value of its label ("" where it has none)."""

    name: str
    help: str
    values: Mapping[str, float] = field(default_factory=dict)
    label: str = ""
    kind: str = "gauge"


def metrics_text(config: Config, store: Store | None, *, now: float, counts: RunCounts | None = None) -> str:
    """Return all figures; ``counts`` is what the pass did that just ended. Without a store: that it can't be read."""
    metrics = [
        Metric(name="info", help="The version of the program.", label="version", values={__version__: 1}),
        _one("database_readable", "Whether the database can be read.", float(store is not None)),
    ]
    if store is not None:
        metrics += _stored(config, store, now)
    if counts is not None:
        metrics += _of_pass(counts, now)
    return "".join(map(_as_text, metrics))


def write_textfile(text: str, path: Path) -> None:
    """Put the figures where they are collected from.

    Raises:
        MemoryPipelineError: it can't be written; the message says what to do.
    """
    try:
        write_whole(path, text.encode("ascii"), mode=TEXTFILE_MODE)
    except OSError as error:
        raise MemoryPipelineError(
            f"metrics.textfile: {path} can't be written: {error.strerror or error}; make its folder writable"
        ) from error


def _stored(config: Config, store: Store, now: float) -> Iterable[Metric]:
    states, gates = store.overview.states(), store.threads.gate_counts()
    memories = store.memories.counts_by_status()
    rest_until = store.jobs.provider_rest(config.model.provider).rest_until
    success, last = store.memories.last_success(), store.memories.last_consolidation()
    yield Metric(
        name="threads",
        help="Sessions by the state that is shown.",
        label="state",
        values={state: states.get(state, 0) for state in JobState},
    )
    yield Metric(
        name="threads_held_back",
        help="Sessions on disk that a gate holds back.",
        label="gate",
        values={gate: gates.get(gate, 0) for gate in Gate},
    )
    yield _one("jobs_due", "Sessions that the next pass could extract.", store.jobs.count_due(now=now))
    yield Metric(
        name="memories",
        help="Memories by status.",
        label="status",
        values={status: memories.get(status, 0) for status in MemoryStatus},
    )
    yield Metric(
        name="tokens_spent",
        help="Paid tokens used or reserved within a window that ends now.",
        label="window",
        values={
            "day": store.ledger.spent(since=now - DAY_SECONDS),
            "week": store.ledger.spent(since=now - WEEK_SECONDS),
        },
    )
    yield Metric(
        name="tokens_cap",
        help="Most paid tokens within a window; 0 is no cap.",
        label="window",
        values={"day": config.budget.daily_tokens, "week": config.budget.weekly_tokens},
    )
    yield _one(
        "paid_work_held", "Whether a cap or a quota holds paid work.", float(bool(paid_hold(config, store, now)))
    )
    is_resting = rest_until is not None and rest_until > now
    yield _one("provider_resting", "Whether the model provider failed and is left alone for now.", float(is_resting))
    yield _one("consolidations_total", "Consolidations ever begun.", last.consolidation_id if last else 0, "counter")
    if success is not None and success.finished_at is not None:
        yield _one(
            "last_consolidation_timestamp_seconds", "When a consolidation was last published.", success.finished_at
        )
    yield _one("consolidation_failures", "Consolidations that failed in a row.", last.failures if last else 0)
    for name, ending, what in (
        ("database_bytes", "", "the database"),
        ("database_log_bytes", "-wal", "its write-ahead log"),
    ):
        yield _one(name, f"Size of {what} on disk.", _size_of(Path(f"{config.database_path}{ending}")))


def _of_pass(counts: RunCounts, now: float) -> Iterable[Metric]:
    phase1, phase2 = counts.phase1, counts.phase2
    yield _one("last_pass_timestamp_seconds", "When the last pass ended.", now)
    yield Metric(
        name="last_pass_duration_seconds",
        help="How long the last pass took, by phase.",
        label="phase",
        values={"one": phase1.seconds, "two": phase2.seconds},
    )
    yield Metric(
        name="last_pass_threads",
        help="What the last pass did with the sessions that were due.",
        label="outcome",
        values={"succeeded": phase1.succeeded, "no_output": phase1.no_output, "failed": phase1.failed},
    )
    yield _one("last_pass_discovered", "Sessions on disk at the last pass.", phase1.discovered)
    yield Metric(
        name="last_pass_consolidation",
        help="How phase two of the last pass ended.",
        label="outcome",
        values={outcome: float(outcome is phase2.outcome) for outcome in Phase2Outcome},
    )


def _one(name: str, text: str, value: float, kind: str = "gauge") -> Metric:
    return Metric(name=name, help=text, values={"": value}, kind=kind)


def _as_text(metric: Metric) -> str:
    name = f"{_PREFIX}{metric.name}"
    lines = [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
    for label, value in metric.values.items():
        labels = f'{{{metric.label}="{label}"}}' if metric.label else ""
        lines.append(f"{name}{labels} {value:.16g}")
    return "\n".join([*lines, ""])


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
