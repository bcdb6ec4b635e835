"""The request: what it asks for, how a reminder gets into it, and how it goes on after a broken answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...values.asked import asked
from ...values.brief import Brief
from ...values.delta import Channel
from ...values.transcript import Transcript
from ..base import Advice, Ask, Json, less, resumable
from ..overlap import LEAST_WHOLE, prefill

PROMPT_LIMIT = 256 << 10
"""Characters of the request that monitors may read, the newest kept: agents post 30 to 130 KB."""

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
        brief=Brief(lambda: prompt(body), lambda: _asked(body)),
    )


def prompt(body: Json) -> str:
    """What the model was told: system, user and tool messages, oldest first, the newest PROMPT_LIMIT characters."""
    texts: list[str] = []
    left = PROMPT_LIMIT
    messages = body.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, Mapping) or str(message.get("role")) not in _HEARD:
            continue
        text = "\n".join(_texts(message.get("content")))[-left:]
        if text:
            texts.append(text)
            left -= len(text)
            if left <= 0:
                break
    return "\n".join(reversed(texts))


def _asked(body: Json) -> str:
    """What the user says now: tool results and earlier answers are no wishes."""
    given = body.get("messages")
    messages = [m for m in given if isinstance(m, Mapping)] if isinstance(given, list) else []
    system = "\n".join(
        text for m in messages if m.get("role") in ("system", "developer") for text in _texts(m.get("content"))
    )
    return asked(system, ("\n".join(_texts(m.get("content"))) for m in reversed(messages) if m.get("role") == "user"))


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
    "prefill": ({}, {}),  # whoever else does
    "prefix": ({"prefix": True}, {}),  # DeepSeek (beta), Mistral
}
_TEMPLATED = frozenset({"continue_final_message", "llamacpp"})
"""Servers that take `chat_template_kwargs`."""
_SHAPED = (
    "grammar", "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
    "regex", "ebnf",
)  # fmt: skip
"""vLLM's, llama.cpp's and SGLang's own ways to ask for a form: each begins anew with a new request."""


def resume(ask: Ask, transcript: Transcript, style: str, advice: Advice | None = None) -> Json | None:
    """The request that goes on right behind the shown text.

    None where the style is unknown or a continuation could contradict what was shown: several choices, logprobs,
    output in a form, any tool call, no text yet, or text that was not kept whole.
    """
    body = ask.body
    members, messages = _STYLES.get(style), body.get("messages")
    if members is None or not isinstance(messages, list) or ask.choices > 1 or not resumable(transcript):
        return None
    form = body.get("response_format")
    plain = form is None or (isinstance(form, Mapping) and form.get("type") == "text")
    if any(shape.block[1] == "audio" for shape in transcript.shapes.values()):
        return None
    if body.get("logprobs") or not plain or any(body.get(name) for name in _SHAPED):
        return None
    text = transcript.text()
    limits = less(body, transcript, "max_tokens", "max_completion_tokens")
    if advice is not None:
        turns = [{"role": "assistant", "content": advice.turn(text)}, {"role": "user", "content": advice.text}]
        return {**body, **limits, "messages": [*messages, *turns]}
    in_message, in_body = members
    text = prefill(text)
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("role") == "assistant":
        # The client itself asked for a continuation: ours goes on behind it.
        given = messages[-1].get("content")
        if not isinstance(given, str) or messages[-1].get("tool_calls"):
            return None
        messages = messages[:-1]
        if not (len(given) >= LEAST_WHOLE and text.startswith(given)):  # else the answer began with it
            text = given + text
    answer = {"role": "assistant", "content": text, **in_message}
    thought = any(shape.channel is Channel.REASONING for shape in transcript.shapes.values())
    if thought and style in _TEMPLATED:
        # The thinking is over: llama.cpp refuses a prefill while it is on (its issue 20861).
        given = body.get("chat_template_kwargs")
        kwargs = {**(given if isinstance(given, Mapping) else {}), "enable_thinking": False}
        in_body = {**in_body, "chat_template_kwargs": kwargs}
    return {**body, **limits, "messages": [*messages, answer], **in_body}
