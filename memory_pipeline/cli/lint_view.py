"""What ``memory lint`` prints: each finding with its rule, its place and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memory_pipeline.cli.output import printable
from memory_pipeline.phase2.findings import Finding
from memory_pipeline.redact import redact


def lint_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what ``memory lint --json`` prints."""
    return {
        "clean": not findings,
        "findings": [
            {
                "rule": finding.rule,
                "place": _masked(finding.place),
                "problem": _masked(finding.problem),
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }


def print_findings(findings: Sequence[Finding]) -> None:
    """Print the findings one after the other, and how many there are."""
    for finding in findings:
        click.echo(f"{finding.rule}: {printable(_masked(finding.place))}")
        click.echo(f"    {printable(_masked(finding.problem))}")
        click.echo(f"    To do: {finding.advice}.")
    count = len(findings)
    summary = f"{count} {'finding' if count == 1 else 'findings'}." if count else "Every rule is kept: nothing found."
    click.echo(f"\n{summary}" if count else summary)


def _masked(text: str) -> str:
    return redact(text).text
