"""The least that an aiohttp proxy can do: what every figure of a request is set beside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

BODY = 64 << 20
"""Bytes of a request's body at most."""


@asynccontextmanager
async def passing(upstream: int, port: int = 0) -> AsyncIterator[int]:
    """Pass on what comes, between two ports of this machine; the port it listens on (`port` 0: any that is free)."""
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.read()
            headers = {"Content-Type": "application/json"}
            async with session.post(f"http://127.0.0.1:{upstream}{request.path_qs}", data=body, headers=headers) as got:
                answer = web.StreamResponse(headers={"Content-Type": got.headers["Content-Type"]})
                await answer.prepare(request)
                async for data in got.content.iter_any():
                    await answer.write(data)
                await answer.write_eof()
                return answer

        app = web.Application(client_max_size=BODY)
        app.router.add_post("/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
        try:
            yield runner.addresses[0][1]
        finally:
            await runner.cleanup()
