"""The description of the interface tells the truth: every call is fuzzed against it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import CHECKS
from served import Served
from submitted import task

from memory_pipeline.web.calls import ENDPOINTS
from memory_pipeline.web.rates import Rate

_EXAMPLES = 8
_WITHOUT_BODY = frozenset(one.name for one in ENDPOINTS if one.body is None)


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A server with something in it, that lets a fuzzer ask as often as it likes."""
    server = Served(
        tmp_path_factory.mktemp("fuzzed"),
        calls=Rate(at_once=1_000_000, per_minute=1_000_000),
        failures=Rate(at_once=1_000_000, per_minute=1_000_000),
        hosts=["testserver"],
    )
    server.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    server.ask("POST", "/tasks", json=task())
    server.clock.go_on(timedelta(hours=1).total_seconds())
    server.kept.run()
    return server


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", [one.name for one in ENDPOINTS])
def test_every_call_answers_as_it_is_described(fuzzed: Served, name: str, mode: GenerationMode) -> None:
    """Whatever is asked, fitting or not: a described status, an answer of the described shape, no fault of ours."""
    described = schemathesis.openapi.from_asgi("/openapi.json", fuzzed.app)
    rejection = described.config.checks.negative_data_rejection
    rejection.expected_statuses = [*(rejection.expected_statuses or []), 413]
    headers = {"Authorization": f"Bearer {fuzzed.token()}"}
    # What fits may be refused for what it says: that is looked at below. A value that can't be written into an address
    # is left out of it, so that what was to be unfit fits.
    excluded = [CHECKS.get_one("positive_data_acceptance")]
    if name in _WITHOUT_BODY:
        excluded.append(CHECKS.get_one("negative_data_rejection"))

    @settings(
        max_examples=_EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=described.find_operation_by_id(name).as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        answer = case.call_and_validate(headers=headers, excluded_checks=excluded)
        is_refused = answer.status_code == 422 and answer.json()["error"]["code"] == "refused"
        assert mode is not GenerationMode.POSITIVE or answer.status_code in (200, 404, 409) or is_refused

    ask()


def test_every_call_is_described_once(fuzzed: Served) -> None:
    """The description names every call by its own name, and no other."""
    document = fuzzed.client.get("/openapi.json").json()
    named = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert sorted(named) == sorted(one.name for one in ENDPOINTS)
    assert len(set(named)) == len(named)


def test_the_description_is_valid_and_names_its_parts(fuzzed: Served) -> None:
    """Every reference in the description leads to a part that stands in it."""
    text = fuzzed.client.get("/openapi.json").text
    document = fuzzed.client.get("/openapi.json").json()
    for reference in set(text.split('"$ref":"')[1:]):
        name = reference.split('"')[0].removeprefix("#/components/schemas/")
        assert name in document["components"]["schemas"]
