"""A kept connection: may it serve another call?

aiohttp gives a kept connection out again even when bytes have come on it since its last answer, and would take them
for the answer to the next request. Servers do send some: a 408 before they close an idle connection.
"""

from __future__ import annotations

import aiohttp
from aiohttp.client_proto import ResponseHandler

SERVED = "streamfuse_served"
"""Set in the protocol of a connection from its first call on."""


class Spoilt(aiohttp.ServerDisconnectedError):
    """A kept connection that must not be used. Nothing was sent on it."""


def claim(protocol: ResponseHandler, fresh: bool) -> bool:
    """Take a connection for a call. True: it has served before. Raises Spoilt where it must not be used, which with
    `fresh` is every connection that has served."""
    # Asked here, and not in a trace of aiohttp's, which costs 35 calls a request.
    known = vars(protocol)
    reused = SERVED in known
    if protocol.should_close or (reused and fresh):
        raise Spoilt
    known[SERVED] = True
    return reused
