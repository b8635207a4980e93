"""What a directive settles: one slot, such as the language of answers, and the value that it asks for or refuses.

Two directives about one slot may share no word: "Answer in German", "Reply in English". So a slot is known by the forms
in which people settle it, in English and Chinese. A statement is read only where nothing else stands in it: a word more
may be a scope or a condition ("in tests", "for Python"), and then nothing is said about the slot as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from memory_pipeline.folding import folded


class Settling(Struct, frozen=True, kw_only=True):
    """What one directive says of a slot."""

    slot: str
    value: str
    detail: str = ""  # what a value may leave open: how many spaces
    refuses: bool = False


def exclude_each_other(first: str, second: str) -> bool:
    """Whether two statements settle one slot in ways that can't both hold. Symmetric; when in doubt, they don't."""
    one, other = settled_by(first), settled_by(second)
    if one is None or other is None or one.slot != other.slot or (one.refuses and other.refuses):
        return False
    is_same = one.value == other.value
    if one.refuses or other.refuses:
        return is_same and one.detail == other.detail
    return not is_same or (bool(one.detail and other.detail) and one.detail != other.detail)


def settle_one_slot(first: str, second: str) -> bool:
    """Whether two statements settle the same slot, in the same way or another."""
    one, other = settled_by(first), settled_by(second)
    return one is not None and other is not None and one.slot == other.slot


@lru_cache(maxsize=1 << 14)
def settled_by(text: str) -> Settling | None:
    """Return what a statement settles, None where it is about no slot, or about more than a slot."""
    plain, refuses = _bare(text)
    for form, read in _FORMS:
        found = form.fullmatch(plain)
        if found is not None:
            settling = read(found)
            return Settling(slot=settling[0], value=settling[1], detail=settling[2], refuses=refuses)
    return None


# --- what stands around a directive ----------------------------------------------------------------------------------

_BEFORE = re.compile(
    r"(?:please|always|from now on|going forward|henceforth|remember(?: to| that)?|make sure(?: to| that you)?"
    r"|be sure to|(?:you|we) (?:should|must|need to|have to)|i(?:'d| would)? (?:like|want|prefer)(?: you)? to"
    r"|i want you to|in this (?:project|repo|repository)|here"
    r"|(?:no more|forget|scratch|correction|i told you|i said)\b[\w ]{0,24}[,:]"
    r"|[\w ]{2,20}, (?=make (?:that|it|them) )"
    r"|请|以后|今后|从现在(?:起|开始)|始终|总是|一律|务必|必须|记住|记得|我们|都|要)[\s,，:：]*"
)
_BEHIND = re.compile(
    r"[\s,，]*(?:please|always|from now on|going forward|by default|everywhere|here|in this (?:project|repo)|吧)$"
)
#: Whoever says how something is now says how it is.
_BY_NOW = re.compile(r"(?<![\w-])(?<!from )(?:right )?now(?![\w-])|(?<!从)(?:现在|如今|目前)")
_REFUSING = re.compile(
    r"(?:never|do not|don't|please don't|avoid(?: using)?|stop(?: using)?|不要再?|别再?|禁止|不许)\s*"
)


def _bare(text: str) -> tuple[str, bool]:
    plain = folded(text).replace("`", "")
    plain = " ".join(plain.split()).strip(" .!。;；")
    plain = " ".join(_BY_NOW.sub(" ", plain).split())
    before = None
    while before != plain:
        before = plain
        plain = _BEHIND.sub("", _BEFORE.sub("", plain, count=1) if _BEFORE.match(plain) else plain)
    refusing = _REFUSING.match(plain)
    if refusing:
        return plain[refusing.end() :], True
    return _BEHIND.sub("", _GIVEN_UP.sub("", plain)), False


# --- the slots -------------------------------------------------------------------------------------------------------

_LANGUAGES: Mapping[str, str] = {
    "english": "english|英文|英语",
    "german": "german|deutsch|德语|德文",
    "chinese": "(?:simplified |traditional )?chinese|mandarin|(?:简体|繁体)?中文|汉语|普通话",
    "french": "french|法语|法文",
    "spanish": "spanish|西班牙语|西班牙文",
    "japanese": "japanese|日语|日文",
    "italian": "italian|意大利语",
    "korean": "korean|韩语|韩文",
    "russian": "russian|俄语|俄文",
    "portuguese": "portuguese|葡萄牙语",
}
_LANGUAGE = "(?P<value>" + "|".join(_LANGUAGES.values()) + ")"
_TEXTS: Mapping[str, str] = {
    "commit messages": "commit messages?|commits|提交(?:信息|说明|消息)",
    "comments": "(?:code )?comments?|(?:代码)?注释",
    "documentation": "docs|documentation|文档",
}
_TEXT = "(?P<text>" + "|".join(_TEXTS.values()) + ")"
_ANSWERS = "(?:answers?|replies|responses?)"
_USE = (
    "(?:use|prefer|stick (?:to|with)|go with|(?:switch|change|move|go back|get back)(?: back)? to"
    "|make (?:that|it|them))"
)
_ZH_USE = "(?:使用|采用|统一用|优先用|用|以)"
_TOOLS: Mapping[str, str] = {
    "package manager of javascript": "npm pnpm yarn bun",
    "package manager of python": "pip uv poetry pipenv conda pdm",
    "test runner of python": "pytest unittest nose",
    "test runner of javascript": "jest vitest mocha",
}
_TOOL_SLOT = {tool: slot for slot, tools in _TOOLS.items() for tool in tools.split()}
_PACKAGES = "|".join(tool for tool, slot in _TOOL_SLOT.items() if slot.startswith("package"))
_RUNNERS = "|".join(tool for tool, slot in _TOOL_SLOT.items() if slot.startswith("test"))
_PACKAGE_WORDS = "(?:the )?(?:packages?|dependencies|deps)"

#: What is named as given up for the value: "spaces, not tabs". Only values: "not in tests", "not for the docs" and
#: "not only" say where a directive holds, or how far.
_VALUE = (
    rf"(?:(?:(?:\d|two|four|eight) ?)?(?:hard )?(?:tabs?|spaces?)|制表符|空格|(?:single|double)(?: quotes)?|[单双]引号"
    rf"|{'|'.join(_LANGUAGES.values())}|{_PACKAGES}|{_RUNNERS}|imperative|past tense|conventional commits?|gitmoji"
    rf"|\d{{2,5}})"
)
_GIVEN_UP = re.compile(
    r"[\s,，]*(?:\b(?:and )?(?:not|never)(?: use| with| in)?\b|\b(?:instead of|rather than|over)\b|而不是"
    rf"|[,，]?\s*(?:不要|别|不)(?:用|使用)?)\s*{_VALUE}(?:\s*(?:,|、|\bor\b|\bnor\b|\band\b|或|和)\s*{_VALUE})*$"
)

_Read = tuple[str, str, str]


def _language(slot: str) -> Callable[[re.Match[str]], _Read]:
    return lambda found: (slot, _named(found["value"], _LANGUAGES), "")


def _language_of_texts(found: re.Match[str]) -> _Read:
    return f"language of {_named(found['text'], _TEXTS)}", _named(found["value"], _LANGUAGES), ""


def _indentation(found: re.Match[str]) -> _Read:
    is_tab = found["value"].startswith(("tab", "hard tab", "制表"))
    return "indentation", "tabs" if is_tab else "spaces", _number(found["count"])


def _quotes(found: re.Match[str]) -> _Read:
    return "quotes", "single" if found["value"] in {"single", "单"} else "double", ""


def _tool(found: re.Match[str]) -> _Read:
    return _TOOL_SLOT[found["value"]], found["value"], ""


def _value(slot: str) -> Callable[[re.Match[str]], _Read]:
    return lambda found: (slot, found["value"], "")


def _port(found: re.Match[str]) -> _Read:
    subject = re.sub(r"^(?:the|our|my) ", "", found["subject"].strip())
    return f"port of {subject.replace('development', 'dev')}", found["value"], ""


def _version(found: re.Match[str]) -> _Read:
    return f"version of {found['subject']}", found["value"].removeprefix("v"), ""


def _mood(found: re.Match[str]) -> _Read:
    return "mood of commit messages", "past" if found["value"].startswith(("past", "过去")) else "imperative", ""


def _style(found: re.Match[str]) -> _Read:
    return "style of commit messages", "gitmoji" if "moji" in found["value"] else "conventional", ""


def _named(said: str, names: Mapping[str, str]) -> str:
    return next(name for name, form in names.items() if re.fullmatch(form, said))


def _number(said: str | None) -> str:
    return {"two": "2", "four": "4", "eight": "8", "两": "2", "二": "2", "四": "4", "八": "8"}.get(
        said or "", said or ""
    )


_NUMBERS = {"two": "2", "four": "4", "eight": "8", "两": "2", "二": "2", "四": "4", "八": "8"}
_CHARS = "(?P<value>\\d{2,3})(?: characters?| chars?| columns?)?"
_ZH_ALL = "(?:请|都|要|一律)*"
_COUNT = "(?:(?P<count>\\d|two|four|eight|[两二四八]) ?(?:个)?-?)?"
_INDENT = _COUNT + "(?P<value>hard tabs?|tabs?|spaces?|制表符|空格)"
#: Not a word that stands for something said elsewhere.
_STANDS_FOR = "(?:it|this|that|these|those|they|we|i|you|everything|which|there)\\b"
_SUBJECT = f"(?P<subject>(?!{_STANDS_FOR})(?:the |our |my )?[a-z][a-z-]*(?: [a-z][a-z-]*){{0,2}})"
#: Without the word, a smaller number may count or tell a time: "runs on 10 machines", "starts at 0300".
_ON_PORT = "(?:port (?=\\d{2})|(?=[1-9]\\d{3}))(?P<value>\\d{2,5})"


def _forms() -> Iterator[tuple[str, Callable[[re.Match[str]], _Read]]]:
    yield from ((form, _language("language of answers")) for form in _answer_forms())
    yield f"(?:write|keep)(?: all| the| all the)? {_TEXT} in {_LANGUAGE}", _language_of_texts
    yield f"{_USE} {_LANGUAGE} (?:for|in)(?: all| the| all the)? {_TEXT}", _language_of_texts
    yield f"(?:all |the )?{_TEXT} (?:should be|must be|are|go) in {_LANGUAGE}", _language_of_texts
    yield f"{_TEXT}{_ZH_ALL}(?:{_ZH_USE}|写成){_LANGUAGE}(?:写|书写)?", _language_of_texts
    yield f"{_ZH_USE}{_LANGUAGE}(?:来)?写{_TEXT}", _language_of_texts
    yield f"(?:{_USE}|indent (?:code )?(?:with|using|by)) {_INDENT}(?: (?:for|to) indent(?:ation|ing)?)?", _indentation
    yield f"{_INDENT} for indentation", _indentation
    yield f"(?:缩进{_ZH_ALL})?{_ZH_USE}{_INDENT}(?:来)?(?:缩进)?", _indentation
    yield f"(?:{_USE}|quote strings with) {_QUOTES}(?: (?:for|in|around) (?:all )?strings?)?", _quotes
    yield f"(?:字符串{_ZH_ALL})?{_ZH_USE}(?P<value>单|双)引号(?:包裹字符串)?", _quotes
    yield from ((form, _tool) for form in _tool_forms())
    yield from ((form, _value("line length")) for form in _length_forms())
    yield f"(?:run|start|serve|expose) {_SUBJECT} (?:on|at) {_ON_PORT}", _port
    yield f"use port (?P<value>\\d{{2,5}}) for {_SUBJECT}", _port
    yield f"{_SUBJECT} (?:runs|listens|starts|is served|is) (?:on|at) {_ON_PORT}", _port
    yield from ((form, _version) for form in _version_forms())
    yield f"(?:write|use|keep)(?: the| all)? commit messages in (?:the )?{_MOOD}", _mood
    yield f"{_USE} (?:the )?{_MOOD} (?:for|in) commit messages", _mood
    yield f"(?:{_USE}|follow|write) (?:the )?{_STYLE}(?: for commit messages)?", _style


def _version_forms() -> Iterator[str]:
    versioned = f"{_VERSIONED} (?:version )?{_VERSION}"
    yield (
        "(?:we )?(?:use|run|target|support|are on|moved to|upgraded to|switched to|stay on|build (?:on|with|for))"
        f" {versioned}"
    )
    yield f"(?:we're|this project is|the project (?:is|runs)) on {versioned}"
    yield f"{versioned} is what we (?:use|target|run|support|build (?:on|with|for))"
    yield f"(?:we )?(?:upgraded|moved|switched|migrated) from (?:[a-z]+ )?v?\\d[\\d.]* to {versioned}"
    yield f"(?:{_ZH_USE}的?是?|跑在|升级?到了?|换成|改成) ?{_VERSIONED} ?{_VERSION}(?: ?版本?)?(?: ?了)?"
    yield (
        f"{_VERSIONED} ?(?:的?版本)?(?:从 ?v?[0-9.]+ ?)?(?:是|用的?是?|升级?到了?|换成|改成) ?{_VERSION}"
        "(?: ?版本?)?(?: ?了)?"
    )


#: What has versions, and is not merely counted.
_VERSIONED = "(?P<subject>(?!(?:port|option|rule|step|plan|phase|room|job|task|item|line|page)\\b)[a-z][a-z.+#-]*)"
_VERSION = "(?P<value>v?\\d+(?:\\.\\d+)*)"
_QUOTES = "(?P<value>single|double) quotes"
_MOOD = "(?P<value>imperative|past tense)(?: mood| form)?"
_STYLE = "(?P<value>conventional commits?|gitmoji)(?: style| convention| format)?"


def _answer_forms() -> Iterator[str]:
    yield (
        "(?:(?:answer|reply|respond|speak|talk|communicate)(?: (?:to |with )?me)?|write (?:to )?me)(?: only)? "
        f"in {_LANGUAGE}(?: only)?"
    )
    yield f"(?:write|give|keep)(?: me)?(?: all| your| all your)? {_ANSWERS} in {_LANGUAGE}"
    yield f"(?:all |your |all your )?{_ANSWERS} (?:should be|must be|are|go) in {_LANGUAGE}"
    yield f"{_ZH_USE}{_LANGUAGE}(?:来)?(?:回答|回复|答复|交流|沟通|说话|跟我说)(?:我)?(?:的)?(?:问题)?"
    yield f"(?:回答|回复|答复|交流)(?:我)?(?:的)?(?:问题)?(?:时|的时候)?[,， ]?{_ZH_ALL}{_ZH_USE}{_LANGUAGE}"
    yield f"(?:跟我|和我|对我)?说{_LANGUAGE}"
    yield f"(?:switch|change|go back)(?: back)? to {_LANGUAGE}(?: for {_ANSWERS})?"


def _tool_forms() -> Iterator[str]:
    manager, runner = f"(?P<value>{_PACKAGES})", f"(?P<value>{_RUNNERS})"
    what_for = f"(?:for|to (?:manage|install)) {_PACKAGE_WORDS}|as (?:the |our )?package manager"
    yield f"{_USE} {manager}(?: (?:{what_for}))?"
    yield f"(?:install|manage|add) {_PACKAGE_WORDS} (?:with|using|through|via) {manager}"
    yield f"(?:the |our )?package manager is {manager}"
    yield f"(?:(?:包管理器?|依赖){_ZH_ALL})?{_ZH_USE} ?{manager} ?(?:(?:来)?(?:管理|安装|装)(?:依赖|包))?"
    yield f"{_USE} {runner}(?: (?:for|to run) (?:the |all )?(?:unit )?tests| as (?:the |our )?test runner)?"
    yield f"(?:run|write) (?:the |all )?(?:unit )?tests (?:with|using) {runner}"
    yield f"(?:测试{_ZH_ALL})?{_ZH_USE} ?{runner} ?(?:(?:来)?跑测试)?"


def _length_forms() -> Iterator[str]:
    yield f"(?:keep|limit|wrap|cap|break)(?: all| the)? lines (?:to|at|under|below|within) {_CHARS}"
    yield f"(?:the )?(?:max(?:imum)? )?line (?:length|width|limit)(?: is| of|:)? {_CHARS}"
    yield f"lines (?:are |have |should be |must be )?(?:at most|up to|no longer than) {_CHARS}(?: long)?"
    yield (
        "(?:每行|行宽|行长|一行)(?:最多|不超过|不要超过|限制)?(?:为|是|在)? ?(?P<value>\\d{2,3}) ?(?:个)?"
        "(?:字符|列|字)?(?:以内)?"
    )


_FORMS = tuple((re.compile(form), read) for form, read in _forms())
