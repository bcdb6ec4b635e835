"""Whole answers that are odd: statuses, headers, framings, codings and bodies that no healthy provider sends.

Each must become what its wire knows: the whole answer, a legal error, or a status with a JSON body that says why.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from proxy.server.app import Server

from .agent import Got, ask
from .forms import Form
from .healthy import ARGUMENTS, TEXT, WIRES, Wire
from .provider import CALLS, Line, Provider, Script, served
from .understanding import understand

JSON = b"application/json"
THIEF = b"http://127.0.0.1:%d/steal"
"""Where redirects lead; the port is filled in."""


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


def answer(status: str, kind: bytes, body: bytes, *headers: bytes, length: bool = True) -> bytes:
    lines = [f"HTTP/1.1 {status}".encode(), *headers]
    if kind:
        lines.append(b"Content-Type: " + kind)
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def error(status: str, body: bytes = b'{"error":{"message":"m","type":"t","code":"c"}}', *headers: bytes) -> bytes:
    return answer(status, JSON, body, *headers)


_Forms = dict[str, bytes | Callable[[], bytes]]
"""What is costly is made only for those that want it."""


def _streamed(form: Form) -> bytes:
    """The head of a stream."""
    return f"HTTP/1.1 200 OK\r\nContent-Type: {form.kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def _written(wire: Wire) -> _Forms:
    """The right content, written in an odd way."""
    form, stream, whole = wire.form, wire.stream, wire.whole
    head, kind = _streamed(form), form.kind.encode()
    late = form.lead(wire.said[2].raw, False) + wire.said[2].raw
    return {
        "healthy": head + chunks(stream),
        "byte by byte": head + chunks(*(stream[n : n + 1] for n in range(len(stream)))),
        "events as text/plain": answer("200 OK", b"text/plain", stream),
        "events without a type": answer("200 OK", b"", stream),
        "events as JSON": answer("200 OK", JSON, stream),
        "a byte order mark": head + chunks(b"\xef\xbb\xbf" + stream),
        "2 MB of blank lines": lambda: head + chunks(b"\n" * (2 << 20) + stream),
        "trailers": head + chunks(stream)[:-2] + b"X-T: 1\r\n\r\n",
        "a chunk's extension": head + b"%x;a=b\r\n" % len(stream) + stream + b"\r\n0\r\n\r\n",
        "no reason": answer("200", JSON, whole),
        "JSON": answer("200 OK", JSON, whole),
        "JSON after blank lines": answer("200 OK", JSON, b"\n\n   \n" * 50 + whole),
        "JSON after a byte order mark": answer("200 OK", JSON, b"\xef\xbb\xbf" + whole),
        "gzip events": answer("200 OK", kind, gzip.compress(stream), b"Content-Encoding: gzip"),
        "gzip JSON": answer("200 OK", JSON, gzip.compress(whole), b"Content-Encoding: gzip"),
        "gzip twice": answer("200 OK", JSON, gzip.compress(gzip.compress(whole)), b"Content-Encoding: gzip, gzip"),
        **({} if wire.wire or wire.whole_path else {"events after the end": head + chunks(stream + late * 3)}),
        "200 headers": answer("200 OK", JSON, whole, *[b"X-A: b"] * 200),
        "UTF-8 in a header": answer("200 OK", JSON, whole, "X-A: ü☃".encode()),
        "Latin-1 in a header": answer("200 OK", JSON, whole, b"X-A: \xfc\xff"),
        **{
            f"{status} first": f"HTTP/1.1 {status}\r\nLink: </x>\r\n\r\n".encode() + answer("200 OK", JSON, whole)
            for status in ("100 Continue", "102 Processing", "103 Early Hints")
        },
        **(_as_events(wire) if form.head else _as_lines(wire) if form.end else _as_array(wire)),
    }


def _as_events(wire: Wire) -> _Forms:
    head, stream = _streamed(wire.form), wire.stream
    lines = stream.replace(b"\r\n", b"\n")
    return {
        "CR only": head + chunks(lines.replace(b"\n", b"\r")),
        "CRLF": head + chunks(lines.replace(b"\n", b"\r\n")),
        "LF": head + chunks(lines),
        "no blank after the colon": head + chunks(stream.replace(b"data: ", b"data:")),
        "no last blank line": head + chunks(stream.rstrip(b"\r\n")),
        "data over several lines": head + chunks(*(_spread(raw) for _, raw in wire.said)),
        "1 MB comment": lambda: head + chunks(b": " + b"a" * (1 << 20) + b"\n\n" + stream),
        "100,000 comments": lambda: head + chunks(b":\n" * 100_000 + stream),
    }


def _as_lines(wire: Wire) -> _Forms:
    head, stream = _streamed(wire.form), wire.stream
    return {
        "CRLF": head + chunks(stream.replace(b"\n", b"\r\n")),
        "no last line end": head + chunks(stream.rstrip(b"\n")),
        "blank lines between": head + chunks(stream.replace(b"\n", b"\n \n")),
        "blanks around": head + chunks(stream.replace(b"\n", b" \t\n  ")),
    }


def _as_array(wire: Wire) -> _Forms:
    head = _streamed(wire.form)
    elements = [json.loads(raw) for place, raw in wire.said if place != "done"]
    return {
        "pretty": head + chunks(json.dumps(elements, indent=2).encode()),
        "compact": head + chunks(json.dumps(elements, separators=(",", ":")).encode()),
        "an element a line": head + chunks(b"[\n" + b",\n".join(json.dumps(e).encode() for e in elements) + b"\n]\n"),
        "junk after the bracket": head + chunks(wire.stream + b"\nxx"),
    }


def _wrong(wire: Wire) -> _Forms:
    """No answer of the wire, or a broken one."""
    form, stream, whole = wire.form, wire.stream, wire.whole
    head, kind = _streamed(form), form.kind.encode()
    zipped = gzip.compress(stream)
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "O"}}
    return {
        "length too small": answer("200 OK", JSON, whole).replace(b"%d\r" % len(whole), b"%d\r" % (len(whole) - 10)),
        "ends early": answer("200 OK", JSON, whole)[:-20],
        "JSON twice": answer("200 OK", JSON, whole * 2),
        "junk after JSON": answer("200 OK", JSON, whole + b"\n\nxx"),
        "empty": answer("200 OK", JSON, b""),
        "{}": answer("200 OK", JSON, b"{}"),
        "[]": answer("200 OK", JSON, b"[]"),
        "null": answer("200 OK", JSON, b"null"),
        "a web page": answer("200 OK", b"text/html", b"<!doctype html><html>x</html>"),
        "words": answer("200 OK", b"text/plain", b"upstream connect error or disconnect/reset before headers"),
        "an error as 200": error("200 OK", b'{"error":{"message":"overloaded","type":"overloaded_error","code":503}}'),
        "an error's words as 200": error("200 OK", b'{"error":"boom"}'),
        "a detail as 200": error("200 OK", b'{"detail":"Not Found"}'),
        "only an error event": head + chunks(form.lead(b"{", True) + form.event(failed, "error")),
        "only [DONE]": head + chunks(form.event(b"[DONE]")),
        **(
            {
                "only comments": head + chunks(b": a\n\n" * 1000),
                "20 MB comment": lambda: head + chunks(b": " + b"a" * (20 << 20) + b"\n\n" + stream),
            }
            if form.head
            else {"only blank lines": head + chunks(b"\n" * 1000)}
        ),
        "20 MB without a line break": lambda: head + chunks(form.head + b"a" * (20 << 20)),
        "101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + answer("200 OK", JSON, whole),
        "1000 times 100": b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + answer("200 OK", JSON, whole),
        "a broken header": b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "a cookie in a header": b"HTTP/1.1 200 OK\r\nX-A: a\rSet-Cookie: x=y\r\n"
        + head.partition(b"\r\n")[2]
        + chunks(stream),
        "70 kB header": answer("200 OK", JSON, whole, b"X-A: " + b"a" * 70000),
        "1000 headers": answer("200 OK", JSON, whole, *[b"X-A: b"] * 1000),
        "NUL in a header": answer("200 OK", JSON, whole, b"X-A: a\0b"),
        "a folded header": answer("200 OK", JSON, whole, b"X-A: a\r\n b"),
        "chunks and length": head.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n") + chunks(whole),
        "two lengths": answer("200 OK", JSON, whole, b"Content-Length: 5"),
        "a length below zero": answer("200 OK", JSON, whole, b"Content-Length: -5", length=False),
        "chunks with LF": head + b"%x\n" % len(stream) + stream + b"\n0\n\n",
        "junk after a chunk": head + b"%x\r\n" % len(stream) + stream + b"XX0\r\n\r\n",
        "a chunk without end": head + b"ffffffffffffffff\r\n" + stream,
        "HTTP/0.9": stream,
        "HTTP/2": b"HTTP/2 200\r\n\r\n" + stream,
        "ICY": b"ICY 200 OK\r\n\r\n" + stream,
        "gzip cut": answer("200 OK", kind, zipped[:-30], b"Content-Encoding: gzip"),
        "gzip that is none": answer("200 OK", kind, stream, b"Content-Encoding: gzip"),
        "zstd that is none": answer("200 OK", JSON, whole, b"Content-Encoding: zstd"),
        "br that is none": answer("200 OK", JSON, whole, b"Content-Encoding: br"),
        "junk after gzip": answer("200 OK", JSON, gzip.compress(whole) + b"xxxx", b"Content-Encoding: gzip"),
        "gzip in two members": answer(
            "200 OK", JSON, gzip.compress(whole[:50]) + gzip.compress(whole[50:]), b"Content-Encoding: gzip"
        ),
        "two answers": answer("200 OK", JSON, whole) + answer("200 OK", JSON, b'{"id":"EVIL"}'),
        **{
            f"a bomb as {name}": _bomb(status, kind, body)
            for name, status, body in (
                ("events", "200 OK", lambda: form.head + b"a" * (20 << 20)),
                ("blank lines", "200 OK", lambda: b"\n" * (20 << 20) + stream),
                ("an error", "500 x", lambda: b"a" * (20 << 20)),
            )
        },
    }


def _bomb(status: str, kind: bytes, body: Callable[[], bytes]) -> Callable[[], bytes]:
    return lambda: answer(status, kind, gzip.compress(body()), b"Content-Encoding: gzip")


REDIRECTS = ("300", "301", "302", "303", "307", "308")
STATUSES = (
    400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 418, 422, 423, 424, 425, 428, 429, 431, 451, 499, 500, 501,
    502, 503, 504, 505, 507, 508, 520, 521, 522, 524, 529, 530, 598, 599, 600, 999,
)  # fmt: skip
WAITS = (
    b"0", b"1", b"-1", b"1.5", b"999999999", b"1e309", b"nan", b"inf", b"Fri, 31 Dec 1999 23:59:59 GMT",
    b"Fri, 31 Dec 9999 23:59:59 GMT", b"\xff", b"2026-11-30T07:00:00Z", b"soon", b"1, 2", b"9" * 400, b"",
)  # fmt: skip


def _statuses(whole: bytes) -> _Forms:
    return {
        **{f"status {status}": answer(status, JSON, whole) for status in ("201 Created", "202 x", "203 x", "206 x")},
        **{f"status {status}": answer(status, b"", b"") for status in ("204 No Content", "205 Reset")},
        "status 304": answer("304 Not Modified", b"", b"", length=False),
        **{f"status {one}": answer(f"{one} x", b"text/html", b"<a>", b"Location: " + THIEF) for one in REDIRECTS},
        **{f"status {one}": error(f"{one} x") for one in STATUSES},
        **{f"status {one}": answer(f"{one} x", b"", b"") for one in ("000", "99", "2000")},
        **{f"429 for {wait!r:.20}": error("429 x", error_slow, b"Retry-After: " + wait) for wait in WAITS},
        "429 for too many ms": error("429 x", b"{}", b"retry-after-ms: 1e400"),
        "500 as a page": answer("500 x", b"text/html", b"<html>"),
        "500 empty": answer("500 x", b"", b""),
        "500 with 10 MB": lambda: answer("500 x", b"text/html", b"<" + b"a" * (10 << 20)),
        "500, deep": error("500 x", b'{"error":' * 3000 + b"1" + b"}" * 3000),
        "500 as a list": error("500 x", b'[{"error":{"message":"m","code":503}}]'),
        "401 with a cookie": error("401 x", error_slow, b"Set-Cookie: a=b", b"WWW-Authenticate: Basic"),
    }


error_slow = b'{"error":{"message":"slow"}}'


def _spread(raw: bytes) -> bytes:
    """An event whose JSON is written over several data lines."""
    found = re.search(rb"data: (\{.*\})", raw)
    if not found:
        return raw
    spread = json.dumps(json.loads(found[1]), indent=1).encode().split(b"\n")
    return raw.replace(found[0], b"\n".join(b"data: " + line for line in spread))


class Odd(NamedTuple):
    wire: str
    name: str
    stream: bool
    made: bytes | Callable[[], bytes]
    thief: int
    """The port that redirects lead to."""

    @property
    def raw(self) -> bytes:
        """All that is sent."""
        raw = self.made() if callable(self.made) else self.made
        return raw.replace(THIEF, b"http://127.0.0.1:%d/steal" % self.thief) if len(raw) < 1 << 16 else raw

    def __str__(self) -> str:
        return f"{self.wire}: {self.name}, {'a stream' if self.stream else 'a whole answer'} asked for"

    @property
    def right(self) -> bool:
        """The content is right, however it is written: it must arrive."""
        return self.name in _RIGHT


_RIGHT = frozenset(form for wire in WIRES.values() for form in _written(wire))


def cases(thief: int = 9) -> Iterator[Odd]:
    """All of them, in a fixed order. `thief`: the port that redirects lead to."""
    for name, wire in WIRES.items():
        forms = _written(wire) | _wrong(wire)
        for form, made in (forms | _statuses(wire.whole)).items():
            for stream in (True, False):
                yield Odd(name, form, stream, made, thief)


def _script(odd: Odd) -> Script:
    async def script(line: Line, _: int) -> bool:
        await line.send(odd.raw)
        await line.pause()
        return False

    return script


def judge(odd: Odd, got: Got, calls: int) -> list[str]:
    """What is wrong."""
    wrong = [f"{calls} calls"] if calls > CALLS else []
    if got.broken:
        return [*wrong, f"the answer {got.broken}"]
    head = got.head.lower()
    if b"set-cookie: x=y" in head or b"\0" in head:
        wrong.append("a header was injected")
    if b"EVIL" in got.body:
        wrong.append("another answer's bytes")
    if odd.right and got.status != 200:
        wrong.append(f"the answer was right, and became {got.status}")
    if got.status == 200 and odd.stream:
        seen = understand(odd.wire, got.body)
        wrong += seen.faults
        if odd.right and seen.failed:
            wrong.append(f"the answer was right, and became {seen.error}")
        if not seen.failed and not (seen.done and seen.finish):
            wrong.append("a silent end")
        if (not seen.failed and seen.text != TEXT) or not TEXT.startswith(seen.text):
            wrong.append(f"text {seen.text!r}")
        wrong += [f"half a call: {one!r}" for one in seen.calls.values() if not _same(one)]
        return wrong
    try:
        body = json.loads(got.body)
    except ValueError:
        return wrong if got.status in (204, 205, 304) else [*wrong, f"{got.status} without JSON: {got.body[:60]!r}"]
    if got.status == 200 and (body.get("error") or TEXT not in json.dumps(body)):
        wrong.append(f"a 200 that is no answer: {got.body[:60]!r}")
    return wrong


def _same(arguments: str) -> bool:
    try:
        return bool(json.loads(arguments) == json.loads(ARGUMENTS))
    except ValueError:
        return False


async def run_all(pick: Callable[[Odd], bool] = lambda _: True, *, together: int = 8) -> list[tuple[Odd, list[str]]]:
    """Every picked case and what was wrong with it."""
    turn = asyncio.Semaphore(together)
    robbed: list[bytes] = []

    async def thief(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        robbed.append(await reader.read(1000))
        writer.close()

    async def one(odd: Odd, provider: Provider, server: Server) -> tuple[Odd, list[str]]:
        async with turn:
            case = str(abs(hash(odd[:3])))
            provider.scripts[case] = _script(odd)
            got = await ask(server.port, odd.wire, case, stream=odd.stream)
            return odd, judge(odd, got, provider.calls[case] - provider.stale[case])

    listening = await asyncio.start_server(thief, "127.0.0.1", 0)
    async with listening, Provider() as provider, served(provider) as server:
        chosen = filter(pick, cases(listening.sockets[0].getsockname()[1]))
        results = list(await asyncio.gather(*(one(odd, provider, server) for odd in chosen)))
    if robbed:
        results.append((results[0][0], ["a redirect was followed"]))
    return results
