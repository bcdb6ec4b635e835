"""The models of clients: their waits and limits, and that the models of the SDKs do what the SDKs do."""

from typing import Any

import pytest

from benchmarks.outage.manners import MANNERS, Again, Came, Tried
from benchmarks.outage.plan import agents
from benchmarks.outage.scenario import SCENARIOS
from benchmarks.outage.stage import skipped


def waits(name, came, chance=0.0, most=60):
    """Every wait of a client that meets the same again and again."""
    manner = MANNERS[name]
    found: list[Any] = []
    tried = Tried(streaming=manner.streaming)
    while len(found) < most and isinstance(again := manner.rule(came, tried, chance), Again):
        found.append(round(again.after, 3))
        tried = again.tried
    return found


def test_the_sdks_double_from_half_a_second_to_eight():
    assert waits("openai-2", Came(500)) == [0.5, 1.0]
    assert waits("anthropic-10", Came(529)) == [0.5, 1, 2, 4, 8, 8, 8, 8, 8, 8]
    assert waits("openai-2", Came(None), chance=1.0) == [0.375, 0.75]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_the_sdks_do_not_ask_again_after_their_own_mistakes(status):
    assert waits("openai-10", Came(status)) == waits("anthropic-10", Came(status)) == []


def test_the_sdks_obey_the_provider():
    assert waits("openai-2", Came(429, retry_after=7)) == [7, 7]
    assert waits("openai-2", Came(429, retry_after=121)) == []
    assert waits("anthropic-2", Came(429, retry_after=121)) == [121, 121]
    assert waits("openai-10", Came(500, should_retry=False)) == []
    assert waits("openai-2", Came(400, should_retry=True)) == [0.5, 1.0]
    assert waits("openai-10", Came(200, begun=True)) == []


def test_claude_code():
    assert waits("claude-code", Came(500)) == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32]
    assert waits("claude-code", Came(500, should_retry=False)) == waits("claude-code", Came(400)) == []
    assert len(waits("claude-code", Came(529, should_retry=False))) == 10
    told = MANNERS["claude-code"].rule(Came(200, begun=True, fault=True), Tried(), 0.0)
    broke = MANNERS["claude-code"].rule(Came(200, begun=True), Tried(), 0.0)
    assert told is not None and broke is not None
    assert (told.tried.streaming, broke.tried.streaming) == (False, True)


def test_codex_asks_thirty_times_but_a_429_without_a_hint_only_once():
    assert len(waits("codex", Came(500))) == 29
    assert waits("codex", Came(500), chance=0.5)[:5] == [0.2, 0.4, 0.8, 1.6, 0.2]
    assert waits("codex", Came(429)) == []
    assert waits("codex", Came(429, retry_after=2)) == [2] * 5
    assert waits("codex", Came(200, begun=True), chance=0.5) == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert waits("codex", Came(400)) == []


def test_opencode_goes_on_and_reads_no_word_about_retrying():
    assert waits("opencode", Came(500, should_retry=False), most=6) == [2, 4, 8, 16, 30, 30]
    assert waits("opencode", Came(503, retry_after=5), most=2) == [5, 5]
    assert waits("opencode", Came(400)) == []


def test_gemini_cli_waits_long_between_tries_and_shortly_within_a_stream():
    assert waits("gemini-cli", Came(500), chance=0.5) == [5, 10, 20, 30, 30, 30, 30, 30, 30]
    assert waits("gemini-cli", Came(429, retry_after=20), most=3) == [20, 20, 20]
    assert waits("gemini-cli", Came(200, begun=True)) == [1, 2, 4]
    assert waits("gemini-cli", Came(200, begun=True, silent=True)) == [1, 2, 4]
    assert waits("gemini-cli", Came(200, begun=True, fault=True)) == waits("gemini-cli", Came(400)) == []
    assert waits("gemini-cli", Came(200, begun=True, broke=True)) == []


PAIRS = {
    "~openai-10": "openai-py-10",
    "~openai-10-whole": "openai-py-10-whole",
    "~anthropic-10": "anthropic-py-10",
    "~anthropic-10-whole": "anthropic-py-10-whole",
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("model", PAIRS)
def test_the_models_of_sdks_end_as_the_sdks_do(model, scenario):
    ends = []
    for client in (model, PAIRS[model]):
        met = skipped(SCENARIOS[scenario], 4.9, agents(client), 1, through=False)
        ends.append((met.survived, met.calls))
    assert ends[0] == ends[1]


def test_each_says_who_it_is():
    said = MANNERS["openai-10"].headers("a", Tried(tries=3))
    assert said["x-stainless-retry-count"] == "3" and said["user-agent"].startswith("AsyncOpenAI/")
    assert MANNERS["claude-code"].headers("a", Tried(tries=3))["x-stainless-retry-count"] == "0"
    assert MANNERS["opencode"].headers("a", Tried())["x-session-id"] == "a"
    assert MANNERS["plain"].headers("a", Tried()) == {} and waits("plain", Came(500)) == []
