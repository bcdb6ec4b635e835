"""The page in a real browser: twelve stories of agents come to it live, it can be read on a phone and in the dark, and
a person without a mouse can use it. SCREENSHOTS=docs makes the pictures of the documentation."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proxy.observers import Sinks
from proxy.observers.reports import EndReason, Healed, LoopFound, Outcome, Reports, RequestInfo
from proxy.server.app import Server
from proxy.server.serve import pages
from proxy.settings.load import Settings
from rules.values.delta import Channel
from rules.values.verdict import Action, Finding, Hit, Mode
from tests.upstream import Upstream, end, event, head, role, text, wait, whole

from ..observers import ended

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with its driver (apt-get install chromium-driver)"
)

LIMIT = 60.0
"""Seconds; only a hung test needs them."""

ASK = {"model": "large", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
NONE = {"mode": "bounded", "max_retries": 0}
ONCE: dict[str, Any] = {"server": NONE, "network": NONE, "stream": NONE}
LOOP = (head(), role(), *(text("I will look at the file again. ") for _ in range(60)), wait("never"), end())
GOOD = (
    head(),
    role(),
    text("All is well."),
    event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    end(),
)
DOWN = whole({"error": {"type": "overloaded_error", "message": "Overloaded"}}, status=529)

STORIES = {
    "running": "answering",
    "waiting for a retry": "for a retry: 529: the provider is overloaded, try 2",
    "in line": "waiting for a place among the calls to busy",
    "cut": "in the text (rule",
    "watch only": "watched only; would have been cut",
    "dead provider": "the connection failed",
    "wrong key": "401: the provider does not take the key",
    "left": "the client left after",
    "fallback": "answered by spare, since 529: the provider is overloaded",
    "healed": "healed: a second call carried on after the loop",
    "refused": "refused: ",
    "drained": "streamfuse was shut down before the answer was complete",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-device-scale-factor=1",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    it = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield it
    it.quit()


class Stories:
    """A proxy with a provider for each story."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, ups: dict[str, Upstream], excerpts: bool = False) -> None:
        self.ups = ups
        providers: dict[str, Any] = {name: {"base_url": f"{up.url}/v1", "retry": ONCE} for name, up in ups.items()}
        providers["flaky"]["retry"] = {"server": {"initial_delay": "60s", "max_delay": "90s"}}
        providers["busy"]["concurrency"] = {"limit": 1, "wait": "60s"}
        providers["careful"]["mode"] = "watch"
        providers["main"] |= {"fallback": [{"provider": "spare"}], "breaker": {"failures": 9}}
        providers["dead"] = {"base_url": "http://127.0.0.1:9/v1", "retry": ONCE}
        tree = {"listen": {"port": 0}, "providers": providers, "default_provider": "main", "journal": {"level": "off"},
                "privacy": {"show_excerpts": excerpts}}  # fmt: skip
        settings = Settings.model_validate(tree)
        self.sinks = Sinks(settings)
        self.server = Server(settings, reports=Reports(self.sinks.all), ops=pages(self.sinks, lambda: self.server.fuse))
        await self.server.start()
        self.http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def ask(self, provider: str, session: str, model: str = "large") -> asyncio.Task[None]:
        async def asked() -> None:
            with suppress(aiohttp.ClientError):
                url = f"{self.url}/{provider}/v1/chat/completions"
                body = {**ASK, "model": model}
                async with self.http.post(url, json=body, headers={"x-session-id": session}) as answer:
                    await answer.read()

        self.tasks.append(task := asyncio.create_task(asked()))
        return task

    async def tell(self) -> None:
        """All twelve."""
        for name, script in {
            "slow": (head(), role(), text("Let me think. "), wait("never"), end()), "flaky": DOWN,
            "busy": (head(), role(), wait("never"), end()), "looping": LOOP, "careful": (*LOOP[:-2], *GOOD[3:]),
            "locked": whole({"error": {"message": "no"}}, status=401), "main": DOWN, "spare": GOOD,
        }.items():  # fmt: skip
            self.ups[name].answer(*script)
        over = [self.ask(name, "agent-1") for name in ("looping", "careful", "dead", "locked", "main")]
        for name in ("slow", "flaky", "busy"):
            self.ask(name, "agent-2")
        await self.ups["busy"].until(lambda: len(self.ups["busy"].requests) == 1)
        self.ask("busy", "agent-3")
        left = self.ask("slow", "agent-3")
        await self.ups["slow"].until(lambda: len(self.ups["slow"].requests) == 2)
        left.cancel()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*over, left, return_exceptions=True)
        self._told()

    def _told(self) -> None:
        """What needs an agent of many steps, a healing model or the end of the process, as the sinks hear it."""
        recent = self.sinks.recent
        for number, (outcome, more) in enumerate(
            ((Outcome.OK, "healed"), (Outcome.REFUSED, "refused"), (Outcome.CUT, "drained"))
        ):
            call = RequestInfo(f"told-{number}", "main", "openai_chat", "large", True, "agent-4")
            steps = Finding("doom_loop", Action.REFUSE, Mode.ON, Channel.STEPS, 0, Hit(9, 1, 8, 1, 9.0, {}, {}))
            found = (LoopFound(call, steps, True),) if more == "refused" else ()
            heal = Healed(call, "healed", "thinking", 40, 60, ()) if more == "healed" else None
            recent.hear(_ended(call, outcome, more == "drained", found, heal))

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.http.close()
        await self.server.stop()


def _ended(call: RequestInfo, outcome: Outcome, drained: bool, found: Any, heal: Any) -> Any:
    reason = EndReason.DRAIN if drained else EndReason.DONE
    return replace(ended(outcome, reason, call), findings=found, heal=heal, code="")


@pytest.fixture
async def stories(request: pytest.FixtureRequest) -> AsyncIterator[Stories]:
    names = ("slow", "flaky", "busy", "looping", "careful", "locked", "main", "spare")
    ups = {name: Upstream() for name in names}
    for up in ups.values():
        await up.__aenter__()
    it = Stories()
    await it.start(ups, excerpts=getattr(request, "param", False))
    yield it
    await it.stop()
    for up in ups.values():
        await up.__aexit__(None, None, None)


async def until(there: Callable[[], Any]) -> Any:
    async with asyncio.timeout(LIMIT):
        while not (got := await asyncio.to_thread(there)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return got


def picture(browser: Any, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        browser.save_screenshot(str(Path(folder) / f"page-{name}.png"))


def size(browser: Any, width: int, height: int, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )


async def test_twelve_stories_come_live_and_can_be_read_everywhere(browser: Any, stories: Stories) -> None:
    def run(script: str) -> Any:
        return browser.execute_script(script)

    def shown() -> str:
        return str(run("return document.getElementById('live').innerText"))

    def tells(words: str) -> bool:
        return words in shown()

    size(browser, 1280, 900, "light")
    await asyncio.to_thread(browser.get, stories.url + "/-/")
    await until(lambda: run("return document.getElementById('state').textContent") == "live")
    assert "Nothing has come yet" in await asyncio.to_thread(shown)
    await stories.tell()
    for name, words in STORIES.items():
        try:
            await until(partial(tells, words))
        except TimeoutError:
            pytest.fail(f"{name}: {await asyncio.to_thread(shown)}")
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        await asyncio.to_thread(size, browser, width, 900, scheme)
        assert await asyncio.to_thread(run, "return document.documentElement.scrollWidth") <= width
        await asyncio.to_thread(picture, browser, f"{'phone' if width == 390 else 'wide'}-{scheme}")
    cells = "[...document.querySelectorAll('td')].filter(o => o.innerText.length > 20).map(o => o.offsetWidth)"
    narrow = f"return Math.min(...{cells})"
    assert await asyncio.to_thread(run, narrow) > 150, "a long cell is never a letter wide"

    await asyncio.to_thread(size, browser, 1280, 900, "light")
    active = "return document.activeElement.id || document.activeElement.className"
    keys = webdriver.ActionChains(browser)
    await asyncio.to_thread(keys.send_keys("\ue004").perform)
    assert await asyncio.to_thread(run, active) == "skip", "the first stop of the Tab key leads past the head"
    await asyncio.to_thread(run, "document.getElementById('pause').focus()")
    await asyncio.to_thread(webdriver.ActionChains(browser).send_keys("\ue007").perform)
    assert await until(lambda: run("return document.getElementById('state').textContent") == "paused")
    assert (
        await asyncio.to_thread(run, "return document.getElementById('pause').getAttribute('aria-pressed')") == "true"
    )

    await asyncio.to_thread(browser.get, stories.url + "/-/?outcome=failed&provider=locked")
    assert await until(lambda: "401: the provider does not take the key" in shown())
    assert "answered by spare" not in await asyncio.to_thread(shown)
    await asyncio.to_thread(run, "document.querySelector('#ended ~ table a').click()")
    assert await until(lambda: "try 1 failed" in run("return document.body.innerText"))
    await asyncio.to_thread(picture, browser, "exchange")
    wrong = [entry for entry in await asyncio.to_thread(browser.get_log, "browser") if entry["level"] == "SEVERE"]
    assert not [entry for entry in wrong if "favicon" not in entry["message"]], wrong


EVIL = "</script><script>window.harm=1</script><img src=x onerror='window.harm=2'>\u202e"
HARM = "return [window.harm, document.querySelectorAll('img, iframe, object, [onerror]').length, document.dir]"


@pytest.mark.parametrize("stories", [True], indirect=True)
async def test_what_strangers_choose_is_text_and_breaks_no_layout(browser: Any, stories: Stories) -> None:
    """Models, sessions, error bodies and looping texts (excerpts are on) that want to be markup, or are very long."""
    loop = [text(f"{EVIL} again and again, {'x' * 60} ") for _ in range(60)]
    stories.ups["looping"].answer(head(), role(), *loop, end())
    stories.ups["main"].answer(*whole({"error": {"type": EVIL, "code": EVIL, "message": EVIL * 120}}, status=529))
    stories.ups["spare"].answer(*whole({"error": {"message": "y" * 10_000}}, status=500))
    stories.ups["slow"].answer(head(), role(), text(EVIL), wait("never"), end())
    asked = [stories.ask(name, EVIL[:60] + name, EVIL) for name in ("looping", "main")]
    asked.append(stories.ask("spare", "z" * 9_000, "m" * 10_000))
    stories.ask("slow", "w" * 3_000, "\u202e" + "w" * 200)
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*asked, return_exceptions=True)
    await stories.ups["slow"].until(lambda: len(stories.ups["slow"].requests) == 1)
    await asyncio.to_thread(browser.get, stories.url + "/-/")
    shown = "return document.getElementById('live').innerText"
    await until(lambda: "again and again" in browser.execute_script(shown))
    links = "return [...document.querySelectorAll('#ended ~ table a')].map(a => a.href)"
    pages_ = [stories.url + "/-/", *await asyncio.to_thread(browser.execute_script, links)]
    assert len(pages_) >= 4
    for address in pages_:
        await asyncio.to_thread(browser.get, address)
        for width in (390, 1280):
            await asyncio.to_thread(size, browser, width, 900, "dark")
            wide = await asyncio.to_thread(browser.execute_script, "return document.documentElement.scrollWidth")
            assert wide <= width, f"{address} is {wide} wide"
        await asyncio.to_thread(picture, browser, f"evil-{pages_.index(address)}")
        assert await asyncio.to_thread(browser.execute_script, HARM) == [None, 0, ""], address
