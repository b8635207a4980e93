"""A real browser on a real server: Debian's Chromium, driven by Playwright, which downloads none."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from served import Served

from memory_pipeline.web.server import run_server

#: How a summary tells that there was no browser.
NO_BROWSER = "no browser: install Debian's package chromium to run the tests of the page in one"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Long for a page that is there at once, short for one that never comes.
_PATIENCE_MS = 10_000


class Browsing(Struct, frozen=True, kw_only=True, dict=True):
    """Somebody who is logged in, and looks at the page."""

    page: Any
    address: str
    shots: Path

    def open(self, path: str) -> None:
        """Go to a page of ours."""
        self.page.goto(f"{self.address}{path}")

    def text(self) -> str:
        """Return what is read on the page."""
        told: str = self.page.inner_text("main")
        return told

    def shoot(self, name: str) -> None:
        """Take a picture of the whole page."""
        self.page.screenshot(path=self.shots / f"{name}.png", full_page=True)

    def runs_over(self) -> bool:
        """Whether the page is wider than the window, so that one has to scroll sideways."""
        self.page.wait_for_load_state()  # with its style
        wider: bool = self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        return wider


@contextmanager
def a_browser() -> Iterator[Any]:
    """Start the browser of this machine; a test that needs one is skipped where there is none."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # As root in a container it starts without a sandbox alone, and it only ever sees our pages.
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def listening(served: Served) -> Iterator[str]:
    """Let a server listen on a free port; gives its address."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        runner = threading.Thread(target=run_server, args=(served.app, listener), kwargs={"stop": stop})
        runner.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            runner.join()


@contextmanager
def logged_in(browser: Any, served: Served, shots: Path, *, user: str = "owner", **options: Any) -> Iterator[Browsing]:
    """Log a person in by a link; ``options`` are those of the window: its size, its colours, whether scripts run."""
    served.user(user)
    code = served.keys.create_link(user, now=served.clock.now())
    with listening(served) as address:
        context = browser.new_context(**options)
        context.set_default_timeout(_PATIENCE_MS)
        try:
            page = context.new_page()
            page.goto(f"{address}/login?code={code}")
            yield Browsing(page=page, address=address, shots=shots)
        finally:
            context.close()
