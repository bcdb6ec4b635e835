"""Whose requests come in: programs' as ever, browsers' only for pages that the config names, and only by our names."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict
from pydantic import ValidationError

from proxy.observers.reports import Ended, Outcome
from proxy.server.app import Server
from proxy.settings.service.doors import Doors, no_method
from proxy.settings.service.listen import Listen
from tests.proxy.conftest import Heard, Start
from tests.proxy.server.test_app import exchange, url
from tests.upstream import Upstream, whole

EVIL = "https://evil.example"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
WHOLE = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
}  # fmt: skip


def code(doors: Doors, own: bool = False, **headers: str) -> str:
    """The refusal's code, "" where the request comes in. `sec_fetch_site` is Sec-Fetch-Site."""
    given = CIMultiDict(
        {"Host": "127.0.0.1:8787", **{name.replace("_", "-"): value for name, value in headers.items()}}
    )
    no = doors.refusal(given, own=own)
    return no.code if no is not None else ""


# --- Host ------------------------------------------------------------------------------------------------------------
HERE = ["localhost", "localhost:8787", "LOCALHOST:8787", "localhost.:8787", "a.localhost:8787", "127.0.0.1",
        "127.0.0.1:9999", "127.1:8787", "[::1]:8787", "[::ffff:127.0.0.1]", "192.168.1.5:8787",
        "host.docker.internal:8787",
        "2130706433", "0x7f.1"]  # fmt: skip
ELSEWHERE = ["evil.example", "rebind.evil.example:8787", "localhost.evil.example", "127.0.0.1.nip.io:8787",
             "evil.example.", "127.0.0.1@evil.example", "evil.example/127.0.0.1", "evil.example:80:80",
             "[evil.example]",
             "a b.example", "münchen.example", "x.local.evil.example"]  # fmt: skip


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("bound", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.168.1.5"])
def test_names_that_are_ours_wherever_we_listen(bound: str, host: str) -> None:
    doors = Doors(bound)
    assert [code(doors, own, Host=host) for own in (False, True)] == ["", ""], "and the same when it is known"
    assert code(doors, Host=host) == ""


@pytest.mark.parametrize("host", ELSEWHERE)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0", "192.168.1.5"])
def test_names_that_a_web_page_may_have(bound: str, host: str) -> None:
    doors = Doors(bound, hosts=("llm.example.com",))
    assert code(doors, Host=host) == code(doors, Host=host) == "streamfuse_host_refused"


CONTAINERS = ["streamfuse:8787", "llm.default", "llm.prod.svc:80", "llm.prod.svc.cluster.local", "box.local", "nas.lan",
              "vm.internal", "x.home.arpa"]  # fmt: skip


@pytest.mark.parametrize("host", CONTAINERS)
def test_names_inside_a_network_of_containers(host: str) -> None:
    assert code(Doors("0.0.0.0"), Host=host) == code(Doors("0.0.0.0"), own=True, Host=host) == ""


def test_a_name_without_a_dot_on_a_loopback_is_a_program_s() -> None:
    """Whoever runs the local network could make such a name lead to a page of theirs, and then to us."""
    doors = Doors("127.0.0.1")
    assert code(doors, Host="x") == "", "nobody on the internet can have it"
    assert code(doors, own=True, Host="x") == "streamfuse_host_refused"
    assert (
        code(doors, Host="x:8787", Origin="http://x:8787", sec_fetch_site="same-origin") == "streamfuse_origin_refused"
    )
    assert code(doors, Host="box.local") == "streamfuse_host_refused"


def test_hosts_of_the_config() -> None:
    doors = Doors("127.0.0.1", hosts=Listen(hosts=["LLM.example.com:443", "*.apps.example.com", "[fd00::1]"]).hosts)
    for host in (
        "llm.example.com",
        "LLM.EXAMPLE.COM:8443",
        "a.apps.example.com",
        "a.b.apps.example.com",
        "[fd00::1]:1",
    ):
        assert code(doors, own=True, Host=host) == ""
    for host in ("apps.example.com", "evilapps.example.com", "example.com", "x.llm.example.com"):
        assert code(doors, Host=host) == "streamfuse_host_refused"
    assert code(Doors("127.0.0.1", hosts=("*",)), Host="evil.example") == ""


def test_no_host_is_an_old_program() -> None:
    assert Doors("127.0.0.1").refusal(CIMultiDict()) is None
    assert code(Doors("127.0.0.1"), Host="") == ""


def test_what_is_remembered_is_bounded() -> None:
    doors = Doors("127.0.0.1")
    for n in range(2000):
        assert code(doors, Host=f"h{n}.example") == "streamfuse_host_refused"
    assert len(doors._known) <= 256
    assert code(doors, Host="localhost") == ""


# --- Origin and Sec-Fetch-Site ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:3000", "http://127.0.0.1:8788", "file://", "",
                                    "http://127.0.0.1", "app://obsidian.md", "ftp://127.0.0.1:8787", "x",
                                    "http://127.0.0.1:8787.evil.example", "http://user@127.0.0.1:8787"])  # fmt: skip
@pytest.mark.parametrize("site", [None, "cross-site", "same-site", "same-origin", "none"])
def test_pages_that_nobody_named(origin: str, site: str | None) -> None:
    more = {"sec_fetch_site": site} if site else {}
    for own in (False, True):
        assert code(Doors("127.0.0.1"), own, Origin=origin, **more) == "streamfuse_origin_refused"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "nonsense"])
def test_a_request_without_an_origin_that_another_site_makes(site: str) -> None:
    """An image, a link, a script, a form of an old browser."""
    assert code(Doors("127.0.0.1"), sec_fetch_site=site) == "streamfuse_origin_refused"
    assert code(Doors("127.0.0.1"), own=True, sec_fetch_site=site) == "streamfuse_origin_refused"


def test_a_person_at_the_address_bar_and_our_own_page() -> None:
    doors = Doors("127.0.0.1")
    assert code(doors, own=True, sec_fetch_site="none", sec_fetch_mode="navigate") == ""
    assert code(doors, own=True, sec_fetch_site="same-origin") == ""
    assert code(doors, own=True, Origin="http://127.0.0.1:8787", sec_fetch_site="same-origin") == ""
    assert code(doors, Host="localhost", Origin="http://localhost") == ""
    assert code(doors, Origin="http://127.0.0.1:8787", sec_fetch_site="cross-site") == "streamfuse_origin_refused"


def test_a_link_to_our_page_may_be_clicked_but_not_framed_nor_led_upstream() -> None:
    doors = Doors("127.0.0.1")
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert code(doors, own=True, **link) == ""
    assert code(doors, own=False, **link) == "streamfuse_origin_refused"
    assert code(doors, own=True, **link | {"sec_fetch_dest": "iframe"}) == "streamfuse_origin_refused"
    given = CIMultiDict({"Host": "127.0.0.1:8787", **{name.replace("_", "-"): value for name, value in link.items()}})
    assert doors.refusal(given, own=True) is None
    assert doors.refusal(given, own=True, reads=False) is not None, "nor may it change anything here"


def test_one_right_origin_does_not_cover_for_another() -> None:
    ours, other = "http://127.0.0.1:8787", "https://evil.example"
    for origins in ([ours, other], [other, ours]):
        given = CIMultiDict([("Host", "127.0.0.1:8787"), *(("Origin", one) for one in origins)])
        assert Doors("127.0.0.1").refusal(given) is not None


def test_a_rebound_name_is_no_page_of_ours() -> None:
    told: dict[str, Any] = {
        "Host": "evil.example:8787",
        "Origin": "http://evil.example:8787",
        "sec_fetch_site": "same-origin",
    }
    assert code(Doors("127.0.0.1"), **told) == code(Doors("0.0.0.0"), **told) == "streamfuse_host_refused"


NAMED = Doors("127.0.0.1", origins=Listen(origins=["https://Chat.example.com/", "http://localhost:*", "app://obsidian.md",
                                                   "vscode-webview://*", "https://*.example.org"]).origins)  # fmt: skip


@pytest.mark.parametrize("origin", ["https://chat.example.com", "http://localhost:3000", "app://obsidian.md",
                                    "vscode-webview://0abc-1", "https://a.example.org",
                                    "https://a.b.example.org"])  # fmt: skip
def test_pages_that_the_config_names(origin: str) -> None:
    for site in ("cross-site", "same-site"):
        assert code(NAMED, Origin=origin, sec_fetch_site=site) == ""


@pytest.mark.parametrize("origin", ["http://chat.example.com", "https://chat.example.com:444", "http://localhost",
                                    "null",
                                    "https://chat.example.com.evil.example", "https://evil.example:1.example.org",
                                    "https://evil.example/.example.org", "https://example.org", "app://obsidian.md.x",
                                    "http://localhost:3000.evil.example:80"])  # fmt: skip
def test_pages_that_only_look_like_them(origin: str) -> None:
    assert code(NAMED, Origin=origin) == "streamfuse_origin_refused"


def test_two_origins_in_one_request() -> None:
    both = CIMultiDict([("Host", "localhost"), ("Origin", "https://chat.example.com"), ("Origin", EVIL)])
    assert NAMED.refusal(both) is not None


def test_null_and_everything() -> None:
    assert Listen(origins=[None]).origins == Listen(origins="null").origins == ("null",)
    assert Listen(origins=None).origins == ()
    assert code(Doors("127.0.0.1", origins=("null",)), Origin="null") == ""
    assert code(Doors("127.0.0.1", origins=("null",)), Origin=EVIL) == "streamfuse_origin_refused"
    assert code(Doors("127.0.0.1", origins=("*",)), Origin=EVIL) == ""


def test_the_refusal_says_what_to_write_and_can_be_read_by_a_machine() -> None:
    doors = Doors("127.0.0.1")
    no = doors.refusal(CIMultiDict({"Host": "llm.example.com:8080"}))
    assert no is not None and 'listen: {hosts: ["llm.example.com"]}' in no.message
    no = doors.refusal(CIMultiDict({"Host": "localhost", "Origin": "vscode-webview://1x"}))
    assert no is not None and 'listen: {origins: ["vscode-webview://1x"]}' in no.message
    no = doors.refusal(CIMultiDict({"Host": "localhost", "Origin": 'x"]}, y: <b>\n' + "z" * 5000}))
    assert no is not None and "<" not in no.message and "\n" not in no.message and len(no.message) < 800


@pytest.mark.parametrize("wrong", [{"hosts": ["http://a.example"]}, {"hosts": ["a/b"]}, {"hosts": ["a.*.b"]},
                                   {"hosts": [""]},
                                   {"origins": ["chat.example.com"]}, {"origins": ["https://a.example/path"]},
                                   {"origins": ["file://"]}, {"origins": [""]}])  # fmt: skip
def test_what_is_no_host_and_no_origin(wrong: dict[str, list[str]]) -> None:
    with pytest.raises(ValidationError):
        Listen.model_validate(wrong)


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT"])
def test_methods_that_would_hand_the_key_back(method: str) -> None:
    no = no_method(method)
    assert no is not None and no.status == 405
    assert no_method("POST") is None


# --- over HTTP -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kind", ["text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/json", None]
)
@pytest.mark.parametrize("marks", [{"Origin": EVIL, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
                                   {"Origin": EVIL}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"},
                                   {"Origin": "http://localhost:1", "Sec-Fetch-Site": "same-site"}])  # fmt: skip
async def test_a_web_page_spends_nothing(
    up: Upstream, start: Start, client: aiohttp.ClientSession, kind: str | None, marks: dict[str, str]
) -> None:
    server = await start(provider={"api_key": "sk-provider"})
    headers = marks | ({"Content-Type": kind} if kind else {})
    for method in ("POST", "GET", "OPTIONS", "PUT", "DELETE"):
        for path in ("/v1/chat/completions", "/v1/models", "/up/v1/messages", "/anything"):
            async with client.request(method, url(server, path), headers=headers, data=b'{"model":"m"}') as answer:
                assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers
                assert (await answer.json())["error"]
    assert up.requests == []


async def test_the_refusal_is_told_and_in_the_wire_s_shape(
    start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start()
    async with client.post(url(server, "/v1/messages"), json=ASK, headers={"Origin": EVIL}) as answer:
        told = await answer.json()
        assert told["type"] == "error" and "listen: {origins" in told["error"]["message"]
    ended = heard.of(Ended)[0]
    assert (ended.outcome, ended.code) == (Outcome.REJECTED, "streamfuse_origin_refused")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/v1/models", "/up/v1/models", "/-/x", "/nothing"])
async def test_a_rebound_name_reads_nothing_on_any_path(up: Upstream, start: Start, path: str) -> None:
    server = await start(provider={"api_key": "sk-provider"})
    request = f"GET {path} HTTP/1.1\r\nHost: rebind.evil.example:{server.port}\r\nConnection: close\r\n\r\n"
    answer = await exchange(server, request.encode())
    assert answer.split(b" ")[1] in (b"403", b"404") and b"alive" not in answer and b"ready" not in answer
    assert up.requests == []


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-www-form-urlencoded"])
async def test_programs_are_served_as_ever(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, kind: str
) -> None:
    """Node's fetch says Sec-Fetch-Mode, but not whose page asks: it has none."""
    import json

    up.answer(*whole(WHOLE))
    headers = {"Content-Type": kind, "Sec-Fetch-Mode": "cors", "Referer": "https://myapp.example"}
    async with client.post(url(proxy, "/v1/chat/completions"), data=json.dumps(ASK), headers=headers) as answer:
        assert answer.status == 200
    assert len(up.requests) == 1


PREFLIGHT = {
    "Origin": "http://localhost:5173",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang",
}
PAGE = {"listen": {"port": 0, "origins": ["http://localhost:5173"]}}


@pytest.mark.parametrize("auth", [{}, {"keys": ["ours"]}])
async def test_a_preflight_is_ours_to_answer(
    up: Upstream, start: Start, client: aiohttp.ClientSession, auth: dict[str, list[str]]
) -> None:
    server = await start(**PAGE, auth=auth, provider={"api_key": "sk-provider"})
    more = {"Access-Control-Request-Private-Network": "true"}
    async with client.options(url(server, "/v1/chat/completions"), headers=PREFLIGHT | more) as answer:
        assert (answer.status, await answer.read()) == (204, b"")
        assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:5173"
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
        assert answer.headers["Access-Control-Allow-Headers"] == "authorization,content-type,x-stainless-lang"
        assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
        assert "Origin" in answer.headers["Vary"] and "Access-Control-Allow-Credentials" not in answer.headers
    async with client.options(url(server, "/v1/models"), headers=PREFLIGHT | {"Origin": EVIL}) as answer:
        assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers
    bad = PREFLIGHT | {"Access-Control-Request-Headers": "a: b"}
    async with client.options(url(server, "/v1/models"), headers=bad) as answer:
        assert "Access-Control-Allow-Headers" not in answer.headers
    assert up.requests == []


async def test_a_page_that_may_reads_answers_and_errors(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(**PAGE)
    page = {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "cross-site"}
    up.answer(*whole(WHOLE, access_control_allow_origin="*", access_control_allow_credentials="true",
                     vary="Accept-Encoding", x_request_id="r1"))  # fmt: skip
    async with client.post(url(server, "/v1/chat/completions"), json=ASK, headers=page) as answer:
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "http://localhost:5173")
        assert answer.headers.getall("Access-Control-Allow-Origin") == ["http://localhost:5173"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert answer.headers["Vary"] == "Accept-Encoding, Origin"
        shown = answer.headers["Access-Control-Expose-Headers"]
        assert "x-request-id" in shown and "x-streamfuse-request-id" in shown
    async with client.get(url(server, "/v1/models"), headers=page | {"x-streamfuse-mode": "loud"}) as answer:
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (400, "http://localhost:5173")
    async with client.get(url(server, "/healthz"), headers=page) as answer:
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "http://localhost:5173")
    async with client.get(url(server, "/healthz")) as answer:
        assert "Access-Control-Allow-Origin" not in answer.headers and answer.headers["Vary"] == "Origin"


async def test_what_the_upstream_lets_pages_read_is_not_passed_on(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(*whole({"data": []}, access_control_allow_origin="*", access_control_expose_headers="x"))
    async with client.get(url(proxy, "/v1/models")) as answer:
        assert answer.status == 200 and not [
            name for name in answer.headers if name.lower().startswith("access-control")
        ]


async def test_trace_and_connect_go_nowhere(up: Upstream, start: Start) -> None:
    server = await start(provider={"api_key": "sk-provider"})
    for line in (b"TRACE /v1/models HTTP/1.1", b"CONNECT 127.0.0.1:22 HTTP/1.1", b"trace /v1/models HTTP/1.1"):
        answer = await exchange(server, line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answer.split(b" ")[1] in (b"400", b"404", b"405"), answer
    assert up.requests == []


@pytest.mark.parametrize("path", ["..;/admin", "..;a=1/admin", "%252e%252e/admin", "%25252e%25252e/x",
                                  "..%252f..%252fadmin",
                                  "..%00/x", "x%00y", "x%2500", ".%2e;/x", "%2e%2e%3b/x", "..%5cadmin", "%25255c",
                                  "%25252525252525252e", ";/../x", ".;/x"])  # fmt: skip
async def test_paths_that_some_server_would_read_as_a_step_upwards(up: Upstream, proxy: Server, path: str) -> None:
    answer = await exchange(proxy, f"GET /v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert b" 400 " in answer.split(b"\r\n")[0]
    assert up.requests == []


@pytest.mark.parametrize("path", ["models/gpt-4.1", "models/org%2Fname", "files/a%20b.txt", "x;p=1/y", "models/a%252Fb",
                                  "files/...", "files/..a", "models/ft:gpt-4o:org::id", "x%C3%BC"])  # fmt: skip
async def test_paths_that_are_fine(up: Upstream, proxy: Server, path: str) -> None:
    await exchange(proxy, f"GET /v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert [request.target for request in up.requests] == [f"/v1/{path}"]


async def test_hosts_by_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    from proxy.settings.load import load

    environ = {
        "STREAMFUSE_UPSTREAM": "http://h/v1",
        "STREAMFUSE_LISTEN__HOSTS": "*.example.com",
        "STREAMFUSE_LISTEN__ORIGINS": "app://obsidian.md,http://localhost:3000",
    }
    listen = load(None, {}, environ).listen
    assert (listen.hosts, listen.origins) == (("*.example.com",), ("app://obsidian.md", "http://localhost:3000"))


async def test_the_second_port_has_the_same_doors(start: Start) -> None:
    server = await start(ops={"port": 0})
    reader, writer = await asyncio.open_connection("127.0.0.1", server.ops_port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert b" 403 " in await reader.readline()
    writer.close()
