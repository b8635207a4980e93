"""Whether a text merely mentions tools: what was tried, compared, read, reported, or used elsewhere, by others, once.

"We tried vitest instead of jest, but stayed with jest", "vue is out of scope", "my last company moved from jest to
vitest", "vitest now complains about its config": such a text lays nothing down, and ends nothing that was laid down. It
is asked of any text that names a tool of which a project uses one; in doubt a text is a mere mention, since what is
ended wrongly is lost.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from memory_pipeline.rivals import FAMILY_OF, named_tools

#: Stands for a tool.
_T = "§"


@lru_cache(maxsize=1 << 13)
def merely_mentions(text: str) -> bool:
    """Whether a text in lower case tells of tools, and not which one is used here from now on."""
    tools = named_tools(text)
    if not tools:
        return False
    names = "|".join(map(re.escape, sorted(tools, key=len, reverse=True)))
    marked = re.sub(rf"`?(?<![a-z0-9_-])(?:{names})(?![a-z0-9_-])`?", _T, text)
    marked = _compiled(_CONCEDED).sub("", marked)
    if any(_compiled(kind).search(marked) for kind in _KINDS):
        return True
    if _compiled(_OF_ITSELF).search(marked) and not _compiled(_CHOICE).search(marked):
        return True
    if not _compiled(_BY_NOW).search(marked) and _compiled(_ONCE).search(marked):
        return True
    families = {FAMILY_OF[tool] for tool in tools}
    return any(_is_another(found, families) for found in _compiled(_SUBJECT).finditer(marked))


@cache
def _compiled(forms: str) -> re.Pattern[str]:
    """Compile a long pattern once, when a text first needs it: most commands never do."""
    return re.compile(forms)


def _is_another(found: re.Match[str], families: set[str]) -> bool:
    """Whether who is said to use a tool is another than the project and those who work on it."""
    if found["who"] is None:
        return True  # read in Chinese, where the project's own are left out
    *describing, head = found["who"].split()
    for_what = {word for family in families for word in _USED_BY.get(family, "").split()}
    if _US & {*describing, head}:
        return False
    is_own = head.removesuffix("'s") in _OWN | for_what and set(describing) <= _DESCRIBING_OWN
    return not is_own


#: What is granted before the person's own word, or is said to be doubted.
_CONCEDED = (
    r"\b(?:i know|yes|whatever|no matter what|regardless of what|even (?:if|though)|although|though|despite|while)\b"
    r"[^,.;]*, ?(?:but )?|\b[^,.;]*[,.;] but (?=since|we|i|the|from|now)|(?:虽然|尽管|不管)[^，,]*[，,](?:但是?)?"
)
_VERY = r"(?:(?:now|much|really|very|so|far|a lot|also|still|already|just|quite|not|never|almost|more|less|too) )*"
_TURNING = r"(?:rewrit|swapp|replac|mov|switch|migrat|chang|convert|dropp|port)ing"
#: Tells a choice beside what is told of a tool: "tox crashes, so we use nox".
_CHOICE = (
    r"\b(?:we|use|so|hence|please|pls|take|prefer|that one|is in|instead|stay away)\b"
    rf"|\b(?:it's|it is)(?: now)? {_T}|(?<!{_T} )(?<!than {_T} )(?<!again )\bnow\b|{_T} (?:it is|is in|took)\b"
    r"|用|换|改"
)
#: What a tool does, or how it is: without a choice beside it, a mere mention.
_OF_ITSELF = (
    rf"{_T} (?:(?:now|still|already|just|also|again|suddenly|always|sometimes) )*"
    r"(?:complain|report|say|print|warn|crash|hang|throw|show|find|need|return|exit|break|log|refuse"
    r"|change|drop)(?:s|ed)?\b"
    rf"|{_T} (?:is|was|isn't|wasn't) {_VERY}(?:down|up(?! to)|running|there|available|at version|on version"
    r"|out of date|installed|broken|stuck|crashing|failing|back)\b"
    rf"|{_T} (?:is|was|are|has become|became|got|looks?|looked|feels?|seems?|sounds?) {_VERY}"
    r"(?:(?!rather|other)\w+er than|better|best|faster|slower|nicer|good|great|nice|fine|cool|popular"
    r"|useless|powerful|mature|interesting)\b"
    rf"|{_T} (?:has|have|had) {_VERY}(?:gained|grown|improved|matured|caught up)\b"
)
_KINDS = (
    # tried and given up, looked at and turned down
    (
        r"^(?=.*\b(?:tried|trial|evaluated|looked|considered|compared|gave)\b).*\b(?:stay(?:ed)? (?:with|on)"
        r"|stuck (?:with|to)"
        rf"|we kept|kept {_T}|keep {_T}|so (?:i|we) reverted|(?:thrown|threw) (?:it )?out|(?:rolled|put"
        rf"|changed) (?:it )?back"
        r"|came back to|turned (?:it )?down|not worth|nice but no|no (?:gain|benefit|difference|point|use in it))\b"
        r"|\b(?:(?:decided|voted|spoke) against|(?:i|we) (?:said no|declined|refused|threw (?:it|that"
        r"|this) away)|can leave|was a joke"
        r"|kidding|nothing changed|there (?:will be|is|was|won't be) no (?:\w+ )?(?:switch|move|migration|change)"
        r"|(?:never|nobody|no one) (?:\w+ )?(?:suggest|propos|want|mov|switch"
        r"|replac)\w*(?<!move)(?<!switch)(?<!replace)"
        r"|(?:don't|do not) (?:ever )?(?:suggest|propose)|(?:nobody|no one) wants|was declined)\b"
        rf"|^[^§]*{_T} (?:(?:is|was|were|are|has been|'s) )?(?:rejected|turned down|declined|ruled out"
        rf"|out of (?:scope|the question)"
        r"|not (?:an? |even )?(?:option|candidate|alternative|choice)|no (?:option|candidate|alternative|choice)\b"
        r"|dead to me|off the list|(?:gone|off|removed|struck) from (?:the|our) (?:short ?)?list)[^§]*$"
        r"|\b(?:short ?list|candidates?|contenders?|alternatives? (?:to|were|are))\b"
        rf"|试过|试用|但不换|评估过|没有?采用|没采纳|否决|不在考虑|留在 ?{_T}|还是留|又改回|又换回|效果不好"
        rf"|不划算|没答应"
        rf"|拒绝|提过|提议|没人想|[想要]把 ?{_T}"
    ),
    # only imagined, or what it would take
    (
        r"\b(?:perhaps|maybe|might|whether|votes? on|proposals?|proposes?|suggests?|discuss(?:ing|es)"
        r"|would lose us|imagine"
        r"|supposing|assum(?:e|ing) (?:we|you|that|i)|pretend|hypothetically|what if|as if|not that|close to"
        r"|dreamt|dreamed|rumou?rs?|what (?:we|you|i)'d"
        r"|(?:we|you)'d (?:have|need|gain|lose|save|still|be)|it'd|that'd|had not been|if only|had (?:we|i|they)"
        r"|would (?:take|cost|mean|break|need|have|save|help|require|still|only|also|solve|fix|make))\b"
        r"|\bsuppose (?:we|you|i|that)\b"
        rf"|(?:^|[,.;] ){_TURNING} [^,.;]*{_T}[^,.;]*"
        r" (?:would|will|took|takes|brought|brings|costs?|means|needs|makes|made|helps|helped|sounds|seems"
        r"|feels|was|is) "
        rf"|(?:把|从) ?{_T} ?(?:换|改|迁|切)(?:成|到) ?{_T} ?(?:要|会|需|得|很|太|不|没)|要是换|要不是|就要重写|就得重"
    ),
    # talked about, read, written elsewhere
    (
        r"\b(?:(?:talk|hear|rave|complain)(?:s|ed|ing)? (?:\w+ )?(?:about|of)|(?:i'm|am|been|was|were) reading"
        r"|reading (?:up|about)"
        r"|hyped?|swears? by|(?:i|we)(?:'ve)? heard|guides?|tutorials?|blogs?|articles?|changelog|release notes"
        r"|videos?|books?|courses?|podcasts?|newsletters?|faq|wiki|surveys?|chapter|how to|printed|explains?"
        r"|describes?|interview"
        r"|(?:former|previous|last|old) (?:employer|company|job|team|project)|typo was"
        r"|why (?:we|you|they|i) (?:don't|do not|still|never))\b"
        r"|听说|据说|[都在]讨论|文档里|教程|博客|文章|帖子|有人(?:说|问|推荐)"
    ),
    # once, here alone, on one machine
    (
        r"\b(?:(?:run|try|do|build|start|check|test) [^,.;]{0,20}\bonce\b|once (?:with|without|more) "
        r"|(?:for|in|on) (?:this|that|the|a|my|one) (?:spike|experiment|test run|poc|ticket|pr|pull request|branch"
        r"|commit|hackathon|demo|comparison|workshop|exercise|session|run|task|side project|toy project)\b(?! runner)"
        r"|on (?:my|a|one|his|her|your|somebody's) (?:\w+ )?(?:branch|machine|laptop|mac|computer|fork|box|notebook)\b"
        r"|and compare\b|for (?:now|comparison)\b|in (?:the|my|your) editor\b|\b(?:of|at) (?:the|a"
        r"|our) (?:customer|vendor|partner)s?\b|as an experiment|side by side)"
        r"|分支上|临时|试了?一?试|(?:我|本|自己)的?(?:电脑|机器|机|笔记本)上"
    ),
    # what it does, how it is, what it says
    (
        rf"{_T} ?(?:现在|最近)?也?(?:很|挺|蛮|比较|更)(?:流行|火|好|快|成熟|稳定|不错)|{_T} ?(?:现在)?(?:会|在"
        rf"|又|老是?|总是?)?(?:报|打印|警告|崩|卡住|失败)"
        rf"|{_T} (?:(?:is|was|are) )?{_VERY}(?:better|(?!rather|other|earlier)\w+er) than {_T}|{_T} is not wrong"
        rf"|{_T} (?:container|server|process|service|audit|table|plugin|command)\b (?:has (?:become|got)|died"
        rf"|failed|crashed|stopped)\b"
        rf"|\b(?:stop|restart|start|kill) {_T} (?:before|after|while|first|when|and|on)\b"
        rf"|\bi (?:re)?(?:stopped|started|killed) {_T}|{_T} stopped working|\b(?:error|warning"
        rf"|stack ?trace)s?\b|cannot find|did you mean"
        rf"|\bdropped support for\b|\bno longer ships?\b|leftovers? of|报错|提示|{_T}[^，,]{{0,6}}挂了"
        rf"|停掉 ?{_T}|升级到 ?\d"
    ),
)
#: What was so at some time; a person who says how it is now tells of a change.
_ONCE = (
    r"\b(?:(?<!for )once(?! (?:and for all|told|said|i|we|you|a|per|every|again))|originally|initially|at first"
    r"|back then"
    rf"|at the time|in the past|in the old days|long ago|(?:years?|decades?|ages) ago|in (?:19|20)\d\d"
    rf"|(?<!be )(?<!are )(?<!get )used to|came from)\b"
    rf"|\bbefore {_T}|当年|早些年|早几年|后来才|当初|早年|很久以前|几年前|(?<!从)以前(?![说讲让提的])"
)
_BY_NOW = (
    r"\b(?:now|nowadays|these days|today|no longer|any ?more|no more|from now|as of|going forward|instead"
    r"|gone|outdated|obsolete)\b|现在|如今|改用|不再|以后|作废"
)
#: Who is said to use a tool, or to have gone over to it.
_SUBJECT = (
    r"(?:(?<!all )(?<!all of )\b(?:the|our|my|an?|another|every|some|many|most|their|its|his|her|several) "
    r"|\b(?=(?:customers?|upstream|colleagues?|users?|vendors?|friends?|competitors?|applicants?|others|they|he|she"
    r"|some(?:one|body)"
    r"|whoever|management|any(?:one|body)|people) ))"
    r"(?P<who>(?:[a-z'-]+ ){0,2}?[a-z'-]+) (?:of mine |(?:with|from|in) [^§,.;–—-]{1,20} )?(?:"
    r"(?:(?:has|have|had|is|are|was|were|been|being|also|all|already|now|just|recently|finally|still) ){0,4}"
    r"(?:moved|moves?|switch(?:ed|es)?|migrated|converted|went|goes|changed|adopted|us(?:es?|ed|ing)|prefers?"
    r"|likes?|swears?"
    r"|replaced|replaces|rewrote|rewritten|dropped|ditched|wants?|wanted|discuss(?:es|ed|ing)|thinks?|believes?"
    r"|said|recommend\w*|loves?|runs? (?:on|with)|relies|works? with|rewritten|ported|built)"
    rf"|(?:(?:has|have|had|also|all|already) )*(?:is|are|been|now) (?:(?:now|already|still|all) )?(?:on"
    rf"|with)) (?:[^§,.;]{{0,24}}? )?{_T}"
    r"|(?:^|[，,。；\s])(?:(?!我们|咱们|这个|本|整个|项目)[\u4e00-\u9fff]){0,4}(?:端"
    r"|(?<!数据)(?<!仓)(?<!代码)库|(?<!我们)组|那边|部门"
    r"|服务|公司|同事|客户|用户|的人|有人|网上|别人|示例项目|[那这]块|页面?|后台|站|老项目|小项目|隔壁项目"
    r"|别的项目)(?:里"
    r"|的人)?(?:已经|现在|都|也|早就"
    r"|刚刚?|昨天|上周)*[^，,。；§]{0,3}(?:从|用|换|改|迁|切|把|是)"
)
_OWN_WORDS = """
project projects repo repository codebase code team teams group company organisation organization org stack
setup product
system developers devs engineers people folks guys consortium board lead leads boss client cto ops everyone everything
library site game firmware toolchain pipeline ci monorepo thing world office lab department crew prof professor
supervisor manager architect pm owner devops infra client choice rule
default standard convention decision migration switch tool tools replacement package application new old latest final
correct right way rest future only one whole
"""
_OWN = frozenset(_OWN_WORDS.split())
#: "the prof makes us use tox", "apart from the demo everything runs on tox".
_US = frozenset({"we", "us", "i", "me", "you", "everything", "everyone", "that"})
_DESCRIBING_WORDS = """
whole entire complete full own dev main core current engineering development new old only our house final right
correct default standard general team project company next better preferred official
"""
_DESCRIBING_OWN = frozenset(_DESCRIBING_WORDS.split())
#: What of a project may stand for it, where the tools are for just that.
_USED_BY = {
    "database": "database databases db storage",
    "python tests": "tests test suite",
    "javascript tests": "tests test suite",
    "frontend": "frontend ui app",
    "python web": "backend api service server app",
    "javascript style": "formatting formatter",
    "python style": "formatting formatter",
    "python lint": "linting linter",
    "bundler": "build builds",
    "hosting": "hosting servers",
    "containers": "containers",
    "tests in the browser": "tests suite",
    "broker": "events queue broker",
    "styles": "styles css",
    "python logging": "logging logs",
    "javascript logging": "logging logs",
}
