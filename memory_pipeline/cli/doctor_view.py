"""What the doctor finds, as a person and as another program reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from memory_pipeline.cli.output import printable
from memory_pipeline.cli.place import Place
from memory_pipeline.cli.service_commands import chosen_services
from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import Config, ModelConfig
from memory_pipeline.daemon import Schedule
from memory_pipeline.errors import ConfigError
from memory_pipeline.llm.reach import offered_models
from memory_pipeline.seeing.doctor.doctor import examine, without_configuration
from memory_pipeline.seeing.doctor.findings import Finding, Level, Patient, SeenService

#: How long the doctor waits for a server.
_ASK_SECONDS = 10.0
_MARKS: Mapping[Level, str] = {Level.OK: "ok", Level.NOTE: "note", Level.WARNING: "WARNING", Level.ERROR: "ERROR"}


def findings_at(
    place: Place, *, offline: bool, environ: Mapping[str, str] = os.environ, clock: Clock | None = None
) -> Iterator[Finding]:
    """Yield what is found at a place; a configuration that can't be used is itself a finding."""
    clock = clock or SystemClock()
    try:
        config = place.load()
    except ConfigError as problem:
        yield from without_configuration(problem)
        return

    def ask(model: ModelConfig, api_key: str | None) -> list[str]:
        return offered_models(model, api_key=api_key, clock=clock, seconds=_ASK_SECONDS)

    patient = Patient(
        config=config,
        environ=environ,
        clock=clock,
        offered_models=None if offline else ask,
        check_schedule=_check_schedule,
        services=lambda: _services_at(place),
    )
    yield from examine(patient)


def _services_at(place: Place) -> list[SeenService]:
    states = [service.state() for service in chosen_services(place)]
    return [SeenService(kind=one.kind, is_running=one.is_running, differs=one.differs) for one in states]


def _check_schedule(config: Config) -> None:
    Schedule(config, jitter=lambda: 0.0)


def is_broken(findings: Sequence[Finding]) -> bool:
    """Whether something does not work."""
    return any(finding.level is Level.ERROR for finding in findings)


def doctor_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what ``doctor --json`` prints."""
    return {
        "findings": [
            {"check": one.check, "level": one.level, "what": one.what, "remedy": one.remedy or None} for one in findings
        ],
        "counts": {level.value: sum(one.level is level for one in findings) for level in Level},
    }


def print_finding(finding: Finding) -> None:
    """Print one finding, and below it what to do."""
    click.echo(printable(f"{_MARKS[finding.level]:8} {finding.check:14} {finding.what}"))
    if finding.remedy:
        click.echo(printable(f"{'':23} → {finding.remedy}"))


def print_sum(findings: Sequence[Finding]) -> None:
    """Print how many findings call for something."""
    errors = sum(one.level is Level.ERROR for one in findings)
    warnings = sum(one.level is Level.WARNING for one in findings)
    if errors or warnings:
        click.echo(f"\n{errors} errors, {warnings} warnings.")
    else:
        click.echo("\nAll is well.")
