"""The page in a real browser: review, search, forgetting and settings, by mouse and keys, with and without scripts.

Each test leaves pictures of what it saw in its temporary folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from browsing import Browsing, a_browser, logged_in
from remembered import remember, row
from served import Served

TABS = "Always indent with tabs in this repository, never with spaces"
SPACES = "Always indent with spaces in this repository, never with tabs"
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> \u202egnp.exe \x1b[31m"

LIGHT = {"color_scheme": "light", "viewport": {"width": 1_200, "height": 800}}
DARK = {"color_scheme": "dark", "viewport": {"width": 1_200, "height": 800}}
PHONE = {"color_scheme": "dark", "viewport": {"width": 375, "height": 700}}
NO_SCRIPTS = {"java_script_enabled": False}
#: Whether all words of others stand in a box over which nothing of them is drawn.
_ARE_KEPT_IN = """
    [...document.querySelectorAll("main .words")].every((words) => {
      for (let box = words; box.localName !== "main"; box = box.parentElement) {
        const style = getComputedStyle(box);
        if (style.overflowY === "clip" && style.display !== "inline") return true;
      }
      return false;
    })
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser of this machine."""
    with a_browser() as found:
        yield found


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A server with a memory, and three drafts that wait: one of them contradicts it."""
    made = Served(tmp_path / "served", tables={"review": {"mode": "manual"}})
    made.kept.say(1, f"{TABS}.")
    made.kept.run()
    with made.open() as app:
        for draft in app.store.drafts.queue():
            app.review().approve([draft.entry], note="", seen=[draft])
    made.kept.run()
    made.kept.say(2, f"{SPACES}.", "Never push to main without asking me.", after=timedelta(hours=1))
    made.kept.say(3, "From now on run the tests with pytest in this repository.", after=timedelta(hours=2))
    made.kept.run()
    return made


def _queue(served: Served) -> list[str]:
    with served.open() as app:
        return app.store.drafts.queue_ids()


def _statuses(served: Served) -> dict[str, str]:
    with served.open() as app:
        return {draft.entry.statement: draft.review_status.value for draft in app.store.drafts.every()}


def _statements(served: Served) -> list[str]:
    with served.open() as app:
        return [memory.statement for memory in app.store.memories.every()]


def test_the_queue_is_gone_through_by_keys_alone(browser: Any, served: Served, tmp_path: Path) -> None:
    """J into the list, Enter on a draft, then r, u, k, j and d; what stands in a field is typed, not done."""
    first, second, third = _queue(served)
    with logged_in(browser, served, tmp_path, **LIGHT) as seen:
        seen.open("/page/review")
        seen.page.keyboard.press("j")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url(f"**/page/review/{first}")
        seen.shoot("draft-light")
        seen.page.keyboard.press("r")
        seen.page.wait_for_url(f"**/page/review/{second}?*")
        assert "Rejected" in seen.text()
        seen.shoot("told-light")
        seen.page.keyboard.press("u")
        seen.page.wait_for_url(f"**/page/review/{first}?*")
        assert _queue(served) == [first, second, third]
        for key, entry_id in (("j", second), ("j", third), ("k", second)):
            seen.page.keyboard.press(key)
            seen.page.wait_for_url(f"**/page/review/{entry_id}")
        seen.page.fill("form.decide input[name=note]", "")
        seen.page.type("form.decide input[name=note]", "already read")
        seen.page.keyboard.press("Escape")
        assert _queue(served) == [first, second, third]
        seen.page.locator("main").focus()
        seen.page.keyboard.press("d")
        seen.page.wait_for_url(f"**/page/review/{third}?*")
    assert _queue(served) == [first, third]


def test_a_contradiction_is_seen_side_by_side_and_approved_only_on_purpose(
    browser: Any, served: Served, tmp_path: Path
) -> None:
    """What differs is marked in both; the browser itself asks for the box before it sends an approval."""
    with served.open() as app:
        (entry_id,) = [one.entry.entry_id for one in app.store.drafts.queue() if one.entry.statement == SPACES]
    with logged_in(browser, served, tmp_path, **DARK) as seen:
        seen.open(f"/page/review/{entry_id}")
        was, now = seen.page.locator(".beside > div").all()
        assert "tabs" in was.locator("del").all_inner_texts()
        assert "spaces" in now.locator("ins").all_inner_texts()
        assert was.bounding_box()["y"] == now.bounding_box()["y"]
        seen.shoot("conflict-dark")
        seen.page.click("button[value=approve]")
        assert _statuses(served)[SPACES] == "pending"
        seen.page.check("input[name=force]")
        seen.page.click("button[value=approve]")
        seen.page.wait_for_url("**/page/review/*?told=approve*")
    assert _statuses(served)[SPACES] == "approved"


def test_search_finds_shows_and_leads_on(browser: Any, served: Served, tmp_path: Path) -> None:
    """From anywhere / goes to the field; what is found leads to the memory, where it can be worded anew."""
    with logged_in(browser, served, tmp_path, **LIGHT) as seen:
        seen.open("/page/search")
        seen.page.keyboard.press("Escape")
        seen.page.locator("main").focus()
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("indent")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/page/search?q=indent*")
        assert "1 memory found" in seen.text()
        seen.shoot("search-light")
        seen.page.click(f"text={TABS}")
        seen.page.click("summary")
        seen.page.fill("textarea", "Indent with tabs")
        seen.page.click("text=Store")
        seen.page.wait_for_url("**/page/memories/*?told=edit")
        assert "Worded anew" in seen.text()
        seen.shoot("memory-light")
    assert _statements(served) == ["Indent with tabs"]


def test_forgetting_shows_what_goes_then_asks_and_gives_a_receipt(browser: Any, served: Served, tmp_path: Path) -> None:
    """The browser asks for the box; then it is gone, and the receipt says what was searched."""
    with logged_in(browser, served, tmp_path, **PHONE) as seen:
        seen.open("/page/forget")
        seen.page.fill("input[name=which]", "indent with tabs")
        seen.page.click("text=Show what would go")
        assert TABS in seen.text()
        assert not seen.runs_over()
        seen.shoot("preview-phone")
        seen.page.click("text=Forget it for good")
        assert _statements(served) == [TABS]
        seen.page.check("input[name=sure]")
        seen.page.click("text=Forget it for good")
        seen.page.wait_for_url("**/page/forget/for-good")
        assert "It is gone" in seen.text()
        seen.shoot("receipt-phone")
    assert _statements(served) == []


def test_settings_are_saved_and_shown(browser: Any, served: Served, tmp_path: Path) -> None:
    """A switch and a number, saved with Enter; the browser keeps what can't be a number."""
    with logged_in(browser, served, tmp_path, user="ann", **DARK) as seen:
        seen.open("/page/settings")
        seen.page.check("input[name=generate_memories]")
        seen.page.fill("input[name=idle_seconds]", "60")
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url("**/page/settings?told=saved")
        assert seen.page.is_checked("input[name=generate_memories]")
        assert seen.page.input_value("input[name=idle_seconds]") == "60"
        seen.shoot("settings-dark")
    assert served.ask("GET", "/users/me/auto-memory-settings", user="ann").json()["idle_seconds"] == 60


def test_everything_is_done_without_scripts_too(browser: Any, served: Served, tmp_path: Path) -> None:
    """Where a browser runs none: a decision, its undoing, a search, a forgetting, a setting."""
    first = _queue(served)[0]
    with logged_in(browser, served, tmp_path, **NO_SCRIPTS) as seen:
        seen.open(f"/page/review/{first}")
        seen.page.click("button[value=reject]")
        assert first not in _queue(served)
        seen.page.click("text=Undo")
        assert first in _queue(served)
        seen.open("/page/search")
        seen.page.fill("input[name=q]", "tabs")
        seen.page.click("main button")
        assert TABS in seen.text()
        seen.shoot("search-without-scripts")
        seen.open("/page/settings")
        seen.page.uncheck("input[name=use_memories]")
        seen.page.click("text=Save")
        assert "Saved" in seen.text()
        seen.open("/page/forget")
        seen.page.fill("input[name=which]", "tabs")
        seen.page.click("main button")
        seen.page.check("input[name=sure]")
        seen.page.click("text=Forget it for good")
        assert "It is gone" in seen.text()
    assert _statements(served) == []


def test_no_page_runs_over_or_runs_what_a_memory_says(browser: Any, served: Served, tmp_path: Path) -> None:
    """Every page at the width of a phone, with hostile memories: nothing is run, nothing scrolls sideways."""
    hostile = [row("m_1", HOSTILE), row("m_2", "x" * 1_000_000), row("m_3", "a" + "\u0301" * 3_000)]
    remember(served.kept.database, hostile)
    faults: list[str] = []
    with logged_in(browser, served, tmp_path, **PHONE) as seen:
        seen.page.on("pageerror", lambda error: faults.append(str(error)))
        seen.page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        for name in ("", "page/memories", "page/memories/m_1", "page/memories/m_2", "page/search?q=script"):
            _look_at(seen, name)
        for name in ("page/review", f"page/review/{_queue(served)[0]}", "page/forget", "page/settings", "page/log"):
            _look_at(seen, name)
        seen.open("/page/memories/m_1")
        assert "<script>document.title" in seen.text()
        assert "⟨U+202E⟩" in seen.text()
        assert "⟨U+001B⟩" in seen.text()
    assert not faults


def _look_at(seen: Browsing, name: str) -> None:
    seen.open(f"/{name}")
    assert seen.page.title() != "owned", name
    assert not seen.runs_over(), name
    assert seen.page.evaluate(_ARE_KEPT_IN), name
    seen.shoot(f"phone-{name.replace('/', '-').replace('?', '-') or 'overview'}")


def test_a_login_ends_when_the_person_says_so(browser: Any, served: Served, tmp_path: Path) -> None:
    """The first Tab reaches the way past the navigation; logging out closes the page, also for the way back."""
    with logged_in(browser, served, tmp_path, **LIGHT) as seen:
        assert "Overview" in seen.text()
        seen.shoot("overview-light")
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        seen.page.click("text=Log out")
        assert "Nobody is logged in" in seen.text()
        seen.page.go_back()
        assert "Nobody is logged in" in seen.text()
