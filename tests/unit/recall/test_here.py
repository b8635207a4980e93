"""Which project a folder belongs to, as sessions in it have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from remembered import remember, row
from store_samples import index

from memory_pipeline.recall.here import scope_of_folder
from memory_pipeline.store.store import Store

REMOTE = "project:example.org/sam/shop"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a remote, and a folder in it."""
    git = tmp_path / "clone" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text('[remote "origin"]\n\turl = git@example.org:sam/shop.git\n', encoding="utf-8")
    (tmp_path / "clone" / "src").mkdir()
    return tmp_path / "clone"


def test_a_folder_is_of_the_project_whose_remote_its_repository_has(store: Store, clone: Path) -> None:
    """Also deep inside, through a link, and though no session was ever there."""
    link = clone.parent / "link"
    link.symlink_to(clone / "src")
    assert {scope_of_folder(store, str(folder)) for folder in (clone, clone / "src", link)} == {REMOTE}


def test_what_a_log_says_of_a_folder_holds_when_the_repository_is_gone(store: Store) -> None:
    """The newest log that records a remote decides."""
    index(store, "a", scope="project:example.org/sam/old", git_remote="x", cwd="/home/sam/gone", updated_at=1.0)
    index(store, "b", scope=REMOTE, git_remote="x", cwd="/home/sam/gone", updated_at=2.0)
    index(store, "c", scope="project:/home/sam/gone", git_remote=None, cwd="/home/sam/gone", updated_at=3.0)
    assert scope_of_folder(store, "/home/sam/gone") == REMOTE


def test_a_plain_folder_is_a_project_where_something_is_remembered_of_it(store: Store, tmp_path: Path) -> None:
    """Else it is none: neither is a folder inside it, or above it, or of a like name."""
    folder = tmp_path / "notes"
    for name in ("notes/inner", "notes2"):
        (tmp_path / name).mkdir(parents=True)
    assert scope_of_folder(store, str(folder)) is None
    remember(store.path, [row("m_1", "use pnpm", f"project:{folder}")])
    assert scope_of_folder(store, str(folder)) == f"project:{folder}"
    for other in (tmp_path, folder / "inner", tmp_path / "notes2"):
        assert scope_of_folder(store, str(other)) is None


@pytest.mark.parametrize("written", ["relative/folder", "a\0b", "C:"])
def test_what_is_no_folder_belongs_to_no_project(store: Store, written: str) -> None:
    """A hook may be told anything."""
    assert scope_of_folder(store, written) is None
