"""The first law: whatever the outage, agents end at least as well with streamfuse as without, with no more calls.

Agents, proxy and provider run in one loop whose time skips, over real connections: outcomes are judged, never times.
"""

import pytest

from benchmarks.outage.measure import skipped
from benchmarks.outage.plan import Run

CLIENTS = ("~openai-2", "~openai-10", "~openai-10-whole", "~anthropic-10", "~responses-10", "~codex", "~opencode")
SCENARIOS = ("silent", "slow")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("down", "agents"), [(10.0, 1), (10.0, 10)])
def test_an_agent_is_never_worse_off(client, scenario, down, agents):
    row = skipped(Run(scenario, down, client, agents))
    assert not row.verdict.failed, row
