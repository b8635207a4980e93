"""Whether what a statement names stands in the words it rests on: a summary may reword, but never bring in a name.

Looked at is what a rewording keeps as it is: numbers, paths, flags, code spans, names by their capitals, and tools that
are known by name. Ordinary words are free, and so is all Chinese, Japanese and Korean but such signs inside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from memory_pipeline.likeness import KNOWN_TOOLS

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_ALL_CJK = re.compile(rf"[{_CJK}]+")
_CODE_SPAN = re.compile(r"(`+)(.+?)\1(?!`)")
_BREAKS = re.compile(rf"[\s,;!?()\[\]{{}}<>|`\"“”«»‹›„‘‚…，。；：！？、（）【】《》「」·—–→{_CJK}]+")
_ELISION = re.compile(r"['’].*", re.DOTALL)
_NUMBER = re.compile(r"v?(\d+(?:[.:]\d+)*)[a-z%]{0,2}")
_NUMBERS_OF_A_TEXT = re.compile(rf"(?:(?<![^\W\d{_CJK}])|(?<=\bv)|(?<=\dx))(?<!\d)(?<!\d[.:])\d+(?:[.:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_RANGE = re.compile(r"[-x/]")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_COUNTED = re.compile(r"(\d+)-([a-z]+)")
_EITHER = re.compile(r"[a-z]+/[a-z]+")
_SCHEME = re.compile(r"https?://")
_NAME_DOT_JS = re.compile(r"[A-Z][a-z]+\.js")
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_COMPOUND = re.compile(r"\w[./\\:@+#=*&%-]|[./\\:@+#=*&%$~-]\w|_")
_INNER_CAPITAL = re.compile(r"[^\W\d_][^\W_]*[A-Z]")
_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?:;。！？：；>*(\["“„«‘'`—–|])\s*$""")

#: Signs at the edges of a word that are not of it.
_EDGES_BEFORE = "'’*=^!:&%$"
_EDGES_AFTER = "'’*=^!:.-~&"

_COMMON_WORDS = """
a all also always an and any are as asap ask at avoid be before but by can do don't dont each every fix for from go has
i i'd i'll i'm i've if in into is it keep make may must my never new no none not note of off ok okay old on once one
only or our out over please run same should so stop such test than that the then this to todo too up us use via was we
when will with without you your
"""
#: Words that are nobody's name, however they are written.
_COMMON = frozenset(_COMMON_WORDS.split())
_SHORTHAND_WORDS = """
e.g i.e a.m p.m and/or or/and he/she she/he his/her yes/no true/false on/off pass/fail n/a w/o i/o
"""
_SHORTHANDS = frozenset(_SHORTHAND_WORDS.split())
_PARTS_WORDS = """
able ahead aware back based bit built by case catch check clear close co cross date day deep down driven dry early edge
end ended even ever fail fast first fix follow free friendly full half hand hard hash head heavy high hoc in installed
known language large last late length level life like line list lived long low machine made mid multi name near new non
of off old on one only open out over pass per place point pre proof re read ready real right root run running safe self
semi set shot side single size skip small so solved specific spread stand start state step sub super term text the third
this time to top two type un under up use user via way well wide word work world write written year zero ad
"""
#: Parts of which ordinary compounds are made: "read-only", "up-to-date", "long-running".
_PARTS = frozenset(_PARTS_WORDS.split())

_ENGLISH = re.compile(
    r"\b(?:the|and|of|to|with|for|is|are|use|never|always|when|before|after|from|this|that|it|on|run|should|must|by|in"
    r"|prefer|keep|write|an?)\b"
)
_GERMAN = re.compile(
    r"\b(?:der|das|und|nicht|eine[nmr]?|für|immer|zu|von|dem|ist|auf|wir|ich|keine[nr]?|niemals|wird|mit|bei|zum|zur)\b"
)


def ungrounded(statement: str, sources: Iterable[str]) -> str | None:
    """Return the first name, number, path, flag, command or code word that stands in none of the sources.

    None when each stands in one of them. Case does not matter, nor does ``./`` before a path, nor a unit behind a
    number. A statement is grounded in itself.
    """
    text = _Sources(sources)
    for sign in _signs(_spaced(statement)):
        if not text.hold(sign):
            return sign
    return None


class _Sources:
    """The words that a statement may rest on, ready to be looked through."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._text = "\n".join(_folded(source) for source in sources)
        self._numbers = frozenset(_NUMBERS_OF_A_TEXT.findall(self._text))

    def hold(self, sign: str) -> bool:
        """Whether a sign stands in the text, as a whole and not as part of another."""
        folded = _folded(sign)
        if not any(map(str.isalnum, folded)):
            return True
        number = _NUMBER.fullmatch(folded)
        if number is not None:
            return number.group(1) in self._numbers
        if any(map(self._stands, _spellings(sign, folded))) or self._holds_parts(folded):
            return True
        return not _COMPOUND.search(folded) and self._stands_as_word(folded)

    def _holds_parts(self, folded: str) -> bool:
        """Whether a sign is only a joint of ordinary words or of such that stand in the text by themselves."""
        if counted := _COUNTED.fullmatch(folded):
            number, word = counted.groups()
            return number in self._numbers and (not _is_known(word) or self._stands_as_word(word))
        if _HYPHENATED.fullmatch(folded):
            return all(part in _PARTS or self._stands_apart(part) for part in folded.split("-"))
        return _EITHER.fullmatch(folded) is not None and all(map(self._stands_apart, folded.split("/")))

    def _stands(self, folded: str) -> bool:
        if not folded:
            return False
        is_compound = _COMPOUND.search(folded) is not None
        begins_as_word = folded[0].isalnum() or folded[0] in "_-"
        ends_as_word = folded[-1].isalnum() or folded[-1] in "_-"

        def is_whole(start: int, end: int) -> bool:
            # "shop-web" is another name than "shop-web-old"; a sentence may end, or a path go on, behind either.
            if begins_as_word and self._is_word_at(start - 1):
                return False
            if folded[0] == "-":
                if self._is_at(start - 1, "-"):
                    return False
            elif begins_as_word and is_compound and self._is_at(start - 1, "-") and self._is_word_at(start - 2):
                return False
            if ends_as_word and self._is_word_at(end):
                return False
            return not (ends_as_word and is_compound and self._is_at(end, "-") and self._is_word_at(end + 1))

        return any(is_whole(start, start + len(folded)) for start in self._places_of(folded))

    def _stands_apart(self, word: str) -> bool:
        """Whether a word stands in the text by itself, and not as part of a compound or a path."""
        return any(
            not self._is_word_at(start - 1)
            and not self._is_at(start - 1, "-/")
            and any(not self._is_word_at(end) and not self._is_at(end, "-/") for end in self._ends_of(start, word))
            for start in self._places_of(word)
        )

    def _stands_as_word(self, word: str) -> bool:
        """Whether a word stands in the text, in the singular or the plural."""
        if _is_cjk(word):
            return word in self._text
        stem = word.removesuffix("s") if len(word) > 2 else word
        return any(
            not self._is_word_at(start - 1) and any(not self._is_word_at(end) for end in self._ends_of(start, stem))
            for start in self._places_of(stem)
        )

    # A pattern made for each word, with all letters of all scripts beside it, took a hundred times as long.

    def _places_of(self, text: str) -> Iterator[int]:
        start = self._text.find(text)
        while start >= 0:
            yield start
            start = self._text.find(text, start + 1)

    def _ends_of(self, start: int, word: str) -> Iterator[int]:
        """Yield where a word may end, in the singular and the plural."""
        end = start + len(word)
        for ending in ("es", "s", ""):
            if self._text.startswith(ending, end):
                yield end + len(ending)

    def _is_at(self, place: int, signs: str) -> bool:
        return 0 <= place < len(self._text) and self._text[place] in signs

    def _is_word_at(self, place: int) -> bool:
        """Whether a letter, digit or underscore stands there, but none of Chinese, Japanese or Korean."""
        if not 0 <= place < len(self._text):
            return False
        sign = self._text[place]
        return (sign.isalnum() or sign == "_") and not _is_cjk(sign)


def _spellings(sign: str, folded: str) -> Iterator[str]:
    """Yield how else the same may be written: "Node.js" as "node", "time-out" as "timeout", an address without http."""
    yield folded
    if _SCHEME.match(folded):
        yield _SCHEME.sub("", folded)
    if _NAME_DOT_JS.fullmatch(sign):
        yield folded.removesuffix(".js")
    if _HYPHENATED.fullmatch(folded):
        yield folded.replace("-", "")


def _signs(statement: str) -> Iterator[str]:
    """Yield what must stand in the sources, in the statement's order, as it is written there."""
    english = _is_english(statement)
    position = 0
    for span in _CODE_SPAN.finditer(statement):
        yield from _signs_outside_code(statement, position, span.start(), english=english)
        yield span.group(2).strip()
        position = span.end()
    yield from _signs_outside_code(statement, position, len(statement), english=english)


def _signs_outside_code(statement: str, start: int, end: int, *, english: bool) -> Iterator[str]:
    part = statement[start:end]
    yield from (tool for tool in sorted(_CJK_TOOLS) if tool in part)
    position = 0
    for separator in [*_BREAKS.finditer(part), None]:
        word_end = len(part) if separator is None else separator.start()
        if word_end > position:
            begins = _SENTENCE_BEGINS.search(statement[: start + position]) is not None
            yield from _signs_in(part[position:word_end], begins=begins, english=english)
        position = word_end if separator is None else separator.end()


def _signs_in(chunk: str, *, begins: bool, english: bool) -> Iterator[str]:
    """Yield what of one word, as it stands between blanks, has to be in the sources."""
    word = _ELISION.sub("", chunk.lstrip(_EDGES_BEFORE)).rstrip(_EDGES_AFTER)
    folded = word.casefold()
    if not any(map(str.isalnum, word)) or folded in _COMMON | _SHORTHANDS:
        return
    if _FLAG.match(word) and "=" in word:
        yield from word.split("=", 1)
    elif _DATE.fullmatch(word) or _NUMBER.fullmatch(folded):
        yield word
    elif len(pieces := _RANGE.split(folded.lstrip("#$~").rstrip("+%"))) and all(map(_NUMBER.fullmatch, pieces)):
        yield from pieces
    elif _is_name(word, begins=begins, english=english):
        yield word.removeprefix("./").rstrip("/") or word


def _is_name(word: str, *, begins: bool, english: bool) -> bool:
    """Whether a word is one that a rewording keeps."""
    folded = word.casefold()
    if _COMPOUND.search(word) or any(map(str.isdigit, word)) or _is_known(folded) or _INNER_CAPITAL.match(word):
        return True
    return english and not begins and word[0].isupper()


def _is_known(word: str) -> bool:
    return word in KNOWN_TOOLS or word.removesuffix("s") in KNOWN_TOOLS


def _is_english(statement: str) -> bool:
    """Whether capitals mark names: not in a language that gives one to every noun."""
    folded = statement.casefold()
    return bool(_ENGLISH.search(folded)) or not _GERMAN.search(folded)


def _is_cjk(word: str) -> bool:
    return _ALL_CJK.fullmatch(word) is not None


_CJK_TOOLS = frozenset(tool for tool in KNOWN_TOOLS if _is_cjk(tool))


def _spaced(text: str) -> str:
    """The same text in compatible characters, with single blanks; a number without marks between its thousands."""
    return _THOUSANDS.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))


def _folded(text: str) -> str:
    return _spaced(text).casefold().replace("\\", "/").replace("’", "'")
