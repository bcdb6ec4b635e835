"""What a request says of its client's patience."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from rules.after.client import Client, client


def read(**headers: str) -> Client:
    return client(CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()}))


def test_a_plain_request_says_nothing():
    assert read() == read(User_Agent="python-httpx/0.28", Accept="*/*") == Client(None, False, None)
    assert read().silence is None


def test_python_sdks_say_how_long_they_wait_for_every_read():
    got = read(X_Stainless_Retry_Count="0", X_Stainless_Read_Timeout="600.0", X_Stainless_Timeout="600")
    assert got == Client(600.0, True, 600.0) and got.silence == 480.0


def test_node_sdks_say_how_long_they_wait_for_the_headers_only():
    assert read(X_Stainless_Retry_Count="1", X_Stainless_Timeout="60") == Client(60.0, True, None)


@pytest.mark.parametrize(
    ("agent", "timeout", "retries"),
    [
        ("claude-cli/2.1.197 (external, cli)", 299, True),
        ("codex_cli_rs/0.171.0 (Linux; x86_64) dumb", 300, True),
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0", 300, True),
        ("ai-sdk/openai-compatible/2.0.92 runtime/node.js/24", 300, True),
        ("ai-sdk-openai-compatible/3.0.92 ai-sdk-provider-utils/5.0.81 node.js/24", 300, True),
        ("node", 300, False),
        ("mynode/1", None, False),
    ],
)
def test_known_agents(agent: str, timeout: float | None, retries: bool):
    assert read(User_Agent=agent)[:2] == (timeout, retries)


@pytest.mark.parametrize(
    "agent",
    ["google-genai-sdk/3.6.1 gl-python/3.11.7", "google-genai-sdk/1.30.0 gl-node/v22.1.0",
     "ollama-python/0.6.3 (x86_64 linux) Python/3.11.7", "ollama-js/0.6.0 (x64 linux Node.js/v22.1.0)"],
)  # fmt: skip
def test_sdks_without_a_time_out_wait_and_ask_once(agent: str):
    client = read(User_Agent=agent)
    assert (client.timeout, client.retries, client.agent, client.calm) == (300.0, False, False, 0.0)


@pytest.mark.parametrize(
    ("agent", "calm"),
    [("opencode/1.18.33 ai-sdk/provider-utils/4.0", 2), ("ai-sdk-openai-compatible/3.0.92", 2),
     ("GeminiCLI/0.61.0/gemini-2.5-flash (linux; x64; terminal)", 5), ("GeminiCLI-a2a-server/0.61.0/m (linux)", 5),
     ("claude-cli/2.1.332", 0), ("codex_exec/0.171.0", 0), ("AsyncOpenAI/Python 3.57.0", 0)],
)  # fmt: skip
def test_who_waits_long_before_its_first_retry(agent: str, calm: float):
    assert read(User_Agent=agent).calm == calm


def test_the_shorter_time_out_counts():
    assert read(User_Agent="claude-cli/2.1", X_Stainless_Timeout="600").timeout == 299
    assert read(User_Agent="claude-cli/2.1", X_Stainless_Timeout="30").timeout == 30


def test_an_agent_is_known_by_its_name() -> None:
    assert read(User_Agent="codex_exec/0.171.0").agent and read(User_Agent="claude-cli/2.1").agent
    assert not read(User_Agent="AsyncOpenAI/Python 3.57.0", X_Stainless_Retry_Count="0").agent
    assert not read(User_Agent="node").agent


@pytest.mark.parametrize("written", ["", "NOT_GIVEN", "-1", "0", "nan", "inf", "1e999", "None", "ten"])
def test_a_time_out_that_is_none_says_nothing(written: str):
    assert read(X_Stainless_Read_Timeout=written).timeout is None


@given(st.dictionaries(st.sampled_from(["user-agent", "x-stainless-read-timeout", "x-stainless-timeout"]), st.text()))
def test_anything_can_be_read(headers: dict[str, str]):
    got = client(headers)
    assert got.timeout is None or got.timeout > 0
