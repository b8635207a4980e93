"""A direction as it is told: its words without what leads in and out, its kind, and under what it holds."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from memory_pipeline.directions.english import RECURS, VERBS
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.directions.words import Sentence
from memory_pipeline.records import EntryKind


class Direction(Struct, frozen=True, kw_only=True):
    """One direction, or one lasting fact, in the person's own wording."""

    kind: EntryKind  # preference, procedure, decision, or knowledge for a fact that the person tells
    text: str  # the person's clause, verbatim but for what leads in and out of it ("please", "remember that")
    condition: str  # under which circumstances it holds, in the person's words; "" when it always does
    everywhere: bool  # the person says that it holds in all their projects
    correction: bool  # it corrects what was done or said before


SETS_SCENE = Lazy(
    r"(?:(?:and|also|but|so|please|ok|no) )*(?:no matter|regardless|when|whenever|if|before|after|for|in"
    r"|on|while"
    r"|unless|during"
    r"|at|inside|under|with|across|every ?time|each time|from now on|from here on"
    r"|from today|going forward|moving forward|by default|as a rule|once|until|globally|everywhere"
    r"|in general)\b"
    r"|(?:当|在|每次|每个|如果|以后|今后|从现在|从今|写|提交|对于|凡是|只要|除非|所有|任何|全局)"
    r"|.*(?:时候?|之前|前|之后|的话|里)$"
)

_TAIL = Lazy(
    r"(?:[\s,，]*(?:please|thanks|thank you|thx|pls|谢谢|好吗|好吧|吧|ok吗)|[,，]\s*(?:ok|okay))?[\s,，.!。！~]*$",
    re.IGNORECASE,
)

REMEMBER = Lazy(
    r"(?:please )?(?:do )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: that|\s+to|,|\s*:)*\s+"
    r"|(?:please )?(?:save|add|write|commit|store|put) (?:this |it )?(?:to|in|into) (?:your "
    r"|the )?memory\s*[:,-]?\s*(?:that )?"
    r"|(?:请)?(?:记住|请记得|记得|牢记|记下来|切记|谨记)[，,：:\s]*"
)


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile a group of patterns once, when a text first needs it: most commands never do."""
    return tuple(map(re.compile, patterns))


_ACTION = (
    r"(?:run|execute|build|deploy|release|rebase|squash|tag|bump|migrate|restart|regenerate|sync|test|lint"
    r"|format|commit(?! messages?)|push"
    r"|rerun|re-run|update|check|verify|ask|review|back ?up|start|open|create|generate)\b"
)

_PROCEDURE = Lazy(
    r"(?:(?:please|always|remember|to|that|you|we|i|should|must|need|have|want|make sure|be sure"
    r"|from now on|going forward"
    rf"|ensure|first|in future|{RECURS})[\s,:]+)*{_ACTION}"
)

_ZH_PROCEDURE = Lazy(r"(?:(?<!优)先|再|跑|运行|执行|构建|部署|测试一遍|检查|更新|重启|提交)")

_NEGATED = Lazy(
    r"\b(?:never|don't|do not|not|no longer|stop|avoid|prefer)\b(?! forget)|不要|别|绝不|永远不|禁止|不许|不准|喜欢"
)


def stated_kind(clause: str) -> EntryKind:
    """A rule that says what to do when is a procedure; every other is a preference."""
    if _NEGATED.search(clause):
        return EntryKind.PREFERENCE
    scene = SETS_SCENE.match(clause)
    acts = _PROCEDURE.match(clause) or (scene and re.search(rf", (?:please )?(?:always )?{_ACTION}", clause))
    if acts or (_ZH_PROCEDURE.search(clause) and re.search(r"每次|前|后|时|(?<!优)先|再", clause)):
        return EntryKind.PROCEDURE
    return EntryKind.PREFERENCE


def state(sentence: Sentence, begin: int, end: int, *, kind: EntryKind, correction: bool) -> Direction | None:
    """Return the direction that a part of a sentence gives, or None when its words say nothing to a stranger."""
    text, masked = sentence.text[begin:end], sentence.masked[begin:end]
    remember = REMEMBER.match(masked)
    if remember and says_enough(masked[remember.end() :], words=3):
        text, masked = text[remember.end() :], masked[remember.end() :]
    tail = _TAIL.search(masked)
    if tail:
        text, masked = text[: tail.start()], masked[: tail.start()]
    if text.count("(") < text.count(")"):
        text, masked = text.rstrip(")"), masked.rstrip(")")
    elif text.count("(") > text.count(")"):
        # What the bracket began lies behind the clause: half a remark says less than none.
        cut = text.rfind("(")
        text, masked = text[:cut].rstrip(), masked[:cut].rstrip()
    if not says_enough(masked):
        return None
    if kind not in {EntryKind.DECISION, EntryKind.KNOWLEDGE}:
        kind = stated_kind(masked)
    everywhere = EVERYWHERE.search(masked) is not None
    return Direction(
        kind=kind, text=text, condition=_condition(text, masked), everywhere=everywhere, correction=correction
    )


def says_enough(masked: str, *, words: int = 2) -> bool:
    """Whether a stranger could make anything of it: two words, or a few signs of Chinese."""
    if re.fullmatch(r"[\W▮]*(?:(?:not|never|and|or|but|no)\b[\W▮]*)*", masked):
        return False  # nothing but quotations
    return (
        len(re.findall(r"[\w▮][\w▮'./-]*", masked)) >= words
        or _SUBSTITUTES.match(masked) is not None
        or len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", masked)) >= 3
    )


_SUBSTITUTES = Lazy(r"s/[\w-]+/[\w-]+")

EVERYWHERE = Lazy(
    r"\b(?:in|across|for|on|with) (?:all|every|each|any)(?: of)?(?: (?:my|our|the|your"
    r"|other))* (?:projects?|repos?|repositor(?:y|ies)"
    r"|codebases?|workspaces?)\b|^(?!(?:.*(?:[,;:]|\b(?:and|so|but)) )?(?:(?:just|only|please|also) )*"
    r"(?!(?:please|always|it|this|that|these|those|them|holds?|applies|goes)\b)[\w.+@/-]+ everywhere\b"
    r"|.*\b(?:we|our|we've|we're|this (?:repo|project|codebase))\b.*\beverywhere"
    r"|i (?:hate|don't)).*\beverywhere\b(?!"
    r" (?:in|else|except|but|that|where|on|(?:it|this|they|(?:i|we|you)(?! (?:work|go|code|am|are)\b))\b))"
    r"|\bno matter (?:which|what|the) (?:project|repo|codebase)|\bregardless of (?:the"
    r"|which) (?:project|repo)"
    r"|\b(?:whatever|whichever|independent of) (?:the )?(?:project|repo|codebase)\b|\b(?:wherever"
    r"|anywhere) (?:you|we|i)(?: \w+)? work\b"
    r"|\bno matter (?:what|where) (?:i'm|i am|we're|you're|i|we|you) (?:work\w*|on|in)\b|\bin none of (?:my"
    r"|our) (?:projects|repos\w*)\b"
    r"|\bnot (?:just|only) (?:here|in this (?:one|repo|project))\b|\b(?:everything|anything|whatever) (?:i|you"
    r"|we) (?:do|work on|build|write|touch) for me\b"
    r"|\bacross (?:projects|repos|repositories)\b|\bevery single (?:project|repo)"
    r"|\ball my (?:projects|repos)\b|\b(?:all|any|every) (?:projects?|repos?|repositories) (?:i own|of mine)"
    r"|\bfor everything i\b"
    r"|\bas a global (?:rule|preference)|^globally\b|^(?!.*\binstall).*\bglobally$"
    r"|(?:所有|全部|每个|每一个|任何|各个)(?:的)?(?:项目|仓库|工程|代码库)(?!文件|成员)|全局(?!变量|安装"
    r"|状态|样式)(?:都|规则|适用|生效|统一|用|使用|，|$)|(?:不管|无论"
    r"|不论)(?:是|在|做)?(?:哪个|什么|哪一个|任何|哪)(?:项目|仓库|库)|我的?项目都|不(?:只|光|仅)(?:是"
    r"|限于)?(?:这个|这里|本项目)"
    r"|哪个(?:项目|仓库)都|(?:通用|跨项目)(?:的)?(?:规则|要求|规矩)|到哪都"
    r"|すべてのプロジェクト|全プロジェクト|모든 프로젝트|in allen (?:meinen )?projekten"
    r"|dans tous mes projets|en todos mis proyectos"
    r"|em todos os meus projetos|во всех проектах"
)

_PLACE = (
    r"(?:ci|production|prod|staging|dev|development|tests?|unit tests|docker|windows|macos|mac|linux|wsl"
    r"|github actions|(?<!the )main"
    r"|master|release branches|frontend|backend|python|typescript|javascript|rust|go|java|scripts?"
    r"|migrations?|docs|documentation"
    r"|commit messages|pull requests|prs|code reviews?|reviews|comments|notebooks|sql|yaml|markdown"
    r"|shell scripts|benchmarks)"
)

_CONDITIONS = (
    r"^(?:when(?:ever)?|before|after|if|once|unless|until|while) [^,:;]{3,70}(?=[,:])",
    (
        r"(?<!better )(?<!happy )(?<!nice )(?<!great )(?<!easier )(?<!for me )\b(?:when(?:ever)?|while|if"
        r"|unless|until"
        r"|as long as|every ?time|each time) [^,;]+"
    ),
    (
        r"\b(?:before|after) you (?!and\b)\w+(?: (?:the |an? )?(?!(?:and|or|so|because|in|on|then|for"
        r"|the)\b)[\w▮./-]+){0,2}"
    ),
    (
        r"\b(?:before|after) (?!(?:it|and|that|this|or|you)\b)(?:(?:every|each|any|all|a|an|the|your|you"
        r"|new|making|opening|creating|sending|we"
        r"|i|single) )*(?:pull requests?|merge requests?|(?![\w-]*\d|and\b)[\w-]+)(?: (?:to|into) [\w▮/-]+)?"
    ),
    rf"\b(?:before|after) (?!going\b)[\w-]+ing(?: (?!(?:{VERBS})\b)[\w▮./-]+){{1,3}}",
    r"\b(?:on|with|for) (?:every|each) [\w-]+(?: [\w-]+)?",
    (
        rf"\b(?:in|on|for|inside|during) (?:the |our |all |new )?{_PLACE}\b(?: (?:files|code|projects|scripts"
        r"|work|changes|jobs?))?"
    ),
    (
        r"\b(?:for|in) (?:new |the |our )?[\w▮./-]+ (?:files|code|tests|scripts|changes|work|modules|components"
        r"|services|folder|directory)\b"
    ),
    r"\bat the (?:start|end|beginning) of [\w ]+",
    r"(?:当|在)[^，]{1,30}?(?:的时候|时候|之时|时)(?=，|都|要|先|必须|请|总|一律|$|用|不|务必)",
    r"如果[^，]{1,40}|除非[^，]{1,40}",
    (
        r"(?:(?:在|每次|每个)[^，]{1,20}?|(?:提交|合并|推送|发布|部署|上线|写|改|修改|跑|运行|开|新建"
        r"|更新)[^，]{0,12}?)(?:之前|以前|前|之后|以后|后|的时候|时)(?![端台缀者面])"
    ),
    r"在\s?(?:ci|docker|windows|linux|macos|生产|测试|开发|线上|本地)[^，]{0,6}?(?:环境)?(?:里|中|上|下)",
)

#: What stands before circumstances in which a direction does not hold: "tabs, not in Python files".
_EXCEPTED = re.compile(
    r"(?P<by>(?:(?<=[,;:(] )|(?<=but )|(?<=and ))not|\b(?:except|other than|apart from)(?: for)?)\s+$", re.IGNORECASE
)


def _condition(text: str, masked: str) -> str:
    """Return the words that say under what circumstances a direction holds, or ""."""
    found = [match for pattern in _compiled(_CONDITIONS) if (match := pattern.search(masked))]
    found = [match for match in found if not EVERYWHERE.search(match.group())]
    if not found:
        return ""
    match = min(found, key=lambda each: (each.start(), -each.end()))
    excepted = _EXCEPTED.search(masked[: match.start()])
    start = excepted.start("by") if excepted else match.start()
    return text[start : match.end()].strip()
