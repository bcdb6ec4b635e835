"""The request: what it asks for, how a reminder gets into it, and how it goes on after a broken answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...brief import Brief
from ...delta import Channel
from ...transcript import Transcript
from ..base import Ask, Json

PROMPT_LIMIT = 256 << 10
"""Characters of the request that monitors may read, the newest kept: agents post 40–120 KB (sse-edge-cases §2)."""

_HEARD = frozenset({"system", "developer", "user", "tool", "function"})


def ask(body: Json) -> Ask:
    """Never raises: what has another shape counts as absent."""
    model = body.get("model")
    options = body.get("stream_options")
    form = body.get("response_format")
    count = body.get("n")
    return Ask(
        model=model if isinstance(model, str) else "",
        streaming=body.get("stream") is True,
        wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        has_tools=bool(body.get("tools") or body.get("functions")),
        wants_json=isinstance(form, Mapping) and form.get("type") in ("json_object", "json_schema"),
        choices=count if type(count) is int and 1 <= count <= 128 else 1,
        body=body,
        brief=Brief(lambda: prompt(body)),
    )


def prompt(body: Json) -> str:
    """What the model was told: system, user and tool messages, oldest first, the newest PROMPT_LIMIT characters."""
    texts: list[str] = []
    left = PROMPT_LIMIT
    messages = body.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, Mapping) or message.get("role") not in _HEARD:
            continue
        text = "\n".join(_texts(message.get("content")))[-left:]
        if text:
            texts.append(text)
            left -= len(text)
            if left <= 0:
                break
    return "\n".join(reversed(texts))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield part["text"]


def advise(body: Json, text: str) -> Json:
    """The reminder goes into the last user message, or into a new one after tool results: never before a result, and
    never behind an assistant message that the model is to continue."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return body
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]
    if roles[-1] == "assistant":
        at = max((i for i, role in enumerate(roles) if role == "user"), default=None)
        if at is None:
            return body
    else:
        at = len(messages) - 1
    told = list(messages)
    if roles[at] == "user":
        told[at] = _with_text(messages[at], text)
    else:
        told.append({"role": "user", "content": text})
    return {**body, "messages": told}


def _with_text(message: Json, text: str) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content, {"type": "text", "text": text}]}
    return {**message, "content": f"{content}\n\n{text}" if isinstance(content, str) and content else text}


_STYLES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    # style: (members of the assistant message, members of the body)
    "continue_final_message": ({}, {"continue_final_message": True, "add_generation_prompt": False}),  # vLLM, SGLang
    "llamacpp": ({}, {}),  # llama.cpp continues a trailing assistant message by itself
    "prefix": ({"prefix": True}, {}),  # DeepSeek (beta), Mistral
    "prefill": ({}, {}),  # Claude's older models behind a gateway
}


def resume(ask: Ask, transcript: Transcript, style: str) -> Json | None:
    """The request that goes on right behind the shown text.

    None where the style is unknown or a continuation could contradict what was shown: several choices, logprobs,
    JSON output, any tool call, no text yet, or text that was not kept whole.
    """
    members = _STYLES.get(style)
    messages = ask.body.get("messages")
    if members is None or not isinstance(messages, list) or ask.choices > 1 or ask.wants_json:
        return None
    if ask.body.get("logprobs") or not (transcript.keep and transcript.whole) or transcript.finished:
        return None
    shapes = transcript.shapes.values()
    if any(s.channel not in (Channel.TEXT, Channel.REASONING) or s.block[0] != 0 for s in shapes):
        return None
    text = "".join(s.text for s in shapes if s.channel is Channel.TEXT)
    if not text:
        return None
    in_message, in_body = members
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("role") == "assistant":
        # The client itself asked for a continuation: ours goes on behind it.
        given = messages[-1].get("content")
        if not isinstance(given, str) or messages[-1].get("tool_calls"):
            return None
        messages, text = messages[:-1], given + text
    answer = {"role": "assistant", "content": text, **in_message}
    return {**ask.body, "messages": [*messages, answer], **in_body}
