"""Settings over HTTP, and the switches of one task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Served, code_of
from submitted import task

PLACE = "/users/me/auto-memory-settings"
OF_NEW_USER = {
    "generate_memories": False,
    "use_memories": False,
    "disable_on_external_context": True,
    "min_rate_limit_remaining_percent": 20,
    "idle_seconds": 900,
    "min_duration_seconds": 30,
    "min_result_chars": 200,
    "extract_model": None,
    "consolidation_model": None,
}


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A server whose owner configured other values for themselves."""
    return Served(
        tmp_path, tables={"gates": {"idle_seconds": 5, "min_result_chars": 7, "external_context": "withhold"}}
    )


def test_a_new_user_starts_with_everything_off(served: Served) -> None:
    """Whatever the owner wrote into their configuration, another user begins with the same values."""
    assert served.ask("GET", PLACE, user="ann").json() == OF_NEW_USER
    owner = served.ask("GET", PLACE).json()
    assert (owner["generate_memories"], owner["idle_seconds"], owner["min_result_chars"]) == (True, 5, 7)
    assert owner["disable_on_external_context"] is False


def test_what_is_set_holds_for_one_user(served: Served) -> None:
    """A change is answered with all that holds, stays, and is nobody else's."""
    changed = {"generate_memories": True, "idle_seconds": 60, "extract_model": "small-model"}
    assert served.ask("PUT", PLACE, user="ann", json=changed).json() == OF_NEW_USER | changed
    assert served.ask("GET", PLACE, user="ann").json() == OF_NEW_USER | changed
    assert served.ask("GET", PLACE, user="bob").json() == OF_NEW_USER


def test_null_lets_the_value_of_a_new_user_hold_again(served: Served) -> None:
    """Every key can be taken back, alone or together."""
    every = {
        **dict.fromkeys(("generate_memories", "use_memories"), True),
        "disable_on_external_context": False,
        "min_rate_limit_remaining_percent": 50.5,
        "idle_seconds": 0,
        "min_duration_seconds": 1,
        "min_result_chars": 2,
        "extract_model": "a",
        "consolidation_model": "b",
    }
    assert served.ask("PUT", PLACE, user="ann", json=every).json() == every
    assert served.ask("PUT", PLACE, user="ann", json=dict.fromkeys(every)).json() == OF_NEW_USER


@pytest.mark.parametrize(
    "body",
    [
        {"idle_seconds": -1},
        {"idle_seconds": "900"},
        {"min_rate_limit_remaining_percent": 101},
        {"generate_memories": "yes"},
        {"min_result_chars": 1.5},
        {"extract_model": ""},
        {"extract_model": "two words"},
        {"gates": {}},
        {"idle_seconds": 10, "nonsense": 1},
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(served: Served, body: dict[str, Any]) -> None:
    """One wrong value refuses the whole change."""
    answer = served.ask("PUT", PLACE, user="ann", json={"use_memories": True, **body})
    assert (answer.status_code, code_of(answer)) == (422, "unfit")
    assert served.ask("GET", PLACE, user="ann").json() == OF_NEW_USER


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "generate_memories": st.booleans(),
            "use_memories": st.booleans(),
            "disable_on_external_context": st.booleans(),
            "min_rate_limit_remaining_percent": st.integers(0, 100),
            "idle_seconds": st.integers(0, 10_000),
            "min_result_chars": st.integers(0, 10_000),
            "extract_model": st.sampled_from(["a", "b/c"]) | st.none(),
        },
    )
)
def test_sending_back_what_was_read_changes_nothing(served: Served, body: dict[str, Any]) -> None:
    """Whatever is set, reading and sending it back leaves it as it is, byte for byte in the journal too."""
    served.ask("PUT", PLACE, json=body)
    read = served.ask("GET", PLACE).json()
    assert body.items() <= read.items()
    journal = served.config.journal_path
    before = journal.read_bytes() if journal.exists() else b""
    assert served.ask("PUT", PLACE, json=read).json() == read
    assert (journal.read_bytes() if journal.exists() else b"") == before


def test_settings_outlive_the_database(served: Served) -> None:
    """A database that is gone takes no setting with it."""
    served.ask("PUT", PLACE, user="ann", json={"use_memories": True})
    (served.config.users_path / "ann" / "memory.db").unlink()
    assert served.ask("GET", PLACE, user="ann").json() == OF_NEW_USER | {"use_memories": True}


def test_a_flag_beats_the_setting_until_it_is_taken_back(served: Served) -> None:
    """One task can be switched on or off before and after it is known; null follows the setting again."""
    place = "/tasks/t1/auto-memory-flags"
    assert served.ask("POST", place, user="ann", json={"generate": True}).json() == {
        "task_id": "t1", "use": None, "generate": True, "may_use": False, "may_generate": True,
    }  # fmt: skip
    row = served.ask("POST", "/tasks", user="ann", json=task()).json()["task"]
    assert row["gate"] is None
    assert served.ask("POST", "/tasks", user="ann", json=task(2)).json()["task"]["gate"] == "disabled"
    told = served.ask("POST", place, user="ann", json={"generate": None, "use": True}).json()
    assert (told["generate"], told["use"], told["may_generate"], told["may_use"]) == (None, True, False, True)
    assert served.ask("GET", "/tasks/t1", user="ann").json()["gate"] == "disabled"
    assert served.ask("POST", place, user="ann", json={}).json() == told, "what is left out stays"
