"""What a direction looks like in English when a word in it says that it lasts: "always", "from now on", "we use"."""

from __future__ import annotations

import re

from memory_pipeline.directions.lazy import Lazy

VERBS = (
    "use|run|execute|write|add|put|keep|make|call|name|ask|check|test|lint|format|build|deploy|release"
    "|commit|push|pull"
    "|merge|rebase|squash|tag|bump|update|upgrade|install|import|export|include|exclude|create|delete"
    "|remove|rename"
    "|move|copy|edit|change|modify|touch|fix|mock|stub|skip|ignore|return|raise|throw|log|print|show|tell"
    "|explain"
    "|answer|reply|respond|speak|talk|comment|document|describe|review|verify|validate|confirm|ensure"
    "|prefer|choose"
    "|pick|stick|default|follow|respect|avoid|stop|start|restart|open|close|read|look|search|grep"
    "|generate|regenerate"
    "|migrate|sync|fetch|clone|fork|branch|switch|check out|work|leave|set|store|save|load|pin|lock|sign"
    "|sort|group"
    "|split|wrap|indent|quote|escape|type|annotate|declare|define|expose|hide|refactor|rewrite|simplify"
    "|mention|link"
    "|cite|summari[sz]e|translate|send|post|publish|ship|report|reproduce|treat|assume|guess|wait|do|be"
    "|go|give|take"
    "|let|try|rerun|re-run|reuse|re-use|cover|assert|quantify|measure|profile|benchmark|clean|backup"
    "|back up|revert"
    "|reset|amend|force|disable|enable|allow|deny|require|depend|target|support|apply|propose|suggest"
    "|plan|think"
    "|dump|register|notify|inform|drop|seed|reload|rebuild|recreate|compile|archive|record|refresh|redeploy"
    "|double[- ]check"
    "|attach|append|prepend|mirror|consult|duplicate|upload|download|sketch|outline|escalate|ping|finish"
    "|end|begin|note|list|pass|access|process|address|focus|bypass|suppress|compress|cross|discuss"
    "|express"
)
V = rf"(?:{VERBS})\b"
ORDER = Lazy(
    rf"[\s,;:，；：]*(?:(?:and|then|now|please|also|just|next)[\s,]+)*(?:{V}|implement\b|debug\b"
    rf"|investigate\b|find\b)|.{{0,6}}(?:帮|修|加|写|改|看|查|跑|实现|添加|检查)"
)
DEICTIC = (
    r"(?:it|this|that|these|those|them|one|ones|both|mine|yours|what|whatever|your|"
    r"the (?:first|second|third|last|latter|former|other|same|simpler|simple|easy|easier|one|ones|option"
    r"|approach))\b"
)
LEAD = Lazy(
    r"""(?:\((?=\w)|(?:
        please|pls|kindly|and|but|also|so|then|ok|okay|yes|yep|yeah|sure|well|oh|hey|hi|hello|btw|by\ the\ way|nb|fyi
      | reminder|important|rule|note(?:\ that)?|again|just
      | because|since(?!\ (?:this|last|yesterday|today)\b)|as(?!\ of\b)|for\ the\ record
      | one\ (?:more|last)\ thing|another\ thing
      | thanks|thank\ you|great|perfect|nice|cool|good|right|actually|in\ (?:that|this)\ case|i\ think|imo|imho|i'd\ say
      | no(?=[,.!:—–-]|\s+(?:use|don't|do|i|it|it's|we|the|that|that's|you|please|not|let's)\b)|nope|nah|wrong|wait|now
      | to\ be\ clear|(?:once\ and\ for\ all|as\ a\ rule|in\ general)(?=:)|fyi|heads[-\ ]up|note\ that|house\ rules?
          |(?:and\ )?for\ (?:the\ )?(?:future|reference|context)|as\ (?:usual|always)|new\ rule|general\ rule|hint
          |tip|instead(?!\ of)
      | (?:can|could|would|will)\ (?:you|we)(?:\ maybe)?
      | is\ it\ (?:ok|okay|fine|alright)\ if\ you | haha+ | lol | h+m+ | context | background | for\ info | info | sorry
      | (?:a\ )?heads\ up\ that | hang\ on | hold\ on | basically | alright | um+ | uh+ | oh | ah+ | sooo* | apparently
      | turns\ out | anyways? | hey+ | hi+ | yay
      | how\ (?:often|many\ times)(?:\ [\w']+){0,8}(?=,)
      | for\ (?:the\ (?:last|second|third|hundredth)\ time|god's\ sake)
      | (?:this\ is\ |it's\ )?the\ (?:second|third|fourth|last)\ time(?:\ now)?(?=[,.:])
      | like\ i\ (?:told|said)[^,:]{0,30}(?=[,:])
      | (?:i'm\ |i\ am\ )?(?:sick|tired)\ of\ (?:repeating|saying)\ (?:this|it|that)(?=[,:]) | come\ on | update(?=:)
      | (?:one|a|small|quick|last|another)\ (?:small\ |quick\ )?(?:remark|note|request|favou?r|word|thing)(?=:)
      | standing\ (?:instruction|order|rule)(?=:) | ugh | argh | ffs | fwiw | pls | plz | plase
      | just\ so\ you\ know | just\ a\ heads\ up(?:\ that)? | small\ thing | nit | like | honestly | seriously
      | (?:as\ )?i\ (?:said|told\ you|already\ said)(?:\ to|\ that|\ before|\ already)?
      | (?:that's|that\ is|this\ is|it's)
        \ (?:wrong|incorrect|not\ (?:right|correct|what\ i\ (?:asked|meant|wanted|said))(?:\ for)?)
      | [a-z_]+:[a-z_]\S* | /[a-z][\w:-]*(?!\S)
      )(?:\s*[,:!—–-]+\s+|\s*[:]\s*|\s+))+""",
    re.VERBOSE,
)
INNER_START = Lazy(
    r"(?:[:：(]\s*|\s[-–—]+\s|\b(?:because|since|so|but|and|also|please|then|therefore|hence)\s+(?:,\s*)?"
    r"|[a-z_]+:[a-z_]\w*\s+)"
)
WANTS = (
    r"(?:i(?:'d| would)?(?: really)? (?:want|like|need|expect|ask|love)(?:ed)? (?:you|us|everyone) to |"
    r"you (?:should|must|need to|have to|are to|shall|ought to) |"
    r"(?:we|i|everyone|everybody) (?:should |must |need to |have to |want to |ought to )?|"
    r"(?:make sure|be sure|ensure) (?:that |to )*(?:you |we )?)"
)
ARTEFACT = (
    r"(?:unit |integration |commit |code |pull request |default )*(?:tests?|commits?|code|docs?|messages?"
    r"|builds?|branch|prs?|migrations?"
    r"|answers?|responses?|changelog|readme|comments?|names?|style)\b"
)
REPORTS = (
    r"(?:get|got|see|saw|have|had|has|hear|end up|run into|hit|receive|find|found|forget|forgot|wonder"
    r"|wondered|fail"
    r"|crash|hang|return|returns|throw|throws|thought|knew|notice"
    r"|lose|struggle|been|was|were|is|are|am|felt|feel|love"
    r"|mix|confuse|struggle|the|a|an|been|happens?|works?|worked|seem|seems|on|off|true|false|null|none"
    r"|undefined|there|wrong)\b"
)
BASE_FORM = rf"(?!{REPORTS})(?!\w+(?<!ss)(?<!us)s\b)(?!(?!need|embed|feed|seed|shed|embed|speed)\w+ed\b)[\w▮'-]"
#: What a program shall show is asked of the program, not of the agent; "show me" is asked of the agent.
NOT_A_SPEC = r"(?!(?:show|display|render|hide|redirect|highlight) (?!me\b|us\b))"
EVENT = (
    r"(?:commit(?:s|ting|ted)?|push(?:es|ing|ed)?|merg(?:e|es|ing|ed)|releas(?:e|es|ing)|deploy(?:s|ing"
    r"|ments?)?"
    r"|publish(?:ing)?|opening|submitting|creating|sending|finishing|changing|editing|adding|writing"
    r"|making|running"
    r"|refactoring|installing|upgrading|pull requests?|prs?|mrs?|merge requests?|builds?|tagging|shipping)\b"
)
RECURS = (
    r"(?:every ?time|each time|whenever|(?:before|after|on|with|at|for|in) (?:every|each)\b(?! (?:of|file"
    r"|line|row|item|element)\b)"
    rf"|(?:before|after|when) (?:any |all |a |an |the |new )*{EVENT}|every (?:commit|pr|push|release|merge"
    r"|session|day|change)"
    r"|for (?:all|any)(?: new)? (?:commits?|changes?|prs?|pull requests?|features?|releases?|tasks?"
    r"|sessions?|projects?|repos?)"
    r"|by default|at all times|(?:in|across|for) (?:all|any)(?: of)?(?: my| our| the)? (?:projects?|repos?"
    r"|repositories|codebases?)"
    r"|everywhere\b|globally$|from now on|from here on|going forward|moving forward|in (?:the )?future\b"
    r"|as a (?:general )?rule"
    r"|without exception|no matter what|unless i\b|unless (?:asked|told)|henceforth)"
)
NOW_ONLY = (
    r"(?:this time|for now|right now|just now|just this|today"
    r"|tomorrow|later|temporarily|yet|until then|for the moment"
    r"|in this (?:file|function|test|case|class|method|line"
    r"|module|loop|branch|commit|pr|script|component|step|example)"
    r"|in (?:the|that) (?:loop|function|file|class|method|test|second|first|last)|on line \d+|line \d+"
    r"|above|below|once)\b"
)
TROUBLE = Lazy(
    r"\b(?<!no )(?:errors?(?! (?:tracker|messages?|texts?|strings?|pages?|reports?|codes?|handling|handlers?"
    r"|types?|class(?:es)?"
    r"|boundar\w+|budget))"
    r"|fail(?:s|ed|ing|ure)?|broken|breaks|crash(?:es|ed|ing)?|exceptions?|traceback|bugs?(?![ -]?fix)"
    r"|doesn't work|hangs?"
    r"|not working|null|undefined|timed? ?out|stuck|weird|slow)\b"
    r"|报错|出错|失败|崩溃|异常|超时|卡住|卡死|挂了|不行|不对|没反应|返回(?!码|值|体"
    r"|结果|格式|类型|统一|的)|为空|跑不过|不通过|很慢|太慢|死循环|乱码"
)
REPORTED = Lazy(
    r"(?<!\bi )(?<!\bwe )\b(?:(?<!my )says?|said|stated|claims?|claimed|reads(?= ?[:▮])|mentions?|mentioned"
    r"|recommends?|recommended|suggests?"
    r"|suggested|according to|prints|printed|outputs(?! are| go)"
    r"|told me|tells me|complains?|warns?|warned|insists?|explaining|describing)\b"
    r"|(?:写着|文档说|文档里(?:写|说)|日志里?(?:说|写|显示|提示)|提示说|报错(?!信息)|据说|他说|她说|你说|你刚才说)"
)
UNSURE = Lazy(
    r"\b(?:(?<!you )maybe|perhaps|not sure|i wonder|i guess|what if|suppose|if we always|if i always)\b|也许|可能"
    r"|或许|是不是|要不要|如果总是"
)
ASKS = Lazy(
    r"(?:why(?! (?:do|are|did) you (?:keep|always|still)\b[^,]*,)|what(?! i (?:really )?(?:don't|do not|never"
    r"|want|need|like|said|told|asked|wrote|mentioned))|how(?! (?:often|many times)\b[^,]*,)|where|who|whose|which"
    r"|is(?! (?:better|not possible|forbid\w+|not allowed|important|necessary|easier|good if|prohibited))"
    r"|are|was|were|does|did|has|had|isn't|aren't|don't you|doesn't|didn't"
    r"|do (?:you|we|i|they)|have (?:you|we|i)|should (?:i|we|it|you)|shall (?:i|we)|(?:can|could|may) i(?! ask you to)"
    r"|would it"
    r"|am i|any idea|i wonder)\b|(?:为什么|为啥|怎么(?!又)|什么|是否|能否|有没有|哪|谁(?![都也])|难道|[他她][们]?[说让]"
    r"|有人说|你还?记得|你(?:总是|老是|又|每次都))"
)
POLITE_REQUEST = Lazy(
    r"(?:(?:please|hey|hi+|hello|um+|uh+|and|also|ok|okay|so|btw|by the way|oh|ah+|thx|thanks|but|yes|great|cool"
    r"|sorry|anyway"
    r"|one more thing|quick one)[,!:]? )*(?:(?:can|could|would|will) (?:you|we) |is it (?:ok|okay|possible"
    r"|fine|alright)"
    r" (?:if you|that you|for you to|to) |(?:may|can|could) i ask you to )"
    r"(?:please |maybe |kindly |also |just |pretty )*"
)

# Each is matched where a clause may begin. The order is that of how much they say.
PREFERENCES = (
    r"you (?:can|may) [^,]+,? but (?:never|don't|not|do not) \w",
    rf"{WANTS}?(?:please )?always,? {NOT_A_SPEC}{BASE_FORM}",
    (
        rf"{WANTS}?(?:please )?(?:never ever|never|don't ever|do not ever|under no circumstances)"
        r" (?!mind\b|again\s*$|got\b|saw\b|seen\b|said\b|did\b|knew\b"
        rf"|heard\b|told\b|tried\b|used\b){NOT_A_SPEC}{BASE_FORM}"
    ),
    (
        rf"(?!{DEICTIC}|if\b)(?:[\w▮'/.-]+ ){{0,4}}?{ARTEFACT}[\w▮' /.-]{{0,40}}?"
        rf" (?:should|must|shall|needs? to|has to|have to|may|can) (?:always|never) (?!happen|occur)"
    ),
    (
        r"(?:all|every|each|any|new)\b(?! (?:users?|rows?|items?|buttons?|pages?|clients?|requests?|other"
        r"|customers?|fields?|cells?))"
        r"[\w▮' /.-]{1,60}? (?:must|should|shall|needs? to|has to|have to)(?: not)? \w"
    ),
    (
        r"(?:from now on(?:wards?)?|from here on(?: out)?|from this point (?:on|forward)|from today on"
        r"|going forward"
        r"|moving forward|henceforth|as a (?:general )?rule|once and for all|in general|globally|at all times"
        r"|in (?:the )?future|for future"
        r" (?:reference|tasks|sessions|work|changes))\b[\s,:]*"
        r"(?!.*\b(?:might|may|could|will probably|would)\b)[\w▮]"
    ),
    (
        rf"{WANTS}?(?:please )?(?:do )?(?:remember|memori[sz]e|keep in mind|bear in mind)(?: that| to|,"
        rf"|\s*:)*\s+"
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
        rf"| to| if)? (?!{DEICTIC}|option\b)\S"
    ),
    rf"prefer (?!{DEICTIC})\S+",
    r"my (?:strong |general |personal )?preference is (?!it\b|this\b|that\b)\S",
    rf"(?:i|we)(?:'d| would) (?:much )?rather (?:you|we|have|use|keep|see|not|avoid) (?!{DEICTIC})\S",
    (
        rf"i (?:really |generally |usually |also |always )?like (?!{DEICTIC}|the |where|how|when$)(?:to |my "
        rf"|when |\S+)"
    ),
    (
        rf"i (?:really )?(?:don't|do not|dislike|hate|can't stand)(?: like)? (?:it when|when|(?!{DEICTIC}|know"
        r"|think|want|need|see|have|get|understand|care|believe|mind|remember|the )\S+ ?\S*ing|seeing|having)"
    ),
    rf"i (?:really )?(?:don't like|do not like|dislike|hate|can't stand) (?!{DEICTIC}|the )\S",
    (
        r"(?:please )?(?:stop|quit) (?!working|responding|being|trying|there)\w+ing\b(?! (?:it|this"
        r"|that)\b)(?! the (?:server|process|run|job))"
    ),
    rf"(?:please )?avoid (?!{DEICTIC}|the )\S",
    rf"{WANTS}?(?:please )?no longer {V}",
    (
        r"(?:we|i) (?:no longer|don't|do not|never) (?:use|support|run|write|do|commit|push|mock|deploy|ship"
        rf"|allow) (?!{DEICTIC}|the (?:\w+ )?(?:anymore)?$)\S"
    ),
    (
        rf"{WANTS}?(?:please )?(?:don't|do not|dont) (?!stop\b|wait\b){V}.*\b(?:any ?more|again|unless"
        rf"|without|ever"
        r"|until)\b"
    ),
    (
        r"(?:please )?(?:don't|do not|dont) (?:use|add|write|generate|put|include|mock|push|install|commit"
        rf"|import) (?!{DEICTIC}|the |any of|anything|a\b|\w+$(?<=yet))\S"
    ),
    rf"(?:please )?(?:only use|use only|stick (?:to|with)|default to) (?!{DEICTIC}|the (?!standard))\S",
    (
        r"(?:please )?(?:don't|do not|dont) (?:edit|touch|modify|change"
        rf"|delete|remove|run) (?!{DEICTIC}|the (?!full|whole)|a\b|any of)"
        r"(?:[\w▮./-]+ ){1,2}(?:files?|folders?|director(?:y|ies)|tests?|suite|code|migrations|fixtures"
        r"|snapshots)\b"
    ),
    r"i (?:don't|do not|never) want (?:you|us|anyone) to (?!do (?:that|this)|worry|be)\S",
    r"(?:please )?(?:make sure|ensure)(?: that)? (?:every|all|each|any) (?:new )?\w+",
    rf"next time,? (?:please )?(?:don't |do not |never |always )?(?:ask|{V})",
    (
        r"(?:we|our team) (?:deploy|build|test|format|lint|host|publish|release"
        r"|manage|write|run|develop|store)\w* [^,]{1,40},? (?:and )?not \S"
    ),
    (
        rf"(?:our |the |all )?{ARTEFACT} (?:must|should|have to|need to) (?:be"
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
        rf" (?:please )?(?:always |never )?(?:don't |do not )?{V}"
    ),
    (
        rf"(?:please )?(?:use|pick|choose|write|import|name|put) (?!{DEICTIC}|a test|an? \w+ (?:that"
        r"|which))(?:(?! (?:that|why|how|explaining|which|where) ).){1,60}?(?: instead of | rather than "
        r"| in place of |,? ?\(?(?:and "
        rf"|but )?(?:not|never|no) )(?!{DEICTIC}|the |doing |only |just )\S"
    ),
    rf"(?:please )?use (?!{DEICTIC}|the |a |an )\S+(?: \S+)? instead$",
    (
        r"(?:we|i|our team|the team)(?:'re| are|'ve| have)?(?: (?:only|all|mostly|usually|generally|do|both"
        r"|always|been))* (?:use|using|standardi[sz]ed? on|work with)"
        rf" (?!{DEICTIC}|the same|the |to )(?!.* (?:for|in|with) (?:that|this|it)$)\S.*?(?:,? (?:and "
        r"|but )?(?:not|never|no)\b| instead of | rather than | over | for | in (?:this|our|all|every|the)\b"
        r"| here\b| everywhere| as |$)"
    ),
    rf"{WANTS}?(?:please )?(?:make sure|be sure|ensure|don't forget|do not forget|see to it)\b.*\b{RECURS}",
    rf"{WANTS}?(?:please )?(?:don't |do not )?{V}.*\b{RECURS}",
    (
        r"(?:in|across|for|on) (?:this|our|the|my|all|every|each|any)(?: of)?(?: (?:my|our|the))? (?:projects?"
        r"|repos?|repository|repositories|codebases?|workspace),?"
        rf" (?:please )?(?:always |only )?(?:(?:don't |do not |never )?{V}|no \S"
        rf"|we (?:always |never |only |don't )?{V})"
    ),
    (
        rf"(?:please )?{RECURS}[^,]{{0,80}}, (?:please |also )*(?:always |never )?(?:make sure|be sure"
        rf"|you (?:should|must|need to)|i want you to|(?:don't |do not )?{V})"
    ),
    (
        rf"(?:please )?(?:before|after) (?:any |all |a |an |every |each |new )*{EVENT}(?: \S+)?,? (?:please "
        rf"|also )*(?:always |never )?{V}"
    ),
    (
        rf"(?:please )?(?:don't|do not|dont) {V}.*\b(?:in|for|on|to) (?:the |our )?(?:unit |integration "
        r"|e2e )?(?:tests|ci|prod|production|main|master|commit messages|docs|migrations|comments)\b"
    ),
    (
        rf"(?:please )?use (?!{DEICTIC}|the |a |an )\S.*\b(?:in|for) (?:this|our|the) (?:project|repo"
        r"|repository|codebase)\b"
    ),
    r"(?:please )?ask (?:me |us )?(?:first )?before (?!you start\b|we start\b|starting\b|going on\b)\S",
)
DECISIONS = (
    (
        r"let(?:'s|s| us) (?:go with|stick with|stick to|switch to|move to|adopt|settle on|standardi[sz]e on"
        rf"|keep using) (?!{DEICTIC})\S"
    ),
    rf"let(?:'s|s| us) (?:use) (?!{DEICTIC}|the |a |an |.*\b(?:for|in) (?:this|that|it)\b)\S",
    (
        r"(?:we|i)(?:'ve| have)?(?: (?:now|already|finally|just))* (?:decided|agreed|settled|opted|chosen"
        r"|chose)"
        rf"(?: (?:to|on|that|for|against|not to))* (?!{DEICTIC})\S"
    ),
    (
        r"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to)(?: only| just)? (?:use|go with"
        r"|stick with|stick to|adopt|keep|move to"
        rf"|switch to|target|support|deploy to|store|ship with|standardi[sz]e on) (?!{DEICTIC})\S"
    ),
    rf"(?:(?:we|i)(?:'re| are|'m| am) )?going with (?!{DEICTIC})\S",
    rf"go with (?!{DEICTIC})\S",
    rf"(?:(?:the |my |our |final )*decision(?: is)?\s*[:,]?) (?!{DEICTIC}|is\b|was\b)\S",
    r"option [a-e1-5]\b(?: it is|,? please)?$",
)
CORRECTION = Lazy(
    r"(?:no|nope|nah|wrong|not quite|wait|actually)\s*[,.!:—–-]+\s|no (?=use |don't |do not |i (?:said"
    r"|meant)|not )"
    r"|(?:that's|that is|this is|it's) (?:wrong|incorrect|not (?:right|correct|what i))|not what i (?:asked"
    r"|meant|wanted|said)"
    r"|(?:as )?i (?:said|told you|meant|asked (?:you )?(?:for|to)|already said)\b|you should have"
    r"|not \S+(?: \S+){0,2},? but "
    r"|(?:不对|不是这样|不是的|错了|不，|不,|你错了|搞错了|说错了|应该(?:是|用|使用)|我说的是|我的意思是"
    r"|我要的是|我说过|我刚才说)"
)
BARE_CORRECTION = Lazy(
    r"(?:no|nope|nah|wrong|not quite|(?:that's|that is|this is|it's) (?:wrong|incorrect|not (?:right"
    r"|correct)|not what i (?:asked|meant|wanted|said)(?: for)?)"
    r"|不对|错了|不是这样的?|你错了|搞错了)"
)
CORRECTED = (
    rf"(?:please |you should |you should have |we )?use(?:d)? (?!{DEICTIC}|the |a |an |my )\S",
    r"not \S+(?: \S+){0,3},? but \S",
    (
        rf"(?:i meant |it's |it is )?(?!{DEICTIC})[\w▮./-]+(?: [\w▮./-]+){{0,5}},? (?:and )?not [\w▮./-]+(?:"
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
