"""Cuts a session into the tasks that the person gave, each with its title."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct

from memory_pipeline.directions import Sentence, asks_for_work, find_directions, is_order, own_words, sentences
from memory_pipeline.llm.deterministic.steps import Step
from memory_pipeline.records import EventKind, EvidenceRow, Speaker
from memory_pipeline.statements import one_line

TITLE_MAX_CHARS = 80

#: More tasks than this in one session are not told apart any further.
MOST_TASKS = 12


class Reaction(StrEnum):
    """What a prompt says of the work before it."""

    GOOD = "good"
    BAD = "bad"
    NONE = ""


class SessionTask(Struct, frozen=True, kw_only=True):
    """One task: the rows from the prompt that asked for it up to the next one that asks for something new."""

    title: str
    rows: tuple[EvidenceRow, ...]
    steps: tuple[Step, ...]
    spoken: tuple[EvidenceRow, ...]  # the assistant's answers and comments in it
    reaction_after: Reaction  # what the prompt that opens the next task says of this one

    @property
    def prompts(self) -> tuple[EvidenceRow, ...]:
        """The person's prompts in it."""
        return tuple(row for row in self.rows if is_prompt(row))

    @property
    def answers(self) -> tuple[EvidenceRow, ...]:
        """The assistant's final answers in it."""
        return tuple(row for row in self.spoken if row.kind is EventKind.FINAL_ANSWER)


def is_prompt(row: EvidenceRow) -> bool:
    """Whether a row is what a person typed to the agent."""
    return row.kind is EventKind.PROMPT and row.speaker is Speaker.USER


def cut_into_tasks(rows: tuple[EvidenceRow, ...], steps: tuple[Step, ...]) -> tuple[SessionTask, ...]:
    """Cut the rows at each prompt that asks for something new. What precedes the first prompt belongs to no task."""
    starts: list[int] = []
    asked = False  # whether the running task holds a request yet
    for index, row in enumerate(rows):
        if not is_prompt(row):
            continue
        is_request = asks_for_something(row.text)
        if not starts or (is_request and asked and not _follows_up(row.text) and len(starts) < MOST_TASKS):
            starts.append(index)
            asked = is_request
        else:
            asked = asked or is_request
    tasks: list[SessionTask] = []
    if not starts:
        return ()
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        own = rows[start:end]
        numbers = {row.number for row in own}
        tasks.append(
            SessionTask(
                title=_title(own),
                rows=own,
                spoken=tuple(row for row in own if row.kind in {EventKind.FINAL_ANSWER, EventKind.COMMENTARY}),
                steps=tuple(step for step in steps if step.rows[0] in numbers),
                reaction_after=reaction(rows[end].text) if end < len(rows) else Reaction.NONE,
            )
        )
    return tuple(tasks)


_ACKNOWLEDGES = re.compile(
    r"(?:(?:yes|yep|yeah|yup|ok|okay|k|sure|no|nope|thanks|thank you|thx|ty|great|perfect|nice|cool|good|awesome"
    r"|excellent|lgtm|looks good|sounds good|works|go on|go ahead|continue|proceed|do it|do that|next|please|done|right"
    r"|correct|exactly|i(?:'ve)? changed my mind|noted|understood|got it|fyi|one more thing|another thing|by the way"
    r"|btw|hi|hello|hey|good (?:morning|evening|job|work)|that works|it works|you too|a lot|so much|very much|again|now"
    r"|all good|there|claude|codex|你好|您好|嗨|hola|hallo|bonjour"
    r"|好的?|行|可以|继续|谢谢你?|多谢|对|是的|嗯|没问题|不错|很好|完美|搞定了?|辛苦了|接着来|就这样|太好了"
    r"|可以了)\s*)+"
)
_FOLLOWS_UP = re.compile(
    r"(?:no|nope|wait|actually|hm+|still|but|that|that's|this is|it|it's|now it|not|and (?:what|why|how)"
    r"|i (?:said|meant|told)"
    r"|you (?:forgot|missed|broke|didn't|should have)|same|again|try again|retry|undo|revert (?:that|it|this)|instead"
    r"|what about|how about|why did|why does it|did you|can you explain|are you sure|also|continue|go on|keep going"
    r"|carry on)(?![\w-])"
    r"|(?:不对|不是|错了|还是|仍然|又|再试|重试|另外|而且|你忘|你没|为什么你|继续|接着|等等|现在又)",
    re.IGNORECASE,
)


_SCENE = re.compile(r"^[a-z_]+:[a-z_]\S*")  # a label in front of the words: "review:backend …"
_FILLERS = re.compile(r"\b(?:and|also|but|please|remember|that|to|because|so|then)\b")


def asks_for_something(text: str) -> bool:
    """Whether a prompt asks for work or an answer, beyond an acknowledgement or a rule to keep."""
    own = own_words(text)
    if not own.strip():
        return bool(text.strip())  # only a pasted text: whatever it is, the person wants it looked at
    rules = [direction.text.casefold() for direction in find_directions(text)]
    asked = [sentence for sentence in sentences(own) if _is_request(sentence, rules)]
    # Beside a rule, a sentence that asks for nothing only gives its reason.
    return any(not rules or asks_for_work(sentence) for sentence in asked)


_SECRET = re.compile(r"\[redacted:[^\]]*\]")
_HANDS_OVER = re.compile(
    r"(?:(?:here(?:'s| is| are)|and|the|my|our|use|it's|this is|with|for|is|are|this|api|access|db|database"
    r"|login|user|new|test|staging|prod"
    r"|token|key|password|passwd|secret|credentials?|creds)\b[\s:=,.]*"
    r"|(?:这是|我的|密码|密钥|口令|令牌|是|用户名|账号)[\s:：=，,.。]*)*"
)


def _is_secret(text: str) -> bool:
    """Whether a sentence only hands over a secret."""
    return (
        _SECRET.search(text) is not None and _HANDS_OVER.fullmatch(_SECRET.sub(" ", text).strip().lower()) is not None
    )


def _is_request(sentence: Sentence, rules: list[str]) -> bool:
    if _is_secret(sentence.text):
        return False
    beside = _beside_rules(sentence.text, rules)
    if beside.rstrip().endswith((":", "：")) and not asks_for_work(sentence) and not is_order(beside):
        return False  # "Ground rules before we start:" heads what follows
    left = re.sub(r"[\s,.:;!?，。！？；：—–-]+", " ", _SCENE.sub("", beside.casefold())).strip()
    if _ACKNOWLEDGES.fullmatch(left):
        return False
    left = _FILLERS.sub(" ", left).strip()
    if not left or _ACKNOWLEDGES.fullmatch(left):
        return False
    parts = [part for part in re.split(r"\s+", left) if part]
    cjk = len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", left))
    return len(parts) >= 2 or cjk >= 4 or left.startswith("/")


def _beside_rules(text: str, rules: list[str]) -> str:
    """What a sentence says before its first rule, or else what it orders after its last one."""
    lowered = text.casefold()
    spans = [(lowered.find(rule), len(rule)) for rule in rules if rule in lowered]
    if not spans or len(lowered) != len(text):
        return text
    before = text[: min(start for start, _ in spans)]
    after = text[max(start + length for start, length in spans) :]
    return before if re.search(r"\w{2}", before) or not is_order(after) else after


def _follows_up(text: str) -> bool:
    return _FOLLOWS_UP.match(text.strip()) is not None or reaction(text) is Reaction.BAD


def _title(rows: tuple[EvidenceRow, ...]) -> str:
    """The person's own request on one line, without the rules they gave beside it."""
    prompts = [row for row in rows if is_prompt(row)]
    asking = [row for row in prompts if asks_for_something(row.text)]
    real = [row for row in asking if any(map(asks_for_work, sentences(own_words(row.text))))]
    chosen = next(iter(real or asking or prompts))
    own = own_words(chosen.text)
    rules = [direction.text for direction in find_directions(chosen.text)]
    fallback = ""
    for sentence in sentences(own):
        if _is_request(sentence, [rule.casefold() for rule in rules]):
            title = _beside_rules(sentence.text, [rule.casefold() for rule in rules]).lstrip(" ,;:，；：")
            title = re.sub(
                r"[\s,;:，；：]*(?:\b(?:and|but|also|because|so|please|remember(?: that| to)?)\b[\s,;:]*)*$",
                "",
                title.strip(),
                flags=re.IGNORECASE,
            )
            title = re.sub(
                r"^(?:(?:hi|hello|hey|thanks|thank you|great|perfect|ok|okay|now|so|then|next|and|also"
                r"|好的|谢谢|你好|然后|另外)[\s,!.，！。]+)+",
                "",
                title,
                flags=re.IGNORECASE,
            )
            cleaned = one_line(title, TITLE_MAX_CHARS)
            if len(cleaned) >= 12 or len(re.findall(r"[\u4e00-\u9fff]", cleaned)) >= 4:
                return cleaned
            fallback = fallback or cleaned
    return fallback or one_line(own, TITLE_MAX_CHARS) or one_line(chosen.text, TITLE_MAX_CHARS) or "session"


# --- what the person says of the work --------------------------------------------------------------------------------

_BAD = re.compile(
    r"\b(?:still (?:broken|fails?|failing|wrong|crash\w*|not|doesn't|the same|get|see|there|red)|(?:doesn't"
    r"|does not|didn't|did not|isn't|not) (?:work|working|fixed|help|compile|right|correct|what i)"
    r"|(?:that's|that is|this is|it's) (?:wrong|incorrect|broken|worse|not it)|you broke|now it (?:fails"
    r"|crashes|breaks)|same (?:error|problem|issue)|wrong\b(?! with)|it (?:fails|crashes|failed|crashed"
    r"|broke)|no,? that)\b"
    r"|还是(?:不行|报错|失败|不对|一样|有问题|没)|不行|不对|错了|没(?:用|修好|解决|效果)|又(?:报错|坏|挂"
    r"|失败)|依然|仍然(?:报错|失败|不)",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:thanks|thank you|thx|perfect|great|awesome|excellent|lovely|nice(?: work| job)?|well done"
    r"|good job|works(?: now| great| fine| perfectly)?|it works|that works|that worked|working now|fixed it"
    r"|lgtm|looks good|all good|solved|brilliant)\b"
    r"|谢谢|多谢|搞定|完美|可以了|好了|解决了|没问题了|太好了|很好|不错|辛苦|棒",
    re.IGNORECASE,
)


def reaction(text: str) -> Reaction:
    """What a prompt says of the work before it: good, bad or nothing. Only its first sentences count."""
    own = own_words(text)[:400]
    heard = list(sentences(own))[:2]
    for sentence in heard:
        if _BAD.search(sentence.text) and not re.search(r"\bif\b|\bwhen\b", sentence.masked):
            return Reaction.BAD
    first = heard[0] if heard else None
    if (
        first
        and not first.question
        and _GOOD.search(first.text)
        and not re.search(r"\b(?:would be|make it|in advance)\b|请", first.masked)
    ):
        return Reaction.GOOD
    return Reaction.NONE
