"""What lets somebody in: bearer tokens, and links that log in once. Only hashes of them are kept.

Both are made of 256 random bits, so that a plain hash of one can't be turned back by trying. A running server looks at
the file again whenever it changed: a token made or revoked by a command counts at once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import iso
from memory_pipeline.config import Config
from memory_pipeline.errors import StoreError, UsageError
from memory_pipeline.files import make_private_folder, write_whole
from memory_pipeline.lock import os_lock

#: How long a link that nobody followed stays good, in seconds.
LINK_SECONDS = 3_600.0

_TOKEN_MARK = "mp"  # noqa: S105 - how every token begins, so that one is known where it turns up
_ID_BYTES = 5
_SECRET_BYTES = 32
_WAIT_SECONDS = 10.0

T = TypeVar("T")


class KeptToken(Struct, frozen=True, kw_only=True):
    """One token, without what only its holder knows."""

    token_id: str
    user: str
    sha256: str
    created_at: float


class _Link(Struct, frozen=True, kw_only=True):
    user: str
    sha256: str
    ends_at: float


class _Kept(Struct, frozen=True, kw_only=True):
    """The file as a whole."""

    format: int = 1
    tokens: tuple[KeptToken, ...] = ()
    links: tuple[_Link, ...] = ()


class Keys:
    """The tokens and login links of one server."""

    def __init__(self, path: Path, *, draw: Callable[[int], str] = secrets.token_urlsafe) -> None:
        """``draw`` gives so many random bytes, written for a URL."""
        self._path = path
        self._draw = draw
        self._guard = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._kept = _Kept()

    def create(self, user: str, *, now: float) -> tuple[KeptToken, str]:
        """Make a token for a user; returns what is kept of it, and the token, which is never shown again.

        Raises:
            StoreError, LockedError: it can't be kept.
        """
        token_id, secret = secrets.token_hex(_ID_BYTES), self._draw(_SECRET_BYTES)
        made = KeptToken(token_id=token_id, user=user, sha256=_sha256(secret), created_at=now)
        self._change(lambda kept: (replace(kept, tokens=(*kept.tokens, made)), None))
        return made, f"{_TOKEN_MARK}_{token_id}_{secret}"

    def tokens(self, user: str | None = None) -> Sequence[KeptToken]:
        """Return the tokens of a user, or of all, the oldest first.

        Raises:
            StoreError: they can't be read.
        """
        return [token for token in self._read().tokens if user is None or token.user == user]

    def revoke(self, token_id: str, *, user: str) -> None:
        """Take a token of a user back.

        Raises:
            UsageError: the user has none of this id.
            StoreError, LockedError: it can't be done.
        """

        def without(kept: _Kept) -> tuple[_Kept, bool]:
            left = tuple(token for token in kept.tokens if (token.token_id, token.user) != (token_id, user))
            return replace(kept, tokens=left), len(left) < len(kept.tokens)

        if not self._change(without):
            raise UsageError(
                f"{user} has no token {token_id}; `memory-pipeline serve token list --user {user}` shows all"
            )

    def user_of(self, token: str) -> str | None:
        """Return whose token this is, None where it is nobody's.

        Raises:
            StoreError: the tokens can't be read.
        """
        _, _, rest = token.partition("_")
        token_id, _, secret = rest.partition("_")
        found = next((one for one in self._read().tokens if one.token_id == token_id), None)
        # The id is no secret; the rest is compared in a time that tells nothing about how much of it is right.
        is_right = hmac.compare_digest(_sha256(secret), found.sha256 if found else _sha256(""))
        return found.user if found is not None and is_right else None

    def create_link(self, user: str, *, now: float) -> str:
        """Return a code that logs a user in once, within an hour.

        Raises:
            StoreError, LockedError: it can't be kept.
        """
        code = self._draw(_SECRET_BYTES)
        link = _Link(user=user, sha256=_sha256(code), ends_at=now + LINK_SECONDS)
        self._change(lambda kept: (replace(kept, links=(*_open(kept.links, now), link)), None))
        return code

    def redeem_link(self, code: str, *, now: float) -> str | None:
        """Return whom a code logs in, None where it is of no link, or of one that was used or is too old.

        Raises:
            StoreError, LockedError: it can't be done.
        """
        asked = _sha256(code)
        if not any(hmac.compare_digest(link.sha256, asked) for link in _open(self._read().links, now)):
            return None  # nothing is written for a code that somebody made up

        def without(kept: _Kept) -> tuple[_Kept, str | None]:
            user = next((one.user for one in _open(kept.links, now) if hmac.compare_digest(one.sha256, asked)), None)
            left = tuple(one for one in _open(kept.links, now) if one.sha256 != asked)
            return replace(kept, links=left), user

        return self._change(without)

    def _read(self) -> _Kept:
        with self._guard:
            stamp = _stamp_of(self._path)
            if stamp is None:
                return _Kept()
            if stamp != self._stamp:
                self._kept, self._stamp = self._decoded(), stamp
            return self._kept

    def _decoded(self) -> _Kept:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept()
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self._path}: the tokens can't be read ({type(error).__name__}); nobody is let in. Move the file "
                "away, and make new tokens with `memory-pipeline serve token create`"
            ) from error

    def _change(self, change: Callable[[_Kept], tuple[_Kept, T]]) -> T:
        try:
            make_private_folder(self._path.parent)
            with os_lock(self._path.with_suffix(".lock"), purpose="changing tokens", wait_seconds=_WAIT_SECONDS):
                changed, told = change(self._decoded())
                write_whole(self._path, msgspec.json.format(msgspec.json.encode(changed)))
        except OSError as error:
            raise StoreError(f"{self._path}: can't be written: {error.strerror or error}") from error
        return told


def keys_of(config: Config) -> Keys:
    """Return the tokens and login links of the server of a state folder."""
    return Keys(config.server_path / "keys.json")


def token_document(token: KeptToken) -> dict[str, str | None]:
    """Return what may be shown of a token."""
    return {"token_id": token.token_id, "user": token.user, "created_at": iso(token.created_at)}


def _open(links: Sequence[_Link], now: float) -> tuple[_Link, ...]:
    """Return the links that are still good; one that ends far ahead was made by a clock that ran ahead."""
    return tuple(link for link in links if now < link.ends_at <= now + LINK_SECONDS)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - one call, at every request
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: can't be looked at: {error.strerror or error}") from error
    return status.st_ino, status.st_size, status.st_mtime_ns
