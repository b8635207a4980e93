"""Which kind of file system holds a path, and whether other machines or programs may have a part in it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

#: Served from elsewhere: another machine, the host of a virtual machine, or a cluster.
_NETWORK = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afp", "afpfs", "webdav", "davfs"),
        *("9p", "v9fs", "virtiofs", "drvfs", "wslfs", "vboxsf", "vmhgfs", "prl_fs", "prlfs", "fakeowner", "osxfs"),
        *("afs", "kafs", "openafs", "auristorfs", "coda", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs"),
        *("pvfs2", "ocfs2", "gfs", "gfs2", "acfs", "juicefs", "moosefs"),
        *("fuse", "macfuse", "osxfuse", "fusefs"),
    }
)
#: A program serves these, and it may serve anything: a remote folder, an archive, a drive in the cloud. ``fuseblk`` is
#: not among them: the kernel asks that a local disk stands behind it.
_FUSE_PREFIXES = ("fuse.", "macfuse_", "osxfuse_")

_MOUNTINFO = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
#: `/dev/disk1s1 on /Volumes/My Disk (apfs, local, journaled)`, as mount(8) of macOS tells it.
_MOUNT_LINE = re.compile(r"^.*? on (?P<point>/.*) \((?P<kind>[^,()]+)(?:,[^()]*)?\)$")
_MOUNT_SECONDS = 10.0


class Mount(Struct, frozen=True, kw_only=True):
    """A file system and the folder at which it is mounted."""

    point: str
    kind: str  # as the system names it: ext4, apfs, nfs4, fuse.sshfs


#: Lists what is mounted, in the order of mounting; OSError where that can't be told.
ListMounts = Callable[[], Sequence[Mount]]


def file_system_of(path: Path, list_mounts: ListMounts | None = None) -> str | None:
    """Return the type of the file system that holds ``path``, or its nearest folder that exists; None for unknown.

    ``list_mounts`` is what is asked for the mounts; the system itself by default.
    """
    try:
        mounts = (list_mounts or system_mounts)()
        real = os.path.realpath(path)
    except (OSError, subprocess.SubprocessError):
        return None
    holding = [mount for mount in mounts if _lies_in(real, mount.point)]
    if not holding:
        return None
    longest = max(len(mount.point.rstrip("/")) for mount in holding)
    # Of several at one point, the one mounted last hides the others.
    return next(mount.kind for mount in reversed(holding) if len(mount.point.rstrip("/")) == longest)


def is_network(kind: str | None) -> bool:
    """Whether files of this type may change behind the back of this machine's kernel. Unknown counts as local."""
    if kind is None:
        return False
    name = kind.strip().lower()
    return name in _NETWORK or name.startswith(_FUSE_PREFIXES)


def system_mounts() -> Sequence[Mount]:
    """List what is mounted on this machine.

    Raises:
        OSError, subprocess.SubprocessError: the system does not tell.
    """
    if _MOUNTINFO.exists():
        return parse_mountinfo(_MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape"))
    done = subprocess.run(["/sbin/mount"], capture_output=True, check=True, timeout=_MOUNT_SECONDS)
    return parse_mount_output(done.stdout.decode("utf-8", "surrogateescape"))


def parse_mountinfo(text: str) -> list[Mount]:
    """Read Linux's list of mounts. Lines of another shape are left out."""
    mounts = []
    for line in text.split("\n"):
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if separator and len(fields) >= 6 and rest[0]:
            mounts.append(Mount(point=_unescaped(fields[4]), kind=_unescaped(rest[0])))
    return mounts


def parse_mount_output(text: str) -> list[Mount]:
    """Read the list that ``mount`` prints on macOS. Lines of another shape are left out."""
    found = (_MOUNT_LINE.match(line) for line in text.split("\n"))
    return [Mount(point=match["point"], kind=match["kind"].strip()) for match in found if match]


def _unescaped(field: str) -> str:
    # The kernel writes blanks, tabs, line ends and backslashes as three octal digits.
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)


def _lies_in(path: str, point: str) -> bool:
    return path == point or path.startswith(f"{point.rstrip('/')}/")
