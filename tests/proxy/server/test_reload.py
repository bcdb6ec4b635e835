"""A config that is read again while the process serves: new requests get it, open ones keep theirs, a broken one
changes nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Reports, Stage
from proxy.server.app import Server
from proxy.server.hangup import hold
from proxy.server.reload import ConfigSource, watch
from proxy.settings.load import ConfigError, Problem, Settings
from tests.clock import FakeClock
from tests.proxy.conftest import Heard
from tests.upstream import Upstream, end, event, head, text, wait, whole

ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


class Config:
    """What stands in the file; `broken` makes it one that cannot be read."""

    def __init__(self, up: Upstream, **more: Any) -> None:
        self.tree: dict[str, Any] = {
            "listen": {"port": 0},
            "providers": {"up": {"base_url": f"{up.url}/v1"}},
            **more,
        }
        self.broken = False
        self.reads = 0

    def read(self) -> Settings:
        self.reads += 1
        if self.broken:
            raise ConfigError([Problem("config.yaml", "there is no such field", "listne", 3, 1)])
        return Settings.model_validate(self.tree)


Serve = Callable[..., Awaitable[Server]]


@pytest.fixture
async def serve(heard: Heard) -> AsyncIterator[Serve]:
    running: list[Server] = []

    async def start(config: Config, **source: Any) -> Server:
        server = Server(config.read(), reports=Reports([heard]), source=ConfigSource(config.read, **source))
        await server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        await server.stop()


def at(server: Server, path: str = "/v1/chat/completions") -> str:
    return f"http://127.0.0.1:{server.port}{path}"


def stages(heard: Heard, name: str) -> list[dict[str, Any]]:
    return [dict(stage.facts) for stage in heard.of(Stage) if stage.name == name]


async def test_new_requests_get_the_new_config_and_open_ones_keep_theirs(
    up: Upstream, serve: Serve, heard: Heard, client: aiohttp.ClientSession
) -> None:
    config = Config(up)
    server = await serve(config)
    up.answer(head(), text("one"), wait("go"), text(" two"), event(b"[DONE]"), end())
    async with client.post(at(server), json=ASK) as answer:
        assert b"one" in await answer.content.readany()
        config.tree["providers"]["up"]["headers"] = {"x-team": "blue"}
        config.tree["rules"] = {"mode": "watch"}
        came = await server.reload()
        assert came.changes is not None
        assert (came.changes.changed, came.changes.restart) == (("providers.up", "rules"), ())
        up.answer(*whole({"data": []}))
        async with client.get(at(server, "/v1/models")) as other:
            assert other.status == 200
        up.go("go")
        assert b"[DONE]" in await answer.read()
    assert [request.header("x-team") for request in up.requests] == [None, "blue"]
    assert stages(heard, "reloaded") == [{"changed": "providers.up, rules"}]


async def test_a_broken_config_changes_nothing_and_says_why(
    up: Upstream, serve: Serve, heard: Heard, client: aiohttp.ClientSession
) -> None:
    config = Config(up)
    server = await serve(config)
    before = server.fuse
    config.broken = True
    async with client.post(at(server, "/-/reload")) as answer:
        assert answer.status == 422
        said = await answer.json()
    assert said == {"taken": False, "problems": ["config.yaml:3:1: listne: there is no such field"]}
    assert server.fuse is before
    assert stages(heard, "reload_failed") == [{"problem": "config.yaml:3:1: listne: there is no such field"}]
    up.answer(*whole({"data": []}))
    async with client.get(at(server, "/v1/models")) as answer:
        assert answer.status == 200


async def test_a_config_that_cannot_be_made_ready_changes_nothing(
    up: Upstream, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that the config names may vanish between the check and their use."""
    config = Config(up)
    server = await serve(config)
    before = server.fuse
    monkeypatch.setattr("proxy.exchange.context.transport_to", lambda *_: (_ for _ in ()).throw(OSError("gone")))
    came = await server.reload()
    assert came.changes is None and came.problems == ("the config cannot be made ready (OSError)",)
    assert server.fuse is before


async def test_what_cannot_change_is_told_and_stays(up: Upstream, serve: Serve, client: aiohttp.ClientSession) -> None:
    config = Config(up)
    server = await serve(config)
    config.tree |= {"listen": {"port": 9999}, "workers": 3, "drain": {"grace": "2s"}}
    async with client.post(at(server, "/-/reload")) as answer:
        said = await answer.json()
    assert said == {"taken": True, "changed": ["drain"], "restart": ["listen.port", "workers"]}
    assert (server.settings.listen.port, server.settings.workers, server.settings.drain.grace) == (0, 1, 2.0)


async def test_keys_change_at_once_and_guard_the_reload_itself(
    up: Upstream, serve: Serve, client: aiohttp.ClientSession
) -> None:
    config = Config(up, auth={"keys": ["old-key"], "open": ["page", "metrics", "ready"]})
    server = await serve(config)
    config.tree["auth"] = {"keys": ["new-key"]}
    for key, status in ((None, 401), ("new-key", 401), ("old-key", 200), ("old-key", 401), ("new-key", 200)):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with client.post(at(server, "/-/reload"), headers=headers) as answer:
            assert (key, answer.status) == (key, status)
            assert "key" not in (await answer.text()).replace("keys", "")


async def test_without_keys_only_this_machine_may_ask(
    up: Upstream, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await serve(Config(up))
    monkeypatch.setattr("proxy.server.app.loopback", lambda host: False)
    async with aiohttp.ClientSession() as client, client.post(at(server, "/-/reload")) as answer:
        assert answer.status == 403


async def test_a_reload_among_many_open_streams_loses_none(up: Upstream, serve: Serve) -> None:
    config = Config(up)
    server = await serve(config)
    up.answer(head(), text("one"), wait("go"), text(" two"), event(b"[DONE]"), end())
    many = 200
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:

        async def one() -> bytes:
            async with client.post(at(server), json=ASK) as answer:
                return await answer.read()

        asked = [asyncio.create_task(one()) for _ in range(many)]
        await up.until(lambda: len(up.requests) == many)
        for number in range(3):
            config.tree["cut"] = {"notice": bool(number % 2)}
            assert (await server.reload()).changes is not None
        up.go("go")
        got = await asyncio.gather(*asked)
    assert all(b" two" in body and b"[DONE]" in body for body in got)
    assert not server.fuse.open


async def test_whoever_asks_while_it_is_read_shares_one_more_reading(up: Upstream, serve: Serve) -> None:
    config = Config(up)
    server = await serve(config)
    before = config.reads
    await asyncio.gather(*(server.reload() for _ in range(50)))
    assert config.reads - before == 2


async def test_reserve_gates_memory_and_open_requests_outlive_a_reload(up: Upstream, serve: Serve) -> None:
    config = Config(up)
    server = await serve(config)
    old = server.fuse
    config.tree["providers"]["other"] = {"base_url": "http://127.0.0.1:9/v1"}
    await server.reload()
    new = server.fuse
    assert new is not old and set(new.engines) == {"up", "other"}
    assert new.reserves["up"] is old.reserves["up"] and new.gates is old.gates and new.open is old.open
    assert new.run_memory.threads is old.run_memory.threads and new.ring.mark == old.ring.mark
    new.draining = True
    assert old.draining, "what is still open under the old config drains with the rest"
    config.tree["reserve"] = {"ratio": 0.5}
    await server.reload()
    assert server.fuse.reserves["up"] is not new.reserves["up"]


async def test_a_hangup_that_comes_before_the_port_is_open_is_not_lost(up: Upstream, heard: Heard) -> None:
    config = Config(up)
    server = Server(config.read(), reports=Reports([heard]), source=ConfigSource(config.read))
    hold()
    signal.pthread_kill(threading.get_ident(), signal.SIGHUP)  # by default this would end the process
    running = asyncio.create_task(server.run())
    async with asyncio.timeout(30):
        while not any(stage.name == "reloaded" for stage in heard.of(Stage)):  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0.001)
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert config.reads == 2


def test_a_process_that_is_still_being_loaded_survives_a_hangup() -> None:
    script = """
import os, signal, sys
from proxy.__main__ import main
sys.argv = ["streamfuse", "serve"]
import proxy.commands.cli as cli
cli.main = lambda: (os.kill(os.getpid(), signal.SIGHUP), print("lives"))
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "lives\n"), done.stderr


async def test_an_old_config_is_let_go(up: Upstream, serve: Serve) -> None:
    config = Config(up)
    server = await serve(config)
    old = weakref.ref(server.fuse)
    gc.disable()
    try:
        await server.reload()
        # No circle may keep it: the collector does not look at what was there at the start.
        await until(lambda: old() is None)
    finally:
        gc.enable()


async def test_a_worker_checks_and_hands_the_word_on(up: Upstream, serve: Serve, client: aiohttp.ClientSession) -> None:
    config, told = Config(up), list[str]()
    server = await serve(config, spread=lambda: told.append("all"))
    before = server.fuse
    async with client.post(at(server, "/-/reload")) as answer:
        assert answer.status == 202
    assert told == ["all"] and server.fuse is before
    config.broken = True
    async with client.post(at(server, "/-/reload")) as answer:
        assert answer.status == 422
    assert told == ["all"]


# --- a watched file --------------------------------------------------------------------------------------------------
async def until(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not there():  # noqa: ASYNC110  (a thread's work has no event here)
            await asyncio.sleep(0.001)


async def looked(clock: FakeClock) -> None:
    """Time for one more look, which happens in a thread."""
    asked = len(clock.slept)
    await clock.advance(1)
    await until(lambda: len(clock.slept) > asked)


async def test_a_watched_file_is_taken_when_it_has_stood_still(tmp_path: Path) -> None:
    file, clock, taken = tmp_path / "config.yaml", FakeClock(), list[str]()
    file.write_text("a")

    async def changed() -> None:
        taken.append(file.read_text())

    watching = asyncio.create_task(watch(file, lambda: 1.0, clock, changed))
    try:
        await until(lambda: bool(clock.slept))
        await looked(clock)
        assert taken == []
        file.write_text("half")
        await looked(clock)
        file.write_text("whole now")
        await looked(clock)
        assert taken == [], "it changes between two looks"
        await looked(clock)
        await looked(clock)
        assert taken == ["whole now"]
        file.unlink()
        await looked(clock)
        await looked(clock)
        assert taken == ["whole now"], "a file that is away for a moment is no config"
        other = tmp_path / "other"
        other.write_text("moved here")
        other.replace(file)
        await looked(clock)
        await looked(clock)
        assert taken == ["whole now", "moved here"]
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_watching_can_be_switched_off_and_on(tmp_path: Path) -> None:
    file, clock, taken, every = tmp_path / "config.yaml", FakeClock(), list[int](), [0.0]
    file.write_text("a")

    async def changed() -> None:
        taken.append(1)

    watching = asyncio.create_task(watch(file, lambda: every[0], clock, changed))
    try:
        await until(lambda: bool(clock.slept))
        file.write_text("another")
        for _ in range(3):
            await looked(clock)
        assert taken == []
        every[0] = 0.5
        for _ in range(3):
            await looked(clock)
        assert taken == [1]
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
