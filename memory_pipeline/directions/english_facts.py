"""Facts in English by their grammar alone: what the person says of themselves, and of what their project stands on."""

from __future__ import annotations

from memory_pipeline.directions.english import TROUBLE
from memory_pipeline.directions.english_words import CRAFT, INFRA, ORDERS_IT, PATHLIKE, POINTS_BACK, UI, WE, reports
from memory_pipeline.directions.lazy import Lazy
from memory_pipeline.records import EntryKind

_SELF = Lazy(
    r"(?:and |also |but |so )*(?:"
    r"i(?:'m| am) (?!a (?:bit|little)\b|an idiot)(?:not )?(?:(?:a|an) (?!hurry|rush|wrong|user\b)[\w-]"
    r"|on (?:a )?(?:windows|mac(?:os| ?book)?|linux|ubuntu|wsl|arch|debian|fedora|[a-z]+ time)\b|new to "
    r"|colou?r ?blind|left-handed|dyslexic|blind\b|deaf"
    r"|based in|in (?:[a-z]+ time|utc|cet|est|pst|gmt)|responsible for|the (?:only|sole|lead|maintainer|owner"
    r"|tech lead)|allergic to|used to|familiar with|fluent in|no (?:expert|programmer))"
    r"|i (?:mostly |usually |only |also |just |always |mainly )*(?:work (?:in|on|at|as|with|from|for)"
    r"|live in|use"
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
    r"|years)\b.{0,30}\b(?:connection|internet|bandwidth|screen|monitor|laptop|gpu|memory|ram|keyboard"
    r"|background"
    r"|experience|windows|mac|admin rights|root|access|customers|team|designers?|qa|budget)\b"
    r"|i (?:can't|cannot|don't) (?:see|read|hear|use|type|speak|install|have access to|know) (?!the |this "
    r"|that "
    r"|why|how|what|if|it)\S|i(?:'m| am) left[- ]handed"
)

_WE_FACT = Lazy(
    rf"(?:and |also |but |so |since |because |as |fyi )*{WE} (?:use|using|used to|deploy|host|run|running|write"
    r"|writing|support|target|keep|store|ship|release|build with|build (?:on|in|for)|test (?:on|with|in)"
    r"|develop"
    r"|manage|follow|rely on|depend on"
    r"|prefer|require|allow|mock|go through|treat|version|track|tag|log|pin|squash|rebase|merge|push"
    r"|review|commit"
    r"|name|call (?:it|them|our)|pay|bill|cache|render|format|lint|code in|work (?:in|on|with)|own"
    r"|maintain|serve"
    r"|hit|edit|add|touch|on \S|at \S|in \S"
    r"|a \S|moving|going|switching|migrating|dropping|standardi[sz]ing|sticking|staying|avoid|have (?!a (?:bug"
    r"|problem|question|look|new|failing|weird)|to\b|an? (?:issue|error)|no idea|tests? failing)|stay|stick)"
    r" ?(?!(?:this|that|it|these|the (?:same|following|wrong))\b(?! (?:repo|project)))\S"
)

_HERE = Lazy(
    r"(?:(?!(?:i(?:'m| am) )?(?:working|trying|looking|new)\b|\w+ (?:weeks|days|months|years"
    r"|hours)\b).*\b(?:in|for|on|within) (?:this|our|the) (?:repo(?:sitory)?|project|codebase|code base"
    r"|monorepo|system"
    r"|team|company|organi[sz]ation)\b|.*\b(?:the|our) [\w -]{2,30} here is\b|here we )"
)

_THIS = Lazy(
    r"this (?:is|isn't) (?:a|an|our|the|not a) (?:[\w-]+ )?(?:monorepo|fork|mirror|library|prototype|package"
    r"|service|plugin|template|repo|project|app|codebase)\b|"
    r"(?:this|our|my|the) (?:repo(?:sitory)?|project|codebase|code base|monorepo|app|application|service"
    r"|package"
    r"|library|team|company|site|website|api|product|tool|cli|stack)"
    r" (?:(?:only|also|still|always|never|now) )*(?:is (?!for\b|where|why|what|how|in the wrong|slow|good|nice"
    r"|done)|isn't |uses?|targets?|follows?|supports?|requires?|needs (?!to\b|a\b|an\b|some|more|fix)"
    r"|runs (?:on"
    r"|in|with|under)|doesn't (?:use|support|have)|does not|has (?:no|two|three|four|\d+|its own|both)"
    r"|lives|ships"
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
    r"(?:(?:is|are|was|were|gets?|get) (?:(?:now|all|only|always|currently|still|also|automatically"
    r"|usually|mostly"
    r"|both|never) )*"
    r"(?:called|named|written|built|hosted|managed|stored|located|kept|frozen|protected|reachable|owned"
    r"|licensed"
    r"|deployed|generated|versioned|rendered|served|loaded|read|configured|defined|handled|run|tested|published"
    r"|released|signed|reset|deprecated|read-only|off[- ]limits|shared|in|on|at|under|behind|with|from"
    r"|done|tagged|numbered|pinned|reviewed|backed|documented|triggered|monitored|encrypted|documented"
    r"|formatted"
    r"|set up|split|mirrored|required|tracked|cached|sorted|prefixed|uploaded|strings?|ints?|integers?|uuids?"
    r"|ulids?|decimals?|utc|a (?:string|fork|monorepo|number|uuid|mirror|submodule|symlink)|an? (?:int(?:eger)?"
    r"|iso)\b)"
    r"|lives?|runs? (?:on|in|at|under|with|every|via|through|behind|as)|listens?|uses?|points? (?:to|at)|sits?"
    r"|goes? (?:through|to|in|into|under|live)|go (?:through|in|into|under|to)|ends? up|starts? with|ends? with"
    r"|happens?|comes? from|belongs?|stays?|resides?|need a|needs a|requires?|takes \d+|expects?|speaks?"
    r"|is (?:[\w.]+ )?v?\d[\w.]*|are (?:[\w.]+ )?v?\d[\w.]*"
    r"|is (?:postgres\w*|mysql|mongo\w*|sqlite|redis|s3|kafka|aws|gcp|azure|trunk|main|master|develop|dev"
    r"|poetry"
    r"|uv|pip\w*|npm|pnpm|yarn|bun|go|rust|python|java|kotlin|elixir|ruby|php|\S+\.(?:toml|ya?ml|json"
    r"|internal|com"
    r"|test|dev|io|org|local)\S*|\S+[-_]\S+|▮+|gitlab|github|jira|eslint|ruff|black|prettier|mkdocs|bazel|make"
    r"|cmake|gradle|maven|\w+ (?:with|behind|on)))"
)

_INFRA_FACT = Lazy(
    r"(?!.*\b(?:users?|button|page|form|list|row|item|enemies|player)\b)(?:and |also |but |since |because "
    rf"|note that )*(?:the |our |my |all |both )?(?:[\w▮'./-]+ ){{0,3}}?(?:{INFRA}|▮+|[\w-]+/)(?: (?:folder"
    r"|directory|files?|service|name|server|table|config|repo|for (?!\w+ing)[\w-]+|in (?:prod|production"
    r"|staging"
    rf"|dev|ci|this repo|our [\w-]+)))?,? {_PREDICATE}(?!\w)"
)

_CRAFT_FACT = Lazy(
    r"(?!.*\b(?:users? (?!ids?)|button|page|form|player)\b)(?:all |both |the |our |user |customer |order "
    r"|public "
    rf"|test |nightly )*(?:[\w-]+ )?(?:{CRAFT}|ids) (?:in (?:our|the) [\w-]+ |for [\w-]+ )?{_PREDICATE}(?!\w)"
)

#: A fact told of what a project stands on, whatever the verb; narrower in its subject than the others.
_TOLD = Lazy(
    r"(?!.*\b(?:users? (?!ids?|table|service)|button|page|form|player|enem(?:y|ies)|sidebar|header|footer|modal"
    rf"|dialog|screen)\b)(?:(?:all|both|the|our|my|each|every) )*(?:[\w▮'./-]+ ){{0,2}}?(?:{INFRA}|{CRAFT}"
    rf"|▮+|ci"
    r"|[a-z]+(?:[./_-][\w▮]+)+)s?(?: (?:of|for|in|on|at|under|behind|server|package|module|service"
    r"|folder) (?:the "
    r"|our )?[\w▮./-]+)?"
    r" (?!(?:must|should) (?:always |never )?(?:return|show|respond|accept|validate|answer|display"
    r"|send)\b)(?:(?:only|always|never|also|still|now|currently|usually|mostly|all|both|automatically"
    r"|just) )*(?:is|are|isn't|aren't|has|have|must|may|can only|cannot|can't|needs?|requires?|uses?|runs?"
    r"|expects?|contains?|holds?|takes?|keeps?|speaks?|depends?|belongs?|comes?|goes?|lives?|stays?"
    r"|starts?|ends?"
    r"|ships?|supports?|talks?|reads?|writes?"
    r"|serves?|covers?|follows?|means?|assumes?|allows?|forbids?|rotates?|expires?|restarts?|rejects|accepts?"
    r"|exposes?|handles?|stores?|logs?|caches?|pulls?|pushes|polls?|consumes?|publishes|deploys?|builds?|sends?"
    r"|doesn't|don't|do not|does not)\b(?! (?:green|red|ready|done|good|great|fine|ok|back|up|working|passing"
    r"|running fine|why|how|what|to (?:be )?(?:fix|add|change|updat|refactor)\w*|been|not working|this"
    r"|that|it)\b)"
)

_EXISTS = Lazy(
    rf"there(?: is|'s| are|'re) (?:no|only|exactly|two|three|four|five|one|\d+|always|also"
    rf"|never)\b.*\b(?:{INFRA}"
    rf"|{CRAFT}|databases|servers|environments|teams|repos|services|clusters|branches|instances|machines|qa"
    rf"|sandbox"
    r"|rollback)\b"
)

_PASSIVE = Lazy(
    rf"{UI}(?!.*\b(?:sidebar|header|footer|image|icon|menu|tooltip|text)\b)(?!it\b|this\b|that\b|there\b"
    rf"|i\b|you\b"
    r"|he\b|she\b|they\b)(?:the |our |all |any |most )?[\w▮./-]+(?: [\w▮./-]+){0,3} (?:is|are|gets?) (?:always "
    r"|never |only |all |usually |automatically |manually )*(?:\w+ed|built|written|run|kept|done|made|sent|set"
    r"|bought|paid|drawn|split|held|given|sold|taken)"
    r" (?:automatically|manually|by|with|via|through|using|from|in|on|at|to|every|once|as|under|per"
    r"|outside|inside"
    r"|before|after|for)\b"
)

_PATH_FACT = Lazy(
    r"(?!(?:the |a )?(?:file|error|bug|problem|typo|issue|line|function|it|that|this|result|output"
    r"|code)\b)(?:the "
    rf"|our |all )?[\w-]+(?: [\w-]+){{0,3}} (?:is|are|lives?|sits?)(?: \w+ed)? (?:in|at|under|on) {PATHLIKE}"
)

_ENDS = Lazy(
    rf"(?:the |our )?(?:old |legacy |new |current )*(?:[\w▮-]+ ){{0,2}}?(?:{INFRA}|▮+) will be (?:shut down"
    r"|removed|replaced|deprecated|migrated|retired|frozen|released|switched off|turned off|dropped|merged"
    r"|sunset)\b"
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


def fact(clause: str, *, in_task: bool, in_spec: bool) -> EntryKind | None:
    """Return the kind of what a clause tells of the person or their project; None when it tells nothing that lasts."""
    if _SELF.match(clause) and not TROUBLE.search(clause):
        return EntryKind.PREFERENCE
    if _ENDS.match(clause) and not in_task:
        return EntryKind.KNOWLEDGE
    if reports(clause):
        return None
    if ORDERS_IT.search(clause) or POINTS_BACK.search(clause):
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
    if in_task or ORDERS_IT.search(clause):
        return None
    return EntryKind.KNOWLEDGE if _CRAFT_FACT.match(clause) or _TOLD.match(clause) or _is_told_of_all(clause) else None


def _is_told_of_all(clause: str) -> bool:
    return any(pattern.match(clause) for pattern in (_EXISTS, _PASSIVE, _PATH_FACT))
