"""Requests that two readers of HTTP could understand differently, and odd lines, headers and paths, as bytes.

Each case says what must come of it: the answers' statuses in order, and what the provider is shown. After the case's
own bytes the test sends one more request for /healthz on the same connection, so that its place among the answers
tells how many requests our side has read.
"""

from __future__ import annotations

from typing import NamedTuple

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
SMUGGLED = b"GET /v1/models?smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHAT = b"POST /v1/chat/completions HTTP/1.1"
CHUNKED = b"Transfer-Encoding: chunked"
NEXT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Request(NamedTuple):
    raw: bytes
    statuses: tuple[int, ...]
    """Of all answers on the connection, the one to /healthz included."""
    upstream: tuple[str, ...] = ()
    """Request targets that reach the provider; every one with BODY as its body, or none."""


def request(
    *headers: bytes, line: bytes = CHAT, body: bytes = BODY, length: bool = True, host: bytes = b"Host: localhost"
) -> bytes:
    """A request of these parts; `length`: with a true Content-Length."""
    lines = [line, *([host] if host else []), b"Content-Type: application/json", *headers]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunks(*parts: bytes, trailer: bytes = b"") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


def got(path: bytes) -> bytes:
    """A GET of this path."""
    return request(line=b"GET " + path + b" HTTP/1.1", body=b"", length=False)


SERVED = "/v1/chat/completions"
REFUSED = (400,)
FINE = (200, 200)

CODINGS = (
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: \x0bchunked",
    b" Transfer-Encoding: chunked",
    b"X: a\nTransfer-Encoding: chunked",
    b"Transfer-Encoding\n: chunked",
    b'Transfer-Encoding: "chunked"',
    b"Transfer-Encoding: chunked\x00",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding;: chunked",
    b"Transfer-Encoding: chunked;q=1",
    b"Transfer-Encoding: chunked,",
    b"Transfer-Encoding: chun\xadked",
    b"\xefTransfer-Encoding: chunked",
)
"""Never a way to two readings: refused alone, and beside a length."""

LENGTHS = (
    b"+57", b"-1", b"-0", b"0x39", b"57, 57", b"57,58", b"5_7", b"\xc2\xb257", b"1e2", b"", b"57;a", b"57 57",
    b"\x0b57", b"99999999999999999999999", b"57\x00", b"\xd9\xa5\xd9\xa7",
)  # fmt: skip

_SIZE = b"%x" % len(BODY)
CHUNK_FORMS = {
    "a quote without end in an extension": _SIZE + b';foo="\n\r\n' + BODY + b"\r\n0\r\n\r\n",
    "a line feed in an extension": _SIZE + b";a\nb\r\n" + BODY + b"\r\n0\r\n\r\n" + SMUGGLED,
    "line feeds only": _SIZE + b"\n" + BODY + b"\n0\n\n",
    "0x": b"0x" + _SIZE + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "plus": b"+" + _SIZE + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "minus": b"-1\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an underline": b"3_9\r\n" + BODY + b"\r\n0\r\n\r\n",
    "no size": b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a size beyond 64 bits": b"ffffffffffffffffffff\r\n" + BODY + b"\r\n0\r\n\r\n",
    "other bytes where a chunk ends": _SIZE + b"\r\n" + BODY + b"XX0\r\n\r\n",
    "a size that is too small": b"5\r\n" + BODY + b"\r\n0\r\n\r\n" + SMUGGLED,
}

HEADERS = {
    "a carriage return": b"X-A: a\rX-B: b",
    "a folded line": b"X-A: a\r\n  folded: b",
    "NUL": b"X-A: a\x00b",
    "control characters": b"X-A: a\x01b\x7f",
    "a line feed": b"X-A: a\nX-Injected: 1",
    "a blank in the name": b"X A: b",
    "no name": b": b",
    "no colon": b"abc",
    "a second host": b"Host: evil.example",
}

PATHS_REFUSED = (
    b"/v1/..%2fadmin", b"/v1/%2e%2e/admin", b"/v1/.%2e/admin", b"/v1/..;/admin", b"/v1/..\\admin", b"/v1/..%5cadmin",
    b"/v1/%252e%252e/admin", b"/v1/..%00/x", b"/v1/models/..", b"/../admin", b"/v1/..%252f..%252fadmin",
    b"/v1/%2e%2e%3b/admin", b"/v1/chat/completions/../../x", b"/%2e%2e/x", b"/v1/%25252e%25252e/x", b"/v1/.;/../x",
    b"/v1/..%c0%af/x", b"/v1/%c0%ae%C0%AE/x", b"/v1/%e0%80%ae%e0%80%ae/x", b"/v1/%u002e%u002e/x",
    b"/v1/%25c0%25ae%25c0%25ae/x", b"/v1/..%09/x",
)  # fmt: skip
"""None of them reaches the provider, whatever the status."""

PATHS_SERVED = (
    b"/v1/files/%C3%80.txt",
    b"/v1/files/%C0.txt",
    b"/v1/files/%E2%82%AC",
    b"/v1/files/a..b",
    b"/v1/files/...",
)
"""Names that only look like it."""

CASES: dict[str, Request] = {
    "plain": Request(request(), FINE, (SERVED,)),
    "plain, chunked": Request(request(CHUNKED, body=chunks(BODY), length=False), FINE, (SERVED,)),
    "chunked in capitals": Request(
        request(b"TRANSFER-ENCODING: Chunked", body=chunks(BODY), length=False), FINE, (SERVED,)
    ),
    "chunked after a tab": Request(
        request(b"Transfer-Encoding:\tchunked", body=chunks(BODY), length=False), FINE, (SERVED,)
    ),
    "many chunks": Request(
        request(CHUNKED, body=chunks(*(BODY[n : n + 1] for n in range(len(BODY)))), length=False), FINE, (SERVED,)
    ),
    "a chunk's extension": Request(
        request(CHUNKED, body=_SIZE + b";foo=bar\r\n" + BODY + b"\r\n0\r\n\r\n", length=False), FINE, (SERVED,)
    ),
    **{f"path {path!r}": Request(got(path), FINE, (path.decode(),)) for path in PATHS_SERVED},
    "a trailer": Request(
        request(
            CHUNKED,
            b"Trailer: x-a",
            body=chunks(BODY, trailer=b"x-a: b\r\nAuthorization: Bearer evil\r\n"),
            length=False,
        ),
        FINE,
        (SERVED,),
    ),
    "two in a row": Request(request() + request(), (200, 200, 200), (SERVED, SERVED)),
    # Chunked comes last: every reader ends the body at the same byte (RFC 9112 §6.3).
    "identity, then chunked": Request(
        request(b"Transfer-Encoding: identity, chunked", body=chunks(BODY), length=False), FINE, (SERVED,)
    ),
    **{
        f"a coding that is not undone: {codings.decode()}": Request(
            request(b"Transfer-Encoding: " + codings, body=chunks(BODY), length=False), (501,)
        )
        for codings in (b"gzip, chunked", b"x, chunked", b"deflate,chunked")
    },
    "length and chunks (CL.TE)": Request(request(CHUNKED, body=chunks(BODY) + SMUGGLED), REFUSED),
    "chunks and length (TE.CL)": Request(
        request(b"Content-Length: 4", CHUNKED, body=chunks(BODY) + SMUGGLED, length=False), REFUSED
    ),
    "the same length twice": Request(request(b"Content-Length: %d" % len(BODY)), REFUSED),
    "two lengths": Request(request(b"Content-Length: 3", body=BODY + SMUGGLED), REFUSED),
    "HTTP/1.0 kept": Request(request(b"Connection: keep-alive", line=CHAT.replace(b"1.1", b"1.0")), FINE, (SERVED,)),
    "HTTP/1.1x": Request(request(line=CHAT + b"x"), REFUSED),
    "HTTP/9.9": Request(request(line=CHAT.replace(b"1.1", b"9.9")), REFUSED),
    "HTTP/1.10": Request(request(line=CHAT.replace(b"1.1", b"1.10")), REFUSED),
    "HTTP/2": Request(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", REFUSED),
    "no version": Request(b"GET /v1/models\r\nHost: localhost\r\n\r\n", REFUSED),
    "line feeds only": Request(
        b"POST /v1/chat/completions HTTP/1.1\nHost: localhost\nContent-Length: %d\n\n" % len(BODY) + BODY, REFUSED
    ),
    "a method with a NUL": Request(request(line=b"PO\x00ST /v1/chat/completions HTTP/1.1"), REFUSED),
    "two blanks in the line": Request(request(line=b"POST  /v1/chat/completions HTTP/1.1"), FINE, (SERVED,)),
    "a line break after the body": Request(request() + b"\r\n", FINE, (SERVED,)),
    "a tab in the line": Request(request(line=b"POST\t/v1/chat/completions\tHTTP/1.1"), REFUSED),
    "TLS to a plain port": Request(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64, REFUSED),
    "another host's address in the line": Request(
        request(line=b"POST http://127.0.0.1:9/v1/chat/completions HTTP/1.1"), FINE, (SERVED,)
    ),
    "another host's address with a user": Request(
        request(line=b"POST http://u:p@127.0.0.1:9/v1/chat/completions HTTP/1.1"), FINE, (SERVED,)
    ),
    "100 header lines": Request(request(*(b"X-%d: a" % n for n in range(100))), FINE, (SERVED,)),
    "2000 header lines": Request(request(*(b"X-%d: a" % n for n in range(2000))), FINE, (SERVED,)),
    "60,000 bytes in a header": Request(request(b"X-A: " + b"a" * 60000), FINE, (SERVED,)),
    "70,000 bytes in a header": Request(request(b"X-A: " + b"a" * 70000), (431,)),
    "100,000 header lines": Request(request(*(b"X-%d: a" % n for n in range(100000))), (431,)),
    "UTF-8 in a header": Request(request("X-A: ü☃".encode()), FINE, (SERVED,)),
    "Latin-1 in a header": Request(request(b"X-A: \xfc\xff"), FINE, (SERVED,)),
    **{
        f"{coding!r}": Request(request(coding, body=chunks(BODY) + SMUGGLED, length=False), REFUSED)
        for coding in CODINGS
    },
    **{
        f"{coding!r} and a length": Request(request(coding, body=chunks(BODY) + SMUGGLED), REFUSED)
        for coding in CODINGS
    },
    **{
        f"length {value!r}": Request(
            request(b"Content-Length: " + value, body=BODY.ljust(57)[:57] + SMUGGLED, length=False), REFUSED
        )
        for value in LENGTHS
    },
    **{
        f"chunks: {name}": Request(request(CHUNKED, body=body, length=False), REFUSED)
        for name, body in CHUNK_FORMS.items()
    },
    **{f"header: {name}": Request(request(header), REFUSED) for name, header in HEADERS.items()},
    **{f"path {path!r}": Request(got(path), (400, 200)) for path in PATHS_REFUSED},
}
