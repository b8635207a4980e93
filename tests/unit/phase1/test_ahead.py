"""Many logs are read in helping processes, and come out as if they were read one by one."""

from __future__ import annotations

import shlex
import subprocess
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec import msgpack
from msgspec.structs import replace
from rollout_logs import START, ClaudeSession, CodexSession, thread_id_of

from memory_pipeline.config import Config, SourceConfig, SourcesConfig
from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.phase1.ahead import HELPER_COMMAND, WORTH_HELP_BYTES, HowToRead, helpers_for, read_ahead
from memory_pipeline.phase1.index import index_rollouts
from memory_pipeline.records import Agent, IndexedThread, RolloutFile
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.lineage import WHOLE_FILE
from memory_pipeline.rollouts.reading import read_facts
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind

NOW = START.timestamp() + 7 * 86_400
MANY = 70
MAX_BYTES = 1 << 30


class FixedClock:
    """A clock that stands."""

    def now(self) -> float:
        return NOW


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Two homes with many sessions, of which one forks another and one is no log."""
    codex, claude = tmp_path / "codex", tmp_path / "claude"
    first = CodexSession(thread_id=thread_id_of(0)).prompt("Mend the checkout.").answer("It is mended.")
    first.write(codex)
    for number in range(1, MANY):
        CodexSession(thread_id=thread_id_of(number)).prompt(f"Always run check {number}.").answer("Done.").write(codex)
    fork = CodexSession(thread_id=thread_id_of(202), meta={"forked_from_id": thread_id_of(0)})
    fork.prompt("Mend the checkout.").answer("It is mended.").prompt("Now the cart.").answer("Done.").write(codex)
    ClaudeSession(thread_id=thread_id_of(200)).prompt("Mend it.").answer("Done.").write(claude)
    CodexSession(thread_id=thread_id_of(201)).prompt("Go on.").write(codex).write_bytes(b"no log\n")
    return Config(
        state_dir=str(tmp_path / "state"),
        memories_dir=str(tmp_path / "state" / "memories"),
        sources=SourcesConfig(codex=SourceConfig(home=str(codex)), claude=SourceConfig(home=str(claude))),
    )


def _how(config: Config) -> HowToRead:
    homes = {agent: config.sources.of(agent).home for agent in (Agent.CODEX, Agent.CLAUDE)}
    return HowToRead(homes=homes, max_bytes=MAX_BYTES, own_folders=(config.memories_dir,), now=NOW)


def _files(config: Config) -> list[RolloutFile]:
    return [
        file for agent in (Agent.CODEX, Agent.CLAUDE) for file in find_rollouts(agent, config.sources.of(agent).home)
    ]


def test_helpers_tell_in_order_what_reading_here_tells(config: Config) -> None:
    """The facts of every log are the same, and each comes at the place of its file."""
    files = _files(config)
    told = list(read_ahead(files, [WHOLE_FILE] * len(files), _how(config), helpers=2))
    homes = _how(config).homes
    here = [read_facts(file, homes[file.agent], max_bytes=MAX_BYTES, now=NOW) for file in files]
    # Of a fork, the asker finds out first what is its parent's.
    assert [one.facts if one else None for one in told] == [None if one.forked_from else one for one in here]
    assert sum(one is None for one in told) == 1
    nowhere = f"project:(no folder)/{thread_id_of(201)}"
    assert {one.scope for one in told if one} == {f"project:{here[0].cwd}", nowhere}


def test_what_can_not_be_read_is_left_to_whoever_asked(config: Config) -> None:
    """A log that is gone takes nothing with it, neither in its question nor in those after it."""
    files = _files(config)
    Path(files[3].path).unlink()
    told = list(read_ahead(files, [WHOLE_FILE] * len(files), _how(config), helpers=1))
    assert [number for number, one in enumerate(told) if one is None] == [3, MANY + 1]


@pytest.mark.parametrize(
    "command",
    [
        ("/nowhere/python",),
        ("false",),
        ("echo", "no pickle"),
        ("printf", "N."),  # a whole answer of another shape
        ("printf", "cno_such_module\nname\n."),
        ("printf", "cbuiltins\nno_such_name\n."),
    ],
)
def test_helpers_that_fail_leave_all_to_whoever_asked(config: Config, command: tuple[str, ...]) -> None:
    """They can't be started, end at once, or tell something else."""
    files = _files(config)
    told = list(read_ahead(files, [WHOLE_FILE] * len(files), _how(config), helpers=2, command=command))
    assert told == [None] * len(files)


def test_a_folder_whose_name_is_no_text_leaves_all_to_whoever_asked(config: Config) -> None:
    """Such a name can't be told to a helper, and is no reason to read nothing."""
    files = _files(config)
    how = replace(_how(config), own_folders=("/home/jos\udce9/state",))
    assert list(read_ahead(files, [WHOLE_FILE] * len(files), how, helpers=2)) == [None] * len(files)


def test_what_a_start_of_python_prints_keeps_no_answer_back(config: Config, tmp_path: Path) -> None:
    """A site's own start may print whatever it likes, also what reads as the beginning of something very long."""
    (tmp_path / "sitecustomize.py").write_text("print('Built', flush=True)")
    command = ("env", f"PYTHONPATH={tmp_path}", *HELPER_COMMAND)
    files = _files(config)
    told = list(read_ahead(files, [WHOLE_FILE] * len(files), _how(config), helpers=1, command=command))
    assert sum(one is None for one in told) == 1


def test_a_helper_that_dies_leaves_its_own_share_alone(config: Config, tmp_path: Path) -> None:
    """Every second log is to be read by whoever asked; of the others, the helper that lives tells all."""
    dies = f"mkdir {tmp_path}/died 2> /dev/null && exit 1; exec {shlex.join(HELPER_COMMAND)}"
    files = _files(config)[:20]
    told = list(read_ahead(files, [WHOLE_FILE] * 20, _how(config), helpers=2, command=("sh", "-c", dies)))
    assert [one is None for one in told[::2]] != [one is None for one in told[1::2]]
    assert {sum(one is None for one in share) for share in (told[::2], told[1::2])} == {0, 10}


def test_a_helper_ends_once_nobody_listens(config: Config) -> None:
    """Its end of the pipe is all that holds it: the program that started it may have been killed at any moment."""
    files = _files(config)
    share = msgpack.encode({"how": _how(config), "files": files, "parts": [WHOLE_FILE] * len(files)})
    with subprocess.Popen(HELPER_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        helper.stdout.close()
        helper.stdin.write(share)
        helper.stdin.close()
        assert helper.wait(60) == 0


def test_few_bytes_need_no_help(config: Config) -> None:
    """Starting a helper takes longer than reading what a day leaves."""
    files = _files(config)
    assert helpers_for(files) == 0
    assert helpers_for([file._replace(size=WORTH_HELP_BYTES) for file in files[:3]]) == 0


def _index(store: Store, config: Config, *, helpers: int, stop_after: int | None = None) -> list[IndexedThread]:
    stop = threading.Event()

    def progress(done: int, total: int) -> None:
        if done == stop_after:
            stop.set()

    with nullcontext() if stop_after is None else pytest.raises(InterruptedRunError):
        index_rollouts(config, store, FixedClock(), stop=stop, on_progress=progress, helpers_for=lambda _: helpers)
    return store.threads.every()


def test_an_index_that_was_helped_is_the_same(config: Config, store: Store, tmp_path: Path) -> None:
    """Every thread has the row that it would have without help, also forks and logs in which nothing is understood."""
    helped = _index(store, config, helpers=2)
    alone = Store(tmp_path / "alone.db")
    assert helped == _index(alone, config, helpers=0)
    assert len(helped) == MANY + 3
    alone.close()


def test_an_index_that_is_stopped_while_it_is_helped_goes_on_where_it_was(config: Config, store: Store) -> None:
    """What was told by then is stored; the next look reads the rest."""
    some = _index(store, config, helpers=2, stop_after=40)
    assert len(some) == 41  # the one that was begun is finished
    assert len(_index(store, config, helpers=2)) == MANY + 3


def test_what_was_forgotten_is_not_told_again_by_a_helper(config: Config, store: Store) -> None:
    """A thread that was forgotten comes back disabled, whoever read its log."""
    gone = thread_id_of(5)
    folder = TombstoneFolder(config.tombstones_path)
    folder.add([Tombstone(kind=TombstoneKind.THREAD, value=gone)], now=NOW)
    threads = {thread.thread_id: thread for thread in _index(store, config, helpers=2)}
    assert (threads[gone].disabled_by_person, threads[gone].title) == (True, None)
    assert not threads[thread_id_of(6)].disabled_by_person
