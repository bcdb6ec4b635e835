"""One serving process: its loop, its operators' port, its words when it cannot listen."""

from __future__ import annotations

import errno
import os
import signal
import socket

import aiohttp
import pytest
import uvloop
from aiohttp import web

from proxy.observers import Sinks
from proxy.observers.reports import Reports, Stage
from proxy.server import serve
from proxy.server.app import Server
from proxy.settings.load import Settings


def settings(**more: object) -> Settings:
    return Settings.model_validate({"upstream": "http://127.0.0.1:9/v1", "listen": {"port": 0}, **more})


@pytest.mark.parametrize(
    ("word", "factory"), [("asyncio", None), ("uvloop", uvloop.new_event_loop), ("auto", uvloop.new_event_loop)]
)
def test_the_loop_that_the_config_names(word, factory):
    assert serve._loop(settings(loop=word)) is factory


def test_a_loop_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uvloop", None)
    assert serve._loop(settings(loop="auto")) is None
    with pytest.raises(serve.CannotListen, match="not installed"):
        serve._loop(settings(loop="uvloop"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EADDRINUSE, "while binding on ('127.0.0.1', 80): in use"), "port 80 on 127.0.0.1 is taken"),
        (OSError(errno.EADDRINUSE, "in use"), "port 0 on 127.0.0.1 is taken"),
        (OSError(errno.EACCES, "no"), "may not listen on port 0: choose one above 1023"),
        (OSError(errno.EADDRNOTAVAIL, "no"), "127.0.0.1 is no address of this machine"),
        (socket.gaierror(-2, "unknown"), "is no address of this machine"),
        (OSError(errno.EMFILE, "too many files"), "cannot listen on 127.0.0.1:0 (too many files)"),
    ],
)
def test_why_it_cannot_listen(error, said):
    assert said in serve.why(error, settings())


async def test_metrics_and_health_on_a_port_of_their_own():
    s = settings(ops={"port": 0})
    here = Sinks(s)
    ops = [
        web.get("/metrics", serve.metrics_route(here.metrics)),
        web.get("/-/recent", serve.recent_route(here.recent)),
    ]
    server = Server(s, reports=Reports([here.metrics, here.recent]), ops=ops)
    await server.start()
    try:
        async with aiohttp.ClientSession() as client:
            for path in ("/metrics", "/healthz", "/readyz"):
                async with client.get(f"http://127.0.0.1:{server.ops_port}{path}") as answer:
                    assert answer.status == 200
                async with client.get(f"http://127.0.0.1:{server.port}{path}") as answer:
                    assert answer.status == 502, "on the first port it is a call like any other"
            async with client.get(f"http://127.0.0.1:{server.ops_port}/metrics") as answer:
                assert answer.content_type == "text/plain"
                assert 'streamfuse_requests_total{outcome="failed"' in await answer.text()
            for query, rows in (("", 3), ("?n=2", 2), ("?n=x", 3)):
                async with client.get(f"http://127.0.0.1:{server.ops_port}/-/recent{query}") as answer:
                    assert [row["status"] for row in (await answer.json())["exchanges"]] == [502] * rows
    finally:
        await server.stop()


def test_it_serves_until_a_signal_and_ends_well():
    heard: list[str] = []

    class Ear:
        def hear(self, report: object) -> None:
            if isinstance(report, Stage):
                heard.append(report.name)
                if report.name == "started":
                    os.kill(os.getpid(), signal.SIGTERM)  # the port is open, run() has not gone on yet

    serve.run(settings(journal={"level": "off"}), Ear())
    assert heard == ["started", "draining", "stopped"]
