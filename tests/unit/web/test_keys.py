"""Tokens and login links: what is kept of them, and whom they let in."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memory_pipeline.errors import StoreError, UsageError
from memory_pipeline.redact import redact
from memory_pipeline.web.keys import LINK_SECONDS, Keys

NOW = 1_790_000_000.0


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """A server without tokens."""
    return Keys(tmp_path / "server" / "keys.json")


def test_a_token_stands_for_its_user_and_is_not_kept(keys: Keys, tmp_path: Path) -> None:
    """The token lets its user in; the file, for its owner alone, holds no part of its secret."""
    made, token = keys.create("ann", now=NOW)
    assert keys.user_of(token) == "ann"
    path = tmp_path / "server" / "keys.json"
    assert token.rsplit("_", 1)[-1] not in path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.token_id for one in keys.tokens("ann")] == [made.token_id]


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "x", str.upper, lambda t: t.replace("mp_", "", 1), lambda _t: ""]
)
def test_nearly_a_token_stands_for_nobody(keys: Keys, change: object) -> None:
    """A token that is cut, longer, or otherwise changed lets nobody in, though its id is right."""
    _, token = keys.create("ann", now=NOW)
    assert callable(change)
    assert keys.user_of(change(token)) is None


def test_the_empty_secret_of_an_unknown_id_lets_nobody_in(keys: Keys) -> None:
    """What an unknown id is compared with is no secret that anybody has."""
    assert keys.user_of("mp_0123456789_") is None


def test_a_token_is_revoked_by_its_user_alone_and_at_once(keys: Keys, tmp_path: Path) -> None:
    """Another user's name revokes nothing; the right one does, also for a server that has read the file before."""
    made, token = keys.create("ann", now=NOW)
    running = Keys(tmp_path / "server" / "keys.json")
    assert running.user_of(token) == "ann"
    with pytest.raises(UsageError, match="has no token"):
        keys.revoke(made.token_id, user="bob")
    keys.revoke(made.token_id, user="ann")
    assert running.user_of(token) is None


def test_an_unreadable_file_lets_nobody_in(keys: Keys, tmp_path: Path) -> None:
    """Damaged tokens are told, and are not taken for no tokens, which making a new one would write over."""
    _, token = keys.create("ann", now=NOW)
    (tmp_path / "server" / "keys.json").write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match="can't be read"):
        keys.user_of(token)
    with pytest.raises(StoreError, match="can't be read"):
        keys.create("ann", now=NOW)


def test_a_token_in_a_session_is_masked(keys: Keys) -> None:
    """Whoever pastes a token into a prompt does not have it remembered."""
    _, token = keys.create("ann", now=NOW)
    assert redact(f"use {token} for the server").text == "use [redacted:own-token] for the server"


def test_a_link_logs_in_once(keys: Keys) -> None:
    """The first who follows a link is in; after that it is worth nothing, and other links are as good as before."""
    first, second = keys.create_link("ann", now=NOW), keys.create_link("bob", now=NOW)
    assert keys.redeem_link(first, now=NOW) == "ann"
    assert keys.redeem_link(first, now=NOW) is None
    assert keys.redeem_link("", now=NOW) is None
    assert keys.redeem_link(second, now=NOW + LINK_SECONDS - 1) == "bob"


@pytest.mark.parametrize("later", [LINK_SECONDS, -LINK_SECONDS * 24])
def test_a_link_does_not_last(keys: Keys, later: float) -> None:
    """A link that is an hour old is worth nothing, and neither is one that a clock made that ran far ahead."""
    code = keys.create_link("ann", now=NOW)
    assert keys.redeem_link(code, now=NOW + later) is None
