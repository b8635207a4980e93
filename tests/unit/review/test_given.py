"""Existing memories given in a file: read in every shape that other tools write, refused with a reason."""

from __future__ import annotations

import codecs
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.errors import UsageError
from memory_pipeline.records import EntryKind
from memory_pipeline.review.given import read_known


def written(folder: Path, document: Any) -> Path:
    """A file that holds this document."""
    path = folder / "known.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "document",
    [
        ["Use pnpm."],
        "Use pnpm.",
        [{"statement": "Use pnpm."}],
        [{"title": "Use pnpm."}],
        {"items": ["Use pnpm."]},
        {"observations": [{"subtitle": "Use pnpm."}]},
        {"entries": [{"content": "Use\n pnpm."}]},
        {"results": [[{"narrative": "Use pnpm."}], 7, None, {"other": "no"}]},
        {"results": {"items": [{"statement": "Use pnpm."}]}},
    ],
)
def test_every_shape_gives_its_statement(tmp_path: Path, document: Any) -> None:
    """Strings or objects, in lists or under the keys of other tools; what says nothing is passed over."""
    assert [one.statement for one in read_known(written(tmp_path, document))] == ["Use pnpm."]


def test_a_title_and_a_narrative_are_two_statements(tmp_path: Path) -> None:
    """Each is compared by itself, and the first keeps the id; scope, kind and condition hold for both."""
    fields = {
        "title": "Packages",
        "narrative": "Use pnpm.",
        "kind": "decision",
        "scope": "user",
        "condition": "at work",
    }
    known = read_known(written(tmp_path, [{"id": 7, **fields}, {"id": 7, "statement": "Use npm.", "scope": "all"}]))
    assert [(one.known_id, one.statement) for one in known] == [
        ("7", "Packages"),
        ("given-2", "Use pnpm."),
        ("given-3", "Use npm."),
    ]
    assert {(one.kind, one.scope, one.condition) for one in known[:2]} == {(EntryKind.DECISION, "user", "at work")}
    assert (known[2].kind, known[2].scope) == (None, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"{", "no JSON"), (b"[]", "no statement"), (b'{"items": [{"statement": 3}]}', "no statement")],
)
def test_a_file_that_says_nothing_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    """With its name and what would be understood."""
    path = tmp_path / "known.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        read_known(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(UsageError, match=r"absent\.json"):
        read_known(tmp_path / "absent.json")


def test_a_pipe_is_read_to_its_end() -> None:
    """As a shell gives it for ``--memory <(command)``; a byte order mark hides nothing."""
    reader, writer = os.pipe()
    os.write(writer, codecs.BOM_UTF8 + b'["Use pnpm."]')
    os.close(writer)
    try:
        assert [one.statement for one in read_known(Path(f"/dev/fd/{reader}"))] == ["Use pnpm."]
    finally:
        os.close(reader)


def test_a_file_without_an_end_is_refused() -> None:
    """No more of it is read than is borne."""
    with pytest.raises(UsageError, match="larger than"):
        read_known(Path("/dev/zero"))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["items", "title", "statement", "id", "kind", "scope", "x"]), inner)
    ),
    max_leaves=12,
)


@given(_JSON)
@settings(max_examples=100)
def test_whatever_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    """Never another error; every id is there once, every statement is one line that says something."""
    path = written(tmp_path_factory.mktemp("known"), document)
    try:
        known = read_known(path)
    except UsageError:
        return
    assert len({one.known_id for one in known}) == len(known) > 0
    assert all(one.statement.strip() and "\n" not in one.statement for one in known)
