"""What is said in general in English: statements of any kind, of every kind, of what is ours, with whatever words.

The other patterns know the words of the craft. These know none: they tell a rule or a lasting fact by what the clause
speaks of (all of a kind, a kind as such, "we", a part that has a standing) and by its verb, which stands in the
present. Trouble, the moment, single things pointed at, and what a product's users see are none of these.
"""

from __future__ import annotations

import re

from memory_pipeline.directions.english import V
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind

#: Orders that are done once.
V_OF_TASKS = (
    r"(?:run|execute|fix|add|check|test|deploy|push|pull|merge|create|delete|remove|rename|move|update"
    r"|upgrade|install|open|close|show|tell"
    r"|explain|find|read|look|search|go|give|take|try|do|get|list|send|start|stop|print|make|rebuild|clean"
    r"|generate|write|count|wait|tag|bump"
    r"|export|import|replace|change|set|build|commit|revert|reset|plan|think|fetch|split|group|sort|sum"
    r"|plot|refresh|load)\b"
)
_WORD = r"[^\s,;:()]+"
#: Words that can't open the name of a kind: they point, ask, order, count or connect.
_NO_KIND = (
    r"(?:it|this|that|these|those|they|them|there|here|he|she|its|one|ones|both|each|every|all|any|some"
    r"|most|many|several|two|three"
    r"|four|five|six|ten|what|which|who|why|how|where|when|if|i|you|me|we|us|my|your|his|her|their|the|an?"
    r"|let's|lets"
    r"|please|thanks|yes|no|not|and|or|but|so|to|in|on|at|for|with|of|from|as|by|is|are|was|were|does|did"
    r"|do|has|have"
    r"|looks?|seems?|sounds?|maybe|sometimes|always|its|hers|theirs|\d+|things|results?|changes|us|guys|folks"
    r"|thousands|hundreds|lots|plus)\b"
)
#: Who and what a product deals with: told of them, it is what the product shall do.
_DEALT_WITH = (
    r"(?:users?|visitors?|players?|enem(?:y|ies)|guests?|buyers?|sellers?|points|coupons?|bookings?|cells?"
    r"|dialogs?|modals?"
    r"|tooltips?|popups?|footers?|sidebars?|sliders?|spinners?)\b"
)
_IN_STATE = (
    r"(?:are|aren't|come|go|live|get|have|happen|need|read|stay|remain|belong|carry|follow|end|start|begin"
    r"|contain"
    r"|require|must|mustn't|should|shouldn't|shall|can't|cannot|may|take|mean|use|run|sit|ship|speak"
    r"|expect|write"
    r"|receive|include|depend|count|reach|hold|keep|sort|default|inherit|respect|match|mirror|rely|don't"
    r"|do not|never"
    r"|always|only|explain|say|describe|return|travel|move|default|replace|beat|wait|cost|target|open"
    r"|close|fit|work"
    r"|win|lose|stop|name|track|build|deploy|log|land)\b"
)
_IS_IN_STATE = (
    r"(?:is|applies|counts|isn't|comes|goes|lives|gets|has|happens|needs|stays|remains|belongs|carries"
    r"|follows|ends|starts|begins"
    r"|contains|requires|must|mustn't|should|shouldn't|shall|can't|cannot|can only|may|takes|means|passes"
    r"|uses|runs"
    r"|sits|ships|speaks|expects|receives|includes|depends|counts|holds|keeps|sorts|defaults|inherits|respects"
    r"|matches|mirrors|relies|doesn't|does not|never|always|only|explains|says|describes|accepts|allows"
    r"|serves|works"
    r"|wins|beats|stops|breaks|bounces|travels|owns|handles|names|tracks|builds|deploys|logs|lands)\b"
)
#: A standing that a part of the work has until somebody changes it.
_STANDING = (
    r"(?:frozen|read[- ]?only|write[- ]?only|off[- ]limits|append[- ]only|immutable|banned|forbidden|prohibited"
    r"|reserved|taboo|sacred|hands off|out of (?:bounds|the question)|deprecated|vendored|generated"
    r"|auto-?generated|checked in"
    r"|mandatory|required|obligatory|confidential|untouchable|protected|single[- ]tenant|multi[- ]tenant|hashed"
    r"|encrypted|pseudonymi[sz]ed|anonymi[sz]ed|end of life|unsupported|unacceptable|not (?:an option|allowed"
    r"|permitted|acceptable|possible|up for|ours|negotiable|welcome|supported|to be)|no longer"
    r"|off the table|for good"
    r"|on purpose|intentional|by design|by agreement|law|final|the (?:limit|floor|ceiling|minimum|maximum|rule"
    r"|standard|norm|default|source of truth|truth)|owned by|managed by|maintained by|run by|denied"
    r"|disabled|primary|secondary|the only"
    r"|enabled|case[- ]sensitive|shared)\b"
)
_HOW_OFTEN = r"(?:(?:only|never|always|all|also|just|both|usually|typically|generally|normally|each|strictly) )*"
_OF_WHAT = (
    r"(?: (?:to|in|of|for|on|under|from|over|with|without|above|below|between|inside|per)"
    rf" {_WORD}(?: {_WORD}){{0,4}}?)?"
)

_ALL_OF_A_KIND = Lazy(
    rf"(?:each and every|every|each|all|any|no|every single|only) (?!time\b|one of\b|of (?:them|these|this)"
    rf"|other\b"
    rf"|(?:rows?|items?|products?|orders?|cells?|fields?|members?|customers?|buttons?|pages?|cards?)\b"
    rf"|need\b|idea\b|the (?:same|best|way)|in all\b|i\b|we\b|you\b"
    rf"|{_DEALT_WITH})(?!(?:\w+ )?{_DEALT_WITH})"
    rf"(?:of )?(?:{_WORD} ){{1,5}}?(?:\([^)]*\) )?{_HOW_OFTEN}(?:{_IS_IN_STATE}|{_IN_STATE}) (?!it\b|this\b"
    rf"|that\b)\S"
)
_WHATEVER = Lazy(
    r"(?:anything|everything|whatever|whoever|anyone|everyone|everybody|anybody|nothing|nobody(?:'s)?"
    r"|no one|none"
    r"|whichever)\b(?! (?:is|works?|looks?|seems?|was|were|you want|happens|happened|i|we) ?(?:fine|ok"
    r"|good|great"
    r"|done|there|happens|works|loads|else)?\s*$)"
    rf"(?: (?!{_IS_IN_STATE}){_WORD}){{0,9}}? (?:{_HOW_OFTEN}(?:{_IS_IN_STATE}|allowed|is to|(?!\w*(?:ss|us"
    rf"|things|ones|tests|times)\b)\w{{2,}}s)|in|under|has)\b"
)
_A_KIND = Lazy(
    rf"(?!{_NO_KIND})(?!(?:[\w-]+ )?{_DEALT_WITH})(?:(?!{_NO_KIND}){_WORD} ){{0,3}}?"
    rf"(?!{_NO_KIND})[\w▮'/-]*(?<!s)s{_OF_WHAT} {_HOW_OFTEN}(?:{_IN_STATE}|(?!show|look|fail|seem|pass"
    rf"|crash|hang|appear|disappear|overlap){V})(?! (?:red|green|failing|passing|ready|done"
    r"|there|gone|good|nice|fine|great|ok|okay|happy|unhappy|working|\w+ing\b))"
)
_A_MATTER = Lazy(
    rf"(?!{_NO_KIND})(?!{_DEALT_WITH})(?:(?!{_NO_KIND}){_WORD} ){{0,2}}?(?!{_NO_KIND}){_WORD}{_OF_WHAT}"
    rf" (?:\([^)]*\) )?(?:(?:(?:is|isn't|stays|remains) (?:always|never|only|strictly|not|still)|applies"
    rf"|counts|stays|remains|happens|belongs|lives"
    rf"|always|never|only|(?:comes|goes) (?:from|in|into|to|through|first|last|before|after|via|under"
    rf"|behind|over)"
    rf"|beats|wins|(?:is|are) (?:reserved |meant |only |just |there )?for|requires|must|mustn't|needs) \S)"
)
_HAS_STANDING = Lazy(
    rf"(?!(?:it|this|that|these|those|they|there|here|i|you|he|she|what|which|why|how)\b)(?:{_WORD} ){{1,8}}?"
    rf"(?:\([^)]*\) )?(?:(?:isn't|aren't) (?:an option|allowed|permitted|acceptable|negotiable|supported"
    rf"|ours|welcome)\b"
    rf"|(?:(?:is|are|'s|stays?|remains?)(?: (?:all|both|now|always|still|also|strictly|currently|to stay"
    rf"|considered))*|itself:|:) {_STANDING})"
)
_STANDS = Lazy(rf"(?!{_NO_KIND})(?:{_WORD} ){{0,3}}?{_WORD}(?: itself)?: ?{_STANDING}")
_OURS = Lazy(
    rf"(?!(?:it|this|that|these|those|they|there|here|i|you|he|she|what|which|why|how)\b)(?:{_WORD} ){{0,4}}?"
    rf"(?:our|we)\b(?: {_WORD}){{1,4}}?(?: (?:own|have|use))?,? {_HOW_OFTEN}(?:{_IS_IN_STATE}|{_IN_STATE}) \S"
)
_WE_DO = Lazy(
    r"(?:(?:here|in practice|normally|usually|by contract|on principle|(?:in|at|on|for|with) (?:this|our"
    r"|the) [\w-]+),? )?we(?:'re| are|'ve|'ll)? ?(?:(?:only|all"
    r"|always|never|ever|usually|mostly|generally|normally|still|now|already|also|just|both|currently"
    r"|strictly|try to"
    r"|do|don't|do not|dont|cant|have to|must|must not|mustn't|can't|cannot|can only|aren't|are|not"
    r"|supposed to|allowed to"
    r"|no longer)\s)*(?!need\b|want\b|had\b|have\b|got\b|get\b|gets\b|see\b|saw\b|found\b|find\b|think\b"
    r"|guess\b"
    r"|hope\b|wonder\b|know\b|lost\b|lose\b|(?:can't |cannot |can )?(?:decide|figure|reproduce|log|connect"
    r"|open|access|tell|reach)\b|were\b|was\b|could\b|would\b|should\b|might\b|may\b|tried\b|try\b|are\b"
    r"|can\b|think|noticed\b|just\b|ran\b|hit\b|miss\b|missed\b|forgot\b|forget\b|keep getting|keep seeing"
    r"|seem\b"
    r"|seen\b|been\b|love\b|like\b|look\b|expect\b|thought\b|did\b|made\b|going to\b|gonna\b|talked\b"
    r"|met\b|need\w*"
    r"|understand\b|remember\b|believe\b|agree\b|discuss\w*\b|it\b|this\b|that\b|them\b|wrote\b|sent\b"
    r"|done\b|there\b"
    r"|sure\b|able\b|ready\b|having\b|seeing\b|getting\b|trying\b|looking\b|talking\b|thinking\b|planning\b"
    r"|working\b|about\b|call [a-z_]+\(|changed\b|fixed\b|started\b|broke\b|still\b|don't\b|added\b|deployed\b"
    r"|pushed\b|released\b|removed\b|updated\b|merged\b|shipped\b|reported\b|tested\b|launched\b|loaded\b"
    r"|moved\b)"
    r"\w+(?<!ing)\b(?! (?:it|this|that|these|them|twice)\b)(?: \S|$)"
)
_YOU_DO = Lazy(
    rf"(?:and then |only then |then |only )?(?:(?:you|i want you to|i'd like you to|i need you to"
    rf"|you're (?:to|supposed"
    rf" to|allowed to|free to)|do you) (?:only |always |never |first |just )*)(?!see|get\b|know|can|need"
    rf"|have|should"
    rf"|forgot|do (?:it|this|that)\b){V}(?=.*\b(?:first|only|before|never|always|instead of|until|at once"
    rf"|by yourself"
    rf"|yourself|and i|any|every|each|without|unless)\b)"
)
_ONE_NOT_OTHER = Lazy(
    rf"(?!(?:it|this|that|these|those|they|there|here|i|you|he|she|what|why|how|not|let's|sorry"
    rf"|the (?:first|second|other|old|new"
    rf"|last|one))\b)(?!.*\b(?:one|ones|was|were|did|got|get|here|there|expected|should have|instead of the)\b)"
    rf"(?:{_WORD}[ ,:]+){{1,12}}?(?:(?:(?<=, )|(?<=and ))(?:not|never)|rather than|instead of"
    rf"|over) (?!only\b|just\b|yet\b"
    rf"|sure\b|it\b|this\b|that\b|the\b|working\b|found\b|showing\b|loading\b|to\b|so\b|a lot|because|now"
    rf"|\d+(?: \w+)?$)"
    rf"(?:(?:on|in|at|as|with|by|via|from|a|an) )?{_WORD}(?: {_WORD}){{0,3}}$"
)
_NONE_OF_A_KIND = Lazy(
    r"no (?!needs?\b|ideas?\b|problems?\b|worries\b|changes?\b|questions?\b|errors?\b|results?\b|thanks\b"
    r"|news\b"
    r"|tests?\b|issues?\b|matches\b|logs?\b|less\b|others?\b|differences?\b|(?:\w+ )?(?:buttons?"
    r"|animations?|icons?"
    r"|images?|borders?)$)(?:[\w▮'`/.+-]+ ){0,4}?(?:[\w▮'`/.+-]+s|new [\w-]+|[\w-]+ing"
    r"|(?:\w+ )?without (?:an? )?\w+|(?!data|file|module|entry|space|sign|hint|output|change|response"
    r"|answer|trace)\w+(?= (?:from|to|into"
    r"|outside|between|across|below|above|beyond|after|before) ))"
    r"(?:,? (?:ever|please|at all|anywhere|either|whatsoever)|,? (?:in|on|to|into|from|inside|for|with"
    r"|within|outside|between|across|below|above|beyond|after|before) .+"
    r"|[,:-]+ .+)?$"
)
_WANTED = Lazy(
    r"(?:i(?:'d| would) (?:feel better|be happ\w+|be glad|appreciate it|love it|prefer it|like it"
    r"|be (?:very )?grateful) if (?:you|we)"
    r"|(?:it(?:'s| is| would be|'d be) |is )(?:much )?(?:better|easier|best|nicer|nice|great|good"
    r"|safer)(?: for me)? (?:if|when|that) you"
    r"|(?:what )?i(?:'d| would)? (?:really |just |only |also |always |do |still )*(?:don't |do not "
    r"|never )?(?:want|need|like"
    r"|expect|prefer|care about|distrust|trust|hate|dislike|value|love|insist on|believe in|can't stand|ask)\b"
    r"(?=.*\b(?:every|any|each|each|always|never|whenever|every ?time|in general|instead of|rather than"
    r"|unless|everything|anything|all|per"
    r"|next to|at most|at least|no more than)\b)(?! (?:it"
    r"|this|that|these|them)\b)|what i (?:really )?(?:don't|do not|never) want (?:is|are)|i distrust"
    r"|i care (?:a lot )?about)"
    r"(?! \w+ to (?:fix|build|create)) \S"
)
_WHEN_ASKED = Lazy(
    r".{8,}\b(?:whenever|every ?time|each time|when|if) (?:i (?:ask|say|tell|want|request)|you (?:propose"
    r"|suggest|answer"
    r"|explain|write|change|add|touch|use|need|think|find|finish|start|commit|generate))\b"
)
_FOR_A_KIND = Lazy(
    rf"(?:for|in|on|with|inside|under|across|at) (?!(?:this|that|these|those|it|the (?:first|second|last"
    rf"|same|meantime"
    rf"|end|loop|footer|header|sidebar|modal)|now|once|example|some reason|fun|me|case|a\b|an\b)\b)(?:our "
    rf"|all |any |new "
    rf"|every )?(?!the\b)(?:{_WORD} ){{0,3}}?{_WORD},? (?:please |always |never )*(?:i (?:only |always "
    rf"|never )?(?:want|keep"
    rf"|use|like|prefer|need|expect|write)|we (?:only |always |never |don't |do not )*(?!need|want|get|see"
    rf"|saw|have to"
    rf"|are (?:see|get)|had|could|can)\w+|use |prefer |no |don't |do not |never |keep |stick |write "
    rf"|everything |nothing "
    rf"|always )\S"
)
_RECURRING_DAY = Lazy(
    r"(?!.*\b(?:i (?:get|see|have)|fails?|it|this|that|he|she|they|user|script|cron|job that|every time)\b)"
    rf"(?!{V})(?:{_WORD} ){{1,8}}?(?:every (?:other )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|on (?:mon"
    rf"|tues|wednes"
    r"|thurs|fri|satur|sun)days|every (?:second )?(?:week|sprint|month|quarter|release|night|morning)"
    r"|in the (?:first|second|third|last) week of|(?:before|after) \d+(?::\d\d)? ?(?:am|pm|h|o'clock))\b"
)
_EQUALS = Lazy(rf"(?!{V})(?:[\w-]+ ){{1,3}}(?:=|==|->|=>|→) ?\S.*(?:▮|[,;] ?(?:nothing else|never|not|only)|[/.]\w)")
_OR_NOTHING = Lazy(
    rf"(?!i\b|it\b)(?:{_WORD} ){{1,6}}or (?:nothing|not at all|it (?:doesn't|does not) (?:count|exist))\b"
)
_TIME_ON = Lazy(
    r"(?:from|as of|starting|since|beginning) (?:this|next|v?\d[\w.]*|the next|sprint|january|february"
    r"|march|april|may|june"
    r"|july|august|september|october|november|december|monday)\b[^,]{0,20}(?:on|onwards?|forward)?, \S"
    r"|.*\b(?:drop|stop|end|ends|starts|applies|from) .*\b(?:as of|from|starting with|until"
    r"|till) (?:v?\d[\w.]*|version|sprint)\b"
)
_LABEL = Lazy(
    rf"(?!{_NO_KIND}|{V}|(?:\w+ )?(?:errors?|bug|issue|problem|question|task|todo|goal|steps?|expected"
    rf"|actual|got|result"
    r"|results|output|input|example|log|logs|update|status|title|subject|symptoms?|repro|context"
    r"|background|requirements?|next|also|then|first|second|last|finally"
    r"|spec|request|feature|story|user|acceptance|context|observed|attempt|note|ps|edit|link|ref|refs|url"
    r"|branch|file"
    r"|warning|panic|fatal|usage|https?|needs?|severity|idea|plan|option|step|summary|help|urgent|fyi|hint"
    r"|env)\b)"
    rf"{_WORD}(?: (?:(?:in|for|on|of|to|with|that|goes?|go|we|the|our|new)\b|{_WORD})){{0,6}}: (?!\d+$"
    rf"|\S+$)(?P<rest>\S.*)"
)
_LABEL_RULES = Lazy(
    r".*(?:,|\b(?:not|never|always|only|no|first|before|per|instead|rather|over|without|via|must|should"
    r"|than|in|by|from"
    r"|with|stays?)\b)"
)
#: What a statement says before it tells why, or what happens otherwise.
_HEAD = Lazy(
    r".*?(?=,? (?:so|because|since(?! (?:the|this|yesterday|last|today|my)\b)|otherwise|or else|or (?:the"
    r"|it|they|you)|and then|which|but it)\b|, (?:and|but|or|i|we|you|it|he|they|that's|user|is|are|please"
    r"|using|ask|mine|hence|in case|the server of)\b|$)",
    re.DOTALL,
)
_ASIDE = Lazy(
    r"\([^)]*\)|\b(?:if|when|whenever|unless|in case|as soon as) (?:something|anything|a|an|any|one|there"
    r"|tests?|you)\b[^,]*"
)


def main_part(clause: str) -> str:
    """What a clause says before it tells why, without asides and what it says of a case that may come."""
    found = _HEAD.match(clause)
    return _ASIDE.sub(" ", found.group() if found else clause)


_PARALLEL = Lazy(
    rf"(?!(?:it|this|that|these|those|they|there|here|i|you|he|she|we|what|why|how|not"
    rf"|let's)\b)(?!.*\b(?:was|were|is|are|did|does|has|have"
    rf"|got|it to|button|page)\b.* (?:and|,) )(?:{_WORD} ){{1,4}}?(?:for|in|on|at|with|under"
    rf"|to) {_WORD}(?: {_WORD}){{0,3}}?(?:, (?:and |but )?|;"
    rf" | and )(?!(?:the|it|then|also|please|i|we|you|{V})\b)(?:{_WORD} ){{1,4}}?(?:for|in|on|at|with|under"
    rf"|to|only|elsewhere|everywhere"
    rf"|otherwise|anywhere)\b(?! (?:it|this|that)\b)"
)


def is_parallel(clause: str) -> bool:
    """Whether a clause allots things to cases, without a verb: "docs in German and slides in English"."""
    first = clause.split(" ", 1)[0]
    return _PARALLEL.match(clause) is not None and _ORDER_WORD.match(first) is None


_ORDER_WORD = Lazy(rf"{V}$|(?:please|fix|look|find|plot|build|implement|refactor|debug)$")


def has_standing(clause: str) -> bool:
    """Whether a clause gives a part of the work its standing: "is frozen", "isn't an option"."""
    return any(pattern.match(clause) for pattern in (_HAS_STANDING, _WIDE, _FOR_US, _EACH_IS))


_PAST = Lazy(
    r"\bsince the \w+ at\b"
    r"|(?<!are )(?<!aren't )(?<!is )(?<!isn't )(?<!be )(?<!get )(?<!that )(?<!which )(?<!who )\b(?:was"
    r"|were|did|had|got|went|came|saw|ran|broke|found|lost|threw|gave|took|tried|happened|started|stopped"
    r"|appeared|crashed|returned|failed|changed|forgot|i've|been|nan|used to|didn't)\b"
)
_GOING_ON = Lazy(
    r"\b(?:is|are|keeps?|isn't|aren't) (?:now |still |currently |always |just "
    r"|only )*(?!\w*(?:missing)\b)\w{3,}ing\b(?! to\b)"
)
_SEEN_BY_USERS = Lazy(
    r"\b(?:users?|customers? (?:sees?|clicks?|says?|complains?|can't)|visitors?|players?|admins?|clicks?"
    r"|clicked|clicking|hover\w*|scroll\w*|tap|tapped"
    r"|on (?:my|his|her) (?:phone|ipad|iphone|machine|screen|laptop)|page (?:loads?|opens?|shows?)"
    r"|screen shows?)\b"
)
_POINTED_AT = Lazy(
    r"\b(?:this one|that one|the other one|right here|(?:below|above)(?= ?[,.:]|$)|attached|as follows"
    r"|following)\b"
)
_MEASURED = Lazy(
    r"\b(?:takes?|took|is|are|uses?|grows?) (?:about |around |over |only |like "
    r"|more than )?\d+(?:\.\d+)? ?(?:s|ms|sec\w*|min\w*|hours?|gb|mb|%|percent|times)\b(?! max)|\b(?:lower"
    r"|higher|bigger|smaller|slower|faster|more|less) than\b"
)


_HAS_ADDRESS = Lazy(
    rf"(?:the|our) (?:{_WORD} ){{1,6}}?(?:is|are|lives? at|runs? at|listens? on) (?:at )?(?:https?://"
    rf"|[\w.-]+:\d+)\S*"
)
_THE_LIVES = Lazy(
    rf"(?!(?:the )?(?:{_DEALT_WITH}))(?:the |our )(?:(?!(?:should|must|shall|will|can|to"
    rf"|would|may)\b){_WORD} ){{1,4}}?(?:\([^)]*\) )?(?:(?:only |always |all |never )?(?:lives?|sits?"
    rf"|belongs?|resides?"
    rf"|comes? from|accepts?|speaks?|allows?|supports?|requires?)|only (?:has|have|takes?|runs?|knows?"
    rf"|reads?|holds?))\b"
)
#: Any statement in the present about what has a name of its own or is of a kind.
_STATES = (
    r"(?:is|are|isn't|aren't|has|have|must|may|can|can't|cannot|should|shall|don't|doesn't|dont|doesnt"
    r"|do not|does not|always|never"
    r"|only)\b (?!(?:why|what|how|wrong|not working|there|it|this|that|red|green|empty|ready"
    r"|done|good|nice|great|fine|cool|ok|okay|perfect|better|worse)\b)\S"
)
_NAMED_STATES = Lazy(
    rf"(?!{_NO_KIND})(?!(?:[\w-]+ )?{_DEALT_WITH})(?!{V})(?:(?!{_NO_KIND}){_WORD}"
    rf" ){{0,3}}?(?!{_NO_KIND}){_WORD}{_OF_WHAT}"
    rf"(?: ?\([^)]*\))? {_STATES}"
)
_UNLESS = Lazy(rf"(?:please |just |always )*{V}.*\b(?:unless|except when|without exception)\b")


#: Habits of the person in their own work.
_I_DO = Lazy(
    r"i (?:only |always |never |usually |mostly |also |don't |do not )*(?:design|write|deploy|test|release"
    r"|sketch|document|present|teach|manage"
    r"|lead|hand|store|publish|commit|merge|format|draw|plan|review|read|listen|own|maintain|pay|sign"
    r"|approve|ship|track|type|code|grade|cite|bill|rotate|hyphenate|spell) (?!it\b"
    r"|this\b|that\b|to\b|a \w+ (?:and|but))\S"
)
_DONT_WANT = Lazy(
    r"i (?:really )?(?:don't|do not|dont|never) (?:want|like|need) (?:you|anyone|anybody|us"
    r"|people) (?!to (?:break|fix))\w+"
)
_NOT_ANY = Lazy(
    rf"(?:please |also |and )*(?:don't|do not|dont|never) (?!worry|bother|forget|mind|stop|panic|think|know"
    rf"|see|get|wait|do\b|hesitate"
    rf"|understand|give up|be\b|let\b|try|go\b|have|want|need|care|like){_WORD}(?: (?!(?:the|this|that|it"
    rf"|its|an?|these|those|them|me|us|my"
    rf"|your|there|here|yet|now|anything|something|what|why|how|one|any|and)\b){_WORD})+$"
)
_WOULD_BE = Lazy(
    rf"(?!(?:it|that|this|a|an|the|which|what)\b)(?:{_WORD} ){{1,5}}?(?:would|'d) be (?:awesome|great|nice"
    rf"|better|lovely|ideal|appreciated"
    r"|perfect|good|cool|helpful|preferred|best)\b"
)
_NOT_POSSIBLE = Lazy(
    r"(?:it )?(?:is|'s|it's) (?:not|never|forbidden|prohibited)(?: (?:possible|allowed|permitted|ok|okay"
    r"|good|an option))? to \w+"
)
_WHEN_YOU = Lazy(
    rf"(?:if|when) you(?:'re| are) (?!seeing|getting|looking|done"
    rf"|ready)\w+ing\b[^,]{{0,40}}, (?:please )?(?:{V}|say|don't)"
    rf"|(?:when|whenever|once|if|after|before) you (?!get\b|see\b|run into|can\b|could|want|look|are ready"
    rf"|start now)\w+ (?!(?:this|that|it"
    rf"|these|the)\b)[^,]{{2,50}}?(?:,| )(?:please |always |never |also |just )*(?:{V}|don't |tell "
    rf"|make )(?! (?:it|this|that) )"
)
_KEPT_IN = Lazy(
    rf"(?!{_NO_KIND}|{V})(?:{_WORD} ){{0,2}}?[\w-]+s (?:in|under|at|from|via"
    rf"|through) [\w.-]*[/.▮][\w./▮-]*(?:,|$)"
)


#: An order about any of a kind, or about a case that comes again.
_DO_ANY = Lazy(
    rf"(?:please |always |and |also )*(?!{V_OF_TASKS}){V} (?:[^\s,;:()]+ ){{0,2}}?(?:every|each|any"
    rf"|anything|nothing|everything|nobody|no one)\b(?! (?:of"
    r"|that's|changed|else)\b)"
    rf"|we (?:[^\s,;:()]+ ){{1,4}}?(?:every|each|any|anything|nothing|everything)\b"
    rf"|(?:please |always )*(?!{V_OF_TASKS}){V} [^,]{{3,60}}? (?:when|whenever) (?:you|we) (?!get\b|see\b"
    rf"|can\b|are\b|have time)\w+"
)
_BAN_WITH_REASON = Lazy(
    r"(?:please |also |and )*(?:don't|do not|dont|never) (?!worry|bother|forget|mind|stop|do\b|let\b"
    r"|be\b)\w+ (?:[^,]* on (?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)days\b|(?!it\b|this\b|that\b|the\b)[^,]*, (?:that's|this is|it's) (?:our|my|the"
    r"|how|a)\b|my [\w-]+s\b)"
)
_WIDE = Lazy(
    r"(?!it\b|this\b|that\b).{6,}\b(?:\w+-wide|(?:wrong|right|fine|ok|okay) (?:in our house|with us"
    r"|around here|in our world))\b"
)


#: Two things told alike: "staging is views, marts are tables".
_EACH_IS = Lazy(
    rf"(?:[\w -]{{2,25}}: )?(?!{_NO_KIND})(?:{_WORD} ){{1,3}}?(?P<verb>is"
    rf"|are) {_WORD}(?: {_WORD}){{0,2}}?,? (?:and |but )?(?!{_NO_KIND})"
    rf"(?:{_WORD} ){{1,3}}?(?:is|are) {_WORD}(?: {_WORD}){{0,3}}$"
)
_FOR_US = Lazy(
    rf"(?!{_NO_KIND})(?:{_WORD} ){{1,5}}?(?:is|are|isn't|aren't|counts? as|means?) [^,]*\b(?:for us|to us"
    rf"|with us|here|by design|in our \w+)(?:,|$)"
)
_I_FIND = Lazy(
    r"(?:personally,? )?i find \w+(?: \w+){0,4} (?:un\w+|ugly|confusing|hard|annoying|easier|clearer"
    r"|better|nicer|noisy|distracting|\w+ to read)\b"
)
_OWNS = Lazy(
    rf"(?!{_NO_KIND})(?:{_WORD} ){{1,3}}?(?:owns|maintains|manages|decides|signs off|approves|reviews"
    rf"|handles|looks after|runs) (?:on )?(?:the|all|our"
    r"|every|any)\b"
)
_NAMED_SO = Lazy(r"it's (?:called |spelled |spelt |written )?▮+(?: \w+)?,? (?:and )?not ▮+")


def general_kind(clause: str, *, in_task: bool, in_spec: bool, noted: bool) -> EntryKind | None:
    """Return what a clause, in lower case, says in general; None when it speaks of single things or the moment.

    The caller has left out tasks, questions, trouble and the moment.
    """
    kind = _kind(clause, in_task=in_task, in_spec=in_spec, noted=noted)
    return EntryKind.PREFERENCE if kind is EntryKind.KNOWLEDGE and orders_or_binds(clause) else kind


def orders_or_binds(clause: str) -> bool:
    """Whether a clause orders something, or says what must or can't be, rather than what is."""
    return _ORDERS_OR_BINDS.match(clause) is not None


_ORDERS_OR_BINDS = Lazy(
    rf"(?:{V}|stay) (?!(?:\w+ )?(?:is|are|happens|has|comes|goes|stays|lives)\b)|(?:no|nobody|nothing|never|don't)\b"
    rf"|[^,]*\b(?:must|should|shall|never|has to|have to|needs? to|not allowed"
    r"|forbidden|can't|cannot|may not|off[- ]limits|mandatory|we don't|we never)\b"
)


def _kind(clause: str, *, in_task: bool, in_spec: bool, noted: bool) -> EntryKind | None:
    head = main_part(clause)
    if in_spec or _POINTED_AT.search(clause) or _SEEN_BY_USERS.search(head):
        return None
    passes = _PAST.search(head) is not None or _GOING_ON.search(head) is not None
    if _WE_DO.match(clause) and not passes:
        return EntryKind.KNOWLEDGE
    if passes or _MEASURED.search(head):
        return None
    if _ONE_NOT_OTHER.match(head) or any(pattern.match(clause) for pattern in _WHAT_TO_DO):
        return EntryKind.PREFERENCE
    if _NAMED_STATES.match(head) or any(pattern.match(clause) for pattern in _HOW_IT_IS):
        return EntryKind.KNOWLEDGE
    label = _LABEL.match(clause)
    if label and (noted or not in_task or _LABEL_RULES.match(label["rest"])):
        return EntryKind.PREFERENCE
    return None


_WHAT_TO_DO = (
    *(_WHATEVER, _YOU_DO, _WANTED, _NONE_OF_A_KIND, _WHEN_ASKED, _FOR_A_KIND, _UNLESS, _I_FIND, _DO_ANY),
    *(_BAN_WITH_REASON, _WIDE, _I_DO, _DONT_WANT, _NOT_ANY, _WOULD_BE, _NOT_POSSIBLE, _WHEN_YOU, _KEPT_IN),
    *(_ALL_OF_A_KIND, _OR_NOTHING),
)
_HOW_IT_IS = (
    *(_HAS_STANDING, _FOR_US, _EACH_IS, _OWNS, _NAMED_SO, _STANDS, _TIME_ON, _RECURRING_DAY, _EQUALS),
    *(_HAS_ADDRESS, _THE_LIVES, _A_KIND, _A_MATTER, _OURS),
)
