"""Whose words a text is, and its sentences: what was pasted or quoted is not the person's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memory_pipeline.directions import english_words
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.folding import in_simplified
from memory_pipeline.rivals import names_a_tool, names_rivals


class Sentence(Struct, frozen=True, kw_only=True):
    """One sentence of a text, without its end mark."""

    text: str
    masked: str  # of the same length, in lower case, with code and quotations blotted out
    question: bool


# --- whose words -----------------------------------------------------------------------------------------------------


def own_words(text: str) -> str:
    """Return what the person wrote themselves: without fenced code, quotations, logs, documents and tagged blocks."""
    if "\n" not in text and "<" not in text and len(text) <= _LONG_TEXT_CHARS:
        return "" if _QUOTED_LINE.match(text) or _is_log([text]) else text  # most prompts: nothing can be cut out
    text = _FENCED.sub("\n\n", both_ends(text))
    text = _TAGGED_BLOCK.sub("\n\n", text)
    lines = text.split("\n")
    kept: list[str] = []
    skipping = False
    for line in lines:
        if _INTRODUCES_PASTE.search(line):
            # Where a pasted text ends can't be told, so nothing after it counts as the person's.
            kept.append(line)
            skipping = True
        if not skipping:
            kept.append(line)
    kept = _without_document(kept)
    kept = [line for line in kept if not _QUOTED_LINE.match(line)]
    paragraphs = [paragraph for paragraph in _paragraphs(kept) if not _is_log(paragraph)]
    if sum(map(len, paragraphs)) > _LONG_TEXT_LINES or sum(len(x) for p in paragraphs for x in p) > _LONG_TEXT_CHARS:
        # Nobody types this much: the person's own words stand before and after what they pasted.
        paragraphs = [p for p in (paragraphs[0], paragraphs[-1]) if len(p) <= _SHORT_PARAGRAPH_LINES]
    return "\n\n".join("\n".join(paragraph) for paragraph in paragraphs)


def both_ends(text: str) -> str:
    """Return a text, or the beginning and end of one that is too long to have been typed."""
    if len(text) <= _READ_CHARS:
        return text
    return f"{text[: _READ_CHARS // 2]}\n\n{text[-_READ_CHARS // 2 :]}"


_READ_CHARS = 20_000  # of a longer text, its beginning and end are read: nobody types this much
_LONG_TEXT_LINES = 60
_LONG_TEXT_CHARS = 6000
_SHORT_PARAGRAPH_LINES = 4

_FENCED = Lazy(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_TAGGED_BLOCK = Lazy(r"<(?P<tag>[A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*?</(?P=tag)\s*>", re.DOTALL)
_QUOTED_LINE = Lazy(r"[ \t]*(?:>|\|)")
_HEADING = Lazy(r"#{1,6}[ \t]+\S")
_INTRODUCES_PASTE = Lazy(
    r"""(?:\b(?:says?|said|reads?|logs?|logged|outputs?|errors?|messages?|docs?|documentation|read\ ?me(?:\.md)?|files?
           |trace|traceback|stack\ ?trace|snippet|e?mail|ticket|issue|comment|diff|transcript|article|spec|guide
           |pasted?|pasting|contents?|prints|got|get|instructions|policy|page|response|returns|printed)
        | (?:日志|报错|输出|文档|错误|内容|说明
           |(?<!要求)(?<!规范)(?<!规则)(?<!约定)(?<!原则)如下|原文|邮件|信息|写着|写的是|说)
        )(?:\ (?:below|here|is|was|i\ got|from\ \S+))?\s*[:：]\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_LOG_LINE = Lazy(
    r"""^(?:
        \s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d
      | \s*(?:\[)?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)(?:\])?[\s:|]
      | \s*at\s+\S+\s*\( | \s*File\ ".*",\ line\ \d+ | Traceback\ \( | \s*\.\.\.\ \d+\ more
      | \s*\w*(?:Error|Exception|Warning):\s | \s*npm\ (?:ERR!|WARN) | \s*\$\s\S | \s*>>>\s
      | (?:\+\+\+|---|@@|diff\ --git|index\ [0-9a-f]{7})
      | [+-]\s{2,}\S | \s*[{}\[\]]+,?\s*$ | \s*"[^"]+"\s*:\s
      | (?:\ {4,}|\t)\S.*[;{}()=] | \s*(?:E|\d+)\s{2,}\S
      | \s*(?:PASS|FAIL|FAILED|PASSED)[:\s] | ok(?:\s{2,}|\t|\ \d+\ -)
      | \s*\S+:\d+(?::\d+)?:\s | \s*\#include\s | \s*from\s+[\w.]+\s+import\s | \s*import\s.*\sfrom\s+["']
      | \s*import\s+(?:static\s+)?(?:\w+(?:\.[\w*]+)+;?|\w+;|[\w.]+\s+as\s+\w+)\s*$
      | \s*(?:def|class|function)\s+\w+\s*(?:[(:{<]|extends\s|implements\s)
      | \s*(?:const|let|var)\s[^=.,!?]*=\s | \s*return\b.*[;(){}=]\s*$
    )""",
    re.VERBOSE,
)


def _without_document(lines: list[str]) -> list[str]:
    """Cut off a Markdown document: from its first heading to the end, when more than a line or two follows."""
    headings = [index for index, line in enumerate(lines) if _HEADING.match(line)]
    if not headings:
        return lines
    body = [line for line in lines[headings[0] + 1 :] if line.strip()]
    return lines[: headings[0]] if len(headings) > 1 or len(body) >= 3 else lines


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []


def _is_log(paragraph: list[str]) -> bool:
    logged = sum(1 for line in paragraph if _LOG_LINE.match(line))
    return logged == len(paragraph) if len(paragraph) < 3 else logged / len(paragraph) >= 0.3


# --- sentences -------------------------------------------------------------------------------------------------------

_BLOT = "▮"
_QUOTATION = Lazy(
    r"""(?P<code>`+)[^\n]+?(?P=code)
      | (?<![\w"])"(?:[^"\n]|\n(?!\n)){1,1500}"(?!\w) | “[^”]{1,1500}” | «[^»]{1,1500}» | „[^“”]{1,1500}[“”]
      | (?<![\w'])'[^'\n]{2,300}'(?!\w) | ‘[^’\n]{2,300}’(?!\w) | 「[^」]{1,1500}」 | 『[^』]{1,1500}』""",
    re.VERBOSE,
)
_SENTENCE_END = Lazy(r"[.!?…]+[\"')\]]*(?=\s|$)|[.!?…]+(?=[\u4e00-\u9fff])|[。！？；｡]+|;(?=\s|$)|\n+")
_ABBREVIATION = Lazy(
    r"(?:\b(?:e\.g|i\.e|eg|ie|etc|vs|cf|approx|incl|resp|nr|mr|mrs|ms|dr|st|fig|sec|ver|ca|z\.b|d\.h|p\.ex"
    r"|a\.k\.a)"
    r"|^\s*[a-z])$",
    re.IGNORECASE,
)
_LIST_MARK = Lazy(
    r"\s*(?:[-*+•]\s+(?:\[[ x]\]\s+)?|\(?\d{1,3}[.)]\s+|\d{1,3}、|[一二三四五六七八九十]{1,3}、\s*|#{1,6}\s+)?"
)


def sentences(text: str) -> Iterator[Sentence]:
    """Split a text into sentences: not within code, quotations, paths, versions or after an abbreviation."""
    text = _joined_lines(text)
    masked = _masked(text)
    rivals = names_rivals(masked)
    start = 0
    for match in _SENTENCE_END.finditer(masked):
        if (
            match.group().startswith(".")
            and match.group() == "."
            and _ABBREVIATION.search(masked[start : match.start()])
        ):
            continue
        if _is_other_half(masked, start, match):
            continue
        if rivals and _names_the_rival(masked, start, match):
            masked = f"{masked[: match.start()]},{' ' * (len(match.group()) - 1)}{masked[match.end() :]}"
            continue
        yield from _sentence(text, masked, start, match.start(), end_mark=match.group())
        start = match.end()
    yield from _sentence(text, masked, start, len(text), end_mark="")


_SAYS_WHAT_NOT = Lazy(
    r"\s*(?:please |also |and |but |so )*(?:never|don't|do not|dont|no|avoid|not)\b|.*(?:不要|别|禁止|不许|不准)"
)
_SAYS_WHAT = Lazy(
    r"\s*(?:please |instead,? |always |rather )*(?:use|open|make|write|put|run|go|call|create|add|prefer"
    r"|ask|keep"
    r"|send|work|branch|go through|import)\b"
    r"|(?:用|请|要|走|改用|应该|而是|都)"
)
_USES_ONE = Lazy(r".*\b(?:use|using|prefer|with|in)\b")
_NOT_THE_OTHER = Lazy(
    r"\s*(?:not|never) (?:[\w▮./'-]+)(?: [\w▮./'-]+){0,2}\s*(?=[.!;。！；\n]|$)|\s*(?:never|don't|do not|不要|别)"
)
_LONGEST_HALF = 120


def _is_other_half(masked: str, start: int, end_mark: re.Match[str]) -> bool:
    """Whether what follows an end mark says the other half of one rule: "Never commit to main; open a PR instead"."""
    mark, end = end_mark.group(), end_mark.end()
    if mark not in {";", "；", "."} or end - start > _LONGEST_HALF:
        return False
    if mark == ".":
        fragment = _NOT_THE_OTHER.match(masked, end)
        return (
            fragment is not None
            and fragment.group().lstrip().startswith("not ")
            and (_USES_ONE.match(masked, start, end) is not None)
        )
    if _SAYS_WHAT_NOT.match(masked, start, end):
        return _SAYS_WHAT.match(masked, end) is not None
    return _USES_ONE.match(masked, start, end) is not None and _NOT_THE_OTHER.match(masked, end) is not None


def _names_the_rival(masked: str, start: int, end_mark: re.Match[str]) -> bool:
    """Whether what follows an end mark names what takes the other's place, in a word or a few: "No vue! React."."""
    if end_mark.group().isspace() or end_mark.end() - start > _LONGEST_HALF:
        return False
    first, then = masked[start : end_mark.start()], masked[end_mark.end() :]
    following = _SENTENCE_END.search(then)
    then = then[: following.start()] if following else then
    if len(then) > _LONGEST_HALF or min(len(first.split()), len(then.split())) > (
        _SOME_WORDS if ";" in end_mark.group() else _FEW_WORDS
    ):
        return False
    if not (names_a_tool(first) and names_a_tool(then)):
        return False
    if names_rivals(first) or names_rivals(then) or not names_rivals(f"{first} {then}"):
        return False
    return not any(english_words.TASK.match(half.strip()) for half in (first, then))


_FEW_WORDS = 4
_SOME_WORDS = 8  # in one sentence, where a semicolon parts it


def _sentence(text: str, masked: str, start: int, end: int, *, end_mark: str) -> Iterator[Sentence]:
    mark = _LIST_MARK.match(text, start, end)
    start = mark.end() if mark else start
    words = text[start:end].rstrip()
    if words:
        question = "?" in end_mark or "？" in end_mark
        yield Sentence(text=words, masked=masked[start : start + len(words)], question=question)


def _joined_lines(text: str) -> str:
    """Undo hard wrapping: a long line that ends in mid-sentence goes on in a next one that starts in lower case."""
    return re.sub(r"(?<=[^\n]{56}[\w,`'\"])\n[ \t]*(?=[a-z`])(?![-*+•] )", " ", text)


def _masked(text: str) -> str:
    blotted = _QUOTATION.sub(lambda match: _BLOT * len(match.group()), text).replace("’", "'")
    lowered = in_simplified(blotted).lower()
    # A few letters change their length in lower case; the offsets must hold.
    return lowered if len(lowered) == len(text) else blotted
