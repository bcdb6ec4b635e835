"""A request of /messages: what it is about, a reminder put in, unsigned thinking of ours taken out, a prefill."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from ...values.asked import asked
from ...values.brief import Brief
from ...values.delta import Channel
from ...values.notices import has_notice
from ..base import Ask, Change, Json
from ..overlap import prefill
from ..second_request import heal_limits, less, resumable, warmed
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
    """The user's newest words. Tool results and earlier answers hold no wishes."""
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

    Claude signs all its thinking, so there any unsigned thinking is ours: also where a heal let the answer go on behind
    it. Thinking of servers without signatures is theirs to judge, and stays.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    signs = "claude" in str(body.get("model") or "").lower()
    kept = [
        _without_ours(message, isinstance(after, dict) and after.get("role") == "user", signs)
        for message, after in zip_longest(messages, messages[1:])
    ]
    changed = [new is not old for new, old in zip(kept, messages, strict=True)]
    if not any(changed):
        return body
    out: dict[str, Any] = {**body, "messages": [message for message in kept if message is not None]}
    if signs and _thinks(body) and any(changed[_run(messages) :]) and body["thinking"].get("type") == "enabled":
        # While its tools run, a turn goes on as it began, and this one has no signed thinking: a request with thinking
        # on would be refused (docs.claude.com/en/docs/build-with-claude/extended-thinking, "toggling thinking modes").
        out["thinking"] = {"type": "disabled"}
        _without_clearing(out)
    return out


def _run(messages: Sequence[Any]) -> int:
    """Where the newest run begins: behind the last message of the user that is more than results of tools."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        content = message.get("content") if isinstance(message, dict) and message.get("role") == "user" else None
        if isinstance(content, str) or (
            isinstance(content, list)
            and not any(isinstance(part, dict) and part.get("type") == "tool_result" for part in content)
        ):
            return at + 1
    return 0


_LEFT: Final = frozenset({"thinking", "server_tool_use", "mcp_tool_use"})
"""The blocks that a cut may leave behind."""


def _without_ours(message: Any, over: bool, signs: bool) -> Any:
    """An assistant message without the blocks we closed; None where nothing is left of it. `over`: the user has spoken
    since (a paused turn goes on with its server tools). `signs`: the model signs its thinking."""
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
    # A server tool that has called a tool of the client (`caller`), or that runs beside one, gives its result later.
    asked = max((i for i, kind in enumerate(kinds) if kind == "tool_use"), default=-1)
    left = []
    for i, part in enumerate(content):
        unsigned = kinds[i] == "thinking" and not part.get("signature")
        ours = unsigned and (signs or (cut and i > last_call))
        theirs = i > asked and kinds[i] in ("server_tool_use", "mcp_tool_use")
        dangling = over and theirs and part.get("id") not in done
        if not ours and not dangling:
            left.append(part)
    if len(left) == len(content):
        return message
    return {**message, "content": left} if left else None


STYLES: Final = frozenset({"llamacpp", "prefill"})
"""Servers that continue a trailing assistant turn here (Claude up to 4.5 does; vLLM, on this wire, does not)."""


def resume(ask: Ask, transcript: Transcript, style: str) -> Json | None:
    """The shown text as the last, unfinished assistant turn.

    Not after a tool call, under structured output, or with thinking on (the API refuses a prefill then, and an unsigned
    thinking block at any time).
    """
    body = ask.body
    messages = body.get("messages")
    if style not in STYLES or ask.wants_json or not isinstance(messages, list) or not resumable(transcript):
        return None
    shapes = list(transcript.shapes.values())
    limits = less(body, transcript, "max_tokens")
    if _thinks(body) or any(shape.channel is not Channel.TEXT for shape in shapes) or not shapes[-1].open:
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


def heal(ask: Ask, change: Change) -> tuple[Json, list[str]] | None:
    """The second request after a loop.

    Not under structured output; no prefill with thinking on, since the signed thinking would have to be sent back.
    """
    limits = heal_limits(ask.body, change.spent, "max_tokens")
    if ask.wants_json or limits is None or not isinstance(ask.body.get("messages"), list):
        return None
    body: dict[str, Any] = {**ask.body, **limits}
    changed: list[str] = []
    thinks = _thinks(body)
    if not thinks:  # with thinking on the API takes no other temperature than 1
        changed += warmed(body, None if change.hottest is None else min(1.0, change.hottest))
    if change.thinking:
        off = {"type": "disabled"}
        changed += ["thinking"] if body.get("thinking") != off else []
        body["thinking"] = off
        _without_clearing(body)
    messages = body["messages"]
    if change.note:
        said = [{"role": "assistant", "content": change.kept}] if change.kept else []
        return {**body, "messages": [*messages, *said, {"role": "user", "content": change.note}]}, changed
    if change.kept:
        last = messages[-1] if messages else None
        if thinks or change.style not in STYLES:
            return None
        kept = change.kept
        if isinstance(last, dict) and last.get("role") == "assistant":
            given = last.get("content")
            if not isinstance(given, str):
                return None
            messages, kept = messages[:-1], given + kept
        body["messages"] = [*messages, {"role": "assistant", "content": kept}]
    return body, changed


def _thinks(body: Json) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") != "disabled"


def _without_clearing(body: dict[str, Any]) -> None:
    """Take out the order to clear old thinking from the context: the API takes it only while thinking is on."""
    management = body.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    if isinstance(management, dict) and isinstance(edits, list):
        kept = [e for e in edits if not (isinstance(e, dict) and str(e.get("type")).startswith("clear_thinking"))]
        body["context_management"] = {**management, "edits": kept}
        if not kept:
            del body["context_management"]
