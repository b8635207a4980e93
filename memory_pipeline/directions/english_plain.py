"""What lasts in English by its grammar alone, without a word that says so: rules of conduct and style, and facts.

Told apart are rules (what to do, or leave, whenever work is done), asks before actions, conditionals, what the person
says of themselves, and what they say of their project. What the product shall do, what is to be built now, and what
explains the trouble of the moment are none of these.
"""

from __future__ import annotations

import re

from memory_pipeline.directions.english import TROUBLE, V
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind

# --- words -----------------------------------------------------------------------------------------------------------

#: What the work is made of, rather than what the product is made of.
CRAFT = (
    r"(?:commit messages?|commits?|messages|branch names?|branch(?:es)?|prs?|mrs?|pull requests?|pr (?:titles?"
    r"|descriptions?)"
    r"|tests?(?: (?:names?|files?|cases?|functions?))?|unit tests?|functions?(?: names?)?|methods?(?: names?)?"
    r"|class(?:es)?(?: names?)?|variables?(?: names?)?|(?:file ?|table |column )?names?|naming|comments?|docstrings?"
    r"|imports?|exports|errors?|error messages?|exceptions?|warnings|logs?|log (?:messages?|lines?|output)|logging"
    r"|type(?:s| hints?| annotations?)|hints|annotations|migrations?|files?|modules?|packages?|constants?|enums?"
    r"|endpoints?"
    r"|docs|documentation|readmes?|changelog(?: entr(?:y|ies))?|release notes|responses?|answers?|repl(?:y|ies)"
    r"|explanations?"
    r"|summar(?:y|ies)|diffs?|patch(?:es)?|changes?|edits?|refactor(?:ing)?s?|dependenc(?:y|ies)|librar(?:y|ies)|code"
    r"|indentation|lines?(?: length(?: limit)?)?|line width|sql|quer(?:y|ies)|sql keywords|secrets?|credentials"
    r"|passwords|urls?"
    r"|dates|date ?times?|timestamps|times|time ?zones?|(?:\w+ )?ids|keys|money|prices|amounts|currenc(?:y|ies)"
    r"|spelling|quotes"
    r"|semicolons|spaces|tabs|emojis?|abbreviations|mocks|fixtures|snapshots|css|styles?|stylesheets"
    r"|config(?:uration|s)?"
    r"|settings|env(?:ironment)? vars|json|yaml|strings|scripts|reviews?|releases?|deploys?|deployments?|builds?"
    r"|build artifacts?|artifacts|versions|tags|titles|headers|license headers?|todos?|jobs|workflows?|hooks|components"
    r"|interfaces|translations|locales|feature flags|flags|images|assets|backups|schemas?|proto(?:s|buf)?|fields"
    r"|commit history|history|features?|bug ?fix(?:es)?|services?|breaking changes|reformatting|marketing words|jargon"
    r"|api keys|keywords|output|text|prose|paragraphs|bullet points|sentences|notebooks?|plots|charts|diagrams)"
)
#: What a project stands on.
_INFRA = (
    r"(?:repo(?:sitory)?|monorepo|project|codebase|code ?base|back ?end|front ?end|server|client|api(?: gateway)?"
    r"|gateway"
    r"|database|db|datastore|cache|redis|postgres|mysql|mongo|queue(?: name)?|broker|bucket|storage|cluster|production"
    r"|prod|staging|dev|ci|cd|pipeline|build(?: artifacts?)?|docs?(?: site)?|documentation|site|website|app|apps"
    r"|service"
    r"|services|microservices?|panel|admin|dashboard|branch|trunk|release branch|config(?: file)?|package manager"
    r"|linter|formatter|test suite|test runner|tests|framework|library|sdk|cli|job|cron(?:job)?|worker|scheduler"
    r"|registry"
    r"|domain|port|host|instance|environment|vpn|endpoint|company|team|license|metrics(?: endpoint)?|logs|folder"
    r"|directory|dir|secrets|api keys|keys|migrations|fork|images|assets|runner|ide|editor|deploy(?:s|ment)?"
    r"|line length(?: limit)?|version|schema|proxy|load balancer|network|wiki|board|tracker|terraform state|state|stack"
    r"|locale|language|ttl|timeout|time ?zone|scheduler|(?:error |issue |bug )?tracker|monitoring|alerting|orm"
    r"|auth(?:entication)?|login|sso|mail ?server|smtp|cdn|dns|vault|firewall"
    r"|certificates?|cert|backups?|replica|shard|topic|stream|data ?warehouse|etl|importer|exporter|node|machine"
    r"|box|vm|container|namespace|release|release cycle|cycle|sprint|budget|quota|limit|rate limit|retention|sla"
    r"|postgresql|sqlite|kafka|rabbitmq|celery|nginx|kubernetes|k8s|docker|terraform|ansible|jenkins|github|gitlab"
    r"|jira|sentry|grafana|node version|python version|ruby version|default \w+|minimum \w+|target|platform"
    r"|code owner|(?:team |tech )?lead|product owner|po|cto|designer|reviewer|contact(?: person)?|payments?"
    r"|billing|checklist|runbook|playbook|dashboard|legal|design|hosting|owner|maintainer|stakeholder|data|module"
    r"|package|layer|core|kernel|parser library|plugin|extension|theme|design system|storybook|monolith"
    r"|legacy (?:code|app|system)|vendor|contract|spec|protocol|format|encoding|charset"
    r"|infrastructure|infra|compiler|interpreter|toolchain|convention|style guide|mobile app|web app|product)"
)
_SKIPPED = (
    r"(?:the |our |my |all |any |every |each |new |public |private |long |short |old |other |own |code |more "
    r"|extra |trailing"
    r" |unnecessary |default |named |absolute |relative |generated |external |third[- ]party |unit |internal "
    r"|user |test"
    r" |production |local |main |nightly |inline |wildcard |magic |force |breaking |hard-?coded )*"
)
_DEIXIS = r"(?:it|this|that|these|those|them|there|here|both|one of)\b"
_PATHLIKE = r"(?:[\w.-]*[/▮][\w▮./*-]*|[\w-]+\.[a-z]{1,5}\b|\.[a-z]\w+)"
#: Acts on the work itself, which a person may reserve or forbid.
_CONDUCT = (
    r"(?:touch|modify|change|edit|alter|delete|remove|drop|rename|move|reformat|rewrite|refactor|regenerate|commit|push"
    r"|force[- ]push|merge|rebase|squash|amend|deploy|release|publish|install|upgrade|downgrade|update|bump|add"
    r"|introduce"
    r"|create|generate|write|use|run|execute|start|restart|import|include|put|hard-?code|hand-edit|mock|skip"
    r"|disable|ignore"
    r"|suppress|swallow|log|print|explain|summari[sz]e|apologi[sz]e|repeat|ask|assume|guess|invent|call|open|close|send"
    r"|rely on|depend on|bypass|leave|make|do|go|expose|hit|break|nest|abbreviate|comment|copy|duplicate|mix|store"
    r"|check in"
    r"|rerun|retry|apply|format|fix|optimi[sz]e|over-?engineer|tell|show|give|talk|reply|answer|respond|be|pin"
    r"|raise|catch)"
)
_MOMENT = Lazy(
    r"\b(?:for now|right now|just now|at the moment|for the moment|this time|today|tomorrow|tonight|yet"
    r"|temporarily|just this"
    r"|until then|later|once|in this (?:file|function|test|case|class|method|line|module|branch|commit|pr|script"
    r"|component"
    r"|step|example|query|experiment|session|task|change|ticket)|for this (?:pr|commit|change|task|experiment|one"
    r"|file|branch"
    r"|ticket|session|query)|(?:from|of|in) this (?:function|query|file|class|method)|so far|still|again|anymore now"
    r"|here$|next week|last (?:commit|week|night|time|step)|yesterday|the rest)\b"
)
_IN_THIS = Lazy(r"\bin this (?:file|function|test|case|class|method|line|commit|pr)\b")
_LASTS = Lazy(r"\b(?:always|never|ever|every|each|whenever|any|all|by default|from now on|in general|generally)\b")
_FAULT = Lazy(
    r"\b(?:wrong|broken|missing|red|misleading|unused|odd|bug(?:gy)?|problem|issue|typo|leak(?:s|ing)?|flak(?:y"
    r"|es)|empty"
    r"|too (?!many\b)\w+|outdated|doesn't|didn't|isn't|won't|but (?:gets?|got|returns|shows|it)|complain\w*"
    r"|stopped|mess(?:y|ed)?|blank|hm+|sorry|down|off|hidden|full of|behind|stale|conflicts?|duplicated?"
    r"|misaligned|cut off|not (?:showing|loading|working|found|there|updated|respected|set)|rejected|refuses?"
    r"|ignores?|loses?|lost|redirected|overlap\w*"
    r"|has too|exit code|hard to|annoying|ugly|garbage|nonsense|leaks?|suddenly|since (?:yesterday|the|my|today"
    r"|last)|mutates?|never (?:returns|works|ends|finishes|fires|loads)|question|struggling|unable|cannot"
    r"|can't (?!be\b|upgrade|read|use)|seems?|looks (?:like|weird|off|bad))\b"
)

# --- rules -----------------------------------------------------------------------------------------------------------

_AGENT = r"(?:you |please |also |and |but |just |kindly |always )*"
_FORBIDS = Lazy(
    rf"""{_AGENT}(?:don't|do\ not|dont|never|must\ not|mustn't|may\ not|should\ not|shouldn't|shall\ not)
        (?:,?\ ever,?)?\ (?:ever\ |just\ |blindly\ |simply\ |automatically\ |directly\ |silently\ )*{_CONDUCT}\b(?:\ |$)
        (?!(?:up\ |on\ |to\ )?{_DEIXIS})
        (?!(?:a|an)\ (?!(?:new\ )?{CRAFT}\b)|the\ (?!(?:[\w▮'-]+\ )?{CRAFT}\b|{_INFRA}\b|(?:[\w'-]+\ )?{_PATHLIKE})
          |(?<=include )the|(?<=add )the|(?<=return )the|(?<=show )the|(?<=put )the|(?<=use )the|(?<=make )the
              |(?<=print )the|(?<=log )the|(?<=store )the|(?<=send )the
          |the\ (?:signature|name|function|method|class|test|file|import|first|last|other|config|endpoint)\b)"""
    r"""[^\n]*
    """,
    re.VERBOSE,
)
_FORBIDS_LATER = Lazy(
    r"(?:.*[,;:]\s|.*\b(?:and|but|so)\s)(?:please |also )*(?P<rule>(?:don't|do not|never) (?!worry|bother|forget"
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
    rf"(?:please |just )*(?:hands off|keep (?:your )?hands off|stay (?:away from|out of|off)|keep (?:away from|out of)"
    rf"|leave (?!(?:it|this|that|them|the rest|me)\b)[^,]{{2,60}}? (?:alone|untouched|as (?:is|it is|they are)|out of)"
    rf"|you(?:'re| are) not (?:allowed|permitted|supposed) to|you (?:can|may)(?:not| not) (?={_CONDUCT})"
    r"|you (?:can|may) [^,]+,? but (?:never|don't|not|do not)"
    r"|only (?:use|touch|edit|change|modify|commit|write|run) (?!the (?!official|house|standard|ones|files?)|this"
    r"|that|css|it\b))\b ?\S"
)
_NO_WHAT = Lazy(
    r"no (?!need|idea|problem|worr|luck|such|change\b|output|rush|longer|one\b|it\b|it's|that|the\b|this|these"
    r"|wait|thanks|doubt"
    r"|way\b|more\b|matter|clue|difference|response\b|result|reason|data\b|don't|do\b|not\b|use\b|i\b|we\b|you\b"
    r"|errors?\b"
    rf"|errors|please|just|only|but|so\b|he\b|she\b|they|but)(?=.*\b(?:{CRAFT}|bash|apis?|prod|production|ever|please"
    r"|words|access|writes|push(?:es)?|globals?|inheritance|lambdas|macros|telemetry|frameworks|any|magic|var|eval"
    r"|microservices|wrappers|telemetry|one-letter \w+|classes|console\.log|print(?:s)?|loops|mutable \w+)\b)\S+.*$"
)
_NOBODY = Lazy(r"(?:nothing|nobody|no one|none of) .*\b(?:without|until|unless|before|goes|gets|must|should)\b")
_EACH_ONE = Lazy(
    rf"(?:one|a single|at most (?:one|two)|exactly one) [\w-]+(?: [\w-]+)? (?:per|for each|in each) \w+"
    rf"|(?:all|every|each|any|new) (?:new )?{_SKIPPED}(?:[\w-]+ )?{CRAFT}\b (?:in|with|under|must|should|needs?"
    r"|has to|have to|gets?|is to|are to"
    r"|comes?|goes|go|starts?|ends?|lives?|are (?:in|stored|written|named)|uses?|builds?|passes|are|to)\b"
)
_UI = (
    r"(?!.*\b(?:users?(?! ids?)|customers?|admins?|buttons?|pages?|forms?|field|screens?|widgets?|dialogs?|modal"
    r"|players?|visitors?)\b)"
)
_RATED = Lazy(
    rf"{_UI}(?!it\b|this\b|that\b|there\b).{{2,60}} (?:is|are) (?:a no-go|an absolute no|off[- ]limits|forbidden"
    r"|banned|prohibited|not allowed|never allowed|not (?:ok|okay|acceptable|welcome|an option)|a must|mandatory"
    r"|obligatory|taboo|discouraged|encouraged"
    r"|preferred|required|optional|unacceptable|frowned (?:up)?on|welcome|the (?:default|norm|rule|convention"
    r"|standard)|fine (?:in|for|by me)|non-negotiable|top priority|more important than)\b"
)
_ANYTHING = Lazy(
    rf"{_UI}(?:(?:in(?:side)?|under|within|outside|across) [\w▮./-]+(?: [\w▮./-]+)?,? )?(?:nothing|nobody|no one"
    r"|anything|everything|whatever|anyone|everyone|only [\w▮./-]+(?: [\w▮./-]+)?"
    r"|no [\w-]+(?: [\w-]+)?) (?:(?:that|which|in|under|outside|with|on|from|who) [^,]{2,60}? )?(?:may|must"
    r"|should|shall|needs?|requires?|has to|goes|lives|is|gets|belongs|uses?|runs|can)\b(?! (?:broken|wrong|fine"
    r"|ok|happening|happens|works?|work)\b)"
)
_LABELLED = Lazy(
    rf"(?:our |the )?{_SKIPPED}(?:[\w-]+ )?(?:{CRAFT}|levels|conventions?|rules?|order|policy|workflow"
    rf"|{_INFRA})(?: levels?| style| policy| order| format)?: \S"
)
_EXCUSED = Lazy(
    r"you (?:don't|do not|needn't|need not) (?:have to|need to|always)? ?\w|i (?:only|just) (?:want|need"
    r"|care about|accept|like)(?: to (?:see|read|get|review))? (?!a |an |to (?:know|fix|check|make|add"
    r"|understand))\S"
    r"|whatever (?:you do|happens),"
)
_OUGHT = Lazy(
    r"(?!(?:the|this|that|a) (?:new )?(?:function|method|class|script|test|endpoint|module|component|query|field"
    r"|file|job|column|service|feature|config)\b)(?!.*\b(?:users?|customers?|page|button|form|screen|widget"
    rf"|dialog)\b){_SKIPPED}(?:[\w'-]+ ){{0,3}}?{CRAFT}"
    r"(?: (?:in|of|for|on|under) [\w▮./-]+(?: [\w▮./-]+)?)? (?:should|must|shall|need to|needs to|have to|has to"
    r"|ought to"
    r"|are to|is to|goes?|belongs?|starts?|ends?|lives?|stay|stays|may|can only|can never|get|gets|come|follow"
    r"|follows)\b"
    r"(?! (?:be fixed|pass|work|up|down|wrong|fail|missing|a lot|possible|be able|again|be possible|be optional"
    r"|be green))"
)
_VERBLESS = Lazy(
    rf"{_SKIPPED}(?:[\w-]+ )?{CRAFT}s? (?:in (?:[a-z_]*_case|\w*case|english|german|french|google style|the imperative"
    r"|present tense|past tense|\S+ style|active voice|one line|lower ?case|upper ?case|markdown|[a-z]+ style"
    r"|tests?/|order)"
    r"|only (?:where|when|if|for|in|with)|upper ?case|lower ?case|short|small|plural|singular|alphabetical(?:ly)?"
    r"|first\b"
    r"|before \w+|over \w+|as \w+$|with(?:out)? )"
)
_STYLE_VERB = (
    r"(?:use|write|name|keep|prefer|favou?r|wrap|indent|format|treat|type|annotate|sort|order|group|answer|reply"
    r"|respond|speak"
    r"|talk|explain|log|document|test|commit|limit|stick|spell|capitali[sz]e|quote|structure|organi[sz]e|put|mark"
    r"|tag|sign"
    r"|squash|make|follow|avoid|split|pin|store|handle|describe|phrase|number|prefix|suffix|declare|add|include"
    r"|give|show"
    r"|mirror|default|minimi[sz]e|leave|import|export|throw|raise|return|mention|reference|link|title|label)"
)
_STYLE = Lazy(
    rf"""{_AGENT}(?:
        (?:answer|reply|respond|speak|talk|write|explain|communicate|chat)\ (?:(?:back\ )?(?:to\ me\ )?)(?:only[ ]
            |always\ )?
           (?:in\ (?:[a-z]+(?:\ please)?$|plain|simple|short|bullet|british|american|full|one|two|complete|english
               |\w+\ only)
             |briefly|concisely|like|as\ if)
      | (?:be|stay)\ (?:more\ |very\ |a\ bit\ )?(?:brief|concise|terse|short|direct|honest|critical|precise|polite
          |explicit|careful
          |conservative|consistent|succinct|blunt|quiet|verbose|specific|minimal)
      | call\ me\ \w+ | you\ can\ call\ me | address\ me
      | keep\ (?:(?:your|all|the|my|our)\ )?(?:[\w-]+\ )?(?:{CRAFT}|tone|things|everything|it|language|scope
          |public\ api)s?\ (?!in\ mind)
          (?:short|brief|small|simple|minimal|concise|under|below|to\ (?:one|two|three|a\ minimum|\d)|in\ (?!sync\b)
              |sorted|flat|neutral|tidy
             |focused|consistent|backwards?|alphabetical|simple|clean|pure|stable|within|at\ |out\ of|separate|as\ )
      | (?:prefer|favou?r|minimi[sz]e|limit)\ (?!{_DEIXIS}|the\ (?:first|second|last|other))\S
      | avoid\ (?!{_DEIXIS}|the\ )\S
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
      | use\ (?!{_DEIXIS}|the\ |a\ |an\ |my\ |some\ )\S+(?:\ \S+){{0,2}}\ (?:for|when|in)\ (?:all\ |every\ |new[ ]
          |any\ )*{_SKIPPED}{CRAFT}\b
      | follow\ (?!{_DEIXIS}|the\ (?:steps|link|instructions|example|same))\S | stick\ to\ (?!{_DEIXIS}|the\ plan)\S
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
    rf"{_AGENT}(?:first |generally |only )*(?:{_STYLE_VERB}|commit|prefix|test|check|ask|think|write|mock|lint"
    r"|respect|obey|honou?r|heed|comply|adhere|require|quote|hide|expose|inject|compose|model|encode|validate"
    r"|escape|parametri[sz]e|abbreviate|round|cache|paginate|fail|aim|strive|optimi[sz]e for|design for|program"
    r"|branch|rebase|squash)\b"
    r"(?! (?:me|us|it|that|this)\b)(?!.*\b(?:the|this|that|these|those|it|them|my|here|there|one|again"
    r"|also)\b)(?! (?:a|an|all) (?!public|new|errors|code)\w+)(?:[,:]? [\w▮'./-]+){2,}"
)
_HEEDS = Lazy(
    rf"{_AGENT}(?:respect|follow|obey|honou?r|heed|comply with|adhere to|stick to|mind|be careful with|be wary of"
    rf"|take care (?:with|of|when)|watch out (?:for|with)) (?!{_DEIXIS}|the (?:steps|link|plan|same|second|first"
    r"|above))\S"
)
_FIRST_OR_ONLY = Lazy(
    r"(?!.*\b(?:the|this|that|it|now|then|just|do|try|run|fix|look|check|let's|is|are|was"
    r"|at)\b)[\w▮'./-]+(?: [\w▮'./-]+){0,4}(?: first| only|: \S.* only)(?:,? (?:always|please|then .*))?$"
)
_SUCH_NOT_SUCH = Lazy(
    r"(?!no\b|it\b|this\b|that\b|the \w+ (?:one|file|line|function)\b|just\b|yes\b|i\b|you\b|line\b)(?!.*\b(?:this"
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
    rf"{_AGENT}{_STYLE_VERB[:-1]}|run|start|build|deploy|install|launch|execute|call|test) (?!{_DEIXIS})[^,;]{{2,80}}?"
    r"(?:,? (?:and |but )?(?:not|never|no) |\.\s+(?:not|never) | instead of | rather than | in place of | over )"
    r"(?!(?:it|this|that|the (?:loop|one|other|second|first)|here|there|just|only|doing|yet)\b)\S"
)
_AGREED = Lazy(
    rf"{_AGENT}(?:i|we) (?:want|need|expect|require|would like|'d like|like|ask|prefer)\b(?: (?:it )?if)? (?:you"
    r"|every|each|all|new|any|that you|to see|small"
    r"|short|clean|small)\b(?! (?:to )?(?:fix|add|build|implement|create|look|find|help|write me|make me|do this"
    r"|do that))"
    r"|i'd (?:like|love|want|prefer)(?: it)? (?:you to|if you|that you|every|all|to review|to see"
    r"|to approve) (?!(?:to )?(?:fix|implement|create|build|look|help))"
    r"|you (?:should|must|need to|have to|ought to|are to|shall|'ll need to|will need to) (?:always |never |first "
    r"|not )*(?!be (?:able|kidding)|know|see|find|get\b)\w"
    r"|i(?:'d| would)? (?:really |strongly |always )?(?:appreciate|value|care (?:more |a lot )?about|favou?r"
    r"|insist on|love|enjoy|trust|believe in) (?!it\b|this\b|that\b|if you could|the )\S|i'll (?:handle|do"
    r"|take care of|write|run|manage) [^,]+(?: myself|, (?:so )?you (?:just|only|don't|can|never))"
    r"|i (?:always|never|usually|generally|normally|rarely) (?!get|got|see|saw|had|have to wait|run into|end up|hit)\w"
    r"|i (?:don't|do not|can't|cannot) (?:need|want|like|care for|read|see|stand|accept)(?: (?:a|an|any|the|long"
    rf"|your))* (?:[\w-]+ )?{CRAFT}"
)
_TALKS = Lazy(r"you(?:'re| are)? (?:talk|write|explain|apologi[sz]e|too verbose|verbose)\b.*(?:too|keep|less|short)")
_ABOUT_FAULTS = Lazy(
    r"(?:all |any |unexpected |known )*(?:errors?|exceptions?|warnings|failures|bugs?|crashes|error messages?)\b"
)
_RECURS = Lazy(
    r"\b(?:every ?time|each time|whenever|by default|as a rule|in general|generally|at all times|once and for all"
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
    r"|(?:when|whenever|if|before|after|while|once|as soon as) (?:you(?:'re|'ve| are| have)?|we|i ask|i say|unsure"
    r"|uncertain|not sure|nothing|possible|needed|(?!rendering|clicking|loading|logging|submitting|scrolling"
    r"|opening the)\w+ing\b|in doubt)"
    r"|(?:when|if|whenever|once|after|before) (?:a|an|the|any|some|all|something"
    rf"|your)? ?{_SKIPPED}(?:[\w-]+ )?(?:{CRAFT}|{_INFRA}|model|lockfile|prompt|task|rule"
    r"|requirement)s? (?:\w+ )?(?:change|changes|is|are|fails?|breaks?|needs?|gets?|moves?|passes|conflicts?"
    r"|grows?|takes?)"
    rf"|(?:after|before) (?:any|every|each|a|an|the|your) {_SKIPPED}{CRAFT}"
    r"|(?:for|in|on|with|across|during|at) (?!(?:this|that|the) (?!repo|project|codebase|future|backend|frontend"
    r"|docs|api|tests?\b|team|company))(?:all |any |every |each |new |the |our |my |this "
    rf"|that )*(?:[\w'-]+ ){{0,2}}?(?:{CRAFT}|{_INFRA}|python|typescript|javascript|java|rust|go|c\+\+|sql|css|html"
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

# --- facts -----------------------------------------------------------------------------------------------------------

_SELF = Lazy(
    r"(?:and |also |but |so )*(?:"
    r"i(?:'m| am) (?!a (?:bit|little)\b|an idiot)(?:not )?(?:(?:a|an) (?!hurry|rush|wrong|user\b)[\w-]"
    r"|on (?:a )?(?:windows|mac(?:os| ?book)?|linux|ubuntu|wsl|arch|debian|fedora|[a-z]+ time)\b|new to "
    r"|colou?r ?blind|left-handed|dyslexic|blind\b|deaf"
    r"|based in|in (?:[a-z]+ time|utc|cet|est|pst|gmt)|responsible for|the (?:only|sole|lead|maintainer|owner"
    r"|tech lead)|allergic to|used to|familiar with|fluent in|no (?:expert|programmer))"
    r"|i (?:mostly |usually |only |also |just |always |mainly )*(?:work (?:in|on|at|as|with|from|for)|live in|use"
    r"|review|speak|develop (?:on|in)|code (?:in|on)|type on|read (?:everything|diffs?)|run (?:everything|my)"
    r"|maintain|own|come from)"
    r" (?!(?:the|this|that|it|these|a|an) (?!mac|phone|mobile|windows|linux)|it\b)\S"
    r"|my (?:time ?zone|editor|ide|shell|os|operating system|native language|mother tongue|first language|name"
    r"|machine|laptop|terminal|keyboard|role|job|team|background|pronouns|main language|email|github (?:name"
    r"|user))(?: \w+)? (?:is|are|runs|uses|has)\b"
    r"|(?:english|german|french|chinese|spanish|python|javascript|rust|typescript) (?:is|isn't) (?:not )?my )"
)
_HARDWARE = Lazy(
    r"(?:i|we) (?:only |just )?have (?:a|an|no|only|two|one|\d+|little|limited|lots of"
    r"|years)\b.{0,30}\b(?:connection|internet|bandwidth|screen|monitor|laptop|gpu|memory|ram|keyboard|background"
    r"|experience|windows|mac|admin rights|root|access|customers|team|designers?|qa|budget)\b"
    r"|i (?:can't|cannot|don't) (?:see|read|hear|use|type|speak|install|have access to|know) (?!the |this |that "
    r"|why|how|what|if|it)\S|i(?:'m| am) left[- ]handed"
)
_WE = (
    r"(?:we|our team|the team|our company|everyone here|(?:we )?all of us)(?:'re|'ve|'ll)?(?: (?:are|have|do|will"
    r"|only|all|always|never|usually|mostly|generally|normally|still|now|already|also|just"
    r"|both|currently|since|strictly|exclusively|already|finally|both|don't|do not|no longer|not|want to))*"
)
_WE_FACT = Lazy(
    rf"(?:and |also |but |so |since |because |as |fyi )*{_WE} (?:use|using|used to|deploy|host|run|running|write"
    r"|writing|support|target|keep|store|ship|release|build with|build (?:on|in|for)|test (?:on|with|in)|develop"
    r"|manage|follow|rely on|depend on"
    r"|prefer|require|allow|mock|go through|treat|version|track|tag|log|pin|squash|rebase|merge|push|review|commit"
    r"|name|call (?:it|them|our)|pay|bill|cache|render|format|lint|code in|work (?:in|on|with)|own|maintain|serve"
    r"|hit|edit|add|touch|on \S|at \S|in \S"
    r"|a \S|moving|going|switching|migrating|dropping|standardi[sz]ing|sticking|staying|avoid|have (?!a (?:bug"
    r"|problem|question|look|new|failing|weird)|to\b|an? (?:issue|error)|no idea|tests? failing)|stay|stick)"
    r" ?(?!(?:this|that|it|these|the (?:same|following|wrong))\b(?! (?:repo|project)))\S"
)
_WE_CHANGED = Lazy(
    rf"(?:and |also |but |so |fyi |no )*{_WE} (?:moved|switched|migrated|dropped|replaced|upgraded|adopted|picked"
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
_HERE = Lazy(
    r"(?:.*\b(?:in|for|on|within) (?:this|our|the) (?:repo(?:sitory)?|project|codebase|code base|monorepo|system"
    r"|team|company|organi[sz]ation)\b|.*\b(?:the|our) [\w -]{2,30} here is\b|here we )"
)
_THIS = Lazy(
    r"this (?:is|isn't) (?:a|an|our|the|not a) (?:[\w-]+ )?(?:monorepo|fork|mirror|library|prototype|package"
    r"|service|plugin|template|repo|project|app|codebase)\b|"
    r"(?:this|our|my|the) (?:repo(?:sitory)?|project|codebase|code base|monorepo|app|application|service|package"
    r"|library|team|company|site|website|api|product|tool|cli|stack)"
    r" (?:(?:only|also|still|always|never|now) )*(?:is (?!for\b|where|why|what|how|in the wrong|slow|good|nice"
    r"|done)|isn't |uses?|targets?|follows?|supports?|requires?|needs (?!to\b|a\b|an\b|some|more|fix)|runs (?:on"
    r"|in|with|under)|doesn't (?:use|support|have)|does not|has (?:no|two|three|four|\d+|its own|both)|lives|ships"
    r"|depends|was (?:built|written|migrated|generated|moved)|speaks|talks to|must (?:work|run|stay|support)"
    r"|contains|consists)"
)
_OUR = Lazy(
    r"(?:and |but |also |so |since |because |all (?:of )?|both |each of |most of )*(?:our|my) (?!changes|fix"
    r"|question|problem|guess|idea|plan|point|last|first|tests? (?:are|is|fail)|(?:laptop|machine) (?:crashed"
    r"|died)|colleague|boss)[\w▮'/.-]+(?: [\w▮'/.-]+){0,4}? (?:is|are|isn't|aren't|uses?|runs?|lives?|has|have"
    r"|takes?|goes|go|start|starts|follow|follows|needs?|require[sd]?|logs?|must|sits?|talks?|expects?|listens?"
    r"|comes?|get|gets|happens?|support|supports|log)\b(?! (?:not working|why|what|how))"
)
_PREDICATE = (
    r"(?:(?:is|are|was|were|gets?|get) (?:(?:now|all|only|always|currently|still|also|automatically|usually|mostly"
    r"|both|never) )*"
    r"(?:called|named|written|built|hosted|managed|stored|located|kept|frozen|protected|reachable|owned|licensed"
    r"|deployed|generated|versioned|rendered|served|loaded|read|configured|defined|handled|run|tested|published"
    r"|released|signed|reset|deprecated|read-only|off[- ]limits|shared|in|on|at|under|behind|with|from"
    r"|done|tagged|numbered|pinned|reviewed|backed|documented|triggered|monitored|encrypted|documented|formatted"
    r"|set up|split|mirrored|required|tracked|cached|sorted|prefixed|uploaded|strings?|ints?|integers?|uuids?"
    r"|ulids?|decimals?|utc|a (?:string|fork|monorepo|number|uuid|mirror|submodule|symlink)|an? (?:int(?:eger)?"
    r"|iso)\b)"
    r"|lives?|runs? (?:on|in|at|under|with|every|via|through|behind|as)|listens?|uses?|points? (?:to|at)|sits?"
    r"|goes? (?:through|to|in|into|under|live)|go (?:through|in|into|under|to)|ends? up|starts? with|ends? with"
    r"|happens?|comes? from|belongs?|stays?|resides?|need a|needs a|requires?|takes \d+|expects?|speaks?"
    r"|is (?:[\w.]+ )?v?\d[\w.]*|are (?:[\w.]+ )?v?\d[\w.]*"
    r"|is (?:postgres\w*|mysql|mongo\w*|sqlite|redis|s3|kafka|aws|gcp|azure|trunk|main|master|develop|dev|poetry"
    r"|uv|pip\w*|npm|pnpm|yarn|bun|go|rust|python|java|kotlin|elixir|ruby|php|\S+\.(?:toml|ya?ml|json|internal|com"
    r"|test|dev|io|org|local)\S*|\S+[-_]\S+|▮+|gitlab|github|jira|eslint|ruff|black|prettier|mkdocs|bazel|make"
    r"|cmake|gradle|maven|\w+ (?:with|behind|on)))"
)
_INFRA_FACT = Lazy(
    r"(?!.*\b(?:users?|button|page|form|list|row|item|enemies|player)\b)(?:and |also |but |since |because "
    rf"|note that )*(?:the |our |my |all |both )?(?:[\w▮'./-]+ ){{0,3}}?(?:{_INFRA}|▮+|[\w-]+/)(?: (?:folder"
    r"|directory|files?|service|name|server|table|config|repo|for (?!\w+ing)[\w-]+|in (?:prod|production|staging"
    rf"|dev|ci|this repo|our [\w-]+)))?,? {_PREDICATE}(?!\w)"
)
_CRAFT_FACT = Lazy(
    r"(?!.*\b(?:users? (?!ids?)|button|page|form|player)\b)(?:all |both |the |our |user |customer |order |public "
    rf"|test |nightly )*(?:[\w-]+ )?(?:{CRAFT}|ids) (?:in (?:our|the) [\w-]+ |for [\w-]+ )?{_PREDICATE}(?!\w)"
)
#: A fact told of what a project stands on, whatever the verb; narrower in its subject than the others.
_TOLD = Lazy(
    r"(?!.*\b(?:users? (?!ids?|table|service)|button|page|form|player|enem(?:y|ies)|sidebar|header|footer|modal"
    rf"|dialog|screen)\b)(?:(?:all|both|the|our|my|each|every) )*(?:[\w▮'./-]+ ){{0,2}}?(?:{_INFRA}|{CRAFT}|▮+|ci"
    r"|[a-z]+(?:[./_-][\w▮]+)+)s?(?: (?:of|for|in|on|at|under|behind|server|package|module|service|folder) (?:the "
    r"|our )?[\w▮./-]+)?"
    r" (?!(?:must|should) (?:always |never )?(?:return|show|respond|accept|validate|answer|display"
    r"|send)\b)(?:(?:only|always|never|also|still|now|currently|usually|mostly|all|both|automatically"
    r"|just) )*(?:is|are|isn't|aren't|has|have|must|may|can only|cannot|can't|needs?|requires?|uses?|runs?"
    r"|expects?|contains?|holds?|takes?|keeps?|speaks?|depends?|belongs?|comes?|goes?|lives?|stays?|starts?|ends?"
    r"|ships?|supports?|talks?|reads?|writes?"
    r"|serves?|covers?|follows?|means?|assumes?|allows?|forbids?|rotates?|expires?|restarts?|rejects|accepts?"
    r"|exposes?|handles?|stores?|logs?|caches?|pulls?|pushes|polls?|consumes?|publishes|deploys?|builds?|sends?"
    r"|doesn't|don't|do not|does not)\b(?! (?:green|red|ready|done|good|great|fine|ok|back|up|working|passing"
    r"|running fine|why|how|what|to (?:be )?(?:fix|add|change|updat|refactor)\w*|been|not working|this|that|it)\b)"
)
_EXISTS = Lazy(
    rf"there(?: is|'s| are|'re) (?:no|only|exactly|two|three|four|five|one|\d+|always|also|never)\b.*\b(?:{_INFRA}"
    rf"|{CRAFT}|databases|servers|environments|teams|repos|services|clusters|branches|instances|machines|qa|sandbox"
    r"|rollback)\b"
)
_PASSIVE = Lazy(
    rf"{_UI}(?!.*\b(?:sidebar|header|footer|image|icon|menu|tooltip|text)\b)(?!it\b|this\b|that\b|there\b|i\b|you\b"
    r"|he\b|she\b|they\b)(?:the |our |all |any |most )?[\w▮./-]+(?: [\w▮./-]+){0,3} (?:is|are|gets?) (?:always "
    r"|never |only |all |usually |automatically |manually )*(?:\w+ed|built|written|run|kept|done|made|sent|set"
    r"|bought|paid|drawn|split|held|given|sold|taken)"
    r" (?:automatically|manually|by|with|via|through|using|from|in|on|at|to|every|once|as|under|per|outside|inside"
    r"|before|after|for)\b"
)
_PATH_FACT = Lazy(
    r"(?!(?:the |a )?(?:file|error|bug|problem|typo|issue|line|function|it|that|this|result|output|code)\b)(?:the "
    rf"|our |all )?[\w-]+(?: [\w-]+){{0,3}} (?:is|are|lives?|sits?)(?: \w+ed)? (?:in|at|under|on) {_PATHLIKE}"
)
_ENDS = Lazy(
    rf"(?:the |our )?(?:old |legacy |new |current )*(?:[\w▮-]+ ){{0,2}}?(?:{_INFRA}|▮+) will be (?:shut down"
    r"|removed|replaced|deprecated|migrated|retired|frozen|released|switched off|turned off|dropped|merged"
    r"|sunset)\b"
)
_ORDERS_IT = Lazy(
    rf"(?:,|\band|\bso|[-–—]) (?:please |can you |could you |let's |then |just )*{V} (?:it|this|that|them|what"
    r"|why)\b(?! (?:every|each|always|whenever))|, (?:please )?(?:add|fix|create|make|find|remove|move|write"
    r"|update|change|implement|optimi[sz]e|investigate|check|split) (?:an?|the|some|it|this)\b"
)
_NOT_BUT = Lazy(
    r"(?:no,? |and |also |actually,? )*(?:it's (?:spelled|spelt|called|written|named|pronounced) |(?:the|our"
    r"|my) (?!(?:file|error|bug|problem|test|result|output|function|line|value|issue|button"
    r"|page)\b)[\w▮' /.-]{2,40} (?:is|are) (?:called |named |spelled |in |on |at )?)(?!not\b"
    r"|in the wrong)[\w▮./:-]+(?: [\w▮./:-]+){0,4},? (?:and )?not (?:in |on |at |an? )?[\w▮./:-]+(?: \w+)?$"
)
_NOW_GONE = Lazy(
    r".*\b(?:is|are) (?:gone|dead|deprecated|no longer used|frozen|end of life|retired)\b$"
    r"|[\w.▮ -]{2,30} is what we \w+"
)
_NOTES = Lazy(
    r"(?:(?:just )?(?:note|be aware|fyi|for context|for reference|for the record|keep in mind|heads[- ]?up"
    r"|reminder|house rule|rule|convention|in case you|by the way|btw)\b|.*\b(?:house (?:style|rules?)|our style"
    r"|our conventions?|team convention)\b)"
)

# --- tasks -----------------------------------------------------------------------------------------------------------

#: Begins what is to be done now.
TASK = Lazy(
    r"(?:(?:please|now|then|and|also|ok|okay|hi|hey|(?:can|could|would|will) you|(?:can|could) we|let's|just|next"
    r"|go ahead and|try to|help me|thanks,?|great,?"
    r"|i(?:'d| would)? (?:want|need|like|have)(?: you)? to|we (?:need|want|have) to|you (?:need|have) to) )*"
    r"(?:fix|add|implement|create|build|design|write (?:a|an|the|me|some|another|unit|tests? for|up)|make (?:a|an"
    r"|the|all|this|it|sure the)|refactor|rename|move|remove|delete|replace|update|upgrade|bump|change|convert"
    r"|migrate"
    r"|extract|split|investigate|debug|find|figure|check|look|review|run|rerun|try|test (?:the|this|it)"
    r"|explain (?:how|why|the|what|this)|show (?!me (?:a|the|your) (?:plan|diff))|tell me (?!before|when|if)"
    r"|clean up|set up|set the|generate|translate|port|optimi[sz]e"
    r"|profile|deploy (?:main|the|it|this)|commit (?:this|it|and|the)|push (?:it|this|and)|open|continue|finish"
    r"|rewrite|reproduce|document the|install (?!packages)|configure|simplify|revert|undo|merge (?:it|this|the)"
    r"|rebase (?:this|the)|sort the|parse|put the|use the (?!house|official|standard|metric|imperative|present"
    r"|active|existing)|set|do|read the|bring|get|turn|reset|restore|enable"
    r"|disable|wire|hook|draft|summari[sz]e|compare|measure|increase|reduce|lower|raise the)\b"
)
#: Asks for something to be made: what follows describes it.
BUILDS = Lazy(
    r"(?:(?:please|now|then|and|ok|hi|hey|(?:can|could) (?:you|we)|let's|(?:i|we) (?:want|need) to"
    r"|help me) )*(?:implement|create|build|design|make (?:a|an|me)|develop|code up|write (?:a|an|me)|generate"
    r"|add (?:a|an)|draft|(?:an? )?\w+ (?:app|game|cli|tool|schema|website) (?:that|with|which)|parse|i(?:'d like"
    r"| want| need) an?|(?:our |the )?\w+ wants? an?)\b"
)


def plain_kind(clause: str, *, in_task: bool, in_spec: bool, noted: bool) -> EntryKind | None:
    """Return what a clause, in lower case, lays down by its grammar alone; None when it lays down nothing.

    ``in_task``: the prompt asks for work besides; ``in_spec``: it describes something to be made; ``noted``: the clause
    is introduced as something to know ("by the way", "house rule").
    """
    noted = noted or _NOTES.match(clause) is not None
    lasting = _LASTS.search(clause) is not None and _IN_THIS.search(clause) is None
    if not lasting and _MOMENT.search(clause.partition(", ")[0]):
        return None
    return _rule(clause, in_task=in_task and not noted, in_spec=in_spec and not noted) or _fact(
        clause, in_task=in_task and not noted, in_spec=in_spec and not noted
    )


def later_ban(clause: str) -> int | None:
    """Where, in a clause that begins with something else, a rule of conduct begins that forbids: ", and don't …"."""
    match = _FORBIDS_LATER.match(clause)
    if (
        match
        and not _SAYS_WHAT_IT_DOES.search(clause, 0, match.start("rule"))
        and _FORBIDS.fullmatch(match["rule"])
        and not _MOMENT.search(match["rule"])
    ):
        return match.start("rule")
    return None


def _rule(clause: str, *, in_task: bool, in_spec: bool) -> EntryKind | None:
    if in_spec and not _FORBIDS.fullmatch(clause):
        return None
    if _NOT_A_BAN.match(clause):
        return None
    if _I_CHOSE.match(clause) or (_WE_CHANGED.match(clause) and not _reports(clause)):
        return EntryKind.DECISION
    if _HOW_TO.match(clause) and not _reports(clause.partition(", ")[0]):
        return EntryKind.PROCEDURE
    if _FORBIDS.fullmatch(clause) or _KEEPS_OFF.match(clause) or _NOBODY.match(clause):
        return EntryKind.PREFERENCE
    scene = _SCENE.match(clause)
    if scene and _OF_WORK.match(scene["scene"]) and _is_ruled(scene["rest"]):
        return EntryKind.PREFERENCE
    if _EXCUSED.match(clause) and not _reports(clause):
        return EntryKind.PREFERENCE
    if _TALKS.match(clause):
        return EntryKind.PREFERENCE
    if _AGREED.match(clause) and not _reports(clause):
        return EntryKind.PREFERENCE
    if _NO_WHAT.match(clause):
        return EntryKind.PREFERENCE
    if _HEEDS.match(clause):
        return EntryKind.PREFERENCE
    if in_task and not _LASTS.search(clause):
        return None
    if _is_general(clause, in_task=in_task):
        return EntryKind.PREFERENCE
    if _STYLE.match(clause) or _CONTRAST.match(clause):
        return EntryKind.PREFERENCE
    if _VERBLESS.match(clause):
        return EntryKind.PREFERENCE
    if _reports(clause):
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
        return not (TASK.match(clause) and not _LASTS.search(clause))
    return _SUCH_NOT_SUCH.match(clause) is not None and not _reports(clause) and TASK.match(clause) is None


_RULED = Lazy(
    rf"(?:please |also |always |never |only |first |just |then )*(?:{V}|rebase|register|describe|look up|inform"
    rf"|{_STYLE_VERB}|{_CONDUCT}\b)(?! (?:that|it|this)$)"
    r"|(?:please )?(?:don't|do not|never|no|not|prefer|you|we|i(?:'d)? (?:want|like|prefer|expect))\b"
    rf"|{_SKIPPED}{CRAFT}\b|the (?:\w+ )?(?:is|are|goes)"
)


def _is_ruled(rest: str) -> bool:
    """Whether what follows a circumstance says what to do under it, not what happens or what the product does."""
    if _SPEC_REST.match(rest) or re.match(r"(?:please )?(?:fix|find|investigate|debug|explain)\b", rest):
        return False
    return _RULED.match(rest) is not None and not _reports(rest)


def _orders(clause: str) -> bool:
    return _ORDERS.match(clause) is not None


_ORDERS = Lazy(rf"(?:please |also |and |first )*{V}(?! {_DEIXIS})")


def _fact(clause: str, *, in_task: bool, in_spec: bool) -> EntryKind | None:
    if _SELF.match(clause) and not TROUBLE.search(clause):
        return EntryKind.PREFERENCE
    if _ENDS.match(clause) and not in_task:
        return EntryKind.KNOWLEDGE
    if _reports(clause):
        return None
    if _ORDERS_IT.search(clause) or _POINTS_BACK.search(clause):
        return None
    if _HARDWARE.match(clause):
        return EntryKind.PREFERENCE
    if _WE_FACT.match(clause) or (_OUR.match(clause) and not in_spec) or _HERE.match(clause):
        return EntryKind.KNOWLEDGE
    if _NOT_BUT.match(clause) or (_THIS.match(clause) and not in_spec):
        return EntryKind.KNOWLEDGE
    if in_spec:
        return None
    if _INFRA_FACT.match(clause) or _NOW_GONE.match(clause):
        return EntryKind.KNOWLEDGE
    if in_task or _ORDERS_IT.search(clause):
        return None
    return EntryKind.KNOWLEDGE if _CRAFT_FACT.match(clause) or _TOLD.match(clause) or _is_told_of_all(clause) else None


#: What points back at something said before tells a stranger nothing.
_POINTS_BACK = Lazy(
    r"\b(?:that|this) way\b|\blike (?:that|this)\b|\bthe same\b|^(?:please )?\w+ (?:to |with |on |at )?(?:that|it"
    r"|this|those|them)\b(?! (?:repo|project|codebase|is|code))"
)


def _is_told_of_all(clause: str) -> bool:
    return any(pattern.match(clause) for pattern in (_EXISTS, _PASSIVE, _PATH_FACT))


def _reports(clause: str) -> bool:
    """Whether a clause tells of trouble: that passes."""
    named = _ABOUT_FAULTS.match(clause)
    begin = named.end() if named else 0
    return TROUBLE.search(clause, begin) is not None or _FAULT.search(clause, begin) is not None
