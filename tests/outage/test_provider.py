"""The provider fails as its scenario says for as long as it says, and is well afterwards, on every wire."""

import asyncio
import json

import aiohttp
import pytest

from benchmarks.outage.modelled import address, body
from benchmarks.outage.provider import ANSWER, Provider
from benchmarks.outage.scenario import SCENARIOS
from benchmarks.outage.skipping import run

WIRES = ("chat/completions", "responses", "messages", "ollama", "gemini")
EVENT_ENDS = {"ollama": b"}\n", "gemini": b"\r\n\r\n"}
BROKEN = (aiohttp.ClientPayloadError, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError, ConnectionResetError)


def meet(scenario, wire="chat/completions", streaming=True, at=0.0, down=10.0):
    """(status, headers, body, broken, seconds) of a call that comes so many seconds after the outage began."""

    async def main():
        loop = asyncio.get_running_loop()
        provider = Provider(SCENARIOS[scenario], down)
        await provider.start()
        provider.begin()
        await asyncio.sleep(at)
        status, headers, data, broken = None, {}, b"", False
        async with aiohttp.ClientSession() as http:
            try:
                async with http.post(
                    f"{provider.url}{address(wire, streaming)}", json=body(wire, "x", streaming)
                ) as answer:
                    status, headers = answer.status, dict(answer.headers)
                    async for piece in answer.content.iter_any():
                        data += piece
            except BROKEN:
                broken = True
            except TimeoutError:
                pass
        seconds = loop.time() - at
        await provider.stop()
        return status, headers, data, broken, seconds, provider.calls

    return run(main())


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_is_well_after_the_outage(scenario, wire, streaming):
    status, _, data, broken, _, calls = meet(scenario, wire, streaming, at=10.5)
    assert (status, broken, calls) == (200, False, [10.5])
    if streaming:
        assert data.endswith(EVENT_ENDS.get(wire, b"\n\n")) and b"ANSWER-7421." in data
    else:
        assert ANSWER in json.dumps(json.loads(data))


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 529])
def test_a_status_with_and_without_a_hint(code):
    for name, hint in ((str(code), None), (f"{code}+hint", "2")):
        status, headers, data, broken, _, calls = meet(name, at=9.9)
        assert (status, headers.get("Retry-After"), broken, calls) == (code, hint, False, [9.9])
        assert json.loads(data)["error"]["message"]


def test_a_page_for_people():
    status, headers, data, *_ = meet("page")
    assert (status, headers["Content-Type"]) == (502, "text/html") and b"<html>" in data


def test_every_other_call_fails():
    async def main():
        provider = Provider(SCENARIOS["flaky"], 10)
        await provider.start()
        ends = []
        async with aiohttp.ClientSession() as http:
            for _ in range(4):
                async with http.post(f"{provider.url}/v1/messages", json=body("messages", "x", True)) as answer:
                    ends.append(answer.status)
        await provider.stop()
        return ends

    assert run(main()) == [503, 200, 503, 200]


def test_nothing_listens_or_the_connection_breaks():
    assert meet("refused")[::3] == (None, True)
    assert meet("refused")[-1] == []
    status, _, data, broken, _, calls = meet("reset")
    assert (status, data, broken, calls) == (None, b"", True, [0.0])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("scenario", ["cut", "cut-call"])
def test_an_answer_breaks_off(scenario, wire, streaming):
    status, _, data, broken, _, _ = meet(scenario, wire, streaming)
    assert (status, broken) == (200, True)
    assert data and ANSWER.encode() not in data


@pytest.mark.parametrize("wire", WIRES)
def test_an_error_inside_a_200(wire):
    status, _, data, broken, _, _ = meet("fault", wire)
    assert (status, broken) == (200, False)
    assert b"The engine has died." in data and b"ANSWER" not in data


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_stands_still(wire, streaming):
    status, _, data, broken, seconds, _ = meet("stall", wire, streaming)
    assert (status, broken, seconds) == (200, False, 300) and data and ANSWER.encode() not in data


def test_silence_lasts_beyond_the_outage_and_slowness_ends_well():
    status, _, data, broken, seconds, _ = meet("silent")
    assert (status, data, broken, seconds) == (None, b"", False, 300)  # aiohttp's own limit
    status, _, data, broken, seconds, _ = meet("slow")
    assert (status, broken, seconds) == (200, False, 40) and b"ANSWER-7421." in data


def test_what_is_no_call_for_an_answer_is_not_counted():
    async def main():
        provider = Provider(SCENARIOS["500"], 10)
        await provider.start()
        async with aiohttp.ClientSession() as http:
            async with http.head(provider.url) as answer:
                assert answer.status == 404
            async with http.get(f"{provider.url}/v1/models") as answer:
                assert answer.status == 404
        await provider.stop()
        return provider.calls

    assert run(main()) == []
