"""No secret of a log reaches the disk or the screen, wherever in the log it stands. Every secret here is a fake."""

from __future__ import annotations

import json
import re
from datetime import timedelta

from command import LONG_ANSWER, Machine, contents, moment
from rollout_logs import ClaudeSession, CodexSession, thread_id_of

FAKE = re.compile(r"gh[p]_fake\w{30,}|hunter2fake")


def fake(place: str) -> str:
    """Make a token that tells where it stood."""
    return "gh" + f"p_fake{place}" + "0123456789" * 3


def item(session: CodexSession, line_type: str, **payload: object) -> None:
    """Put a line into a Codex session."""
    session.lines.append({"timestamp": session.lines[-1]["timestamp"], "type": line_type, "payload": payload})


def codex_session() -> CodexSession:
    """Make a session with a secret in whatever a log of Codex names."""
    session = CodexSession(
        thread_id=thread_id_of(1),
        start=moment(timedelta(days=2)),
        cwd=f"/home/sam/{fake('folder')}",
        remote=f"https://{fake('user')}@git.example/sam/shop.git",
        meta={"model_provider": fake("provider")},
    )
    session.lines[0]["payload"]["git"]["branch"] = fake("branch")
    session.prompt(f"Always use the token {fake('prompt')} for deploys.").answer(
        f"I use {fake('answer')}. {LONG_ANSWER}"
    )
    session.shell(f"deploy --token {fake('command')}", f"error: {fake('output')}", exit_code=1)
    arguments = json.dumps({"path": fake("argument")})
    item(session, "response_item", type="function_call", name=fake("tool"), arguments=arguments, call_id=fake("call"))
    item(session, "response_item", type="function_call_output", call_id=fake("call"), output=fake("result"))
    item(session, "event_msg", type="error", message=fake("failure"))
    item(session, "event_msg", type=fake("event"))
    item(session, fake("line"), x=1)
    item(session, "response_item", type="message", role=fake("role"), content=[])
    return session.prompt("Das Passwort ist hunter2fake, always run make lint.").answer(LONG_ANSWER)


def claude_session() -> ClaudeSession:
    """Make the same for Claude Code."""
    session = ClaudeSession(
        thread_id=thread_id_of(2), start=moment(timedelta(days=2)), cwd=f"/home/sam/{fake('place')}"
    )
    session.prompt(f"Never print {fake('typed')} again.").answer(LONG_ANSWER)
    session.shell(f"curl -u sam:{fake('curl')} x", fake("printed"), failed=True)
    session.lines.append({"type": fake("kind"), "cwd": "/"})
    for line in session.lines:
        line["gitBranch"] = fake("twig")
    return session.prompt("login: sam / hunter2fake").answer(LONG_ANSWER)


def test_no_secret_of_a_log_reaches_disk_or_screen(machine: Machine) -> None:
    """Words, commands, folders, branches and the names of unknown things: all are masked before they are kept."""
    machine.configure(gates={"idle_seconds": 0, "external_context": "include"})
    codex_session().write(machine.codex)
    claude_session().write(machine.claude)

    ran = machine.run("run", "--json")
    assert ran.document["phase1"]["succeeded"] == 2
    told = ran.out + ran.err
    for command in ("threads list", "memory list", "status"):
        for more in ((), ("--json",)):
            shown = machine.run(*command.split(), *more)
            told += shown.out + shown.err
    for number in (1, 2):
        told += machine.run("threads", "show", thread_id_of(number)).out
        told += json.dumps(machine.thread(number))

    assert "[redacted:github-token]" in told
    assert FAKE.findall(told) == []
    kept = {name: FAKE.findall(data.decode("utf-8", "replace")) for name, data in contents(machine.state).items()}
    assert {name: found for name, found in kept.items() if found} == {}
