"""No request is read in two ways: what the provider gets is what one strict reader of HTTP makes of the bytes."""

from __future__ import annotations

import json

import pytest

from .agent import answers, converse
from .framing import BODY, CASES, NEXT
from .healthy import WIRES
from .provider import Line, Provider, served


class Recording(Provider):
    """Answers everything, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []

    async def reply(self, line: Line, head: bytes, body: bytes) -> bool:
        self.heads.append(head)
        self.bodies.append(body)
        whole = WIRES["openai_chat"].whole
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(whole))
        await line.send(whole)
        return True


@pytest.mark.parametrize("name", CASES)
async def test_one_reading(name: str) -> None:
    case = CASES[name]
    recording = Recording()
    async with recording as provider, served(provider) as server:
        data, how = await converse(server.port, case.raw + NEXT)
    found = answers(data)
    shown = [head.split(b" ")[1].decode() for head in recording.heads]
    assert ([one.status for one in found], shown) == (list(case.statuses), list(case.upstream))
    assert how != "hangs" and not any(one.broken for one in found)
    assert all(body in (BODY, b"") for body in recording.bodies)
    assert not any(b"smuggled" in head.lower() or b"evil" in head.lower() for head in recording.heads)
    for one in found:
        if one.status >= 400:
            assert json.loads(one.body)["error"]["code"].startswith("streamfuse_")
