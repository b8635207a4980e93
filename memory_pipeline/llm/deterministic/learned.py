"""What the work taught: commands that ended well, files that mattered, failures and what mended them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from memory_pipeline.directions import sentences
from memory_pipeline.likeness import contradicts
from memory_pipeline.llm.deterministic.commands import CHECKS, Command, Purpose
from memory_pipeline.llm.deterministic.endings import claims_failure, plain_answer
from memory_pipeline.llm.deterministic.steps import Ending, Step, commands_the_reader
from memory_pipeline.llm.deterministic.tasks import SessionTask
from memory_pipeline.records import EntryDraft, EntryKind, EventKind, EvidenceRow, TaskOutcome
from memory_pipeline.statements import clean_statement, one_line

_MOST_ROWS = 6
_MOST_FILES = 6
_MOST_FAILURES = 4
_SENTENCE_MAX_CHARS = 150

# --- failures --------------------------------------------------------------------------------------------------------


def find_failures(task: SessionTask, later: Sequence[SessionTask] = ()) -> list[EntryDraft]:
    """Return what failed in a task, with what mended it, or with the word that nothing did; the most recent few.

    What was still broken at the end of the task, and is mended in the ``later`` ones, is told as mended.
    """
    found: list[EntryDraft] = []
    taken: set[int] = set()
    for index, step in enumerate(task.steps):
        if index in taken or step.ending is not Ending.FAILED or not step.command or step.purpose is Purpose.TRIVIAL:
            continue
        run = _run_until_mended(task.steps, index)
        taken.update(run)
        mended = task.steps[run[-1]].ending is Ending.OK
        entry = _mended(task, run) if mended else _mended_later(task, index, later) or _unsolved(task, run)
        if entry is not None:
            found.append(entry)
    if not found and not any(_is_worked_on(step) for step in task.steps):
        stopped = _stopped_at(task)
        if stopped is not None:
            found.append(stopped)
    return found[-_MOST_FAILURES:]


def _mended_later(task: SessionTask, index: int, later: Sequence[SessionTask]) -> EntryDraft | None:
    """The same failure, when the very command that failed ended well in a later task."""
    first = task.steps[index]
    for end, following in enumerate(later, start=1):
        for step in following.steps:
            if step.ending is Ending.OK and step.command and first.command and _same_work(first, step):
                return _mended_across(task, later[:end], index)
    return None


def _mended_across(task: SessionTask, later: Sequence[SessionTask], index: int) -> EntryDraft | None:
    whole = replace(
        task,
        rows=task.rows + tuple(row for each in later for row in each.rows),
        steps=task.steps + tuple(step for each in later for step in each.steps),
        spoken=task.spoken + tuple(row for each in later for row in each.spoken),
    )
    run = _run_until_mended(whole.steps, index)
    return _mended(whole, run) if whole.steps[run[-1]].ending is Ending.OK else None


def _is_worked_on(step: Step) -> bool:
    return step.edited and step.ending is Ending.OK


def _run_until_mended(steps: tuple[Step, ...], start: int) -> list[int]:
    """The failing step, its further tries, and the one that ended well, if any did."""
    first = steps[start]
    run = [start]
    for index in range(start + 1, len(steps)):
        step = steps[index]
        if not step.command or step.ending is Ending.UNKNOWN or not _same_work(first, step):
            continue
        run.append(index)
        if step.ending is Ending.OK:
            break
    return run


def _same_work(first: Step, step: Step) -> bool:
    if first.command is None or step.command is None:
        return False
    if first.purpose in CHECKS and first.purpose is step.purpose:
        return _tool_of(first.command) == _tool_of(step.command) or first.purpose is Purpose.TEST
    return first.command.text == step.command.text or (
        first.purpose is step.purpose
        and first.purpose is not Purpose.OTHER
        and _tool_of(first.command) == _tool_of(step.command)
    )


def _tool_of(command: Command) -> str:
    """The words of a command that name what it runs, without flags and arguments."""
    words = [word for word in command.text.split() if not word.startswith("-") and "=" not in word]
    return " ".join(words[:2])


def _mended(task: SessionTask, run: list[int]) -> EntryDraft | None:
    steps = task.steps
    first, last = steps[run[0]], steps[run[-1]]
    between = steps[run[0] + 1 : run[-1]]
    edits = [step for step in between if step.edited]
    files = list(dict.fromkeys(path for step in edits for path in step.paths))[:_MOST_FILES]
    symptom = _symptom(task, run)
    told = _told_fix(task, files, since=first.rows[0]) or _told_cause(task, since=last.last_row)
    helped = [
        s
        for s in between
        if s.command
        and s.ending is Ending.OK
        and s.purpose in {Purpose.INSTALL, Purpose.RUN, Purpose.OTHER, Purpose.FORMAT}
        and not s.paths
    ]
    if told:
        fix = told[1]
        if files and not any(_names(fix, path) for path in files):
            fix = f"{fix} ({', '.join(files)})"
    elif files:
        fix = f"fixed by editing {', '.join(files)}"
    elif helped:
        fix = "fixed by running " + ", then ".join(f"`{step.command.text}`" for step in helped[-2:] if step.command)
    elif (told := _told_deed(task, since=last.last_row)) is not None:
        fix = told[1]
    elif first.command and last.command and first.command.text != last.command.text and first.purpose not in CHECKS:
        fix = f"`{last.command.text}` worked"
    elif first.command and last.command and first.command.text == last.command.text and first.purpose is Purpose.TEST:
        fix = "passed when run again with nothing changed, so it may be flaky"
    else:
        return None  # a slip that was put right at once
    after = "" if re.search(r"may be flaky|worked$|pass|通过", fix) else "; then it passed"
    told_rows = (told[0].number,) if told else ()
    edit_rows = tuple(step.rows[0] for step in (edits or helped)[-2:])
    rows = (first.rows[-1], *edit_rows, last.last_row, *told_rows)
    return _entry(EntryKind.FAILURE, f"{symptom} -> {fix}{after}", rows)


def _symptom(task: SessionTask, run: list[int]) -> str:
    first = task.steps[run[0]]
    lines = list(dict.fromkeys(task.steps[i].error_line for i in run if task.steps[i].error_line))
    command = f"`{first.command.text}`" if first.command else first.whole_line
    folder = f" in {first.command.folder}/" if first.command and first.command.folder else ""
    code = first.result.exit_code if first.result else None
    how = f" failed with exit code {code}" if code and not lines else " failed"
    if not lines:
        return f"{command}{folder}{how}"
    if len(lines) == 1 or len(lines[0]) + len(lines[-1]) > 110:
        return f"{command}{folder}{how}: {one_line(lines[0], 110)}"
    return f"{command}{folder}{how}: {lines[0]}, then {lines[-1]}"


_TELLS_FIX = re.compile(
    r"\b(?:fixed|fixes|the (?:root )?cause (?:was|is)|root cause|caused by|because|was missing|were missing"
    r"|subtracted|replaced|changed|corrected|the (?:problem|issue|bug) (?:was|is)|turned out|resolved"
    r"|solved|needed|so that|instead of|off-by-one"
    r"|race|now (?:uses|waits|returns|handles|reads|checks))\b|修复|原因是?|因为|改成|改为|缺少|缺了"
    r"|问题(?:是|在于|出在)|忘了|导致",
    re.IGNORECASE,
)


def _told_fix(task: SessionTask, files: list[str], *, since: int) -> tuple[EvidenceRow, str] | None:
    """The one sentence of the assistant that says what was mended, and its row; the last answer is asked first."""
    spoken = [row for row in task.spoken if row.number > since]
    spoken.sort(
        key=lambda row: (
            row.kind is not EventKind.FINAL_ANSWER,
            row.number if row.kind is EventKind.COMMENTARY else -row.number,
        )
    )
    for row in spoken:
        for sentence in sentences(plain_answer(row)):
            text = one_line(sentence.text, 400)
            names = any(_names(text, path) for path in files) or "`" in text
            if (
                names
                and len(text) <= _SENTENCE_MAX_CHARS
                and _TELLS_FIX.search(text)
                and not sentence.question
                and not commands_the_reader(text)
            ):
                return row, text
    return None


_TELLS_CAUSE = re.compile(
    r"\b(?:because|caused by|causes?\b|causing|culprit|reason|turn(?:s|ed) out|due to"
    r"|since\b(?! (?:yesterday|then|last|the last))"
    r"|(?:problem|issue|bug|trouble) (?:was|is)|found the (?:problem|issue|bug|reason)|what happened"
    r"|why|could not work|so i\b|(?:came|stems?|stemmed|resulted|arose) from|(?:came|boils?|boiled) down to"
    r"|trac(?:ed|ing) [\w ]{0,24}?(?:back )?to|to blame|at fault|all along|to do with|thanks to|origin (?:was|is)"
    r"|(?:attributed|owed|down) to|explained by|explains|(?:was|is|lay) behind|broke (?:it|this|the)"
    r"|tripped (?:it|over)"
    r"|made the \w+ (?:fail|break|stop)|made it (?:fail|break)|went away|cleared up|mended|cured"
    r"|(?:i|we) found (?:out )?(?:is )?that|it (?:seems|looks|appears)(?: like| that| as if)|(?:my|the) finding"
    r"|goes? back to|(?:choked|tripped) (?:on|over)|blame|in reality|(?:bit|hit) (?:us|me)|did the trick|my mistake"
    r"|behind the (?:failure|error|crash)|nothing (?:was|is) wrong with|(?:was|is) (?:enough|all it took)"
    r"|what i found)\b"
    r"|原因|因为|由于|问题(?:是|在于|出在)|导致|根因|缘故|所以|修好|起因|源于|出自|罪魁祸首|归根结底"
    r"|引起|造成|原来是|其实是|坑在|害的|归结|惹的祸",
    re.IGNORECASE,
)
_TELLS_REMEDY = re.compile(
    r"\b(?:fix\w*|cured?|helped|did (?:it|the trick)|does it"
    r"|after|chang\w+|replac\w+|add\w*|remov\w+|mov\w+|set|solved|so i|i (?!looked|checked"
    r"|read)\w+(?:ed|t|ade?|an)\b|now)\b"
    r"|解决|修复|改|换|加|之后",
    re.IGNORECASE,
)
#: "Changed what was asked for" tells nothing of why.
_SAYS_NOTHING = re.compile(
    r"\b(?:what (?:was|you) asked|as (?:you )?(?:asked|requested)|your request|nothing (?:was |else was )?changed)\b",
    re.IGNORECASE,
)
_MOST_TOLD_CHARS = 170


def _told_cause(task: SessionTask, *, since: int) -> tuple[EvidenceRow, str] | None:
    """What the next answers say of why it failed, with what follows when that tells the remedy, and the row of it."""
    for row in task.answers:
        if row.number <= since:
            continue
        told = _account(plain_answer(row))
        whole = "; ".join(told)
        if len(whole) <= _MOST_TOLD_CHARS and _tells_why(whole) and not any(map(_orders, told)):
            return row, whole
        for index, text in enumerate(told):
            if len(text) > _MOST_TOLD_CHARS or not _tells_why(text) or _orders(text):
                continue
            after = told[index + 1] if index + 1 < len(told) else ""
            both = f"{text}; {after}"
            fits = len(both) <= _MOST_TOLD_CHARS and _TELLS_REMEDY.search(after) and not _orders(after)
            return row, both if fits else text
    return None


def _told_deed(task: SessionTask, *, since: int) -> tuple[EvidenceRow, str] | None:
    """What the answer right after it passed says was done, and what else it says: where nothing else tells of it."""
    row = next((row for row in task.answers if row.number > since), None)
    told = _account(plain_answer(row)) if row is not None else []
    whole = "; ".join(told)
    if row is None or len(whole) > _MOST_TOLD_CHARS or any(map(_orders, told)) or _SAYS_NOTHING.search(whole):
        return None
    return (row, whole) if _TELLS_DEED.search(whole) and len(whole.split()) >= _FEWEST_WORDS_OF_A_DEED else None


_FEWEST_WORDS_OF_A_DEED = 6
_TELLS_DEED = re.compile(
    r"\bi (?:have |also |then |just |now )?(?!looked|checked|ran\b|reran|tried|went|got|left|let\b"
    r"|will|would|want|can|could|might"
    r"|must|felt|thought|kept|noticed|expect|suggest)[a-z]+(?:ed|t|ew|ade|ook|ove|an|id)\b"
    r"|\bpatch(?:ed)?\b|\baction:|\bto fix (?:that|this|it)\b|\b\w+ing\b.* (?:makes? it|settles|solve[sd]"
    r"|helped|did|does)\b"
    r"|我[^，。]{2,40}(?:了|就好)|已经?[^，。]{2,40}[，,]|之?后[^，。]{0,4}(?:好|绿|通过|正常|恢复)",
    re.IGNORECASE,
)


def _account(answer: str) -> list[str]:
    """What an answer tells, sentence by sentence: a heading with what it heads, and not that all is well in the end."""
    told: list[str] = []
    heading = ""
    for sentence in sentences(answer):
        text = _MARKUP.sub("", one_line(sentence.text, 400)).strip()
        text = _ALL_IS_WELL_THEN.sub("", text)
        if sentence.question or not text or _ALL_IS_WELL.fullmatch(text):
            continue
        if _HEADING.fullmatch(text):
            heading = text.rstrip(" :：")
            continue
        told.append(f"{heading}: {text}" if heading else text)
        heading = ""
    return told


def _tells_why(text: str) -> bool:
    if _SAYS_NOTHING.search(text):
        return False
    return any(sign.search(text) is not None for sign in (_TELLS_CAUSE, _TELLS_FIX, _LABELLED, _LEADS_TO))


def _orders(text: str) -> bool:
    """Whether a part of an account orders the reader: "cause: …" and "I moved it" tell, whatever words they have."""
    return commands_the_reader(_I_DID.sub("", _LABELLED.sub("", text)))


_CAUSE_LABELS = (
    r"(?:the )?(?:(?:root|underlying|actual|real|likely) )?(?:causes?|reasons?|culprit|problem|issue|trouble|diagnosis"
    r"|findings?|origin|explanation|why|symptom|what (?:went wrong|happened|broke(?: it)?|failed))"
    r"|(?:根本|失败|真正的?|主要)?(?:原因|起因|根因|问题|症状)|排查(?:结果)?|定位(?:结果)?|结论"
)
_REMEDY_LABELS = (
    r"(?:the )?(?:fix(?:ed)?|remedy|cure|solution|solved|resolution|changes?|repair|answer|what (?:i (?:changed"
    r"|did)|helped|fixed it))"
    r"|修复|修法|解决(?:办法|方法|方案)?|处理(?:方式|办法|方法)?|改动|做法|对策"
)
_HEADING = re.compile(rf"(?:{_CAUSE_LABELS}|{_REMEDY_LABELS})\s*[:：]?", re.IGNORECASE)
_LABELLED = re.compile(
    rf"(?:^|(?<=[.;；。] ))(?:{_CAUSE_LABELS}|{_REMEDY_LABELS}|found it)\s*(?:[:：]"
    rf"|[-–—]\s)\s*",
    re.IGNORECASE,
)
#: "the clock was late -> syncing it"; not a menu, a type or a rename.
_LEADS_TO = re.compile(
    r"^(?!.*(?:\w\.\w+ *[-=→]|\b(?:open|click|select|choose|go to|menu|see) ))[^`→>]*?[\w\u4e00-\u9fff]+ [^`→>]* (?:->"
    r"|=>|→|—>) [^`→>]+$"
)
_I_DID = re.compile(
    r"(?:^|[,;] )(?:so |and |then )*i (?!recommend|suggest|advise|propose|think|would"
    r"|want|need)[^,.;]*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"^[^\w\s\"'`(\[*#-]+\s+|\*\*|__|^#{1,6}\s+|^(?:[-*+•]|\d{1,2}[.)])\s+")
_WELL = (
    r"(?:(?:passes|passed|passing|pass|works?|worked|succeeds|succeeded|(?:is |are |all )?green|goes through"
    r"|went through"
    r"|runs? through|ran through|is (?:fine|fixed|solved|gone|healthy|good|mended|over)|ends well)(?: again"
    r"| now| cleanly| and green)*)"
)
_WHAT_RUNS = (
    r"(?:it|that|this|everything|all|both|(?:the |all )*(?:command|tests?|run|build|script"
    r"|suite|pipeline|job|checks?|second run|problem|issue|bug|error|failure))"
)
_ALL_IS_WELL = re.compile(
    rf"(?:(?:result|status|outcome|结果)\s*[:：] ?)?(?:(?:and |now |then |again )*(?:{_WHAT_RUNS} )?(?:now "
    rf"|again )?{_WELL}"
    rf"|done|fixed|solved|good news|found it|green|all good|搞定了?|已?修(?:复|好)了?|(?:现在|已经?"
    rf"|重跑|测试|全部|都|命令)*(?:通过|全绿|正常)了?)[.!。！]*",
    re.IGNORECASE,
)
_ALL_IS_WELL_THEN = re.compile(
    rf"(?:,|;|，|；|\s-)?\s*(?:(?:and|then|so|which)\s+)+(?:since then )?(?:{_WHAT_RUNS} )?(?:now "
    rf"|again )?{_WELL}[.!]*$"
    r"|[，；](?:现在|已经?|重跑|测试|全部|都|命令|再跑一遍)*(?:就)?(?:通过|全绿|正常|过)了?[。！]*$",
    re.IGNORECASE,
)


def _names(text: str, path: str) -> bool:
    return PurePosixPath(path).name in text


def _unsolved(task: SessionTask, run: list[int]) -> EntryDraft | None:
    """A failure that nothing mended; kept when it says more than that something failed."""
    first, last = task.steps[run[0]], task.steps[run[-1]]
    answer = task.answers[-1] if task.answers else None
    if first.purpose in CHECKS and any(
        s.purpose is first.purpose and s.ending is Ending.OK for s in task.steps[run[0] :]
    ):
        return None  # another command did the same work well
    if first.purpose is Purpose.OTHER and not (answer and claims_failure(plain_answer(answer))):
        return None
    if (
        first.purpose not in CHECKS
        and any(s.ending is Ending.OK and s.command for s in task.steps[run[-1] + 1 :])
        and not (answer and claims_failure(plain_answer(answer)))
    ):
        return None  # the work went on by another way
    symptom = _symptom(task, run)
    rows = (
        first.rows[0],
        last.last_row,
        *((answer.number,) if answer and claims_failure(plain_answer(answer)) else ()),
    )
    return _entry(EntryKind.FAILURE, f"{symptom} -> left unsolved", rows)


def _stopped_at(task: SessionTask) -> EntryDraft | None:
    """The command at which the assistant says it stopped, even one that is too plain to be told otherwise."""
    answer = task.answers[-1] if task.answers else None
    if answer is None or not claims_failure(plain_answer(answer)):
        return None
    for step in task.steps:
        code = step.result.exit_code if step.result else None
        if step.ending is Ending.FAILED and step.whole_line and (code or 0) != 1:
            line = one_line(step.whole_line, 100)
            how = f"failed with exit code {code}" if code else "failed"
            why = f": {step.error_line}" if step.error_line else ""
            return _entry(EntryKind.FAILURE, f"`{line}` {how}{why} -> left unsolved", (*step.rows, answer.number))
    return None


# --- knowledge -------------------------------------------------------------------------------------------------------

_SAYS = {
    Purpose.TEST: "runs the tests",
    Purpose.BUILD: "builds the project",
    Purpose.LINT: "lints the code",
    Purpose.FORMAT: "formats the code",
    Purpose.TYPES: "checks the types",
    Purpose.INSTALL: "installs the dependencies",
    Purpose.RUN: "ran well",
}
_MOST_PER_PURPOSE = {Purpose.RUN: 3}
_INSTALLS_ALL = re.compile(
    r"(?:uv sync|uv pip install -[re]|pip3? install -[re]|python[\d.]* -m pip install -[re]|(?:npm|pnpm|bun"
    r"|yarn) (?:ci|install|i)(?:\s+--?\S+)*$|yarn$|poetry install|pdm (?:install|sync)|pipenv (?:install"
    r"|sync)|bundle install|go mod (?:tidy|download)"
    r"|composer install|cargo fetch|pre-commit install)"
)


def find_commands(
    tasks: tuple[SessionTask, ...], stated: Sequence[EntryDraft], failures: Sequence[EntryDraft] = ()
) -> list[tuple[int, EntryDraft]]:
    """Return one statement for each command that ended well and would be run again, with the index of its task.

    Of several commands with one purpose, in one folder, the shortest few are kept: they say how it is done at large.
    What the person has ruled out in ``stated`` is not told as the way to go. That a script ran well in the end is not
    told once more where one of the ``failures`` says how it was mended.
    """
    ended: dict[tuple[Purpose, str, str], tuple[int, Step, Command]] = {}
    had_failed: set[tuple[Purpose, str, str]] = set()
    for index, task in enumerate(tasks):
        for step in task.steps:
            command = step.command
            if command is None or command.once_only or command.purpose not in _SAYS or _is_ruled_out(command, stated):
                continue
            key = (command.purpose, _folder(command), command.text)
            if step.ending is Ending.FAILED:
                had_failed.add(key)
                ended.pop(key, None)  # what counts is how it ended last
            elif step.ending is Ending.OK and _is_repeatable(command):
                ended[key] = (index, step, command)
    return [
        _known(index, step, command, key in had_failed)
        for key, (index, step, command) in _most_general(ended)
        if not (key in had_failed and command.purpose is Purpose.RUN and _is_told_as_mended(command, failures))
    ]


def _is_told_as_mended(command: Command, failures: Sequence[EntryDraft]) -> bool:
    return any(
        entry.statement.startswith(f"`{command.text}`") and not entry.statement.endswith("left unsolved")
        for entry in failures
    )


def _is_ruled_out(command: Command, stated: Sequence[EntryDraft]) -> bool:
    return any(contradicts(f"use {command.text.split()[0]}", entry.statement) for entry in stated)


def _folder(command: Command) -> str:
    return "" if command.folder.startswith(("/", "~", "$")) else command.folder.removeprefix("./")


def _is_repeatable(command: Command) -> bool:
    return command.purpose is not Purpose.INSTALL or _INSTALLS_ALL.match(command.text) is not None


def _most_general(
    ended: dict[tuple[Purpose, str, str], tuple[int, Step, Command]],
) -> Iterator[tuple[tuple[Purpose, str, str], tuple[int, Step, Command]]]:
    kept: dict[tuple[Purpose, str], set[str]] = {}
    for purpose, folder, text in ended:
        kept.setdefault((purpose, folder), set()).add(text)
    for (purpose, folder), texts in kept.items():
        ranked = sorted(texts, key=lambda text: (_narrows(text), len(text), text))
        kept[(purpose, folder)] = set(ranked[: _MOST_PER_PURPOSE.get(purpose, 2)])
        if not _narrows(ranked[0]):
            kept[(purpose, folder)] -= {text for text in ranked if _narrows(text)}
    for key, value in ended.items():
        if key[2] in kept[key[0], key[1]]:
            yield key, value


def _narrows(text: str) -> bool:
    """Whether a command names single tests or files."""
    return bool(
        re.search(r"::|\s-k\s|\s-t\s|--grep|-run[ =]|\stests?/\S+\.\w+|\s\S+/\S+\.(?:py|ts|tsx|js|go|rs|rb)\b", text)
    )


def _known(index: int, step: Step, command: Command, had_failed: bool) -> tuple[int, EntryDraft]:
    folder = _folder(command)
    where = f" in {folder}/" if folder else ""
    if command.purpose is Purpose.RUN:
        statement = f"`{command.text}`{where} ran and ended well" + (" after the fix" if had_failed else "")
    else:
        ended = "passed" if command.purpose in CHECKS else "ended well"
        statement = f"`{command.text}`{where} {_SAYS[command.purpose]}; it {ended}" + (
            " after the fix" if had_failed else ""
        )
    entry = _entry(EntryKind.KNOWLEDGE, statement, step.rows)
    return index, entry


def changed_files(task: SessionTask, outcome: TaskOutcome, told: list[EntryDraft]) -> EntryDraft | None:
    """Say which files a task that succeeded changed, where that says something.

    So when there are several or one mended something, and unless the title or a failure's statement names them already.
    """
    edits = [step for step in task.steps if step.edited and step.ending is Ending.OK]
    files = list(dict.fromkeys(path for step in edits for path in step.paths))
    if outcome is not TaskOutcome.SUCCESS or not files or all(_names(task.title, path) for path in files):
        return None
    if len(files) == 1 and not (
        _TELLS_MENDING.search(task.title) or any(step.ending is Ending.FAILED for step in task.steps)
    ):
        return None
    if all(any(_names(entry.statement, path) for entry in told if entry.kind == EntryKind.FAILURE) for path in files):
        return None
    listed = ", ".join(files[:_MOST_FILES]) + (
        f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    )
    # What the tool said of an edit shows that it was made; without that it would be the assistant's word alone.
    rows = [*[step.rows[0] for step in edits][:3], edits[0].rows[-1]]
    rows = [*rows, task.answers[-1].number] if task.answers else rows
    return _entry(EntryKind.KNOWLEDGE, f'files changed for "{one_line(task.title, 60)}": {listed}', tuple(rows))


_TELLS_MENDING = re.compile(
    r"\b(?:fix\w*|bugs?|broken|fail\w*|wrong|crash\w*|red|error|slow|leak\w*|repair|mend|doesn't|race"
    r"|flaky)\b|修|报错|失败|问题|错误",
    re.IGNORECASE,
)


def _entry(kind: EntryKind, statement: str, rows: tuple[int, ...]) -> EntryDraft:
    return EntryDraft(
        kind=kind,
        scope="project",
        condition="",
        statement=clean_statement(statement) or one_line(statement, 100),
        evidence=tuple(sorted(dict.fromkeys(rows)))[:_MOST_ROWS],
    )
