"""OpenTelemetry: spans and metrics in GenAI names, the client's trace that goes on to the provider, and no content."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, StatusCode

from proxy.observers import telemetry
from proxy.observers.otlp.exporting import TraceExporter, sampled
from proxy.observers.otlp.measured import Measured
from proxy.observers.otlp.spans import error_type
from proxy.observers.otlp.traces import Traces
from proxy.observers.reports import Attempted, Ended, EndReason, Outcome, Reports, RequestInfo
from proxy.observers.telemetry import TelemetryObserver, observer, wanted
from proxy.server.app import Server
from proxy.settings.load import Settings
from rules import Failure, Kind, Phase, Tokens
from tests.proxy.test_patience import ASK, DOWN, WHOLE
from tests.proxy.test_sick_provider import DONE, GOOD, ONE_TRY, until
from tests.upstream import Upstream, hang, whole

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = int(PARENT.split("-")[1], 16)
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}}


class Traced:
    """The sink with the SDK's own exporter to memory."""

    def __init__(self, tree: dict[str, Any], sampler: Sampler | None = None) -> None:
        self.settings = Settings.model_validate(tree)
        self.spans = InMemorySpanExporter()
        resource, scope = Resource.create({"service.name": "test"}), InstrumentationScope("streamfuse", "1")
        self.exporter = TraceExporter(self.spans, resource, scope)
        provider = TracerProvider(sampler, resource, shutdown_on_exit=False)
        processor: Any = SimpleSpanProcessor(self.exporter)  # type: ignore[arg-type]
        self.tracing = Traces(provider, sampled(processor.on_end))
        self.measured = Measured(resource, scope)
        self.sink = TelemetryObserver(self.settings, self.tracing, self.measured)

    def server(self) -> Server:
        return Server(self.settings, reports=Reports([self.sink], self.sink.tracing))

    def finished(self) -> tuple[ReadableSpan, list[ReadableSpan]]:
        """The request's span and those of its calls."""
        (request,) = [span for span in self.spans.get_finished_spans() if span.kind is SpanKind.SERVER]
        calls = [span for span in self.spans.get_finished_spans() if span.kind is SpanKind.CLIENT]
        return request, calls

    def points(self) -> Iterator[tuple[str, Any]]:
        data = self.measured.collect()
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    yield from ((metric.name, point) for point in metric.data.data_points)


def config(up: Upstream, **more: Any) -> dict[str, Any]:
    return {"listen": {"port": 0}, "providers": {"up": {"base_url": f"{up.url}/v1"}}} | more


async def asked(server: Server, body: Any, **headers: str) -> int:
    await server.start()
    try:
        async with aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
            async with http.post(url, json=body, headers=headers) as answer:
                await answer.read()
                return answer.status
    finally:
        await server.stop()


async def test_the_client_s_trace_goes_on_to_the_provider(up: Upstream) -> None:
    traced = Traced(config(up))
    up.answer(*whole({**DONE, "usage": USAGE}))
    assert await asked(traced.server(), WHOLE, traceparent=PARENT, tracestate="vendor=1") == 200
    request, (call,) = traced.finished()
    assert request.parent is not None and request.context is not None and call.context is not None
    assert request.context.trace_id == call.context.trace_id == TRACE
    assert call.parent is not None and call.parent.span_id == request.context.span_id
    sent = up.requests[0]
    assert sent.header("traceparent") == f"00-{TRACE:032x}-{call.context.span_id:016x}-01"
    assert sent.header("tracestate") == "vendor=1"
    assert [name.lower() for name, _ in sent.headers].count("traceparent") == 1


async def test_a_call_is_told_in_genai_names(up: Upstream) -> None:
    traced = Traced(config(up))
    up.answer(*whole({**DONE, "usage": USAGE}))
    body = {**WHOLE, "messages": [{"role": "user", "content": "SECRET-PROMPT"}]}
    await asked(traced.server(), body, Authorization="Bearer SECRET-KEY")
    request, (call,) = traced.finished()
    assert call.name == "chat m" and call.attributes is not None and request.attributes is not None
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "up",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": up.port,
        "streamfuse.attempt": 1,
        "streamfuse.provider": "up",
        "streamfuse.result": "ok",
    }
    assert request.attributes["streamfuse.outcome"] == "ok" and request.attributes["streamfuse.attempts"] == 1
    names = {name for name, _ in traced.points()}
    assert names == {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}
    told = str([span.to_json() for span in (request, call)]) + str(list(traced.points()))
    assert "SECRET" not in told and "fine" not in told


async def test_each_try_is_a_span_and_what_came_between_an_event(up: Upstream) -> None:
    retry = {"server": {"max_retries": 1, "initial_delay": "1ms", "jitter_ratio": 0}}
    traced = Traced(config(up, retry=retry))
    up.answer(*DOWN)
    up.answer(*GOOD)
    assert await asked(traced.server(), ASK) == 200
    request, (first, second) = traced.finished()
    assert first.status.status_code is StatusCode.ERROR and first.status.description is None
    assert first.attributes is not None and first.attributes["error.type"] == "529"
    assert second.status.status_code is not StatusCode.ERROR
    assert [(event.name, event.attributes and event.attributes["error.type"]) for event in request.events] == [
        ("streamfuse.retry", "529")
    ]
    assert {name for name, _ in traced.points()} >= {"gen_ai.client.operation.time_to_first_chunk"}


async def test_whatever_happens_every_span_ends(up: Upstream) -> None:
    traced = Traced(config(up, retry=ONE_TRY))
    up.answer(*DOWN)
    server = traced.server()
    await server.start()
    async with aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{server.port}"
        for path, body in (("/v1/chat/completions", WHOLE), ("/v1/embeddings", {"input": "x"}), ("/-/no", {})):
            async with http.post(url + path, json=body) as answer:
                await answer.read()
        up.answer(*GOOD[:3], hang())
        gone = asyncio.create_task(http.post(f"{url}/v1/chat/completions", json=ASK))
        await (await gone).content.readany()
        gone.result().close()
    await until(lambda: not server.fuse.open)
    await server.stop()
    spans = traced.spans.get_finished_spans()
    assert not traced.tracing.open
    assert [span.kind for span in spans].count(SpanKind.SERVER) == 4
    assert all(span.end_time for span in spans)


async def test_off_costs_nothing_and_passes_headers_as_they_came(up: Upstream) -> None:
    sink = observer(Settings.model_validate(config(up)), {})
    assert not sink.hears and sink.tracing is None
    up.answer(*whole(DONE))
    server = Server(Settings.model_validate(config(up)), reports=Reports([sink], sink.tracing))
    await asked(server, WHOLE, traceparent=PARENT)
    assert up.requests[0].header("traceparent") == PARENT


@pytest.mark.parametrize(
    ("section", "environ", "on"),
    [
        ({}, {}, False),
        ({"enabled": True}, {}, True),
        ({}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"endpoint": "http://c:4318"}, {}, True),
        ({"enabled": False}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, False),
        ({"enabled": True}, {"OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_when_it_is_on(section: dict[str, Any], environ: dict[str, str], on: bool) -> None:
    assert wanted(Settings.model_validate({"telemetry": section}).telemetry, environ) is on


def test_without_the_extra_it_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    sink = observer(Settings.model_validate({"telemetry": {"enabled": True}}), {})
    told = sink.told()
    assert told is not None and told.wrong and told.facts["install"] == "streamfuse[otel]"
    assert not sink.hears and sink.tracing is None


def test_models_that_clients_make_up_count_as_other() -> None:
    traced = Traced({"metrics": {"models": 2}, "upstream": "https://api.openai.com/v1"})
    for number in range(20):
        call = RequestInfo(str(number), "upstream", "openai_chat", f"model-{number}", True)
        traced.sink.hear(Attempted(call, 1, 0.5, 200, None, "", 0.1, Tokens(1, 2)))
        traced.sink.hear(Ended(call, Outcome.OK, EndReason.DONE, 200, 1.0))
    points = [point.attributes for name, point in traced.points() if name == "gen_ai.client.operation.duration"]
    assert {point["gen_ai.request.model"] for point in points} == {"model-0", "model-1", "other"}
    assert {point["gen_ai.provider.name"] for point in points} == {"openai"}


def test_what_failed_is_a_status_a_code_or_a_kind_and_no_text() -> None:
    assert error_type(None) == ""
    assert error_type(Failure(Phase.HEADERS, Kind.SERVER, "your prompt was bad", status=503)) == "503"
    assert error_type(Failure(Phase.STREAM, Kind.STREAM, "x", code="streamfuse_empty")) == "streamfuse_empty"
    assert error_type(Failure(Phase.STREAM, Kind.STALL, "x", code="some text of a provider")) == "stall"


async def test_a_collector_gets_both_over_otlp(up: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, str, bytes]] = []

    async def take(request: web.Request) -> web.Response:
        got.append((request.path, request.headers.get("x-key", ""), await request.read()))
        return web.Response()

    app = web.Application()
    app.router.add_post("/{path:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await (site := web.TCPSite(runner, "127.0.0.1", 0)).start()
    assert site.name
    port = runner.addresses[0][1]
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    section = {"endpoint": f"http://127.0.0.1:{port}", "headers": {"x-key": "hush"}}
    settings = Settings.model_validate(config(up, telemetry=section))
    sink = observer(settings)
    up.answer(*whole({**DONE, "usage": USAGE}))
    await asked(Server(settings, reports=Reports([sink], sink.tracing)), WHOLE)
    await asyncio.to_thread(sink.close)
    await runner.cleanup()
    assert {(path, key) for path, key, _ in got} == {("/v1/traces", "hush"), ("/v1/metrics", "hush")}
    traces = ExportTraceServiceRequest.FromString(next(raw for path, _, raw in got if path == "/v1/traces"))
    spans = [span for scope in traces.resource_spans[0].scope_spans for span in scope.spans]
    assert {span.name for span in spans} == {"streamfuse", "chat m"}
    resource = {one.key: one.value.string_value for one in traces.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "streamfuse" and resource["deployment.environment"] == "test"
    metrics = ExportMetricsServiceRequest.FromString(next(raw for path, _, raw in got if path == "/v1/metrics"))
    named = {metric.name for scope in metrics.resource_metrics[0].scope_metrics for metric in scope.metrics}
    assert named == {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}


async def test_a_dead_collector_is_in_nobody_s_way(up: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "FLUSH", 0.01)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    settings = Settings.model_validate(config(up, telemetry={"endpoint": "http://127.0.0.1:9"}))
    sink = observer(settings)
    up.answer(*whole(DONE))
    assert await asked(Server(settings, reports=Reports([sink], sink.tracing)), WHOLE) == 200
    sink.close()
