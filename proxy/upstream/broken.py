"""What an exception of the HTTP client means: a Failure with its kind, its phase and a sentence for people.

It is the only place that knows aiohttp's exceptions; nothing above `client` sees one.
"""

from __future__ import annotations

import errno
import socket

import aiohttp
from aiohttp.http_exceptions import ContentLengthError

from rules import STALE, Failure, Kind, Phase, classify, likeness

UNREACHABLE = "streamfuse_upstream_unreachable"


def forget_frames(exc: BaseException) -> None:
    """aiohttp keeps the exception that broke a body and raises the same object again: with its traceback it would keep
    the frames of everybody who has read, and all that they held."""
    exc.__traceback__ = None


def broken(exc: BaseException, phase: Phase, *, reused: bool = False) -> Failure:
    """What an exception of the client library means. The kinds follow MiMo-Code's table of network errors:
    a name that does not exist and a certificate that does not hold are terminal, everything that may pass is network.
    `reused`: on a connection that had served before; broken before any response byte, the request was never read.
    """
    unreachable = UNREACHABLE
    if reused and phase is Phase.HEADERS and isinstance(exc, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return Failure(phase, Kind.NETWORK, "a kept connection to the upstream had gone stale", code=STALE)
    match exc:
        case aiohttp.ClientConnectorCertificateError():
            return Failure(
                Phase.CONNECT,
                Kind.TERMINAL,
                "the upstream's certificate is not trusted",
                status=502,
                code=unreachable,
            )
        case aiohttp.ClientConnectorDNSError():
            cause = exc.os_error
            lasting = isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN
            return Failure(
                Phase.CONNECT,
                Kind.TERMINAL if lasting else Kind.NETWORK,
                f"the upstream's host name {exc.host} could not be resolved",
                status=502 if lasting else None,
                code=unreachable,
            )
        case aiohttp.ClientHttpProxyError():
            lasting = exc.status in (401, 403, 407)
            return Failure(
                Phase.CONNECT,
                Kind.TERMINAL if lasting else Kind.NETWORK,
                f"the proxy refused the connection with HTTP {exc.status}",
                status=502 if lasting else None,
                code=unreachable,
            )
        case aiohttp.ClientSSLError():
            return Failure(Phase.CONNECT, Kind.NETWORK, "the TLS handshake with the upstream failed", code=unreachable)
        case aiohttp.ClientConnectorError():
            return Failure(
                Phase.CONNECT,
                Kind.NETWORK,
                f"cannot connect to the upstream {exc.host}:{exc.port}: {exc.os_error.strerror or 'no answer'}",
                code=unreachable,
            )
        case aiohttp.InvalidURL() | ValueError():
            return Failure(
                Phase.CONNECT,
                Kind.TERMINAL,
                "the upstream's address is not a valid URL",
                status=502,
                code="streamfuse_bad_request",
            )
        case aiohttp.ServerDisconnectedError() if isinstance(exc.message, str):
            return Failure(
                phase, Kind.NETWORK, "the upstream closed the connection without an answer", code=unreachable
            )
        case aiohttp.ClientResponseError() | aiohttp.ServerDisconnectedError():
            return Failure(
                phase, Kind.SERVER, "the upstream's answer is not valid HTTP", code="streamfuse_upstream_invalid"
            )
        case aiohttp.ClientPayloadError() if _short(exc):
            return Failure(
                phase,
                Kind.NETWORK,
                "the upstream's answer is shorter than its Content-Length says, and its connection was closed in order",
                code=likeness.SHORT,
            )
        case aiohttp.ClientPayloadError():
            return Failure(phase, Kind.NETWORK, "the upstream's answer ended early", code="streamfuse_stream_broken")
        case OSError() | aiohttp.ClientConnectionError():
            return Failure(
                phase,
                Kind.NETWORK,
                "the connection to the upstream broke",
                code=unreachable if phase is not Phase.STREAM else "streamfuse_stream_broken",
            )
    known = classify.raised(plain(exc), phase)
    return Failure(phase, known.kind, "the upstream could not be reached", code=unreachable)


def _short(exc: aiohttp.ClientPayloadError) -> bool:
    """Did the upstream close the connection in order before the end that its Content-Length names? aiohttp tells a
    connection that broke from one that was closed in the exception's text alone: it then names the system's error."""
    return isinstance(exc.__cause__, ContentLengthError) and str(exc).endswith(f"{exc.__cause__!r}")


def plain(exc: BaseException, depth: int = 8) -> classify.Raised:
    """An exception and its causes as plain values, before anything rewraps them."""
    causes = [exc.__cause__, exc.__context__, getattr(exc, "os_error", None), *getattr(exc, "exceptions", ())]
    number = getattr(exc, "errno", None)
    status = getattr(exc, "status", None)
    return classify.Raised(
        type(exc).__name__,
        str(exc),
        errno.errorcode.get(number) if isinstance(number, int) else None,
        status if isinstance(status, int) and status else None,
        tuple(plain(one, depth - 1) for one in causes if isinstance(one, BaseException)) if depth else (),
    )
