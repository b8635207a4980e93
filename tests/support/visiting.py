"""Somebody who is logged in at the page, without a browser: follows no script, sends forms as a browser would."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx2
from served import Served, client_of

_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
#: Tags that never hold anything.
_EMPTY = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Visitor:
    """One session of one user."""

    def __init__(self, served: Served, user: str = "owner") -> None:
        self.served = served
        self.client = client_of(served.app)
        served.user(user)
        code = served.keys.create_link(user, now=served.clock.now())
        assert self.client.get("/login", params={"code": code}).status_code == 303

    def get(self, path: str, **params: str) -> httpx2.Response:
        """Open a page."""
        return self.client.get(path, params=params or None)

    def token(self) -> str:
        """Return the token of this session's forms."""
        found = _TOKEN.search(self.get("/page/settings").text)
        assert found
        return html.unescape(found[1])

    def send(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of this session; what it leads to is not followed."""
        return self.client.post(path, data={"form_token": self.token(), **fields})

    def follow(self, answer: httpx2.Response) -> httpx2.Response:
        """Go where an answer leads."""
        assert answer.status_code == 303, answer.text
        return self.client.get(answer.headers["location"])


class Document(HTMLParser):
    """A page as a browser reads it: its tags with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._texts: list[str] = []
        self.unclosed: list[str] = []
        self.feed(page)
        self.close()

    @property
    def text(self) -> str:
        """What is read on it, on one line."""
        return " ".join("".join(self._texts).split())

    @property
    def raw_text(self) -> str:
        """What is read on it, as it stands."""
        return "".join(self._texts)

    def attributes(self) -> Iterator[tuple[str, str, str]]:
        """Yield every attribute, with its tag."""
        for tag, attributes in self.tags:
            for name, value in attributes.items():
                yield tag, name, value

    def value_of(self, name: str) -> str:
        """Return what a field is filled in with."""
        return next(given["value"] for tag, given in self.tags if tag == "input" and given.get("name") == name)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        """Note a tag."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _EMPTY:
            self.unclosed.append(tag)
        if tag in ("td", "th"):
            self._texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """Note that a tag ends: it must be the one that began last."""
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note what is read."""
        self._texts.append(data)
