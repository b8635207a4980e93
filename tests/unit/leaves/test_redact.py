"""What redaction masks and what it leaves alone, on any text. Every secret here is an invented fake."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline import redact_rules as rules
from memory_pipeline.redact import _long_runs, redact

# Assembled from parts, so that no scanner takes them for real ones.
LETTERS = "FakeFake0123456789" * 4
HEX = "0123456789abcdef" * 4
TOKENS = {
    "anthropic-key": ("sk-", "ant-api03-", LETTERS[:40]),
    "openai-key": ("sk-", "proj-", LETTERS[:40]),
    "openai-key old": ("sk-", LETTERS[:48]),
    "stripe-key": ("sk_", "live_", LETTERS[:24]),
    "stripe-key test": ("sk-", "test_", LETTERS[:24]),
    "stripe-key restricted": ("rk_", "test_", LETTERS[:24]),
    "github-token": ("gh", "p_", LETTERS[:36]),
    "github-token oauth": ("gh", "o_", LETTERS[:36]),
    "github-token server": ("gh", "s_", LETTERS[:36]),
    "github-token user": ("gh", "u_", LETTERS[:36]),
    "github-token refresh": ("gh", "r_", LETTERS[:36]),
    "github-token fine": ("github", "_pat_", LETTERS[:22], "_", LETTERS[:59]),
    "gitlab-token": ("gl", "pat-", LETTERS[:20]),
    "slack-token": ("xo", "xb-123456789012-", LETTERS[:24]),
    "slack-token user": ("xo", "xp-123456789012-", LETTERS[:24]),
    "aws-access-key": ("AK", "IA", "FAKEFAKEFAKEFAKE"),
    "aws-access-key temporary": ("AS", "IA", "FAKEFAKEFAKEFAKE"),
    "google-key": ("AI", "za", LETTERS[:35]),
    "google-token": ("ya", "29.", LETTERS[:60]),
    "npm-token": ("np", "m_", LETTERS[:36]),
    "pypi-token": ("py", "pi-AgE", LETTERS[:60]),
    "huggingface-token": ("h", "f_", LETTERS[:34]),
    "digitalocean-token": ("do", "p_v1_", HEX),
    "sendgrid-key": ("S", "G.", LETTERS[:22], ".", LETTERS[:43]),
    "mailgun-key": ("ke", "y-", HEX[:32]),
    "alibaba-access-key": ("LT", "AI", LETTERS[:20]),
    "databricks-token": ("da", "pi", HEX[:32]),
    "vault-token": ("hv", "s.", LETTERS[:30]),
    "service-token": ("gs", "k_", LETTERS[:40]),
    "docker-token": ("dckr", "_pat_", LETTERS[:27]),
    "jwt": ("ey", "J", LETTERS[:30], ".", "ey", "J", LETTERS[:30], ".", LETTERS[:43]),
    "jwt encrypted": ("ey", "J", *(part for n in (30, 40, 16, 40) for part in (LETTERS[:n], ".")), LETTERS[:22]),
    "jwt encrypted directly": ("ey", "J", LETTERS[:30], "..", LETTERS[:16], ".", LETTERS[:40], ".", LETTERS[:22]),
    "airtable-token": ("pa", "t", LETTERS[:14], ".", HEX),
    "artifactory-key": ("AK", "Cp", LETTERS[:69]),
    "terraform-token": (LETTERS[:14], ".atlas", "v1.", LETTERS[:60]),
    "doppler-token": ("dp", ".pt.", LETTERS[:43]),
    "doppler-token service": ("dp", ".st.", LETTERS[:43]),
    "doppler-token environment": ("dp", ".st.prd_shop.", LETTERS[:43]),
    "planetscale-token": ("pscale", "_tkn_", LETTERS[:43]),
    "planetscale-token password": ("pscale", "_pw_", LETTERS[:43]),
    "fly-token": ("fm", "2_", LETTERS[:40], "+/", LETTERS[:20], "=="),
    "pulumi-token": ("pu", "l-", HEX[:40]),
    "sentry-token": ("sntry", "s_ey", "J", LETTERS[:40], "=_", LETTERS[:43]),
    "sentry-token user": ("sntry", "u_", HEX),
    "1password-token": ("ops", "_ey", "J", LETTERS[:60]),
    "dynatrace-token": ("dt0", "c01.", LETTERS[:24].upper(), ".", LETTERS[:64].upper()),
    "heroku-key": ("HR", "KU-", "01234567-89ab-cdef-0123-456789abcdef"),
    "service-token langsmith": ("ls", "v2_pt_", HEX[:32], "_", HEX[:10]),
    "service-token netlify": ("nf", "p_", LETTERS[:36]),
    "service-token posthog": ("ph", "x_", LETTERS[:43]),
    "service-token vercel": ("vc", "p_", LETTERS[:56]),
    "supabase-key": ("sb_", "secret_", LETTERS[:22], "_", LETTERS[:8]),
    "nuget-key": ("oy", "2", LETTERS[:43].lower()),
    "facebook-token": ("EAA", "CEd", LETTERS[:60]),
    "anthropic-key session": ("sk-", "ant-oat01-", LETTERS[:60]),
    "stripe-key webhook": ("wh", "sec_", LETTERS[:32]),
    "twilio-key": ("S", "K", HEX[:32]),
    "shopify-token": ("sh", "pat_", HEX[:32]),
    "age-key": ("AGE-SECRET-", "KEY-1", LETTERS[:58].upper()),
    "google-token refresh": ("1/", "/0g", LETTERS[:60]),
    "discord-token": ("MTIzNDU2", "Nzg5MDEyMzQ1Njc4", ".GFakeF.", LETTERS[:38]),
    "discord-token account": ("mf", "a.", LETTERS, LETTERS[:12]),
    "fly-token old": ("fo", "1_", LETTERS[:43]),
    "pypi-token other": ("py", "pi-", LETTERS[:60]),
    "dropbox-token": ("s", "l.", LETTERS[:60], "-", LETTERS[:60]),
    "dropbox-token short": ("s", "l.u.", LETTERS, LETTERS[:30]),
    "azure-secret": ("Fak8", "Q~", LETTERS[:34]),
    "service-token linear": ("lin_", "api_", LETTERS[:40]),
    "service-token notion": ("nt", "n_", LETTERS[:46]),
    "service-token notion old": ("sec", "ret_", LETTERS[:43]),
    "service-token new relic": ("NR", "AK-", LETTERS[:27].upper()),
    "service-token grafana": ("gl", "sa_", LETTERS[:32], "_", HEX[:8]),
    "service-token atlassian": ("ATA", "TT3xFfGF0", LETTERS[:60]),
}
GITHUB = "".join(TOKENS["github-token"])
PEM = "".join(
    (
        "-----BEGIN RSA PRIV",
        "ATE KEY-----\n",
        f"{LETTERS[:64]}\n" * 3,
        f"{LETTERS[:30]}==\n",
        "-----END RSA PRIV",
        "ATE KEY-----",
    )
)


def _token_cases() -> list[object]:
    return [pytest.param(name.split()[0], "".join(parts), id=name) for name, parts in TOKENS.items()]


@pytest.mark.parametrize(("kind", "token"), _token_cases())
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "it is {} I think",
        "run with {}, then {}.",
        "\x1b[31m{}\x1b[0m",
        'out: \\n{}\\n"',
        "\\u001b[1m{}\\u001b[0m",
        '{{"value":"{}"}}',
        "https://host.example/%3D{}",
        "x=({})",
        "`{}`",
        "用这个 {}，好吗",
    ],
)
def test_a_known_token_is_masked_wherever_it_stands(kind: str, token: str, around: str) -> None:
    """Every known shape goes, under its own kind, in prose, colours, escapes, JSON and URLs."""
    text = around.format(token, token)

    masked = redact(text)

    assert token not in masked.text
    assert masked.text == around.format(f"[redacted:{kind}]", f"[redacted:{kind}]")
    assert masked.counts == {kind: around.count("{}")}


ASSIGNED = [
    # (text, the secret in it, the kind)
    ("password=hunter2", "hunter2", "password"),
    ("password: hunter2", "hunter2", "password"),
    ("password = hunter2x", "hunter2x", "password"),
    ("password: letmein", "letmein", "password"),
    ("password=p@ssword!", "p@ssword!", "password"),
    ("PIN_PASSWORD: 123456", "123456", "password"),
    ('"password": "hunter2"', "hunter2", "password"),
    ("'passwd' => 'hunter2',", "hunter2", "password"),
    ('{\\"password\\": \\"hunter2\\"}', "hunter2", "password"),
    ('password = "correct horse battery"', "correct horse battery", "password"),
    ('login(password="hunter2", host="x")', "hunter2", "password"),
    ("<password>hunter2</password>", "hunter2", "password"),
    ("(password: hunter2)", "hunter2", "password"),
    ("password=hunter2,host=db", "hunter2", "password"),
    ("user=x&password=hunter2&next=1", "hunter2", "password"),
    ("password\x1b[0m=\x1b[32mhunter2\x1b[0m", "hunter2", "password"),
    ("MYSQL_PWD=hunter2 mysql", "hunter2", "password"),
    ("PGPASSWORD=correcthorse psql", "correcthorse", "password"),
    ("DB_PASS=correcthorse", "correcthorse", "password"),
    ('"pass": "swordfish"', "swordfish", "password"),
    ("pass: hunter2x", "hunter2x", "password"),
    ("smtp_pass: hunter2x", "hunter2x", "password"),
    ("SMTP_PASSWORD='two words'", "two words", "password"),
    ("spring.datasource.password=hunter2", "hunter2", "password"),
    ("userPassword: 'hunter2'", "hunter2", "password"),
    ("passphrase: hunter2", "hunter2", "password"),
    ("export TOKEN=fake123token", "fake123token", "token"),
    ('TOKEN="abcdefghij"', "abcdefghij", "token"),
    ("export TOKEN=fake123\\nexport B=1", "fake123", "token"),
    ("$env:TOKEN = 'fake123'", "fake123", "token"),
    ("token: str = 'fake123'", "fake123", "token"),
    ("//registry.example/:_authToken=fake123456", "fake123456", "token"),
    ('"auth_token": "deadbeefdeadbeef"', "deadbeefdeadbeef", "token"),
    ("password: s3cret!", "s3cret!", "password"),
    ("access_token: fake123456", "fake123456", "token"),
    ("api_key=fake123", "fake123", "api-key"),
    ('"apiKey":"fake123"', "fake123", "api-key"),
    ("const apiKey: string = 'fake123'", "fake123", "api-key"),
    ('os.environ["API_KEY"] = "fake123"', "fake123", "api-key"),
    ("X-Api-Key: fake123456", "fake123456", "api-key"),
    ("AccountName=sam;AccountKey=Fake/fake+0123==;Suffix=x", "Fake/fake+0123==", "api-key"),
    ("SharedAccessKey=Fake/fake+0123=", "Fake/fake+0123=", "api-key"),
    ("client_secret: 'abcdefgh'", "abcdefgh", "secret"),
    ("aws_secret_access_key = Fake/fake+0123FAKE", "Fake/fake+0123FAKE", "secret"),
    ("SECRET_KEY_BASE=abcdefabcdef", "abcdefabcdef", "secret"),
    ("tool --token fake123", "fake123", "token"),
    ("tool --password letmein -v", "letmein", "password"),
    ("tool --api-key=fake123", "fake123", "api-key"),
    ("ALTER USER sam WITH PASSWORD 'hunter2'", "hunter2", "password"),
    ("CREATE USER sam IDENTIFIED BY 'hunter2'", "hunter2", "password"),
    # other languages
    ("Passwort: hunter2", "hunter2", "password"),
    ("PASSWORT=geheim", "geheim", "password"),
    ('"kennwort": "hunter2"', "hunter2", "password"),
    ("mot de passe : hunter2", "hunter2", "password"),
    ("mot_de_passe=hunter2", "hunter2", "password"),
    ("contraseña: hunter2", "hunter2", "password"),
    ("db_contrasena = hunter2", "hunter2", "password"),
    ("SENHA=secreta", "secreta", "password"),
    ("wachtwoord: hunter2", "hunter2", "password"),
    ("hasło: hunter2", "hunter2", "password"),
    ("şifre: hunter2", "hunter2", "password"),
    ("lösenord: 482913", "482913", "password"),
    ("пароль: hunter2", "hunter2", "password"),
    ("パスワード：hunter2", "hunter2", "password"),
    ("비밀번호: hunter2", "hunter2", "password"),
    ("암호=hunter2", "hunter2", "password"),
    # flags with one dash
    ("keytool -genkey -storepass hunter2 -alias x", "hunter2", "password"),
    ("keytool -genkey -keypass swordfish -alias x", "swordfish", "password"),
    ("tool -password swordfish -v", "swordfish", "password"),
    ("tool -token fake123456", "fake123456", "token"),
    # names that say little, with values that say enough
    ("STRIPE_KEY=abcdef123456", "abcdef123456", "api-key"),
    ("VITE_MAPS_KEY: 'FakeFake0123'", "FakeFake0123", "api-key"),
    ("AZURE_STORAGE_KEY=FakeFake/0123+FAKE==", "FakeFake/0123+FAKE==", "api-key"),
    # defaults, arguments, markup
    ("define('DB_PASSWORD', 'hunter2');", "hunter2", "password"),
    ("os.getenv('DB_PASSWORD', 'hunter2')", "hunter2", "password"),
    ("process.env.DB_PASSWORD || 'hunter2'", "hunter2", "password"),
    ('ds.setPassword("hunter2");', "hunter2", "password"),
    ("SET PASSWORD FOR 'sam'@'%' = PASSWORD('hunter2')", "hunter2", "password"),
    ('<entry key="password">hunter2</entry>', "hunter2", "password"),
    ("**Password:** hunter2", "hunter2", "password"),
    ("**API key**: fake123456", "fake123456", "api-key"),
    ("ENV API_TOKEN fakefake123456", "fakefake123456", "token"),
    ("aws configure set aws_secret_access_key Fake/fake+0123FAKE", "Fake/fake+0123FAKE", "secret"),
    # headers
    ("X-Api-Key: AbCdEfGhIj", "AbCdEfGhIj", "api-key"),
    ("-H 'x-auth-token: abcdefghij'", "abcdefghij", "token"),
    ('{\\\\\\"password\\\\\\": \\\\\\"hunter2\\\\\\"}', "hunter2", "password"),
]
PLACED = [
    (
        "postgres://user:password@host/db",
        "password",
        "url-credential",
        "postgres://user:[redacted:url-credential]@host/db",
    ),
    (
        "redis://:hunter2@localhost:6379",
        "hunter2",
        "url-credential",
        "redis://:[redacted:url-credential]@localhost:6379",
    ),
    (
        "mongodb+srv://sam:p%40ss@c.example",
        "p%40ss",
        "url-credential",
        "mongodb+srv://sam:[redacted:url-credential]@c.example",
    ),
    ("https://sam:a@b:c@host/x", "a@b:c", "url-credential", "https://sam:[redacted:url-credential]@host/x"),
    ("https://fake0fake1fake2fake3@git.example/x", "fake0fake1fake2fake3", "url-credential", None),
    ("https://x.example/f?token=abcdef123", "abcdef123", "token", "https://x.example/f?token=[redacted:token]"),
    ("https://x.example/f?a=1&access_token=abcdefgh&b=2", "abcdefgh", "token", None),
    (f"https://x.example/c?sv=1&sig={LETTERS[:30]}%3D", LETTERS[:30], "url-token", None),
    (f"https://x.example/o?X-Amz-Signature={HEX}", HEX, "url-token", None),
    (f"https://maps.example/js?key={LETTERS[:30]}", LETTERS[:30], "url-token", None),
    (
        "Authorization: Bearer fake123456",
        "fake123456",
        "authorization",
        "Authorization: Bearer [redacted:authorization]",
    ),
    ('{"Authorization": "token fake123456"}', "fake123456", "authorization", None),
    ("curl -H 'Authorization: Basic c2FtOmh1bnRlcjI='", "c2FtOmh1bnRlcjI=", "authorization", None),
    ("then sent Bearer fake1234567890", "fake1234567890", "bearer-token", None),
    ("then sent Basic c2FtOmh1bnRlcjI=", "c2FtOmh1bnRlcjI=", "basic-auth", None),
    ('{"auths":{"r.example":{"auth": "c2FtOmh1bnRlcjI="}}}', "c2FtOmh1bnRlcjI=", "registry-auth", None),
    ("Cookie: session=fake123; theme=dark", "fake123", "cookie", "Cookie: [redacted:cookie]"),
    ("Set-Cookie: sid=fake123; Path=/", "fake123", "cookie", "Set-Cookie: sid=[redacted:cookie]; Path=/"),
    (
        "curl -sSu sam:hunter2 https://x.example",
        "hunter2",
        "password",
        "curl -sSu sam:[redacted:password] https://x.example",
    ),
    ('curl https://x.example --user "sam:hunter2"', "hunter2", "password", None),
    ("sshpass -p 'hunter2' ssh sam@host", "hunter2", "password", None),
    ("mysql -u root -phunter2 shop", "hunter2", "password", None),
    ("redis-cli -h host -a hunter2 ping", "hunter2", "password", None),
    ("docker login -u sam -p hunter2 registry.example", "hunter2", "password", None),
    ("curl --cookie 'session=fake123; b=1' x", "fake123", "cookie", "curl --cookie '[redacted:cookie]' x"),
    ("login sam, pw: hunter2", "hunter2", "password", None),
    ("openssl rsa -in k -passin pass:hunter2", "hunter2", "password", None),
    ("machine host.example login sam password hunter2", "hunter2", "password", None),
    ("https://hooks.slack" + ".com/services/T0FAKEFAK/B0FAKEFAK/" + LETTERS[:24], "T0FAKEFAK", "webhook", None),
    (f"https://discord.example/api/webhooks/123456789012/{LETTERS[:40]}", LETTERS[:40], "webhook", None),
    ('requests.get(url, auth=("sam", "hunter2"))', "hunter2", "password", None),
    ("HTTPBasicAuth('sam', 'hunter2')", "hunter2", "password", None),
    ("requirepass hunter2", "hunter2", "password", None),
    ("masterauth hunter2", "hunter2", "password", None),
    ('ConvertTo-SecureString "hunter2" -AsPlainText', "hunter2", "password", None),
    ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop", "authorization", None),
    ("machine git.example\n  login sam\n  password swordfish", "swordfish", "password", None),
    (
        "db.example:5432:shop:sam:swordfish",
        "swordfish",
        "password",
        "db.example:5432:shop:sam:[redacted:password]",
    ),
    ("localhost:5433:*:sam:hunter2", "hunter2", "password", None),
    ("*:*:*:sam:hunter2", "hunter2", "password", None),
    ("db.example:6000:*:sam:hunter2", "hunter2", "password", None),
    ("docker login -u sam --password swordfish r.example", "swordfish", "password", None),
    ("mongosh -u sam -p swordfish shop", "swordfish", "password", None),
    ("htpasswd -bc users sam hunter2", "hunter2", "password", "htpasswd -bc users sam [redacted:password]"),
    ("echo 'sam:hunter2' | sudo chpasswd", "hunter2", "password", "echo 'sam:[redacted:password]' | sudo chpasswd"),
    ("login: sam / hunter2", "hunter2", "password", "login: sam / [redacted:password]"),
    ("creds: sam:hunter2", "hunter2", "password", None),
    ("DB_CREDENTIALS=sam:hunter2", "hunter2", "password", None),
    ("the root pw is hunter2", "hunter2", "password", None),
    (f"bot 123456:AA{LETTERS[:33]}", LETTERS[:33], "telegram-token", None),
    (f"https://api.telegram.example/bot123456789:AA{LETTERS[:33]}/x", LETTERS[:33], "telegram-token", None),
]
SAID = [
    ("the password is hunter2", "hunter2", "password"),
    ("The password for the staging db is hunter2.", "hunter2", "password"),
    ("the password was `swordfish`, now gone", "swordfish", "password"),
    ("the password is swordfish.", "swordfish", "password"),
    ("set the password to hunter2", "hunter2", "password"),
    ("log in with password hunter2 please", "hunter2", "password"),
    ("my API key: fake123456", "fake123456", "api-key"),
    ("my api key is fake123456, keep it", "fake123456", "api-key"),
    ("token for ci is fake123456", "fake123456", "token"),
    ("the passphrase is 'open sesame'", "open sesame", "password"),
    ("[sudo] password for sam: hunter2", "hunter2", "password"),
    ("password is hunter2!", "hunter2!", "password"),
    ("密码是hunter2", "hunter2", "password"),
    ("口令是“芝麻开门”", "芝麻开门", "password"),
    ("token是fake123456", "fake123456", "token"),
    ("数据库密码：swordfish，别写进代码", "swordfish", "password"),
    ("口令：hunter2", "hunter2", "password"),
    ("密码改成 hunter2 了", "hunter2", "password"),
    ("token 为 fake123456", "fake123456", "token"),
    ("密钥是「fake123456」", "fake123456", "password"),
    ("Das Passwort ist hunter2.", "hunter2", "password"),
    ("Kennwort lautet hunter2", "hunter2", "password"),
    ("le mot de passe est hunter2", "hunter2", "password"),
    ("la contraseña es hunter2", "hunter2", "password"),
    ("a senha é hunter2", "hunter2", "password"),
    ("la password è hunter2", "hunter2", "password"),
    ("пароль hunter2", "hunter2", "password"),
    ("Das Passwort für staging lautet: hunter2", "hunter2", "password"),
    ("la contraseña de la base es hunter2", "hunter2", "password"),
    ("here is my api key fakefake123456 ok", "fakefake123456", "api-key"),
    ("Пароль от базы: hunter2", "hunter2", "password"),
    ("пароль — hunter2", "hunter2", "password"),
    ("パスワードは hunter2 です", "hunter2", "password"),
    ("パスワードはhunter2です", "hunter2", "password"),
    ("비밀번호는 hunter2입니다", "hunter2", "password"),
    ("Password for staging = hunter2", "hunter2", "password"),
    ("the password of root = hunter2", "hunter2", "password"),
    ("password (staging): hunter2", "hunter2", "password"),
    ("password -> hunter2", "hunter2", "password"),
    ("my password's hunter2", "hunter2", "password"),
    ("user kim pass hunter2", "hunter2", "password"),
    ("login kim, pass hunter2x please", "hunter2x", "password"),
]

APART = [
    ("- name: DB_PASSWORD\n  value: hunter2\n", "hunter2", "password"),
    ("- name: DB_PASSWORD\r\n  value: 'swordfish'\r\n", "swordfish", "password"),
    ("- value: hunter2\n  name: DB_PASSWORD\n", "hunter2", "password"),
    ('{"name":"DB_PASSWORD","value":"swordfish"}', "swordfish", "password"),
    ('{"value": "swordfish", "name": "DB_PASSWORD"}', "swordfish", "password"),
    ('{"key": "API_TOKEN",\n "value": "fake123"}', "fake123", "token"),
    ('{"value":"fake123","key":"API_TOKEN"}', "fake123", "token"),
    ('{\\"name\\":\\"API_KEY\\",\\"value\\":\\"fake123\\"}', "fake123", "api-key"),
    ('{"name": "DB_PASSWORD", "type": "secret_text", "value": "hunter2"}', "hunter2", "password"),
    ('<add key="ApiKey" value="fake123"/>', "fake123", "api-key"),
    ('<add value="fake123" key="ApiKey"/>', "fake123", "api-key"),
    ("password:\n  hunter2", "hunter2", "password"),
    ("password:\n    'hunter2'\nnext: 1", "hunter2", "password"),
    ("password: >-\n  hunter2\n", "hunter2", "password"),
    ("| password | hunter2 |", "hunter2", "password"),
    ("| user | sam |\n| **DB password**   | `hunter2`   |\n", "hunter2", "password"),
    ("use hunter2 as the password", "hunter2", "password"),
    ("Use `swordfish` as the admin password.", "swordfish", "password"),
    ("using fake123456 as the API key for now", "fake123456", "api-key"),
    ("root password was changed to hunter2", "hunter2", "password"),
    ("the password has been reset to `swordfish`.", "swordfish", "password"),
    ("credentials: admin:hunter2", "hunter2", "password"),
    ("the credentials are sam:hunter2, keep them", "hunter2", "password"),
    ("密码改成了 hunter2", "hunter2", "password"),
    ("密码改成了hunter2，记住", "hunter2", "password"),
    ("口令为 hunter2", "hunter2", "password"),
    ("echo hunter2 | docker login -u sam --password-stdin", "hunter2", "password"),
    ('echo "swordfish" | docker login r.example -u sam --password-stdin', "swordfish", "password"),
    ("https://Fake0fake1Fa@host.example/x", "Fake0fake1Fa", "url-credential"),
    ("https://fakefakefakefakefakefakefakefake@host.example/x", "fake" * 8, "url-credential"),
    ("FlyV1 " + LETTERS[:40], LETTERS[:40], "fly-token"),
    ("kind: Secret\nmetadata:\n  name: db\ndata:\n  conn: RmFrZUZha2U=\n", "RmFrZUZha2U=", "secret"),
    ("data:\n  conn: RmFrZUZha2U=\nkind: Secret\n", "RmFrZUZha2U=", "secret"),
    ("kind: Secret\nstringData:\n  conn: 'swordfish'\n", "swordfish", "secret"),
    ("- data:\n- kind: x\n---\nkind: Secret\ndata:\n    conn: RmFrZQ==", "RmFrZQ==", "secret"),
    ('{"kind":"Secret","data":{"conn":"RmFrZUZha2U="}}', "RmFrZUZha2U=", "secret"),
    ('{"data": {\n "conn": "RmFrZUZha2U="\n},\n "kind": "Secret"}', "RmFrZUZha2U=", "secret"),
    ('{\\"kind\\":\\"Secret\\",\\"data\\":{\\"conn\\":\\"RmFrZUZha2U=\\"}}', "RmFrZUZha2U=", "secret"),
    ("kind: Secret\\ndata:\\n  conn: RmFrZUZha2U=\\n", "RmFrZUZha2U=", "secret"),
]


@pytest.mark.parametrize(("text", "secret", "kind"), [*ASSIGNED, *SAID, *APART])
def test_a_value_that_belongs_to_a_secrets_name_is_masked(text: str, secret: str, kind: str) -> None:
    """Environment files, JSON, YAML, code, flags and sentences lose the value, and nothing else."""
    masked = redact(text)

    assert masked.text == text.replace(secret, f"[redacted:{kind}]")
    assert masked.counts == {kind: 1}


@pytest.mark.parametrize(("text", "secret", "kind", "expected"), PLACED)
def test_a_secret_in_a_known_place_is_masked(text: str, secret: str, kind: str, expected: str | None) -> None:
    """Addresses, headers, cookies and commands lose the secret; user and host stay."""
    masked = redact(text)

    assert secret not in masked.text.replace(f"[redacted:{kind}]", "")
    assert kind in masked.counts
    assert expected is None or masked.text == expected


HARMLESS = [
    # ids, hashes, paths, addresses
    "01a22912-fc6b-7762-9dc6-735c156dab2a",
    "rollout-2026-11-29T20-50-39-01a22912-fc6b-7762-9dc6-735c156dab2a.jsonl",
    "commit 3fcb839aab1ff9aa6dba6c582b1839844bf85609",
    f"sha256:{HEX}",
    f'"integrity": "sha512-{LETTERS}=="',
    "/home/sam/shop-api/src/token_store.py:42",
    "https://example.com/path?page=2&sort=asc",
    "http://localhost:8080/a@b",
    "git@github.example.com:sam/shop-api.git",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFake sam@host",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
    "[image omitted: 5 MB]",
    "task-runner-with-a-rather-long-name-1234",
    "risk-assessment-of-the-new-deployment-2026",
    "npm_config_user_agent=pnpm",
    "SECRET_FILE=/run/secrets/db",
    "password=/etc/app/pw",
    "PWD=/home/sam/shop-api",
    "AWS_ACCESS_KEY_ID",
    "-----BEGIN CERTIFICATE-----\nMIIFakeFakeFakeFakeFake\n-----END CERTIFICATE-----",
    # code
    "def f(token: str) -> None:",
    "def login(password: str, user: str):",
    "password: Optional[str] = None",
    "api_key: str | None = None",
    "password: string",
    "token: string;",
    "password = get_password()",
    "password = input('Password: ')",
    "token = next(tokens)",
    "token = self.token",
    "f(token=token)",
    "password=password",
    "secret = os.environ['X']",
    "const token = process.env.TOKEN",
    "password: user.password,",
    "const { password } = body",
    "password: Joi.string().required()",
    "if token == expected_token:",
    "class Token: pass",
    "for pass_number in range(3): pass",
    "'token': 'keyword.control'",
    "tokenizer = 'cl100k_base'",
    "csrf_token()",
    "token += 1",
    "Token: '#dcdccc',",
    "proxy_auth=self._proxy_auth,",
    "my $pwd = CPAN::anycwd();",
    "digital_signature={0.digital_signature}",
    ":type passphrase: :py:data:`bytes`",
    "START = b'-----BEGIN OPENSSH PRIV" + "ATE KEY-----'",
    "password_hash = bcrypt(x)",
    "secretName: shop-tls",
    "secrets: inherit",
    "Pass type_comments=True to get them",
    # counts and switches
    "token_count=123",
    "max_tokens: 4096",
    "input_tokens=1000 output_tokens=50",
    "PASSWORD_MIN_LENGTH=12",
    "secret: false",
    '"password": null',
    "bypass=true",
    "compass: north",
    "cache_key: abc123",
    "primary key: id",
    '"key": "value"',
    # placeholders
    "api_key=<your-key>",
    "TOKEN=$TOKEN",
    "export PASSWORD=$(cat f)",
    "TOKEN=`cat f`",
    "token: ${{ secrets.DEPLOY_TOKEN }}",
    "password: {{ vault_password }}",
    "password=xxxx",
    "password: ****",
    "password: changeme",
    "API_KEY=your-api-key-here",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "-H 'Authorization: Bearer ${TOKEN}'",
    "postgres://user:$PASS@host/db",
    "postgres://user:<password>@host",
    "curl -u $USER:$PASS https://x.example",
    "tool --password PASSWORD",
    "tool --password-stdin",
    "password: [REDACTED]",
    # prose
    "the token expires in an hour",
    "the token is invalid",
    "the token is a JWT",
    "the password is required",
    "the password is optional.",
    "the api key is stored in .env",
    "the secret is to stir",
    "password is sha256-hashed",
    "password and/or user name",
    "forgot password?",
    "password field",
    "use the --token flag",
    "password: 'Password must be at least 8 characters'",
    "Bearer authentication",
    "Basic authentication",
    "keyboard",
    "5 passed in 0.12s",
    "--- PASS: TestLogin (0.00s)",
    "PASS: TestLogin",
    "All unit tests pass: `python3 -m unittest -v`.",
    "pass: 12 of 14",
    "$ok ? 'PASS' : 'FAIL'",
    "'Test2::Event::Pass' => '1.302103',",
    "`key` or `passphrase` are strings.",
    "printf(&quot;Password is incorrect.&quot;);",
    "pushes with its token to `main`",
    "2.7.2. Basic Options",
    "密码是必填的",
    "token 过期了",
    "密码 字段",
    "密码改成了必填的",
    # a name without a value of its own, or with one that is no secret
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:",
    "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)",
    "- name: REGION\n  value: west0123\n- name: DB_PASSWORD\n  valueFrom: vault",
    '[{"name":"REGION","value":"west0123"},{"name":"DB_PASSWORD","from":"vault"}]',
    "- name: Reset password\n  value: step2",
    "- name: MAX_TOKENS\n  value: 4096",
    '{"name":"password","value":""}',
    '{"name":"password","type":"string","required":true}',
    '{"name":"keyboard","value":"layout42"}',
    '<add key="ApiKey" value="${API_KEY}"/>',
    '<add key="PageSize" value="size20"/>',
    "password:\n  type: string",
    "password:\n  - hunter",
    "password:\n  required\n",
    "if token:\n    count+=1\n",
    "if not password:\n    return\n",
    "| password | string |",
    "| password | varchar255 |",
    "| token | required | sha256 |",
    "use email as the password field",
    "use sha256 as the password hash",
    "use it as the password",
    "the password was set to expire.",
    "the password was changed yesterday",
    "credentials: see docs/setup.md:42",
    "credentials: arn:aws:iam::123456789012:role/ci",
    "echo done | tee log",
    "echo $TOKEN | docker login -u sam --password-stdin",
    "echo hunter2 | wc -c",
    "https://build-user-01@git.example/x",
    # what only begins like a token
    "pattern.matches",
    "pat" + LETTERS[:14] + ".py",
    "dp.pt.x and dp.state.value",
    "module.atlasv1.client",
    "pulse-deadbeef",
    "pul-request",
    "pscale_tkn_format_of_the_service",
    "sntrys_token",
    "ops_eyJ",
    "HRKU-style-key-for-the-old-platform",
    "lsv2_pt_token_of_the_service_account",
    "nfp_payrolls_report",
    "phx_new_project_generator_templates",
    "vcp_connector_plugin_registry",
    "sb_secret_key_of_the_project_goes_here",
    "oy2",
    "EAACEd",
    "AKCp",
    "FlyV1 tokens are long",
    "Private-Lines: 14",
    # the same in other languages
    "Passwort: erforderlich",
    "Das Passwort ist falsch.",
    "Passwort vergessen?",
    '"password": "Passwort"',
    '"password": "Mot de passe"',
    "passwortgeschützt: ja123456",
    "la contraseña es obligatoria.",
    "contraseña: obligatoria",
    "a senha é muito curta",
    "senhas: abc123x",
    "mot de passe oublié",
    "le mot de passe est requis.",
    "пароль обязателен",
    "пароль: обязательный",
    "パスワードは必須です",
    "パスワードは8文字以上です",
    "비밀번호는 필수입니다",
    "비밀번호를 입력하세요",
    # names that say little
    "CACHE_KEY=deps-3fcb839aab1f",
    "SORT_KEY=created_at_2024",
    "PUBLIC_KEY=abcdef1234567890",
    "FEATURE_KEY=checkout-v2",
    "const STORAGE_KEY = 'shopCartV2'",
    "TRANSLATION_KEY: cart2total",
    "KEY=build-2024-01",
    "key: ${{ runner.os }}-pip-abc123",
    # what only looks like a place
    "perm:*:read:users2 x",
    "git:*:main:abc1",
    "START = b'-----BEGIN PRIV" + "ATE KEY-----'\nEND = b'-----END PRIV" + "ATE KEY-----'",
    "-----BEGIN PRIV" + "ATE KEY-----\n...\n-----END PRIV" + "ATE KEY-----",
    "docker login -profile work0123",
    "please login\n-p x1y2z3",
    "arn:aws:s3:::bucket/*",
    "the token 3fcb839aab1ff9aa6dba6c582b1839844bf85609",
    "token 01a22912-fc6b-7762-9dc6-735c156dab2a",
    "access token 15min lifetime",
    "['DB_PASSWORD', 'DB_USER2']",
    "os.getenv('DB_PASSWORD', '')",
    'get_password("staging2")',
    'form.password("Enter a password")',
    "password || defaultPassword1",
    "f(password=**kwargs)",
    "auth=(user, password)",
    "auth=('sam', '<password>')",
    "requirepass is set",
    '<label for="password">Password1</label>',
    "arn:aws:rds:*:*:db:reader2",
    "arn:aws:logs:*:123456789012:log-group:shop2",
    "{'X-Session-Token': self.credentials.token}",
    "X-Api-Key: apikey",
    "src/a.py:5432:17: error: x",
    "0.0.0.0:5432:5432",
    "login: src/auth2.py",
    "login: GET /api/v2",
    "creds: see vault2",
    "credentials: 'same-origin'",
    "mongo -p",
    "mkdir -p a1b2c3",
    "-storepass $STOREPASS",
    "-pass env:DB_PASS",
    "-token",
    "pw is required",
    "pw = getpass()",
    "user tests pass py3.11",
    "the user can pass param1 here",
    "the test user: pass 12",
    "password (optional): string",
    "password (min 8): required",
    "Password for 'https://sam@git.example': ",
    "password -> hash",
    "password — see docs/setup.md",
    "token -> token2",
    "$this->password",
    "X-Api-Key: string",
    "X-Api-Key: ${API_KEY}",
    "Authorization: required",
    "kind: Secret\nmetadata:\n  name: shop-tls\n",
    "kind: ConfigMap\ndata:\n  conn: host2port\n",
    "kind: SecretStore\ndata:\n  conn: abcdef12\n",
    "kind: Secret\ndata:\n  conn: {{ .Values.conn | b64enc }}\n",
    "kind: Secret\nstringData:\n  conn: ${DB_CONN}\n",
    "http://x.example/1//0/abcdefghijklmnop",
    "NotificationServiceHandler.create.something_really_long_method_name",
    "OrderServiceImplementation12.create.something_really_long_method_name",
    "sl.example.com",
    "ssl.context",
    "pypi-attestations-0.0.28-py3-none-any.whl",
    "fo1_",
    # colours between words
    "\x1b[32mtests/test_\x1b[1mcart\x1b[0m.py\x1b[0m 12 passed",
    "\x1b[1mtoken\x1b[0m: \x1b[36mstring\x1b[0m",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays_byte_for_byte(text: str) -> None:
    """Ids, hashes, paths, code, counts, placeholders and ordinary sentences are not touched."""
    masked = redact(text)

    assert masked.text == text
    assert masked.counts == {}


OF_PROGRAMS = [
    ("unzip -P Fake7word a.zip", "Fake7word"),
    ("unzip -Phunter2 a.zip", "hunter2"),
    ("zip -r -P hunter2 a.zip src", "hunter2"),
    ("7z x -pFake7word a.7z", "Fake7word"),
    ("7z x -p Fake7word a.7z", "Fake7word"),
    ("7za a -phunter2 a.7z src", "hunter2"),
    ("unrar x -phunter2 a.rar", "hunter2"),
    ("rar a -hphunter2 a.rar src", "hunter2"),
    ('sqlcmd -S db -U sa -P Fake7word -Q "select 1"', "Fake7word"),
    ("ldapsearch -x -D cn=admin,dc=x -w hunter2 -b dc=x", "hunter2"),
    ("ldapmodify -D cn=admin -w 'hunter2' -f a.ldif", "hunter2"),
    ("sudo -S ls <<< hunter2", "hunter2"),
    ('sudo -k -S apt update <<<"hunter2"', "hunter2"),
    ("echo hunter2 | sudo -S ls", "hunter2"),
    ("echo 'hunter2' | sudo -kS apt update", "hunter2"),
    ("printf '%s\\n' hunter2 | sudo -S ls", "hunter2"),
    ("printf 'hunter2\\n' | sudo -S ls", "hunter2"),
    ("smbclient //host/share -U kim%hunter2", "hunter2"),
    ("htpasswd -nb kim hunter2", "hunter2"),
    ("htpasswd -bc .htpasswd kim hunter2", "hunter2"),
    ("curl -u kim:hunter2 https://x.example", "hunter2"),
    ("sshpass -p hunter2 ssh kim@x.example", "hunter2"),
    ("mysql -u root -phunter2 shop", "hunter2"),
    ("docker login -u kim -p hunter2 r.example", "hunter2"),
    ("PGPASSWORD=hunter2 psql shop", "hunter2"),
    ("openssl rsa -in k.pem -passin pass:hunter2", "hunter2"),
    ("login with kim:Fake7word", "Fake7word"),
    ("log in as kim / Fake7word", "Fake7word"),
    ("Sign in with kim:Fake7word on staging", "Fake7word"),
    ('variable "db_password" {\n  type    = string\n  default = "swordfish"\n}', "swordfish"),
    ('variable "api_key" {\n  validation { condition = true }\n  default = "fakefake1"\n}', "fakefake1"),
]
OF_NO_PROGRAM = [
    "unzip -p a.zip readme.txt",
    'unzip -P "$PW" a.zip',
    "unzip a.zip && grep -P foo b.txt",
    "7z x -p a.7z",
    "7z l -slt a.7z",
    "rar x a.rar out/",
    "sqlcmd -S db -E -i script.sql",
    "sqlcmd -P $PW -Q x",
    "ldapsearch -x -W -D cn=admin -H ldap://x.example",
    "sudo -S ls",
    'sudo -S ls <<< "$PW"',
    "cat <<< hello",
    "echo hello | sudo tee /etc/motd",
    "printf '%s' done | tee out.txt",
    "smbclient -L //host -U kim",
    "htpasswd -n kim",
    "login with kim",
    "log in as admin: see docs",
    "login with OAuth2",
    "log in at https://x.example:8443/v1",
    "sign in with GitHub: click here",
    "docker run -p 8080:80 nginx",
    'variable "region" {\n  default = "eu-west-1"\n}',
    'variable "token_ttl" {\n  default = "3600s"\n}',
    'variable "db_password" {\n  default = "changeme"\n}',
    'variable "db_password" {\n  type = string\n}',
    "unzip -l 0a1b2c3d-1111-4222-8333-444455556601.zip",
    "ldapsearch dn 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b v1.2.3 src/ldap/w.py",
]
OF_OTHER_LANGUAGES = [
    ("contraseña: gatito", "gatito"),
    ("la contraseña es gatito", "gatito"),
    ("Passwort: sonnenschein", "sonnenschein"),
    ("Das Passwort lautet sonnenschein.", "sonnenschein"),
    ("le mot de passe est soleil", "soleil"),
    ("mot de passe : soleil", "soleil"),
    ("senha: gatinho", "gatinho"),
    ("密码是 welcome", "welcome"),
    ("密码：welcome", "welcome"),
    ("пароль: солнышко", "солнышко"),
    ("пароль — солнышко", "солнышко"),
    ("パスワード: himitsu", "himitsu"),
    ("パスワードは himitsu です", "himitsu"),
]
SAID_IN_OTHER_LANGUAGES = [
    "contraseña: obligatoria",
    "la contraseña es demasiado corta",
    "contraseña olvidada",
    "Passwort: erforderlich",
    "Passwort: mindestens acht Zeichen",
    "Das Passwort ist falsch",
    "das Passwort vergessen",
    "le mot de passe est incorrect",
    "mot de passe : obligatoire",
    "senha: obrigatória",
    "密码错误",
    "密码不能为空",
    "пароль неверный",
    "пароль: обязательное поле",
    "пароль — это строка",
    "パスワードを忘れた",
    "パスワードは8文字以上です",
]


@pytest.mark.parametrize(("text", "secret"), OF_PROGRAMS)
def test_a_secret_that_a_program_is_given_is_masked(text: str, secret: str) -> None:
    """Options, here-strings, pipes and defaults that hold a password lose it, and nothing else."""
    masked = redact(text)

    assert re.sub(r"\[redacted:[a-z]+\]", "[]", masked.text) == text.replace(secret, "[]")


@pytest.mark.parametrize("text", OF_NO_PROGRAM)
def test_the_same_option_without_a_secret_stays(text: str) -> None:
    """Another program's option, a reference, a prompt, a port and an id are left alone."""
    assert redact(text).text == text


@pytest.mark.parametrize(("text", "secret"), OF_OTHER_LANGUAGES)
def test_a_password_that_is_a_word_is_masked_in_other_languages(text: str, secret: str) -> None:
    """What other languages call a password tells of one, be the value a word."""
    assert redact(text).text == text.replace(secret, "[redacted:password]")


@pytest.mark.parametrize("text", SAID_IN_OTHER_LANGUAGES)
def test_a_sentence_about_a_password_stays_in_other_languages(text: str) -> None:
    """What a password must be like, or that it is wrong, is no password."""
    assert redact(text).text == text


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_very_long_value_is_masked_to_its_end(quote: str) -> None:
    """No tail of a long secret is left."""
    assert redact(f"token={quote}{LETTERS * 200}{quote} end").text == f"token={quote}[redacted:token]{quote} end"


def test_a_private_key_is_masked_whole() -> None:
    """Of a PEM block nothing is left, and the text around it stays."""
    assert redact(f"before\n{PEM}\nafter").text == "before\n[redacted:private-key]\nafter"


def test_a_private_key_on_one_line_with_escapes_is_masked_whole() -> None:
    """A key inside a JSON string has its line ends written as escapes."""
    line = PEM.replace("\n", "\\n")
    assert redact(f'{{"key": "{line}"}}').text == '{"key": "[redacted:private-key]"}'


def test_a_private_key_whose_end_was_cut_is_masked_to_where_it_stops() -> None:
    """A key that output trimming cut off loses all its base64; what follows stays."""
    masked = redact(PEM[:150] + "\n[output trimmed] and then the tests ran")

    assert "Fake" not in masked.text
    assert masked.text.endswith("[output trimmed] and then the tests ran")


def test_a_private_key_whose_beginning_was_cut_is_masked_from_where_it_starts() -> None:
    """The lines of base64 above an end without a beginning go too."""
    masked = redact("[output trimmed]\n" + PEM[60:] + "\nafter")

    assert masked.text == "[output trimmed]\n[redacted:private-key]\nafter"


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("RSA", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"),
        ("PGP", "Version: GnuPG v2\nComment: fake\n\n"),
        ("OPENSSH", ""),
    ],
)
def test_a_private_key_that_was_cut_is_masked_whatever_its_headers(kind: str, headers: str) -> None:
    """What stands between the first line and the base64 does not save the key; nor does a cut in its first line."""
    begin = f"-----BEGIN {kind} PRIV" + "ATE KEY" + (" BLOCK" if kind == "PGP" else "") + "-----\n"

    assert redact(f"{begin}{headers}{LETTERS[:64]}\n{LETTERS[:64]}\n").text.strip() == "[redacted:private-key]"
    assert redact(f"{begin}{headers}{LETTERS[:20]}").text == "[redacted:private-key]"


def test_a_secret_split_by_invisible_characters_is_masked() -> None:
    """Zero-width characters inside a token don't hide it."""
    split = "\u200b".join((GITHUB[:10], GITHUB[10:20], GITHUB[20:]))

    assert redact(f"使用 {split} 登录").text == "使用 [redacted:github-token] 登录"


UNSEEN = ("\x1b[31m", "\x1b[0m\x1b[1;32m", "\x1b[K", "\\u001b[0m", "\\x1b[0m", "\u200b", "\ufeff\x1b[0m")


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("at", [2, 7, 16, 30])
def test_a_token_is_masked_whole_though_something_unseen_parts_it(unseen: str, at: int) -> None:
    """A colour code or a zero-width character in a token saves neither half of it; those elsewhere stay."""
    text = f"\x1b[1mzero\u200bwidth\x1b[0m {GITHUB[:at]}{unseen}{GITHUB[at:]} end"

    assert redact(text).text == "\x1b[1mzero\u200bwidth\x1b[0m [redacted:github-token] end"
    assert redact(text).counts == {"github-token": 1}


@pytest.mark.parametrize("unseen", UNSEEN)
def test_a_named_value_is_masked_whole_though_something_unseen_parts_it(unseen: str) -> None:
    """The same holds for a password without a shape."""
    assert redact(f"password=hun{unseen}ter2x end").text == "password=[redacted:password] end"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n"])
def test_a_putty_key_loses_its_private_lines(line_end: str) -> None:
    """Of such a file the private part goes; the public part and what follows stay."""
    public = ("PuTTY-User-Key-File-2: ssh-rsa", "Public-Lines: 1", "AAAAFake", "Private-Lines: 3")
    private = (LETTERS[:64], LETTERS[:64], f"{LETTERS[:10]}==", f"Private-MAC: {HEX[:40]}")

    masked = redact(line_end.join((*public, *private, "after")))

    assert masked.text == line_end.join((*public, "[redacted:private-key]", "after"))
    assert masked.counts == {"private-key": 1}


def test_invisible_characters_without_a_secret_stay() -> None:
    """Text that only holds such characters is not rewritten."""
    text = "zero\u200bwidth and 👩\u200d💻"
    assert redact(text).text == text


def test_the_result_never_holds_the_secret_but_its_kinds_and_counts() -> None:
    """What was masked is told by kind and count alone."""
    masked = redact(f"{GITHUB} {GITHUB} password=hunter2")

    assert masked.counts == {"github-token": 2, "password": 1}
    assert "hunter2" not in repr(masked)
    assert GITHUB not in repr(masked)


def test_a_letter_that_grows_when_folded_does_not_shift_the_mask() -> None:
    """A capital I with a dot becomes two characters in lower case; positions still hold."""
    assert redact("İİİ password=hunter2").text == "İİİ password=[redacted:password]"


ANY_TEXT = st.text(max_size=200)
PIECES = st.sampled_from(
    [text for text, *_ in (*ASSIGNED, *SAID, *PLACED, *APART)]
    + HARMLESS
    + ["".join(parts) for parts in TOKENS.values()]
    + [
        PEM,
        PEM[:100],
        PEM[-90:],
        "password=",
        "token: ",
        "://",
        '"',
        "\\n",
        "\n",
        " ",
        "[redacted:token]",
        "\x1b[0m",
        "\u200b",
        "name: ",
        '"value":"',
        "\n  ",
        " | ",
        "密码是",
    ]
)


LITERALS = sorted({place.literal for place in rules.PLACES} | {w for _, words, _ in rules.FOREIGN_WORDS for w in words})


@pytest.mark.parametrize("literal", LITERALS)
def test_the_quick_look_finds_each_literal_by_itself(literal: str) -> None:
    """No literal of a place, and no foreign word, is passed over because of what stands or is missing around it."""
    assert rules.any_literal().search(literal)
    assert rules.any_literal().search(f"ab{literal}ab")


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(LITERALS),
            st.sampled_from(LITERALS).map(lambda literal: literal[1:]),
            st.sampled_from(LITERALS).map(lambda literal: literal[:-1]),
            st.text(alphabet="abdegiklnoprstu :-=/", max_size=5),
        ),
        max_size=6,
    ).map("".join)
)
def test_the_quick_look_finds_something_exactly_where_a_literal_stands(text: str) -> None:
    """It finds a literal in a text, whatever overlaps it there, and nothing where none stands."""
    assert (rules.any_literal().search(text) is not None) == any(literal in text for literal in LITERALS)


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(("a", "Z9_-", "K" * 14, "b" * 15, " ", ".", "é", "\u212a", "\ud800", "\n"))).map("".join)
)
def test_stretches_of_token_characters_are_those_that_their_pattern_names(text: str) -> None:
    """The stretches that may hold a token are all those of fifteen letters, digits, dashes and underscores or more."""
    expected = [match.span() for match in re.finditer(r"[A-Za-z0-9_\-]{15,}", text)]

    assert list(_long_runs(text)) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=8).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    """The masked text is stable, whatever stands side by side."""
    once = redact(text)
    again = redact(once.text)

    assert again.text == once.text
    assert again.counts == {}


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=300))
def test_no_text_makes_it_raise(text: str) -> None:
    """Any text, lone surrogates included, comes back as text."""
    assert isinstance(redact(text).text, str)


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT, st.sampled_from(sorted(TOKENS)), ANY_TEXT)
def test_a_token_planted_between_any_words_is_gone(before: str, name: str, after: str) -> None:
    """Surroundings don't save a known token."""
    token = "".join(TOKENS[name])

    assert token not in redact(f"{before} {token} {after}").text


@settings(max_examples=100, deadline=None)
@given(st.uuids(), st.binary(min_size=20, max_size=32), st.from_regex(r"(/[a-z_]{1,12}){1,6}\.py", fullmatch=True))
def test_ids_hashes_and_paths_survive(an_id: object, digest: bytes, path: str) -> None:
    """What evidence is traced by is never eaten."""
    text = f"thread {an_id} at {digest.hex()} in {path}: see {path}:12 ({an_id})"

    assert redact(text).text == text


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([text for text, *_ in (*ASSIGNED, *SAID, *PLACED)]), st.sampled_from(HARMLESS))
def test_lines_do_not_change_each_other(secret_line: str, harmless_line: str) -> None:
    """Two lines joined are masked as each is alone."""
    joined = redact(f"{harmless_line}\n{secret_line}\n{harmless_line}").text

    assert joined == f"{harmless_line}\n{redact(secret_line).text}\n{harmless_line}"


@pytest.mark.parametrize(
    "piece",
    [
        "token=",
        'token="',
        "pass: ",
        "://a:b:",
        "authorization:x",
        "curl -u a:",
        "sk-a",
        "eyJaaaaaaaaaaaa.",
        "AKIA",
        "xoxb-",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----\n",
        "密码是",
        "api key for a b c ",
        "\\",
        "_",
        "cookie:a=",
        "x",
        "\x1b[0m",
        "x\u200b",
        "a\x1b[31mtoken=",
        "name: token\n value: ",
        '"value":"x","name":"token",',
        "|password ",
        "use ab as the password ",
        "password:\n  ",
        "credentials: a:",
        "echo a | ",
        "private-lines: 1\n" + "A" * 20 + "\n",
        "dp.st.",
        "fm2_" + "a" * 12 + "+",
        "eyJ" + "a" * 12 + "..",
        "kind: secret\n",
        "kind: secret\ndata:\n a: b\n",
        '"kind":"secret","data":{"a":"b"},',
        ":*:a",
        ":5432:a:b",
        "mot de passe ",
        "user a pass b1",
        "login: a ",
        "MTIz" * 6 + ".",
        "1//0",
        "kennwort ",
        "пароль от ",
        "パスワードは",
        "zip -P ",
        "7z a -pa ",
        "ldapsearch -w ",
        "sudo -S a <<< ",
        "printf a | ",
        "smbclient -U a%",
        "htpasswd -nb a ",
        "login with a:",
        'variable "token" { ',
        "contraseña es ",
    ],
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    """Text made to trip a pattern takes about twice as long when twice as long: four times would be squared."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            redact(text)
            best = min(best, time.process_time() - began)
        return best

    seconds(1_000)  # compile first
    assert seconds(32_000) < 12 * max(seconds(8_000), 0.002)
