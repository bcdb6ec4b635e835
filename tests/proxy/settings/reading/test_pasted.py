"""Blocks of the seed systems, pasted in unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.settings.engine import engine
from proxy.settings.load import ConfigError, Settings, load

ONE = "providers: {a: {base_url: http://h/v1}}\n"


def read(tmp_path: Path, text: str) -> Settings:
    (tmp_path / "c.yaml").write_text(text)
    return load(tmp_path / "c.yaml", {}, {})


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


SSE_RETRY = """
maxRetries: 3
rules:
  - providers: ["*"]
    path: /error/*
    match: {type: prefix, value: "upstream stream error:"}
    maxRetries: 4
  - path: /response/error/code
    match: [{type: exact, value: server_error}, {type: contains, value: busy}]
correlationHeader: x-my-correlation
stripCorrelationHeader: false
"""


def test_opencode_sse_retry(tmp_path):
    s = read(tmp_path, ONE + SSE_RETRY)
    assert [(r.path, r.max_retries, len(r.match)) for r in s.error_rules] == [
        ("/error/*", 4, 1),
        ("/response/error/code", None, 2),
    ]
    budgets = engine(s, "a").budgets
    assert budgets.stream.max_retries == 3 and budgets.network.max_retries == 3 and budgets.network.mode == "bounded"
    assert s.correlation.headers == ("x-my-correlation",) and s.correlation.strip is False
    assert [rule.path for rule in engine(s, "a").error_rules.rules][:2] == ["/error/*", "/response/error/code"]


def test_its_providers_list_has_no_place_unless_it_means_all(tmp_path):
    assert read(tmp_path, 'upstream: http://h\nproviders: ["*"]\n').default_provider == "upstream"
    assert "mapping of names" in complaint(tmp_path, "upstream: http://h\nproviders: [a]\n")


def test_mistakes_in_pasted_blocks_have_their_line(tmp_path):
    said = complaint(tmp_path, ONE + "rules:\n  - path: /error\n    match: {type: exactly, value: x}\n")
    assert said.startswith("c.yaml:4:13: error_rules[0].match.type: must be 'exists'")
    said = complaint(tmp_path, ONE + "maxRetries: 500\n")
    assert said.startswith("c.yaml:2:1: retry.") and "less than or equal to 100" in said


def test_both_forms_of_error_rules_are_one_too_many(tmp_path):
    assert "keep one" in complaint(tmp_path, ONE + "rules: []\nerror_rules: []\n")


def test_mimo_code(tmp_path):
    s = read(
        tmp_path,
        """
retry:
  rateLimit: {maxRetries: 7, deadlineMs: 90000}
experimental: {loop_streak_recovery: {enabled: true, trigger_count: 4, max_span: 9}}
provider:
  a:
    options: {baseURL: http://h/v1, apiKey: k, chunkTimeout: 30000}
    retry: {rateLimit: {noDeadline: true}}
  b:
    options: {baseURL: http://i/v1, chunkTimeout: 0}
""",
    )
    a, b = engine(s, "a"), engine(s, "b")
    assert (a.budgets.rate_limit.max_retries, a.budgets.rate_limit.deadline) == (7, None)
    assert b.budgets.rate_limit.deadline == 90
    assert (a.timeouts.idle, b.timeouts.idle) == (30, None)
    assert s.providers["a"].api_key is not None and s.providers["a"].base_url == "http://h/v1"
    assert (s.history.crop.enabled, s.history.crop.trigger, s.history.crop.max_span) == (True, 4, 9)


def test_two_spellings_of_one_field(tmp_path):
    said = complaint(tmp_path, ONE + "retry: {server: {maxRetries: 1, max_retries: 2}}\n")
    assert said == "c.yaml:2:33: retry.server.max_retries: max_retries and maxRetries are the same field; keep one"


def test_a_pasted_block_of_the_wrong_kind(tmp_path):
    assert "chunkTimeout is a number" in complaint(
        tmp_path, "providers: {a: {options: {baseURL: http://h, chunkTimeout: soon}}}\n"
    )
    assert "retry must be a mapping" in complaint(tmp_path, ONE + "maxRetries: 1\nretry: 5\n")


GUARD = """
  config:
    maxRepeatedText: 30
    maxRepeatedCycleChars: 0
    minRepeatedReasoningCycleChars: 300
    maxRepeatedReasoningLineChars: 1000
    minRepeatedReasoningLineCoverage: 0.5
    maxThinkingSteps: 2
    similarityThreshold: 0
    escalate: cancel
    breakCode: X
    resumeAfterBreak: true
"""


@pytest.mark.parametrize(
    "text", ["plugins:\n- id: loop-guard" + GUARD, "loop-guard:" + GUARD.replace("  config:", "").replace("\n  ", "\n")]
)
def test_dsh_loop_guard(tmp_path, text):
    s = read(tmp_path, ONE + text)
    rules = engine(s, "a").rules
    params = {rule.name: rule.params.model_dump() for rule in rules}
    assert "text-cycle" not in params and "repeated-block" in params
    assert params["identical-deltas"]["run"] == 30
    assert params["reasoning-cycle"]["span"] == 300 and params["reasoning-cycle"]["period"] == 512
    assert params["reasoning-lines"]["chars"] == 1000 and params["reasoning-lines"]["coverage"] == 0.5
    stalled = s.history.habits["stalled"]
    assert stalled.most == "cancel" and stalled.params == {"steps": 2, "similarity": 0}


def test_an_option_that_loop_guard_does_not_have(tmp_path):
    said = complaint(tmp_path, ONE + "loop-guard: {maxRepeatedTxt: 1}\n")
    assert "did you mean maxRepeatedText?" in said
    assert "rules.change.identical-deltas" in complaint(tmp_path, ONE + "loop-guard: {maxRepeatedText: 1}\n")
