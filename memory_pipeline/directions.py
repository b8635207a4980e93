"""Finds the directions to keep in a person's words: preferences, procedures, decisions and corrections.

A direction is something that the person wants to hold beyond the moment. One-off requests, questions, reported errors
and whatever the person only pasted or quoted are none. English and Chinese are read in full; Japanese, Korean, German,
French, Spanish, Portuguese and Russian by their plainest words. When in doubt, a text gives no direction: a missed one
will be said again, a false one is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice

from memory_pipeline.records import EntryKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Direction:
    """One direction in the person's own wording."""

    kind: EntryKind  # preference, procedure or decision
    text: str  # the person's clause, verbatim but for what leads in and out of it ("please", "remember that")
    condition: str  # under which circumstances it holds, in the person's words; "" when it always does
    everywhere: bool  # the person says that it holds in all their projects
    correction: bool  # it corrects what was done or said before


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence of a text, without its end mark."""

    text: str
    masked: str  # of the same length, in lower case, with code and quotations blotted out
    question: bool


def is_order(text: str) -> bool:
    """Whether a text begins, after "and then please", like an order: with a verb in its plain form."""
    return _ORDER.match(text.lower()) is not None


def gives_direction(text: str) -> bool:
    """Whether a prompt holds a direction to keep. Quick on a prompt that holds none."""
    return _MAY_DIRECT.search(text) is not None and bool(find_directions(text))


def find_directions(text: str) -> tuple[Direction, ...]:
    """Return the directions of a prompt in its order, each once. What was pasted or quoted gives none."""
    if not _MAY_DIRECT.search(text):
        return ()
    return _find(_both_ends(text))


@lru_cache(maxsize=128)
def _find(text: str) -> tuple[Direction, ...]:
    found: dict[str, Direction] = {}
    corrected = False
    for sentence in sentences(own_words(text)):
        for direction in _directions_of_sentence(sentence, corrected=corrected):
            found.setdefault(direction.text.casefold(), direction)
        corrected = _BARE_CORRECTION.fullmatch(sentence.masked) is not None
    return tuple(found.values())


# --- whose words -----------------------------------------------------------------------------------------------------


def own_words(text: str) -> str:
    """Return what the person wrote themselves: without fenced code, quotations, logs, documents and tagged blocks."""
    text = _FENCED.sub("\n\n", _both_ends(text))
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


def _both_ends(text: str) -> str:
    if len(text) <= _READ_CHARS:
        return text
    return f"{text[: _READ_CHARS // 2]}\n\n{text[-_READ_CHARS // 2 :]}"


_READ_CHARS = 20_000  # of a longer text, its beginning and end are read: nobody types this much
_LONG_TEXT_LINES = 60
_LONG_TEXT_CHARS = 6000
_SHORT_PARAGRAPH_LINES = 4

_FENCED = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_TAGGED_BLOCK = re.compile(r"<(?P<tag>[A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*?</(?P=tag)\s*>", re.DOTALL)
_QUOTED_LINE = re.compile(r"[ \t]*(?:>|\|)")
_HEADING = re.compile(r"#{1,6}[ \t]+\S")
_INTRODUCES_PASTE = re.compile(
    r"""(?:\b(?:says?|said|reads?|logs?|logged|outputs?|errors?|messages?|docs?|documentation|read\ ?me(?:\.md)?|files?
           |trace|traceback|stack\ ?trace|snippet|e?mail|ticket|issue|comment|diff|transcript|article|spec|guide
           |pasted?|pasting|contents?|prints|got|get|instructions|policy|page|response|returns|printed)
        | (?:日志|报错|输出|文档|错误|内容|说明|如下|原文|邮件|信息|写着|写的是|说)
        )(?:\ (?:below|here|is|was|i\ got|from\ \S+))?\s*[:：]\s*$""",
    re.VERBOSE | re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"""^(?:
        \s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d | \[?\d\d:\d\d:\d\d
      | \s*(?:\[)?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)(?:\])?[\s:|]
      | \s*at\s+\S+\s*\( | \s*File\ ".*",\ line\ \d+ | Traceback\ \( | \s*\.\.\.\ \d+\ more
      | \s*\w*(?:Error|Exception|Warning):\s | \s*npm\ (?:ERR!|WARN) | \s*\$\s\S | \s*>>>\s
      | (?:\+\+\+|---|@@|diff\ --git|index\ [0-9a-f]{7})
      | [+-]\s{2,}\S | \s*[{}\[\]]+,?\s*$ | \s*"[^"]+"\s*:\s
      | (?:\ {4,}|\t)\S.*[;{}()=] | \s*(?:E|\d+)\s{2,}\S | \s*(?:PASS|FAIL|ok|FAILED|PASSED)[:\s]
      | \s*\S+:\d+(?::\d+)?:\s | \s*(?:import|from|def|class|function|const|let|var|return|\#include)\s.*[:;(){}=.]
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
_QUOTATION = re.compile(
    r"""(?P<code>`+)[^\n]+?(?P=code)
      | (?<![\w"])"(?:[^"\n]|\n(?!\n)){1,1500}"(?!\w) | “[^”]{1,1500}” | «[^»]{1,1500}» | „[^“”]{1,1500}[“”]
      | (?<![\w'])'[^'\n]{2,300}'(?!\w) | ‘[^’\n]{2,300}’(?!\w) | 「[^」]{1,1500}」 | 『[^』]{1,1500}』""",
    re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s|$)|[.!?…]+(?=[\u4e00-\u9fff])|[。！？；｡]+|;(?=\s|$)|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|eg|ie|etc|vs|cf|approx|incl|resp|nr|mr|mrs|ms|dr|st|fig|sec|ver|ca|z\.b|d\.h|p\.ex|a\.k\.a)"
    r"|^\s*[a-z])$",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ x]\]\s+)?|\(?\d{1,3}[.)]\s+|\d{1,3}、|#{1,6}\s+)?")


def sentences(text: str) -> Iterator[Sentence]:
    """Split a text into sentences: not within code, quotations, paths, versions or after an abbreviation."""
    text = _joined_lines(text)
    masked = _masked(text)
    start = 0
    for match in _SENTENCE_END.finditer(masked):
        if (
            match.group().startswith(".")
            and match.group() == "."
            and _ABBREVIATION.search(masked[start : match.start()])
        ):
            continue
        yield from _sentence(text, masked, start, match.start(), end_mark=match.group())
        start = match.end()
    yield from _sentence(text, masked, start, len(text), end_mark="")


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
    lowered = blotted.lower()
    # A few letters change their length in lower case; the offsets must hold.
    return lowered if len(lowered) == len(text) else blotted


# --- what a direction looks like, in English -------------------------------------------------------------------------

_VERBS = (
    "use|run|execute|write|add|put|keep|make|call|name|ask|check|test|lint|format|build|deploy|release|commit|push|pull"
    "|merge|rebase|squash|tag|bump|update|upgrade|install|import|export|include|exclude|create|delete|remove|rename"
    "|move|copy|edit|change|modify|touch|fix|mock|stub|skip|ignore|return|raise|throw|log|print|show|tell|explain"
    "|answer|reply|respond|speak|talk|comment|document|describe|review|verify|validate|confirm|ensure|prefer|choose"
    "|pick|stick|default|follow|respect|avoid|stop|start|restart|open|close|read|look|search|grep|generate|regenerate"
    "|migrate|sync|fetch|clone|fork|branch|switch|check out|work|leave|set|store|save|load|pin|lock|sign|sort|group"
    "|split|wrap|indent|quote|escape|type|annotate|declare|define|expose|hide|refactor|rewrite|simplify|mention|link"
    "|cite|summari[sz]e|translate|send|post|publish|ship|report|reproduce|treat|assume|guess|wait|do|be|go|give|take"
    "|let|try|rerun|re-run|reuse|re-use|cover|assert|quantify|measure|profile|benchmark|clean|backup|back up|revert"
    "|reset|amend|force|disable|enable|allow|deny|require|depend|target|support|apply|propose|suggest|plan|think"
    "|finish|end|begin|note|list|pass|access|process|address|focus|bypass|suppress|compress|cross|discuss|express"
)
_V = rf"(?:{_VERBS})\b"
_ORDER = re.compile(
    rf"[\s,;:，；：]*(?:(?:and|then|now|please|also|just|next)[\s,]+)*(?:{_V}|implement\b|debug\b"
    rf"|investigate\b|find\b)|.{{0,6}}(?:帮|修|加|写|改|看|查|跑|实现|添加|检查)"
)
_DEICTIC = (
    r"(?:it|this|that|these|those|them|one|ones|both|mine|yours|what|whatever|your|"
    r"the (?:first|second|third|last|latter|former|other|same|simpler|simple|easy|easier|one|ones|option|approach))\b"
)
_LEAD = re.compile(
    r"""(?:(?:
        please|pls|kindly|and|but|also|so|then|ok|okay|yes|yep|yeah|sure|well|oh|hey|hi|hello|btw|by\ the\ way|nb|fyi
      | reminder|important|rule|note|again|just|because|since|as|for\ the\ record
      | one\ (?:more|last)\ thing|another\ thing
      | thanks|thank\ you|great|perfect|nice|cool|good|right|actually|in\ (?:that|this)\ case|i\ think|imo|imho|i'd\ say
      | no|nope|nah|wrong|wait|now|to\ be\ clear|new\ rule|general\ rule|hint|tip|instead
      | (?:can|could|would|will)\ (?:you|we)
      | (?:as\ )?i\ (?:said|told\ you|already\ said)(?:\ to|\ that|\ before|\ already)?
      | (?:that's|that\ is|this\ is|it's)
        \ (?:wrong|incorrect|not\ (?:right|correct|what\ i\ (?:asked|meant|wanted|said))(?:\ for)?)
      | [a-z_]+:[a-z_]\S* | /[a-z][\w:-]*(?!\S)
      )(?:\s*[,:!—–-]+\s+|\s*[:]\s*|\s+))+""",
    re.VERBOSE,
)
_INNER_START = re.compile(
    r"(?:[:：(]\s*|\s[-–—]+\s|\b(?:because|since|so|but|and|also|please|then|therefore|hence)\s+(?:,\s*)?"
    r"|[a-z_]+:[a-z_]\w*\s+)"
)
_WANTS = (
    r"(?:i(?:'d| would)?(?: really)? (?:want|like|need|expect|ask|love)(?:ed)? (?:you|us|everyone) to |"
    r"you (?:should|must|need to|have to|are to|shall|ought to) |"
    r"(?:we|i|everyone|everybody) (?:should |must |need to |have to |want to |ought to )?|"
    r"(?:make sure|be sure|ensure) (?:that |to )*(?:you |we )?)"
)
_ARTEFACT = (
    r"(?:unit |integration |commit |code |pull request |default )*(?:tests?|commits?|code|docs?|messages?"
    r"|builds?|branch|prs?|migrations?"
    r"|answers?|responses?|changelog|readme|comments?|names?|style)\b"
)
_REPORTS = (
    r"(?:get|got|see|saw|have|had|has|hear|end up|run into|hit|receive|find|found|forget|forgot|wonder|wondered|fail"
    r"|crash|hang|return|returns|throw|throws|thought|knew|notice"
    r"|lose|struggle|been|was|were|is|are|am|felt|feel|love"
    r"|the|a|an|been|happens?|works?|worked|seem|seems|on|off|true|false|null|none|undefined|there|wrong)\b"
)
_BASE_FORM = rf"(?!{_REPORTS})(?!\w+(?<!ss)(?<!us)s\b)(?!(?!need|embed|feed|seed|shed|embed|speed)\w+ed\b)[\w▮'-]"
#: What a program shall show is asked of the program, not of the agent; "show me" is asked of the agent.
_NOT_A_SPEC = r"(?!(?:show|display|render|hide|redirect|highlight) (?!me\b|us\b))"
_EVENT = (
    r"(?:commit(?:s|ting|ted)?|push(?:es|ing|ed)?|merg(?:e|es|ing|ed)|releas(?:e|es|ing)|deploy(?:s|ing|ments?)?"
    r"|publish(?:ing)?|opening|submitting|creating|sending|finishing|changing|editing|adding|writing|making|running"
    r"|refactoring|installing|upgrading|pull requests?|prs?|mrs?|merge requests?|builds?|tagging|shipping)\b"
)
_RECURS = (
    r"(?:every ?time|each time|whenever|(?:before|after|on|with|at|for|in) (?:every|each)\b(?! (?:of|file"
    r"|line|row|item|element)\b)"
    rf"|(?:before|after|when) (?:any |all |a |an |the |new )*{_EVENT}|every (?:commit|pr|push|release|merge"
    r"|session|day|change)"
    r"|for (?:all|any)(?: new)? (?:commits?|changes?|prs?|pull requests?|features?|releases?|tasks?"
    r"|sessions?|projects?|repos?)"
    r"|by default|at all times|(?:in|across|for) (?:all|any)(?: of)?(?: my| our| the)? (?:projects?|repos?"
    r"|repositories|codebases?)"
    r"|everywhere\b|globally$|from now on|from here on|going forward|moving forward|in (?:the )?future\b"
    r"|as a (?:general )?rule"
    r"|without exception|no matter what|unless i\b|unless (?:asked|told)|henceforth)"
)
_NOW_ONLY = (
    r"(?:this time|for now|right now|just now|just this|today"
    r"|tomorrow|later|temporarily|yet|until then|for the moment"
    r"|in this (?:file|function|test|case|class|method|line"
    r"|module|loop|branch|commit|pr|script|component|step|example)"
    r"|in (?:the|that) (?:loop|function|file|class|method|test|second|first|last)|on line \d+|line \d+"
    r"|above|below|once)\b"
)
_TROUBLE = re.compile(
    r"\b(?:errors?|fail(?:s|ed|ing|ure)?|broken|breaks|crash(?:es|ed|ing)?|exceptions?|traceback|bugs?"
    r"|doesn't work|hangs?"
    r"|not working|null|undefined|timed? ?out|stuck|weird|slow)\b"
    r"|报错|出错|失败|崩溃|异常|超时|卡住|卡死|挂了|不行|不对|没反应|返回|为空|跑不过|不通过|很慢|太慢|死循环|乱码"
)
_REPORTED = re.compile(
    r"(?<!\bi )(?<!\bwe )\b(?:says?|said|states?|stated|claims?|claimed|reads|mentions?|mentioned"
    r"|recommends?|recommended|suggests?"
    r"|suggested|according to|written in|prints?|printed|outputs?"
    r"|told me|tells me|complains?|warns?|warned|insists?)\b"
    r"|(?:写着|文档说|文档里|日志|提示说|报错|据说|他说|她说|你说|你刚才说)"
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|not sure|i wonder|i guess|what if|suppose|if we always|if i always)\b|也许|可能"
    r"|或许|是不是|要不要|如果总是"
)
_ASKS = re.compile(
    r"(?:why|what|how|where|who|whose|which|is|are|was|were|does|did|has|had|isn't|aren't|don't you|doesn't|didn't"
    r"|do (?:you|we|i|they)|have (?:you|we|i)|should (?:i|we|it|you)|shall (?:i|we)|can i|could i|may i|would it"
    r"|am i|any idea|i wonder)\b|(?:为什么|为啥|怎么|什么|是否|能否|有没有|哪|谁|难道|[他她][们]?[说让]"
    r"|有人说|你还?记得|你(?:总是|老是|又|每次都))"
)
_POLITE_REQUEST = re.compile(r"(?:please |hey |and |also |ok |so )*(?:can|could|would|will) (?:you|we) ")

# Each is matched where a clause may begin. The order is that of how much they say.
_PREFERENCES = (
    rf"{_WANTS}?(?:please )?always,? {_NOT_A_SPEC}{_BASE_FORM}",
    (
        rf"{_WANTS}?(?:please )?(?:never ever|never|don't ever|do not ever|under no circumstances)"
        r" (?!mind\b|again\s*$|got\b|saw\b|seen\b|said\b|did\b|knew\b"
        rf"|heard\b|told\b|tried\b|used\b){_NOT_A_SPEC}{_BASE_FORM}"
    ),
    (
        rf"(?!{_DEICTIC}|if\b)(?:[\w▮'/.-]+ ){{0,4}}?{_ARTEFACT}[\w▮' /.-]{{0,40}}?"
        rf" (?:should|must|shall|needs? to|has to|have to|may|can) (?:always|never) (?!happen|occur)"
    ),
    r"(?:all|every|each|any|new)\b[\w▮' /.-]{1,60}? (?:must|should|shall|needs? to|has to|have to)(?: not)? \w",
    (
        r"(?:from now on(?:wards?)?|from here on(?: out)?|from this point (?:on|forward)|from today on|going forward"
        r"|moving forward|henceforth|in (?:the )?future|for future"
        r" (?:reference|tasks|sessions|work|changes))\b[\s,:]*"
        r"(?!.*\b(?:might|may|could|will probably|would)\b)[\w▮]"
    ),
    (
        rf"{_WANTS}?(?:please )?(?:do )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: that| to|,|\s*:)*\s+"
        r"(?!when\b|how\b|what\b|where\b|why\b|if\b|me\b|it\b"
        r"|this\b|last\b|that (?:time|bug|one|day)\b|which\b|who\b)"
        r"(?!(?:the|that|those|our) (?!.*\b(?:is|are|must|should|has|have|needs?|lives?|uses?|goes|go|runs?"
        r"|only)\b))[\w▮]"
    ),
    (
        r"(?:please )?(?:save|add|write|commit|store|put) (?:this |it )?(?:to|in|into) (?:your "
        r"|the )?memory\s*[:,-]?\s*(?:that )?\w"
    ),
    (
        r"(?:i|we)(?:'d| would)?(?: (?:always|usually|generally|strongly|really|much|also|do))* prefer(?: that"
        rf"| to| if)? (?!{_DEICTIC}|option\b)\S"
    ),
    rf"prefer (?!{_DEICTIC})\S+",
    r"my (?:strong |general |personal )?preference is (?!it\b|this\b|that\b)\S",
    rf"(?:i|we)(?:'d| would) (?:much )?rather (?:you|we|have|use|keep|see|not|avoid) (?!{_DEICTIC})\S",
    rf"i (?:really |generally |usually |also |always )?like (?!{_DEICTIC}|the |where|how|when$)(?:to |my |when |\S+)",
    (
        rf"i (?:really )?(?:don't|do not|dislike|hate|can't stand)(?: like)? (?:it when|when|(?!{_DEICTIC}|know"
        r"|think|want|need|see|have|get|understand|care|believe|mind|remember|the )\S+ ?\S*ing|seeing|having)"
    ),
    rf"i (?:really )?(?:don't like|do not like|dislike|hate|can't stand) (?!{_DEICTIC}|the )\S",
    (
        r"(?:please )?(?:stop|quit) (?!working|responding|being|trying|there)\w+ing\b(?! (?:it|this"
        r"|that)\b)(?! the (?:server|process|run|job))"
    ),
    rf"(?:please )?avoid (?!{_DEICTIC}|the )\S",
    rf"{_WANTS}?(?:please )?no longer {_V}",
    (
        r"(?:we|i) (?:no longer|don't|do not|never) (?:use|support|run|write|do|commit|push|mock|deploy|ship"
        rf"|allow) (?!{_DEICTIC}|the (?:\w+ )?(?:anymore)?$)\S"
    ),
    rf"{_WANTS}?(?:please )?(?:don't|do not|dont) {_V}.*\b(?:any ?more|again|unless|without|ever|until)\b",
    (
        r"(?:please )?(?:don't|do not|dont) (?:use|add|write|generate|put|include|mock|push|install|commit"
        rf"|import) (?!{_DEICTIC}|the |any of|anything|a\b|\w+$(?<=yet))\S"
    ),
    rf"(?:please )?(?:only use|use only|stick (?:to|with)|default to) (?!{_DEICTIC}|the (?!standard))\S",
    (
        r"(?:please )?(?:don't|do not|dont) (?:edit|touch|modify|change"
        rf"|delete|remove|run) (?!{_DEICTIC}|the (?!full|whole)|a\b|any of)"
        r"(?:[\w▮./-]+ ){1,2}(?:files?|folders?|director(?:y|ies)|tests?|suite|code|migrations|fixtures|snapshots)\b"
    ),
    r"i (?:don't|do not|never) want (?:you|us|anyone) to (?!do (?:that|this)|worry|be)\S",
    r"(?:please )?(?:make sure|ensure)(?: that)? (?:every|all|each|any) (?:new )?\w+",
    rf"next time,? (?:please )?(?:don't |do not |never |always )?(?:ask|{_V})",
    (
        r"(?:we|our team) (?:deploy|build|test|format|lint|host|publish|release"
        r"|manage|write|run|develop|store)\w* [^,]{1,40},? (?:and )?not \S"
    ),
    (
        rf"(?:our |the |all )?{_ARTEFACT} (?:must|should|have to|need to) (?:be"
        r"|use|have|follow|stay|start|end|go|live|pass)\b(?! fixed| green| there)"
    ),
    (
        r"(?:for|in) (?:commit messages|code comments|comments|docs|documentation"
        r"|docstrings|branch names|variable names|prs),? (?:please )?use \S"
    ),
    (
        r"(?:please )?use (?!the |this|that)[^,]{1,40} (?:for|in) (?:commit messages"
        r"|code comments|comments|docs|documentation|docstrings|branch names|prs)\b"
    ),
    (
        r"(?:when(?:ever)?|if) i (?:say|ask|type|write|tell)\b[^,]*,"
        rf" (?:please )?(?:always |never )?(?:don't |do not )?{_V}"
    ),
    (
        rf"(?:please )?(?:use|pick|choose|write|import|name|put) (?!{_DEICTIC}|a test|an? \w+ (?:that"
        rf"|which))(?:(?! that ).){{1,60}}?(?: instead of | rather than | in place of |,? ?\(?(?:and "
        rf"|but )?(?:not|never|no) )(?!{_DEICTIC}|the |doing |only |just )\S"
    ),
    rf"(?:please )?use (?!{_DEICTIC}|the |a |an )\S+(?: \S+)? instead$",
    (
        r"(?:we|i|our team|the team)(?:'re| are|'ve| have)?(?: (?:only|all|mostly|usually|generally|do|both"
        r"|always|been))* (?:use|using|standardi[sz]ed? on|work with)"
        rf" (?!{_DEICTIC}|the same|the |to )(?!.* (?:for|in|with) (?:that|this|it)$)\S.*?(?:,? (?:and "
        r"|but )?(?:not|never|no)\b| instead of | rather than | over | for | in (?:this|our|all|every|the)\b"
        r"| here\b| everywhere| as |$)"
    ),
    rf"{_WANTS}?(?:please )?(?:make sure|be sure|ensure|don't forget|do not forget|see to it)\b.*\b{_RECURS}",
    rf"{_WANTS}?(?:please )?(?:don't |do not )?{_V}.*\b{_RECURS}",
    (
        r"(?:in|across|for|on) (?:this|our|the|my|all|every|each|any)(?: of)?(?: (?:my|our|the))? (?:projects?"
        r"|repos?|repository|repositories|codebases?|workspace),?"
        rf" (?:please )?(?:always |only )?(?:(?:don't |do not |never )?{_V}|no \S"
        rf"|we (?:always |never |only |don't )?{_V})"
    ),
    (
        rf"(?:please )?{_RECURS}[^,]{{0,80}}, (?:please |also )*(?:always |never )?(?:make sure|be sure"
        rf"|you (?:should|must|need to)|i want you to|(?:don't |do not )?{_V})"
    ),
    (
        rf"(?:please )?(?:before|after) (?:any |all |a |an |every |each |new )*{_EVENT}(?: \S+)?,? (?:please "
        rf"|also )*(?:always |never )?{_V}"
    ),
    (
        rf"(?:please )?(?:don't|do not|dont) {_V}.*\b(?:in|for|on|to) (?:the |our )?(?:unit |integration "
        r"|e2e )?(?:tests|ci|prod|production|main|master|commit messages|docs|migrations|comments)\b"
    ),
    (
        rf"(?:please )?use (?!{_DEICTIC}|the |a |an )\S.*\b(?:in|for) (?:this|our|the) (?:project|repo"
        r"|repository|codebase)\b"
    ),
    r"(?:please )?ask (?:me |us )?(?:first )?before (?!you start\b|we start\b|starting\b|going on\b)\S",
)
_DECISIONS = (
    (
        r"let(?:'s|s| us) (?:go with|stick with|stick to|switch to|move to|adopt|settle on|standardi[sz]e on"
        rf"|keep using) (?!{_DEICTIC})\S"
    ),
    rf"let(?:'s|s| us) (?:use) (?!{_DEICTIC}|the |a |an |.*\b(?:for|in) (?:this|that|it)\b)\S",
    (
        r"(?:we|i)(?:'ve| have)?(?: (?:now|already|finally|just))* (?:decided|agreed|settled|opted|chosen|chose)"
        rf"(?: (?:to|on|that|for|against|not to))* (?!{_DEICTIC})\S"
    ),
    (
        r"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to)(?: only| just)? (?:use|go with"
        r"|stick with|stick to|adopt|keep|move to"
        rf"|switch to|target|support|deploy to|store|ship with|standardi[sz]e on) (?!{_DEICTIC})\S"
    ),
    rf"(?:(?:we|i)(?:'re| are|'m| am) )?going with (?!{_DEICTIC})\S",
    rf"go with (?!{_DEICTIC})\S",
    rf"(?:(?:the |my |our |final )*decision(?: is)?\s*[:,]?) (?!{_DEICTIC}|is\b|was\b)\S",
    r"option [a-e1-5]\b(?: it is|,? please)?$",
)
_CORRECTION = re.compile(
    r"(?:no|nope|nah|wrong|not quite|wait|actually)\s*[,.!:—–-]+\s|no (?=use |don't |do not |i (?:said|meant)|not )"
    r"|(?:that's|that is|this is|it's) (?:wrong|incorrect|not (?:right|correct|what i))|not what i (?:asked"
    r"|meant|wanted|said)"
    r"|(?:as )?i (?:said|told you|meant|asked (?:you )?(?:for|to)|already said)\b|you should have"
    r"|not \S+(?: \S+){0,2},? but "
    r"|(?:不对|不是这样|不是的|错了|不，|不,|你错了|搞错了|说错了|应该(?:是|用|使用)|我说的是|我的意思是"
    r"|我要的是|我说过|我刚才说)"
)
_BARE_CORRECTION = re.compile(
    r"(?:no|nope|nah|wrong|not quite|(?:that's|that is|this is|it's) (?:wrong|incorrect|not (?:right"
    r"|correct)|not what i (?:asked|meant|wanted|said)(?: for)?)"
    r"|不对|错了|不是这样的?|你错了|搞错了)"
)
_CORRECTED = (
    rf"(?:please |you should |you should have |we )?use(?:d)? (?!{_DEICTIC}|the |a |an |my )\S",
    r"not \S+(?: \S+){0,3},? but \S",
    (
        rf"(?:i meant |it's |it is )?(?!{_DEICTIC})[\w▮./-]+(?: [\w▮./-]+){{0,5}},? (?:and )?not [\w▮./-]+(?:"
        rf" [\w▮./-]+){{0,3}}$"
    ),
    (
        r"(?:the|our|my) [\w▮./ -]{2,40} (?:is|are|should be|must be|lives? in|lives? at) (?=.*(?:\d|▮|[./_]\w"
        r"|\b[a-z]+\.[a-z]+))"
    ),
    r"(?:don't|do not) \w+ (?!it\b|this\b|that\b|the )\S",
    r"(?:我说的是|我的意思是|我要的是)?[^，]{0,24}?[，]?(?:不是[^，]{1,24}[，]?(?:而是|是)|而不是|不是\s?\S)",
    r"(?:你)?(?:应该|要|得)(?:用|使用)(?!这|那|它)\s?\S",
    r"(?:用|使用)(?!这|那|它)\s?\S",
    r"(?:端口|版本|分支|路径|地址|默认|文件名?|目录|命令)[^，]{0,10}(?:是|应该是|要用)",
)

# --- and in Chinese --------------------------------------------------------------------------------------------------

_ZH_LEAD = re.compile(
    r"(?:请你?|麻烦你?|拜托|那么?|嗯|好的?|好吧|对了|另外|还有|并且|而且|同时|所以|因为|但是?|不过|然后"
    r"|顺便|注意|提醒一下|你|您"
    r"|我希望你?|希望你?|我要你|我想让你|谢谢|不对|不是|错了|不|没错|[a-z_]+:[a-z_]\w*)[，,：:！!\s]*"
)
_ZH_USE = r"(?:用|使用|采用|选用)"
_ZH_THIS = r"(?!这(?!个?项目|个?仓库|里)|那|它|此|他|你)"
_ZH_CONDITION_PREFIX = (
    r"(?:[^，]{0,24}?(?:时候?|之?前|之?后|里面?|中|上|内|下|的话|项目|仓库|代码|注释|测试|提交|文档"
    r"|所有[^，]{1,8}|任何[^，]{1,8}))?"
)
_ZH_SUBJECT = (
    r"(?:我们?|咱们?|大家|你|您|项目里?|这个(?:项目|仓库)里?|这里|团队)?(?:都|也|还|就|要|应该|应当|需要|得|必须|请)*"
)
_ZH_PREFERENCES = (
    (
        r"(?:从现在(?:起|开始)|从今(?:以后|往后|天起|天开始)?|以后|今后|往后|日后|后续)(?!再说|有空|有时间|可能"
        rf"|会|的|再看|慢慢)[，,都请要]*{_ZH_THIS}\S"
    ),
    (
        r"(?:请)?(?:记住|记得|牢记|请记下|记下来|别忘了|不要忘了?|切记|谨记)[，,：:\s]*(?!吗|之前|上次|那|这|把"
        r"|我说|了吗|不)\S{2,}"
    ),
    (
        rf"{_ZH_SUBJECT}{_ZH_CONDITION_PREFIX}{_ZH_SUBJECT}(?:总是|永远)(?:都|要|先|得)*(?!是|会|在|有|没|无法"
        r"|不能|显示|出现|提示|跑不|不了)\S"
    ),
    (
        r"(?!这个函数|这段|它|为什么)[^，]{0,16}?(?:始终|一律|务必|一概|统一)(?:都|要|先|得)*(?!是|会|有|没"
        r"|无法|不能|显示|出现|提示|不了)\S"
    ),
    (
        rf"{_ZH_SUBJECT}{_ZH_CONDITION_PREFIX}{_ZH_SUBJECT}(?:永远不要|永远别|永远不|绝不|绝对不要|绝对不|绝对别"
        rf"|千万不要|千万别|不要再|别再|禁止|严禁|不许|不准|不得|切勿|请勿){_ZH_THIS}\S"
    ),
    (
        r"(?:请)?每(?:次|个|一次)[^，]{0,24}?(?:，)?(?:都|前|之前|后|之后|时|的时候)[，]?(?:都)?(?:要|得|必须"
        r"|请|先|用|使用|跑|运行|执行|写|加|更新|检查|需要|应该)\S*"
    ),
    (
        rf"{_ZH_SUBJECT}{_ZH_CONDITION_PREFIX}{_ZH_SUBJECT}(?:统一|优先|默认|尽量|只|只能|仅|全部"
        rf"|都){_ZH_USE}{_ZH_THIS}\s?\S"
    ),
    (
        rf"{_ZH_SUBJECT}{_ZH_CONDITION_PREFIX}{_ZH_SUBJECT}(?:优先(?:考虑|选择?)|尽量(?:不要?|别|少|避免|保持"
        rf"|写)|统一(?:成|为|写成)){_ZH_THIS}\s?\S"
    ),
    r"(?:所有|任何|每个|凡是)[^，]{1,20}(?:必须|都要|都得|一定要|需要|应该|都应)\S",
    rf"{_ZH_CONDITION_PREFIX}(?:必须|一定要)(?:先|都|用|使用|通过|写|加)(?!这|那|把)[^，]+",
    rf"{_ZH_CONDITION_PREFIX}{_ZH_SUBJECT}(?:不要|别|不用|不能|不可以|勿){_ZH_USE}{_ZH_THIS}\s?\S",
    (
        rf"(?:提交信息|注释|文档|回答|回复|代码|变量名?|命名|日志|测试)[^，]{{0,6}}?(?:请|都|要|得"
        rf"|只)+{_ZH_USE}{_ZH_THIS}\s?\S"
    ),
    rf"(?:提交信息|注释|文档|回答|回复|日志|变量名){_ZH_USE}{_ZH_THIS}\s?\S",
    r"(?:请)?用\s?(?:中文|英文|英语|日文|日语|法语|德语|简体|繁体)(?:来)?\s?(?:回复|回答|写|交流|说|沟通|输出)",
    r"(?:回答|回复|提交信息|代码|注释)[^，]{0,4}(?:请|要|尽量|保持)(?!先)\S{2,}",
    r"(?:请)?(?:不要|别)(?:加|写|添加|生成)(?!这|那|它|了|进)\S{2,}",
    r"(?:请)?(?:不要|别)在[^，]{2,20}(?:情况下|之前|前)\S",
    r"我不(?:想|希望)(?:让)?你\S{2,}",
    r"下次[，,]?(?!再说|有空|吧|见)(?:请|要|记得|先|别|不要|直接|用)\S{2,}",
    (
        r"(?:在?(?:这个|本)(?:项目|仓库)(?:里面?|中)?)?(?:我们?|咱们)(?:都|一直|统一|这里|项目里?|现在|一般"
        rf"|平时)*{_ZH_USE}(?!的|了|过|来|它|这|那)\s?\S"
    ),
    rf"(?:请)?{_ZH_USE}{_ZH_THIS}[^，]{{1,30}}[，,]?\s?(?:不要|别|不|而不是|不再|代替|替代|禁止)[^，]*",
    rf"(?:请|都)?改(?:用|成用|为用|为使用|为){_ZH_THIS}\s?\S",
    (
        r"我(?:更|比较|最|还是|一般|平时)*(?:喜欢|偏好|倾向于?|习惯|偏爱|希望(?:你)?(?:以后|总是|都|每次))(?!这"
        r"|那|它|你|吗)\S?"
    ),
    r"我(?:很|非常)?(?:不喜欢|讨厌|不习惯)(?!这|那|它|你)\S",
)
_ZH_DECISIONS = (
    rf"(?:那|我们|咱们)*(?:[^，早已不这那一还]{{1,10}}?)?(?:就|还是就?){_ZH_USE}{_ZH_THIS}(?!吧|了|过|来)\s?\S{{2,}}",
    (
        r"(?:我们|我|咱们)?(?:最终|最后|已经)?(?:决定|商定|定下来|敲定|选定|确定)(?:了|好)?[，,：:]?(?:要|就|用"
        rf"|使用|采用|不|先|改){_ZH_THIS}\s?\S"
    ),
    r"(?:就)?(?:选|选择|采用)(?:方案|选项)\s?\S",
    r"(?:那就|就)(?:选|走|按)(?!这|那|它|你|我)\s?\S{2,}",
)

# --- other languages, where a clause opens with their plainest words -----------------------------------------------

_OTHERS = (
    (
        r"(?:por favor,? )?(?:siempre (?!est|falla|da |sale|devuelve|me )|nunca (?!he |ha |funciona|termina"
        r"|me )|a partir de ahora|de ahora en adelante|recuerda que|prefiero (?!est|es[eo]))\S"
    ),
    (
        r"(?:por favor,? )?(?:sempre (?!que|falha|dá |retorna)|a partir de agora|de agora em diante"
        r"|lembre-se de|prefiro (?!est|ess|iss))\S"
    ),
    (
        r"(?:s'il (?:te|vous) pla[iî]t,? )?(?:toujours (?!pas|le même)|ne \w+ jamais|n'\w+ jamais|désormais"
        r"|dorénavant|à partir de maintenant|souviens-toi que|rappelle-toi que|je préfère (?!ça|cel))\S"
    ),
    r"(?:utilise|lance|écris|exécute|ajoute|fais)\w* toujours \S",
    (
        r"(?:bitte )?(?:immer (?!noch|wieder|wenn|mehr)|niemals |nie (?!wieder$)|ab jetzt|ab sofort|von nun an"
        r"|in zukunft|merk dir|denk daran|ich bevorzuge (?!das|dies))\S"
    ),
    r"(?:benutze?|verwende|nutze?|schreibe?|führe?) (?:bitte )?(?:immer|niemals|nie) \S",
    (
        r"(?:пожалуйста,? )?(?:всегда (?!пада|возвращ|выда)|никогда не |отныне|с этого момента|впредь|запомни"
        r"|я предпочитаю (?!эт))\S"
    ),
    r"(?:今後は|これからは|これ以降は?|必ず|常に|絶対に|毎回必ず|覚えておいて)[^か？]{2,}",
    r"(?:앞으로(?:는|도)?|항상|절대(?:로)?|반드시|기억해)\s?(?!오류|실패)\S{2,}",
)

_MAY_DIRECT = re.compile(
    r"""\b(?:always|never|ever|from\ (?:now|here|this|today)|forward|henceforth|future|remember|memori[sz]e|memory
        |in\ mind|prefer\w*|rather|like|hate|dislike|stand|stop|quit|avoid|longer|any\ ?more|unless|without|again
        |don[’']?t|not|instead|only|stick|default|we|i|our|team|every\ ?\w*|each|whenever|before|after|when|globally
        |all|any|new|must|should|shall|let[’']?s|let|go|going|decision|decided|option|no|nope|wrong|incorrect|use
        |rule|everywhere|exception|until|next\ time|make\ sure)\b
      | [下总始一永绝不别以今从记务必每统优默尽只用改我就选定决采禁严切请所任凡错应往日后]
      | \b(?:siempre|nunca|partir|adelante|recuerda|prefier\w*|sempre|agora|lembre|prefiro|toujours|jamais|désormais
        |dorénavant|souviens|rappelle|préfère|immer|niemals|nie|jetzt|sofort|nun|zukunft|merk|denk|bevorzuge)\b
      | всегда|никогда|отныне|момента|впредь|запомни|предпочитаю
      | 今後|これ|必ず|常に|絶対|毎回|覚え|앞으로|항상|절대|반드시|기억""",
    re.VERBOSE | re.IGNORECASE,
)

# --- one sentence ----------------------------------------------------------------------------------------------------

_SEGMENT_END = re.compile(r",\s+|，|\s[-–—]{1,3}\s|——|,(?=[\u4e00-\u9fff])")
_ELLIPTIC = re.compile(
    rf"(?:and |but )?(?:(?:never|not|no) (?!{_V}|longer\b|more\b|mind\b)\S+(?: \S+){{0,3}}$|instead of "
    r"|rather than |over |unless |except |even |nor )"
    r"|(?:and |y |et |und |e )?(?:nunca|jamais|nie|niemals) \S+$|(?:而不是|而非|除非|除了|不要$|不是)"
)
_USES = re.compile(
    r"(?:.*\s)?(?:always |only |please |we |i )*(?:use|using|prefer|choose|stick (?:to|with)|run)\s|.*(?:用"
    r"|使用|统一|优先)"
)
_REFUSES = re.compile(
    r"(?:please )?(?:don't use|do not use|never use|stop using|avoid) |(?:不要|别|不再|禁止)(?:再)?(?:用|使用)"
)
_USES_THEN = re.compile(
    r"(?:but |and )?(?:always |please |rather )?(?:use|prefer) |(?:而是|要|请|应该|改|都)*(?:用|使用|改用|换成)"
)
_SCENE_LASTS = re.compile(
    r"(?:from now on(?:wards)?|from here on(?: out)?|from today on|going forward|moving forward|henceforth"
    r"|in (?:the )?future(?: \w+)?|by default|as a rule|next time|when(?:ever)?"
    r" i (?:say|ask|type|write|tell)\b[^,]*|if i (?:say|ask)\b[^,]*"
    r"|globally|everywhere|(?:in|across|for|on) (?:this|our|all|every|each|any)(?: of)?(?: (?:my|our"
    r"|the))? (?:projects?|repos?|repository|repositories|codebases?)"
    r"|从现在(?:起|开始)|从今以后|以后|今后|往后|在?(?:所有|每个|任何)(?:的)?(?:项目|仓库)(?:里面?|中)?"
    r"|在?这个(?:项目|仓库)(?:里面?|中)?|请?(?:记住|记得)|(?:whenever|every ?time|each time) [^,]+)"
)
_REFUSES_MORE = re.compile(r"(?:and |but )?(?:never|not|don't|do not|no) |(?:不要|别|绝不|永远不|不用|禁止|不准|不许)")
_GOES_ON = re.compile(
    r"(?:or|nor|even|because|since|so that|so|unless|except|when|whenever|if|before|after|in|for|on|with"
    r"|without|not|never|e\.g|i\.e|such as"
    r"|including|like|instead|then|too|as well|which|where|while|only|etc|to|until|as|by default|regardless"
    r"|at least|no matter"
    r"|from now on|going forward)\b|and (?!please|now|can|could|fix|add|write|implement|create|refactor"
    r"|look|check|tell|show|explain|let|also)"
    r"|(?:因为|除非|除了|并且|而且|包括|比如|例如|而不是|要用|要|再|然后|否则|不然|先|才|而|方便|以免|这样)"
)
_SETS_SCENE = re.compile(
    r"(?:(?:and|also|but|so|please|ok|no) )*(?:when|whenever|if|before|after|for|in|on|while|unless|during"
    r"|at|inside|under|with|across|every ?time|each time|from now on|from here on"
    r"|from today|going forward|moving forward|by default|as a rule|once|until|globally|everywhere|in general)\b"
    r"|(?:当|在|每次|每个|如果|以后|今后|从现在|从今|写|提交|对于|凡是|只要|除非|所有|任何|全局)"
    r"|.*(?:时候?|之前|前|之后|的话|里)$"
)
_TAIL = re.compile(
    r"[\s,，]*(?:please|thanks|thank you|thx|ok|okay|pls|谢谢|好吗|好吧|吧|ok吗)?[\s,，.!。！~]*$", re.IGNORECASE
)
_REMEMBER = re.compile(
    r"(?:please )?(?:do )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: that|\s+to|,|\s*:)*\s+"
    r"|(?:please )?(?:save|add|write|commit|store|put) (?:this |it )?(?:to|in|into) (?:your "
    r"|the )?memory\s*[:,-]?\s*(?:that )?"
    r"|(?:请)?(?:记住|请记得|记得|牢记|记下来|切记|谨记)[，,：:\s]*"
)


_SENTENCE_MAX_CHARS = 1000  # a longer one was pasted
_MOST_STARTS = 12  # places in one segment where a direction is looked for


def _directions_of_sentence(sentence: Sentence, *, corrected: bool) -> Iterator[Direction]:
    """Yield the directions of one sentence; ``corrected`` says that the sentence before rejected what was done."""
    masked = sentence.masked
    if len(masked) > _SENTENCE_MAX_CHARS or not _MAY_DIRECT.search(masked):
        return
    polite = _POLITE_REQUEST.match(masked) is not None
    if (sentence.question and not polite) or _ASKS.match(masked) or re.search(r"(?:吗|呢|么)[\s.。]*$", masked):
        return
    if _UNSURE.search(masked):
        return
    correction = corrected or _CORRECTION.match(masked) is not None
    segments = _segments(masked)
    index = 0
    while index < len(segments):
        start, end = segments[index]
        found = _match_clause(masked, start, end, correction=correction)
        if found is None:
            index += 1
            continue
        kind, begin = found
        if index and _SETS_SCENE.match(masked, segments[index - 1][0], segments[index - 1][1]) and begin <= start + 1:
            begin = _after_lead(masked, *segments[index - 1])
        index += 1
        while index < len(segments) and _continues(masked, segments[index], correction=correction):
            end = segments[index][1]
            index += 1
        direction = _direction(sentence, begin, end, kind=kind, correction=correction)
        if direction is not None:
            yield direction


def _segments(masked: str) -> list[tuple[int, int]]:
    """Cut a sentence at its commas and dashes, but keep what is only half a clause with what it belongs to."""
    segments: list[tuple[int, int]] = []
    start = 0
    for match in [*_SEGMENT_END.finditer(masked), None]:
        end = match.start() if match else len(masked)
        joins = bool(segments) and (
            _ELLIPTIC.match(masked, start, end) is not None
            or _SCENE_LASTS.fullmatch(masked, _after_lead(masked, *segments[-1]), segments[-1][1]) is not None
            or (
                _REFUSES.match(masked, _after_lead(masked, *segments[-1]), segments[-1][1]) is not None
                and _USES_THEN.match(masked, start, end) is not None
            )
            or (
                _REFUSES_MORE.match(masked, start, end) is not None
                and _USES.match(masked, _after_lead(masked, *segments[-1]), segments[-1][1]) is not None
            )
        )
        if joins:
            segments[-1] = (segments[-1][0], end)
        elif end > start:
            segments.append((start, end))
        start = match.end() if match else end
    return segments


def _match_clause(masked: str, start: int, end: int, *, correction: bool) -> tuple[EntryKind, int] | None:
    """Find the first place in a segment where a direction begins; return its kind and that place."""
    for begin in islice(_starts(masked, start, end), _MOST_STARTS):
        if _REPORTED.search(masked, 0, begin):
            return None
        kind = _kind_at(masked, begin, end, correction=correction)
        if kind is not None:
            return kind, begin
    return None


def _starts(masked: str, start: int, end: int) -> Iterator[int]:
    led = _after_lead(masked, start, end)
    yield led
    if led != start:
        yield start
    for match in _INNER_START.finditer(masked, led, end):
        yield _after_lead(masked, match.end(), end)


def _after_lead(masked: str, start: int, end: int) -> int:
    """Pass over the words that lead into a clause and say nothing: "ok, and please"."""
    while True:
        while start < end and masked[start].isspace():
            start += 1
        match = _LEAD.match(masked, start, end) or _ZH_LEAD.match(masked, start, end)
        if not match or match.end() == start or match.end() >= end:
            return start
        if _zh_negation_follows(masked, match):
            return start
        start = match.end()


def _zh_negation_follows(masked: str, match: re.Match[str]) -> bool:
    """Whether the lead is really half of 不要 or 不用: no correction, but the direction itself."""
    return match.group() in {"不", "不是", "好", "那", "你"} and masked[match.end()] in "要用能许准得再可是会像"


def _kind_at(masked: str, begin: int, end: int, *, correction: bool) -> EntryKind | None:
    clause = masked[begin:end]
    stated = _first(_PREFERENCES, clause) or _first(_ZH_PREFERENCES, clause) or _first(_OTHERS, clause)
    decided = _first(_ZH_DECISIONS, clause) or _first(_DECISIONS, clause)
    if decided:
        momentary = clause.startswith("let") and _is_momentary(clause, masked)
        return None if momentary else EntryKind.DECISION
    if stated:
        return None if _is_momentary(clause, masked) or _reports_trouble(clause) else _stated_kind(clause)
    if (
        correction
        and _first(_CORRECTED, clause)
        and not _POINTS.search(clause)
        and not _is_momentary(clause, masked)
        and not _TROUBLE.search(clause)
    ):
        is_fact = re.match(r"(?:the|our|my)\s|(?:端口|版本|分支|路径|地址|默认|文件|目录|命令)", clause)
        return EntryKind.DECISION if is_fact else EntryKind.PREFERENCE
    return None


_POINTS = re.compile(r"\b(?:it|this|that|these|those|them|here|there|again|something|anything)\b|[这那它]")


def _first(patterns: tuple[str, ...], clause: str) -> re.Match[str] | None:
    return next((match for pattern in _compiled(patterns) if (match := pattern.match(clause))), None)


@cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile a group of patterns once, when a text first needs it: most commands never do."""
    return tuple(map(re.compile, patterns))


_LASTING = re.compile(
    r"always|never|from now on|remember|every|each|whenever|总是|永远|以后|今后|每次|记住|一律|始终|从现在|务必"
)


def _is_momentary(clause: str, masked: str) -> bool:
    """Whether the clause is bound to this very moment or place, and no word makes it last."""
    if _LASTING.search(clause):
        return False
    if re.search(_NOW_ONLY, clause) or re.search(
        r"这次|这一次|暂时|目前先|今天|现在先|这里先|先别|这个(?:函数|文件|方法|地方|类|测试)", clause
    ):
        return True
    return bool(re.search(r"\bhere\b", clause) and not re.search(r"\bwe\b", masked))


def _reports_trouble(clause: str) -> bool:
    """Whether what looks like a rule reports how something misbehaves."""
    if not _TROUBLE.search(clause):
        return False
    ordered = re.match(rf"(?:please )?(?:always|never|don't|do not|remember|make sure|(?:{_VERBS}))\b", clause)
    return not (
        ordered or re.search(r"\b(?:must|should|have to)\b|必须|务必|不要|绝不|一律|记住|记得|都要|以后|禁止", clause)
    )


_ACTION = (
    r"(?:run|execute|build|deploy|release|rebase|squash|tag|bump|migrate|restart|regenerate|sync|test|lint"
    r"|format|commit(?! messages?)|push"
    r"|rerun|re-run|update|check|verify|ask|review|back ?up|start|open|create|generate)\b"
)
_PROCEDURE = re.compile(
    r"(?:(?:please|always|remember|to|that|you|we|i|should|must|need|have|want|make sure|be sure"
    r"|from now on|going forward"
    rf"|ensure|first|in future|{_RECURS})[\s,:]+)*{_ACTION}"
)
_ZH_PROCEDURE = re.compile(r"(?:(?<!优)先|再|跑|运行|执行|构建|部署|测试一遍|检查|更新|重启|提交)")
_NEGATED = re.compile(
    r"\b(?:never|don't|do not|not|no longer|stop|avoid|prefer)\b(?! forget)|不要|别|绝不|永远不|禁止|不许|不准|喜欢"
)


def _stated_kind(clause: str) -> EntryKind:
    """A rule that says what to do when is a procedure; every other is a preference."""
    if _NEGATED.search(clause):
        return EntryKind.PREFERENCE
    scene = _SETS_SCENE.match(clause)
    acts = _PROCEDURE.match(clause) or (scene and re.search(rf", (?:please )?(?:always )?{_ACTION}", clause))
    if acts or (_ZH_PROCEDURE.search(clause) and re.search(r"每次|前|后|时|(?<!优)先|再", clause)):
        return EntryKind.PROCEDURE
    return EntryKind.PREFERENCE


def _continues(masked: str, segment: tuple[int, int], *, correction: bool) -> bool:
    """Whether a further segment still belongs to the direction before it."""
    start, end = segment
    if re.match(r"(?:and )?(?:now|please|first|also|thanks)\b", masked[start:end]):
        return False
    if _match_clause(masked, start, end, correction=correction) is not None:
        return False
    if _GOES_ON.match(masked, start, end):
        return True
    words = masked[start:end].split()
    return len(words) <= 2 and not re.match(_V, masked[start:end]) and masked[start:end].isascii()


def _direction(sentence: Sentence, begin: int, end: int, *, kind: EntryKind, correction: bool) -> Direction | None:
    text, masked = sentence.text[begin:end], sentence.masked[begin:end]
    remember = _REMEMBER.match(masked)
    if remember and _says_enough(masked[remember.end() :], words=3):
        text, masked = text[remember.end() :], masked[remember.end() :]
    tail = _TAIL.search(masked)
    if tail:
        text, masked = text[: tail.start()], masked[: tail.start()]
    if text.count("(") < text.count(")"):
        text, masked = text.rstrip(")"), masked.rstrip(")")
    if not _says_enough(masked):
        return None
    if _POINTS_ELSEWHERE.match(masked):
        return None
    if kind is not EntryKind.DECISION:
        kind = _stated_kind(masked)
    everywhere = _EVERYWHERE.search(masked) is not None
    return Direction(
        kind=kind, text=text, condition=_condition(text, masked), everywhere=everywhere, correction=correction
    )


_POINTS_ELSEWHERE = re.compile(
    rf"{_WANTS}?(?:(?:never|always) \w+ (?:it|this|that|these|those|them)$"
    rf"|(?:please )?{_V} (?:it|this|that|these|those|them)\b(?! \w+ (?:instead|not))|if (?:the|an?|it|this|that)\b)"
)


def _says_enough(masked: str, *, words: int = 2) -> bool:
    """Whether a stranger could make anything of it: two words, or a few signs of Chinese."""
    return (
        len(re.findall(r"[\w▮][\w▮'./-]*", masked)) >= words
        or len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", masked)) >= 3
    )


# --- where and when it holds -----------------------------------------------------------------------------------------

_EVERYWHERE = re.compile(
    r"\b(?:in|across|for|on|with) (?:all|every|each|any)(?: of)?(?: (?:my|our|the|your"
    r"|other))* (?:projects?|repos?|repositor(?:y|ies)"
    r"|codebases?|workspaces?)\b|^(?!we\b|our\b|i (?:hate|don't)).*\beverywhere\b(?!"
    r" (?:in|else))|\bno matter (?:which|what) (?:project|repo)"
    r"|\bfor everything i\b"
    r"|\bas a global (?:rule|preference)|^globally\b|^(?!.*\binstall).*\bglobally$"
    r"|(?:所有|全部|每个|每一个|任何|各个)(?:的)?(?:项目|仓库|工程|代码库)(?!文件|成员)|全局(?!变量|安装"
    r"|状态|样式)(?:都|规则|适用|生效|统一|用|使用|，|$)|不管(?:哪个|什么)项目"
    r"|すべてのプロジェクト|全プロジェクト|모든 프로젝트|in allen (?:meinen )?projekten"
    r"|dans tous mes projets|en todos mis proyectos"
    r"|em todos os meus projetos|во всех проектах"
)
_PLACE = (
    r"(?:ci|production|prod|staging|dev|development|tests?|unit tests|docker|windows|macos|mac|linux|wsl"
    r"|github actions|main"
    r"|master|release branches|frontend|backend|python|typescript|javascript|rust|go|java|scripts?"
    r"|migrations?|docs|documentation"
    r"|commit messages|pull requests|prs|code reviews?|reviews|comments|notebooks|sql|yaml|markdown"
    r"|shell scripts|benchmarks)"
)
_CONDITIONS = (
    r"\b(?:when(?:ever)?|while|if|unless|until|as long as|every ?time|each time) [^,;]+",
    (
        r"\b(?:before|after) (?:(?:every|each|any|all|a|an|the|your|you|new|making|opening|creating|sending|we"
        r"|i|single) )*(?:pull requests?|merge requests?|[\w-]+)(?: (?:to|into) [\w▮/-]+)?"
    ),
    rf"\b(?:before|after) (?!going\b)[\w-]+ing(?: (?!(?:{_VERBS})\b)[\w▮./-]+){{1,3}}",
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


def _condition(text: str, masked: str) -> str:
    """Return the words that say under what circumstances a direction holds, or ""."""
    found = [match for pattern in _compiled(_CONDITIONS) if (match := pattern.search(masked))]
    found = [match for match in found if not _EVERYWHERE.search(match.group())]
    if not found:
        return ""
    match = min(found, key=lambda each: (each.start(), -each.end()))
    return text[match.start() : match.end()].strip()
