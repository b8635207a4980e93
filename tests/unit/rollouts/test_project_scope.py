"""Scope keys: clones and worktrees share one, unrelated folders never do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.scope import find_git, project_key, scope_of

KEY = "git.example.org/Team/calc"


@pytest.mark.parametrize(
    "remote",
    [
        "https://git.example.org/Team/calc.git",
        "https://dev:fake-token@GIT.Example.org:8443/Team/calc/",
        "ssh://git@git.example.org:2222/Team/calc.git",
        "git@git.example.org:Team/calc.git",
        "git.example.org:/Team//calc",
        "git+ssh://git@git.example.org/Team/calc",
    ],
)
def test_every_way_to_write_a_remote_gives_one_key(remote: str) -> None:
    """Scheme, user, port, ``.git`` and the case of the host do not matter; the password is gone."""
    assert project_key("/work/a", remote) == KEY


@pytest.mark.parametrize("remote", [None, "", "../calc", "upstream", "https://", "has blank:x", "git@host:", "x\n:y"])
def test_what_is_no_remote_leaves_the_folder(remote: str | None) -> None:
    """A remote that names no place counts as none."""
    assert project_key("/work/a", remote) == "/work/a"


@pytest.mark.parametrize(
    ("remote", "key"),
    [
        ("/srv/git/calc.git", "/srv/git/calc.git"),
        ("file:///srv/git/calc.git", "/srv/git/calc.git"),
        ("/home/dev/calc/.git", "/home/dev/calc"),
        ("C:\\repos\\calc", "C:/repos/calc"),
    ],
)
def test_a_remote_on_this_machine_is_its_path(remote: str, key: str) -> None:
    """A local clone shares the key of the folder it came from."""
    assert project_key("/work/a", remote) == key


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/work/a/", "/work/a"),
        ("/work//a/./b", "/work/a/b"),
        ("file:///work/a%20b", "/work/a b"),
        ("file:///C:/work/a", "C:/work/a"),
        ("c:\\Work\\a\\", "C:/Work/a"),
        ("\\\\?\\C:\\Work\\a", "C:/Work/a"),
        ("\\\\?\\UNC\\srv\\share\\a", "//srv/share/a"),
        ("\\\\srv\\share\\a", "//srv/share/a"),
        ("file://srv/share/a", "//srv/share/a"),
        ("C:\\", "C:/"),
        ("/", "/"),
        ("relative/a", None),
        ("", None),
        (None, None),
        (["/a"], None),
    ],
)
def test_folders_are_brought_to_one_form(written: object, path: str | None) -> None:
    """POSIX, Windows, UNC and URI spellings of a folder are one path."""
    assert plain_path(written) == path


def repository(root: Path, remote: str | None = None) -> Path:
    """Lay out what matters of a git repository."""
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    lines = ["[core]", "\tbare = false", '[remote "other"]', "\turl = https://git.example.org/not/this.git"]
    if remote:
        lines += ['[remote "origin"]', f'\turl = "{remote}" ; the team\'s', "\tfetch = +refs/heads/*"]
    (root / ".git/config").write_text("\n".join(lines) + "\n")
    return root


def worktree(main: Path, root: Path) -> Path:
    """Lay out what matters of a worktree of a repository."""
    git_dir = main / ".git/worktrees" / root.name
    git_dir.mkdir(parents=True)
    (git_dir / "commondir").write_text("../..\n")
    (git_dir / "gitdir").write_text(f"{root}/.git\n")
    root.mkdir(parents=True)
    (root / ".git").write_text(f"gitdir: {git_dir}\n")
    return root


def test_the_remote_is_read_from_disk_where_the_log_names_none(tmp_path: Path) -> None:
    """A folder deep in a repository has the key of its origin."""
    deep = repository(tmp_path / "calc", "git@git.example.org:Team/calc.git") / "src/deep"
    deep.mkdir(parents=True)
    assert scope_of(str(deep), None) == f"project:{KEY}"
    assert scope_of(str(deep), "https://git.example.org/log/says") == "project:git.example.org/log/says"


def test_worktrees_share_the_key_of_their_repository(tmp_path: Path) -> None:
    """With a remote they share its key, without one the root of the main repository."""
    with_remote = repository(tmp_path / "one", "https://git.example.org/Team/calc")
    without = repository(tmp_path / "two")
    assert scope_of(str(worktree(with_remote, tmp_path / "wt1")), None) == f"project:{KEY}"
    assert scope_of(str(worktree(without, tmp_path / "wt2")), None) == f"project:{without}"


def test_a_git_file_that_its_target_does_not_know_borrows_no_key(tmp_path: Path) -> None:
    """A stranger's folder can't take another project's key by pointing at its repository."""
    mine = repository(tmp_path / "mine", "https://git.example.org/Team/calc")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / ".git").write_text(f"gitdir: {mine}/.git\n")
    assert scope_of(str(theirs), None) == f"project:{theirs}"


def test_a_submodule_has_its_own_origin(tmp_path: Path) -> None:
    """A ``.git`` file whose repository names this folder as its worktree is a submodule."""
    outer = repository(tmp_path / "outer", "https://git.example.org/Team/outer")
    git_dir = repository(tmp_path / "modules", "https://git.example.org/Team/calc") / ".git"
    inner = outer / "inner"
    inner.mkdir()
    (inner / ".git").write_text(f"gitdir: {git_dir}\n")
    (git_dir / "config").write_text(f"[core]\n\tworktree = {inner}\n" + (git_dir / "config").read_text())
    assert scope_of(str(inner), None) == f"project:{KEY}"


def test_without_a_repository_the_folder_is_the_project(tmp_path: Path) -> None:
    """A plain folder, a vanished one and one of Windows have their own path as key."""
    assert scope_of(str(tmp_path), None) == f"project:{tmp_path}"
    gone = tmp_path / "calc/gone"
    assert scope_of(str(gone), None) == f"project:{gone}"
    assert scope_of("C:\\work\\calc", None) == "project:C:/work/calc"


def test_a_folder_that_was_deleted_from_a_repository_has_its_key(tmp_path: Path) -> None:
    """However deep it lay below the root; what stands there now in its way is no folder of it."""
    calc = repository(tmp_path / "calc", "https://git.example.org/Team/calc")
    assert scope_of(str(calc / "gone"), None) == f"project:{KEY}"
    assert scope_of(str(calc / "gone/deep/er"), None) == f"project:{KEY}"
    (calc / "file").touch()
    assert scope_of(str(calc / "file/x"), None) == f"project:{calc}/file/x"


def test_a_repository_that_was_deleted_inside_another_one_is_not_taken_for_part_of_it(tmp_path: Path) -> None:
    """A folder of projects inside a repository, and a home kept in one, lend their key to nothing that is gone."""
    outer = repository(tmp_path / "outer", "https://git.example.org/Team/outer")
    (outer / "projects").mkdir()
    assert scope_of(str(outer / "projects/calc"), None) == f"project:{outer}/projects/calc"
    place = find_git(str(outer / "gone"), person_home=str(outer))
    assert place is None
    assert find_git(str(outer / "gone")) is not None


def test_sessions_without_a_folder_share_no_key() -> None:
    """A session that names no folder has a key of its own."""
    assert scope_of(None, None, thread_id="t1") != scope_of(None, None, thread_id="t2")
    assert scope_of(None, "git@git.example.org:Team/calc.git") == f"project:{KEY}"


def test_strange_git_entries_are_not_followed(tmp_path: Path) -> None:
    """A link or a FIFO in place of ``.git`` or its config gives no remote and never blocks."""
    repository(tmp_path / "real", "https://git.example.org/Team/calc")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(tmp_path / "real/.git")
    piped = repository(tmp_path / "piped")
    (piped / ".git/config").unlink()
    os.mkfifo(piped / ".git/config")
    for folder in (linked, piped):
        place = find_git(str(folder))
        assert place is not None
        assert (place.root, place.remote) == (str(folder), None)
