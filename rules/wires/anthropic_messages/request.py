"""A request of /messages: what it is about, a reminder put in, unsigned thinking of ours taken out, a prefill."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from ...values.asked import asked
from ...values.brief import Brief
from ...values.delta import Channel
from ...values.notices import has_notice
from ..base import Advice, Ask, Json, less, resumable
from ..overlap import prefill
from .grammar import channel_of

if TYPE_CHECKING:
    from ...values.transcript import Transcript

PROMPT_LIMIT: Final = 64 << 10
"""Characters of the request's text a monitor may read, newest last."""


def read(body: Json) -> Ask:
    config = body.get("output_config")
    wants = body.get("output_format") or (config.get("format") if isinstance(config, dict) else None)
    return Ask(
        model=str(body.get("model") or ""),
        streaming=body.get("stream") is True,
        wants_usage=True,
        has_tools=bool(body.get("tools")),
        wants_json=bool(wants),
        body=body,
        brief=Brief(lambda: _prompt(body), lambda: _asked(body)),
    )


def _prompt(body: Json) -> str:
    found = _words(body.get("system"))
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") != "assistant":
            found += _words(message.get("content"))
    return "\n".join(found)[-PROMPT_LIMIT:]


def _asked(body: Json) -> str:
    """What the user says now: tool results and earlier answers are no wishes."""
    given = body.get("messages")
    messages = [m for m in given if isinstance(m, dict)] if isinstance(given, list) else []
    users = (m.get("content") for m in reversed(messages) if m.get("role") == "user")
    return asked(
        "\n".join(_words(body.get("system"))), ("\n".join(_words(content, results=False)) for content in users)
    )


def _words(content: Any, *, results: bool = True) -> list[str]:
    """The texts of a request's content, tool results included unless said otherwise."""
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            if isinstance(part.get("text"), str):
                found.append(part["text"])
            elif results and part.get("type") == "tool_result":
                found += _words(part.get("content"))
    return found


def advise(body: Json, text: str) -> Json:
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    at = max((i for i, m in enumerate(messages) if isinstance(m, dict) and m.get("role") == "user"), default=None)
    if at is None:
        return body
    content = messages[at].get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if not isinstance(parts, list):
        return body
    said = {**messages[at], "content": [*parts, {"type": "text", "text": text}]}
    return {**body, "messages": [*messages[:at], said, *messages[at + 1 :]]}


def clean(body: Json) -> Json:
    """Drop what only a cut leaves behind and the API refuses: unsigned thinking before our notice (or alone in its
    message), and calls of server tools that never got their result although the conversation went on.

    Thinking of servers without signatures is theirs to judge, and stays.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    kept = [
        _without_ours(message, isinstance(after, dict) and after.get("role") == "user")
        for message, after in zip_longest(messages, messages[1:])
    ]
    if all(new is old for new, old in zip(kept, messages, strict=True)):
        return body
    return {**body, "messages": [message for message in kept if message is not None]}


_LEFT: Final = frozenset({"thinking", "server_tool_use", "mcp_tool_use"})
"""The blocks that a cut may leave behind."""


def _without_ours(message: Any, over: bool) -> Any:
    """An assistant message without the blocks we closed; None where nothing is left of it. `over`: the user has spoken
    since (a paused turn goes on with its server tools)."""
    content = message.get("content") if isinstance(message, dict) and message.get("role") == "assistant" else None
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return message
    kinds = [str(part.get("type")) for part in content]
    if _LEFT.isdisjoint(kinds):
        return message
    last_call = max((i for i, kind in enumerate(kinds) if channel_of(kind) is Channel.TOOL), default=-1)
    said = [str(part.get("text")) for part, kind in zip(content, kinds, strict=True) if kind == "text"]
    cut = has_notice(said[-1]) if said else True
    done = [part.get("tool_use_id") for part in content]
    left = []
    for i, part in enumerate(content):
        ours = cut and kinds[i] == "thinking" and i > last_call and not part.get("signature")
        dangling = over and kinds[i] in ("server_tool_use", "mcp_tool_use") and part.get("id") not in done
        if not ours and not dangling:
            left.append(part)
    if len(left) == len(content):
        return message
    return {**message, "content": left} if left else None


STYLES: Final = frozenset({"llamacpp", "prefill"})
"""Servers that continue a trailing assistant turn here (Claude up to 4.5 does; vLLM, on this wire, does not)."""


def resume(ask: Ask, transcript: Transcript, style: str, advice: Advice | None = None) -> Json | None:
    """The shown text as the last, unfinished assistant turn.

    Not after a tool call, under structured output, or with thinking on (the API refuses a prefill then, and an unsigned
    thinking block at any time).
    """
    body = ask.body
    messages, thinking = body.get("messages"), body.get("thinking")
    if style not in STYLES or ask.wants_json or not isinstance(messages, list) or not resumable(transcript):
        return None
    shapes = list(transcript.shapes.values())
    limits = less(body, transcript, "max_tokens")
    if advice is not None:
        said = {"role": "assistant", "content": advice.turn(transcript.text())}
        return {**body, **limits, "messages": [*messages, said, {"role": "user", "content": advice.text}]}
    thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    if thinks or any(shape.channel is not Channel.TEXT for shape in shapes) or not shapes[-1].open:
        return None
    texts = [*(shape.text for shape in shapes[:-1]), prefill(shapes[-1].text)]
    if not all(texts):
        return None
    last = messages[-1] if messages else None
    if isinstance(last, dict) and last.get("role") == "assistant":
        # The client itself asked for a continuation: ours goes on behind it.
        given = last.get("content")
        if not isinstance(given, str):
            return None
        messages, texts = messages[:-1], [given + texts[0], *texts[1:]]
    turn = {"role": "assistant", "content": [{"type": "text", "text": text} for text in texts]}
    return {**body, **limits, "messages": [*messages, turn]}
