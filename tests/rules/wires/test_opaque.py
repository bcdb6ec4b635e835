"""What is not known passes, and cannot be closed."""

from __future__ import annotations

import orjson
import pytest

from rules import wires
from rules.framing.sse import Event, encode
from rules.values.delta import Unknown
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Transcript
from rules.wires import opaque
from rules.wires.base import Ending
from rules.wires.error_shapes import http_status, openai_error


def test_every_other_path_is_opaque() -> None:
    for path in ("/embeddings", "/models", "/messages/count_tokens", "/audio/transcriptions", ""):
        assert wires.for_path(path) is opaque.WIRE


def test_wires_are_found_by_name() -> None:
    for wire in wires.WIRES:
        assert wires.get(wire.name) is wire
    assert len({wire.name for wire in wires.WIRES}) == len(wires.WIRES)
    assert wires.WIRES[-1] is opaque.WIRE
    with pytest.raises(KeyError):
        wires.get("grpc")


def test_events_pass_with_their_own_bytes_and_nothing_is_added() -> None:
    ask = opaque.WIRE.ask({"model": "m", "stream": True})
    assert (ask.model, ask.streaming) == ("m", True)
    assert opaque.WIRE.ask({"model": 3}).model == ""
    codec = opaque.WIRE.codec(ask)
    event = Event(encode(b"{}", "x"), "x", b"{}")
    deltas = codec.read(event)
    assert list(deltas) == [Unknown("opaque")]
    assert codec.write(event, deltas) == event.raw
    assert not codec.read(Event(b": hb\n"))
    transcript = Transcript()
    failure = Failure(Phase.STREAM, Kind.NETWORK, "gone")
    assert codec.close(transcript, Ending()) == codec.close_choice(transcript, 0, Ending()) == b""
    assert codec.fail(transcript, failure) == opaque.WIRE.heartbeat(True) == b""


@pytest.mark.parametrize(
    ("kind", "given", "status", "type_"),
    [
        (Kind.NETWORK, None, 502, "server_error"),
        (Kind.STALL, None, 504, "timeout_error"),
        (Kind.RATE_LIMIT, None, 429, "rate_limit_error"),
        (Kind.TERMINAL, None, 400, "invalid_request_error"),
        (Kind.LOOP, None, 400, "invalid_request_error"),
        (Kind.SERVER, 503, 503, "server_error"),
        (Kind.STREAM, 200, 502, "server_error"),
        (Kind.TERMINAL, 401, 401, "authentication_error"),
    ],
)
def test_errors_have_honest_statuses_and_types(kind: Kind, given: int | None, status: int, type_: str) -> None:
    failure = Failure(Phase.HEADERS, kind, "why", status=given, code="streamfuse_x")
    assert http_status(failure) == status
    told, body = opaque.WIRE.error(failure)
    assert told == status
    assert orjson.loads(body) == {"error": {"message": "why", "type": type_, "param": None, "code": "streamfuse_x"}}


@pytest.mark.parametrize(
    "own",
    [
        b'{"error": {"message": "no such model", "code": 7}}',
        b'[{"error": {"code": 404, "message": "models/x is not found", "status": "NOT_FOUND"}}]',
        b'{"detail": [{"loc": ["body"], "msg": "extra_forbidden"}]}',
        b'{"error": "flat"}',
        b'{"message": "no \\ud83d"}',
        b'"no"',
    ],
)
def test_what_the_upstream_answered_itself_is_given_as_it_is(own: bytes) -> None:
    assert openai_error(Failure(Phase.HEADERS, Kind.TERMINAL, "x", status=404, body=own)) == (404, own)


@pytest.mark.parametrize(
    "failure",
    [
        *(Failure(Phase.HEADERS, Kind.SERVER, "x", status=500, body=b) for b in (b"<html>", b"[]", b"null", b"")),
        *(Failure(Phase.STREAM, Kind.SERVER, "x", status=500, body=b) for b in (b'[{"error": 1}]', b'{"detail": "x"}')),
        Failure(Phase.HEADERS, Kind.SERVER, "x", body=b'{"detail": "x"}'),
        Failure(Phase.HEADERS, Kind.SERVER, "x", status=302, body=b'{"detail": "x"}'),
    ],
)
def test_anything_else_gets_openais_shape(failure: Failure) -> None:
    _, body = openai_error(failure)
    assert orjson.loads(body)["error"]["message"] == "x"


def test_an_error_inside_a_stream_is_given_where_it_has_the_shape() -> None:
    own = b'{"error": {"message": "overloaded", "code": 7}}'
    assert openai_error(Failure(Phase.STREAM, Kind.SERVER, "x", body=own)) == (502, own)


@pytest.mark.parametrize(
    ("path", "wire", "key"),
    [
        ("/messages", "anthropic_messages", "x-api-key"),
        ("/messages/count_tokens", "anthropic_messages", "x-api-key"),
        ("/chat/completions", "openai_chat", "authorization"),
        ("/embeddings", "opaque", "authorization"),
        ("/", "opaque", "authorization"),
    ],
)
def test_errors_have_the_shape_that_the_path_leads_to_expect(path: str, wire: str, key: str) -> None:
    assert (wires.error_wire(path).name, wires.error_wire(path).key_header) == (wire, key)
