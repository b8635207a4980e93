"""What a person announces of tools: that one left, that another came, in whatever words, with or without the old one.

"I told you tox, that's outdated, nox now", "s/tox/nox/", "tox 作废，以后都是 nox", "this repo has moved over"
" to nox". A
text is read only where it names tools of one use and says that something changed. A question, a plan, a wish, a
condition, one time alone and what others do announce nothing.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from msgspec import Struct

from memory_pipeline.changes import is_unsettled
from memory_pipeline.folding import folded
from memory_pipeline.rivals import FAMILY_OF, named_tools


class Switch(Struct, frozen=True, kw_only=True):
    """Tools of one use: what came, and what left; either may be unnamed. What the words don't tell is in neither."""

    family: str
    entered: frozenset[str]
    left: frozenset[str]


@lru_cache(maxsize=1 << 13)
def switch_in(text: str) -> Switch | None:
    """Return the switch that a text announces; None where it announces none, or names tools of several uses."""
    said = " ".join(folded(text).replace("`", " ").split())
    tools = named_tools(said)
    if len({FAMILY_OF[tool] for tool in tools}) != 1 or not announces_change(said):
        return None
    marked = re.sub(r"[()\"“”] ?(?=[a-z])|(?<=[a-z])[)\"“”]", "", said)
    for number, tool in enumerate(tools):
        marked = re.sub(rf"(?<![a-z0-9_-]){re.escape(tool)}(?![a-z0-9_-])", f"§{number}§", marked)
    left = _on_one_side(marked, tools, _LEFT)
    entered = _on_one_side(marked, tools, _ENTERED) - left
    if len(tools) > 1 and bool(entered) != bool(left):  # of two, the other one is meant
        rest = frozenset(tools) - left - entered
        left, entered = (rest, entered) if entered else (left, rest)
    return Switch(family=FAMILY_OF[tools[0]], entered=entered, left=left) if left or entered else None


def announces_change(folded: str) -> bool:
    """Whether a text in lower case says that something changed, or was told wrongly, and leaves no doubt of it."""
    return _compiled(_CHANGED).search(folded) is not None and not is_unsettled(folded)


def _on_one_side(marked: str, tools: tuple[str, ...], forms: str) -> frozenset[str]:
    found = _compiled(forms).finditer(marked)
    return frozenset(tools[int(number)] for match in found for number in match.groups() if number is not None)


@cache
def _compiled(forms: str) -> re.Pattern[str]:
    """Compile a long pattern once, when a text first needs it: most commands never do."""
    return re.compile(forms)


_CHANGED = (
    r"\b(?:moved?|moving|switch(?:ed)?|migrated?|migration|convert(?:ed)?|replac(?:e[ds]?|ing|ement)|swap(?:ped|ping)?"
    r"|chang(?:ed?|es)|drop(?:ped)?|ditch(?:ed)?|retired?|deprecated|decommissioned|unmaintained|gone|removed|ripped"
    r"|part(?:ed)? with|rid of|(?:tired|instead|sick) of|rather than|(?:done|through) with|stop|no (?:longer"
    r"|more)|not more|any ?more|after all|now|nowadays|these days|meanwhile"
    r"|as of|since|actually|the correct|in my (?:head|mind)|from (?:now|today|tomorrow|here|this|next)|starting"
    r"|going forward|out(?:dated)?"
    r"|obsolete|void|history"
    r"|dead|over|scratch|scrap(?:ped)?|(?<!i )(?<!don't )(?<!dont )(?<!not )(?<!never )forget|ignore"
    r"|disregard|never ?mind|don't mind|strike|correct(?:ion|ed)|amend"
    r"|take back|overruled|my (?:bad|mistake)|sorry|wrong|misspoke|mix(?:ed)? (?:that|those|it|these|up)|typo"
    r"|(?:i|we) (?:said|told|asked|meant|mentioned)|earlier|formerly|previously|new (?:default|standard"
    r"|rule|choice)|update"
    r"|adopted|settled|became|become|took|takes|taken|left|leav(?:e|ing)|goodbye|bye|farewell|supersed(?:ed?"
    r"|es)|reverted"
    r"|banned|forbidden|mandatory|killed|toast|rip|sunset|phas(?:ed|ing) out|off the table|transitioned"
    r"|landed on|successor|any longer|mistaken?|unlearn|pulled the plug|ported|decision|decided|stopped"
    r"|finished|final(?:ly|ized)?|expired|meant|should read|edit|today|went|gave up|abandon(?:ed)?"
    r"|voted|yesterday|read \S+ where\w*)\b"
    r"|→|⇒|[=-]>|\bs/|\bold\W.*\bnew\W"
    r"|[换迁切替]|改[用成为走到 ]|代替|取代|接替|不再|别再|不用|作废|废弃|弃用|下线|淘汰|停用|退役"
    r"|过时|不算|撤回|更正|[说讲记搞弄]错|忘|现在|不要|别|不对|想了想|(?:之前|前面|刚才|上次|以前"
    r"|原来)[^，]{0,4}[说讲]"
    r"|起(?:都|用|就|统一|改|，| )|以后|今后|往后|新的?(?:标准|默认|规定)|旧.*新|再见|最近|不是|下掉|已经|有误|应为"
)
_T = r"§(\d)§"
_THE = r"(?:(?:the|our|do|have|want|need|all|old|to|use|using|go with|with|on|for|in|of|about|up|pulling) ){0,3}"
_FEW = r"(?:[\w'§-]+ ){0,3}?"
_OVER = (
    r"(?:gone(?! from)|out(?! of| with)|over|dead|history|deprecated|dropped(?! §)|retired|banned|removed(?! §)"
    r"|outdated|obsolete|replaced(?! §)|wrong(?! in)|void|yesterday"
    r"|unmaintained|decommissioned|expired|scrapped|abandoned|no (?:more|longer)|end of life|past"
    r"|ripped|stripped|taken off"
    r"|sunset|finished|toast|killed|off the table|a mistake|a bad idea|phased out|being phased|superseded(?! §))"
)
_LEAVES_VERB = (
    r"(?:replac(?:e[ds]?|ing)|swap(?:ped|s|ping)?|trad(?:e[ds]?|ing)|exchang(?:e[ds]?|ing)|ditch(?:ed"
    r"|es|ing)?|drop(?:ped|s|ping)?"
    r"|leav(?:e|es|ing)|left|abandon(?:ed|ing)?|scrap(?:ped|ping)?|retir(?:e[ds]?|ing)|remov(?:e[ds]?"
    r"|ing)|quit|stop(?:ped)?"
    r"|deprecat(?:e[ds]?|ing)|(?<!i )(?<!don't )(?<!dont )(?<!not )(?<!never )forget|ignore|disregard"
    r"|(?:never ?|don't |dont )mind|strike|scratch(?: that about)?|withdraw|took(?=[^.,;]* (?:off|out|down"
    r"|away)\b)|take back|had(?= §\d§ in (?:my"
    r"|the) (?:head|mind))|thought (?:it was|of)|supersed(?:e[sd]?"
    r"|ing)"
    r"|rid|part(?:ed)? with|gave up|give up|goodbye|bye|farewell|formerly|previously|no more|(?:no"
    r"|not) longer|unlearn|plug on|killed|banned|not more|not|nor|never|no|don't|dont"
    r"|stop using|nobody \w+ \w+|(?<!be )(?<!is )(?<!are )(?<!been )done with|through with|tired of"
    r"|sick of|instead|rather than|in (?:place"
    r"|lieu|stead) of|away from|from|off"
    r"|than|said about|told you about"
    r"|mentions?|wrong about|note about|remark about|what about|changed my mind about|tried|old:?"
    r"|out:|s/|was on|used|relied on)"
)
#: What the person says they had said left, unless it is said again: "I said tox, not nox".
_SAID = (
    r"(?:i|we) (?:have |had |just |first |always |earlier |once )*(?:said|told you|asked you|meant|mentioned|called)"
)
_SAID_AGAIN = r"(?!,? (?:and )?(?:not|no|never|don't)\b|[!.]+ (?:not|no|never)\b)"
_LEFT = (
    rf"{_SAID}[:,]? ?{_THE}{_T}{_SAID_AGAIN}|"
    rf"{_LEAVES_VERB}[:,]? ?{_THE}{_T}"
    rf"|{_T}(?: (?:days?|era|setup|rule|note|part|thing|support|licen[cs]e|contract|remark|code|stuff"
    rf"|box(?:es)?|servers?|machines?|instances?|hosts?|installation))?"
    rf"(?:,? (?:is|was|has been|had been|are|were|got|turned|'s|ran|went|has)|'s)"
    rf" (?:[\w']+ ){{0,3}}?{_OVER}\b"
    rf"|{_T}(?:,? (?:is|was|does|did|has|do))(?:n't| not)\b|(?:licen[cs]e|contract|support|end) (?:of|for|with) {_T}"
    rf"|{_T}:? (?:is )?(?:any longer|no longer (?:exists|works|applies|holds|counts)|gone(?! from)"
    rf"|out(?! of| with)|goes away|no more|any ?more|was yesterday|didn't"
    rf"|did not|couldn't|could not|ran out|→|⇒|[=-]>)"
    rf"|{_T} ?(?:→|⇒|[=-]>)|\bs/{_T}/"
    rf"|(?:不再?|别再?|停止|禁止|不要再?)(?:去)?(?:使?用|装|提)?了? ?{_T}|(?:从|把|由(?! ?§\d§ ?[接来代])"
    rf"|将|撤回|(?<!别)忘[了掉]?|弃用|淘汰|放弃|废弃|停用|去掉|删掉|再见|取代了?"
    rf"|(?:代|接)?替(?:换|代|掉)?了?|旧的?[::]?|drop|不是|(?:之前|前面|上次|刚才|以前|原来|当初|先)(?:我)?(?:说"
    rf"|讲|用|让你用|提到?)?的?(?:是|用)?|关于|说(?:的|用)?"
    rf"|[说讲]过) ?(?:了|掉|的|用)? ?{_T}"
    rf"|{_T} ?(?:(?:的|这个|那个|那条|这周|昨晚|上周|正式|已经?|都|全部?|早就|说法|授权|合同|support"
    rf"|也|会|就|被|太|没人|代码|支持)+ ?)*"
    rf"(?:有误|下线|废弃|弃用|停用|退役|作废|淘汰|过时|不再|不用|不要|不能用|不算|别再?用|换|改|[切迁]到"
    rf"|切换到|迁移到|被换|去掉|取消|没人维护"
    rf"|不维护|过期|到期|deprecated|drop|不 ?support|慢|下掉|删|remove(?!d? [a-z])|移除)"
)
_ENTERED = (
    rf"(?:(?:mov(?:e[ds]?|ing)|switch(?:ed|es|ing)?|migrat(?:e[ds]?|ing|ion)|convert(?:ed|ing)?|chang(?:e[ds]?"
    rf"|ing)|went|going|goes|gone"
    rf"|go|over|back|cut over|reverted|everything|transition(?:ed)?) {_FEW}(?:to|onto|on|with|for)"
    rf"|adopt(?:ed)?|settled on|landed on|voted for|standardi[sz]ed on|replaced (?:\S+ )?(?:by|with)"
    rf"|superseded by|done by|favou?r of"
    rf"|(?:we're|we are) (?:now |all )?(?:on|with)"
    rf"|(?:runs?|been|is|are|all|works?|lives?|based|rebuilt) (?:on|with)|it's(?: all| actually)?|it is|that's"
    rf"|everything(?:'s| is)?(?: now)? on|(?:the )?(?:correct|right) (?:one )?is"
    rf"|we run|use|uses|using|take|put|read|pick|prefer|wants?"
    rf"|we have|chose|asked for|(?:standard|default|choice|replacement|tool|rule)(?: \w+ \w+| now)? (?:is"
    rf"|:)|(?:new|in|now|update|instead)\W{{1,2}}|new (?:default|standard|rule|choice|tool)\b[^§]{{0,40}}:"
    rf"|long live|hello|but|s/§\d§/|(?:→|⇒|[=-]>)|make (?:that|it)|here comes|proceed with|back to)"
    rf"[:,]? ?(?:now )?(?:all )?(?:the )?{_T}"
    rf"|{_T} (?:now\b|it is\b|is (?:the|our|ours|what|in|here|right|used)\b|(?:is|are) (?:live|mandatory"
    rf"|present|allowed|approved|next|required)\b|has (?:become|replaced"
    rf"|taken|superseded)|covers|applies|took|takes"
    rf"|from (?:now|here|today)|replace[sd](?! its)|supersedes|please|instead|only|these days|everywhere"
    rf"|, not|, formerly|rather than|in (?:place|lieu) of)"
    rf"|(?:[换改迁切转升][成用为到走上换]?了?|迁移到|采用了?|统一(?:换|用|成)?|应该?[为是]|现在(?:都|就|是|只"
    rf"|全)*用?的?是?|以后(?:都|就|一律|统一)*(?:是|用)|就?用|是|以|走"
    rf"|你好|新的?[::]?|default (?:是|改成)|到) ?{_T}"
    rf"|{_T} ?(?:为准|接替|接手|上位|顶上|代替|取代|替换|替代|来代替)"
)
