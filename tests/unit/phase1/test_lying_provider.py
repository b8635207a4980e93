"""A provider that lies about usage, stalls, streams without end or sends us elsewhere: the caps hold all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from evidence_samples import evidence, row
from model_server import ModelServer, Reply, Request, answer, drop, hang, status, text, trickle
from store_samples import NOW

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.config import BudgetConfig, Config, ModelConfig, Phase1Config
from memory_pipeline.errors import AnswerError, BudgetHoldError, ModelError, ProviderError
from memory_pipeline.llm.client import REPLY_MAX_BYTES
from memory_pipeline.llm.openai_adapter import OpenAIExtractor
from memory_pipeline.phase1.paid import PaidExtractor
from memory_pipeline.records import Speaker
from memory_pipeline.store.ledger import DayCost
from memory_pipeline.store.store import Store

SEEN = evidence(row(1, Speaker.USER, "Always run make lint."), row(2, Speaker.ASSISTANT, "It is linted. " * 400))
SUMMARY = "The checkout was mended. " * 20
VALUE: dict[str, Any] = {"rollout_summary": SUMMARY, "rollout_slug": "mend", "tasks": []}
WINDOW = 50_000
CAP = 60_000


class FixedClock:
    """A clock that stands."""

    def now(self) -> float:
        return NOW


@pytest.fixture(params=["responses", "chat"])
def wire_api(request: pytest.FixtureRequest) -> str:
    """Each of the two APIs."""
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server on this machine."""
    with ModelServer(default=answer(VALUE)) as running:
        yield running


Build = Callable[..., PaidExtractor]


@pytest.fixture
def build(store: Store, server: ModelServer, wire_api: str) -> Iterator[Build]:
    """Builds paid extractors on the server, which are closed at the end; waits between tries take no time."""
    built: list[PaidExtractor] = []

    def build_one(*, timeout_seconds: float = 5.0, phase1: Phase1Config | None = None, **budget: int) -> PaidExtractor:
        model = ModelConfig(
            provider="openai",
            base_url=server.base_url,
            wire_api=wire_api,
            extract_model="small-1",
            timeout_seconds=timeout_seconds,
            context_window_tokens=WINDOW,
        )
        config = Config(model=model, budget=BudgetConfig(**budget), phase1=phase1 or Phase1Config())
        paid = PaidExtractor(config, store, FixedClock(), is_ours=lambda _thread: True)
        built.append(
            paid.wrap(OpenAIExtractor(model, api_key=None, meter=paid, clock=FixedClock(), sleep=lambda _seconds: None))
        )
        return built[-1]

    yield build_one
    for one in built:
        one.close()


def _usage(value: Any) -> Callable[[Request], Reply]:
    """Answer well, with a usage of any shape."""

    def reply(request: Request) -> Reply:
        is_chat = "messages" in request.body
        written = json.dumps(VALUE)
        if is_chat:
            body: dict[str, Any] = {"choices": [{"message": {"content": written}, "finish_reason": "stop"}]}
        else:
            content = [{"type": "output_text", "text": written}]
            body = {"status": "completed", "output": [{"type": "message", "content": content}]}
        return Reply(body=json.dumps(body | ({} if value is None else {"usage": value})))

    return reply


def _both(input_tokens: Any, output_tokens: Any) -> dict[str, Any]:
    told = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return told | {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}


TOO_LITTLE: list[Any] = [
    None,
    {},
    [],
    "1000",
    _both(0, 0),
    _both(1, 1),
    _both(-5_000, -10),
    _both("9", "9"),
    _both(True, True),
    _both(1.5, 2.5),
    _both(None, None),
    _both([9], {}),
]


def _sent_tokens(request: Request) -> int:
    return len(request.shown.encode()) // 4


def _ask_often(paid: PaidExtractor) -> None:
    for _ in range(100):
        paid.extract(SEEN)


def _row(store: Store) -> DayCost:
    (row_,) = store.ledger.by_day(since=0)
    return row_


@pytest.mark.parametrize("usage", TOO_LITTLE, ids=[json.dumps(one)[:40] for one in TOO_LITTLE])
def test_who_tells_too_little_is_booked_for_what_we_counted(
    store: Store, server: ModelServer, build: Build, usage: Any
) -> None:
    """Zero, nothing, negative or nonsense: at least what was sent and received counts, and the difference is told."""
    server.script([_usage(usage)])
    build().extract(SEEN)
    booked = _row(store)
    assert booked.input_tokens >= _sent_tokens(server.requests[0])
    assert booked.output_tokens >= len(SUMMARY) // 4
    assert booked.unbooked_calls == 0
    assert booked.reported_tokens <= booked.tokens


@pytest.mark.parametrize("usage", TOO_LITTLE[3:8], ids=[json.dumps(one)[:40] for one in TOO_LITTLE[3:8]])
def test_the_cap_holds_whatever_is_told(store: Store, server: ModelServer, build: Build, usage: Any) -> None:
    """Call after call until the budget holds: what was really sent and received stays below the cap, to the token."""
    server.default = _usage(usage)
    paid = build(daily_tokens=CAP)
    with pytest.raises(BudgetHoldError):
        _ask_often(paid)
    assert 5 < len(server.requests) < 100
    assert sum(map(_sent_tokens, server.requests)) + len(server.requests) * len(SUMMARY) // 4 <= CAP
    assert store.ledger.spent(since=NOW - DAY_SECONDS) <= CAP


def test_workers_side_by_side_keep_to_the_cap(store: Store, server: ModelServer, build: Build) -> None:
    """Eight at once get no more than the cap between them, while requests are out and after."""
    server.default = _usage(_both(0, 0))
    paid = build(daily_tokens=CAP)

    def ask(_: int) -> bool:
        try:
            paid.extract(SEEN)
        except BudgetHoldError:
            return False
        return store.ledger.spent(since=NOW - DAY_SECONDS) <= CAP

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(60)))
    assert len(server.requests) > 2
    assert store.ledger.spent(since=NOW - DAY_SECONDS) <= CAP


@pytest.mark.parametrize("tokens", [10**9, 10**18, 10**30])
def test_who_tells_absurdly_much_is_booked_for_a_full_window(
    store: Store, server: ModelServer, build: Build, tokens: int
) -> None:
    """No report counts for more than goes into the model, so that one reply can't hold everything for ever."""
    server.default = _usage(_both(tokens, tokens))
    paid = build(daily_tokens=CAP)
    paid.extract(SEEN)
    assert (_row(store).input_tokens, _row(store).output_tokens) == (WINDOW, WINDOW)
    assert _row(store).reported_tokens > WINDOW
    with pytest.raises(BudgetHoldError):
        paid.extract(SEEN)
    assert len(server.requests) == 1


@pytest.mark.parametrize("tokens", [2**63, 10**30])
def test_an_absurd_report_can_still_be_told(store: Store, server: ModelServer, build: Build, tokens: int) -> None:
    """What an extraction took goes into sums and JSON documents: it is a number that these hold."""
    server.default = _usage(_both(tokens, tokens))
    answered = build().extract(SEEN)
    assert 0 < 1_000_000 * (answered.input_tokens + answered.output_tokens) < 2**63
    assert orjson.dumps([answered.input_tokens, answered.output_tokens])


def test_an_answer_longer_than_allowed_is_booked_as_it_is_and_holds(
    store: Store, server: ModelServer, build: Build
) -> None:
    """The limit that we set lay within the reservation; what came in spite of it counts, and nothing more is sent."""
    long_answer = answer({**VALUE, "rollout_summary": "word " * 80_000}, output_tokens=5)
    server.script([long_answer])
    paid = build(daily_tokens=CAP)
    paid.extract(SEEN)
    body = server.requests[0].body
    limit = body.get("max_output_tokens", body.get("max_completion_tokens"))
    assert _row(store).estimated_tokens <= CAP
    assert limit < _row(store).estimated_tokens
    assert _row(store).output_tokens >= 100_000
    with pytest.raises(BudgetHoldError):
        paid.extract(SEEN)
    assert len(server.requests) == 1


def test_a_reply_without_end_is_cut_and_counts_for_all_that_came(
    store: Store, server: ModelServer, build: Build
) -> None:
    """It is read up to its limit only, and fails the thread; what was received is booked."""
    server.script([text("x" * (REPLY_MAX_BYTES + 1))])
    with pytest.raises(AnswerError, match="larger than"):
        build().extract(SEEN)
    assert _row(store).output_tokens == REPLY_MAX_BYTES // 4
    assert len(server.requests) == 1


CUT_OFF: list[tuple[str, Reply, int]] = [
    ("says nothing", hang(), 1),
    ("a byte now and then", trickle(), 1),
    ("breaks off", drop(), 3),
    ("breaks off in the middle", Reply(answer=VALUE, cut_body=True), 3),
    ("a gateway gave up waiting", status(504), 3),
]


@pytest.mark.parametrize(("name", "reply", "requests"), CUT_OFF, ids=[name for name, _, _ in CUT_OFF])
def test_a_call_that_was_cut_off_keeps_its_reservation(
    store: Store, server: ModelServer, build: Build, name: str, reply: Reply, requests: int
) -> None:
    """The other side may have done the work, and bill it: every such request counts in full, and is told apart."""
    server.default = reply
    with pytest.raises(ProviderError):
        build(timeout_seconds=0.3 if requests == 1 else 5.0).extract(SEEN)
    server.release()
    booked = _row(store)
    assert (booked.unbooked_calls, booked.calls) == (requests, requests)
    assert booked.unbooked_tokens > requests * 10_000


REFUSED: list[tuple[str, Reply]] = [
    ("key", status(401)),
    ("quota", status(429, headers={"Retry-After": "3600"})),
    ("failed", status(500)),
    ("unavailable", status(503)),
    ("sent elsewhere", Reply(status=302, body="", headers={"Location": "http://127.0.0.1:9/v1"})),
    ("a login page", Reply(body="<html>log in</html>", content_type="text/html")),
    ("an error in a 200", Reply(body=json.dumps({"error": {"code": "rate_limit_exceeded", "message": "slow"}}))),
]


@pytest.mark.parametrize(("name", "reply"), REFUSED, ids=[name for name, _ in REFUSED])
def test_what_was_refused_costs_nothing(
    store: Store, server: ModelServer, build: Build, name: str, reply: Reply
) -> None:
    """A provider that is down for a day eats no budget: reservations are given up, and nothing is sent elsewhere."""
    server.default = reply
    with pytest.raises(ModelError):
        build().extract(SEEN)
    assert (store.ledger.spent(since=0), _row(store).unbooked_calls) == (0, 0)


def test_a_server_that_is_not_there_costs_nothing(store: Store, server: ModelServer, build: Build) -> None:
    """No connection was made, so nothing can have been billed."""
    paid = build()
    server.__exit__(None, None, None)
    with pytest.raises(ProviderError, match="can't be reached"):
        paid.extract(SEEN)
    assert store.ledger.spent(since=0) == 0


def test_one_session_sends_no_more_requests_than_its_cap(store: Store, server: ModelServer, build: Build) -> None:
    """Requests that are sent once more count; the fault that is told is the provider's, so no try is used."""
    server.default = status(503)
    with pytest.raises(ProviderError, match="503"):
        build(phase1=Phase1Config(max_requests_per_job=2)).extract(SEEN)
    assert len(server.requests) == 2


NOTICES = [
    "You have hit your spending limit",
    "You've reached your usage limit. Upgrade your plan to continue.",
    "Your credit balance is too low to access the API.",
    "Monthly spending limit has been reached.",
    '{"error": "You have exceeded your monthly quota"}',
]


@pytest.mark.parametrize("notice", NOTICES)
def test_prose_about_a_limit_is_the_providers_fault(server: ModelServer, build: Build, notice: str) -> None:
    """A 200 that only tells of a spent limit uses up no try of the session: the provider rests."""
    server.script([text(notice)])
    with pytest.raises(ProviderError, match="limit, not with an answer") as caught:
        build().extract(SEEN)
    assert caught.value.per_thread_suspect
    assert len(server.requests) == 1


@pytest.mark.parametrize("prose", ["I would rather not.", "The session is about a rate limiter.", "limit " * 200])
def test_other_prose_is_the_threads_own(server: ModelServer, build: Build, prose: str) -> None:
    """Words that merely hold such a word are a useless answer like any other."""
    server.script([text(prose)])
    with pytest.raises(AnswerError):
        build().extract(SEEN)


def test_an_answer_about_limits_is_an_answer(server: ModelServer, build: Build) -> None:
    """What a good answer tells is no notice."""
    server.script([answer({**VALUE, "rollout_summary": "You have hit your spending limit."})])
    assert build().extract(SEEN).rollout_summary == "You have hit your spending limit."
