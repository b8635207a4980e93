"""The type of the file system that holds a path is told from the list of mounts, and shared ones are known as such."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.filesystems import (
    Mount,
    file_system_of,
    is_network,
    parse_mount_output,
    parse_mountinfo,
)

_MOUNTINFO = r"""
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:50 / /home rw,relatime shared:7 master:2 - nfs4 server:/home rw,vers=4.2
41 40 0:51 / /home/ann/my\040state rw,relatime - tmpfs tmpfs rw
42 27 0:52 / /mnt/tab\011and\134slash rw,relatime - fuse.sshfs host:/ rw
43 27 0:53 / /srv rw - ext4 /dev/vdb rw
44 27 0:54 / /srv rw - 9p host rw,trans=virtio
a line of another shape
"""


def _in_mountinfo(path: str) -> str | None:
    return file_system_of(Path(path), lambda: parse_mountinfo(_MOUNTINFO))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/ann/state/memory.db", "nfs4"),
        ("/home/ann/my state/memory.db", "tmpfs"),
        ("/home/ann/my statement", "nfs4"),
        ("/homestead", "ext4"),
        ("/mnt/tab\tand\\slash/x", "fuse.sshfs"),
        ("/srv/state", "9p"),
    ],
)
def test_the_longest_mount_point_holds_a_path_and_of_two_the_last_one(path: str, kind: str) -> None:
    """Names with escaped characters are read, a name that merely begins alike is another folder."""
    assert _in_mountinfo(path) == kind


def test_the_list_of_macos_is_read(tmp_path: Path) -> None:
    """Names with blanks and parentheses, and types with and without flags, are told apart."""
    told = (
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        "//ann@server/share on /Volumes/My (own) share (smbfs, nodev, nosuid, mounted by ann)\n"
        "map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)\n"
        "host:/x on /Volumes/x (macfuse)\n"
    )
    assert [(mount.point, mount.kind) for mount in parse_mount_output(told)] == [
        ("/", "apfs"),
        ("/Volumes/My (own) share", "smbfs"),
        ("/System/Volumes/Data/home", "autofs"),
        ("/Volumes/x", "macfuse"),
    ]


@pytest.mark.parametrize(
    "kind",
    [
        "nfs",
        "nfs4",
        "NFS4",
        "cifs",
        "smb3",
        "smbfs",
        "afpfs",
        "9p",
        "virtiofs",
        "drvfs",
        "vboxsf",
        "afs",
        "ceph",
        "lustre",
        "fuse",
        "fuse.glusterfs",
        "fuse.sshfs",
        "fuse.rclone",
        "fuse.vmhgfs-fuse",
        "macfuse_sshfs",
    ],
)
def test_what_is_served_from_elsewhere_counts_as_network(kind: str) -> None:
    """Remote folders, those of a virtual machine's host, clusters and whatever a program serves."""
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "hfs", "fuseblk", None])
def test_local_disks_and_unknown_ones_do_not(kind: str | None) -> None:
    """A disk that this machine alone mounts is local; so is what can't be told."""
    assert not is_network(kind)


def test_a_link_is_looked_at_where_it_leads(tmp_path: Path) -> None:
    """The file system that counts is the one that holds the files, not the one that holds the link."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "shared")
    mounts = [Mount(point="/", kind="ext4"), Mount(point=str((tmp_path / "shared").resolve()), kind="cifs")]
    assert file_system_of(tmp_path / "state" / "not yet" / "memory.db", lambda: mounts) == "cifs"


@pytest.mark.parametrize("error", [PermissionError("no"), subprocess.TimeoutExpired("mount", 1)])
def test_where_the_system_does_not_tell_the_type_is_unknown(error: Exception) -> None:
    """A fault in listing the mounts, or a list without the path, is no error."""

    def refuse() -> list[Mount]:
        raise error

    assert file_system_of(Path("/x"), refuse) is None
    assert file_system_of(Path("/x"), list) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the list of Linux")
def test_this_machine_tells_the_type_of_its_folders(tmp_path: Path) -> None:
    """The real list of mounts is understood."""
    assert file_system_of(tmp_path)
    assert file_system_of(Path("/proc")) == "proc"


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_list_of_mounts_breaks_the_reading(text: str) -> None:
    """Whatever stands there, what is found has a type and a folder."""
    for mount in [*parse_mountinfo(text), *parse_mount_output(text)]:
        assert mount.kind
