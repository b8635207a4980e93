"""The rules that the files keep: what was published is there, whole, ours, private, and leads to the memories."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from memory_pipeline.files import FILE_MODE, TEMPORARY_PREFIX, sha256_hex
from memory_pipeline.phase2.baseline import Baseline, read_workspace_file
from memory_pipeline.phase2.findings import RUN, Finding, Rule
from memory_pipeline.phase2.layout import MEMORY_FILE, RAW_MEMORIES, SUMMARIES_FOLDER, SUMMARY_FILE
from memory_pipeline.phase2.person import is_damaged
from memory_pipeline.records import STATED_KINDS, USER_SCOPE, Memory, MemoryStatus
from memory_pipeline.redact import redact

EXTENSIONS_FOLDER = "extensions"
_OUR_FILES = (MEMORY_FILE, SUMMARY_FILE, RAW_MEMORIES)
#: A larger file is not searched for secrets, which is said.
_SEARCHED_BYTES = 8 << 20
_RESTORED = f"{RUN}, which restores it"


def lint_files(
    workspace: Path, baseline: Baseline, memories: Sequence[Memory], *, summary_max_bytes: int
) -> Iterator[Finding]:
    """Yield what is wrong with the files of the workspace; ``memories`` are all of them."""
    yield from _published(workspace, baseline, has_memories=any(m.status is MemoryStatus.ACTIVE for m in memories))
    yield from _strangers(workspace, baseline)
    yield from _lines(workspace, baseline, {memory.memory_id: memory for memory in memories})
    yield from _summary(workspace, memories, max_bytes=summary_max_bytes)
    yield from _secrets(workspace)


def lint_modes(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield those of our files that others than their owner may use. Links and missing files are passed over."""
    for path in sorted(paths):
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & ~FILE_MODE:
            yield Finding(
                rule=Rule.OPEN_MODE,
                place=str(path),
                problem=f"has mode {stat.S_IMODE(mode):04o}, wider than {FILE_MODE:04o}",
                advice="take the mode back: `chmod 600` on that file",
            )


def files_below(folder: Path) -> list[Path]:
    """List the regular files below a folder by name, through no link."""
    found = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        found += [path for name in sorted(names) if (path := Path(place, name)).is_file() and not path.is_symlink()]
    return found


def _published(workspace: Path, baseline: Baseline, *, has_memories: bool) -> Iterator[Finding]:
    if not baseline.exists and has_memories and not os.path.lexists(workspace / MEMORY_FILE):
        problem = "is missing, though there are memories to tell"
        yield Finding(rule=Rule.MISSING_FILE, place=MEMORY_FILE, problem=problem, advice=f"{RUN}, which writes it")
    for path, digest in sorted(baseline.hashes.items()):
        if not os.path.lexists(workspace / path):
            yield Finding(rule=Rule.MISSING_FILE, place=path, problem="was published, but is gone", advice=_RESTORED)
            continue
        content = read_workspace_file(workspace, path)
        if content is None or sha256_hex(content) == digest:
            continue
        if path != MEMORY_FILE:
            problem = f"is not as it was published; only {MEMORY_FILE} is yours to edit"
            yield Finding(rule=Rule.CHANGED_FILE, place=path, problem=problem, advice=_RESTORED)
        elif is_damaged(baseline.published, content):
            problem = "lost more than half of its lines, which is no edit"
            advice = f"{RUN}, which restores it and keeps a copy of what stands there"
            yield Finding(rule=Rule.CHANGED_FILE, place=path, problem=problem, advice=advice)


def _strangers(workspace: Path, baseline: Baseline) -> Iterator[Finding]:
    """Look for links, folders and files of others where ours go."""
    folder = workspace / SUMMARIES_FOLDER
    is_plain_folder = folder.is_dir() and not folder.is_symlink()
    if os.path.lexists(folder) and not is_plain_folder:
        yield _not_ours(Rule.LINK, SUMMARIES_FOLDER, "is a link, or no folder; nothing is written through it")
    beside = _names_in(folder) if is_plain_folder else []
    there = [*_OUR_FILES, *(f"{SUMMARIES_FOLDER}/{name}" for name in beside)]
    there += [name for name in _names_in(workspace) if name.startswith(TEMPORARY_PREFIX)]
    for path in there:
        if Path(path).name.startswith(TEMPORARY_PREFIX):
            problem = "was left by a run that was cut off while it wrote"
            yield Finding(rule=Rule.FOREIGN_FILE, place=path, problem=problem, advice=f"{RUN}, which removes it")
        elif os.path.lexists(workspace / path) and read_workspace_file(workspace, path) is None:
            yield _not_ours(Rule.LINK, path, "is a link, a folder or unreadable, where a file of ours goes")
        elif path not in baseline.hashes and os.path.lexists(workspace / path):
            yield _not_ours(Rule.FOREIGN_FILE, path, "stands where files of ours go, but was not published")


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _not_ours(rule: Rule, place: str, problem: str) -> Finding:
    return Finding(rule=rule, place=place, problem=problem, advice="move it elsewhere")


def _lines(workspace: Path, baseline: Baseline, memories: Mapping[str, Memory]) -> Iterator[Finding]:
    """Follow each memory line that still stands in MEMORY.md to its memory."""
    rendered = _split(baseline.rendered)
    if len(rendered) != len(baseline.line_memories):
        problem = f"its copy of {MEMORY_FILE} and its list of memories have different lengths"
        yield Finding(rule=Rule.BAD_BASELINE, place="baseline", problem=problem, advice=f"{RUN}, which writes it anew")
        return
    numbers = _line_numbers(read_workspace_file(workspace, MEMORY_FILE) or b"")
    for line, memory_id in zip(rendered, baseline.line_memories, strict=True):
        if memory_id is None or not numbers.get(line):
            continue  # A line that the person took out or rewrote is theirs.
        place = f"{MEMORY_FILE}:{numbers[line].pop(0)}"
        memory = memories.get(memory_id)
        if memory is None or memory.status is not MemoryStatus.ACTIVE:
            problem = f"tells {memory_id}, which " + ("does not exist" if memory is None else f"is {memory.status}")
            yield Finding(rule=Rule.UNTRACED_LINE, place=place, problem=problem, advice=f"{RUN}, which renders it anew")
        elif memory.statement.encode() not in line:
            problem = f"says something else than its memory {memory_id}"
            yield Finding(rule=Rule.OUTDATED_LINE, place=place, problem=problem, advice=f"{RUN}, which renders it anew")


def _split(text: bytes) -> list[bytes]:
    return text.removesuffix(b"\n").split(b"\n") if text else []


def _line_numbers(text: bytes) -> dict[bytes, list[int]]:
    numbers: dict[bytes, list[int]] = {}
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        numbers.setdefault(line.removesuffix(b"\r"), []).append(number)
    return numbers


def _summary(workspace: Path, memories: Sequence[Memory], *, max_bytes: int) -> Iterator[Finding]:
    content = read_workspace_file(workspace, SUMMARY_FILE)
    if content is None:
        return
    problems = []
    if not content.startswith(b"v1\n"):
        problems.append((1, "does not begin with the line `v1`, so agents refuse it"))
    if len(content) > max_bytes:
        problems.append((1, f"has {len(content)} bytes, more than phase2.summary_max_bytes ({max_bytes})"))
    active = [memory for memory in memories if memory.status is MemoryStatus.ACTIVE]
    everywhere = {_as_told(memory) for memory in active if memory.scope == USER_SCOPE}
    elsewhere = {_as_told(memory): memory for memory in active if memory.scope != USER_SCOPE}
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), start=1):
        if not line.startswith("- ") or any(told in line for told in everywhere):
            continue
        told_here = next((memory for told, memory in elsewhere.items() if told in line), None)
        if told_here is not None:
            problems.append((number, f"tells {told_here.memory_id}, which holds in {told_here.scope} alone"))
    for number, problem in problems:
        yield Finding(rule=Rule.BAD_SUMMARY, place=f"{SUMMARY_FILE}:{number}", problem=problem, advice=_RESTORED)


def _as_told(memory: Memory) -> str:
    """The part of a line by which a memory is known in the summary."""
    return f'"{memory.statement}"' if memory.kind in STATED_KINDS else memory.statement


def _secrets(workspace: Path) -> Iterator[Finding]:
    folders = [workspace / name for name in (SUMMARIES_FOLDER, EXTENSIONS_FOLDER)]
    plain = [folder for folder in folders if not folder.is_symlink()]
    files = [path for folder in plain for path in files_below(folder)]
    for path in [*_OUR_FILES, *(str(path.relative_to(workspace)) for path in files)]:
        if _size_of(workspace / path) > _SEARCHED_BYTES:
            problem = f"has more than {_SEARCHED_BYTES} bytes, so it was not searched for secrets"
            yield Finding(rule=Rule.SECRET, place=path, problem=problem, advice="look yourself, or make it smaller")
            continue
        content = read_workspace_file(workspace, path) or b""
        for number, kinds in _lines_with_secrets(content.decode("utf-8", "replace")):
            advice = "change that secret where it is used, since it was written down; then take it out"
            yield Finding(
                rule=Rule.SECRET, place=f"{path}:{number}", problem=f"holds a secret ({kinds})", advice=advice
            )


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _lines_with_secrets(text: str) -> list[tuple[int, str]]:
    """Find the lines that hold a secret, and of what kind; of one that spans lines, the first."""
    masked = redact(text)
    if masked.text == text:
        return []
    before, after = text.split("\n"), masked.text.split("\n")
    found = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            last = i2 if i2 - i1 == j2 - j1 else i1 + 1
            found += [(number + 1, _kinds_in(before[number], masked.counts)) for number in range(i1, last)]
    return found


def _kinds_in(line: str, all_kinds: Mapping[str, int]) -> str:
    # By itself a line of a private key, say, does not tell what it is a part of.
    return ", ".join(sorted(redact(line).counts or all_kinds))
