"""When two requests are one."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.after.identity import BodyDigest, Identity, canonical, digest, identify

BODY = {"model": "m", "messages": [{"role": "user", "content": "secret question"}], "stream": True}


def who(headers: dict[str, str], body: Any = BODY, **more: Any) -> Identity:
    given_ = {"provider": "openai", "credential": "sk-secret", "correlation": ["x-corr"], "session": ["x-session-id"]}
    return identify(headers, body, **(given_ | more))


def test_nothing_is_guessed() -> None:
    assert who({}) == Identity(None, None)
    assert who({"x-session-id": " "}) == Identity(None, None)
    assert who({"x-session-id": "s"}, None).key is None


def test_an_explicit_header_wins() -> None:
    one = who({"x-streamfuse-correlation-id": "r1", "x-corr": "r2", "x-session-id": "s"})
    assert one.key == who({"x-streamfuse-correlation-id": "r1"}, {"other": 1}).key
    assert one.session == who({"x-session-id": "s"}).session
    assert who({"x-corr": "r2"}).key != one.key
    assert who({"x-corr": "r2"}).key is not None


def test_a_session_and_the_same_body_are_one_request() -> None:
    first = who({"x-session-id": "s"})
    assert first.key is not None
    again = {"stream": False, "max_tokens": 5, "messages": BODY["messages"], "model": "m", "stream_options": {"x": 1}}
    assert who({"x-session-id": "s"}, again) == first
    assert who({"x-session-id": "t"}).key != first.key
    assert who({"x-session-id": "s"}, BODY | {"temperature": 0}).key != first.key


def test_another_credential_or_provider_is_another_request() -> None:
    for headers in ({"x-session-id": "s"}, {"x-corr": "r"}):
        assert who(headers) != who(headers, credential="sk-other")
        assert who(headers) != who(headers, provider="groq")


def test_nothing_can_be_read_back() -> None:
    said = repr(who({"x-session-id": "my-session", "x-corr": "my-request"}))
    for word in ("secret", "my-session", "my-request"):
        assert word not in said


def test_parts_do_not_run_together() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


def test_a_history_that_goes_on_is_digested_from_where_it_was_known() -> None:
    items = [{"role": "user", "content": f"{n}"} for n in range(9)]
    body = {"model": "m", "messages": items}
    whole = BodyDigest("messages")
    assert whole.at(4) == b""
    assert whole.canonical(body) == canonical(body)
    for known in range(1, 10):
        rest = BodyDigest("messages", {"model": "m"}, items[known:], known, whole.at(known))
        assert rest.canonical({"nothing": "of this"}) == canonical(body)
        assert rest.at(9) == whole.at(9) and rest.at(known - 1) == b""
    unknown = BodyDigest("messages", {}, items[3:], 3, b"")
    assert unknown.canonical(body) == canonical(body) and unknown.at(3) == whole.at(3)


def test_two_histories_have_two_digests() -> None:
    bodies: list[dict[str, object]] = [
        {"messages": [{"a": 1}, {"b": 2}]},
        {"messages": [{"b": 2}, {"a": 1}]},
        {"messages": [{"a": 1}]},
        {"messages": []},
        {"messages": "x"},
        {"input": [{"a": 1}, {"b": 2}]},
        {"other": [{"a": 1}, {"b": 2}]},
    ]
    assert len({canonical(body) for body in bodies}) == len(bodies)


def test_what_json_cannot_say_has_no_key() -> None:
    assert canonical({"x": object()}) is None
    assert who({"x-session-id": "s"}, {"x": object()}).key is None


@given(st.dictionaries(st.text(max_size=4), st.none() | st.integers(-9, 9) | st.text(max_size=4), max_size=5))
@settings(max_examples=100)
def test_order_does_not_matter(body: dict[str, Any]) -> None:
    assert canonical(body) == canonical(dict(reversed(body.items())))
