"""The metrics that one exchange moves."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.observers.metrics import METRICS, MetricsObserver
from proxy.observers.reports import Outcome, Reports, RequestInfo, Started
from rules.values.verdict import Mode

from . import CALL, EXCHANGE, PROMPT, SECRET, ended, found


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
