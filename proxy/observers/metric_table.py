"""Every metric: its name, kind, labels and meaning. docs/metrics.md is written from this table.

A metric is one line here and one line in `metrics` that counts it.
"""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import Counter, Gauge, Histogram


class Metric(NamedTuple):
    """One metric. `name` is as exported (a counter's ends in _total)."""

    name: str
    kind: type[Counter] | type[Gauge] | type[Histogram]
    labels: tuple[str, ...]
    text: str
    buckets: tuple[float, ...] = ()


_HELD = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WAITS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
_FIRST = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_WHOLE = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600)
_RATES = (1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 120, 200, 400, 1000)
_CHARS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)

METRICS: tuple[Metric, ...] = (
    Metric(
        "streamfuse_requests_total",
        Counter,
        ("provider", "wire", "outcome"),
        "Requests that ended, by outcome: ok, cut, failed, client_gone, refused, rejected.",
    ),
    Metric(
        "streamfuse_attempts_total",
        Counter,
        ("provider", "result"),
        "Upstream calls, by result: ok, cut, client_gone, or the kind of failure.",
    ),
    Metric(
        "streamfuse_retries_total",
        Counter,
        ("provider", "kind", "phase", "budget"),
        "Further attempts, by the failure before them and the budget they drew on.",
    ),
    Metric("streamfuse_retry_wait_seconds", Histogram, (), "Waits before a further attempt.", _WAITS),
    Metric(
        "streamfuse_budget_exhausted_total",
        Counter,
        ("provider", "budget"),
        "Failures handed to the client because a budget allowed no further attempt.",
    ),
    Metric(
        "streamfuse_loops_total",
        Counter,
        ("provider", "wire", "rule", "channel", "action"),
        "Findings of loop rules; action is watch where the rule only watched.",
    ),
    Metric(
        "streamfuse_loop_chars_after_onset",
        Histogram,
        (),
        "Characters between the beginning of a loop and the finding.",
        _CHARS,
    ),
    Metric(
        "streamfuse_server_cuts_total",
        Counter,
        ("provider", "wire", "reason"),
        "Choices that the upstream itself ended because of a loop, by its stop reason (repetition, "
        "repetition_truncation, …); unfinished: a clean end without a finish in the middle of a repetition.",
    ),
    Metric(
        "streamfuse_heals_total",
        Counter,
        ("provider", "wire", "result"),
        "Looping answers that were asked for once more, by what came of it: healed, again (it looped again), poor (no "
        "rule fired, but the new text is hardly better), meant (it went on in the same way with other rows: a false "
        "alarm), refused, restarted, slow, broken; watched: mode watch would have tried it with mode on.",
    ),
    Metric(
        "streamfuse_stutters_total",
        Counter,
        ("provider", "wire", "channel"),
        "Channels of an answer in which a repetition came at least half way to a cut, or a watching rule fired, "
        "and that ended by themselves.",
    ),
    Metric(
        "streamfuse_error_rule_hits_total",
        Counter,
        ("provider", "rule"),
        "Errors inside answers that an error rule recognised.",
    ),
    Metric(
        "streamfuse_stream_end_total",
        Counter,
        ("provider", "reason"),
        "Answers begun, by how their body ended: done, eof, idle, client_gone, cut, error, drain.",
    ),
    Metric(
        "streamfuse_time_to_first_event_seconds",
        Histogram,
        (),
        "From a request's arrival to the first event that carries output.",
        _FIRST,
    ),
    Metric("streamfuse_stream_seconds", Histogram, (), "From a request's arrival to the end of its answer.", _WHOLE),
    Metric("streamfuse_open_streams", Gauge, (), "Requests in progress."),
    Metric(
        "streamfuse_malformed_events_total",
        Counter,
        (),
        "Upstream events that could not be read; each was dropped, its stream went on.",
    ),
    Metric(
        "streamfuse_model_requests_total",
        Counter,
        ("provider", "model", "outcome"),
        "Requests that ended, by model; names beyond metrics.models count as other, 0 switches this metric off.",
    ),
    Metric(
        "streamfuse_journal_dropped_total",
        Counter,
        (),
        "Lines of the journal that were lost because nobody read them, or the system refused them.",
    ),
    Metric(
        "streamfuse_tokens_total",
        Counter,
        ("provider", "model", "kind"),
        "Tokens of answers as their providers count them: input (cached ones included), output (reasoning included), "
        "reasoning, cached. Answers whose provider tells no usage count nothing.",
    ),
    Metric(
        "streamfuse_text_wait_seconds",
        Histogram,
        ("provider", "result"),
        "Text of a stream held back while a rule was half convinced (at most 5 s or 2,048 characters), by what became "
        "of it: released, or dropped because the rule then cut.",
        _HELD,
    ),
    Metric(
        "streamfuse_queue_wait_seconds",
        Histogram,
        (),
        "Waits for a place among the concurrent calls to a provider; requests that waited only.",
        _WAITS,
    ),
    Metric(
        "streamfuse_from_memory_total",
        Counter,
        ("provider", "reason"),
        "Requests answered without asking their provider: breaker, queue (no place), turn (others ask already).",
    ),
    Metric(
        "streamfuse_fallbacks_total",
        Counter,
        ("provider", "to"),
        "Requests that another provider was asked for, because theirs had failed for good.",
    ),
    Metric(
        "streamfuse_breaker_open",
        Gauge,
        ("provider",),
        "Breakers of a provider (one a model) that are open; sum over workers.",
    ),
    Metric(
        "streamfuse_reloads_total",
        Counter,
        ("result",),
        "Times the config was read again: taken, or broken (a line of the journal each).",
    ),
    Metric(
        "streamfuse_first_output_seconds",
        Histogram,
        ("provider", "model"),
        "From an upstream call's beginning to its first output: what the provider takes, retries and queues left out.",
        _FIRST,
    ),
    Metric(
        "streamfuse_output_tokens_per_second",
        Histogram,
        ("provider", "model"),
        "Output tokens a second, from the first output to the end of an upstream call whose provider tells its tokens.",
        _RATES,
    ),
    Metric(
        "streamfuse_looped_characters_total",
        Counter,
        ("provider", "model"),
        "Characters from the beginning of loops to their cuts: what was spent on them.",
    ),
    Metric(
        "streamfuse_saved_tokens_total",
        Counter,
        ("provider", "model"),
        "An estimate of what cuts have saved: output tokens that were left of the request's own limit (16384 at most, "
        "4096 where it names none), with four characters a token.",
    ),
    Metric(
        "streamfuse_notifications_total",
        Counter,
        ("result",),
        "Deliveries to the webhook: sent, failed (not tried again), dropped (too many waited).",
    ),
    Metric("streamfuse_state_up", Gauge, (), "1 while the shared state answers (always with state: memory)."),
    Metric("streamfuse_build_info", Gauge, ("version", "python"), "Always 1; the labels tell what runs."),
)
