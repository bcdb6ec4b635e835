"""The client's side: what goes out at once, what must wait, and what is never sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proxy.exchange.reply import BEHIND, Reply
from proxy.intake.request_body import ClientGone
from tests.clock import FakeClock


class FakeTransport:
    """Keeps what is written; `behind` is what the client has not taken."""

    def __init__(self) -> None:
        self.written = b""
        self.behind = 0
        self.closing = False

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.behind

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


class FakeRequest:
    method = "POST"

    def __init__(self) -> None:
        self.transport: FakeTransport | None = FakeTransport()


class FakeResponse:
    """A body that is open."""

    def __init__(self, transport: FakeTransport) -> None:
        self._transport = transport

    async def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def write_eof(self, data: bytes) -> None:
        self._transport.write(data + b"END")


def opened() -> tuple[Reply, FakeTransport, FakeClock]:
    clock, request = FakeClock(), FakeRequest()
    reply: Any = Reply(request, clock.now)  # type: ignore[arg-type]
    assert request.transport is not None
    reply._response = FakeResponse(request.transport)
    return reply, request.transport, clock


async def test_what_is_put_leaves_at_once_in_the_framing_of_the_body() -> None:
    reply, transport, clock = opened()
    clock.time = 5.0
    assert reply.put(b"one") and transport.written == b"one"
    reply._chunked = True
    assert reply.put(b"t" * 16) and transport.written == b"one10\r\n" + b"t" * 16 + b"\r\n"
    assert (reply.sent, reply.heard_at) == (19, 5.0)


@pytest.mark.parametrize(("behind", "leaves"), [(BEHIND, True), (BEHIND + 1, False)])
async def test_nothing_is_put_behind_what_a_slow_client_has_not_taken(behind: int, leaves: bool) -> None:
    reply, transport, _ = opened()
    transport.behind = behind
    assert reply.put(b"x") is leaves and transport.written == (b"x" if leaves else b"") and reply.sent == leaves


async def test_nothing_overtakes_a_heartbeat_that_is_on_its_way() -> None:
    reply, transport, _ = opened()
    assert reply.beat(b": hb\n")
    assert not reply.put(b"x") and not reply.beat(b": hb\n")
    (beat,) = reply._beats
    await beat
    await asyncio.sleep(0)
    assert reply.put(b"z") and transport.written == b": hb\nz"


@pytest.mark.parametrize("gone", ["lost", "closing"])
async def test_a_client_that_has_gone_is_told_apart_from_a_slow_one(gone: str) -> None:
    clock, request = FakeClock(), FakeRequest()
    reply = Reply(request, clock.now)  # type: ignore[arg-type]
    assert request.transport is not None
    if gone == "lost":
        request.transport = None
    else:
        request.transport.closing = True
    with pytest.raises(ClientGone):
        reply.put(b"x")
    assert not reply.idle and not reply.beat(b"x", {})


async def test_a_heartbeat_waits_for_a_client_that_keeps_up() -> None:
    reply, transport, _ = opened()
    for stop in ({"ended": True}, {"verbatim": True}, {"stuck_since": 1.0}):
        for name, value in stop.items():
            before = getattr(reply, name)
            setattr(reply, name, value)
            assert not reply.idle and not reply.beat(b"hb")
            setattr(reply, name, before)
    transport.behind = 1
    assert not reply.idle
    transport.behind = 0
    assert reply.idle


async def test_a_heartbeat_does_not_follow_the_end() -> None:
    reply, transport, _ = opened()
    assert reply.beat(b": hb\n")
    await reply.finish(b"last")
    (beat,) = reply._beats
    await beat
    assert transport.written == b"lastEND"
    assert (reply.ended, reply.sent, reply.stuck_since) == (True, 4, None)
    await reply.finish(b"again")
    assert transport.written == b"lastEND"


async def test_nothing_has_begun_without_headers() -> None:
    request = FakeRequest()
    reply = Reply(request, FakeClock().now)  # type: ignore[arg-type]
    assert not reply.started and reply.idle and not reply.beat(b": hb\n")
    with pytest.raises(ClientGone):
        _ = reply.response
