"""`streamfuse reload`: it asks the proxy of a config, and says what came of it."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from proxy.commands.ask_reload import _ask, ask_reload
from proxy.settings.load import Settings

ANSWERS: list[tuple[int, Any, int, str]] = [
    (200, {"taken": True, "changed": ["rules"], "restart": []}, 0, "the config is taken; changed: rules"),
    (202, {"taken": True, "changed": [], "restart": []}, 0, "every worker reads its config again; changed: nothing"),
    (200, {"taken": True, "changed": [], "restart": ["workers"]}, 0, "needs a restart and stays as it was: workers"),
    (422, {"taken": False, "problems": ["config.yaml:3: no such field"]}, 2, "config.yaml:3: no such field"),
    (401, {"error": {}}, 1, "auth.keys"),
    (404, b"<html>", 1, "takes no reload (HTTP 404)"),
    (200, [1], 1, "takes no reload (HTTP 200)"),
]


@pytest.mark.parametrize(("status", "body", "code", "line"), ANSWERS)
async def test_it_says_what_came_of_it(status, body, code, line):
    asked: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.headers.get("Authorization"))
        return (
            web.Response(status=status, body=body)
            if isinstance(body, bytes)
            else web.json_response(body, status=status)
        )

    app = web.Application()
    app.add_routes([web.post("/-/reload", answer)])
    async with TestServer(app) as server:
        settings = Settings.model_validate(
            {"upstream": "http://a.example", "listen": {"host": "0.0.0.0", "port": 1}, "auth": {"keys": ["our-key"]}}
        )
        got, said = await _ask(settings, server.port)
    assert got == code and any(line in one for one in said), said
    assert asked == ["Bearer our-key"]


def test_nobody_is_there():
    settings = Settings.model_validate({"upstream": "http://a.example", "ops": {"host": "::1", "port": 9}})
    code, said = ask_reload(settings)
    assert code == 1 and "no streamfuse answers at http://[::1]:9" in said[0]
