"""The request: what it asks for, how a reminder gets into it, and how it goes on after a broken answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...values.asked import asked
from ...values.brief import Brief
from ...values.delta import Channel
from ...values.transcript import Transcript
from ..base import Ask, Change, Json
from ..overlap import LEAST_WHOLE, prefill
from ..second_request import heal_limits, least_effort, less, resumable, warmed

PROMPT_LIMIT = 256 << 10
"""Characters of the request that monitors may read, the newest kept: agents post 30 to 130 KB."""

_JSON = ("json_object", "json_schema")
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
        wants_usage=options is not None and isinstance(options, Mapping) and options.get("include_usage") is True,
        has_tools=bool(body.get("tools") or body.get("functions")),
        wants_json=form is not None
        and isinstance(form, Mapping)
        and form.get("type") in ("json_object", "json_schema"),
        choices=count if type(count) is int and 1 <= count <= 128 else 1,
        body=body,
        brief=Brief(lambda: prompt(body), lambda: _asked(body)),
    )


def prompt(body: Json) -> str:
    """The text of the system, user and tool messages, oldest first: the newest PROMPT_LIMIT characters."""
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
    """The user's newest words. Tool results and earlier answers hold no wishes."""
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
_LIMITS = ("max_tokens", "max_completion_tokens")
_TEMPLATED = frozenset({"continue_final_message", "llamacpp"})
"""Servers that take `chat_template_kwargs`."""
_SHAPED = (
    "grammar", "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
    "regex", "ebnf",
)  # fmt: skip
"""vLLM's, llama.cpp's and SGLang's own ways to ask for a form: each begins anew with a new request."""


def resume(ask: Ask, transcript: Transcript, style: str) -> Json | None:
    """The request that goes on right behind the shown text.

    None where the style is unknown or a continuation could contradict what was shown: several choices, logprobs,
    output in a form, any tool call, no text yet, or text that was not kept whole.
    """
    body = ask.body
    if style not in _STYLES or not _open_ended(ask) or not resumable(transcript):
        return None
    if any(shape.block[1] == "audio" for shape in transcript.shapes.values()):
        return None
    limits = less(body, transcript, *_LIMITS)
    text = transcript.text()
    going = _continued(body, prefill(text), style)
    if going is None:
        return None
    if any(shape.channel is Channel.REASONING for shape in transcript.shapes.values()) and style in _TEMPLATED:
        # The thinking is over: llama.cpp refuses a prefill while it is on (its issue 20861).
        going["chat_template_kwargs"] = _without_thinking(body)
    return {**body, **limits, **going}


def _open_ended(ask: Ask) -> bool:
    """May another call go on with the answer? Not where several choices, logprobs or output in a form were asked for:
    a second call begins each of them anew."""
    body = ask.body
    form = body.get("response_format")
    plain = form is None or (isinstance(form, Mapping) and form.get("type") == "text")
    formed = not plain or any(body.get(name) for name in _SHAPED)
    return isinstance(body.get("messages"), list) and ask.choices == 1 and not formed and not body.get("logprobs")


def _without_thinking(body: Json) -> dict[str, Any]:
    given = body.get("chat_template_kwargs")
    return {**(given if isinstance(given, Mapping) else {}), "enable_thinking": False}


def heal(ask: Ask, change: Change) -> tuple[Json, list[str]] | None:
    """The second request after a loop. None where the client asked for what a second answer could contradict."""
    limits = heal_limits(ask.body, change.spent, *_LIMITS)
    modalities = ask.body.get("modalities")
    if not _open_ended(ask) or limits is None or (isinstance(modalities, list) and "audio" in modalities):
        return None
    body: dict[str, Any] = {**ask.body, **limits}
    changed = warmed(body, change.hottest)
    if change.thinking:
        changed += _end_thinking(ask, body, change.thinking)
    if change.note:
        said = [{"role": "assistant", "content": change.kept}] if change.kept else []
        return {**body, "messages": [*body["messages"], *said, {"role": "user", "content": change.note}]}, changed
    if change.kept:
        going = _continued(body, change.kept, change.style)
        if going is None:
            return None
        if change.style in _TEMPLATED:
            going["chat_template_kwargs"] = _without_thinking(body)
        body.update(going)
    return body, changed


def _end_thinking(ask: Ask, body: dict[str, Any], way: str) -> list[str]:
    """Write into the body that the model is to answer without thinking, or with as little as it can. Returns the names
    of what changed."""
    new: dict[str, Any] = {}
    given = body.get("reasoning")
    if way == "template" and "gpt-oss" not in ask.model.lower():
        # Templates name the switch `enable_thinking` (Qwen, GLM, Nemotron) or `thinking` (DeepSeek, Kimi, Granite).
        new = {"chat_template_kwargs": {**_without_thinking(body), "thinking": False}}
    elif way == "disabled":
        new = {"thinking": {"type": "disabled"}}
        body.pop("reasoning_effort", None)
    elif way == "flag":
        new = {"enable_thinking": False}
        body.pop("thinking_budget", None)
    elif way == "openrouter":
        kept = {k: v for k, v in given.items() if k == "exclude"} if isinstance(given, Mapping) else {}
        new = {"reasoning": {**kept, "effort": least_effort(ask.model)}}
        body.pop("reasoning_effort", None)
        body.pop("include_reasoning", None)
    else:
        new = {"reasoning_effort": least_effort(ask.model)}
    changed = [name for name, value in new.items() if body.get(name) != value]
    body.update(new)
    return changed


def _continued(body: Json, text: str, style: str) -> dict[str, Any] | None:
    """The members of a request whose answer continues right behind `text`; None where that is not possible."""
    if style not in _STYLES:
        return None
    in_message, in_body = _STYLES[style]
    messages = body["messages"]
    if messages and isinstance(messages[-1], Mapping) and messages[-1].get("role") == "assistant":
        # The client itself asked for a continuation: ours goes on behind it.
        given = messages[-1].get("content")
        if not isinstance(given, str) or messages[-1].get("tool_calls"):
            return None
        messages = messages[:-1]
        if not (len(given) >= LEAST_WHOLE and text.startswith(given)):  # else the answer began with it
            text = given + text
    answer = {"role": "assistant", "content": text, **in_message}
    return {"messages": [*messages, answer], **in_body}
