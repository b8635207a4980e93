"""``search`` as a person types it: any text is a query, also one that looks like an option."""

from __future__ import annotations

import os

import pytest
from command import Machine
from remembered import remember, row


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that remembers two flags of a command."""
    made = Machine(tmp_path_factory.mktemp("search") / "machine")
    made.configure()
    assert made.run("run").code == 0
    remember(
        made.database,
        [row("m_1", "Install with --frozen-lockfile in CI"), row("m_2", "Pass -Dfast=true to the build")],
    )
    return made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (("--frozen-lockfile",), "m_1"),
        (("install", "--frozen-lockfile"), "m_1"),
        (("-Dfast=true",), "m_2"),
        (("--limit", "1", "--frozen-lockfile"), "m_1"),
        (("--", "--frozen-lockfile"), "m_1"),
        (("--no-such-flag", "-x"), None),
        (('"',), None),
        (("NEAR(a", "*"), None),
        (("\udcff",), None),
    ],
)
def test_a_flag_is_found_as_typed_and_no_query_is_a_fault(
    machine: Machine, query: tuple[str, ...], found: str | None
) -> None:
    """Options of the command's own stay options."""
    ran = machine.run("search", "--json", *query)
    assert (ran.code, [one["memory_id"] for one in ran.document]) == (0, [found] if found else [])


@pytest.mark.parametrize("name", [b"plain", b"\xff"], ids=str)
def test_a_search_here_works_in_any_folder(machine: Machine, name: bytes) -> None:
    """Also in one whose name is no text."""
    folder = machine.elsewhere / os.fsdecode(name)
    folder.mkdir()
    assert machine.run("search", "--scope", "here", "frozen", cwd=folder).out.startswith("m_1")
