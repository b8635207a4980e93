"""What holds for all tests: what could not be tested on this machine is said at the end."""

from __future__ import annotations

from typing import Any

from browsing import NO_BROWSER


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it where the tests in a browser were skipped; a mere s among thousands of dots is seen by nobody."""
    skipped = [one for one in terminalreporter.stats.get("skipped", []) if NO_BROWSER in str(one.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests skipped, {NO_BROWSER}", yellow=True, bold=True)
