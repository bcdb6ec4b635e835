"""The metrics that one exchange moves."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.observers.metric_table import METRICS
from proxy.observers.metrics import MetricsObserver
from proxy.observers.reports import Attempted, BreakerChanged, Outcome, Reports, RequestInfo, Saved, Started, TextWaited
from rules import Tokens
from rules.values.verdict import Mode

from . import CALL, EXCHANGE, FAILURE, PROMPT, SECRET, ended, found


@pytest.fixture
def metrics() -> MetricsObserver:
    return MetricsObserver(models=2, build=("1", "3"))


def value(metrics: MetricsObserver, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_one_exchange(metrics):
    reports = Reports([metrics])
    for report in EXCHANGE:
        reports.tell(report)
    who = {"provider": "openai"}
    assert value(metrics, "streamfuse_requests_total", **who, wire="openai_chat", outcome="cut") == 1
    assert value(metrics, "streamfuse_attempts_total", **who, result="rate_limit") == 1
    assert value(metrics, "streamfuse_attempts_total", **who, result="cut") == 1
    assert value(metrics, "streamfuse_retries_total", **who, kind="rate_limit", phase="headers", budget="request") == 1
    assert value(metrics, "streamfuse_retry_wait_seconds_sum") == pytest.approx(0.2)
    assert value(metrics, "streamfuse_budget_exhausted_total", **who, budget="server") == 1
    loop = {**who, "wire": "openai_chat", "rule": "period", "channel": "reasoning"}
    assert value(metrics, "streamfuse_loops_total", **loop, action="cut") == 1
    assert value(metrics, "streamfuse_loop_chars_after_onset_sum") == 600
    assert value(metrics, "streamfuse_error_rule_hits_total", **who, rule="overloaded") == 1
    assert value(metrics, "streamfuse_stream_end_total", **who, reason="cut") == 1
    assert value(metrics, "streamfuse_time_to_first_event_seconds_sum") == 0.5
    assert value(metrics, "streamfuse_stream_seconds_sum") == 3
    assert value(metrics, "streamfuse_open_streams") == 0
    assert value(metrics, "streamfuse_malformed_events_total") == 1
    assert value(metrics, "streamfuse_model_requests_total", **who, model="gpt-x", outcome="cut") == 1
    assert value(metrics, "streamfuse_state_up") == 0
    assert value(metrics, "streamfuse_build_info", version="1", python="3") == 1
    assert reports.broken == 0


def test_text_that_was_held_back_is_told_by_what_became_of_it(metrics):
    for seconds, dropped in ((0.2, False), (0.4, False), (2.0, True)):
        metrics.hear(TextWaited(CALL, seconds, dropped))
    name = "streamfuse_text_wait_seconds"
    assert value(metrics, f"{name}_sum", provider="openai", result="released") == pytest.approx(0.6)
    assert value(metrics, f"{name}_count", provider="openai", result="dropped") == 1


def test_the_speed_of_a_provider_is_told_by_call(metrics):
    of = {"provider": "openai", "model": "gpt-x"}
    metrics.hear(Attempted(CALL, 1, 3.0, 200, None, "", 1.0, Tokens(10, 100)))
    assert value(metrics, "streamfuse_first_output_seconds_sum", **of) == 1.0
    assert value(metrics, "streamfuse_output_tokens_per_second_sum", **of) == 50
    metrics.hear(Attempted(CALL, 2, 1.05, 200, None, "", 1.0, Tokens(10, 100)))
    metrics.hear(Attempted(CALL, 3, 9.0, 200, None, "", 1.0, Tokens(10, 2)))
    metrics.hear(Attempted(CALL, 4, 9.0, 200, None, "", 1.0))
    metrics.hear(Attempted(CALL, 5, 9.0, 529, FAILURE))
    assert value(metrics, "streamfuse_first_output_seconds_count", **of) == 4
    assert value(metrics, "streamfuse_output_tokens_per_second_count", **of) == 1, "too short to tell"


def test_what_loops_took_and_cuts_saved(metrics):
    for _ in range(2):
        metrics.hear(Saved(CALL, 300, 4000))
    of = {"provider": "openai", "model": "gpt-x"}
    assert value(metrics, "streamfuse_looped_characters_total", **of) == 600
    assert value(metrics, "streamfuse_saved_tokens_total", **of) == 8000


@pytest.mark.parametrize("models", [0, 2])
def test_hostile_model_names_do_not_fill_prometheus(models):
    metrics = MetricsObserver(models=models)
    for number in range(300):
        call = RequestInfo(str(number), "openai", "openai_chat", f'm{number}"\n\\{{}}', True)
        metrics.hear(Attempted(call, 1, 3.0, 200, None, "", 1.0, Tokens(10, 100)))
        metrics.hear(Saved(call, 1, 1))
        metrics.hear(BreakerChanged("openai", call.model, True, FAILURE))
        metrics.hear(ended(call=call))
    names = {
        sample.labels["model"]
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if "model" in sample.labels
    }
    assert len(names) == models + 1


def test_watching_is_counted_as_watching(metrics):
    metrics.hear(found(Mode.WATCH))
    labels = {"provider": "openai", "wire": "openai_chat", "rule": "period", "channel": "reasoning"}
    assert value(metrics, "streamfuse_loops_total", **labels, action="watch") == 1
    assert value(metrics, "streamfuse_loops_total", **labels, action="cut") is None


def test_open_streams_is_the_difference(metrics):
    other = RequestInfo("req-2", "openai", "openai_chat")
    metrics.hear(Started(CALL))
    metrics.hear(Started(other))
    metrics.hear(ended())
    assert value(metrics, "streamfuse_open_streams") == 1
    metrics.hear(ended(Outcome.REJECTED, None, RequestInfo("req-3", "", "")))
    assert value(metrics, "streamfuse_open_streams") == 1


def test_a_client_cannot_fill_prometheus_with_models(metrics):
    for at in range(100):
        metrics.hear(ended(call=RequestInfo("r", "openai", "openai_chat", f"model-{at}")))
    family = next(m for m in metrics.registry.collect() if m.name == "streamfuse_model_requests")
    assert {s.labels["model"]: s.value for s in family.samples} == {"model-0": 1, "model-1": 1, "other": 98}


def test_the_model_metric_can_be_switched_off():
    metrics = MetricsObserver(models=0)
    metrics.hear(ended())
    assert b'model="' not in metrics.exposition()


def test_a_rejected_request_has_no_stream(metrics):
    metrics.hear(ended(Outcome.REJECTED, None))
    assert value(metrics, "streamfuse_stream_seconds_count") == 0


def test_the_exposition_is_prometheus_text_and_holds_every_metric_and_no_content(metrics):
    for report in EXCHANGE:
        metrics.hear(report)
    text = metrics.exposition().decode()
    families = {f.name for f in text_string_to_metric_families(text)}
    assert {m.name.removesuffix("_total") for m in METRICS} <= families
    assert "process_cpu_seconds" in families
    assert SECRET not in text and PROMPT not in text
    assert "_created" not in text
