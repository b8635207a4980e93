"""Secrets in text are masked before anyone sees them: keys, tokens, passwords, private keys, cookies.

One call, ``redact``. It looks in three cheap ways, each a single pass over the text, and only then at what stands
around a hit: long stretches of token characters, for the known shapes; literals such as ``://`` or ``authorization``,
for the places in which secrets stand; and words such as ``token``, for names with a value. The tables and the
judgement are in ``redact_rules``. Masked text is stable: redacting it again changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field

from memory_pipeline import redact_rules as rules

_NO_COUNTS: Mapping[str, int] = MappingProxyType({})
#: How far to the left of a keyword its name may begin.
_LONGEST_NAME = 48
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_HIDDEN_CHARACTERS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_WRITTEN_ESCAPES = ("1b[", "1B[", "\\e[", "\\033[")
#: What may stand after a name whose value stands apart ("name": "DB_PASSWORD", "value": …).
_ENDS_OF_APART_NAME = ("", '"', "'", "\\", "\n", "\r", ",")
_LONGEST_LEFT = 400
_LONGEST_VALUE = 64_000
_LONGEST_INNER_VALUE = 100
_NEAR_LINES = 3
#: Calls that are given a password.
_SETTERS = ("password", "setpassword", "withpassword", "set_password", "with_password")
#: What shows at a glance that no value follows a name.
_ENDS_OF_CODE = frozenset(".);+&%/")
#: In a request's header, a value of so many letters and digits is no word.
_HEADER_VALUE_CHARS = 10


class Redacted(Struct, frozen=True, kw_only=True):
    """A text without its secrets, and how many were masked, by kind. The secrets themselves are not kept."""

    text: str
    counts: Mapping[str, int] = field(default_factory=dict)


class _Span(NamedTuple):
    start: int
    end: int
    kind: str

    def moved(self, by: int) -> _Span:
        return _Span(self.start + by, self.end + by, self.kind)


class _Name(NamedTuple):
    """A name that tells of a secret: its kind, the name as written, the character before it, what joins the value."""

    kind: str
    text: str
    left: str
    after: re.Match[str]


class _Value(NamedTuple):
    """What follows a secret's name: where it ends, and the secret, None if it is none."""

    end: int
    secret: _Span | None


def redact(text: str) -> Redacted:
    """Mask every secret in ``text`` as ``[redacted:<kind>]`` and count them by kind.

    What is no secret stays byte for byte: uuids, hashes, paths, code, placeholders such as ``<your-key>``. A password
    in a URL is masked alone: user and host stay. Colours and invisible characters that split a secret go with it.
    Redacting a redacted text changes nothing. Takes time linear in the length of the text; raises nothing.
    """
    spans = _merged(_secrets(text))
    if not spans:
        return Redacted(text=text, counts=_NO_COUNTS)
    counts: Counter[str] = Counter()
    while spans:
        counts.update(span.kind for span in spans)
        text, marks = _masked(text, spans)
        # A mask may bare the edge of what stood beside it, so the lines around are looked at again until nothing is
        # found. Each round shortens what is left unmasked; a text without secrets takes none.
        spans = _merged(_secrets_near(text, marks))
    return Redacted(text=text, counts=MappingProxyType(dict(sorted(counts.items()))))


def _masked(text: str, spans: list[_Span]) -> tuple[str, list[int]]:
    """Return the text with a mark in place of each span, and where the marks stand."""
    pieces: list[str] = []
    marks: list[int] = []
    length = position = 0
    for span in spans:
        kept, mark = text[position : span.start], f"[redacted:{span.kind}]"
        marks.append(length + len(kept))
        length += len(kept) + len(mark)
        pieces += (kept, mark)
        position = span.end
    return "".join((*pieces, text[position:])), marks


def _secrets_near(text: str, marks: list[int]) -> Iterator[_Span]:
    """Yield the secrets in the lines that hold a mark, or are near one. Keys and documents span more lines."""
    yield from _private_keys(text)
    if "data" in text:
        yield from _kubernetes_secrets(text, _folded(text))
    done = 0
    for mark in marks:
        if mark < done:
            continue
        start = end = mark
        for _ in range(_NEAR_LINES):
            start = max(text.rfind("\n", done, max(done, start - 1)) + 1, done)
            newline = text.find("\n", end)
            end = newline + 1 if newline >= 0 else len(text)
        yield from (span.moved(start) for span in _secrets(text[start:end]))
        done = end


def _secrets(text: str) -> Iterator[_Span]:
    """Yield every secret found, in the text as written and as a terminal shows it."""
    yield from _secrets_as_written(text)
    unseen = _unseen(text)
    if not unseen:
        return
    kept: list[str] = []
    starts: list[int] = []  # where each kept piece begins in what is shown
    shifts: list[int] = []  # and how many unseen characters stand before it
    position = shown = 0
    for start, end in [*unseen, (len(text), len(text))]:
        kept.append(text[position:start])
        starts.append(shown)
        shifts.append(position - shown)
        shown += start - position
        position = end
    for span in _secrets_as_written("".join(kept)):
        first = span.start + shifts[bisect_right(starts, span.start) - 1]
        last = span.end - 1 + shifts[bisect_right(starts, span.end - 1) - 1]
        yield _Span(first, last + 1, span.kind)


def _unseen(text: str) -> list[tuple[int, int]]:
    """Return where control sequences and invisible characters stand; none if none parts two characters of a word."""
    has_escape = "\x1b" in text or ("\\" in text and any(escape in text for escape in _WRITTEN_ESCAPES))
    if not has_escape and (text.isascii() or not any(char in text for char in _HIDDEN_CHARACTERS)):
        return []
    unseen = [match.span() for match in rules.compiled(rules.UNSEEN).finditer(text)]
    parts = any("!" <= text[start - 1 : start] <= "~" and "!" <= text[end : end + 1] <= "~" for start, end in unseen)
    return unseen if parts else []


def _secrets_as_written(text: str) -> Iterator[_Span]:
    """Yield every secret found; spans may overlap, and of two that begin together the first is the better named."""
    if len(text) < 6:
        return
    folded = _folded(text)
    yield from _private_keys(text)
    yield from _tokens(text)
    # Few texts hold any of many literals: they are looked for one by one in those alone.
    holds_literal = rules.any_literal().search(folded) is not None
    if holds_literal:
        yield from _placed(text, folded)
    for keyword in rules.KEYWORDS:
        examined = 0
        for found in rules.keyword_pattern(keyword).finditer(folded) if keyword in folded else ():
            position = found.start()
            # A value may hold many more keywords. Those get a short look, or a long one would be read over and over.
            longest = _LONGEST_VALUE if position >= examined else _LONGEST_INNER_VALUE
            if not rules.may_name_a_secret(folded, position, keyword):
                continue
            value = _named_value(text, position, len(keyword), longest)
            if value:
                examined = max(examined, value.end)
                if value.secret:
                    yield value.secret
    yield from _kubernetes_secrets(text, folded)
    if holds_literal or not text.isascii():
        yield from _foreign(text, folded)


def _folded(text: str) -> str:
    """Return the text in lower case, of the same length."""
    folded = text.lower()
    # This one letter grows when folded, and would shift every position after it.
    return folded if len(folded) == len(text) else text.replace("\u0130", "I").lower()


def _placed(text: str, folded: str) -> Iterator[_Span]:
    """Yield the secrets in known places, by the literals that open them."""
    for hint, literals in rules.places():
        for literal, places in literals if hint in folded else ():
            for position in _occurrences(folded, literal) if literal in folded else ():
                for place in places:
                    match = rules.compiled(place.pattern, ignore_case=True).match(text, position)
                    if match and place.accept(match["secret"]):
                        yield _Span(*match.span("secret"), place.kind)


def _foreign(text: str, folded: str) -> Iterator[_Span]:
    """Yield the values of what other languages call a password."""
    for hint, words, is_vague in (*rules.FOREIGN_WORDS, *(() if text.isascii() else rules.NON_ASCII_WORDS)):
        for word in words if hint in folded else ():
            for position in _occurrences(folded, word):
                end = position + len(word)
                # A Latin or Cyrillic word stands by itself; in the other scripts nothing parts one word from the next.
                if is_vague and (text[max(0, position - 1) : position].isalnum() or text[end : end + 1].isalnum()):
                    continue
                after = rules.compiled(rules.AFTER_NAME).match(text, end)
                value = (
                    _value_of(text, _Name("password", text[position:end], "", after), _LONGEST_VALUE) if after else None
                )
                if value and value.secret:
                    yield value.secret


def _kubernetes_secrets(text: str, folded: str) -> Iterator[_Span]:
    """Yield what stands under ``data`` in a Kubernetes document of kind Secret: base64, and text without any name."""
    examined = 0
    for position in _occurrences(folded, "secret"):
        if position < examined or not rules.compiled(rules.KUBERNETES_KIND).search(
            text, max(0, position - 12), position
        ):
            continue
        if text[position + 6 : position + 7].isalnum():
            continue
        start = max(examined, position - rules.LONGEST_KUBERNETES, text.rfind("\n---", 0, position))
        end = text.find("\n---", position, position + rules.LONGEST_KUBERNETES)
        examined = end if end >= 0 else min(len(text), position + rules.LONGEST_KUBERNETES)
        for block in rules.compiled(rules.KUBERNETES_DATA).finditer(text, start, examined):
            for match in rules.compiled(rules.KUBERNETES_VALUE).finditer(text, *block.span()):
                value = match["secret"]
                if len(value) >= 4 and not rules.is_reference(value) and value != "null":
                    yield _Span(*match.span("secret"), "secret")


def _occurrences(text: str, literal: str) -> Iterator[int]:
    position = text.find(literal)
    while position >= 0:
        yield position
        position = text.find(literal, position + len(literal))


def _merged(found: Iterator[_Span]) -> list[_Span]:
    spans = sorted(found, key=lambda span: span.start)  # stable, so the better named comes first
    merged: list[_Span] = []
    for span in spans:
        if span.start >= span.end:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = _Span(last.start, max(last.end, span.end), last.kind)
        else:
            merged.append(span)
    return merged


def _private_keys(text: str) -> Iterator[_Span]:
    if "PRIVATE KEY" not in text:
        return
    begins = [match.span() for match in rules.compiled(rules.PEM_BEGIN).finditer(text)]
    ends = [match.span() for match in rules.compiled(rules.PEM_END).finditer(text)]
    next_end = 0
    for index, (start, opened) in enumerate(begins):
        while next_end < len(ends) and ends[next_end][0] < opened:
            next_end += 1
        following = begins[index + 1][0] if index + 1 < len(begins) else len(text)
        limit = min(following, opened + rules.LONGEST_PEM)
        if next_end < len(ends) and ends[next_end][0] < limit:
            if rules.compiled(rules.PEM_CONTENT).search(text, opened, ends[next_end][0]):
                yield _Span(start, ends[next_end][1], "private-key")
        else:
            body = rules.compiled(rules.PEM_BODY).match(text, opened, limit)
            if body and body.end() > opened:
                yield _Span(start, body.end(), "private-key")
    opened_at = [begin[0] for begin in begins]
    previous = 0
    for start, closed in ends:
        if bisect_left(opened_at, previous) == bisect_left(opened_at, start):
            begin = _start_of_cut_key(text, max(previous, start - rules.LONGEST_PEM), start)
            if begin < start:
                yield _Span(begin, closed, "private-key")
        previous = closed


def _start_of_cut_key(text: str, begin: int, end: int) -> int:
    """Return where the base64 that runs up to ``end`` begins; lines are read from the last backwards."""
    line_end = end
    while line_end > begin:
        line_start = max(begin, text.rfind("\n", begin, line_end - 1) + 1)
        if not rules.compiled(r"[\s\d|>+\t]{0,12}[A-Za-z0-9+/]{1,100}={0,2}\s*").fullmatch(text[line_start:line_end]):
            break
        line_end = line_start
    return line_end


def _tokens(text: str) -> Iterator[_Span]:
    openings, shapes = rules.token_openings(), rules.token_pattern()
    reached: dict[str, int] = {}
    for start, end in _long_runs(text):
        if openings.search(text, start, end):
            for match in shapes.finditer(text, start, end):
                kind = rules.TOKEN_SHAPES[(match.lastindex or 1) - 1][0]
                if kind not in rules.TAILS:
                    yield _Span(*match.span(), kind)
                elif match.start() >= reached.get(kind, 0):  # a tail may hold many more openings: it is read once
                    tail = rules.compiled(rules.TAILS[kind]).match(text, match.end())
                    if tail:
                        reached[kind] = tail.end()
                        yield _Span(match.start(), tail.end(), kind)
        opening = text.find("eyJ", start, end)
        if opening >= 0:
            jwt = rules.compiled(rules.JWT).match(text, opening)
            if jwt:
                yield _Span(*jwt.span(), "jwt")
        if text[start - 1 : start] in rules.PREFIX_ENDS:
            yield from _dotted_token(text, start)


def _long_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the stretches of token characters are that are long enough to be looked at for a known shape."""
    # One byte a character, so that positions stay; a pattern would take seven times as long.
    mask = text.encode("ascii", "replace").translate(rules.TOKEN_MASK)
    start = mask.find(rules.LONG_RUN)
    while start >= 0:
        end = mask.find(b" ", start)
        if end < 0:
            end = len(mask)
        yield start, end
        start = mask.find(rules.LONG_RUN, end)


def _dotted_token(text: str, start: int) -> Iterator[_Span]:
    lowest = max(0, start - rules.LONGEST_DOTTED_PREFIX)
    before = text[lowest:start]
    for kind, literal, prefix, shape in rules.DOTTED_SHAPES:
        if literal in before:
            opening = rules.compiled(f"{rules.LEFT_EDGE}(?:{prefix})\\Z").search(text, lowest, start)
            match = rules.compiled(shape).match(text, start) if opening else None
            if opening and match:
                yield _Span(opening.start(), match.end(), kind)


def _named_value(text: str, position: int, length: int, longest: int) -> _Value | None:
    """Return what follows the name around a keyword; None if it is not a secret's, or no value follows."""
    rest_start = position + length
    rest_end = rest_start
    highest = min(len(text), rest_end + _LONGEST_NAME)
    while rest_end < highest and text[rest_end] in _NAME_CHARACTERS and text[rest_end] != ".":
        rest_end += 1
    ends = text[rest_end : rest_end + 1] in _ENDS_OF_CODE
    after = None if ends else rules.compiled(rules.AFTER_NAME).match(text, rest_end)
    apart = (not after or after["sep"] in (None, ":")) and _may_stand_apart(text, position, rest_end)
    if not after and not apart:
        return None
    begin = position
    lowest = max(0, position - _LONGEST_NAME)
    if text[max(0, begin - 1) : begin] == " " and text[position : position + 3].lower() == "key":
        begin -= 1  # "API key"
    if text[rest_start : rest_start + 1] in ("e", "E") and text[max(0, position - 7) : position].lower() == "mot de ":
        begin = position - 7  # "mot de passe"
    while begin > lowest and text[begin - 1] in _NAME_CHARACTERS:
        begin -= 1
    before, written, rest = text[begin:position], text[position:rest_start], text[rest_start:rest_end]
    kind = rules.secret_name(before, written, rest)
    if not kind:
        return None
    left = text[max(0, begin - 1) : begin]
    if left == "\\" and before[:1] in ("n", "r", "t"):
        before = before[1:]  # the escape of a line end stands before the name
    if apart:
        value = _value_apart(text, rest_end - len(before + written + rest), rest_end, kind)
        if value:
            return value
    return _value_of(text, _Name(kind, before + written + rest, left, after), longest) if after else None


def _may_stand_apart(text: str, position: int, end: int) -> bool:
    """Whether the value of the name that ends there may stand elsewhere than after a separator: a quick look."""
    following = text[end : end + 2]
    if following[:1] in ("(", "[") or (following[:1] == "." and following[1:].isalpha()):
        return False  # code
    if following[:1] in _ENDS_OF_APART_NAME:
        left = text[max(0, position - 40) : position]
        return ":" in left or "=" in left or " as " in left or "|" in text[end : end + 4]
    if following in (":\n", ":\r", ": "):
        return text.find("\n", end, end + 12) >= 0
    return "|" in text[end : end + 44] or text.find(" as ", max(0, position - 40), position) >= 0


def _value_apart(text: str, begin: int, end: int, kind: str) -> _Value | None:
    """Return the value of a name that stands apart from it: a field's, a table's, "use … as the password"."""
    lowest = max(0, begin - _LONGEST_LEFT)
    left = text[max(0, begin - 6) : begin]
    named = (":" in left or "=" in left) and rules.compiled(rules.NAMED_LEFT).search(
        text, max(lowest, begin - 24), begin
    )
    if named:
        return _value_of_field(text, named.start(), end, kind)
    cell = "|" in text[end : end + 44] and rules.compiled(rules.NEXT_CELL).match(text, end)
    if cell and rules.compiled(rules.CELL_LEFT).search(text, max(lowest, begin - 44), begin):
        accepted = rules.accepts_cell(cell["secret"], kind)
        return _Value(cell.end(), _Span(*cell.span("secret"), kind)) if accepted else None
    if text.startswith(":", end):
        below = rules.compiled(rules.BELOW).match(text, end + 1)
        accepted = below is not None and rules.accepts_cell(below["secret"], kind)
        return _Value(below.end(), _Span(*below.span("secret"), kind)) if below and accepted else None
    if text.find(" as ", max(0, begin - 80), begin) < 0:
        return None
    used = rules.compiled(rules.USED_AS).search(text, max(0, begin - 200), begin)
    if used and rules.compiled(rules.NAME_ENDS).match(text, end):
        quoted = used["quote"] != ""
        accepted = rules.accepts_prose(used["secret"], kind, followed_by="x", quoted=quoted)
        return _Value(end, _Span(*used.span("secret"), kind)) if accepted else None
    return None


def _value_of_field(text: str, field_start: int, end: int, kind: str) -> _Value | None:
    """Return the value of a field that has a name and a value (``"name": "DB_PASSWORD", "value": …``), in any order."""
    between = rules.compiled(rules.THEN_VALUE).match(text, end)
    if between:
        start = between.end()
        quoted = rules.compiled(rules.QUOTED).match(text, start, start + _LONGEST_VALUE)
        if quoted:
            group = next(group for group in ("plain", "inner", "curly") if quoted[group] is not None)
            accepted = rules.accepts_quoted(quoted[group], kind, literal=True)
            return _Value(quoted.end(), _Span(*quoted.span(group), kind)) if accepted else None
        bare = rules.compiled(rules.BARE).match(text, start, start + _LONGEST_VALUE)
        value = bare[0].rstrip(",.;:)]}") if bare else ""
        accepted = rules.accepts_bare(value, kind, literal=True, spaced=False, followed_by="")
        return _Value(start + len(value), _Span(start, start + len(value), kind)) if accepted else None
    first = rules.compiled(rules.VALUE_FIRST).search(text, max(0, field_start - _LONGEST_LEFT), field_start)
    if not first:
        return None
    group = "quoted" if first["quoted"] else "bare"
    if group == "quoted":
        accepted = rules.accepts_quoted(first[group], kind, literal=True)
    else:
        accepted = rules.accepts_bare(first[group], kind, literal=True, spaced=False, followed_by="")
    return _Value(end, _Span(*first.span(group), kind)) if accepted else None


def _value_of(text: str, name: _Name, longest: int) -> _Value | None:
    """Return what follows a name: after a separator, after a flag of a command, or as a sentence says it."""
    after = name.after
    start = after.end()
    flag = name.text.startswith("-")
    said = not (after["sep"] or after["tag"] or after["call"] or flag)
    if said and name.text.lower().endswith("pass") and not _stands_with_its_user(text, name):
        return None  # a verb
    generated = bool(after["space"] or after["arrow"]) and not flag and name.kind != "password"
    # No word is taken for a value there: "set to expire".
    surely = bool(after["space"] or after["changed"])
    if after["abroad"] or after["arrow"]:
        surely = not rules.is_foreign_name(name.text)  # those are the ways in which other languages say "is"
    if after["tag"]:
        closing = rules.compiled(r"([^<\s]{3,200})</").match(text, start)
        is_element = name.left == "<" or _names_an_element(text, name)
        if not is_element or not closing:
            return None
        accepted = rules.accepts_quoted(closing[1], name.kind)
        return _Value(closing.end(), _Span(*closing.span(1), name.kind) if accepted else None)
    quoted = rules.compiled(rules.QUOTED).match(text, start, start + longest)
    if quoted:
        group = next(group for group in ("plain", "inner", "curly") if quoted[group] is not None)
        if _is_verb(name, quoted[group]) or generated:
            accepted = False
        elif after["call"]:
            accepted = _may_have_argument(name) and rules.accepts_argument(quoted[group])
        elif said:
            accepted = rules.accepts_prose(quoted[group], name.kind, followed_by="", quoted=True)
        else:
            accepted = rules.accepts_quoted(quoted[group], name.kind, literal=_holds_no_code(name))
        accepted = accepted and _is_told_enough(name, quoted[group])
        return _Value(quoted.end(), _Span(*quoted.span(group), name.kind) if accepted else None)
    bare = rules.compiled(rules.BARE).match(text, start, start + longest) if not after["call"] else None
    if not bare:
        return None
    value = bare[0].rstrip(",.;:)]}")
    end = start + len(value)
    if generated and not rules.looks_generated(value):
        return None
    if not value or (after["space"] and value[0] == "-") or (surely and said and not rules.looks_random(value)):
        return None
    followed_by = text[end : end + 1]
    if after["han"] and followed_by == " " and not text[end + 1 : end + 2].isascii():
        followed_by = ""  # the sentence's own words go on there
    if generated:
        accepted = True
    elif said:
        accepted = rules.accepts_prose(value, name.kind, followed_by=followed_by, quoted=False)
    else:
        accepted = _accepts_assigned(value, name, followed_by)
        if rules.is_foreign_name(name.text) and not rules.looks_random(value):
            accepted = accepted and rules.ends_sentence(followed_by)  # else it goes on to say what it must be like
    accepted = accepted and _is_told_enough(name, value)
    return _Value(bare.end(), _Span(start, end, name.kind) if accepted else None)


def _names_an_element(text: str, name: _Name) -> bool:
    """Whether the name is the key of a tag whose content is the value: ``<entry key="password">…</entry>``."""
    begin = name.after.start() - len(name.text)
    return rules.compiled(rules.NAMED_LEFT).search(text, max(0, begin - 24), begin) is not None


def _may_have_argument(name: _Name) -> bool:
    """Whether a quoted text behind a name is its value: a call's argument, the next one, a default behind ``||``."""
    call = name.after["call"].strip()
    if call == "(":
        return name.text.lower().rpartition(".")[2] in _SETTERS
    return call != "," or (name.text.isupper() and name.after["close"] != "")


def _stands_with_its_user(text: str, name: _Name) -> bool:
    """Whether a user's name stands right before ``pass``: then it is no verb ("user kim pass …")."""
    begin = name.after.start() - len(name.text)
    return rules.compiled(rules.USER_BEFORE).search(text, max(0, begin - 90), begin) is not None


def _is_told_enough(name: _Name, value: str) -> bool:
    """Whether name and value together tell of a secret: what a name leaves open, the value must say."""
    if rules.is_surely_secret(value, name.kind) or (name.kind == "password" and _holds_no_code(name)):
        return True
    if rules.is_foreign_name(name.text):
        return rules.may_be_password_abroad(value)
    return not rules.is_vague_name(name.text)


def _accepts_assigned(value: str, name: _Name, followed_by: str) -> bool:
    separator = name.after["sep"] or ""
    if _is_verb(name, value):
        return False
    return rules.accepts_bare(
        value,
        name.kind,
        literal=_holds_no_code(name) or (_is_header(name) and value.isalnum() and len(value) >= _HEADER_VALUE_CHARS),
        spaced="=" in separator and " " in name.after[0],
        followed_by=followed_by,
    )


def _is_verb(name: _Name, value: str) -> bool:
    """Whether ``pass`` is a test's result or an ordinary verb ("PASS: TestLogin", "tests pass: `make test`")."""
    if name.text.lower() != "pass":
        return False
    if name.text.isupper():
        return not _holds_no_code(name)
    is_key = name.after["close"] != "" or "=" in (name.after["sep"] or "")
    return name.text != "pass" or not (is_key or (rules.looks_random(value) and " " not in value))


def _holds_no_code(name: _Name) -> bool:
    """Whether a value stands in an environment file, after a flag of a command or in a URL: there it is no variable."""
    in_environment = name.text.isupper() and (name.after["sep"] or "").strip() == "=" and " " not in name.after[0]
    return in_environment or name.text.startswith("-") or name.left in ("?", "&")


def _is_header(name: _Name) -> bool:
    """Whether the name is that of a request's header: ``X-Api-Key``."""
    return name.text[:2].lower() == "x-" and (name.after["sep"] or "").strip() == ":"
