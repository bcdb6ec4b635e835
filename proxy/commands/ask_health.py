"""Asks the proxy that runs on this machine whether it is alive: for containers and service managers.

On the port that the config says, which is `ops` where there is one. Only what the start of Python brings is used: it
runs every few seconds.
"""

from __future__ import annotations

import http.client

from ..settings.load import Settings
from .ask_reload import EVERYWHERE

PATIENCE = 3.0
"""Seconds for an answer."""


def alive(settings: Settings, *, ready: bool = False) -> tuple[bool, str]:
    """Does it answer, and what to say. `ready`: does it also take requests, or is it draining?"""
    at = settings.ops if settings.ops is not None else settings.listen
    host = EVERYWHERE.get(at.host, at.host)
    asking = http.client.HTTPConnection(host, at.port, timeout=PATIENCE)
    try:
        asking.request("GET", "/readyz" if ready else "/healthz")
        answer = asking.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return False, f"no streamfuse answers on {host} port {at.port} ({type(error).__name__})"
    finally:
        asking.close()
    if answer.status != 200:
        return False, f"it answers with HTTP {answer.status}" + (": it is shutting down" if ready else "")
    return True, "ready" if ready else "alive"
