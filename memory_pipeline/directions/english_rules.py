"""Rules in English by their grammar alone: what to do, or leave, whenever work is done, and choices that were made."""

from __future__ import annotations

import re

from memory_pipeline.directions.english import V
from memory_pipeline.directions.english_words import (
    AGENT,
    CONDUCT,
    CRAFT,
    DEIXIS,
    INFRA,
    LASTS,
    MOMENT,
    PATHLIKE,
    SKIPPED,
    STYLE_VERB,
    TASK,
    UI,
    WE,
    reports,
)
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind

_FORBIDS = Lazy(
    rf"""{AGENT}(?:don't|do\ not|dont|never|must\ not|mustn't|may\ not|should\ not
        |not(?=\ (?:use|touch|change|edit|modify|delete|remove|push|commit|add|write|put|install|break)\b)|shouldn't
        |shall\ not)
        (?:,?\ ever,?)?\ (?:ever\ |just\ |blindly\ |simply\ |automatically\ |directly\ |silently\ )*{CONDUCT}\b(?:\ |$)
        (?!(?:up\ |on\ |to\ )?{DEIXIS})
        (?!(?:a|an)\ (?!(?:new\ )?{CRAFT}\b)|the\ (?!(?:[\w▮'-]+\ )?{CRAFT}\b|{INFRA}\b|(?:[\w'-]+\ )?{PATHLIKE})
          |(?<=include )the|(?<=add )the|(?<=return )the|(?<=show )the|(?<=put )the|(?<=use )the|(?<=make )the
              |(?<=print )the|(?<=log )the|(?<=store )the|(?<=send )the
          |the\ (?:signature|name|function|method|class|test|file|import|first|last|other|config|endpoint)\b)"""
    r"""[^\n]*
    """,
    re.VERBOSE,
)

_FORBIDS_LATER = Lazy(
    r"(?:.*[,;:]\s|.*\b(?:and|but|so)\s)(?:please |also )*(?P<rule>(?:don't|do not|never) (?!worry|bother"
    r"|forget"
    r"|mind|stop).+)$"
)

_SAYS_WHAT_IT_DOES = Lazy(
    r"\b(?:it|they|users?|(?:the|a|an|each|every) \w+) (?:should|must|shall|will|can|returns?|takes?|reads?)\b"
)

_NOT_A_BAN = Lazy(
    r"(?:please |and |but |also )*(?:don't|do not|dont|never) (?:worry|bother|forget|mind|stop|panic|think|know"
    r"|see|get|paper"
    r"|break anything|do (?:it|that|anything)|be (?:afraid|shy|late)|make (?:it|the)|leave (?:it|the|me)|fix"
    r"|go (?:there|on|into)"
    r"|wait|hesitate|understand|give up|start (?:yet|with|now)|tell me (?:that|it|you))\b"
)

_KEEPS_OFF = Lazy(
    rf"(?:please |just )*(?:hands off|keep (?:your )?hands off|stay (?:away from|out of|off)"
    rf"|keep (?:away from|out of)"
    rf"|leave (?!(?:it|this|that|them|the rest|me)\b)[^,]{{2,60}}? (?:alone|untouched|where (?:it is"
    rf"|they are)|in place|as (?:is|it is"
    rf"|they are)|out of)"
    rf"|you(?:'re| are) not (?:allowed|permitted|supposed) to|you (?:can|may)(?:not| not) (?={CONDUCT})"
    r"|you (?:can|may) [^,]+,? but (?:never|don't|not|do not)"
    r"|only (?:use|touch|edit|change|modify|commit|write|run) (?!the (?!official|house|standard|ones"
    r"|files?)|this"
    r"|that|css|it\b))\b ?\S"
)

_NO_WHAT = Lazy(
    r"no (?!need|idea|problem|worr|luck|such|change\b|output|rush|longer|one\b|it\b|it's|that|the\b|this|these"
    r"|wait|thanks|doubt"
    r"|way\b|more\b|matter|clue|difference|response\b|result|reason|data\b|don't|do\b|not\b|use\b|i\b|we\b"
    r"|you\b"
    r"|errors?\b"
    rf"|errors|please|just|only|but|so\b|he\b|she\b|they|but)(?=.*\b(?:{CRAFT}|bash|apis?|prod|production"
    rf"|ever|please"
    r"|words|access|writes|push(?:es)?|globals?|inheritance|lambdas|macros|telemetry|frameworks|any|magic"
    r"|var|eval"
    r"|microservices|wrappers|telemetry|one-letter \w+|classes|console\.log|print(?:s)?|loops"
    r"|mutable \w+)\b)\S+.*$"
)

_NOBODY = Lazy(r"(?:nothing|nobody|no one|none of) .*\b(?:without|until|unless|before|goes|gets|must|should)\b")

_EACH_ONE = Lazy(
    rf"(?:one|a single|at most (?:one|two)|exactly one) [\w-]+(?: [\w-]+)? (?:per|for each|in each) \w+"
    rf"|(?:all|every|each|any|new) (?:new )?{SKIPPED}(?:[\w-]+ )?{CRAFT}\b (?:in|with|under|must|should|needs?"
    r"|has to|have to|gets?|is to|are to"
    r"|comes?|goes|go|starts?|ends?|lives?|are (?:in|stored|written|named)|uses?|builds?|passes|are|to)\b"
)

_RATED = Lazy(
    rf"{UI}(?!it\b|this\b|that\b|there\b).{{2,60}} (?:is|are) (?:a no-go|an absolute no|off[- ]limits|forbidden"
    r"|banned|prohibited|not allowed|never allowed|not (?:ok|okay|acceptable|welcome|an option)|a must"
    r"|mandatory"
    r"|obligatory|taboo|discouraged|encouraged"
    r"|preferred|required|optional|unacceptable|frowned (?:up)?on|welcome|the (?:default|norm|rule|convention"
    r"|standard)|fine (?:in|for|by me)|non-negotiable|top priority|more important than)\b"
)

_ANYTHING = Lazy(
    rf"{UI}(?:(?:in(?:side)?|under|within|outside|across) [\w▮./-]+(?: [\w▮./-]+)?,? )?(?:nothing|nobody|no one"
    r"|anything|everything|whatever|anyone|everyone|only [\w▮./-]+(?: [\w▮./-]+)?"
    r"|no [\w-]+(?: [\w-]+)?) (?:(?:that|which|in|under|outside|with|on|from|who) [^,]{2,60}? )?(?:may|must"
    r"|should|shall|needs?|requires?|has to|goes|lives|is|gets|belongs|uses?|runs|can)\b(?! (?:broken"
    r"|wrong|fine"
    r"|ok|happening|happens|works?|work)\b)"
)

_LABELLED = Lazy(
    rf"(?:our |the )?{SKIPPED}(?:[\w-]+ )?(?:{CRAFT}|levels|conventions?|rules?|order|policy|workflow"
    rf"|{INFRA})(?: levels?| style| policy| order| format)?: \S"
)

_EXCUSED = Lazy(
    r"you (?:don't|do not|needn't|need not) (?:have to|need to|always)? ?\w|i (?:only|just) (?:want|need"
    r"|care about|accept|like)(?: to (?:see|read|get|review))? (?!a |an |to (?:know|fix|check|make|add"
    r"|understand))\S"
    r"|whatever (?:you do|happens),"
)

_OUGHT = Lazy(
    r"(?!(?:the|this|that|a) (?:new )?(?:function|method|class|script|test|endpoint|module|component|query"
    r"|field"
    r"|file|job|column|service|feature|config)\b)(?!.*\b(?:users?|customers?|page|button|form|screen|widget"
    rf"|dialog)\b){SKIPPED}(?:[\w'-]+ ){{0,3}}?{CRAFT}"
    r"(?: (?:in|of|for|on|under) [\w▮./-]+(?: [\w▮./-]+)?)? (?:should|must|shall|need to|needs to|have to"
    r"|has to"
    r"|ought to"
    r"|are to|is to|goes?|belongs?|starts?|ends?|lives?|stay|stays|may|can only|can never|get|gets|come|follow"
    r"|follows)\b"
    r"(?! (?:be fixed|pass|work|up|down|wrong|fail|missing|a lot|possible|be able|again|be possible|be optional"
    r"|be green))"
)

_VERBLESS = Lazy(
    rf"{SKIPPED}(?:[\w-]+ )?{CRAFT}s? (?:in (?:[a-z_]*_case|\w*case|english|german|french|google style"
    rf"|the imperative"
    r"|present tense|past tense|\S+ style|active voice|one line|lower ?case|upper ?case|markdown|[a-z]+ style"
    r"|tests?/|order)"
    r"|only (?:where|when|if|for|in|with)|upper ?case|lower ?case|short|small|plural|singular"
    r"|alphabetical(?:ly)?"
    r"|first\b"
    r"|before \w+|over \w+|as \w+$|with(?:out)? )"
)

_STYLE = Lazy(
    rf"""{AGENT}(?:
        (?:answer|reply|respond|speak|talk|write|explain|communicate|chat)\ (?:(?:back\ )?(?:to\ me\ )?)(?:only[ ]
            |always\ )?
           (?:in\ (?:[a-z]+(?:\ please)?$|plain|simple|short|bullet|british|american|full|one|two|complete|english
               |\w+\ only)
             |briefly|concisely|like\ (?!i'm)|as\ if)
      | (?:be|stay)\ (?:more\ |very\ |a\ bit\ )?(?:brief|concise|terse|short|direct|honest|critical|precise|polite
          |explicit|careful
          |conservative|consistent|succinct|blunt|quiet|verbose|specific|minimal)
      | call\ me\ \w+ | you\ can\ call\ me | address\ me
      | keep\ (?:(?:your|all|the|my|our)\ )?(?:[\w-]+\ )?(?:{CRAFT}|tone|things|everything|it|language|scope
          |public\ api)s?\ (?!in\ mind)
          (?:short|brief|small|simple|minimal|concise|under|below|to\ (?:one|two|three|a\ minimum|\d)|in\ (?!sync\b)
              |sorted|flat|neutral|tidy
             |focused|consistent|backwards?|alphabetical|simple|clean|pure|stable|within|at\ |out\ of|separate|as\ )
      | (?:prefer|favou?r|minimi[sz]e|limit)\ (?!{DEIXIS}|the\ (?:first|second|last|other))\S
      | avoid\ (?!{DEIXIS}|the\ )\S
      | (?:work|proceed|think|code|program|move|act|iterate)\ (?:in\ (?:small|tiny|one|short)|step|slowly|carefully
          |incrementally|with\ care|test-first|iteratively|like|one\ )
      | (?:give|show|tell)\ me\ (?:only\ |just\ )?the\ (?:short|long|full|honest|simple|gist|diff|changed|code)\b
      | leave\ \S+\ (?:to|for)\ \S+$ | let\ \S+\ (?:handle|do|sort)\ \S
      | (?:double|triple)[- ]check\ | (?:think|look)\ twice
      | treat\ \S+\ as\ | type[- ]annotate\ | commit\ (?:early|often|small|frequently|in\ small)
      | (?:wrap|limit|break)\ (?:lines|text|docs)\ | indent\ (?:with|using|by|everything)\b
      | use\ (?:the\ )?(?:house|official|standard|metric|imperative|present|past|active|passive|project's
          |existing\ conventions
          |british|american|us|uk|oxford|simple|plain|inclusive|conventional|semantic|absolute|relative|named|strict
              |early|guard
          |descriptive|meaningful|full|explicit|type|static|dependency|trailing|single|double|two|four|\d|tabs
              |spaces|camel|snake|kebab
          |pascal|lower|upper|iso|utc|english|german|french|spanish|f-strings|context\ managers|pathlib
              |list\ comprehensions|async)\b
          (?!.*\b(?:in|for|on)\ (?:the|this|that|[a-z]+_\w+|\w+\(\))\b)
      | use\ (?!{DEIXIS}|the\ |a\ |an\ |my\ |some\ )\S+(?:\ \S+){{0,2}}\ (?:for|when|in)\ (?:all\ |every\ |new[ ]
          |any\ )*{SKIPPED}{CRAFT}\b
      | follow\ (?!{DEIXIS}|the\ (?:steps|link|instructions|example|same))\S | stick\ to\ (?!{DEIXIS}|the\ plan)\S
      | (?:write|name|put|log|format|sort|order|group|document|store|sign|squash|describe|phrase|title|label|start
          |prefix|import|throw
         |raise|include|handle|mark|capitali[sz]e|spell)\ (?:all\ |every\ |new\ |your\ |each\ |public\ )*(?:[\w-]+\ )?
         {CRAFT}\b(?!\ (?:that|which|to\ the|from|of\ the|about|called|explaining))\ (?:in|with|as|at|on|under|by
             |like|alphabetically|before|after|into|first|for\ every
            |for\ each|for\ all|early|explicitly|to\ \S+/|the\ way|from\ |using|according)
      | one\ \w+\ per\ \w+
      | (?!let\ me\ know|tell\ me\ when)(?:show|tell|give|ask|warn|let|consult|check\ with|confirm\ with|get)\ (?:me|us
          |my)\ (?:[^,]{{0,40}}\ )?(?:before|first|instead|when|if|whenever)\b
      | (?:show|give)\ me\ (?:a|the|your)\ (?:plan|diff|summary|proposal)\ (?:before|first)
      | (?:if|when|whenever)\ (?:you(?:'re|\ are)\ )?(?:unsure|in\ doubt|uncertain|not\ sure|stuck|unclear)
      | ask\ (?:me\ )?(?:first|before|when|if\ )
      | stop\ \w+ing\b(?!\ (?:it|this|that|the\ \w+$)) | quit\ \w+ing\b | cut\ the\ \w+ | skip\ (?:the\ )?(?:basics
          |intros?|explanations?|summaries
        |summary|pleasantries|preamble|small\ talk)
    )""",
    re.VERBOSE,
)

#: An order that names no particular thing is about any: what is asked for now names "the", "this" or "a" something.
_GENERIC = Lazy(
    rf"{AGENT}(?:first |generally |only )*(?:{STYLE_VERB}|commit|prefix|test|check|ask|think|write|mock|lint"
    r"|respect|obey|honou?r|heed|comply|adhere|require|quote|hide|expose|inject|compose|model|encode|validate"
    r"|escape|parametri[sz]e|abbreviate|round|cache|paginate|fail|aim|strive|optimi[sz]e for|design for|program"
    r"|branch|rebase|squash)\b"
    r"(?! (?:me|us|it|that|this)\b)(?!.*\b(?:the|this|that|these|those|it|them|my|here|there|one|again"
    r"|also)\b)(?! (?:a|an|all) (?!public|new|errors|code)\w+)(?:[,:]? [\w▮'./-]+){2,}"
)

_HEEDS = Lazy(
    rf"{AGENT}(?:respect|follow|obey|honou?r|heed|comply with|adhere to|stick to|mind|be careful with"
    rf"|be wary of"
    rf"|take care (?:with|of|when)|watch out (?:for|with)) (?!{DEIXIS}|the (?:steps|link|plan|same|second|first"
    r"|above))\S"
)

_FIRST_OR_ONLY = Lazy(
    r"(?!.*\b(?:the|this|that|it|now|then|just|do|try|run|fix|look|check|let's|is|are|was"
    r"|at)\b)[\w▮'./-]+(?: [\w▮'./-]+){0,4}(?: first| only|: \S.* only)(?:,? (?:always|please|then .*))?$"
)

_SUCH_NOT_SUCH = Lazy(
    r"(?!no\b|it\b|this\b|that\b|the \w+ (?:one|file|line|function)\b|just\b|yes\b|i\b|you\b"
    r"|line\b)(?!.*\b(?:this"
    r"|that|was|did|does|get|got|expected)\b)[^,]{3,70}, (?:and )?(?:never|not) (?:in |on |at |as |with |by |a "
    r"|an |the )?[\w▮'./-]+(?: [\w▮'./-]+){0,4}$"
)

_NO_SUCH = Lazy(
    r"no (?!need|idea|problem|worr|luck|such|change\b|output|rush|longer|one\b|wait|thanks|doubt|way\b|more\b"
    r"|matter|clue|difference|response|result|reason|data\b|errors?\b|hurry|offen[cs]e|big deal|questions?"
    r"|tests?\b|kidding|file|module)[\w-]+(?: (?!is\b|are\b|was\b|were\b|found\b|when\b|i\b|it\b|the\b|this\b"
    r"|that\b|at all$)[\w▮'./-]+){1,7}$"
)

_CONTRAST = Lazy(
    rf"{AGENT}{STYLE_VERB[:-1]}|run|start|build|deploy|install|launch|execute|call"
    rf"|test) (?!{DEIXIS})[^,;]{{2,80}}?"
    r"(?:,? (?:and |but )?(?:not|never|no) |\.\s+(?:not|never) | instead of | rather than | in place of "
    r"| over )"
    r"(?!(?:it|this|that|the (?:loop|one|other|second|first)|here|there|just|only|doing|yet)\b)\S"
)

_AGREED = Lazy(
    rf"{AGENT}(?:i|we) (?:want|need|expect|require|would like|'d like|like|ask|prefer)\b(?: (?:it )?if)? (?:you"
    r"|every|each|all|new|any|that you|to see|small"
    r"|short|clean|small)\b(?! (?:to )?(?:fix|add|build|implement|create|look|find|help|write me|make me"
    r"|do this"
    r"|do that))"
    r"|i'd (?:like|love|want|prefer)(?: it)? (?:you to|if you|that you|every|all|to review|to see"
    r"|to approve) (?!(?:to )?(?:fix|implement|create|build|look|help))"
    r"|you (?:should|must|need to|have to|ought to|are to|shall|'ll need to|will need to) (?:always "
    r"|never |first "
    r"|not )*(?!be (?:able|kidding)|know|see|find|get\b)\w"
    r"|i(?:'d| would)? (?:really |strongly |always )?(?:appreciate|value|care (?:more |a lot )?about|favou?r"
    r"|insist on|love|enjoy|trust|believe in) (?!it\b|this\b|that\b|if you could|the )\S|i'll (?:handle|do"
    r"|take care of|write|run|manage) [^,]+(?: myself|, (?:so )?you (?:just|only|don't|can|never))"
    r"|i (?:always|never|usually|generally|normally|rarely) (?!get|got|see|saw|had|have to|mix|confuse"
    r"|forget|struggle|fail|wonder|lose|miss|run into|end up|hit)\w"
    r"|i (?:don't|do not|can't|cannot) (?:need|want|like|care for|read|see|stand|accept)(?: (?:a|an|any"
    r"|the|long"
    rf"|your))* (?:[\w-]+ )?{CRAFT}"
)

_TALKS = Lazy(r"you(?:'re| are)? (?:talk|write|explain|apologi[sz]e|too verbose|verbose)\b.*(?:too|keep|less|short)")

_RECURS = Lazy(
    r"\b(?:every ?time|each time|whenever|by default|as a rule|in general|generally|at all times"
    r"|once and for all"
    r"|from here on(?: out)?|from now on"
    r"|from this point(?: on)?|going forward|in (?:the )?future|always|(?:before|after|on|for|with) (?:each"
    r"|every) [\w-]+(?: \w+)?|without (?:my|asking|a review)"
    r"|unless i (?:\w+ )+|unless (?:asked|told)|no matter what|on its own$)"
)

_SCENE = Lazy(
    r"(?:(?:and|also|but|so|please|ok) )*(?P<scene>(?:when(?:ever)?|if|before|after|every ?time|each time|once"
    r"|as soon as|for|in|on|with|during|at|while|across|to|regardless of|no matter)"
    r" [^,:]{2,70}?)(?:,|:| -)\s+(?P<rest>\S.*)$"
)

_OF_WORK = Lazy(
    rf"(?:whenever|every ?time|each time|regardless of|no matter|when in doubt|if in doubt"
    r"|(?:when|whenever|if|before|after|while|once|as soon as) (?:you(?:'re|'ve| are| have)?|we|i ask"
    r"|i say|unsure"
    r"|uncertain|not sure|nothing|possible|needed|(?!rendering|clicking|loading|logging|submitting|scrolling"
    r"|opening the)\w+ing\b|in doubt)"
    r"|(?:when|if|whenever|once|after|before) (?:a|an|the|any|some|all|something"
    rf"|your)? ?{SKIPPED}(?:[\w-]+ )?(?:{CRAFT}|{INFRA}|model|lockfile|prompt|task|rule"
    r"|requirement)s? (?:\w+ )?(?:change|changes|is|are|fails?|breaks?|needs?|gets?|moves?|passes|conflicts?"
    r"|grows?|takes?)"
    rf"|(?:after|before) (?:any|every|each|a|an|the|your) {SKIPPED}{CRAFT}"
    r"|(?:for|in|on|with|across|during|at) (?!(?:this|that|the) (?!repo|project|codebase|future|backend"
    r"|frontend"
    r"|docs|api|tests?\b|team|company))(?:all |any |every |each |new |the |our |my |this "
    rf"|that )*(?:[\w'-]+ ){{0,2}}?(?:{CRAFT}|{INFRA}|python|typescript|javascript|java|rust|go|c\+\+|sql"
    rf"|css|html"
    r"|react|vue|shell|bash|golang|kotlin|swift|ruby|php|projects?|repos?|repositories|codebases|work|tasks?"
    r"|everything|doubt|future|hotfix(?:es)?|general))"
)

_HOW_TO = Lazy(
    r"(?:to (?!reproduce|fix|see|debug|be |do |me|get (?:the|this) (?:error"
    r"|bug))[\w-]+(?: [\w▮./-]+){0,4}?,? (?:(?:you |we )?(?:should |must |need to |have to |always |can "
    r"|just )*(?:use|run|call|execute|do|go|type|start|need) )\S"
    r"|to (?!reproduce|fix|see|debug|be |do |me|summari|clarify)[\w-]+(?: [\w▮./-]+){0,5}, (?:first |just "
    r"|you (?:have to|need to|must|should) )?(?:edit|add|run|use|create|copy|open|change|put|set|bump|call|go"
    r"|write|update|start)\b"
    r"|(?:the way we|how we|here's how we|our (?:release|deploy\w*|review|branching) (?:process|flow"
    r"|workflow)) .*[:,]|first \w+ .*, then \w+)"
)

_SPEC_REST = Lazy(
    r"(?:return|show|display|redirect|close|open|render|hide|throw|raise|the (?:user|page|app|button|form)"
    r"|it (?:should|must|returns|crashes|prints)|there|nothing|i (?:get|got|see)|we (?:get|got|see)|users?)\b"
)

_WE_CHANGED = Lazy(
    rf"(?:and |also |but |so |fyi |no )*{WE} (?:moved|switched|migrated|dropped|replaced|upgraded|adopted"
    rf"|picked"
    r"|chose|chosen|decided|agreed|settled|renamed|deprecated|retired|abandoned|standardi[sz]ed|opted|moving"
    r"|switching|migrating|dropping|going with|stay|staying|keep|keeping|ditched|gave up|split|merged)"
    r" (?!(?:it|this|that|the (?:file|function|code|method|class|test|button))\b)\S"
)

_I_CHOSE = Lazy(
    r"(?:and |also |but |so |ok |okay )*(?:i(?:'ve| have)? (?:decided|chosen|chose|settled|picked|opted)"
    r"|i want to (?:use|go with|stay with|stick with) (?!the |this |that |it\b|a )|final answer\b|(?:decided"
    r"|agreed|settled|decision)(?: is)?[:,] |decision\b|(?:the )?(?:final )?(?:decision|verdict)(?: is)?:"
    r"|let's make [\w ]+ the (?:default|standard|norm)|(?:sticking|going|staying) with (?!it|this|that)"
    r"|let's (?:settle|stay|stick|standardi[sz]e|go|keep|drop|move|switch|agree)\b(?! (?:ahead|on with|back|it"
    r"|this|that|the (?:second|first)))|[\w ]{2,20} it is$)"
    r".*"
)


def later_ban(clause: str) -> int | None:
    """Where, in a clause that begins with something else, a rule of conduct begins that forbids: ", and don't …"."""
    match = _FORBIDS_LATER.match(clause)
    if (
        match
        and not _SAYS_WHAT_IT_DOES.search(clause, 0, match.start("rule"))
        and _FORBIDS.fullmatch(match["rule"])
        and not MOMENT.search(match["rule"])
    ):
        return match.start("rule")
    return None


def rule(clause: str, *, in_task: bool, in_spec: bool) -> EntryKind | None:
    """Return the kind of rule or choice that a clause states; None when it states none."""
    if in_spec and not _FORBIDS.fullmatch(clause):
        return None
    if _NOT_A_BAN.match(clause):
        return None
    if _I_CHOSE.match(clause) or (_WE_CHANGED.match(clause) and not reports(clause)):
        return EntryKind.DECISION
    if _HOW_TO.match(clause) and not reports(clause.partition(", ")[0]):
        return EntryKind.PROCEDURE
    if _FORBIDS.fullmatch(clause) or _KEEPS_OFF.match(clause) or _NOBODY.match(clause):
        return EntryKind.PREFERENCE
    scene = _SCENE.match(clause)
    if scene and _OF_WORK.match(scene["scene"]) and _is_ruled(scene["rest"]):
        return EntryKind.PREFERENCE
    if _EXCUSED.match(clause) and not reports(clause):
        return EntryKind.PREFERENCE
    if _TALKS.match(clause):
        return EntryKind.PREFERENCE
    if _AGREED.match(clause) and not reports(clause):
        return EntryKind.PREFERENCE
    if _NO_WHAT.match(clause):
        return EntryKind.PREFERENCE
    if _HEEDS.match(clause):
        return EntryKind.PREFERENCE
    if in_task and not LASTS.search(clause):
        return None
    if _is_general(clause, in_task=in_task):
        return EntryKind.PREFERENCE
    if _STYLE.match(clause) or _CONTRAST.match(clause):
        return EntryKind.PREFERENCE
    if _VERBLESS.match(clause):
        return EntryKind.PREFERENCE
    if reports(clause):
        return None
    if _EACH_ONE.match(clause) or _OUGHT.match(clause) or _RATED.match(clause):
        return EntryKind.PREFERENCE
    if _ANYTHING.match(clause) or _LABELLED.match(clause):
        return EntryKind.PREFERENCE
    return EntryKind.PREFERENCE if _RECURS.search(clause) and _orders(clause) else None


def _is_general(clause: str, *, in_task: bool) -> bool:
    """Whether a clause lays down something without naming any particular thing."""
    if in_task:
        return False
    if _NO_SUCH.match(clause) or _FIRST_OR_ONLY.match(clause) or _GENERIC.match(clause):
        return not (TASK.match(clause) and not LASTS.search(clause))
    return _SUCH_NOT_SUCH.match(clause) is not None and not reports(clause) and TASK.match(clause) is None


_RULED = Lazy(
    rf"(?:please |also |always |never |only |first |just |then )*(?:{V}|rebase|register|describe|look up|inform"
    rf"|{STYLE_VERB}|{CONDUCT}\b)(?! (?:that|it|this)$)"
    r"|(?:please )?(?:don't|do not|never|no|not|prefer|you|we|i(?:'d)? (?:want|like|prefer|expect))\b"
    rf"|{SKIPPED}{CRAFT}\b|the (?:\w+ )?(?:is|are|goes)"
)


def _is_ruled(rest: str) -> bool:
    """Whether what follows a circumstance says what to do under it, not what happens or what the product does."""
    if _SPEC_REST.match(rest) or re.match(r"(?:please )?(?:fix|find|investigate|debug|explain)\b", rest):
        return False
    return _RULED.match(rest) is not None and not reports(rest)


def _orders(clause: str) -> bool:
    return _ORDERS.match(clause) is not None


_ORDERS = Lazy(rf"(?:please |also |and |first )*{V}(?! {DEIXIS})")
