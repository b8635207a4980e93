"""How alike two statements are, whether they may become one, and whether they contradict each other.

A statement is read as three sets of words: what it asks for, what it refuses, and under which circumstances. Merging is
refused at the least doubt, since a wrongly merged rule is lost; so is a contradiction, since it lets one rule replace
another.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct

from memory_pipeline.changes import change_in, settles_nothing
from memory_pipeline.folding import folded as folded_text
from memory_pipeline.folding import in_simplified
from memory_pipeline.mentions import merely_mentions
from memory_pipeline.rivals import FAMILY_OF, ONE_OF
from memory_pipeline.slots import exclude_each_other, settle_one_slot, settled_by
from memory_pipeline.switches import Switch, switch_in
from memory_pipeline.values import value_told


def likeness(a: str, b: str) -> float:
    """Return how alike two statements are, from 0.0 to 1.0.

    Symmetric; survives rewording and another order of words.
    """
    first, second = _read(a), _read(b)
    if first.plain == second.plain:
        return 1.0
    words_a, words_b = first.words, second.words
    if not words_a or not words_b:
        return 0.0
    shared = sum(_weight(word) for word in words_a & words_b)
    total = sum(map(_weight, words_a)) + sum(map(_weight, words_b))
    overlap = 2 * shared / total
    from rapidfuzz import fuzz  # here, since most commands compare nothing

    spelled = fuzz.ratio(" ".join(sorted(words_a)), " ".join(sorted(words_b))) / 100
    alike = 0.65 * overlap + 0.35 * spelled
    if first.asked & second.refused or first.refused & second.asked:
        alike *= 0.7  # the same words, turned round
    return max(0.0, min(1.0, alike))


def same_statement(a: str, b: str) -> bool:
    """Whether two statements say the same and may safely become one. Symmetric; every statement is its own.

    Never so when a number, version, path, flag, tool or other name differs, or when one refuses what the other asks.
    """
    first, second = _read(a), _read(b)
    if first.plain == second.plain or _read_alike(first, second):
        return True
    bare_a, bare_b = _read(_without_frame(a)), _read(_without_frame(b))
    keeps_sense = (bare_a.negates, bare_b.negates) == (first.negates, second.negates)
    return keeps_sense and _read_alike(bare_a, bare_b)


def _read_alike(first: _Reading, second: _Reading) -> bool:
    """Whether two readings ask and refuse the same, under the same circumstances."""
    if not first.words or not second.words:
        return False
    if first.exact != second.exact or first.refused != second.refused or first.place != second.place:
        return False
    if first.negates != second.negates:
        return False
    if first.asked == second.asked:
        return True
    only_a, only_b = first.asked - second.asked, second.asked - first.asked
    if only_a and only_b:
        return False  # a word was exchanged for another: "tabs" for "spaces"
    # A long sentence may say one small thing more and still be the same.
    extra, common = only_a or only_b, first.asked & second.asked
    return len(extra) * 6 <= len(common) and not any(_is_exact(word) for word in extra)


@lru_cache(maxsize=4096)
def _without_frame(text: str) -> str:
    """A rule without the words that only say that it is one, or who asks for it: "we'd like you to", "以后请"."""
    folded = text.casefold().replace("’", "'")
    folded = _NOT_AT_ALL.sub("never ", folded)
    begin = 0
    while (match := _FRAME.match(folded, begin)) is not None and match.end() > begin:
        begin = match.end()
    bare = _FRAME_BEHIND.sub("", folded[begin:])
    return bare if len(bare.split()) > 1 or _CJK.search(bare) else text


_NOT_AT_ALL = re.compile(
    r"\bunder no circumstances\b |\bi(?:'d| would) (?:rather|prefer it if|appreciate it if"
    r"|be glad if) you (?:didn't|did not) "
)
_FRAME = re.compile(
    r"[\s,:!]*(?:"
    r"(?:(?:please|pls|kindly|also|and|so|ok|always|generally|usually|in general|from (?:now|here|today) on"
    r"|in (?:the )?future"
    r"|next time|going forward|as a (?:rule|habit)|(?:as )?far as possible|if possible|by default|starting now|again"
    r"|remember|keep in mind|don't forget|be sure|make sure|note|be so kind and"
    r"|in (?:this|our) (?:repo|project|codebase)|in (?:the )?(?:repo|project|codebase)|here)\b(?: (?:to|that)\b)?"
    r"|(?:i|we)(?:'d| would)?(?: really| much| also)? (?:like|love|want|need|expect|prefer|rather|appreciate)"
    r"(?: it)?(?: if| that| when)?(?: you| everyone)\b(?: to| could)?"
    r"|(?:it'd|it would) (?:be|help) (?:nice|great|good|better|a lot)? ?if you\b(?: could)?"
    r"|(?:you|everyone(?: on (?:the|this) (?:project|team))?|contributors|we|people) (?:must|should|has to"
    r"|have to|need to"
    r"|(?:are|is) (?:supposed|expected) to)\b"
    r"|(?:the|our|a|one of our|another) (?:\w+ )?(?:rule|convention|policy|custom|principle|deal)s?(?: (?:here"
    r"|in this repo"
    r"|for this repo))?(?: is|:)(?: to| that you)?(?! not)|rule for this repo:|we(?: always| usually)?(?= \w))"
    r"(?=[\s,:!])"
    r"|(?:请你?|麻烦你?|拜托|以后|今后|往后|下次|每次|从现在起|从今天起|记得|记住|别忘了|注意|务必|一定要|必须"
    r"|始终|总是|都要|都|要"
    r"|最好|希望你|我(?:比较|更)?(?:喜欢|希望|想让)你?|(?:我们组|团队|公司|领导|评审|我们|咱们)?的?(?:规则|规定"
    r"|约定|要求|习惯|规矩)是?"
    r"|我们组|长点记性|再说一遍|最后说一次|always |please |remember )[，,：:\s]*)"
)
_FRAME_BEHIND = re.compile(
    r"[\s,，;.!。！]*(?:please|thanks|thx|ok|always|house rule|in (?:this|our) (?:repo|project|codebase)"
    r"|in general|every single time"
    r"|each time|every time|from (?:now|here) on|that's (?:what i want to see|how (?:i like it|we do it"
    r"|the team works))"
    r"|谢谢|这是规矩|以后都这样|好吗)[\s.!。！]*$"
)


def contradicts(a: str, b: str) -> bool:
    """Whether two statements are about the same thing and can't both hold. Symmetric; when in doubt, they don't.

    So when one refuses what the other asks, when a preference is turned round, when a value, or a tool of the same use,
    was exchanged for another, when one thing has another value from now on, or when both settle one slot, in whatever
    words.
    """
    first, second = _read(a), _read(b)
    if _lets_stand(a, b) or _lets_stand(b, a):
        return False
    if first.plain == second.plain or same_statement(a, b):
        return False
    if settle_one_slot(a, b):
        return exclude_each_other(a, b)  # the slot knows: "never answer in German" and "never in French" both hold
    one, other = _choice_in(a), _choice_in(b)
    if one is not None and other is not None and one.family == other.family:
        return _leave_each_other(one, other)
    if _turns_away_from(one, b) or _turns_away_from(other, a):
        return True
    if _announces_the_end(a, second) or _announces_the_end(b, first) or _values_anew(a, b):
        return True
    if merely_mentions(_folded(a)) or merely_mentions(_folded(b)):
        return False
    return _is_turned_round(first, second) or _is_exchanged(first, second)


def choose_otherwise(a: str, b: str) -> bool:
    """Whether two statements choose between the same tools, each for wherever it holds, and choose differently.

    What they say of circumstances limits neither: "whenever you'd take npm, take pnpm".
    """
    if _lets_stand(a, b) or _lets_stand(b, a):
        return False
    one, other = _choice_in(a), _choice_in(b)
    if one is not None and other is not None and one.family == other.family:
        return _leave_each_other(one, other)
    return _turns_away_from(one, b) or _turns_away_from(other, a)


def tells_a_switch(text: str) -> bool:
    """Whether a statement says that one tool, or one value, took the place of another."""
    choice = _choice_in(text)
    return (choice is not None and bool(choice.left)) or change_in(text) is not None


def _lets_stand(text: str, other: str) -> bool:
    """Whether a text settles nothing, or refuses to turn away from what the other is for."""
    if settles_nothing(text):
        return True
    refused = _refused_change(text)
    if refused is None:
        return False
    words = _read(other).words
    return refused[0] in words and not refused[1] & words


@lru_cache(maxsize=1 << 13)
def _refused_change(text: str) -> tuple[str, frozenset[str]] | None:
    """What a text refuses to turn away from, and the words of what it would have been given up for."""
    change = _REFUSED_CHANGE.search(text.casefold().replace("’", "'"))
    return (_stem(change["kept"]), _read(change["rest"]).words) if change is not None else None


_REFUSED_CHANGE = re.compile(
    r"(?:\b(?:don't|dont|do not|never|not to|against) (?:(?:switch|mov|migrat|chang)\w* (?:\w+ )?(?:away )?from"
    r"|(?:replac|swap|trad|drop|exchang)\w*) "
    r"|(?:别|不要|不用)从 ?)(?P<kept>[\w.-]+?)(?: |换|改|迁|切|$)(?P<rest>.*)"
)


def same_condition(a: str, b: str) -> bool:
    """Whether two conditions name the same circumstances: "before every commit", "before committing"; "" is always.

    What holds in some circumstances, and what holds in all but those, are two.
    """
    first, second = _read(a), _read(b)
    if first.plain == second.plain:
        return True
    excepts = [reading.negates or _EXCEPTS.search(reading.plain) is not None for reading in (first, second)]
    return first.words == second.words and bool(first.words) and excepts[0] == excepts[1]


_EXCEPTS = re.compile(r"\b(?:unless|except|outside|apart from|other than)\b|除非|除了|以外|之外")


@lru_cache(maxsize=1 << 14)
def signature(text: str) -> frozenset[str]:
    """Return cheap keys of a statement. Two that are the same, or contradict, share at least one of them."""
    reading = _read(text)
    words = reading.words
    keys = {f"use:{FAMILY_OF[word]}" for word in words if word in FAMILY_OF}
    settled = settled_by(text)
    if settled is not None:
        keys.add(f"slot:{settled.slot}")
    if valued := _valued(text):
        keys.add(f"value:{valued}")
    return frozenset(keys | words) or frozenset({reading.plain})


class CloseKeys(Struct, frozen=True, kw_only=True):
    """Keys by which statements meet that are the same, or contradict, but for one word."""

    kept_under: tuple[object, ...]
    looked_up: tuple[object, ...]


def close_keys(text: str) -> CloseKeys:
    """Return keys of a statement: one that says the same, says one word more or less, or exchanges one value, meets it.

    Only a value that has rivals counts as exchanged, a number or a tool of a known use: of statements that are alike
    but for a name there may be thousands, and no two of them say the same.
    """
    reading = _read(text)
    words = reading.words
    less = [("all", words - {word}) for word in words if not _is_exact(word)]
    exchanged = [("but", sort, words - {word}) for word in words if (sort := _sort_of_value(word))]
    settled = settled_by(text)
    about: list[object] = [("slot", settled.slot)] if settled is not None else []
    if reading.topic:
        about.append(("topic", reading.topic))
    if valued := _valued(text):
        about.append(("value", valued))
    return CloseKeys(
        kept_under=(("all", words), *(("less", words) for _, words in less), *exchanged, *about),
        looked_up=(("all", words), ("less", words), *less, *exchanged, *about),
    )


def _sort_of_value(word: str) -> str:
    return "number" if _NUMBER.fullmatch(word) else FAMILY_OF.get(word, "")


def code_in(text: str) -> frozenset[str]:
    """Return what a text quotes as code: commands above all. Two that are otherwise alike may tell of two of them."""
    return frozenset(" ".join(code.split()) for code in _CODE.findall(text))


_CODE = re.compile(r"`([^`]+)`")


class Sense(Struct, frozen=True, kw_only=True):
    """What of a statement a rewording must not change: its words that count, without those that never matter."""

    words: frozenset[str]
    refused: frozenset[str]  # of the words: what is not wanted
    place: frozenset[str]  # of the words: the circumstances
    exact: frozenset[str]  # of the words: names, numbers, paths, flags
    negates: bool  # a negation stands in it

    @property
    def asked(self) -> frozenset[str]:
        """The words that are not refused."""
        return self.words - self.refused


def sense_of(text: str) -> Sense:
    """Return what counts in a text; endings, case and order do not."""
    reading = _read(text)
    return Sense(
        words=reading.words,
        refused=reading.refused,
        place=reading.place,
        exact=reading.exact,
        negates=reading.negates,
    )


# --- reading a statement ---------------------------------------------------------------------------------------------


class _Reading(Struct, frozen=True, kw_only=True):
    plain: str  # folded text, without what never matters
    asked: frozenset[str]
    refused: frozenset[str]
    place: frozenset[str]  # words of the circumstances
    topic: tuple[str, ...]  # words before "is", in order; () when the statement defines nothing
    value: tuple[str, ...]  # words after it
    words: frozenset[str]  # all of them
    exact: frozenset[str]  # of these, the ones that a rewording would have kept as they are
    negates: bool
    bounds: bool  # a bound stands in it: "at most", "longer than"


#: Tools, languages, styles and the like that are known by name, in folded case.
KNOWN_TOOLS = frozenset(FAMILY_OF)

_STOP_WORDS = """
a an the to of and or but so as at by it its is are be been am was were will would shall should must need
needs have has had do does did done we i you your my our us me they their them he she this that these those
there here please always ever from now on going forward henceforth remember keep mind make sure ensure just
also then very really generally usually everything every each all any some project projects repo repos
repository codebase thing way whenever use uses used using prefer prefers preferred like likes want wants
rather run runs running execute with if can could may might default only thank thanks future time times let
lets anymore go good decided decide stick pick choose called named instead anything something new up out into
"""
_STOP = frozenset(_STOP_WORDS.split()) - {"new", "if", "only", "up", "out", "into"}
_NEGATIONS = frozenset(
    {
        "never",
        "not",
        "no",
        "dont",
        "without",
        "avoid",
        "stop",
        "nor",
        "cannot",
        "quit",
        "longer",
        "cant",
        "instead-of",
        "over",
    }
)
#: Of these, the ones that turn round whatever the clause is about, also when it stands before them.
_NOT = frozenset({"never", "not", "dont", "cannot", "cant", "longer"})
#: Verbs by which something is forbidden or allowed. Behind a negation they allow or forbid.
_FORBIDDING = re.compile(
    r"(?P<not>(?:\b(?:never|not|dont|cannot|without|avoid)\s+(?:(?:ever|to)\s+)?|不要|别|不能|不得|不用))?"
    r"(?:\b(?:(?P<off>disabl(?:e[sd]?|ing))|(?:forbid|disallow|prohibit)(?:s|ding|den|ed|ing)?)\b|(?P<cjk>禁用|停用))"
)
_PLACE_WORDS = "before after when whenever while if unless during until in for inside under within"
_PLACES = frozenset(_PLACE_WORDS.split())
#: Verbs that begin what is asked for, behind the circumstances.
_ORDER_WORDS = "run use execute write update add check ask call make keep put build format lint"
_ORDERS = frozenset(_ORDER_WORDS.split())
_IGNORED = _STOP | _NEGATIONS | _PLACES

_NUMBER = re.compile(r"v?\d+(?:[.:]\d+)*[a-z%]{0,2}")
_TOKEN = re.compile(
    r"--?[a-z][\w-]*(?:=\S+)?|[@~]?[\w.]*[\w](?:[./:@+#-]+[\w*]+)+/?|[a-z_]\w*\+\+|c#|\w+(?:'\w+)?"
    r"|[,;:.!?，。；：！？()]|[\u4e00-\u9fff]+"
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
#: Circumstances at the head of a clause: "提交前…", "合并之后…". Not "前端", "后端", "以后", "然后" and their like.
_CJK_PLACE = re.compile(
    r"(^|[\s，。；、,;：:])([\u4e00-\u9fff]{2,6}?)(?<![今往然最此以之先目当])(?:之前|以前|前|之后|以后|后|的时候|时)"
    r"(?![端台缀者续果期进景间候])"
)
_CJK_NEGATION = re.compile(
    r"永远不要?|绝对?不要?|千万(?:不要|别)|不要再?|不再|别(?!的)再?|禁止|严禁|避免|切忌|杜绝|弃用"
    r"|不许|不准|不得|不能|不用|不使用|不可以?|不允许|不需要?|不必|无需|不应[该当]?|不该|不会|没有"
    r"|而不是|不是|切勿|请勿|勿"
)
_CJK_STOP = re.compile(
    r"从现在(?:起|开始)|从今以后|我们|咱们|以后|今后|往后|总是|始终|一律|永远|务必|必须|应该|应当|记住|记得"
    r"|请|统一|优先|默认|都|要|用|使用|采用"
    r"|改成|改为|换成|换为|设成|设置为|设为|定为|可以|需要|允许"
    r"|喜欢|更|我|你|您|的|了|在|(?<!阿)里面?|这个|项目|仓库|所有|一定|得|也|就|还是|改|吧|和|与|每次|每个|再|是"
    r"|运行|执行|跑|写"
)


@lru_cache(maxsize=1 << 14)
def _read(text: str) -> _Reading:
    folded = folded_text(text).replace("`", " ")
    if "more" in folded:
        folded = re.sub(r"\bany more\b|\b(no) more(?= \w+ing\b)", r"\1 anymore", folded)
        folded = re.sub(r"\bno more (\w+)", _no_more, folded)
    folded = _SUBSTITUTED.sub(r"\1 → \2 ", folded)
    if "over" in folded:
        folded = re.sub(r"\bover (to|from)\b", r"\1", folded)  # "moved over to uv" refuses nothing
        folded = re.sub(r"\b(are|is|was|were) over\b", r"\1 ended", folded)  # nor does "the days of npm are over"
        folded = re.sub(r"\b(took|takes|taken) over\b", r"\1 charge", folded)
    folded = re.sub(r"\b(?:instead of|rather than|in place of)\b", "instead-of", folded)
    folded = re.sub(r"\b(?:don't|do not|dont|never) forget(?: that| to)?\b|(?:别|不要)忘了?", " ", folded)
    folded = re.sub(r"\b(do|does|did|ca|wo|should|must|is|are)n'?t\b|\bdo not\b", "dont", folded)
    folded = _FORBIDDING.sub(_forbidden, folded if folded.isascii() else _CJK_PLACE.sub(r"\1 before \2 , ", folded))
    folded = folded if folded.isascii() else _CJK_NEGATION.sub(" dont ", folded)
    defining = folded
    folded = _apart(folded)
    asked: set[str] = set()
    refused: set[str] = set()
    place: set[str] = set()
    clause: set[str] = set()
    target = asked
    refusing = placing = negates = is_open = False
    for sign in (*_TOKEN.findall(folded), "."):
        if sign in ",;:.!?，。；：！？":
            if is_open:
                refused |= clause  # "yarn is not used": what is refused stands before
            clause = set()
            refusing = placing = is_open = False
        elif sign in "()":
            continue
        elif sign in _NEGATIONS:
            refusing, placing, negates = True, False, True
            is_open = sign in _NOT
        elif sign in {"but", "use", "instead", "prefer"} and refusing and refused:
            refusing = False
        elif sign in _PLACES:
            placing = True
        elif placing and place and not asked and sign in _ORDERS:
            # "Before every commit run ruff": what is asked for begins without a comma.
            placing = False
            asked.update(_content(sign))
        else:
            target = place if placing else refused if refusing else asked
            said = _content(sign)
            target.update(said)
            if target is asked:
                clause.update(said)
            is_open = is_open and not (said and target is refused)
    topic, value = _definition(defining)
    plain = " ".join(re.findall(r"[^\W_]+(?:[./:@+#_-]+[^\W_]+)*|--?\w+|[+#*]", folded)) or folded.strip()
    words = frozenset(asked | refused | place)
    return _Reading(
        words=words,
        exact=frozenset(filter(_is_exact, words)),
        plain=plain,
        asked=frozenset(asked - refused),
        refused=frozenset(refused),
        place=frozenset(place),
        topic=topic,
        value=value,
        negates=negates,
        bounds=_BOUND.search(plain) is not None,
    )


#: What people write who replace a word: "s/tox/nox/g".
_SUBSTITUTED = re.compile(r"(?<![\w/])s/([^\s/]+)/([^\s/]+?)(?:/g?i?)?(?=[\s,;.!]|$)")


def _no_more(match: re.Match[str]) -> str:
    """Let "no more tox" refuse tox, and "no more questions" nothing."""
    return f"no {match[1]}" if _stem(match[1]) in FAMILY_OF else match.group()


def _forbidden(match: re.Match[str]) -> str:
    verb = "启用" if match["cjk"] else "enable" if match["off"] else "allow"
    return f" {verb} " if match["not"] else f" dont {verb} "


def _words(token: str) -> tuple[str, ...]:
    if _CJK.fullmatch(token):
        if token in FAMILY_OF or len(token) < 3:
            return (token,)
        return tuple(token[index : index + 2] for index in range(len(token) - 1))
    if _is_exact(token):
        return (token,)
    return (_stem(token),)


def _stem(word: str) -> str:
    """Cut the commonest English endings, so that "commits" and "committing" meet."""
    if word in FAMILY_OF or len(word) < 4 or not word.isascii():
        return word
    word = word.removesuffix("'s")
    if word.removesuffix("s") in FAMILY_OF:
        return word.removesuffix("s")
    for ending, least in (("ing", 3), ("ed", 3), ("es", 4), ("s", 3)):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= least and not (ending == "s" and word.endswith(("ss", "us", "is"))):
            if ending in {"ing", "ed"} and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "ls":
                stem = stem[:-1]
            if ending == "es" and not stem.endswith(("sh", "ch", "ss", "x", "z")):
                stem = word[:-1]
            word = stem
            break
    return word.removesuffix("e") if len(word) > 4 else word


@lru_cache(maxsize=1 << 15)
def _is_exact(word: str) -> bool:
    """Whether a word is a name, number, path or flag: one that a rewording would have kept as it is."""
    return (
        any(character.isdigit() for character in word)
        or any(character in "./_-:@+#=*" for character in word)
        or word in FAMILY_OF
    )


def _weight(word: str) -> float:
    return 2.0 if _is_exact(word) else 1.0


_COPULA = re.compile(r"\b(?:is|are|lives? (?:in|at|on)|should be|must be|=)\b|用的是|改成|换成|改为|是|叫做?|为")


def _definition(folded: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    match = _COPULA.search(folded)
    if not match:
        return (), ()
    before, after = (_apart(half) for half in (folded[: match.start()], folded[match.end() :]))
    return tuple(_content(before)), tuple(_content(after))


def _apart(text: str) -> str:
    """Chinese words without those that never matter, apart from what stands beside them."""
    return text if text.isascii() else _CJK.sub(lambda run: " " + run.group() + " ", _CJK_STOP.sub(" ", text))


def _content(folded: str) -> list[str]:
    tokens = [token for token in _TOKEN.findall(folded) if token not in _IGNORED and any(map(str.isalnum, token))]
    return [word for token in tokens for word in _words(token) if word not in _STOP]


# --- contradiction ---------------------------------------------------------------------------------------------------


def _is_turned_round(first: _Reading, second: _Reading) -> bool:
    """One refuses what the other asks, and neither is about much else."""
    if _takes_the_place(first, second) or _takes_the_place(second, first):
        return True
    if _gives_up_altogether(first, second) or _gives_up_altogether(second, first):
        return True
    if first.place != second.place:
        return False
    if first.words and first.words == second.words and first.negates != second.negates:
        return True
    turned = (first.asked & second.refused) | (first.refused & second.asked)
    if not turned or any(_tells_of_a_thing_of(turned, reading) for reading in (first, second)):
        return False
    stated = [reading.asked | reading.refused for reading in (first, second)]
    return turned in stated or len(turned) * 3 >= len(stated[0] | stated[1]) * 2


def _tells_of_a_thing_of(words: frozenset[str], reading: _Reading) -> bool:
    """Whether a tool is named for something of it alone: "stop the docker containers"."""
    tools = frozenset(word for word in words if FAMILY_OF.get(word) in ONE_OF)
    return bool(tools) and _TELLS_OF_A_THING_OF_IT.search(_marked(reading.plain, tools)) is not None


def _gives_up_altogether(new: _Reading, old: _Reading) -> bool:
    """One says that what the other asks for is not done any more, wherever it was done: "no squashing any more"."""
    is_all = bool(new.refused) and new.refused == old.asked and not new.asked and not new.place
    return is_all and _NOT_ANY_MORE.search(new.plain) is not None


_NOT_ANY_MORE = re.compile(r"\b(?:no longer|anymore)\b|不再")


def _takes_the_place(new: _Reading, old: _Reading) -> bool:
    """One names a value in the place of another ("pnpm, not npm"), and the other asks for just that other value."""
    dropped = new.refused & old.asked
    if not dropped or dropped != new.refused or old.refused:
        return False
    if not all(map(_is_exact, dropped)) and not _BY_NOW.search(new.plain):
        return False
    if any(_stem(word) not in _WHAT_TOOLS_DO for word in new.place ^ old.place):
        return False
    if old.asked - dropped - _MEASURED <= new.asked:
        return True  # nothing else is said
    family = {FAMILY_OF.get(word) for word in dropped}
    return None not in family and {FAMILY_OF.get(word) for word in new.asked} == family


#: Whoever says so tells of a change, and not merely of two things of which one is better.
_BY_NOW = re.compile(r"\b(?:now|no longer|anymore|instead-of|correction|scratch)\b|现在|不再|改")
_MEASURED = frozenset({"port", "version", "limit"})

#: Circumstances that a tool brings with it: "use npm for packages and scripts" is "use npm".
_BROUGHT_ALONG = """
packages scripts dependencies installing builds tests linting formatting code python javascript indentation
"""
_WHAT_TOOLS_DO = frozenset(map(_stem, _BROUGHT_ALONG.split()))


def _limits_otherwise(first: _Reading, second: _Reading) -> bool:
    """The same bound with another number: "at most 50 lines", "at most 80 lines"."""
    if not (first.bounds and second.bounds):
        return False
    old, new = first.words - second.words, second.words - first.words
    return (
        len(old) == len(new) == 1
        and all(_NUMBER.fullmatch(word) for word in old | new)
        and bool(first.words & second.words)
    )


_BOUND = re.compile(
    r"超过|多于|少于|大于|小于"
    r"|\b(?:exceed|(?:more|longer|less|fewer|larger|bigger) than|at most|at least|over|above|under|below)\b"
)


def _is_put_elsewhere(first: _Reading, second: _Reading) -> bool:
    """The same thing put to another place: "logs go to /var/log/app", "logs go to /srv/log/app"."""
    if first.negates or second.negates:
        return False
    one, other = _what_is_put(first.plain), _what_is_put(second.plain)
    if one is not None and other is not None and one[0] == other[0]:
        return one[1] != other[1]
    if "/" not in first.plain or not (_PUT.search(first.plain) and _PUT.search(second.plain)):
        return False
    old, new = first.words - second.words, second.words - first.words
    return len(old) == len(new) == 1 and all("/" in word for word in old | new) and bool(first.words & second.words)


@lru_cache(maxsize=1 << 13)
def _what_is_put(plain: str) -> tuple[tuple[str, ...], str] | None:
    """What a text puts somewhere, in words that count, and where; None when it says anything else."""
    found = _PUT_WHERE.fullmatch(plain) if "/" in plain else None
    if found is None:
        return None
    what = found["order"] or found["what"] or found["zh"]
    return tuple(_content(_apart(what))), found["where"] or found["zh_where"]


_WHAT_IS_PUT = r"(?:(?:the|our|all) )*[a-z][a-z -]{1,30}?"
#: All that a text says is where one thing is put: "logs go to var/log", 日志改放到 var/log.
_PUT_WHERE = re.compile(
    rf"(?:(?:put|store|keep|save|write|place) (?P<order>{_WHAT_IS_PUT})|(?P<what>{_WHAT_IS_PUT})"
    r" (?:(?:should|must|now|all|always|are|is|were|was|have|has|been) )*(?:go(?:es)?|lives?|belongs?|moves?"
    r"|moved|stored"
    r"|kept|saved|written|placed|put)) (?:now )?(?:in|into|to|under|at|below) (?P<where>\S*/\S*)"
    r"(?: (?:now|from now on|please|instead))*"
    r"|(?P<zh>[a-z\u4e00-\u9fff]{2,10}?) ?(?:现在)? ?(?:改|挪|搬|迁|移|换)?(?:放|存|写|落|输出|保存|记录|挪|搬"
    r"|移)[到进入至]?"
    r" (?P<zh_where>[^\s，。]*/[^\s，。]*)(?: ?了)?"
)
_PUT = re.compile(
    r"\b(?:go(?:es)?|puts?|keeps?|kept|stored?|stores|saved?|saves|writes?|written|lives?|placed?|places"
    r"|belongs?|logs?)\b"
    r"(?: \S+){0,6}? (?:to|into|in|under|at|below|inside) \S*/"
    r"|(?:[放存落到]|输出|保存|记录)(?:在|到|进|入|至)? ?\S*/"
)


def _is_exchanged(first: _Reading, second: _Reading) -> bool:
    """The same statement but for one value: a number, a tool of the same use, or what something is said to be."""
    if first.topic and first.topic == second.topic:
        return first.value != second.value and len(first.value) == len(second.value) and len(first.value) <= 3
    if _limits_otherwise(first, second) or _is_put_elsewhere(first, second):
        return True
    only_a, only_b = first.words - second.words, second.words - first.words
    if first.refused and second.refused and first.refused != second.refused:
        return False
    if bool(first.asked & only_a) != bool(second.asked & only_b):
        return False
    only_a, only_b = only_a - first.refused, only_b - second.refused
    common = (first.words & second.words) - first.refused - second.refused
    if len(only_a) != 1 or len(only_b) != 1:
        return False
    (old,), (new,) = only_a, only_b
    if (old in first.place) != (new in second.place):
        return False
    if _NUMBER.fullmatch(old) and _NUMBER.fullmatch(new):
        return bool(common) and not (_is_a_name(old, first.plain) and _is_a_name(new, second.plain))
    family = FAMILY_OF.get(old)
    return family is not None and family == FAMILY_OF.get(new) and not {old, new} & (first.refused | second.refused)


def _is_a_name(number: str, plain: str) -> bool:
    """A number names one of many things, as that of an order does; of two such, each is a thing of its own."""
    names, counts = ({found["number"] for found in one.finditer(plain)} for one in (_NUMBERED, _HOW_MANY))
    return number in names - counts


#: One thing and its number; "tests 3 times" and "jobs 8" say how many.
_NUMBERED = re.compile(
    r"(?:\b(?:order|ticket|issue|bug|story|epic|task|pr|mr|pull request|merge request|commit|build|job|run|pipeline"
    r"|sprint|invoice|customer|user|account|tenant|record|row|item|entry|migration|revision|chapter|section|page|part"
    r"|lesson|exercise|question|example|figure|slide|step|case|test|fixture|error|rule|article|rfc|pep|adr|cve)"
    r" (?:no |number |nr |id )?(?:# )?|(?:订单|工单|发票|需求|缺陷|用户|客户|任务|编号|单号|问题)号?\s?"
    r"(?!\d+ ?(?:[个次台条张份位名人天页行倍遍秒]|小时|分钟))|第\s?(?!\d+ ?[版代]))"
    r"(?P<number>v?\d[\d.:]*)(?! (?:times|per|chars?|characters|seconds?|minutes?|hours?|days?|weeks?|percent|lines"
    r"|m?s|fps|[kmgt]i?b|at a time|at once|in parallel)\b)"
)
#: So many of something, for one that stands for each of its kind ("each user 5 seats") or after what is to be done
#: ("run 4 workers"), where nothing is said that the numbered one is or does ("test 4 fails").
_HOW_MANY = re.compile(
    r"(?:\b(?:each|every|per|an?) \w+|(?:^|\b(?:always|must|should|to|and|then|we|please|can|will) )"
    r"(?:run|build|test|commit|record)) (?P<number>\d[\d.]*)(?= \w)"
    r"(?! (?:is|was|has|had|does|did|needs?|fail(?:s|ed)|pass(?:es|ed)|takes?|took|uses?|used|breaks?|broke|covers?"
    r"|hangs?|hung|crash(?:es|ed)|must|may|can|should|will|on|first|last|again|and|before|after)\b)"
)


def _announces_the_end(text: str, old: _Reading) -> bool:
    """A text says that a value has left, and the other statement is about that value of the same thing."""
    change = change_in(text)
    if change is None or old.refused:
        return False
    left, entered = (frozenset(_content(value)) for value in (change.left, change.entered))
    if not left <= old.words or entered <= old.words:
        return False
    about = frozenset(_content(_apart(change.about))) - left - entered
    return bool(about) and about <= old.words and old.place - left <= about | _COUNTED


def _values_anew(a: str, b: str) -> bool:
    """Both give a value of one sort to the same thing, and one says that it has this value from now on."""
    one, other = value_told(a), value_told(b)
    if one is None or other is None or not (one.is_new or other.is_new):
        return False
    is_otherwise = one.sort == other.sort and one.value != other.value
    do_alike = one.way == other.way or not (one.way and other.way)
    return is_otherwise and do_alike and _valued(a) == _valued(b) != ""


@lru_cache(maxsize=1 << 13)
def _valued(text: str) -> str:
    """What a text gives a value to, and of what sort, in words that count; "" when it gives none."""
    told = value_told(text)
    about = sorted(set(_content(_apart(told.about)))) if told is not None else []
    return " ".join((told.sort, *about)) if told is not None and about else ""


#: What is counted may stand beside a bound in one wording and be left out in another.
_COUNTED_WORDS = "line character char row file word second minute hour day week item request try"
_COUNTED = frozenset(_COUNTED_WORDS.split())


# --- choices ---------------------------------------------------------------------------------------------------------


class _Choice(Struct, frozen=True, kw_only=True):
    family: str
    chosen: frozenset[str]  # more than one where the words don't tell which of them gives way
    left: frozenset[str]  # what it turns away from
    is_announced: bool  # as something that changed


def _leave_each_other(one: _Choice, other: _Choice) -> bool:
    """Whether two choices between the same tools can't both hold; one may only say what is not used any more."""
    if one.chosen and other.chosen:
        return one.chosen != other.chosen
    return bool(one.chosen & other.left or other.chosen & one.left)


@lru_cache(maxsize=4096)
def _choice_in(text: str) -> _Choice | None:
    """What a statement chooses, when that is all it says but for what was said in the same breath before it."""
    if not code_in(text) <= KNOWN_TOOLS or merely_mentions(_folded(text)):
        return None
    text = _last_said(text)
    switch = switch_in(text) or switch_in(_from_the_choice_on(text))
    if switch is None or not (switch.left and switch.entered):
        text = _without_reasons(text)
    said = _from_the_choice_on(_anywhere(_folded(text)))
    return _chosen(said, _read(said), switch)


def _folded(text: str) -> str:
    return in_simplified(text).casefold()


def _last_said(text: str) -> str:
    """A text without what was said of something else in the same breath before it, be it of a tool of another use."""
    text = _behind(text, _BREAK)
    if len({FAMILY_OF[word] for word in _read(text).words if FAMILY_OF.get(word) in ONE_OF}) > 1:
        for joint in reversed([*_BREAK.finditer(text)]):
            if any(FAMILY_OF.get(word) in ONE_OF for word in _read(text[joint.end() :]).words):
                return text[joint.end() :]
    return text


def _without_reasons(text: str) -> str:
    """A text without what it gives as the reason, or as the occasion: neither limits where it holds."""
    text = _last_said(_folded(text))
    for occasion in (_REASON_BEFORE, _REASON_AT_HEAD, _OCCASION):
        found = occasion.match(text)
        if found is not None and _asks_for_a_tool(text[found.end() :]):
            text = text[found.end() :]
    found = _REASON_BEHIND.search(text)
    return text[: found.start()] if found is not None and _asks_for_a_tool(text[: found.start()]) else text


def _asks_for_a_tool(text: str) -> bool:
    return any(FAMILY_OF.get(word) in ONE_OF for word in _read(text).asked)


_REASON_BEFORE = re.compile(
    r".*(?:[,;]? \b(?:hence|therefore|thus|that's (?:the reason )?why|which is why|and so|so)\b|[,，；]?(?:所以"
    r"|因此|于是|故))"
)
_REASON_AT_HEAD = re.compile(r"(?:since|because|as|given that|now that) [^,]+,|(?:因为|由于|考虑到|鉴于)[^，,]+[，,]")
_REASON_BEHIND = re.compile(r",? \b(?:because|since|as) (?!of\b)[^,]+$|[，,]?(?:因为|毕竟)[^，,]+$")
#: Circumstances of the telling, not of what is told.
_OCCASION = re.compile(
    r"(?:if|in case|should) you(?:'re| are)? (?:ever )?(?:wonder|ask|look|need|want|see)\w*[^,:]*[,:]"
    r"|for the (?:last|\w+th|second|third) time[,:]? |before (?:you|i|we) [^,:]+[,:]|while (?:others"
    r"|most|some|many)[^,]*,"
    r"|(?:after|following) [^,]+?,? (?=(?:we|the team|i|our)\b)|要[^，,]{1,8}的话[，,]"
)


def _from_the_choice_on(text: str) -> str:
    """A text without the clauses before the first that names a tool; a condition at its head stays."""
    text = _behind(text, _BREAK)
    return text if _LIMITS.match(text) else _behind(text, _JOINT)


def _behind(text: str, joints: re.Pattern[str]) -> str:
    """A text behind the last joint before which no tool is named."""
    for joint in reversed([*joints.finditer(text)]):
        before = _read(text[: joint.start()])
        if not any(FAMILY_OF.get(word) in ONE_OF for word in before.words):
            return text[joint.end() :]
    return text


_JOINT = re.compile(r"(?:[,;.!。，；！]|\s[-–—])\s*(?:(?:and|but|also|so|btw|oh)\b\s*|另外|对了)?(?=\S)", re.IGNORECASE)
#: Where something else begins: no circumstances before it limit what is said then.
_BREAK = re.compile(
    r"(?:[;.!。；！](?=\s|[^\x00-\x7f])|\s[-–—]\s|,\s*(?:and|but|also|btw|oh)\b|[，,]\s*(?:另外|对了))\s*(?=\S)",
    re.IGNORECASE,
)
#: A clause that says where or when something holds.
_LIMITS = re.compile(
    r"\s*(?:(?:when|whenever|while|if|unless|until|in|on|at|for|inside|under|within|before|after|during|except"
    r"|only|with"
    r"|as long as)\b|在|当|如果|要是|对于|针对|只有|除了|[^，,。]{1,8}(?:时|时候|之前|之后|前|后|里|中|上|的话)[，,])",
    re.IGNORECASE,
)


def _chosen(said: str, reading: _Reading, switch: Switch | None) -> _Choice | None:
    """What a statement chooses, when that is all it says: its other words are few, and none limits where it holds.

    Who announces a switch may say more, and tell of the occasion.
    """
    tools = frozenset(word for word in reading.words if FAMILY_OF.get(word) in ONE_OF)
    families = {FAMILY_OF[word] for word in tools}
    meant = frozenset(word for family in families for word in _MEANT_FOR.get(family, ()))
    # "instead of npm we have bun"
    refused = frozenset() if reading.plain.startswith("instead-of") else reading.refused
    if len(families) != 1 or _SOMEWHERE.search(reading.plain):
        return None
    if switch is not None:
        return _announced(said, reading, switch, tools)
    if tools <= refused or (len(tools) == 1 and _TELLS_OF_A_THING_OF_IT.search(_marked(said, tools))):
        return None
    if not _CHOOSES.search(_marked(said, tools)):
        return None
    # "whenever you'd take npm, take pnpm"
    replaces = _WHENEVER.search(reading.plain) and tools & reading.place and tools & reading.asked
    if not replaces and any(_stem(word) not in _ANYWHERE for word in reading.place - tools - meant):
        return None
    if _says_much_more(reading, tools | reading.place | meant, _MOST_OTHER_WORDS):
        return None
    gives_way = _matching(_LEAVES, reading.plain, tools)
    left = (refused & tools) or (replaces and tools & reading.place) or gives_way
    chosen = (tools - left) or tools
    if len(chosen) > 1:
        chosen = _matching(_ENTERS, reading.plain, chosen) or chosen
    return _Choice(family=families.pop(), chosen=chosen, left=tools - chosen, is_announced=False)


def _announced(said: str, reading: _Reading, switch: Switch, tools: frozenset[str]) -> _Choice | None:
    if len(tools) == 1 and _TELLS_OF_A_THING_OF_IT.search(_marked(said, tools)):
        return None
    if _holds_in_a_part(reading) or _says_much_more(reading, tools | reading.place, _MOST_WORDS_OF_A_SWITCH):
        return None
    known = _ANYWHERE | _SAID_OF_CHOICES | {word for family in _families(tools) for word in _MEANT_FOR.get(family, ())}
    if any(_stem(found["part"]) not in known for found in _FOR_A_PART.finditer(reading.plain)):
        return None
    left = switch.left & tools
    chosen = switch.entered & tools or tools - left
    return _Choice(family=switch.family, chosen=chosen, left=left or tools - chosen, is_announced=True)


def _says_much_more(reading: _Reading, known: frozenset[str], most: int) -> bool:
    others = [
        word
        for word in reading.words - known
        if word not in _SAID_OF_CHOICES and not _CJK.match(word) and FAMILY_OF.get(word) != "weekday"
    ]
    return len(others) > most or any(map(_is_exact, others))


def _holds_in_a_part(reading: _Reading) -> bool:
    """Whether a part of a project is named, or a file as the circumstances."""
    return bool(reading.words & _BESIDE_THE_CODE) or any(
        word in _PARTS or "/" in word or "." in word for word in reading.place
    )


def _families(tools: frozenset[str]) -> set[str]:
    return {FAMILY_OF[word] for word in tools}


#: "kafka gave way to sqs for the mails": one part of the work alone.
_FOR_A_PART = re.compile(r"\b(?:for|on) (?:the|our|all|those|these) (?P<part>[a-z]+s)\b")
_BESIDE_THE_CODE = frozenset(
    map(_stem, ["legacy", "demo", "demos", "prototype", "docs", "documentation", "examples", "samples"])
)
_PARTS_WORDS = """
folder directory module service services app apps frontend
backend cli client server branch notebook migration migrations benchmark benchmarks subproject submodule plugin
"""
_PARTS = frozenset(map(_stem, _PARTS_WORDS.split()))


def _turns_away_from(choice: _Choice | None, text: str) -> bool:
    """Whether a choice gives up what another statement is for, however much that says around it.

    It must be about tools of that one use alone, hold anywhere, and not name what comes instead. A change that does
    not name the old gives up whatever was in its place, where that is all the other statement is about.
    """
    if choice is None or len(choice.chosen) > 1 or not (choice.left or choice.is_announced):
        return False
    if all(FAMILY_OF.get(word) != choice.family for word in _read(text).words):
        return False  # quickly seen, and so in most pairs
    if not code_in(text) <= KNOWN_TOOLS:
        return False
    said = _named_by_use(choice.family).sub(" ", _without_circumstances(text))
    said = _without_others(said, choice)
    told = _read(said)
    tools = frozenset(word for word in told.words if FAMILY_OF.get(word) in ONE_OF)
    # Of two that are both read as refused one is meant; a person who uses neither says so otherwise.
    refused = told.refused if tools - told.refused or len(tools) == 1 else frozenset()
    if {FAMILY_OF[word] for word in tools} != {choice.family} or (tools - refused) & choice.chosen:
        return False
    if not (tools & (choice.left or tools)) - refused or _SOMEWHERE.search(told.plain):
        return False
    if not choice.left and len(tools) == 1 and _TELLS_OF_A_THING_OF_IT.search(_marked(said, tools)):
        return False
    # "whenever it's npm or pnpm, take pnpm"
    chooses = bool(told.place & tools and told.asked & tools) or len(told.place & tools) > 1
    meant = frozenset(_MEANT_FOR.get(choice.family, ()))
    if not chooses and any(_stem(word) not in _ANYWHERE for word in told.place - tools - meant):
        return False  # it holds somewhere, or at times
    others = told.words - tools
    return len(others) <= _MOST_WORDS_AROUND and not any(map(_is_exact, others))


@lru_cache(maxsize=1 << 12)
def _without_circumstances(text: str) -> str:
    """A text without reasons, exceptions, occasions and places that limit nothing."""
    return _anywhere(_BUT_FOR.sub("", _without_reasons(text)))


def _without_others(said: str, choice: _Choice) -> str:
    """A text without the clauses that name only tools beside those that are given up: one tried before, one refused."""
    kept = []
    for clause in _CLAUSE.split(said):
        reading = _read(clause)
        tools = {word for word in reading.words if FAMILY_OF.get(word) == choice.family}
        meant = tools & (choice.left | choice.chosen) if choice.left else tools - reading.refused
        if tools and tools <= choice.chosen and _TURNED_DOWN.search(clause):
            continue  # "tox, nox kept breaking": that it is used is not said here
        if not tools or meant or len(tools) > 1:
            kept.append(clause)
    return ", ".join(kept)


_CLAUSE = re.compile(r"[,;.!?](?=\s)|[，；。！？]|\s[-–—]\s")
_TURNED_DOWN = re.compile(
    r"\b(?:br(?:eak|oke)\w*|crash\w*|fail\w*|slow|trouble|not|never|no|nobody|out|deny|denied|blocked|legacy"
    r"|reject\w*|turned down"
    r"|banned|away|avoid|without|again|issues?|problems?|mess|buggy|wrong|dropped|gone)\b|n't\b|[别不坑慢没]"
    r"|出局|排除|问题"
)


def _marked(said: str, tools: frozenset[str]) -> str:
    return re.sub("|".join(map(re.escape, sorted(tools))), "§", said)


def _anywhere(said: str) -> str:
    """A text without places that are the whole project, or all there are: "in prod and staging", 线上线下都."""
    for place in (_OCCASIONS, _IN_THIS_PROJECT, _ALL_PLACES):
        said = place.sub(" ", said)
    return said


_ENVIRONMENT = (
    r"(?:production|prod|staging|dev(?:elopment)?|ci|tests?|locally|local|frontend|backend"
    r"|linux|macos|windows)"
)
_ZH_ENVIRONMENT = "(?:生产|预发|线上|线下|测试|开发|本地|前端|后端)(?:环境)?"
_ALL_PLACES = re.compile(
    rf"\b(?:both )?(?:in |on )?{_ENVIRONMENT}(?:, (?:in |on )?{_ENVIRONMENT})* (?:and|as well as) (?:in "
    rf"|on )?{_ENVIRONMENT}\b"
    rf"|(?:{_ZH_ENVIRONMENT}[和、与跟及]?)*{_ZH_ENVIRONMENT}[和、与跟及]?{_ZH_ENVIRONMENT}(?=[^，,]{{0,3}}(?:都"
    rf"|全|统一|一律))"
    r"|前后端(?=[^，,]{0,3}(?:都|全|统一|一律))"
)
_IN_THIS_PROJECT = re.compile(
    r"\b(?:for|in|on) (?:this|thsi|tihs|our|the|teh|my) (?:\w+ )?(?:repo(?:sitory)?|project|codebase|company"
    r"|team|group)\b"
    r"|\b(?:for|in|on) (?:this|our) (?:library|site|product|game|firmware|app|application|program|package|thing)\b"
    r"|\bin (?:here|all (?:of it|(?:our )?environments))\b|\bacross (?:the board|(?:all|the) \w+)\b|\b[a-z]+-wide\b"
)
#: When, in what company, how long and to what end something was settled: that limits nothing.
_OCCASIONS = re.compile(
    r"\b(?:this|last|yesterday|earlier this) (?:morning|afternoon|evening|week|month|sprint|quarter|spring"
    r"|summer|autumn"
    r"|winter|year)\b|\bback in \w+\b|\bin (?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|spring|summer|autumn|winter)\b|\bover the weekend\b|\b(?:last )?night\b"
    r"|\bfor (?:an?|one|two|three|half an?|several|a few|many|some) (?:\w+ )?(?:days?|weeks?|months?|years?|hours?)\b"
    r"|\b(?:in|at|after|during) (?:the|our|a|today's|yesterday's|last) (?:\w+ )?(?:chat|meeting"
    r"|retro(?:spective)?|call"
    r"|stand-?up|review|vote|discussion|thread|rfc|channel|planning|audit|benchmarks?|workshop|poll|survey)\b"
    r"|\b(?:did i not|didn't i|have i not|haven't i) (?:say|tell you|said|told you)\b(?: to use)?"
    r"|(?:比较|讨论|评审|商量|评估|压测|投票)(?:之?后|以后)"
    r"|\bfor (?:\w+ )?(?:\w+(?:ility|ness|ance|ency|ity)|(?:\w+ )?reasons|simplicity's sake|speed)\b"
)
_BUT_FOR = re.compile(
    r"除了[^，,]{1,12}[，,]|\b(?:except|apart from|but for|other than|(?:everything|all) but) [^,]*(?:, which [^,]*)?"
)
#: A longer statement says more than which tool is used: that must not be lost with it.
_MOST_WORDS_AROUND = 10
_MOST_WORDS_OF_A_SWITCH = 14
_WHENEVER = re.compile(r"\b(?:when|whenever|where|wherever|if)\b")
_SOMEWHERE = re.compile(
    r"测试(?!框架|工具|库)|线上|生产|前端|后端|脚本|本地|开发环境|服务里|模块"
    r"|\b(?:tests?|production|prod|staging|local(?:ly)?|scripts?|windows|linux|macos|mac)\b(?! runner)"
)

#: Whoever tells of a choice may say a word or two more.
_MOST_OTHER_WORDS = 3

_ANYWHERE_WORDS = """
possible reach first something similar day any me add write touch need do goes through
project projects repo repository codebase code package packages dependencies dependency everything anything
general now good future here team place favour new work us me everyone installing builds scripts
monorepo whole entire deps take takes choice whatever sort kind forget later
information standardized standardised settled
allowed one only
"""
_ANYWHERE = frozenset(map(_stem, _ANYWHERE_WORDS.split())) | _WHAT_TOOLS_DO
_SAID_OF_CHOICES_WORDS = """
everywhere throughout built around ended charge goodbye farewell bye rid thrown kicked ripped scrap scratch
took takes over step stepped aside days nothing else successor
i'd i'm much sooner than rather see heads heard beats any think reach type
switched moved migrated replaced dropped changed swapped gone deprecated banned history dead retired happier
better tool tools standard convention default preference favourite choice preferred back actually correction sorry
wrong mind week month year today yesterday recently longer more time people everyone nobody company house stack
runs works working built what about said say says told out we're it's that's isn't there's which when something
like change plan again still already land shop pinned settled final decision agreed picked take took taken go
going goes went stays remain fan expects noted cut over night ended swapping way
"""
_SAID_OF_CHOICES = frozenset(map(_stem, _SAID_OF_CHOICES_WORDS.split()))


#: What a family of tools is for, in the words that a choice names it by: "for the database", "as test runner".
_MEANT_FOR_WORDS = {
    "javascript packages": "package manager packages dependency dependencies",
    "python packages": "package manager packages dependency dependencies python environment environments",
    "python tests": "test tests runner testing",
    "javascript tests": "test tests runner testing",
    "python style": "formatter formatting style",
    "python lint": "linter linting",
    "javascript style": "formatter formatting style linter",
    "database": "database databases db storage",
    "containers": "container containers",
    "python http": "http client requests",
    "type check": "type types checker checking",
    "bundler": "bundler bundling builds",
    "hosting": "hosting cloud provider",
    "continuous integration": "ci continuous integration",
    "frontend": "frontend ui framework",
    "store in the browser": "state store management",
    "broker": "message queue broker messaging queues events",
    "python web": "web framework",
    "python logging": "logging logger logs",
    "javascript logging": "logging logger logs",
    "python validation": "validation validating schema",
    "javascript validation": "validation validating schema",
    "python templates": "template templates templating engine",
    "task runner": "task runner tasks automation",
    "dates in javascript": "date dates",
    "javascript orm": "orm",
    "tests in the browser": "browser e2e test tests",
    "monorepo": "monorepo workspace",
    "styles": "css styles styling",
}
_MEANT_FOR = {family: frozenset(map(_stem, words.split())) for family, words in _MEANT_FOR_WORDS.items()}


@cache
def _named_by_use(family: str) -> re.Pattern[str]:
    """What a family of tools is for, where a statement names it by that: it limits nothing."""
    words = "|".join(_MEANT_FOR_WORDS.get(family, "").split()) or "(?!)"
    return re.compile(rf"\b(?:for|as)(?: (?:the|our|a|its))?(?: (?:{words}))+\b(?! in\b)")


def _matching(pattern: str, plain: str, tools: frozenset[str]) -> frozenset[str]:
    """Return the tools that stand where a pattern has its own."""
    return frozenset(tool for tool in tools if re.search(pattern.format(tool=re.escape(tool)), plain))


#: What a statement turns to, and what it turns away from, by the words right beside it.
_ENTERS = (
    r"(?:换成|换上|改成|改用|换到|转到|[切迁]到|迁移到|\b(?:switch|migrate|move) ?到"
    r"|接替它?的?是|取而代之的是|现在(?:都)?用?"
    r"|\b(?:(?:moved|switched|migrated|changed|converted|over|back|on|went|going|from \S+) to|with|it's|that's"
    r"|swap(?:s|ped|ping)? \S+ for"
    r"|take|choose|favour of|favor of|replaced by|superseded by|we're on|here comes)(?: now)?)\s*{tool}\b"
    r"|\b{tool}\s*(?:(?:is|are) in\b|(?:took|takes|taken) (?:charge|its place|the place)"
    r"|replaces\b|replaced (?!by\b)|接替|接手|上位|顶上)"
)
_LEAVES = (
    r"(?:\b(?:from|than|over|replaced|replace|replaces|dropped|drop|ditch|ditched|forget|left|leave"
    r"|leaving|retired|removed|away from"
    r"|no more|no longer|off|(?:rid|out|sick|tired|think|instead) of|(?:goodbye|farewell|bye) to|about|instead-of"
    r"|using|used|scrap|scratch|scrapped|done with|through with|gave up on|given up on|giving up|moved on from"
    r"|away with|swap(?:s|ped|ping)?|remark about|we said|i said|i told you|reverted from)"
    r"|从|把|(?:代替|替代|取代|替换|弃用|淘汰|放弃|废弃|停用|忘掉|忘了|刚才说|之前说)(?:了|掉|的)?)\s*{tool}\b"
    r"|\b{tool}\s*(?:(?:is|was|has been|turned|got|are)\b[\w ]{{0,20}}\b(?:gone|out|history|deprecated"
    r"|dropped|dead|retired|banned"
    r"|removed|badly|over|ended|replaced|outdated|obsolete)|dont|不用了|作废|弃用|淘汰|已经不用|去掉|不能用|早就"
    r"|(?:is|are|was|were) no longer|(?:any ?more|support|setup|days|goes away|did not work|didnt work|→|=>|->)"
    r"|(?:已经?)?(?:下线|废弃|停用|退役|被换|不再)|不 ?support|(?:已经 ?)?deprecated|(?:太|不)\S{{1,3}}，"
    r"|(?:全)?换成|换掉|(?:已经?|都|全部?|这周|昨晚|正式)*(?:[切迁]到|迁移到|切换到|退役)"
    r"|(?:的?代码)? ?(?:都)? ?会 ?(?:remove|删|移除|去掉))"
)


#: A word of choosing, of using or of having, without which a text tells something else of a tool; or it says no more.
_CHOOSES = re.compile(
    r"\b(?:us(?:e[sd]?|ing)|tak(?:e[sn]?|ing)|took|picks?|picked|choos\w*|chose\w*|choice|go(?:es|ing)? (?:with"
    r"|for|through)"
    r"|went (?:with|for)|runs?|running|standard\w*|norm|default|prefer\w*|stick\w*|stay\w*|remains?|keep|kept"
    r"|settl\w*|vot\w*|won(?= (?:for|the vote))|it"
    r"|agree\w*|approv\w*|decid\w*|decision|likes?|love|wants?|needs?|only|always|must|should|rather|instead"
    r"|everything|house"
    r"|built|based|bound|set up|works?|please|pls|never|stop|no|not|dont|don't|fan|beats|reach|install\w*"
    r"|land\w*|select\w*|adopt\w*"
    r"|rel(?:y|ies)|assum\w*|expects?|here|stack|shop|all|has to|have|we've|got|signed off|forget|drop|leave"
    r"|place|we're"
    r"|yes|favou?r|told|said|say|sooner|team|people|lead|plan|by|type|for the|as|support\w*|allowed|licen[cs]e)\b"
    r"|(?:on|with|over|it's|that's|is|are|be) (?:now )?§|§ (?:is|are|it is|for|in|over|everywhere|of course"
    r"|and nothing|throughout)\b"
    r"|[>=:→]|喜欢|偏好|\b(?:project|codebase|repo)\b|[用选定上走换改是跑装搞做拿接批]|统一|标配|默认|为准|合适"
    r"|采纳|就它|拍板|只有|认准|全部|别|不"
    r"|^\W*(?:[a-z]+\W+)?§(?:\W+[a-z]+)?\W*$"
)
#: "the mysql replica", "kafka topics": not the tool itself is told of.
_TELLS_OF_A_THING_OF_IT = re.compile(
    r"§ (?:dev |test |import )?(?:replica|topic|snapshot|script|password|config|configuration|file|migration"
    r"|host|image|cluster|server|plugin"
    r"|version|table|schema|cache|job|container|install|command|log|error|hook|build|workspace|lockfile|user"
    r"|connection|pool"
    r"|dump|backup|fixture|model|import|export|component|page|rule|setting|endpoint|consumer|producer|event|message"
    r"|credential|port|url|licen[cs]e|account|instance|node|driver|wrapper|cli|api|doc|client|warning|logo)s?\b"
    r"|§ ?(?:的|那套|这个)?旧?(?:写法|接口|容器|镜像|日志|配置|版本|文档|命令|插件|警告|报错|密码|端口|脚本|连接)"
)
