"""Citations at the end of final answers: what counts, and what is harmless."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_homes import Logs
from rollout_logs import ClaudeSession, CodexSession, thread_id_of

from memory_pipeline.records import ThreadFacts
from memory_pipeline.rollouts.citations import MOST_LINES, MOST_THREADS, citation_in
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.reading import read_facts

ONE, TWO, THREE = (thread_id_of(number) for number in (1, 2, 3))


def block(*threads: str, entries: str = "MEMORY.md:3-4|note=[uv]\n") -> str:
    """Write a citation block as the agent does."""
    ids = "".join(f"{thread}\n" for thread in threads)
    return (
        f"<oai-mem-citation>\n<citation_entries>\n{entries}</citation_entries>\n"
        f"<rollout_ids>\n{ids}</rollout_ids>\n</oai-mem-citation>"
    )


def facts_of(logs: Logs, session: CodexSession | ClaudeSession) -> ThreadFacts:
    """Write a session and read its facts."""
    session.write(logs.home)
    (file,) = find_rollouts(logs.agent, str(logs.home))
    return read_facts(file, str(logs.home), max_bytes=1 << 30)


def cited(logs: Logs, session: CodexSession | ClaudeSession) -> list[tuple[str, ...]]:
    """Return the threads that each counted answer of a session cites."""
    return [citation.threads for citation in facts_of(logs, session).citations]


def test_threads_and_lines_of_a_block_are_read() -> None:
    """Ids stand one a line, lines as a range or alone; other files than MEMORY.md are passed over."""
    entries = "MEMORY.md:3-5|note=[uv]\nMEMORY.md:9|note=[a|b]\nrollout_summaries/x.md:1-2|note=[]\n"
    found = citation_in(f"Done.\n{block(ONE, TWO, ONE, entries=entries)}\n", at=5.0, place="p")
    assert found is not None
    assert (found.threads, found.lines, found.at) == ((ONE, TWO), (3, 4, 5, 9), 5.0)


@pytest.mark.parametrize(
    "answer",
    [
        f"Done.\n{block(ONE).removesuffix('</oai-mem-citation>')}",
        f"The block looks so:\n{block(ONE)}\nand ends the answer.",
        "Done.\n</oai-mem-citation>",
        f"Done.\n{block(ONE, entries='').replace('rollout_ids', 'thread_list')}",
        f"Done.\n{block('../../etc/passwd', '<b>', entries='MEMORY.md:9-3' + chr(10) + 'MEMORY.md:0' + chr(10))}",
        f"Done.\n{block('x' * 200_000)}",
    ],
)
def test_what_is_no_whole_block_at_the_end_cites_nothing(answer: str) -> None:
    """Unclosed, quoted in the middle, without a beginning, of other tags, of things that are no ids, or huge."""
    assert citation_in(answer, at=5.0, place="p") is None


def test_a_block_of_thousands_is_bounded() -> None:
    """Ten thousand ids and a range of a million lines are cut to what an answer may cite."""
    ids = [f"t{number}" for number in range(10_000)]
    found = citation_in(block(*ids, entries="MEMORY.md:1-1000000\nMEMORY.md:7\n"), at=None, place="p")
    assert found is not None
    assert (len(found.threads), found.lines) == (MOST_THREADS, (7,))
    many = "".join(f"MEMORY.md:{start}-{start + 99}\n" for start in range(1, 100_001, 100))
    found = citation_in(block(ONE, entries=many[:60_000]), at=None, place="p")
    assert found is not None
    assert len(found.lines) <= MOST_LINES


@settings(max_examples=100)
@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_is_read_within_bounds(entries: str, names: list[str]) -> None:
    """Whatever stands in a block, reading it ends well, and gives numbers from 1 and plain ids alone."""
    found = citation_in(block(*names, ONE, entries=f"{entries}\n"), at=1.0, place="p")
    if found is not None:
        assert all(number > 0 for number in found.lines)
        assert all(name.isascii() and len(name) <= 128 and "/" not in name for name in found.threads)


def test_the_same_answer_has_the_same_id_wherever_it_stands() -> None:
    """Words and time make the id; without a time it is the place, so that two answers alike stay two."""
    one, again = citation_in(block(ONE), at=5.0, place="a"), citation_in(block(ONE), at=5.0, place="b")
    later, untimed = citation_in(block(ONE), at=6.0, place="a"), citation_in(block(ONE), at=None, place="a")
    elsewhere = citation_in(block(ONE), at=None, place="b")
    assert one is not None
    assert one == again
    assert len({found.citation_id for found in (one, later, untimed, elsewhere) if found}) == 4


def test_final_answers_of_codex_cite(codex: Logs) -> None:
    """The last word of a turn counts; what the assistant says on its way does not."""
    session = CodexSession(thread_id=THREE).prompt("Mend it.")
    session.answer(f"Looking.\n{block(TWO)}", phase="commentary").answer(f"Done.\n{block(ONE)}")
    assert cited(codex, session) == [(ONE,)]


def test_final_answers_of_claude_cite(claude: Logs) -> None:
    """The same block in a transcript of Claude Code counts as well."""
    session = ClaudeSession(thread_id=THREE).prompt("Mend it.").answer(f"Done.\n{block(ONE)}")
    assert cited(claude, session) == [(ONE,)]


def test_a_pasted_block_cites_nothing(codex: Logs) -> None:
    """A block in a prompt, or in what a tool printed, is nobody's use of a memory."""
    session = CodexSession(thread_id=THREE).prompt(f"Explain:\n{block(ONE)}").shell("cat notes.md", block(ONE))
    assert cited(codex, session.answer("That is a citation.")) == []


def test_an_undone_answer_cites_nothing(codex: Logs) -> None:
    """What the person rolled back does not stand, and so was no use."""
    session = CodexSession(thread_id=THREE).prompt("Mend it.").answer(f"Done.\n{block(ONE)}")
    session._add("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    session.prompt("Mend it otherwise.").answer(f"Done.\n{block(TWO)}")
    assert cited(codex, session) == [(TWO,)]


def test_a_session_that_began_with_memory_disabled_is_told_from_one_where_it_was_switched_off(codex: Logs) -> None:
    """Only the first meta tells a setting of Codex; a later one is what the person did in the session."""
    session = CodexSession(thread_id=THREE, meta={"memory_mode": "disabled"}).prompt("Mend it.").answer("Done.")
    facts = facts_of(codex, session)
    assert (facts.memory_mode, facts.disabled_from_start) == ("disabled", True)
    later = CodexSession(thread_id=THREE).prompt("Mend it.").answer("Done.")
    later._add("session_meta", {**later.lines[0]["payload"], "memory_mode": "disabled"})
    facts = facts_of(codex, later)
    assert (facts.memory_mode, facts.disabled_from_start) == ("disabled", False)
