"""What repeated, on the page: only when asked for, only a little, and no credential that can be recognised."""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.observers.excerpts import KEPT, MASK, MOST, Excerpts, masked
from proxy.observers.journal import JournalObserver
from proxy.observers.metrics import MetricsObserver
from proxy.observers.recent import RecentObserver
from proxy.observers.reports import Reports
from proxy.page.page import View, page
from proxy.server.app import Server
from proxy.settings.load import Settings
from rules.detect import packs
from rules.during.batching import Batch
from rules.values.delta import Channel
from rules.values.verdict import Finding, Mode
from tests.upstream import Upstream, done, finish, head, role, text, whole

UNIT = "the moon <b>rises</b> over spam, "
PROMPT = "Dolores has diabetes"
RULES = packs.assemble(["default"])


def found(text: str, size: int, channel: Channel = Channel.TEXT, key: str = "0") -> tuple[Excerpts, Finding]:
    """The first finding in a text that comes in pieces of this size."""
    excerpts = Excerpts()
    watch = excerpts.over(RULES).watch()
    for at in range(0, len(text), size):
        for finding in watch.feed(0, channel, key, text[at : at + size]):
            return excerpts, finding
    raise AssertionError("no rule fired")


# what is taken ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("channel", [Channel.TEXT, Channel.REASONING, Channel.TOOL])
def test_one_copy_is_shown_however_the_text_comes(channel, size):
    excerpts, finding = found("Once upon a time. " + UNIT * 60 + "The end of it all, at last. " * 2, size, channel)
    said = excerpts.of(finding)
    assert len(said) == finding.hit.period == len(UNIT)
    assert said in UNIT * 2


def test_of_a_long_unit_only_the_end_is_shown():
    unit = " ".join(f"word{n} and more" for n in range(80)) + ". "
    excerpts, finding = found(unit * 6, 5)
    said = excerpts.of(finding)
    assert len(said) <= MOST
    assert said in unit * 2


def test_the_verdict_is_the_same_with_and_without():
    text = "Once upon a time. " + UNIT * 60
    plain = RULES.watch()
    first = next(f for at in range(0, len(text), 3) for f in plain.feed(0, Channel.TEXT, "0", text[at : at + 3]))
    _, finding = found(text, 3)
    assert first == finding
    assert isinstance(Batch(Excerpts().over(RULES).watch()), Batch)
    assert [*Excerpts().over(RULES)] == [*RULES]


def test_each_finding_has_its_own_block():
    units = {(0, "a"): "one two three ", (0, "b"): "four five six ", (1, "a"): "seven eight "}
    excerpts = Excerpts()
    watch = excerpts.over(RULES).watch()
    findings: dict[tuple[int, str], Finding] = {}
    for _ in range(80):
        for (choice, key), unit in units.items():
            for finding in watch.feed(choice, Channel.TOOL, key, unit):
                findings.setdefault((choice, key), finding)
    assert findings.keys() == units.keys()
    for where, finding in findings.items():
        said = excerpts.of(finding)
        assert said
        assert said in units[where] * 2


def test_what_nobody_knows_is_nothing():
    _, finding = found(UNIT * 60, 9)
    assert Excerpts().of(finding) == ""


def test_no_more_is_kept_than_is_needed():
    watch = Excerpts().over(RULES).watch()
    for choice in range(40):
        watch.feed(choice, Channel.TEXT, "0", "a b c d e " * 1000)
    tails = watch._tails  # type: ignore[attr-defined]
    assert len(tails) <= 16
    assert all(len(tail) <= KEPT for tail, _ in tails.values())


def test_a_mode_that_is_off_watches_nothing():
    watch = Excerpts().over(RULES).watch(mode=Mode.OFF)
    assert not any(watch.feed(0, Channel.TEXT, "0", UNIT) for _ in range(60))


# what is masked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-1234567890abcdef",
        "ghp_abcdefABCDEF0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-1234567890_abcdefghijk",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
        "Bearer abc123.def-456",
        "password: hunter22",
        '"api_key": "correct-horse"',
        "API-KEY=correct-horse",
        "Authorization: Basic dXNlcjpwYXNz",
        "https://user:pa55word@host",
        "d41d8cd98f00b204e9800998ecf8427e",
        "Zx9kQ2mN8vB4cR7tY1wE5uI0",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n",
    ],
)
def test_what_looks_like_a_credential_is_masked(secret):
    for value in secret.replace("https://", "").replace("@host", "").split()[-1:]:
        assert value.strip('"') not in masked(f"so I set {secret} and went on")
    assert len(masked(secret)) == len(secret)


@pytest.mark.parametrize(
    "said",
    [
        "The token generation is basic and the bearer of the ring has no password policy.",
        "src/streamfuse/proxy/observers/recent_observer_2.py",
        "ideas, ideas, ideas; internationalization of the counterrevolutionaries",
        "a_long_snake_case_identifier_name_of_version_2",
        "------------------------------------------------",
        "https://example.org/a/long/path?with=arguments",
    ],
)
def test_usual_text_is_left_alone(said):
    assert masked(said) == said


@given(st.text(max_size=2000) | st.text(alphabet="sk-eyJ:/@= aB1", max_size=2000))
def test_masking_keeps_lengths(said):
    assert len(masked(said)) == len(said)


@pytest.mark.parametrize("sign", [*"a-1A_=:/@ ", "sk-", "token=", "Bearer ", "eyJ", "aB1", "://"])
def test_masking_ends_on_any_input(sign):
    assert len(masked(sign * 700)) == len(sign) * 700


def test_a_key_is_masked_in_an_excerpt_even_where_the_unit_begins_inside_it():
    unit = "retry with sk-proj-1234567890abcdef please, "
    for lead in range(0, len(unit), 5):
        excerpts, finding = found(unit[lead:] + unit * 40, 11)
        said = excerpts.of(finding)
        assert MASK in said
        assert "1234567890" not in said and "cdef" not in said and "proj" not in said


# where it is shown ------------------------------------------------------------------------------------------


async def told(up: Upstream, client: aiohttp.ClientSession, show: bool, stream: bool) -> tuple[str, RecentObserver]:
    """(journal and metrics, the ring) of one looping answer."""
    said = io.StringIO()
    metrics, recent = MetricsObserver(), RecentObserver(9, lambda: 0.0)
    journal = JournalObserver(format="json", level="debug", stream=said)
    tree: dict[str, Any] = {"listen": {"port": 0}, "upstream": f"{up.url}/v1", "privacy": {"show_excerpts": show}}
    server = Server(Settings.model_validate(tree), reports=Reports([journal, metrics, recent]))
    await server.start()
    try:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": PROMPT}]}
        async with client.post(url, json=body) as answer:
            await answer.read()
    finally:
        await server.stop()
    return said.getvalue() + metrics.exposition().decode(), recent


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("show", [True, False])
async def test_excerpts_are_on_the_page_alone_and_only_when_asked_for(up, client, show, stream):
    if stream:
        up.answer(head(), role(), *(text(UNIT) for _ in range(60)), finish("length"), done())
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": UNIT * 60}, "finish_reason": "length"}
        up.answer(*whole({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}))
    elsewhere, recent = await told(up, client, show, stream)
    assert "refrain" in elsewhere
    assert "spam" not in elsewhere
    (row,) = recent.newest()
    (finding,) = row["findings"]
    shown = page(View(recent.newest()))
    assert PROMPT not in str(row) + shown
    if show:
        assert finding["excerpt"] in UNIT * 2
        assert "&lt;b&gt;" in shown
        assert "<b>" not in shown
    else:
        assert "excerpt" not in finding
        assert "spam" not in str(row) + shown
