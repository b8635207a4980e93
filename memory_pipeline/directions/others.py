"""Directions in other languages, where a clause opens with their plainest words."""

from __future__ import annotations

OTHERS = (
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
