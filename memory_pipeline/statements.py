"""What a statement may look like: one short line that can't pass for a heading, a list item or a tag.

A statement is written into Markdown files and shown to models, so nothing in it may change the structure around it.
``clean_statement`` makes a text fit; ``statement_fault`` names the rule that a text breaks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

STATEMENT_MAX_CHARS = 300
ELLIPSIS = "…"

#: Characters that change the direction of the text around them.
_BIDIRECTIONAL = frozenset(map(chr, [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
#: Letters and marks that show nothing, though Unicode does not class them as format characters.
_BLANK_LETTERS = frozenset(map(chr, [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0]))

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPACE_LIKE = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029\u00a0\u3000]+")

_COMMENT = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)
_TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*)(?P<rest>[^<>]*)>")
_DECLARATION = re.compile(r"<[!?/][^<>]*>")
_TAG_START = re.compile(r"<(?=[/!?A-Za-z])")
_HTML_WORDS = """
a abbr article aside audio b base blockquote body br button canvas center code col dd details div dl dt em embed
fieldset font footer form frame h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li
link main meta nav noscript object ol option p param pre q s samp script section select small source span strike
strong style sub summary sup svg table tbody td template textarea tfoot th thead tr tt u ul video
"""
_HTML_NAMES = frozenset(_HTML_WORDS.split())

_LIST_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\]\s+)?(?P<text>\S.*)")

_FRONT_MARK = re.compile(
    r"""(?:
        \#{1,6}(?:\s+|$)            # a heading
      | [-*+•‣◦·]\s+(?:\[[ xX]\]\s+)?  # a list item, perhaps with a check box
      | [-*+•‣◦·]$
      | \d{1,9}[.)](?:\s+|$)        # a numbered item
      | \d{1,3}、\s*
      | >+\s*                       # a quotation
      | (?:`{3,}|~{3,})\s*          # a fence
      | (?:-{3,}|={3,}|_{3,}|\*{3,})(?:\s+|$)  # a rule, or the underline of a heading
      | \|\s*                       # a row of a table
    )""",
    re.VERBOSE,
)


class ListItem(Struct, frozen=True, kw_only=True):
    """An item of a Markdown list: what its lines say, and the index behind the last of them."""

    first: str  # what its first line says
    rest: str  # what the lines below say, on one line, with what joins it to the first; often nothing
    end: int

    @property
    def text(self) -> str:
        """All of it on one line."""
        return self.first + self.rest


def list_item_at(lines: Sequence[str], start: int) -> ListItem | None:
    """Read the list item that begins on a line, with the lines below that are indented further; None where none begins.

    An item within the item follows after a semicolon. A blank line or the fence of a code block ends the item.
    """
    first = _LIST_ITEM.fullmatch(lines[start])
    if first is None:
        return None
    said = first["text"].rstrip()
    rest, end = "", start + 1
    while end < len(lines) and _belongs_to(lines[end], len(first["indent"])):
        within = _LIST_ITEM.fullmatch(lines[end])
        joint = "; " if within and not (said + rest).endswith((":", ";", ",")) else " "
        rest += joint + (within["text"] if within else lines[end]).strip()
        end += 1
    return ListItem(first=said, rest=rest, end=end)


def _belongs_to(line: str, indent: int) -> bool:
    words = line.lstrip(" \t")
    return len(line) - len(words) > indent and bool(words.strip()) and not words.startswith(("```", "~~~"))


def clean_statement(text: str) -> str | None:
    """Make a text fit to be a statement, or return None when nothing that says something is left.

    White space becomes single spaces; invisible and control characters go; marks of headings, lists and quotations go
    from the front; tags go, and a placeholder in angle brackets (``<name>``) becomes ``‹name›``; what is longer than
    STATEMENT_MAX_CHARS is cut at a word with an ellipsis. Cleaning twice changes nothing.
    """
    line = one_line(text, STATEMENT_MAX_CHARS)
    return line if any(character.isalnum() for character in line) else None


def one_line(text: str, limit: int) -> str:
    """Return a text as one harmless line of at most ``limit`` characters, cut at a word with an ellipsis; may be ""."""
    line = _without_front_marks(_without_tags(_folded(text)))
    return _without_front_marks(cut_at_word(line, limit))


def statement_fault(text: str) -> str | None:
    """Name the first rule for statements that a text breaks, or return None when it breaks none.

    The names: empty, too_long, line_break, bidirectional_character, zero_width_character, control_character, tag,
    heading, list_item.
    """
    if not any(character.isalnum() for character in text):
        return "empty"
    if len(text) > STATEMENT_MAX_CHARS:
        return "too_long"
    if re.search(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text):
        return "line_break"
    unsafe = _UNSAFE.search(text)
    if unsafe:
        return _character_fault(unsafe.group())
    if _TAG.search(text) or _COMMENT.search(text) or _DECLARATION.search(text):
        return "tag"
    front = _FRONT_MARK.match(text.lstrip())
    if front:
        return "heading" if front.group().startswith("#") else "list_item"
    return None


def cut_at_word(text: str, limit: int) -> str:
    """Cut a line to at most ``limit`` characters, at a word where there is one near, and mark the cut."""
    if len(text) <= limit:
        return text
    if limit <= len(ELLIPSIS):
        return ELLIPSIS[:limit]
    room = limit - len(ELLIPSIS)
    head = text[:room]
    space = head.rfind(" ")
    if not text[room].isspace() and space > room * 0.6:
        head = head[:space]
    head = head.rstrip(" ,;:.，；：、。…")
    if head.count("`") % 2 and len(head) > 1:
        # An open code span would swallow whatever is rendered after it.
        head = (head if len(head) < room else head[: room - 1].rstrip("`")) + "`"
        if head.count("`") % 2:
            head = head.replace("`", "")
    return head + ELLIPSIS


def _folded(text: str) -> str:
    return _SPACE_LIKE.sub(" ", _UNSAFE.sub("", _SPACE_LIKE.sub(" ", text))).strip()


def _without_tags(line: str) -> str:
    """Take tags out; removing one may join the halves of another, so until nothing changes."""
    if "<" not in line:
        return line
    while (replaced := _tags_taken_out_once(line)) != line:
        line = replaced
    return _SPACE_LIKE.sub(" ", _TAG_START.sub("‹", line)).strip()


def _tags_taken_out_once(line: str) -> str:
    closed = {match["name"].casefold() for match in _TAG.finditer(line) if match["close"]}
    line = _COMMENT.sub(" ", line)
    line = _TAG.sub(lambda match: _tag_replacement(match, closed), line)
    return _DECLARATION.sub(" ", line)


def _tag_replacement(match: re.Match[str], closed: set[str]) -> str:
    name = match["name"]
    is_markup = (
        match["close"]
        or name.casefold() in closed
        or name.casefold() in _HTML_NAMES
        or "=" in match["rest"]
        or match["rest"].rstrip().endswith("/")
    )
    return " " if is_markup else f"‹{name}{match['rest']}›"


def _without_front_marks(line: str) -> str:
    while True:
        match = _FRONT_MARK.match(line)
        if not match:
            return line
        line = line[match.end() :].lstrip()


def _character_fault(character: str) -> str:
    if character in _BIDIRECTIONAL:
        return "bidirectional_character"
    if character in _BLANK_LETTERS or unicodedata.category(character) == "Cf":
        return "zero_width_character"
    return "control_character"
