"""Our own server for agents, as logs name it: what it tells comes from these very logs, and not from outside."""

from __future__ import annotations

import re

_OWN_SERVER = re.compile(r"memory[-_]pipeline", re.IGNORECASE)


def is_own_server(*names: object) -> bool:
    """Whether one of the names that a call goes to, a tool's or its server's, is our own server's."""
    return any(isinstance(name, str) and _OWN_SERVER.search(name) is not None for name in names)
