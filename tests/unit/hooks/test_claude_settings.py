"""The hook in Claude Code's settings: every other byte stays, and taking it out gives back what was there."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.errors import HookError
from memory_pipeline.hooks.claude import EVENT, are_hooks_off, command_in, install, uninstall

COMMAND = "/opt/tools/bin/memory-pipeline --config '/home/sam/my config.toml' context --format claude-hook"
MOVED = "/home/sam/.venv/bin/python -P -m memory_pipeline context --format claude-hook"
PLACE = "settings.json"


def put_in(content: bytes | None, command: str = COMMAND) -> bytes:
    """Install."""
    return install(content, command, place=PLACE)


def take_out(content: bytes) -> bytes | None:
    """Uninstall."""
    return uninstall(content, place=PLACE)


def commands_in(content: bytes) -> list[str]:
    """Return the commands that Claude Code would run when a session starts."""
    groups = json.loads(content.decode("utf-8-sig"))["hooks"][EVENT]
    return [hook["command"] for group in groups for hook in group["hooks"]]


ODD = [
    b"{}",
    b"{ }",
    b"{\n}\n",
    b'{"a":1}',
    b'{"a" :1 , "b":[ ]}',
    b'{"hooks":{}}',
    b'{"hooks": { }, "model": "x"}',
    b'{"hooks":{"SessionStart":[]}}',
    b'{\n    "hooks": {\n        "SessionStart": []\n    }\n}',
    b'{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n',
    b'\xef\xbb\xbf{\n  "model": "x"\n}',
    b'{\n  "env": {"KEY": "\\u00e9\\ud800 \xc3\xa9"},\n\n\n  "model":"x"   }   \n\n',
    b'{"hooks":{"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"date"}]}]}}',
    b'{\n "hooks": {\n  "SessionStart": [\n   {"hooks": [{"type": "command", "command": "x"}]}\n  ], "Stop": []\n }\n}',
    b'{"n": 1e400, "big": 12345678901234567890, "t": true, "z": null, "q": "\\"hooks\\": {"}',
]


@pytest.mark.parametrize("content", [None, *ODD], ids=str)
def test_taking_it_out_gives_back_what_was_there(content: bytes | None) -> None:
    """Byte for byte, however odd the layout is; no file where there was none. Putting it in twice changes nothing."""
    installed = put_in(content)
    assert COMMAND in commands_in(installed)
    assert command_in(installed, place=PLACE) == COMMAND
    assert put_in(installed) == installed
    assert take_out(installed) == content


def documents() -> st.SearchStrategy[Any]:
    """Make settings, some of which have hooks already."""
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    )
    group = st.fixed_dictionaries({"hooks": st.lists(st.just({"type": "command", "command": "date"}), max_size=2)})
    hooks = st.fixed_dictionaries(
        {}, optional={EVENT: st.lists(group, max_size=2), "Stop": st.lists(group, max_size=1)}
    )
    return st.builds(
        lambda other, own: {**other, **own},
        st.dictionaries(st.text("abc", min_size=1, max_size=3), values, max_size=3),
        st.fixed_dictionaries({}, optional={"hooks": hooks}),
    )


@settings(max_examples=100, deadline=None)
@given(
    document=documents(),
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    separators=st.sampled_from([None, (",", ":"), (" , ", " : ")]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    around=st.sampled_from([("", ""), ("\ufeff", "\n"), ("\n ", " \n\n")]),
)
def test_any_settings_come_back_as_they_were(
    document: Any, indent: Any, separators: Any, line_end: str, around: tuple[str, str]
) -> None:
    """Whatever they hold and however they are laid out; meanwhile everything else in them means the same."""
    text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=False).replace("\n", line_end)
    content = f"{around[0]}{text}{around[1]}".encode()
    installed = put_in(content)
    assert commands_in(installed)[-1] == COMMAND
    meant = json.loads(installed.decode("utf-8-sig"))
    meant["hooks"][EVENT].pop()
    if not meant["hooks"][EVENT] and EVENT not in document.get("hooks", {}):
        del meant["hooks"][EVENT]
    if not meant["hooks"] and "hooks" not in document:
        del meant["hooks"]
    assert meant == document
    assert take_out(installed) == content


def test_a_moved_program_is_written_into_the_hook_that_is_there() -> None:
    """Not beside it."""
    moved = put_in(put_in(b'{"a": 1}'), MOVED)
    assert commands_in(moved) == [MOVED]
    assert take_out(moved) == b'{"a": 1}'


def test_what_was_changed_since_stays() -> None:
    """Another program laid the settings out anew and added a hook behind ours: ours goes, and what it left empty."""
    document = json.loads(put_in(b'{"a": 1}'))
    document["model"] = "x"
    assert take_out(json.dumps(document, indent=4).encode()) == b'{\n    "a": 1,\n    "model": "x"\n}'
    document["hooks"][EVENT].append({"hooks": [{"type": "command", "command": "date"}]})
    rest = take_out(json.dumps(document).encode())
    assert rest is not None
    assert commands_in(rest) == ["date"]


def test_a_hook_that_shares_its_group_goes_alone() -> None:
    """As a person may have put them together."""
    document = json.loads(put_in(None))
    document["hooks"][EVENT][0]["hooks"].append({"type": "command", "command": "date"})
    rest = take_out(json.dumps(document).encode())
    assert rest is not None
    assert commands_in(rest) == ["date"]


def test_two_of_ours_both_go() -> None:
    """Copied by hand, say."""
    document = json.loads(put_in(b'{"a": 1}'))
    document["hooks"][EVENT] *= 2
    assert take_out(json.dumps(document, indent=2).encode()) == b'{\n  "a": 1\n}'


def test_hooks_of_others_are_not_ours() -> None:
    """Whatever they are called with."""
    hook = b'{"type": "command", "command": "notes context --format claude-hook"}'
    other = b'{"hooks": {"SessionStart": [{"hooks": [' + hook + b"]}]}}"
    assert command_in(other, place=PLACE) is None
    assert take_out(other) == other


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b'{"a": 1} // why',
        b'{"a": 1,}',
        b"[]",
        b'"x"',
        b"\xff\xfe{}",
        b'{"hooks": []}',
        b'{"hooks": {"SessionStart": {}}}',
        b'{"hooks": {}, "hooks": {}}',
        b'{"hooks": {"SessionStart": [], "SessionStart": []}}',
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda content: str(content[:30]),
)
def test_settings_that_can_not_be_changed_safely_are_refused(broken: bytes) -> None:
    """With the file's name; nobody's settings are guessed at."""
    with pytest.raises(HookError, match=re.escape(PLACE)):
        put_in(broken)


def test_a_switch_that_turns_all_hooks_off_is_seen() -> None:
    """So that the status can tell why nothing is given."""
    assert are_hooks_off(b'{"disableAllHooks": true}', place=PLACE)
    assert not are_hooks_off(b'{"disableAllHooks": false}', place=PLACE)


@pytest.mark.parametrize(
    "own",
    [f"date && {COMMAND}", f"{COMMAND} | tee /tmp/log", f"{COMMAND}; date", f"({COMMAND})", f"{COMMAND} > /dev/null"],
)
def test_a_line_of_the_persons_own_that_calls_us_among_other_things_stays(own: str) -> None:
    """It does more than our hook, so it is neither brought up to date nor taken out."""
    content = json.dumps({"hooks": {EVENT: [{"hooks": [{"type": "command", "command": own}]}]}}).encode()
    installed = put_in(content)
    assert own in json.dumps(json.loads(installed))
    assert take_out(installed) == content


@pytest.mark.parametrize("program", ["/opt/a b/memory-pipeline", "/opt/a&b/memory-pipeline", "/opt/#1/memory-pipeline"])
def test_a_program_in_a_folder_with_an_odd_name_is_known(program: str) -> None:
    """Its command has that quoted."""
    command = shlex.join([program, "context", "--format", "claude-hook"])
    assert take_out(put_in(b"{}", command)) == b"{}"
