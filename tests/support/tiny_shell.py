"""A shell as far as Ctrl-Z and fg go: it leads a terminal's session, and takes over when its one command stops.

It writes ``[stopped]`` when the command stops, and lets it go on at a line ``fg``. It ends as the command does.

    python tiny_shell.py COMMAND…
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios


def main() -> int:
    """Run the command in the foreground until it ends; returns its exit code."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # so that we may take the terminal back
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[1], sys.argv[1:])
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        os.write(1, b"[stopped]\n")
        while os.read(0, 64).strip() != b"fg":
            pass
        os.tcsetpgrp(0, child)
        os.killpg(child, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main())
