"""How right the memories are is measured by a command, learnt from what is in the repository, and does not fall."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from model_server import ModelServer, Reply, Request, answer, calls

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of the benchmarks in the checkout."""
    return subprocess.run(
        (sys.executable, "-m", *arguments), cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_memories_of_an_invented_world_are_as_right_as_they_were() -> None:
    """Recall and precision on families of phrases that nothing was learnt from; no leak, poison or secret at all."""
    ran = run("benchmarks.rightness", "--gate")
    assert ran.returncode == 0, ran.stderr + ran.stdout


def test_packaged_weights_are_what_the_examples_give() -> None:
    """Whoever changes an example, a feature or the training must train anew; the bytes are the same everywhere."""
    ran = run("benchmarks.directions.train", "--check")
    assert ran.returncode == 0, ran.stderr + ran.stdout


def test_nothing_is_learnt_from_the_held_out_parts() -> None:
    """The parts share no family, and no held-out sentence is among the examples."""
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.directions.train import bank_examples, examples
        from benchmarks.rightness.bank import PARTS, STATING, read_bank
    finally:
        sys.path.remove(str(ROOT))
    families = [{phrase.family for phrase in read_bank(part).phrases} for part in PARTS]
    assert sum(len(names) for names in families) == len(set().union(*families))
    known = {one.masked for one in examples()}
    for part in set(PARTS) - {"build"}:
        bank = read_bank(part)
        held_out = {one.masked for one in bank_examples(bank, seed=9)}
        stating = {phrase.text.lower() for phrase in bank.phrases if phrase.shape in STATING}
        assert held_out & known & stating == set()


def keeps_what_the_person_typed(request: Request) -> Reply:
    """A model that tells each row of the person as a preference, and has nothing to curate."""
    if request.offers_tools:
        return calls(("finish", {}))
    rows = re.findall(r"^\[(\d+) user\] (.+)$", request.shown, re.MULTILINE)
    entries = [
        {"kind": "preference", "scope": "project", "condition": "", "statement": text[:250], "evidence": [int(number)]}
        for number, text in rows
    ]
    task = {"title": "what was typed", "outcome": "uncertain", "entries": entries}
    return answer({"rollout_summary": "a session", "rollout_slug": "session", "tasks": [task] if entries else []})


def test_the_same_command_scores_a_model_behind_an_api() -> None:
    """A server on loopback that keeps every prompt recalls what is stated; its other lines cost it precision."""
    world = ("--part", "build", "--once", "--seeds", "3", "--projects", "2", "--facts", "5", "--months", "1")
    with ModelServer(default=keeps_what_the_person_typed) as server:
        asked = ("--provider", "openai", "--base-url", server.base_url, "--model", "test-model", "--json")
        ran = run("benchmarks.rightness", *world, *asked)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    told = json.loads(ran.stdout)["memories"]
    assert server.faults == []
    assert told["recall_of_stated"] >= 0.7
    assert told["precision"] < 0.6
    assert told["model_tokens"] > 0
    assert (told["failed_sessions"], told["poison"], told["secrets_left"], told["invalid_citations"]) == (0, 0, 0, 0)
