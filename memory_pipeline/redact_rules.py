"""What a secret looks like: known token shapes, places in which secrets stand, and how a name and a value are judged.

Three tables. TOKEN_SHAPES are recognised anywhere, by their own prefix. PLACES are recognised by a literal that stands
before the secret (``://``, ``curl``, ``authorization``). KEYWORDS open the general case, a name with a value
(``DB_PASSWORD=…``, ``"apiKey": "…"``, "the password is …"), where the name and the value are both judged, so that
code (``token = next(tokens)``), counts (``max_tokens: 4096``) and placeholders (``<your-key>``) survive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from msgspec import Struct

_TOKEN_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
#: Makes ``x`` of each character of a token, and a blank of any other.
TOKEN_MASK = bytes(ord("x") if byte in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
#: A stretch of token characters, so masked, that is long enough to be looked at for a known shape.
LONG_RUN = b"x" * 15

#: Kind, opening, and what follows it. Each is searched for inside one stretch of token characters. An opening begins
#: with a plain letter: that keeps the search for any of them quick.
TOKEN_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("anthropic-key", r"sk-ant-", r"[\w\-]{8,}"),
    ("stripe-key", r"sk_(?:live|test)_", r"[A-Za-z0-9]{8,}"),
    ("stripe-key", r"rk_(?:live|test)_", r"[A-Za-z0-9]{8,}"),
    ("stripe-key", r"sk-(?:live|test)[-_]", r"[\w\-]{8,}"),
    ("stripe-key", r"whsec_", r"[A-Za-z0-9]{16,}"),
    ("openai-key", r"sk-(?:proj|svcacct|admin|or-v1|lf)[-_]", r"[\w\-]{8,}"),
    ("openai-key", r"sk-", r"[A-Za-z0-9]{20,}"),
    ("openai-key", r"sk-", r"(?=[\w\-]{0,80}\d)(?=[\w\-]{0,80}[A-Z])[\w\-]{20,}"),
    ("github-token", r"gh[pousr]_", r"[A-Za-z0-9]{12,}"),
    ("github-token", r"github_pat_", r"\w{16,}"),
    ("gitlab-token", r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|agent|oas|feat|imt|ffct)-", r"[\w\-]{12,}"),
    ("slack-token", r"xox[a-z]-", r"[A-Za-z0-9\-]{8,}"),
    ("slack-token", r"xapp-\d-", r"[A-Za-z0-9\-]{8,}"),
    ("aws-access-key", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("google-key", r"AIza", r"[\w\-]{30,}"),
    ("google-key", r"GOCSPX-", r"[\w\-]{16,}"),
    ("npm-token", r"npm_", r"[A-Za-z0-9]{20,}"),
    ("pypi-token", r"pypi-AgE", r"[\w\-]{12,}"),
    ("pypi-token", r"pypi-", r"(?=[\w\-]{0,80}\d)(?=[\w\-]{0,80}[A-Z])[\w\-]{40,}"),
    ("huggingface-token", r"hf_", r"(?=[A-Za-z0-9]{0,80}[A-Z0-9])[A-Za-z0-9]{20,}"),
    ("digitalocean-token", r"do[opr]_v1_", r"[a-f0-9]{20,}"),
    ("mailgun-key", r"key-", r"(?<![\-_]key-)[0-9a-f]{32}(?![\w\-])"),
    ("shopify-token", r"shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{20,}"),
    ("docker-token", r"dckr_(?:pat|oat)_", r"[\w\-]{16,}"),
    ("alibaba-access-key", r"LTAI", r"[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    ("tencent-access-key", r"AKID", r"[A-Za-z0-9]{28,36}(?![A-Za-z0-9])"),
    ("databricks-token", r"dapi", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("twilio-key", r"SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("age-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}"),
    ("own-token", r"mp_", r"[0-9a-f]{10}_[\w\-]{43}"),  # what lets a program in at our own server
    ("service-token", r"lin_api_", r"[A-Za-z0-9]{16,}"),
    ("service-token", r"figd_", r"[\w\-]{16,}"),
    ("service-token", r"ntn_", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"secret_", r"[A-Za-z0-9]{40,}"),
    ("service-token", r"PMAK-", r"[a-f0-9]{20}[\w\-]*"),
    ("service-token", r"rubygems_", r"[a-f0-9]{20,}"),
    ("service-token", r"sbp_", r"[a-f0-9]{20,}"),
    ("service-token", r"gsk_", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"xai-", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"pplx-", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"r8_", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"tvly-", r"[\w\-]{16,}"),
    ("service-token", r"glsa_", r"\w{20,}"),
    ("service-token", r"glc_", r"[A-Za-z0-9]{20,}"),
    ("service-token", r"NRAK-", r"[A-Z0-9]{20,}"),
    ("service-token", r"ATATT3", r"[\w\-]{16,}"),
    ("service-token", r"sq0(?:atp|csp)-", r"[\w\-]{16,}"),
    ("airtable-token", r"pat", r"[A-Za-z0-9]{14}(?![\w\-])"),
    ("artifactory-key", r"AKCp", r"(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{24,}"),
    ("planetscale-token", r"pscale_(?:tkn|pw|oauth)_", r"(?=[\w\-]{0,80}\d)[\w\-]{16,}"),
    ("fly-token", r"fm[12][ar]?_", r"[A-Za-z0-9]{12,}"),
    ("fly-token", r"fo1_", r"(?=[\w\-]{0,80}\d)[\w\-]{20,}"),
    ("pulumi-token", r"pul-", r"[a-f0-9]{32,}(?![\w\-])"),
    ("sentry-token", r"sntry[su]_", r"[A-Za-z0-9]{16,}"),
    ("1password-token", r"ops_eyJ", r"[\w\-]{20,}"),
    ("heroku-key", r"HRKU-", r"(?=[\w\-]{0,80}\d)[\w\-]{20,}"),
    ("service-token", r"lsv2_(?:pt|sk)_", r"(?=\w{0,80}\d)\w{20,}"),
    ("service-token", r"nfp_", r"(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{24,}"),
    ("service-token", r"phx_", r"(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{24,}"),
    ("service-token", r"vcp_", r"(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{20,}"),
    ("supabase-key", r"sb_secret_", r"(?=[\w\-]{0,80}\d)[\w\-]{20,}"),
    ("nuget-key", r"oy2", r"(?=[a-z]{0,80}\d)[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("facebook-token", r"EAACEd", r"(?=[A-Za-z0-9]{0,80}\d)[A-Za-z0-9]{20,}"),
)

#: How a shape goes on after its stretch of token characters: with that, it is one; without, it is none.
TAILS = {
    "airtable-token": r"\.[A-Za-z0-9]{32,}",
    "fly-token": r"(?:[+/=,]+[A-Za-z0-9_\-]+)*={0,2}",
    "sentry-token": r"(?:[+/=]+[A-Za-z0-9_\-]+)*={0,2}",
    "planetscale-token": r"(?:[=.][\w\-]+)*",
}

#: Shapes whose prefix ends in a character that no token has: the stretch of token characters begins after it. Kind, a
#: literal of the prefix, the prefix and what follows it.
DOTTED_SHAPES: tuple[tuple[str, str, str, str], ...] = (
    ("sendgrid-key", "SG.", r"SG\.", r"[\w\-]{16,}\.[\w\-]{16,}"),
    ("google-token", "ya29.", r"ya29\.", r"[\w\-]{16,}"),
    ("vault-token", "hvs.", r"hvs\.", r"[\w\-]{20,}"),
    ("vault-token", "hvb.", r"hvb\.", r"[\w\-]{20,}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.", r"[\w\-]{32,}=*"),
    ("doppler-token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w\-]{1,35}\.)?", r"[A-Za-z0-9]{20,}"),
    ("dropbox-token", "sl.", r"sl\.(?:u\.)?", r"(?=[\w\-]{0,80}\d)[\w\-]{60,}"),
    (
        # The bot's number in base64, the time, a signature.
        "discord-token",
        ".",
        r"[MNO](?=[A-Za-z0-9]{0,27}\d)[A-Za-z0-9]{22,27}\.[\w\-]{6,7}\.",
        r"(?=[\w\-]{0,40}\d)[\w\-]{27,40}(?![\w\-])",
    ),
    ("discord-token", "mfa.", r"mfa\.", r"(?=[\w\-]{0,80}\d)[\w\-]{60,}"),
    ("google-token", "1//", r"1//", r"0(?=[\w\-]{0,80}[A-Z])[\w\-]{24,}"),
    ("azure-secret", "Q~", r"[\w.~\-]{3}\dQ~", r"[\w.~\-]{30,39}[\w~\-]"),
    ("dynatrace-token", "dt0", r"dt0[a-z]\d\d\.", r"[A-Z0-9]{20,}\.[A-Z0-9]{32,}"),
)
#: How far to the left of that stretch its prefix may begin.
LONGEST_DOTTED_PREFIX = 48
PREFIX_ENDS = (".", "/", "~")

#: What stands to the left of a token: no letter or digit, unless an escape (``\n``, ``%3D``) or a colour code
#: ends there.
LEFT_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbfv])|(?<=%[0-9A-F]{2})|(?<=[0-9;\[]m))"

#: Of three parts when signed, of five when encrypted; the key's part of those may be empty.
JWT = (
    LEFT_EDGE + r"eyJ[\w\-]{10,}(?:\.[\w\-]*\.[\w\-]{8,}\.[\w\-]{8,}\.[\w\-]{8,}"
    r"|\.[\w\-]{10,}(?:\.[\w\-]+)?)"
)

#: What a terminal does not show: control sequences, real or written out, and characters without width.
UNSEEN = (
    "(?:[\u00ad\u200b\u200c\u200d\u2060\ufeff]|(?:\x1b|\\\\(?:u001[bB]|x1[bB]|e|033))"
    r"\[[0-?]{0,24}[ -/]{0,2}[@-~])+"
)

COLOUR = r"(?:\x1b|\\u001b|\\x1b|\\e|\\033)\[[0-9;]{0,12}m"
GAP = rf"(?:[ \t]|{COLOUR}){{0,12}}"
#: The characters of a value that stands without quotes. Han, kana, hangul and full-width characters end it: a sentence
#: goes on there.
BARE = (
    "(?:[^\\s\"'`<>|;\\\\&,\x1b\u2018-\u201f\u2026\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]+"
    r"|(?!\\[nrtu\"'\\]|&(?:quot|lt|gt|amp|#\w{1,6});|\\[xe0]\w{0,3}\[|[&,]\s?[\"']?[\w.\-]{1,40}[\"']?\s?[=:])[\\&,])+"
)


class Place(Struct, frozen=True, kw_only=True):
    """A place in which a secret stands: matched where ``literal`` (lower case) occurs; group ``secret`` is masked."""

    kind: str
    literal: str
    pattern: str
    accept: Callable[[str], bool]
    hint: str = ""  # a part of the literal that others share: where it is missing, none of them is looked for


def _is_given(value: str) -> bool:
    return not is_placeholder(value)


def _is_literal(value: str) -> bool:
    return not is_reference(value)


def _is_sure(_value: str) -> bool:
    return True


def _is_token_like(value: str) -> bool:
    return not is_placeholder(value) and (looks_random(value) or len(value) >= 20)


def _is_said_password(value: str) -> bool:
    return looks_random(value) and accepts_prose(value, "password", followed_by="", quoted=True)


def _is_header_value(value: str) -> bool:
    return _is_given(value) and (looks_random(value) or (len(value) >= 16 and value.isalnum()))


def _is_basic_auth(value: str) -> bool:
    import base64
    import binascii

    value = value.rstrip("=")
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode("ascii").isprintable()


_SUDO_READS = r"sudo (?:-\w{1,10} ){0,3}-\w{0,4}(?-i:S)\w{0,3}"
_LINE_END = r"(?:[ \t]{0,4}(?:\r?\n|(?:\\r)?\\n)[ \t]{0,20})"
# Right behind the option or apart from it; never the archive whose password is asked for.
_GLUED_VALUE = r"[ \t]{0,4}(?P<quote>[\"']?)(?P<secret>(?!-|\S{0,200}\.(?:7z|zip|rar|tar|t?gz)\b)[^\s\"'|;&<>`]{3,200})"
_OPTION_VALUE = rf"(?:=|{GAP})(?P<quote>[\"']?)(?P<secret>(?!-)[^\s\"'|;&<>`]{{1,200}})"

PLACES: tuple[Place, ...] = (
    Place(
        kind="url-credential",
        literal="://",
        pattern=r"://[^\s/?#@:\"'<>\\\[\]]{0,100}:(?P<secret>(?!\[redacted)[^\s/\"'<>\\]{1,256})@(?=[\w\[.$<{*-])",
        accept=_is_literal,
    ),
    Place(
        kind="url-credential",
        literal="://",
        pattern=r"://(?P<secret>(?=[\w\-]{0,256}\d)(?=[\w\-]{0,256}(?-i:[A-Za-z]))"
        r"(?:[\w\-]{20,256}|(?=\w{0,20}(?-i:[A-Z]))(?=\w{0,20}(?-i:[a-z]))\w{12,20})"
        r"|[A-Za-z]{32,256})(?::(?:x-oauth-basic)?)?@",
        accept=_is_sure,
    ),
    *(
        Place(
            kind="url-token",
            literal=f"{name}=",
            hint="sig" if name == "signature" else name,
            pattern=(r"(?<=[?&;\-])" if name == "signature" else r"(?<=[?&;])")
            + r"[a-z]{1,20}=(?P<secret>(?!\[redacted)[^&\s\"'<>#\\|`\x1b]{6,2000})",
            accept=_is_token_like,
        )
        for name in ("sig", "signature", "key", "auth")
    ),
    Place(
        kind="webhook",
        literal="hooks.slack.com/",
        hint="hook",
        pattern=r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/\-]{8,})",
        accept=lambda value: not value.lower().startswith(("your", "xxx", "t00000000/b00000000/xxxx")),
    ),
    Place(
        kind="webhook",
        literal="/api/webhooks/",
        hint="hook",
        pattern=r"/api/webhooks/(?P<secret>\d{5,}/[\w\-]{16,})",
        accept=_is_sure,
    ),
    Place(
        kind="webhook",
        literal="webhook.office.com/",
        hint="hook",
        pattern=r"webhook\.office\.com/(?P<secret>[\w@/\-]{16,})",
        accept=_is_sure,
    ),
    Place(
        kind="telegram-token",
        literal=":aa",
        pattern=r"(?<=\d{6}):(?P<secret>AA[\w\-]{30,})",
        accept=_is_sure,
    ),
    Place(
        kind="authorization",
        literal="authorization",
        hint="auth",
        pattern=(
            rf"authorization\\*[\"']?{GAP}[:=]{GAP}\\*[\"']?(?:(?:bearer|basic|token|digest|apikey|negotiate|"
            r"aws4-hmac-sha256)\s{1,4})?(?P<secret>(?!\[redacted)[^\s\"'`<>|;,)\\\x1b]{4,2000})"
        ),
        accept=_is_header_value,
    ),
    Place(
        kind="bearer-token",
        literal="bearer ",
        pattern=r"(?<![A-Za-z])bearer\s{1,4}(?P<secret>[A-Za-z0-9._~+/\-]{8,}=*)",
        accept=lambda value: _is_given(value) and (looks_random(value) or len(value) >= 24),
    ),
    Place(
        kind="basic-auth",
        literal="basic ",
        pattern=r"(?<![A-Za-z])basic\s{1,4}(?P<secret>[A-Za-z0-9+/]{6,}={0,2})",
        accept=_is_basic_auth,
    ),
    Place(
        kind="registry-auth",
        literal='auth"',
        hint="auth",
        pattern=r"auth\\*\"\s{0,4}:\s{0,4}\\*\"(?P<secret>[A-Za-z0-9+/=]{8,})\\*\"",
        accept=_is_basic_auth,
    ),
    Place(
        kind="registry-auth",
        literal="auth=",
        hint="auth",
        pattern=r"(?<=_)auth=(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})(?![\w.(\[])",
        accept=_is_basic_auth,
    ),
    Place(
        kind="cookie",
        literal="cookie:",
        hint="cookie",
        pattern=r"(?<!set-)cookie:[ \t]{0,4}(?P<secret>[\w.\-]{1,80}=(?!\[redacted)[^\n\r\"'`\\]{4,4000})",
        accept=_is_sure,
    ),
    Place(
        kind="cookie",
        literal='cookie"',
        hint="cookie",
        pattern=r"cookie\\*\"\s{0,4}:\s{0,4}\\*\"(?P<secret>[\w.\-]{1,80}=(?!\[redacted)[^\n\r\"\\]{4,4000})",
        accept=_is_sure,
    ),
    Place(
        kind="cookie",
        literal="cookie:",
        hint="cookie",
        pattern=r"(?<=set-)cookie:[ \t]{0,4}[\w.\-]{1,80}=(?P<secret>(?!\[redacted)[^;\s\"'`\\]{4,4000})",
        accept=_is_sure,
    ),
    Place(
        kind="cookie",
        literal="--cookie",
        hint="cookie",
        pattern=(
            r"--cookie[ =]{1,3}(?P<quote>[\"'])?"
            r"(?P<secret>[\w.\-]{1,80}=(?!\[redacted)(?(quote)[^\n\"']|[^\s\"']){4,4000})"
        ),
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="pw",
        pattern=r"(?<![A-Za-z])pw(?:[:=]|[ ](?:is|was|ist):?(?=[ ]))[ \t]{0,3}[\"'`]?"
        r"(?P<secret>(?!\[redacted)[^\s\"'`,;)\\]{4,200})",
        accept=_is_token_like,
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            # A line of .pgpass: host:port:database:user:password.
            pattern=pattern
            + r"[^:\[\s\"'\\]{1,60}:(?P<secret>(?!\[redacted)[^:\s\"'`\\]{3,100})(?=[ \t]*(?:\\[rn]|\s|[\"'`]|\Z))",
            accept=_is_given,
        )
        for literal, pattern in (
            (":543", r":543\d:[^:\[\s\"'\\]{1,60}:"),
            (":*:", r"(?:(?<=:\d{4}):\*:|(?<=:\d{5}):\*:|(?<=\*):\*:[^:\[\s\"'\\]{1,60}:)"),
        )
    ),
    Place(
        kind="password",
        literal="curl ",
        pattern=(
            r"curl (?:[^\n|;]{0,200}?[ \t])?(?:-[a-zA-Z]{0,5}u|--user|--proxy-user)[ =]{0,3}[\"']?[^\s:\"'\[]{1,100}:"
            r"(?P<secret>(?!\[redacted)[^\s\"'\\|;]{1,200})"
        ),
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="sshpass ",
        hint="pass",
        pattern=rf"sshpass {GAP}-p{_OPTION_VALUE}",
        accept=_is_literal,
    ),
    *(
        Place(
            kind="password",
            literal=f"{client}",
            pattern=rf"{client}[\w\-]{{0,12}} (?:[^\n|;]{{0,300}}?[ \t])?-p(?P<quote>[\"']?)"
            r"(?P<secret>(?!ort|rotocol|ipe|ager|lugin|=)(?:[^\s\"'|;&<>`]){3,100})",
            accept=_is_literal,
        )
        for client in ("mysql", "mariadb")
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            pattern=rf"{program} (?:[^\n|;&]{{0,300}}?[ \t])?-(?-i:{flag}){_GLUED_VALUE}",
            accept=_is_literal,
        )
        for literal, program, flag in (
            ("redis-cli ", "redis-cli", "a"),
            ("zip ", "zip", "P"),
            ("7z", r"(?<![\w.])7z[arz]?", "p"),
            ("rar ", r"(?:(?<!\w)|(?<=un))rar", "h?p"),
            ("sqlcmd ", "sqlcmd", "P"),
            ("ldap", r"(?<!\w)ldap\w{3,8}", "w"),
        )
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            pattern=rf"{literal}(?:[^\n|;]{{0,300}}?[ \t])?(?-i:-U|--user=?)[ \t]{{0,3}}[\"']?[^\s%\"']{{1,100}}%"
            r"(?P<secret>(?!\[redacted)[^\s\"'|;&<>`]{1,200})",
            accept=_is_literal,
        )
        for literal in ("smbclient ", "rpcclient ")
    ),
    Place(
        kind="password",
        literal="login",
        pattern=rf"(?<![\w-])login (?:[^\n|;]{{0,300}}?[ \t])?-p(?!ass|ort|rofile){_OPTION_VALUE}",
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="-pass",
        hint="pass",
        pattern=r"-pass(?:in|out)?[ =]pass:(?P<secret>(?!\[redacted)[^\s\"'\\|;]{1,200})",
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="identified by ",
        pattern=r"identified by (?:password )?\\*(?P<quote>[\"'])(?P<secret>(?!\[redacted)[^\"'\\\n]{1,200})",
        accept=_is_given,
    ),
    Place(
        kind="password",
        literal="login",
        pattern=r"(?<!\w)login \S{1,100}\s{1,20}password\s{1,20}(?P<secret>(?!\[redacted|[=:])\S{3,200})",
        accept=_is_given,
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            pattern=rf"{literal}(?:s|ials?|entials?)?\b(?:(?: (?:are|is|with|as|using))?(?:\s?[:=]\s{{0,3}}|\s{{1,3}}))"
            r"[\"'`]?[\w.@\-]{1,40}"
            r"(?::|[ ]/[ ])(?P<secret>(?!\[redacted)[^\s\"'`<>|,;:)\\/]{4,100})(?![\w:/(\[<])",
            accept=_is_said_password,
        )
        for literal in ("cred", "login", "log in", "logged in", "sign in", "signed in")
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            pattern=literal + r"(?:-\w{1,2} |[\"']?%s(?:\\+n)?[\"']? )?[\"']?"
            r"(?P<secret>(?!\[redacted)[^\s\"'|;&<>`]{3,400}?)(?:\\+n)?[\"']?[ \t]{0,4}\|[ \t]{0,4}"
            rf"[^\n|;]{{0,300}}?(?:--password-stdin|--with-token|{_SUDO_READS})(?![\w\-])",
            accept=_is_literal,
        )
        for literal in ("echo ", "printf ")
    ),
    Place(
        kind="password",
        literal="sudo -",
        pattern=rf"{_SUDO_READS}[^\n|;<]{{0,300}}<<<[ \t]{{0,3}}[\"']?"
        r"(?P<secret>(?!\[redacted)[^\s\"'|;&<>`]{3,200})",
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="echo ",
        pattern=r"echo (?:-\w{1,2} )?[\"']?[\w.\-]{1,40}:(?P<secret>(?!\[redacted)[^\s\"'|;&<>`]{3,100})[\"']?"
        r"[ \t]{0,4}\|[ \t]{0,4}(?:sudo )?chpasswd\b",
        accept=_is_literal,
    ),
    *(
        Place(
            kind="password",
            literal=literal,
            hint="auth",
            pattern=literal.replace("(", r"\(")
            + r"\s{0,3}[\"'][^\"'\n]{1,60}[\"'],\s{0,3}[\"'](?P<secret>[^\"'\n]{3,200})[\"']",
            accept=_is_given,
        )
        for literal in ("auth=(", "basicauth(")
    ),
    *(
        Place(
            kind="password",
            literal=f"{literal} ",
            hint=hint,
            pattern=literal + r"[ \t]{1,4}[\"']?(?P<secret>(?!\[redacted)[^\s\"'`;,<>|]{4,200})",
            accept=_is_said_password,
        )
        for literal, hint in (("requirepass", "pass"), ("masterauth", "auth"), ("convertto-securestring", "secure"))
    ),
    Place(
        kind="password",
        literal="htpasswd -",
        hint="pass",
        pattern=r"htpasswd -(?:\w{0,5}b\w{0,5} (?:-\w{1,5} ){0,3}\S{1,200}|(?=\w{0,5}b)\w{0,5}n\w{0,5}) "
        r"\S{1,100} [\"']?(?P<secret>(?!\[redacted|-)[^\s\"'|;&<>`]{3,100})",
        accept=_is_literal,
    ),
    Place(
        kind="password",
        literal="mongo",
        pattern=rf"mongo(?:sh|dump|restore|import|export)? (?:[^\n|;]{{0,300}}?[ \t])?-p(?!ass|ort){_OPTION_VALUE}",
        accept=_is_literal,
    ),
    Place(
        kind="secret",
        literal='variable "',
        # Terraform: the default of a variable whose name is a secret's.
        pattern=r"variable \"[\w\-]{0,60}(?:password|passwd|passphrase|pwd|secret|token|"
        r"(?:api|access|private|secret)_?key)\"\s{0,4}\{(?:[^{}]|\{[^{}]{0,400}\}){0,600}?\bdefault\s{0,12}=\s{0,4}\"(?P<secret>[^\"\n\\]{3,400})\"",
        accept=lambda value: accepts_quoted(value, "secret", literal=True),
    ),
    Place(
        kind="fly-token",
        literal="flyv1 ",
        pattern=r"(?<![\w])flyv1 (?P<secret>(?=[^\s\"']{0,100}\d)[A-Za-z0-9+/=_,\-]{20,4000})",
        accept=_is_given,
    ),
    Place(
        kind="private-key",
        literal="private-lines:",
        pattern=rf"private-lines:[ ]?\d{{1,4}}{_LINE_END}(?P<secret>[A-Za-z0-9+/]{{16,}}={{0,2}}"
        rf"(?:{_LINE_END}[A-Za-z0-9+/]{{16,}}={{0,2}}(?![^\s\\\"']))*"
        rf"(?:{_LINE_END}[A-Za-z0-9+/]{{1,63}}={{0,2}}(?={_LINE_END}private-))?"
        rf"(?:{_LINE_END}private-(?:mac|hash):[ ]?[0-9a-f]{{16,}})?)",
        accept=_is_sure,
    ),
)

PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
#: The rest of a key whose end was cut off: lines of base64, with whatever escapes, numbers and marks part them, and a
#: last one that may be shorter.
PEM_BODY = (
    r"(?:(?:\s|\\[rn]){1,8}(?:Version|Comment|Hash|Charset|MessageID|Proc-Type|DEK-Info): [^\n\\]{0,200})*"
    r"(?:(?:[\s\\nrt\"'+>|0-9:,.\-]{0,24}?[A-Za-z0-9+/]{32,}={0,2})+"
    r"(?:[\s\\nr\"'+>|]{1,8}[A-Za-z0-9+/]{8,31}={0,2}(?![\w ]))?"
    r"|(?:\s|\\[rn]){1,8}(?=[A-Za-z0-9+/]{0,30}[A-Z])[A-Za-z0-9+/]{8,31}={0,2}\s*\Z)?"
)
LONGEST_PEM = 16_384
#: What a key holds, and two marks side by side in code do not.
PEM_CONTENT = r"[A-Za-z0-9+/]{8}"

# --- A name with a value --------------------------------------------------------------------------------------------

#: Literals (lower case) at which a name with a secret may stand.
KEYWORDS = ("pass", "pwd", "secret", "token", "key")
#: What other languages call a password: a part that is looked for first (a letter, where that is quick), the words, and
#: whether only a value that is no word tells. Those of Chinese, Japanese and Korean end a value by themselves.
FOREIGN_WORDS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("kennwort", ("kennwort",), True),
    ("contrasena", ("contrasena",), True),
    ("wachtwoord", ("wachtwoord",), True),
    ("senha", ("senha",), True),
)
NON_ASCII_WORDS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("contraseña", ("contraseña",), True),
    ("парол", ("пароль", "пароля", "паролем"), True),
    ("ł", ("hasło",), True),
    ("ş", ("şifre",), True),
    ("ö", ("lösenord", "lösenordet"), True),
    ("パスワ", ("パスワード",), False),
    ("비밀", ("비밀번호",), False),
    ("암", ("암호",), False),
    ("密", ("密码", "密碼", "密钥", "密鑰"), False),
    ("令", ("口令", "令牌"), False),
    ("秘", ("秘钥",), False),
    ("暗", ("暗号",), False),
)
_FOREIGN_NAME = r"passwort|mot[ _\-]de[ _\-]passe|kennwort|contrase|wachtwoord|senha|парол|hasło|şifre|lösenord"
# How sentences of those languages go on about a password that they do not tell.
_SAID_ABROAD = (
    r"(?i)falsch\w*|richtig\w*|geheim\w*|leer|kurz|lang|schwach|stark|sicher|unsicher|nicht|kein\w*|erneut|bitte|"
    r"[uú]ngültig|gültig|ob[lr]igat\w+|(?:in)?correct\w*|(?:in)?v[aáà]lid[aoe]?|requ?[ie]\w+|vac[ií][ao]|vazi[ao]|segur[ao]|"
    r"d[eé]bil|fort[ae]?|faible|court[e]?|longue|vide|secr[eè]t[aoe]?|trop|pas|muy|muito|demasiad[ao]|"
    r"неверн\w*|верн\w*|пуст\w*|обязател\w*|слишком|должен|нужен|введите|скрыт\w*|"
    r"leeg|onjuist|juist|verplicht|nieprawid\w+|wymagane|puste|fel|tomt|yanlış|gerekli|"
    r"\w+(?:lich|bar|haft|iert|ada|ado|ida|ido|[oó]ri[ao]|oire|ée?s?|ый|ая|ён|ен|ена|ать|ить)|ge\w{3,}[tn]|ver\w{3,}[tn]"
)
_STORAGE_KEY = r"storage_?key\Z"

#: What makes a key a secret one: the word before it.
_SECRET_KEYS = (
    "api", "access", "secret", "private", "account", "auth", "encryption", "signing", "signature", "master", "service",
    "storage", "subscription", "sharedaccess", "shared", "deploy", "license", "app", "client",
)  # fmt: skip


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: How a keyword goes on where it is the beginning of another word: passed, tokens, secretary.
_OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "pass": ("ed", "es", "ing", "ive", "able", "age", "ion", "thr"),
    "pwd": (),
    "secret": ("ar", "ly"),
    "token": ("iz", "is"),
    "key": ("bo", "wo", "ed", "fr", "no", "st"),
}

#: Words that may follow the word for the secret without making the name one of something else.
_HARMLESS_SUFFIXES = _word_set(
    "value key base prod production dev development test testing stage staging live raw plain plaintext text string "
    "current old new default primary secondary main master root admin readonly ci bot app api access refresh env "
    "local db user service a b us eu"
)

#: Words before ``token`` that say it is a piece of text or a cursor, not a secret.
_TEXT_TOKENS = _word_set(
    "max min num total input output prompt completion eos bos pad unk sep cls mask stop special next page continuation "
    "sync cancel cancellation prev previous first last lookahead end start per begin start parse lex syntax"
)

#: What ``pass`` may be glued to and still be short for password.
_PASS_OWNERS = ("db", "user", "my", "pg", "smtp", "mail", "sudo", "root", "admin", "ssh", "redis", "store", "-key")
#: Words before ``KEY``, in an environment file, that say it is no secret one.
_OTHER_KEYS = _word_set(
    "cache public publishable pub sort primary foreign partition row host group index routing registry object "
    "map lookup unique composite natural idempotency dedup sorting hot short shortcut partition s3 bucket redis config "
    "search translation message i18n event topic kms storage query feature local item flag setting experiment"
)

#: A type, literal or ordinary word that stands where a value could.
_NO_VALUES = _word_set(
    "none null nil undefined true false yes no on off str string bytes byte int integer number float bool boolean any "
    "object unknown void never char varchar text optional required self this new await async function lambda return "
    "not and or if else the a an is was are be in at of to for from with by missing invalid valid expired empty blank "
    "set unset wrong correct incorrect default auto inherit disabled enabled flag option options argument arguments "
    "parameter parameters field fields prompt stdin env file path secretstr securestring protected hidden mandatory "
    "needed here there below above same different unknown weak strong short long safe secure public private changed "
    "plain plaintext secret fine okay good bad visible stored hashed encrypted rotated revoked per only also still now "
    "then when where what which how that it its your my our their ok failed passed rejected accepted refused "
    "case-sensitive must should can could will would has have had does do did "
    "passwort kennwort contraseña contrasena senha wachtwoord hasło şifre lösenord пароль 密码 密碼 パスワード 비밀번호"
)

#: Words of which a placeholder is made, as in ``your-api-key-here``. ``changeme`` and its like are no secrets.
_PLACEHOLDER_WORDS = _word_set(
    "your my our some the an a insert enter put add replace example sample dummy fake placeholder todo changeme change "
    "me it redacted hidden masked removed secret password passwd pass pwd passphrase token key api apikey access auth "
    "here value with this goes real actual personal username user github openai anthropic string default changeit"
)
_REFERENCE = (
    r"(?s)\$[A-Za-z_{(\[].*|\$\d|\{.*\}|<[^>]*>?|%\w+%|%\(?\w*\)?[sdv]|\[[^\]]*\].*|\(.*\)|[*•·.xX_#?…\-]{3,}"
    r"|\*+|!\w+.*|#[0-9A-Fa-f]{3,8}|(?:env|file|fd):\S*"
)
_CODE = (
    r"(?s)[A-Za-z_](?:[\w.]|::|->|\?\.)*[(\[].*|&?[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+[,;)]*|[&*]{1,2}[A-Za-z_]\w*|@\S+|.*=>.*|"
    r"[A-Za-z_]+[!?]"
)
_CALL = r"[A-Za-z_][\w.]*\("
_PATH = r"(?:~|\.{1,2})?/[\w.@/\-]*|[A-Za-z]:[\\/].*|\w+://.*"
_TECHNICAL = (
    r"(?i)(?:sha|md|aes|rsa|rs|hs|es|ps)-?\d{1,3}\b|base\d\d|bcrypt|scrypt|argon2|pbkdf2|utf-?\d|oauth|http|v\d|\dfa\b|"
    r"ed25519|x509|k8s|s3\b|ec2|ipv\d|uuid|\d+[- ]?(?:char|byte|bit|day|hour|minute|second|digit|time)"
)
_NAMING_WORD = r"(?i)pass|token|secret|key|auth|cred|pwd"
_PROSE_WORD = (
    r"(?i)\b(?:the|your|an?|is|are|must|should|please|enter|required|invalid|for|with|to|of|password|token|secret|key|"
    r"not|and|or|forgot|confirm|new|reset|passe|passwort|contraseña|senha|wachtwoord)\b"
)
_DESCRIBING_ENDINGS = ("ed", "ing", "able", "ible", "ory", "al", "less", "ful")

#: What may follow a name: its closing quote, then a separator, or what a sentence puts there.
AFTER_NAME = (
    r"(?P<close>\\*[\"'`]?\]?(?:\*\*)?)"
    rf"{GAP}(?:(?P<sep>:\s?(?:Optional\[)?&?(?:str|string|String|bytes|SecretStr)(?:\s?\|\s?(?:None|null|undefined))?\]?\s?=(?!=)"
    rf"|:=|=>|=(?![=~])|:(?![:/])|：|＝)(?:\*\*(?=[ \t]))?{GAP}"
    r"|(?P<call>,[ \t]?|\([ \t]?|[ \t]?(?:\|\||\?\?)[ \t])(?=[\"'])"
    r"|(?P<prose>(?:[ \t]{1,3}(?:for|of|to|on|at|in|für|von|pour|de|da|para|от|для|к)"
    r"(?:[ \t]{1,3}[\w.@'/\-]{1,30}){1,5}?)?"
    r"[ \t]{1,3}(?:(?P<abroad>(?:ist|lautet|est|es|é|è|är|jest|это):?)|"
    r"(?P<changed>(?:(?:is|was|has[ ]been|got|were|gets)[ \t])?(?:now[ \t])?"
    r"(?:changed|set|reset|updated|rotated|switched)[ \t]to)|is|was|will[ ]be|should[ ]be|to|as)"
    r"[ \t]{1,3}(?:now[ \t])?:?[ \t]{0,3}"
    r"|[ \t]{1,3}(?:is|was):[ \t]{0,3}"
    r"|[ \t]{1,3}(?:for|of|on|für|von|pour|de|da|para|от|для|к)"
    r"(?:[ \t]{1,3}[\w.@'/\-]{1,30}){1,4}?(?::[ \t]{1,3}|[ \t]{1,3}=[ \t]{1,3})"
    r"|[ \t]\([^()\n]{1,40}\)[ \t]?[:=][ \t]{1,3})"
    r"|(?P<arrow>(?<=[ \t])(?:->|→|—|–)[ \t]{1,3}|'s[ \t]{1,3})"
    r"|(?P<han>\s{0,2}(?:还是|仍是|应该是|用的是|就是|是|为|為|は|が|는|은|이|가|改成了?|改为了?|改為了?|换成了?|换为|设成了?|设为了?|设置为了?"
    r"|設為|用)[ \t]{0,3}"
    r"[:：]?[ \t]{0,3})"
    r"|(?P<space>[ \t]{1,8})|(?P<tag>>))"
)
QUOTED = (
    r"[fFrRbBuU]{0,2}(?:(?P<quote>[\"'`])(?P<plain>(?:\\.|(?!(?P=quote))[^\n\r\\]){1,64000})(?P<end>(?P=quote)|\Z|…)"
    r"|(?P<escaped>\\+[\"'])(?P<inner>(?:(?!(?P=escaped))[^\n\r]){1,64000})(?:(?P=escaped)|\Z|…)"
    r"|[“「『‘](?P<curly>[^”」』’\n]{1,200})[”」』’])"
)

#: "user kim pass …": what stands before the name.
USER_BEFORE = (
    r"(?i)(?<![\w\-])(?:user(?:name)?|usr|login)[ \t]{0,2}[:=]?[ \t]{1,2}"
    r"(?!(?:can|may|must|should|will|would|could|might|to|tests?|ids?|names?|inputs?)\b)[\w.@+\-]{1,60}"
    r"[ \t,;/|]{1,4}(?:and[ \t])?\Z"
)

#: A Kubernetes document of kind Secret, as YAML or JSON: its kind, the block of its values, and each value.
KUBERNETES_KIND = r"(?i)kind\\*[\"']?\s{0,3}:\s{0,3}\\*[\"']?\Z"
LONGEST_KUBERNETES = 20_000
KUBERNETES_DATA = (
    r"(?:^|(?<=\n)|(?<=\\n))(?P<indent>[ ]{0,20})(?:data|stringData):[ ]{0,4}(?:\r?\n|\\n)"
    r"(?:(?P=indent)[ ]{1,20}[^\s\\][^\n\\]{0,4000}(?:\r?\n|\\n|\Z))+"
    r"|\\*\"(?:data|stringData)\\*\"\s{0,3}:\s{0,3}\{[^{}]{1,16000}\}?"
)
KUBERNETES_VALUE = (
    r"(?:(?:(?<=\n)|(?<=\\n))[ ]{1,40}[\w.\-]{1,200}|\\*\"[\w.\-]{1,200}\\*\"\s{0,3}):\s{0,3}\\*[\"']?"
    r"(?P<secret>(?![|>{])[^\s\"'\\]{1,4000})"
)

#: A name and its value apart: what stands before the name ("name: …", ``<add key="…``), then what stands between the
#: name and the value, or between the value and the name.
NAMED_LEFT = r"(?i)(?<![A-Za-z])(?:name|key|variable|var|id)\\*[\"']?\s{0,3}[:=]\s{0,3}\\*[\"']?\Z"
THEN_VALUE = (
    r"(?i)\\*[\"']?(?:\s|,|\\[rn]){1,40}(?:\\*[\"']?(?:type|secure|sensitive)\\*[\"']?\s?[:=]\s?[\w\\\"']{1,20}"
    r"(?:\s|,|\\[rn]){1,40})?\\*[\"']?value\\*[\"']?\s{0,3}[:=][ \t]{0,3}"
)
VALUE_FIRST = (
    r"(?i)(?<![A-Za-z])value\\*[\"']?\s{0,3}[:=]\s{0,3}(?:\\*(?P<quote>[\"'])(?P<quoted>[^\"'\\\n]{1,300})\\*(?P=quote)"
    r"|(?P<bare>[^\s\"'\\,]{1,300}))(?:\s|,|\\[rn]){1,40}\\*[\"']?\Z"
)
#: "use … as the password": the value, up to the name.
USED_AS = (
    r"(?i)(?<![A-Za-z])(?:use|using|used|enter|try|put|set|with|take)[ ]{1,2}(?P<quote>[\"'`]?)"
    r"(?P<secret>[^\s\"'`]{3,100})(?P=quote)[ ]{1,2}"
    r"as[ ](?:(?:the|your|my|our|its|a|an)[ ])?(?:[\w.\-]{1,20}[ ]){0,3}\Z"
)
NAME_ENDS = (
    r"[\"'`*]{0,2}(?:\s*\Z|\s*[.,;:!?)\n]|"
    r"[ ](?:for|to|in|on|of|and|when|with|instead|here|there|now)\b)"
)
#: A table's cell with the name, and the next one.
CELL_LEFT = r"\|[^|\n]{0,40}\Z"
NEXT_CELL = (
    r"[`*\"']{0,3}[ \t]{0,40}\|[ \t]{0,40}(?P<quote>[`*\"']{0,3})(?P<secret>[^\s|`*]{3,200})(?P=quote)[ \t]{0,60}\|"
)
_COLUMN_TYPE = r"(?i)(?:u?int|float|n?(?:var)?char|string|bytes|text|bool)\d+"
#: A value alone on the line below its name, further in. It holds no mark of code: ``if token:`` has a line below too.
BELOW = (
    r"[ \t]{0,4}(?:[|>][+\-]?[ \t]{0,4})?\r?\n[ \t]{1,40}(?P<quote>[\"']?)"
    r"(?P<secret>[^\s=(){}\[\]:,;\"'`\\]{6,200}={0,2})(?P=quote)[ \t]{0,40}(?=\r?\n|\Z)"
)


@cache
def compiled(pattern: str, ignore_case: bool = False) -> re.Pattern[str]:
    """Return the pattern compiled, once, on first use: importing costs nothing."""
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0)


@cache
def places() -> tuple[tuple[str, tuple[tuple[str, tuple[Place, ...]], ...]], ...]:
    """Return the hints, "" for none, with the literals that share them, each once, with the places that it opens."""
    by_hint: dict[str, dict[str, list[Place]]] = {}
    for place in PLACES:
        by_hint.setdefault(place.hint, {}).setdefault(place.literal, []).append(place)
    return tuple(
        (hint, tuple((literal, tuple(opened)) for literal, opened in by_literal.items()))
        for hint, by_literal in sorted(by_hint.items(), reverse=True)  # of two that begin together, the first names it
    )


#: Roughly from the most to the least frequent, in folded text of logs.
_FREQUENT_FIRST = ' etaoinsrldcumhpwfy_.,/0123456789gb-v:="k*xqjz|'


@cache
def any_literal() -> re.Pattern[str]:
    """Return one pattern that finds, in folded text, the literal of any place or a foreign word without marks.

    Where it finds none, none needs to be looked for. Each is looked for at its rarest character, so that most
    characters are passed at the first look.
    """
    literals = {place.literal for place in PLACES} | {word for _, words, _ in FOREIGN_WORDS for word in words}
    by_rarest: dict[str, list[str]] = {}
    for literal in sorted(literals):
        if any(other in literal for other in literals - {literal}):
            continue  # found with the shorter one
        at = max(range(len(literal)), key=lambda place: _FREQUENT_FIRST.find(literal[place]))
        before = f"(?<={re.escape(literal[: at + 1])})" if at else ""
        by_rarest.setdefault(literal[at], []).append(before + re.escape(literal[at + 1 :]))
    return re.compile("|".join(f"{re.escape(rarest)}(?:{'|'.join(ends)})" for rarest, ends in by_rarest.items()))


@cache
def token_openings() -> re.Pattern[str]:
    """Return one pattern that finds the opening of any token shape: a quick look before the exact one.

    Openings that begin with the same letter stand together, so that most letters are passed at the first look.
    """
    by_letter: dict[str, list[str]] = {}
    for opening in dict.fromkeys(opening for _, opening, _ in TOKEN_SHAPES):
        by_letter.setdefault(opening[0], []).append(opening[1:])
    return re.compile("|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items()))


@cache
def token_pattern() -> re.Pattern[str]:
    """Return one pattern of all token shapes; the number of the group that matched, less one, is the shape's place."""
    return re.compile(LEFT_EDGE + "(?:" + "|".join(f"({opening}{rest})" for _, opening, rest in TOKEN_SHAPES) + ")")


def is_reference(value: str) -> bool:
    """Whether a value only points at a secret or blots it out: ``$TOKEN``, ``{{ token }}``, ``<secret>``, ``***``."""
    return compiled(_REFERENCE).fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret without being one: a reference, ``your-api-key``, ``changeme``, ``ab...``."""
    if is_reference(value) or any(part in value for part in ("...", "…", "***", "xxxxx", "XXXXX")):
        return True
    if len(value) > 80 or not value.isascii() or not compiled(r"[A-Za-z_ \-]+").fullmatch(value):
        return False
    return all(word in _PLACEHOLDER_WORDS or not word.strip("x") for word in _words(value))


def looks_random(value: str) -> bool:
    """Whether a value is no word: at least six characters, with a digit or a symbol among letters."""
    if len(value) < 6 or not compiled(r"[^\W\d_]").search(value):
        return False
    return compiled(r"[\d!@#$%^&*+/=~?]").search(value) is not None


@cache
def keyword_pattern(keyword: str) -> re.Pattern[str]:
    """Return the pattern of a keyword that is not the beginning of another word, such as passed: tests print many."""
    endings = "|".join(_OTHER_WORDS[keyword])
    return re.compile(f"{keyword}(?!{endings})" if endings else keyword)


def may_name_a_secret(folded: str, position: int, keyword: str) -> bool:
    """Whether a keyword may belong to a secret's name, by its nearest letters alone: a quick look, for every hit."""
    after = position + len(keyword)
    if keyword == "key" and folded[position - 1 : position] == "_" and folded[after : after + 1] in ("=", ":"):
        return True
    return keyword != "key" or folded[max(0, position - 20) : position].rstrip("_-. ").endswith(_SECRET_KEYS)


def secret_name(before: str, written: str, rest: str) -> str | None:
    """Return the kind of secret that a name tells (``password``, ``secret``, ``token``, ``api-key``), None if none.

    ``written`` is the keyword as the text has it; ``before`` and ``rest`` are the parts of the name on either side.
    """
    keyword = written.lower()
    if keyword == "pass":
        return "password" if _is_password(before, written, rest) else None
    if rest[:1].islower() or (rest[:1] == "S" and not rest[1:2].isalpha()):
        return None  # another word, such as tokenizer, or a plural
    if keyword == "key" and not before.rstrip("_-. ").lower().endswith(_SECRET_KEYS):
        return "api-key" if _is_general_key(before + written + rest) else None
    if keyword == "pwd" and before.lower() == "old":
        return None
    if keyword == "token" and (_words(before) or [""])[-1] in _TEXT_TOKENS:
        return None
    if not _is_harmless(rest):
        return None
    return {"pwd": "password", "key": "api-key"}.get(keyword, keyword)


def is_vague_name(name: str) -> bool:
    """Whether a name may be a secret's or not: only a value that is no word tells.

    Such are variables that end in ``_KEY``, and keys of a storage, which in a browser are mere names.
    """
    return compiled(_STORAGE_KEY, ignore_case=True).search(name) is not None or _is_general_key(name)


def is_foreign_name(name: str) -> bool:
    """Whether a name is what another language calls a password; its sentences are not read here."""
    return compiled(_FOREIGN_NAME, ignore_case=True).search(name) is not None


def may_be_password_abroad(value: str) -> bool:
    """Whether a word after such a name is a password: none that describes one, as far as those are known."""
    return len(value) >= 5 and not compiled(_SAID_ABROAD).fullmatch(value)


def _is_general_key(name: str) -> bool:
    if not (name.endswith("_KEY") and name.isupper()):
        return False
    owner = name.removesuffix("_KEY").rpartition("_")[2].lower()
    return bool(owner) and not owner.endswith(_SECRET_KEYS) and owner not in _OTHER_KEYS


def _is_password(before: str, written: str, rest: str) -> bool:
    if rest.lower() == "e":
        return before.lower() in ("mot de ", "mot_de_", "mot-de-")
    suffix = compiled(r"word|wd|phrase|code|wort", ignore_case=True).match(rest)
    if suffix:
        rest = rest[suffix.end() :]
    elif before[-1:].isalpha() and not (written[0].isupper() and before[-1].islower()):
        return before.lower().endswith(_PASS_OWNERS) and _is_harmless(rest)  # not bypass, not compass
    return not rest[:1].islower() and _is_harmless(rest)


def _is_harmless(rest: str) -> bool:
    return all(word in _HARMLESS_SUFFIXES or word.isdigit() for word in _words(rest))


def _words(name: str) -> list[str]:
    return [word.lower() for word in compiled(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+").findall(name)]


def accepts_quoted(value: str, kind: str, *, literal: bool = False) -> bool:
    """Whether a quoted value after a secret's name is a secret: not a placeholder, a sentence, a path or a type.

    ``literal``: the place holds no code, as for ``accepts_bare``.
    """
    if len(value) < 3 or is_placeholder(value) or value.lower() in _NO_VALUES or _is_path(value):
        return False
    if any(char.isspace() for char in value):
        return kind == "password" and value.count(" ") <= 6 and not compiled(_PROSE_WORD).search(value)
    if "{" in value and "}" in value:
        return False  # filled in at run time
    if kind in ("token", "api-key") and not (literal and len(value) >= 8):
        return looks_random(value) or (value.isalnum() and len(value) >= (16 if value.islower() else 20))
    return True


def accepts_bare(value: str, kind: str, *, literal: bool, spaced: bool, followed_by: str) -> bool:
    """Whether a value without quotes after a secret's name is a secret, not code.

    ``literal``: the place holds no code (an environment file, a flag of a command, a URL). ``spaced``: there are
    spaces around the separator, as in code. ``followed_by``: the character after the value, "" at the end.
    """
    if len(value) < 3 or is_placeholder(value) or value.lower() in _NO_VALUES or value[0] in "([{=:":
        return False
    if value.isdigit():
        return kind == "password" and len(value) >= 4
    if _is_path(value):
        return False
    if literal:
        return len(value) >= 4 and not compiled(_CALL).match(value)
    if compiled(_CODE).fullmatch(value):
        return False
    if not value.isidentifier():
        return looks_random(value) or (kind == "password" and len(value) >= 4)
    if compiled(_NAMING_WORD).search(value):
        return len(value) >= 16 and looks_random(value) and "_" not in value
    if looks_random(value):
        return True
    if kind not in ("password", "secret") or followed_by in (",", ")", "(", "."):
        return False
    return value.islower() and len(value) >= 6 and "_" not in value and not spaced


def accepts_prose(value: str, kind: str, *, followed_by: str, quoted: bool) -> bool:
    """Whether what a sentence says a secret is ("the password is …") is one, not a description of it."""
    if len(value) < 3 or is_placeholder(value) or value.lower() in _NO_VALUES or compiled(_TECHNICAL).match(value):
        return False
    if _is_path(value) or compiled(_CODE).fullmatch(value):
        return False
    if value[0] in "([{<$%=" or (not quoted and compiled(r"\w+(?:[/=~+?]\w*)+").fullmatch(value) and value.isascii()):
        return False  # and/or, name=value
    if looks_random(value):
        return True
    if quoted:
        return kind == "password" and len(value) >= 4 and not compiled(_PROSE_WORD).search(value)
    if not ends_sentence(followed_by) or kind != "password":
        return False
    if value.isdigit():
        return len(value) >= 4
    return len(value) >= 5 and not value.lower().endswith(_DESCRIBING_ENDINGS)


def ends_sentence(followed_by: str) -> bool:
    """Whether a sentence ends before this character, "" at the end of a text."""
    return followed_by in ("", "\n", "\r") or followed_by in ".,;!?)，。；！）、"


def accepts_argument(value: str) -> bool:
    """Whether what stands quoted behind a name, as its default or the next argument, is a secret: no word, no name."""
    return looks_random(value) and not compiled(r"[A-Z0-9_]+").fullmatch(value) and accepts_quoted(value, "password")


def looks_generated(value: str) -> bool:
    """Whether a value was made by a machine, to tell by its letters and digits alone: no word, version or id."""
    return compiled(r"[A-Za-z0-9+/=]{10,}").fullmatch(value) is not None and (
        sum(map(str.isdigit, value)) >= 3 and not _is_path(value) and compiled(r"[g-zG-Z]").search(value) is not None
    )


def is_surely_secret(value: str, kind: str) -> bool:
    """Whether a value is no word of any language: what a name that tells little must have beside it."""
    if kind == "password":
        return looks_random(value) or (value.isdigit() and len(value) >= 4)
    return compiled(r"[A-Za-z0-9+/=]{12,}").fullmatch(value) is not None and sum(map(str.isdigit, value)) >= 3


def accepts_cell(value: str, kind: str) -> bool:
    """Whether a value that stands away from its name, with nothing said between them, is surely one."""
    if not looks_random(value) or compiled(_COLUMN_TYPE).fullmatch(value):
        return False
    return accepts_prose(value, kind, followed_by="", quoted=True) and accepts_bare(
        value, kind, literal=False, spaced=False, followed_by=""
    )


def _is_path(value: str) -> bool:
    return compiled(_PATH).fullmatch(value) is not None
