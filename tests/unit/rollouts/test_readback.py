"""Evidence is read back from wherever its line stands now, and every fault of a log is a result."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rollout_logs import ClaudeSession, CodexSession, thread_id_of

from memory_pipeline.records import Agent, EvidenceLine, Speaker
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.readback import WORDS_CHARS, EvidenceReader, EvidenceState, ReadBack
from memory_pipeline.rollouts.reading import read_events

RULE = "From now on always run make lint before you commit."
THREAD = thread_id_of(1)
MAX_BYTES = 1 << 26


class Said:
    """One session on disk, and the evidence that its lines gave."""

    def __init__(self, home: Path, made: CodexSession | ClaudeSession) -> None:
        self.home = home
        self.agent = Agent.CODEX if isinstance(made, CodexSession) else Agent.CLAUDE
        self.path = made.write(home)

    def evidence(self, words: str) -> EvidenceLine:
        """The evidence of the first event whose text holds these words."""
        (file,) = find_rollouts(self.agent, str(self.home))
        reading = read_events(file, str(self.home), max_bytes=MAX_BYTES)
        event = next(e for e in reading if words in e.text)
        place = (event.byte_start, event.byte_end)
        return EvidenceLine(
            rollout_path=str(self.path),
            byte_start=event.byte_start,
            byte_end=event.byte_end,
            line_sha256=reading.hash_lines([place])[place],
            speaker=event.speaker,
            at=event.at,
            quote=words,
        )

    def read_back(self, *lines: EvidenceLine, max_bytes: int = MAX_BYTES) -> list[ReadBack]:
        """Read lines back, as a command does."""
        reader = EvidenceReader({self.agent: str(self.home)}, max_bytes=max_bytes)
        return reader.read(lines, agent=self.agent, thread_id=THREAD, current_path=str(self.path))


@pytest.fixture
def said(tmp_path: Path) -> Said:
    """A Codex session with a rule, an answer and a command."""
    made = CodexSession(thread_id=THREAD).prompt(f"Mend the total. {RULE} Thanks!").answer("It works now.")
    return Said(tmp_path / "home", made.shell("make lint", "all fine"))


def test_an_unchanged_line_is_verified_with_its_whole_words(said: Said) -> None:
    """The words around the quote are told, with the line's place and number."""
    line = said.evidence(RULE)
    (read,) = said.read_back(line)
    assert (read.state, read.words, read.reason) == (EvidenceState.VERIFIED, f"Mend the total. {RULE} Thanks!", "")
    assert (read.rollout_path, read.byte_start, read.byte_end) == (str(said.path), line.byte_start, line.byte_end)
    assert read.line_number == 2


def test_the_words_of_every_speaker_are_told_by_one_line_alone(said: Said) -> None:
    """An answer, a call and a result need nothing around them."""
    lines = [said.evidence(words) for words in ("It works now.", "make lint", "all fine", RULE)]
    read = said.read_back(*lines)
    assert [one.state for one in read] == [EvidenceState.VERIFIED] * 4
    assert all(line.quote in one.words for line, one in zip(lines, read, strict=True))


def test_claude_lines_are_told_by_their_own_grammar(tmp_path: Path) -> None:
    """A prompt and a command's output of Claude Code are read back as well."""
    made = ClaudeSession(thread_id=THREAD).prompt(RULE).answer("Done.").shell("make lint", "no faults found")
    said = Said(tmp_path / "home", made)
    read = said.read_back(said.evidence(RULE), said.evidence("no faults found"))
    assert [(one.state, one.words) for one in read] == [
        (EvidenceState.VERIFIED, RULE),
        (EvidenceState.VERIFIED, "no faults found"),
    ]


def test_a_line_is_known_by_all_its_bytes_though_its_media_is_left_out(tmp_path: Path) -> None:
    """A line with another image of the same size is another line: one byte in the middle of the image tells."""
    image = f"data:image/png;base64,{'iVBORw0KGgo' * 70_000}"
    made = CodexSession(thread_id=THREAD).shell("make lint", image).prompt(RULE)
    said = Said(tmp_path / "home", made)
    line = said.evidence("bytes of media left out")
    assert said.read_back(line)[0].state is EvidenceState.VERIFIED
    raw = said.path.read_bytes()
    half = raw.index(b"iVBORw0KGgo") + 400_000
    said.path.write_bytes(raw[:half] + (b"A" if raw[half : half + 1] != b"A" else b"B") + raw[half + 1 :])
    assert said.read_back(line)[0].state is EvidenceState.CHANGED


def test_one_changed_byte_is_noticed(said: Said) -> None:
    """The line is not what was read: the stored quote stands in for it; its neighbours are verified."""
    changed, kept = said.evidence(RULE), said.evidence("It works now.")
    raw = said.path.read_bytes()
    said.path.write_bytes(raw.replace(b"make lint before", b"make lint aefore", 1))
    first, second = said.read_back(changed, kept)
    assert (first.state, first.words, first.rollout_path) == (EvidenceState.CHANGED, RULE, None)
    assert str(said.path) in first.reason
    assert second.state is EvidenceState.VERIFIED


def test_a_line_that_moved_inside_its_log_is_found_there(said: Said) -> None:
    """A log that was written anew with more lines before still holds the evidence, at another place."""
    line = said.evidence(RULE)
    raw = said.path.read_bytes()
    said.path.write_bytes(b'{"type":"new"}\n' + raw)
    (read,) = said.read_back(line)
    assert (read.state, read.byte_start, read.line_number) == (EvidenceState.VERIFIED, line.byte_start + 15, 3)
    assert read.reason


def test_the_old_place_is_preferred_to_an_equal_line_before_it(said: Said) -> None:
    """A repeated line is read where it was cited."""
    line = said.evidence(RULE)
    (_, repeated, *_) = lines = said.path.read_bytes().splitlines(keepends=True)
    said.path.write_bytes(b"".join([*lines, repeated]))
    second = replace(line, byte_start=said.path.stat().st_size - len(repeated), byte_end=said.path.stat().st_size - 1)
    (read,) = said.read_back(second)
    assert read.byte_start == second.byte_start


def test_a_compressed_log_is_read_by_the_same_byte_range(said: Said) -> None:
    """Byte ranges are of the plain text, also when the index does not know yet that it was compressed."""
    line = said.evidence(RULE)
    raw = said.path.read_bytes()
    said.path.with_name(f"{said.path.name}.zst").write_bytes(zstandard.ZstdCompressor().compress(raw))
    said.path.unlink()
    (read,) = said.read_back(line)
    assert (read.state, read.byte_start, read.rollout_path) == (
        EvidenceState.VERIFIED,
        line.byte_start,
        f"{said.path}.zst",
    )


def test_a_log_that_moved_to_the_archive_is_found_by_its_thread(said: Said) -> None:
    """The home is looked through for the thread when its log is not where the index has it."""
    line = said.evidence(RULE)
    archive = said.home / "archived_sessions"
    archive.mkdir()
    moved = said.path.rename(archive / said.path.name)
    (read,) = said.read_back(line)
    assert (read.state, read.rollout_path) == (EvidenceState.VERIFIED, str(moved))


def test_a_log_that_is_gone_leaves_the_stored_quote(said: Said) -> None:
    """Agents delete their logs: that is told, and the quote stands."""
    line = said.evidence(RULE)
    said.path.unlink()
    (read,) = said.read_back(line)
    assert (read.state, read.words) == (EvidenceState.GONE, RULE)
    assert "no longer there" in read.reason


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "outside"])
def test_whatever_stands_in_the_logs_place_is_not_read(said: Said, kind: str, tmp_path: Path) -> None:
    """A link, a FIFO, a folder or a path outside the home is no source, and does no harm."""
    line = said.evidence(RULE)
    elsewhere = tmp_path / "elsewhere.jsonl"
    said.path.rename(elsewhere)
    if kind == "link":
        said.path.symlink_to(elsewhere)
    elif kind == "fifo":
        os.mkfifo(said.path)
    elif kind == "folder":
        said.path.mkdir()
    else:
        said.path = elsewhere
        line = replace(line, rollout_path=str(elsewhere))
    (read,) = said.read_back(line)
    assert (read.state, read.words) == (EvidenceState.GONE, RULE)


def test_a_secret_beside_the_quote_stays_masked(tmp_path: Path) -> None:
    """The words come from the raw log, so they are masked again."""
    secret = "sk-proj-" + "Fake" * 12
    made = CodexSession(thread_id=THREAD).prompt(f"My key is {secret}. {RULE}")
    said = Said(tmp_path / "home", made)
    (read,) = said.read_back(said.evidence(RULE))
    assert read.state is EvidenceState.VERIFIED
    assert RULE in read.words
    assert secret not in read.words


@pytest.mark.parametrize("filler", [3_000, 35_000])
def test_of_a_long_text_the_part_around_the_quote_is_told(tmp_path: Path, filler: int) -> None:
    """What is told is bounded, however long the line is."""
    made = CodexSession(thread_id=THREAD).prompt(f"{'before ' * filler}{RULE}{' behind' * filler}")
    said = Said(tmp_path / "home", made)
    (read,) = said.read_back(said.evidence(RULE))
    assert RULE in read.words
    assert f"before {RULE} behind" in read.words
    assert len(read.words) <= WORDS_CHARS + 2


def test_words_that_were_withheld_are_not_read_back(said: Said) -> None:
    """Where the quote is a mark that stands for something else, the line's own words are not told."""
    line = replace(said.evidence("all fine"), quote="[result withheld]")
    (read,) = said.read_back(line)
    assert (read.state, read.words) == (EvidenceState.VERIFIED, "[result withheld]")


def test_what_lies_past_the_limit_is_not_called_changed(said: Said) -> None:
    """A log of which only a part is read gives no verdict on the rest."""
    (read,) = said.read_back(said.evidence("all fine"), max_bytes=100)
    assert read.state is EvidenceState.GONE
    assert "gates.max_rollout_bytes" in read.reason


def test_the_journal_is_read_from_the_state_folder(tmp_path: Path) -> None:
    """Our own log is verified by its hash; without a grammar for it the stored quote is told."""
    raw = b'{"type":"note","text":"Use pnpm."}'
    (tmp_path / "journal.jsonl").write_bytes(b"{}\n" + raw + b"\n")
    line = EvidenceLine(
        rollout_path=str(tmp_path / "journal.jsonl"),
        byte_start=3,
        byte_end=3 + len(raw),
        line_sha256=hashlib.sha256(raw).hexdigest(),
        speaker=Speaker.USER,
        at=None,
        quote="Use pnpm.",
    )
    reader = EvidenceReader({Agent.JOURNAL: str(tmp_path)}, max_bytes=MAX_BYTES)
    (read,) = reader.read([line], agent=Agent.JOURNAL, thread_id="journal", current_path=None)
    assert (read.state, read.line_number) == (EvidenceState.VERIFIED, 2)
    assert "Use pnpm." in read.words


@given(st.integers(min_value=0, max_value=2_000), st.integers(min_value=0, max_value=255), st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_to_a_log_raises_or_is_called_verified(said: Said, place: int, byte: int, cut: bool) -> None:
    """Any byte replaced, or the rest cut off, gives a result; verified only while the very line stands there."""
    line = said.evidence(RULE)
    whole = said.path.read_bytes()
    raw = whole[line.byte_start : line.byte_end]
    place = place % len(whole)
    damaged = whole[:place] if cut else whole[:place] + bytes([byte]) + whole[place + 1 :]
    said.path.write_bytes(damaged)
    (read,) = said.read_back(line)
    said.path.write_bytes(whole)
    stands = any(part.removesuffix(b"\r") == raw for part in damaged.split(b"\n"))
    assert (read.state is EvidenceState.VERIFIED) is stands
