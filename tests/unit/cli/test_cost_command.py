"""The command ``cost``, and what ``status`` says of paid work."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell

from memory_pipeline.cli.cost_command import cost_document
from memory_pipeline.clock import DAY_SECONDS, iso
from memory_pipeline.config import BudgetConfig, Config, ModelConfig
from memory_pipeline.store.ledger import Cap, window_caps
from memory_pipeline.store.store import Store

NOON = 1_790_000_000.0 // DAY_SECONDS * DAY_SECONDS + DAY_SECONDS / 2
SHOP, WEB = "project:example.org/sam/shop", "project:example.org/sam/web"
PAID = ModelConfig(provider="openai", extract_model="small", base_url="http://127.0.0.1:9/v1")
PAID_TOML = '[model]\nprovider = "openai"\nextract_model = "small"\nbase_url = "http://127.0.0.1:9/v1"\n'


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A folder with a store to fill."""
    made = Shell(tmp_path)
    yield made
    made.world.store.close()


def _pay(
    store: Store,
    tokens: tuple[int, int] | None,
    *,
    reserved: int = 1_000,
    at: float = NOON,
    scope: str | None = SHOP,
    phase: str = "phase1",
    model: str = "small",
    caps: list[Cap] | None = None,
) -> None:
    reservation = store.ledger.reserve(
        tokens=reserved, caps=caps or [], phase=phase, thread_id=None, scope=scope, model=model, now=at
    )
    if tokens is not None:
        assert reservation.booking_id is not None
        store.ledger.book(
            reservation.booking_id, input_tokens=tokens[0], output_tokens=tokens[1], reported_tokens=sum(tokens)
        )


def _fill(store: Store, now: float) -> None:
    _pay(store, (600, 40), at=now)
    _pay(store, (700, 60), at=now - DAY_SECONDS, scope=WEB)
    _pay(store, (90, 10), at=now - 3 * DAY_SECONDS, scope=None, phase="phase2", model="large")
    _pay(store, None, reserved=5_000, at=now - 3 * DAY_SECONDS)
    _pay(store, (1, 1), at=now - 30 * DAY_SECONDS)


def _document(store: Store, *, days: int = 7, **budget: int) -> dict[str, Any]:
    return cost_document(Config(model=PAID, budget=BudgetConfig(**budget)), store, days=days, now=NOON)


def test_costs_are_summed_by_day_project_phase_and_model(shell: Shell) -> None:
    """Each sum tells requests, tokens in and out, what was cut off, what was estimated and what the provider told."""
    _fill(shell.world.store, NOON)
    told = _document(shell.world.store)
    days = [(one["day"], one["tokens"]) for one in told["by_day"]]
    assert [tokens for _, tokens in days] == [640, 760, 0, 5_100]
    assert [day for day, _ in days] == sorted((day for day, _ in days), reverse=True)
    assert {one["project"]: one["tokens"] for one in told["by_project"]} == {SHOP: 5_640, WEB: 760, None: 100}
    assert {one["phase"]: one["tokens"] for one in told["by_phase"]} == {"phase1": 6_400, "phase2": 100}
    assert {one["model"]: one["requests"] for one in told["by_model"]} == {"small": 3, "large": 1}
    assert told["total"] == {
        "requests": 4,
        "input_tokens": 1_390,
        "output_tokens": 110,
        "unbooked_requests": 1,
        "unbooked_tokens": 5_000,
        "tokens": 6_500,
        "estimated_tokens": 3_000,
        "reported_tokens": 1_500,
    }
    assert sum(one["tokens"] for one in told["rows"]) == 6_500


def test_days_are_whole_days_of_utc(shell: Shell) -> None:
    """One day is today alone, from midnight on."""
    store = shell.world.store
    _pay(store, (1, 0), at=NOON - DAY_SECONDS / 2)
    _pay(store, (2, 0), at=NOON - DAY_SECONDS / 2 - 1)
    assert _document(store, days=1)["total"]["tokens"] == 1
    assert _document(store, days=2)["total"]["tokens"] == 3


def test_caps_and_what_they_leave_are_told(shell: Shell) -> None:
    """Those of the whole, and of each project that spent within the week; an overspent one leaves nothing."""
    _fill(shell.world.store, NOON)
    told = _document(shell.world.store, daily_tokens=1_000, weekly_tokens=6_000, project_weekly_tokens=10_000)
    assert [(one["key"], one["project"], one["left"]) for one in told["caps"]] == [
        ("budget.daily_tokens", None, 360),
        ("budget.weekly_tokens", None, 0),
        ("budget.project_weekly_tokens", SHOP, 4_360),
        ("budget.project_weekly_tokens", WEB, 9_240),
    ]
    assert "budget.weekly_tokens" in told["paid_hold"]["reason"]
    assert told["paid_hold"]["opens_at"] == iso(NOON + 4 * DAY_SECONDS)


def test_the_table_has_a_bar_for_each_day_and_fits_the_terminal(shell: Shell) -> None:
    """Plain characters, as long as the share of the dearest day; nothing wider than the terminal."""
    _fill(shell.world.store, time.time())
    printed = shell.call("cost", columns=80)
    assert (printed.code, printed.err) == (0, "")
    days = [line for line in printed.out.splitlines() if re.match(r"20\d\d-", line)]
    assert [line.count("#") for line in days] == [4, 4, 0, 24]
    assert "no single project" in printed.out
    assert SHOP in printed.out
    assert "Requests cut off: 1." in printed.out
    assert max(map(len, printed.out.splitlines()[:-3])) <= 80
    assert "\x1b" not in printed.out


@pytest.mark.parametrize("columns", [60, 80])
def test_a_long_name_of_a_project_takes_no_figure_away(shell: Shell, columns: int) -> None:
    """A name that is cut can still be told; a number that is cut tells nothing."""
    long = "project:github.example.com/a-long-organisation/a-repository-with-a-long-name"
    _pay(shell.world.store, (1_234_567, 89), at=time.time(), scope=long, model="a-model-with-a-long-name-" * 3)
    lines = shell.call("cost", columns=columns).out.splitlines()
    sums = [line for line in lines if "1,234,567 " in line and "1,234,656" in line and len(line) <= columns]
    assert len(sums) == len(["day", "project", "phase", "model"])


def test_json_is_one_document(shell: Shell) -> None:
    """The same figures for programs."""
    _fill(shell.world.store, time.time())
    assert shell.call("cost", "--days", "40", "--json").json()["total"]["requests"] == 5


def test_nothing_paid_is_told_in_a_sentence(shell: Shell) -> None:
    """An empty ledger is no error."""
    printed = shell.call("cost")
    assert (printed.code, printed.out.splitlines()[0]) == (0, "No paid call in the last 7 days (UTC).")
    assert shell.call("cost", "--json").json()["by_day"] == []


def test_a_projects_name_can_not_steer_the_terminal(shell: Shell) -> None:
    """What a log chose is shown as plain text."""
    _pay(shell.world.store, (5, 5), at=time.time(), scope="project:\x1b[31mred\u202e")
    shell.config.write_text(shell.config.read_text() + PAID_TOML + "[budget]\nproject_daily_tokens = 4\n")
    for command in ("cost", "status"):
        out = shell.call(command, columns=200).out
        assert "red" in out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_status_says_why_paid_work_holds_and_when_it_opens(shell: Shell) -> None:
    """The budget of the whole and of one project, with the setting and the time."""
    now = time.time()
    _pay(shell.world.store, (900, 0), at=now - 60)
    shell.config.write_text(
        shell.config.read_text() + PAID_TOML + "[budget]\ndaily_tokens = 900\nproject_weekly_tokens = 500\n"
    )
    document = shell.call("status", "--json").json()
    assert "budget.daily_tokens" in document["paid_hold"]["reason"]
    assert document["paid_hold"]["opens_at"] == iso(now - 60 + DAY_SECONDS)
    assert [one["project"] for one in document["project_holds"]] == [SHOP]
    text = shell.call("status").out
    assert f"paid work holds until {iso(now - 60 + DAY_SECONDS)}" in text
    assert "that of other projects goes on" in text


def test_status_says_when_the_ledger_can_not_be_read(shell: Shell) -> None:
    """It works all the same, and says that nothing is sent."""
    shell.config.write_text(shell.config.read_text() + PAID_TOML + "[budget]\ndaily_tokens = 900\n")
    with sqlite3.connect(shell.world.store.path) as connection:
        connection.execute("ALTER TABLE ledger RENAME TO lost")
    connection.close()
    printed = shell.call("status")
    assert printed.code == 0
    assert "nothing is sent" in printed.out
    assert "an unknown number" in printed.out
    assert shell.call("status", "--json").json()["tokens"]["last_day"] is None


def test_a_cap_of_a_project_says_which_key_it_is() -> None:
    """The four caps have four names."""
    from memory_pipeline.budget import key_of

    caps = [*window_caps(daily=1, weekly=1), *window_caps(daily=1, weekly=1, scope=SHOP)]
    assert [key_of(cap) for cap in caps] == [
        "budget.daily_tokens",
        "budget.weekly_tokens",
        "budget.project_daily_tokens",
        "budget.project_weekly_tokens",
    ]
