"""Whether a clause is meant to last, judged by what was learnt from examples: a linear model over hashed parts of it.

Patterns know the words that say that something lasts. Most rules are said in passing, without any of them; what tells those
from a request is many weak signs at once: who speaks of whom, which word comes first, whether something is pointed at. The
weights of these signs are learnt offline by ``benchmarks/directions/train.py``; here they are only added up.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from memory_pipeline.directions.lazy import Lazy

BUCKETS = 1 << 17
_WEIGHTS = Path(__file__).with_name("sense.weights")
_LONGEST = 400  # characters of a clause that are looked at


def sense(masked: str) -> float:
    """Return how surely a clause lasts: above 0 it rather does, below 0 rather not; 1 is as sure as -1.

    ``masked`` is in lower case, with code and quotations blotted out. The same words always give the same number.
    """
    found = buckets(masked)
    weights = _weights()
    return sum(weights[bucket] - 128 for bucket in found) / (_SCALE * len(found) ** 0.5)


#: What a weight of 1 is written as.
_SCALE = 32.0


@cache
def _weights() -> bytes:
    """The learnt weights, one byte each, 128 being none; read when a clause is first judged."""
    return zlib.decompress(_WEIGHTS.read_bytes())


def buckets(masked: str) -> list[int]:
    """Return the buckets of the parts of a clause, each once, in rising order."""
    return sorted({zlib.crc32(part.encode("utf-8", "replace")) & (BUCKETS - 1) for part in _parts(masked)})


def _parts(masked: str) -> Iterator[str]:
    words = _words(masked[:_LONGEST])
    kinds = [_kind(word) for word in words]
    yield "all"
    yield f"length {min(len(words), 24) // 3}"
    yield from _runs("w", ["^", *words, "$"], longest=3)
    yield from _runs("k", ["^", *kinds, "$"], longest=4)
    yield from (f"has {kind}" for kind in kinds if kind != "~")
    for length in (2, 3, 5):
        yield f"begins {' '.join(kinds[:length])}"


def _runs(name: str, words: list[str], *, longest: int) -> Iterator[str]:
    for length in range(1, longest + 1):
        for start in range(len(words) - length + 1):
            yield f"{name} {' '.join(words[start : start + length])}"


_WORD = Lazy(
    r"(?P<code>▮+)|(?P<path>[\w.-]*[/\\][\w./\\-]*|[a-z_]\w*(?:\.\w+)+|--?[a-z][\w-]+|[a-z]+_\w+)"
    r"|(?P<number>\d[\d.,:%]*)|(?P<word>[^\W\d_]+(?:['’-][^\W\d_]+)*)|(?P<mark>[,:;!()=<>+&@#])"
)
_CJK = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _words(masked: str) -> list[str]:
    words: list[str] = []
    for match in _WORD.finditer(masked):
        group = match.lastgroup or ""
        if group != "word":
            words.append(match.group() if group == "mark" else f"<{group}>")
        elif _CJK.search(match.group()):
            words += _split(match.group())
        else:
            words.append(match.group().replace("’", "'"))
    return words


def _split(mixed: str) -> list[str]:
    """Chinese stands sign by sign, and what is written in letters within it word by word."""
    return [part for part in re.split(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])", mixed) if part]


def _kind(word: str) -> str:
    """A word that says how things are meant as it is, any other by its form: what it names does not matter."""
    if word in _TELLING or not word[0].isalpha() or _CJK.match(word):
        return word
    for ending in ("n't", "ing", "ed", "ly", "'s", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return f"~{ending}"
    return "~"


_TELLING = frozenset(
    """
    i i'm i'd i've i'll me my mine myself we we're we've we'd we'll us our ours you you're you've your he she it it's its they
    they're their them this that that's these those there there's here here's who which what when where why how whenever wherever
    whatever whoever a an the some any every each all both no none nothing nobody never not nor neither only just always often
    usually normally generally typically sometimes ever again once twice still already yet now today tomorrow yesterday later soon
    currently temporarily then first next last before after until unless while during since from to of in into on onto at by for
    with without within over under above below between through about against as than like instead rather and or but so because
    if else though although too also even either is are was were be been being am isn't aren't wasn't do does did don't doesn't
    didn't done has have had haven't hasn't having can could can't cannot couldn't will would won't wouldn't shall should shouldn't
    must mustn't may might need needs ought let let's please thanks thank ok okay yes no nope hi hey oh btw fyi ps sorry wait
    actually maybe perhaps really very much many more most less least few fewer other another same such own one two three
    use uses used using prefer prefers preferred like likes love hate want wants wanted expect avoid stop quit keep keeps stay stick
    make sure remember forget note mind rule rules convention policy standard style habit preference default norm principle decided
    decision agreed settled chose chosen went going go goes gone moved switched migrated replaced dropped ditched banned forbidden
    allowed supposed required mandatory deprecated everywhere anywhere everything anything anyone everyone someone team project repo
    repository codebase company house project's future time times way ways forward
    fix add remove rename write run create change update move delete check look show try test implement refactor explain put give
    get set work works working fails failed failing broken wrong error bug issue crashes returns
    """.split()
)
