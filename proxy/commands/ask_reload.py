"""Asks the proxy that runs on this machine to read its config again, and says what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from ..settings.load import Settings

PATIENCE = 30.0
"""Seconds for an answer: a config with many providers takes a second, on a busy machine some more."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Addresses that one listens on but cannot call."""


def ask_reload(settings: Settings, port: int | None = None) -> tuple[int, list[str]]:
    """Exit code (0 taken, 1 not reached or refused, 2 broken) and what to say. `settings`: where the proxy listens and
    which key it wants; `port`: instead of theirs."""
    try:
        return asyncio.run(_ask(settings, port))
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return 1, [f"no streamfuse answers at {_address(settings, port)} ({type(error).__name__}); is it running?"]


def _address(settings: Settings, port: int | None) -> str:
    at = settings.ops if settings.ops is not None else settings.listen
    host = EVERYWHERE.get(at.host, at.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port or at.port}"


async def _ask(settings: Settings, port: int | None) -> tuple[int, list[str]]:
    headers = {}
    if settings.auth.keys:
        headers["Authorization"] = f"Bearer {settings.auth.keys[0].get_secret_value()}"
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with (
        aiohttp.ClientSession(timeout=timeout) as client,
        client.post(f"{_address(settings, port)}/-/reload", headers=headers) as answer,
    ):
        try:
            said = await answer.json(content_type=None)
        except ValueError:
            said = None
        return _told(answer.status, said if isinstance(said, dict) else {})


def _told(status: int, said: dict[str, Any]) -> tuple[int, list[str]]:
    if status in (200, 202) and said.get("taken"):
        told = "every worker reads its config again" if status == 202 else "the config is taken"
        lines = [f"{told}; changed: {', '.join(said.get('changed') or ()) or 'nothing'}"]
        if restart := said.get("restart"):
            lines.append(f"needs a restart and stays as it was: {', '.join(restart)}")
        return 0, lines
    if status == 422:
        return 2, ["the config is broken, nothing has changed:", *map(str, said.get("problems") or ())]
    if status in (401, 403):
        return 1, [
            "the proxy does not take a reload from here: it wants one of auth.keys, or a call from its own machine"
        ]
    return 1, [f"what answers there takes no reload (HTTP {status}): is it streamfuse, and new enough?"]
