"""What English words mean to a rule: the work and its parts, the moment, trouble, and what asks for work now."""

from __future__ import annotations

from memory_pipeline.directions.english import TROUBLE, V
from memory_pipeline.directions.lazy import Lazy

#: What the work is made of, rather than what the product is made of.
CRAFT = (
    r"(?:commit messages?|commits?|messages|branch names?|branch(?:es)?|prs?|mrs?|pull requests?|pr (?:titles?"
    r"|descriptions?)"
    r"|tests?(?: (?:names?|files?|cases?|functions?))?|unit tests?|functions?(?: names?)?|methods?(?: names?)?"
    r"|class(?:es)?(?: names?)?|variables?(?: names?)?|(?:file ?|table |column )?names?|naming|comments?"
    r"|docstrings?"
    r"|imports?|exports|errors?|error messages?|exceptions?|warnings|logs?|log (?:messages?|lines?|output)"
    r"|logging"
    r"|type(?:s| hints?| annotations?)|hints|annotations|migrations?|files?|modules?|packages?|constants?"
    r"|enums?"
    r"|endpoints?"
    r"|docs|documentation|readmes?|changelog(?: entr(?:y|ies))?|release notes|responses?|answers?|repl(?:y|ies)"
    r"|explanations?"
    r"|summar(?:y|ies)|diffs?|patch(?:es)?|changes?|edits?|refactor(?:ing)?s?|dependenc(?:y|ies)"
    r"|librar(?:y|ies)|code"
    r"|indentation|lines?(?: length(?: limit)?)?|line width|sql|quer(?:y|ies)|sql keywords|secrets?|credentials"
    r"|passwords|urls?"
    r"|dates|date ?times?|timestamps|times|time ?zones?|(?:\w+ )?ids|keys|money|prices|amounts|currenc(?:y|ies)"
    r"|spelling|quotes"
    r"|semicolons|spaces|tabs|emojis?|abbreviations|mocks|fixtures|snapshots|css|styles?|stylesheets"
    r"|config(?:uration|s)?"
    r"|settings|env(?:ironment)? vars|json|yaml|strings|scripts|reviews?|releases?|deploys?|deployments?"
    r"|builds?"
    r"|build artifacts?|artifacts|versions|tags|titles|headers|license headers?|todos?|jobs|workflows?"
    r"|hooks|components"
    r"|interfaces|translations|locales|feature flags|flags|images|assets|backups|schemas?|proto(?:s|buf)?"
    r"|fields"
    r"|commit history|history|features?|bug ?fix(?:es)?|services?|breaking changes|reformatting"
    r"|marketing words|jargon"
    r"|api keys|keywords|output|text|prose|paragraphs|bullet points|sentences|notebooks?|plots|charts|diagrams)"
)

#: What a project stands on.
INFRA = (
    r"(?:repo(?:sitory)?|monorepo|project|codebase|code ?base|back ?end|front ?end|server|client"
    r"|api(?: gateway)?"
    r"|gateway"
    r"|database|db|datastore|cache|redis|postgres|mysql|mongo|queue(?: name)?|broker|bucket|storage"
    r"|cluster|production"
    r"|prod|staging|dev|ci|cd|pipeline|build(?: artifacts?)?|docs?(?: site)?|documentation|site|website"
    r"|app|apps"
    r"|service"
    r"|services|microservices?|panel|admin|dashboard|branch|trunk|release branch|config(?: file)?"
    r"|package manager"
    r"|linter|formatter|test suite|test runner|tests|framework|library|sdk|cli|job|cron(?:job)?|worker"
    r"|scheduler"
    r"|registry"
    r"|domain|port|host|instance|environment|vpn|endpoint|company|team|license|metrics(?: endpoint)?|logs"
    r"|folder"
    r"|directory|dir|secrets|api keys|keys|migrations|fork|images|assets|runner|ide|editor|deploy(?:s|ment)?"
    r"|line length(?: limit)?|version|schema|proxy|load balancer|network|wiki|board|tracker"
    r"|terraform state|state|stack"
    r"|locale|language|ttl|timeout|time ?zone|scheduler|(?:error |issue |bug )?tracker|monitoring|alerting|orm"
    r"|auth(?:entication)?|login|sso|mail ?server|smtp|cdn|dns|vault|firewall"
    r"|certificates?|cert|backups?|replica|shard|topic|stream|data ?warehouse|etl|importer|exporter|node"
    r"|machine"
    r"|box|vm|container|namespace|release|release cycle|cycle|sprint|budget|quota|limit|rate limit"
    r"|retention|sla"
    r"|postgresql|sqlite|kafka|rabbitmq|celery|nginx|kubernetes|k8s|docker|terraform|ansible|jenkins"
    r"|github|gitlab"
    r"|jira|sentry|grafana|node version|python version|ruby version|default \w+|minimum \w+|target|platform"
    r"|code owner|(?:team |tech )?lead|product owner|po|cto|designer|reviewer|contact(?: person)?|payments?"
    r"|billing|checklist|runbook|playbook|dashboard|legal|design|hosting|owner|maintainer|stakeholder|data"
    r"|module"
    r"|package|layer|core|kernel|parser library|plugin|extension|theme|design system|storybook|monolith"
    r"|legacy (?:code|app|system)|vendor|contract|spec|protocol|format|encoding|charset"
    r"|infrastructure|infra|compiler|interpreter|toolchain|convention|style guide|mobile app|web app|product)"
)

SKIPPED = (
    r"(?:the |our |my |all |any |every |each |new |public |private |long |short |old |other |own |code |more "
    r"|extra |trailing"
    r" |unnecessary |default |named |absolute |relative |generated |external |third[- ]party |unit |internal "
    r"|user |test"
    r" |production |local |main |nightly |inline |wildcard |magic |force |breaking |hard-?coded )*"
)

DEIXIS = r"(?:it|this|that|these|those|them|there|here|both|one of)\b"

PATHLIKE = r"(?:[\w.-]*[/▮][\w▮./*-]*|[\w-]+\.[a-z]{1,5}\b|\.[a-z]\w+)"

#: Acts on the work itself, which a person may reserve or forbid.
CONDUCT = (
    r"(?:touch|modify|change|edit|alter|delete|remove|drop|rename|move|reformat|rewrite|refactor"
    r"|regenerate|commit|push"
    r"|force[- ]push|merge|rebase|squash|amend|deploy|release|publish|install|upgrade|downgrade|update|bump|add"
    r"|introduce"
    r"|create|generate|write|use|run|execute|start|restart|import|include|put|hard-?code|hand-edit|mock|skip"
    r"|disable|ignore"
    r"|suppress|swallow|log|print|explain|summari[sz]e|apologi[sz]e|repeat|ask|assume|guess|invent|call"
    r"|open|close|send"
    r"|rely on|depend on|bypass|leave|make|do|go|expose|hit|break|nest|abbreviate|comment|copy|duplicate"
    r"|mix|store"
    r"|check in"
    r"|rerun|retry|apply|format|fix|optimi[sz]e|over-?engineer|tell|show|give|talk|reply|answer|respond|be|pin"
    r"|raise|catch)"
)

MOMENT = Lazy(
    r"\b(?:for now|right now|just now|at the moment|for the moment|this time|today|tomorrow|tonight|yet"
    r"|temporarily|just this"
    r"|until then|later|once|in this (?:file|function|test|case|class|method|line|module|branch|commit|pr"
    r"|script"
    r"|component"
    r"|step|example|query|experiment|session|task|change|ticket)|of this run|for this (?:pr|commit|change"
    r"|task|experiment|one"
    r"|file|branch"
    r"|ticket|session|query)|(?:from|of|in) this (?:function|query|file|class|method)|so far|still|again"
    r"|anymore now"
    r"|here$|next week|last (?:commit|week|night|time|step)|yesterday|the rest)\b"
)

IN_THIS = Lazy(r"\bin this (?:file|function|test|case|class|method|line|commit|pr)\b")

LASTS = Lazy(r"\b(?:always|never|ever|every|each|whenever|any|all|by default|from now on|in general|generally)\b")

_FAULT = Lazy(
    r"\b(?:wrong|broken|missing|(?:is|are|turns?|went|goes|all|still) red|misleading|unused|odd|bug(?:gy)?"
    r"|problem|issue|typo|leak(?:s|ing)?|flak(?:y"
    r"|es)|empty"
    r"|too (?!many\b)\w+|outdated|nearly|almost|running out|doesn't|didn't|isn't|won't|but (?:gets?|got"
    r"|returns|shows|it)|complain\w*"
    r"|stopped|mess(?:y|ed)?|blank|hm+|sorry|down|(?<!hands )(?<!sign )(?<![-\w])off(?![-\w]| the table"
    r"|[- ]limits)|hidden|full of"
    r"|(?:falls?|is|are) behind(?! (?:an?|the|our)\b)|stale|conflicts?|duplicated?"
    r"|misaligned|squashed|stretched|cropped|blurry|clipped|truncated|garbled|cut off|not (?:showing"
    r"|loading|working|found|there|updated|respected|set)|rejected|refuses?"
    r"|ignores?|loses?|lost|redirected|overlap\w*"
    r"|has too|exit code|hard to|annoying|ugly|garbage|nonsense|leaks?|suddenly|since (?:yesterday|today|last"
    r"|(?:the|my|this) (?:last |latest )?(?:\w+ )?(?:deploy\w*|upgrade|update|release|merge|change"
    r"|migration|move|commit|morning"
    r"|rebase|refactor\w*))|mutates?|never (?:returns|works|ends|finishes|fires|loads)|question|struggling"
    r"|unable"
    r"|(?<!we )(?<!you )(?:can't|cannot) (?!be\b|upgrade|read|use|leave|change|exceed|go over|contain|have"
    r"|share|depend|rely|store"
    r"|run in|touch|edit|modify|hold|include|accept|live|hit|do|go\b)|seems?|looks (?:like|weird|off|bad))\b"
)

AGENT = r"(?:you |please |also |and |but |just |kindly |always )*"

UI = (
    r"(?!.*\b(?:users?(?! ids?)|customers?|admins?|buttons?|pages?|forms?|field|screens?|widgets?|dialogs?"
    r"|modal"
    r"|players?|visitors?)\b)"
)

STYLE_VERB = (
    r"(?:use|write|name|keep|prefer|favou?r|wrap|indent|format|treat|type|annotate|sort|order|group|answer"
    r"|reply"
    r"|respond|speak"
    r"|talk|explain|log|document|test|commit|limit|stick|spell|capitali[sz]e|quote|structure|organi[sz]e"
    r"|put|mark"
    r"|tag|sign"
    r"|squash|make|follow|avoid|split|pin|store|handle|describe|phrase|number|prefix|suffix|declare|add|include"
    r"|give|show"
    r"|mirror|default|minimi[sz]e|leave|import|export|throw|raise|return|mention|reference|link|title|label)"
)

_ABOUT_FAULTS = Lazy(
    r"(?:all |any |unexpected |known )*(?:errors?|exceptions?|warnings|failures|bugs?|crashes"
    r"|error messages?)\b"
)

WE = (
    r"(?:we|our team|the team|our company|everyone here|(?:we )?all of us)(?:'re|'ve|'ll)?(?: (?:are|have"
    r"|do|will"
    r"|only|all|always|never|usually|mostly|generally|normally|still|now|already|also|just"
    r"|both|currently|since|strictly|exclusively|already|finally|both|don't|do not|no longer|not|want to))*"
)

ORDERS_IT = Lazy(
    rf", i (?:need|want) (?:it|this|that|them)\b|(?:,|\band|\bso|[-–—]) (?:please |can you |could you "
    rf"|let's |then |just )*{V} (?:it|this|that|them|what"
    r"|why)\b(?! (?:every|each|always|whenever))|, (?:please )?(?:add|fix|create|make|find|remove|move|write"
    r"|update|change|implement|optimi[sz]e|investigate|check|split) (?:an?|the|some|it|this)\b"
)

NOTES = Lazy(
    r"(?:(?:just )?(?:note|be aware|fyi|for context|for reference|for the record|keep in mind|heads[- ]?up"
    r"|reminder|house rule|rule|convention|in case you|by the way|btw)\b|.*\b(?:house (?:style|rules?)"
    r"|our style"
    r"|our conventions?|team convention)\b)"
)

#: Begins what is to be done now.
TASK = Lazy(
    r"(?:(?:please|now|then|and|also|ok|okay|hi|hey|(?:can|could|would|will) you|(?:can|could) we|let's"
    r"|just|next"
    r"|go ahead and|try to|help me|thanks,?|great,?"
    r"|i(?:'d| would)? (?:want|need|like|have)(?: you)? to|we (?:need|want|have) to|you (?:need|have) to) )*"
    r"(?:fix|add|implement|create|build|design|write (?:a|an|the|me|some|another|unit|tests? for|up)"
    r"|make (?:a|an"
    r"|the|all|this|it|sure the)|refactor|rename|move|remove|delete|replace|update|upgrade|bump|change|convert"
    r"|migrate"
    r"|extract|split|investigate|debug|find|figure|check|look|review|run|rerun|try(?! (?:to avoid|not to)\b)"
    r"|test (?:the|this|it)"
    r"|explain (?:how|why|the|what|this)|show (?!me (?:a|the|your) (?:plan|diff))|tell me (?!before|when|if)"
    r"|clean up|set up|set the|generate|translate|port|optimi[sz]e"
    r"|profile|deploy (?:main|the|it|this)|commit (?:this|it|and|the)|push (?:it|this|and)|open|continue|finish"
    r"|rewrite|reproduce|document the|install (?!packages)|configure|simplify|revert|undo|merge (?:it|this|the)"
    r"|rebase (?:this|the)|sort the|parse|put the|use the (?!house|official|standard|metric|imperative|present"
    r"|active|existing)|set|do|read the|bring|get|turn|reset|restore|enable"
    r"|disable|wire|hook|draft|summari[sz]e|compare|measure|increase|reduce|lower|raise the|prepare|strip"
    r"|take (?:the|this|that|out|it)|send (?:it|this|the|me)"
    r"|give me (?!only|just|the short|two|a plan)|list (?:the|all)|count|scale|drain|kill|load the|plot"
    r"|train|predict|retrain|polish"
    r"|improve|speed up|adjust|align|tweak|center|rebuild|squash (?:this|the|these)|split|kick off"
    r"|write down|look into|go through"
    r"|go to|have a look|take a look|put (?:it|this|everything)|estimate|recommend|collect|gather"
    r"|analy[sz]e|verify (?:the|this|that))\b"
)

#: Asks for something to be made: what follows describes it.
BUILDS = Lazy(
    r"(?:(?:please|now|then|and|ok|hi|hey|(?:can|could) (?:you|we)|let's|(?:i|we) (?:want|need) to"
    r"|help me) )*(?:implement|create|build|design|make (?:an?|me|one|two|three)\b|develop|code up"
    r"|write (?:an|me|a (?!new one))|generate"
    r"|add (?:a|an)|draft|(?:an? )?\w+ (?:app|game|cli|tool|schema|website) (?:that|with|which)|parse"
    r"|i(?:'d like"
    r"| want| need) an?\b|(?:our |the )?\w+ wants? an?)\b"
)

#: What points back at something said before tells a stranger nothing.
POINTS_BACK = Lazy(
    r"\b(?:that|this) way\b|\blike (?:that|this)\b|\bthe same\b|^(?:please )?\w+ (?:to |with |on "
    r"|at )?(?:that|it"
    r"|this|those|them)\b(?! (?:repo|project|codebase|company|team|office|is|code))"
)


def reports(clause: str) -> bool:
    """Whether a clause tells of trouble: that passes."""
    named = _ABOUT_FAULTS.match(clause)
    begin = named.end() if named else 0
    return TROUBLE.search(clause, begin) is not None or _FAULT.search(clause, begin) is not None
