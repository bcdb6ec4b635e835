"""A request of Ollama: what it asks for, how it goes on after a broken answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...values.asked import asked
from ...values.brief import Brief
from ...values.delta import Channel
from ..base import Ask, Change, Json
from ..openai_chat import request as chat
from ..overlap import LEAST_WHOLE, prefill
from ..second_request import heal_limits, resumable, warmed
from .codec import generate

if TYPE_CHECKING:
    from ...values.transcript import Transcript

PROMPT_LIMIT: Final = 256 << 10
"""Characters of the prompt that monitors may read, the newest kept."""


def ask(body: Json, call: str) -> Ask:
    """`messages` are those of the chat wire; streaming is the default here. Never raises."""
    known = replace(
        chat.ask(body),
        streaming=body.get("stream") is not False,
        wants_usage=True,
        has_tools=bool(body.get("tools")),
        wants_json=bool(body.get("format")),
        choices=1,
        call=call,
    )
    return replace(known, brief=Brief(lambda: _prompt(body), lambda: _asked(body))) if generate(known) else known


def _prompt(body: Json) -> str:
    return "\n".join(text for name in ("system", "prompt") if isinstance(text := body.get(name), str))[-PROMPT_LIMIT:]


def _asked(body: Json) -> str:
    system, prompt = body.get("system"), body.get("prompt")
    return asked(system if isinstance(system, str) else "", [prompt] if isinstance(prompt, str) else [])


def resume(ask: Ask, transcript: Transcript, style: str) -> Json | None:
    """The request that goes on right behind the shown text: a trailing assistant message, which Ollama's templates
    continue. None for `/api/generate` (its template closes the turn, except where `raw` is set) and for output in a
    form."""
    body = ask.body
    if style != "prefill" or ask.wants_json or not resumable(transcript):
        return None
    text = transcript.text(tagged=True)
    more: dict[str, Any] = {}
    options = body.get("options")
    if isinstance(options, dict) and type(options.get("num_predict")) is int and options["num_predict"] > 0:
        more["options"] = {**options, "num_predict": max(1, options["num_predict"] - transcript.earlier)}
    if any(shape.channel is Channel.REASONING for shape in transcript.shapes.values()):
        more["think"] = False  # the thinking is over: else the template opens it again
    if generate(ask):
        prompt = body.get("prompt")
        if body.get("raw") is not True or not isinstance(prompt, str):
            return None
        return {**body, **more, "prompt": prompt + prefill(text)}
    messages = continued(body, prefill(text))
    return None if messages is None else {**body, **more, "messages": messages}


def continued(body: Json, text: str) -> list[Any] | None:
    """The messages with a trailing assistant message of this text; None where there is no such place."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    if messages and isinstance(messages[-1], dict) and messages[-1].get("role") == "assistant":
        # The client itself asked for a continuation: ours goes on behind it.
        given = messages[-1].get("content")
        if not isinstance(given, str) or messages[-1].get("tool_calls"):
            return None
        messages = messages[:-1]
        if not (len(given) >= LEAST_WHOLE and text.startswith(given)):  # else the answer began with it
            text = given + text
    return [*messages, {"role": "assistant", "content": text}]


def heal(ask: Ask, change: Change) -> tuple[Json, list[str]] | None:
    """The second request after a loop: thinking off is `think: false` here, sampling stands in `options`.

    None for output in a form, and for `/api/generate` where anything of the first answer is to be kept, unless its
    prompt goes to the model as it is (`raw`)."""
    body: dict[str, Any] = dict(ask.body)
    given = body.get("options")
    options = dict(given) if isinstance(given, dict) else {}
    bounded = type(options.get("num_predict")) is int and options["num_predict"] > 0  # -1 and -2 mean no limit
    limits = heal_limits(options, change.spent, *(["num_predict"] if bounded else []))
    if ask.wants_json or limits is None or (generate(ask) and change.note):
        return None
    if change.note and not isinstance(body.get("messages"), list):
        return None
    options |= limits
    changed = warmed(options, change.hottest)
    if options:
        body["options"] = options
    if change.thinking:
        changed += ["think"] if body.get("think") is not False else []
        body["think"] = False
    if change.note:
        said = [{"role": "assistant", "content": change.kept}] if change.kept else []
        body["messages"] = [*body["messages"], *said, {"role": "user", "content": change.note}]
    elif change.kept and generate(ask):
        prompt = body.get("prompt")
        if change.style != "prefill" or body.get("raw") is not True or not isinstance(prompt, str):
            return None
        body["prompt"] = prompt + change.kept
    elif change.kept:
        messages = continued(body, change.kept) if change.style == "prefill" else None
        if messages is None:
            return None
        body["messages"] = messages
    return body, changed
