"""The shortcut says what the parser would say, or nothing at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.framing.sse import Decoder, Event, encode
from rules.framing.template import TRIES, Template
from rules.framing.varied import Varied
from rules.values.delta import Channel, Delta, Piece, Usage
from rules.values.transcript import Transcript
from rules.wires.openai_responses.numbered import Numbered

BLOCK = (0, "text")


def said(text: str) -> Piece:
    return Piece(BLOCK, Channel.TEXT, text)


def body(text: str, **more: Any) -> bytes:
    return orjson.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": text}}], **more})


def taught(text: str = "Hello", **more: Any) -> Template:
    template = Template()
    template.learn(body(text, **more), said(text))
    return template


def test_an_untaught_template_matches_nothing() -> None:
    assert Template().match(body("x")) is None
    assert Template().match(b"") is None


def test_the_same_chunk_with_another_text_matches() -> None:
    template = taught()
    for text in ("x", "Hello", " world", "日本", "😀", "a" * 1000, "'{}[]: ,", "</s>"):
        assert template.match(body(text)) == said(text)


def test_what_needs_a_parser_does_not_match() -> None:
    template = taught()
    for text in ("", "\x7f", "\u2028", "\ud7ff\u200b"):
        assert template.match(body(text)) is None
    for raw in (
        b"\\ud800",
        b"\\",
        b"\\x",
        b"a\nb",
        b"\\n\nb",
        b"\xff",
        b"\\n\xff",
        b"\xed\xa0\x80",
        b'a","b":"c',
        b'\\\\"',
    ):
        assert template.match(body("@").replace(b"@", raw)) is None


def test_escapes_are_undone() -> None:
    template = taught()
    for text in ('"', "\\", "line\nend", "tab\t", 'end"', "\\n", '\\"', "\x00", "a\u2028\n"):
        assert template.match(body(text)) == said(text)
    assert template.match(body("@").replace(b"@", b"\\u00e9\\/\\ud83d\\ude00")) == said("é/😀")


def padded(text: str, padding: str) -> bytes:
    return body(text, usage=None, obfuscation=padding)


def test_padding_may_be_another_each_time() -> None:
    for event in (bytes, encode):
        template = Template()
        template.learn(event(padded("Hello", "abC1")), said("Hello"))
        for text, padding in [("x", "y"), (" world", ""), ("Hello", "a" * 99), ("abC1", "abC1"), ("line\n", "ab")]:
            assert template.match(event(padded(text, padding))) == said(text)
        for text, padding in [("x", "a b"), ("x", "@S0.1@,{}[]:")]:
            assert template.match(event(padded(text, padding))) == said(text)
        for text, padding in [("", "abc"), ("x", 'a"b'), ("x", "a\\"), ("x", "é"), ('"', "abc")]:
            assert template.match(event(padded(text, padding))) is None
        for padding in ["a\tb", "a\u2028"]:
            assert template.match(event(padded("x", padding))) is None
        assert template.match(event(body("x", usage=None, obfuscation=None))) is None
        assert template.match(event(body("x", usage={}, obfuscation="abc"))) is None
        assert template.match(event(body("x", usage=None, obfuscation="abc", more=1))) is None


@pytest.mark.parametrize("text", ["Hello", "abC1"])
def test_padding_that_is_not_the_last_member_of_all_is_like_any_other(text: str) -> None:
    template = Template()
    data = orjson.dumps({"choices": [{"delta": {"content": text}}], "more": {"obfuscation": "abC1"}})
    template.learn(data, said(text))
    assert template.match(data.replace(b"abC1", b"abC2")) is None
    template.learn(body(text, obfuscation="abC1", more="x"), said(text))
    assert template.match(body(text, obfuscation="abC2", more="x")) is None


def test_a_stream_with_padding_is_not_given_up() -> None:
    template = Template()
    for n in range(3 * TRIES):
        data = padded(f"text {n}", "x" * (n % 5))
        assert template.match(data) == (said(f"text {n}") if n else None)
        if not n:
            template.learn(data, said("text 0"))


FRAGMENTS = [
    *(b'"', b"\\", b'\\"', b"\\n", b"a", b"1", b"b c", b"\n", b"\xc3\xa9", b"\xff", b"\x7f", b"}", b"{", b":", b"null"),
    *(b'"obfuscation":"', b'","', b'"}', b'"}}]', b',"usage":null', b'"delta":{"content":"', b"\\ud83d", b"\\ude00"),
]
pasted = st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(b"".join)


@settings(max_examples=2000, deadline=None)
@given(
    learned=st.sampled_from(["Hello", "n", "a"]),
    padding=st.sampled_from([None, "", "abc", "a b", "n", "@0,{"]),
    text=pasted,
    other=pasted,
    after=st.sampled_from([b"", b"", b"", b"}", b"\n", b',"x":1}']),
)
def test_whatever_matches_parses_to_the_same_object(
    learned: str, padding: str | None, text: bytes, other: bytes, after: bytes
) -> None:
    data = padded(learned, padding) if padding is not None else body(learned)
    template = Template()
    template.learn(data, said(learned))
    head, _, tail = data.partition(b'"' + learned.encode() + b'"')
    if padding is not None and tail.endswith(b'"' + padding.encode() + b'"}'):
        tail = tail[: -len(padding) - 2] + other + b'"}'
    again = head + b'"' + text + b'"' + tail + after
    piece = template.match(again)
    if piece is not None:
        parsed = orjson.loads(again)
        assert parsed["choices"][0]["delta"].pop("content") == piece.text
        assert parsed.pop("obfuscation", "") is not None
        known = orjson.loads(data)
        known["choices"][0]["delta"].pop("content")
        known.pop("obfuscation", None)
        assert parsed == known


def test_another_shape_does_not_match() -> None:
    template = taught()
    assert template.match(body("x", usage={"total_tokens": 1})) is None
    assert template.match(body("x").replace(b'"index":0', b'"index":1')) is None
    assert template.match(body("x").replace(b"content", b"refusal")) is None
    # Head and tail may not overlap in a chunk that is too short for both.
    assert template.match(body("")[:-1]) is None


def test_a_text_that_stands_elsewhere_too_teaches_nothing() -> None:
    assert taught("c").match(body("x")) is None
    assert taught("content").match(body("x")) is None


def test_a_text_that_was_escaped_teaches_nothing() -> None:
    assert taught("a\nb").match(body("x")) is None


def test_a_stream_whose_chunks_all_differ_is_given_up() -> None:
    template = Template()
    for n in range(TRIES + 2):
        template.learn(body(f"text {n}", number=n), said(f"text {n}"))
    assert template.match(body("x", number=TRIES + 1)) is None


def test_use_renews_the_lessons() -> None:
    template = Template()
    for n in range(3 * TRIES):
        template.learn(body(f"text {n}", n=n), said(f"text {n}"))
        assert template.match(body("more", n=n)) == said("more")


texts = st.text(max_size=6) | st.sampled_from(
    ["c", "content", "id", 'q"', "back\\", "\n", " ", "stop", "assistant", ""]
)
deltas = st.fixed_dictionaries(
    {}, optional={name: texts | st.none() for name in ("content", "reasoning", "reasoning_content", "refusal", "role")}
)
chunks = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c", "d"]),
        "choices": st.lists(
            st.fixed_dictionaries(
                {"index": st.integers(0, 1), "delta": deltas},
                optional={"finish_reason": st.sampled_from([None, "stop", ""])},
            ),
            min_size=1,
            max_size=2,
        ),
    },
    optional={"obfuscation": texts, "usage": st.none()},
)


@settings(max_examples=100, deadline=None)
@given(st.lists(chunks, min_size=1, max_size=4), st.lists(st.tuples(st.integers(0, 3), texts), max_size=12))
def test_a_codec_reads_the_same_with_and_without_it(shapes: list[Any], said: list[tuple[int, str]]) -> None:
    wire = wires.get("openai_chat")
    quick, slow = wire.codec(wire.ask({})), wire.codec(wire.ask({}))
    for at, text in said:
        shape = orjson.loads(orjson.dumps(shapes[at % len(shapes)]))
        for choice in shape["choices"]:
            choice["delta"] = {name: text if value else value for name, value in choice["delta"].items()}
        data = orjson.dumps(shape)
        one, two = Event(encode(data), "", data), Event(encode(data), "", data)
        slow._template = Template()  # type: ignore[attr-defined]  # forgets every lesson
        quickly: list[Delta] = list(quick.read(one))
        assert quickly == list(slow.read(two))
        assert one.raw == two.raw


def test_a_forgotten_lesson_matches_nothing() -> None:
    template = taught()
    template.forget()
    assert template.match(body("x")) is None


RECORDINGS = sorted((Path(__file__).parents[2] / "streams").glob("*/*.sse"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recordings_of_every_wire_read_the_same_with_and_without_it(path: Path) -> None:
    wire = wires.get(path.parent.name)
    quick, slow = wire.codec(wire.ask({})), wire.codec(wire.ask({}))
    quick.bind(Transcript())
    slow.bind(Transcript())
    for one, two in zip(Decoder().feed(path.read_bytes()), Decoder().feed(path.read_bytes()), strict=True):
        for name, fresh in (("_template", Template), ("_like", Numbered)):
            shape = getattr(slow, name, None)
            if isinstance(shape, Varied):
                shape.forget()
            elif shape is not None:
                setattr(slow, name, fresh())
        quickly = quick.read(one)
        slowly = slow.read(two)
        # Counts that grow from chunk to chunk are skipped by a shape, and read at the end of the answer.
        assert list(quickly) == [delta for delta in slowly if type(delta) is not Usage or not quick.again]
        assert not slow.again
        assert quick.write(one, quickly) == slow.write(two, slowly)


def test_a_block_that_begins_anew_is_not_taken_for_the_old_one() -> None:
    wire = wires.get("anthropic_messages")
    codec = wire.codec(wire.ask({}))
    codec.bind(Transcript())

    def read(name: str, **members: Any) -> list[Delta]:
        data = orjson.dumps({"type": name, **members})
        return list(codec.read(Event(encode(data, name), name, data)))

    def piece(text: str) -> list[Delta]:
        return read("content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    read("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece("one")
    assert piece("two") == [Piece((0, "0"), Channel.TEXT, "two")]
    assert codec.again
    read("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
    assert not isinstance(piece("three")[0], Piece)
    assert not codec.again


def test_a_text_that_stands_twice_in_its_chunk_teaches_nothing() -> None:
    """It would not be certain which of the two is the text: another text in the first place would be read as said."""
    template = taught("Hello", name="Hello")
    assert template.match(body("Hello", name="other")) is None
    assert template.match(body("other", name="Hello")) is None
