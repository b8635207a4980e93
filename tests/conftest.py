"""What holds for all tests: what could not be tested on this machine is said at the end."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it where the tests in a browser were skipped; a mere s among thousands of dots is seen by nobody."""
    reasons = [str(one.longrepr) for one in terminalreporter.stats.get("skipped", [])]
    if not reasons:
        return
    from browsing import NO_BROWSER

    skipped = sum(NO_BROWSER in reason for reason in reasons)
    if skipped:
        terminalreporter.write_line(f"{skipped} tests skipped, {NO_BROWSER}", yellow=True, bold=True)
