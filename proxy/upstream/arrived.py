"""What has arrived of a body, taken from aiohttp's reader in one go.

aiohttp takes it chunk by chunk, and after each one lets a connection that may have been paused go on, which feeds its
parser with nothing: 12 calls for each event that comes alone, 10 for each of many in one read. Here the pieces are
joined at once, and a connection goes on only where it was paused.
"""

from __future__ import annotations

from functools import partial

import aiohttp
from aiohttp.client_proto import ResponseHandler


class UpstreamConnection(ResponseHandler):
    """aiohttp's protocol of a connection; it goes on where it was paused, and does nothing where it was not."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """The reader has room again."""
        if self._reading_paused:
            super().resume_reading(resume_parser)


def install(connector: aiohttp.BaseConnector) -> None:
    """Have a connector make its connections so."""
    connector._factory = partial(UpstreamConnection, loop=connector._loop)  # type: ignore[assignment]  # it is one


def arrived(content: aiohttp.StreamReader) -> bytes:
    """All that has come and was not read; b"" where nothing has. Raises what broke the body."""
    buffer = getattr(content, "_buffer", None)  # the reader of an answer without a body (to a HEAD) has none
    if buffer is not None and not buffer and content._exception is None:
        return b""  # asked after each event that comes alone: whether more has come meanwhile
    if not buffer or content._buffer_offset or content._exception is not None:
        return content.read_nowait()
    data = b"".join(buffer)  # of one piece it is the piece itself
    buffer.clear()
    content._size -= len(data)
    content._cursor += len(data)
    if splits := content._http_chunk_splits:
        # Only the last one can still be asked for: it tells that an empty chunk has ended nothing.
        last = splits[-1]
        splits.clear()
        splits.append(last)
    content._protocol.resume_reading()
    return data
