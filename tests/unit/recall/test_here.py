"""Which project a folder belongs to, as sessions in it have it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from remembered import remember, row
from store_samples import index

from memory_pipeline.recall.here import scope_of_folder
from memory_pipeline.store.store import Store

REMOTE = "project:example.org/sam/shop"


OTHER = "project:example.org/sam/other"


def repository(folder: Path, remote: str) -> Path:
    """Make a repository with a remote, and a folder in it."""
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n', encoding="utf-8")
    (folder / "src").mkdir()
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of the shop."""
    return repository(tmp_path / "clone", "git@example.org:sam/shop.git")


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


@pytest.mark.parametrize(
    "written", ["relative/folder", "a\0b", "C:", "/a\0b/..", "/\ud800/..", "/" + "a" * 5000, "/a/.." * 3000]
)
def test_what_is_no_folder_belongs_to_no_project(store: Store, written: str) -> None:
    """A hook may be told anything."""
    assert scope_of_folder(store, written) is None


def test_a_folder_in_which_another_repository_stands_by_now_is_of_that_one(store: Store, clone: Path) -> None:
    """Logs of what stood there before tell of another project; they count once nothing stands there."""
    index(store, "a", scope=OTHER, git_remote="x", cwd=str(clone))
    assert scope_of_folder(store, str(clone)) == REMOTE
    clone.rename(clone.with_name("elsewhere"))
    assert scope_of_folder(store, str(clone)) == OTHER


def test_a_link_is_of_the_project_that_it_leads_to_now(store: Store, clone: Path) -> None:
    """Whatever the logs of sessions say that came through it when it led elsewhere; here to a plain folder."""
    link = clone.parent / "link"
    index(store, "a", scope=OTHER, git_remote="x", cwd=str(link))
    link.symlink_to(clone)
    assert scope_of_folder(store, str(link)) == REMOTE
    link.unlink()
    (clone.parent / "plain").mkdir()
    link.symlink_to(clone.parent / "plain")
    assert scope_of_folder(store, str(link)) is None


@pytest.mark.parametrize("last", ["", "/src", "/gone"])
def test_what_lies_above_the_end_of_a_link_is_meant_by_two_dots(store: Store, clone: Path, last: str) -> None:
    """The system follows the link first; the text alone would name the folder that the link lies in."""
    other = repository(clone.parent / "other", "git@example.org:sam/other.git")
    (clone / "link").symlink_to(other / "src")
    assert scope_of_folder(store, f"{clone}/link/..{last}") == OTHER


def test_a_folder_whose_name_is_no_text_is_of_the_project_that_it_lies_in(store: Store, clone: Path) -> None:
    """The system allows any bytes in a name. Where it lies in none, it is none: no log can name it."""
    assert scope_of_folder(store, os.fsdecode(os.fsencode(clone) + b"/\xff")) == REMOTE
    for folder in (clone, clone.parent):
        bare = os.fsencode(folder) + b"/\xff"
        os.mkdir(bare)  # noqa: PTH102 - a name of bytes
        assert scope_of_folder(store, os.fsdecode(bare)) == (REMOTE if folder is clone else None)
    os.mkdir(bare + b"/.git")  # noqa: PTH102
    (Path(os.fsdecode(bare)) / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert scope_of_folder(store, os.fsdecode(bare)) is None
