"""The first law: whatever the outage, agents end at least as well with streamfuse as without, with no more calls.

Agents, proxy and provider run in one loop whose time skips, over real connections: outcomes are judged, never times.
"""

import pytest

from benchmarks.outage.measure import skipped
from benchmarks.outage.plan import Run
from benchmarks.outage.row import Verdict
from benchmarks.outage.scenario import SCENARIOS

CLIENTS = (
    "~openai-2",
    "~openai-10",
    "~openai-10-whole",
    "~responses-10",
    "~anthropic-10",
    "~claude-code",
    "~codex",
    "~opencode",
)
NATIVE = ("~gemini-cli", "~google-genai", "~gemini-array", "~ollama", "~ollama-whole")
"""On Google's and Ollama's own wires; `make bench-outage` meets them with every outage."""


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", CLIENTS)
def test_ten_agents_are_never_worse_off(client, scenario):
    row = skipped(Run(scenario, 10.0, client, 10))
    assert not row.verdict.failed, row


@pytest.mark.parametrize("scenario", ["429", "503+hint", "reset", "cut", "fault", "flaky"])
@pytest.mark.parametrize("client", CLIENTS)
def test_one_agent_is_never_worse_off(client, scenario):
    row = skipped(Run(scenario, 3.0, client, 1))
    assert not row.verdict.failed, row


@pytest.mark.parametrize("scenario", ["429", "503+hint", "reset", "cut", "fault", "flaky", "stall"])
@pytest.mark.parametrize("client", NATIVE)
def test_agents_on_native_wires_are_never_worse_off(client, scenario):
    row = skipped(Run(scenario, 3.0, client, 1))
    assert not row.verdict.failed, row


@pytest.mark.parametrize("scenario", ["short", "junk", "long"])
@pytest.mark.parametrize("client", ["~google-genai-whole", "~ollama-whole", "~openai-10-whole", "~plain"])
def test_a_damaged_answer_costs_ten_agents_one_call_more(client, scenario):
    row = skipped(Run(scenario, 10.0, client, 10))
    assert not row.verdict.failed, row
    assert (row.through.calls or 0) <= (row.direct.calls or 0) + 1, row


@pytest.mark.parametrize("scenario", ["nothing", "200-page"])
def test_gemini_cli_asks_again_after_what_is_no_answer(scenario):
    row = skipped(Run(scenario, 3.0, "~gemini-cli", 10))
    assert not row.verdict.failed and row.through.survived == 10, row


@pytest.mark.parametrize("scenario", ["429+hint", "500", "refused"])
@pytest.mark.parametrize("client", ["~openai-10", "~claude-code", "~codex"])
def test_a_crowd_leaves_a_dead_provider_alone_and_lives(client, scenario):
    row = skipped(Run(scenario, 30.0, client, 50))
    assert not row.verdict.failed, row
    assert row.through.survived == 50, row
    assert (row.through.calls or 0) < (row.direct.calls or 0), row


@pytest.mark.parametrize("scenario", ["429+hint", "529", "reset", "cut"])
@pytest.mark.parametrize("client", ["openai-py-10", "anthropic-py-10"])
def test_agents_on_the_real_sdks_are_never_worse_off(client, scenario):
    row = skipped(Run(scenario, 10.0, client, 3))
    assert not row.verdict.failed, row


@pytest.mark.parametrize("scenario", ["500", "429+hint", "reset"])
@pytest.mark.parametrize("client", ["openai-py-2", "anthropic-py-2"])
def test_agents_that_would_give_up_are_saved(client, scenario):
    row = skipped(Run(scenario, 10.0, client, 3))
    assert row.verdict is Verdict.SAVED and row.through.survived == 3, row
