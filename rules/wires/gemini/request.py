"""A request of Gemini: what it asks for, in its path and its body, a reminder put in, a trailing model turn.

Members may be written in camel case or, as protocol buffers' JSON allows, in snake case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from ...values.asked import asked
from ...values.brief import Brief
from ..base import Ask, Change, Json
from ..overlap import LEAST_WHOLE, prefill
from ..second_request import heal_limits, resumable, warmed

if TYPE_CHECKING:
    from ...values.transcript import Transcript

PROMPT_LIMIT: Final = 256 << 10
"""Characters of the request that monitors may read, the newest kept."""
MODEL: Final = re.compile(r"/(?:models|tunedModels|endpoints)/([^/:?]+)")
STREAMS: Final = ":streamGenerateContent"
WHOLE: Final = ":generateContent"


def member(body: Any, name: str) -> Any:
    """A member under its name in camel case or in snake case."""
    if not isinstance(body, Mapping):
        return None
    if name in body:
        return body[name]
    return body.get(re.sub("([A-Z])", lambda found: "_" + found[1].lower(), name))


def ask(body: Json, call: str) -> Ask:
    """Model and streaming stand in the path. Never raises."""
    config = member(body, "generationConfig")
    count = member(config, "candidateCount")
    model = MODEL.search(call)
    schema = any(member(config, name) for name in ("responseSchema", "responseJsonSchema"))
    return Ask(
        model=model[1] if model else body["model"] if isinstance(body.get("model"), str) else "",
        streaming=STREAMS in call if call else body.get("stream") is True,
        wants_usage=True,
        has_tools=bool(body.get("tools")),
        wants_json=schema or member(config, "responseMimeType") == "application/json",
        choices=count if type(count) is int and 1 <= count <= 128 else 1,
        body=body,
        brief=Brief(lambda: _prompt(body), lambda: _asked(body)),
        call=call,
    )


def in_array(ask: Ask) -> bool:
    """Is the stream a JSON array? It is, unless `alt=sse` is asked for."""
    path, _, query = ask.call.partition("?")
    if STREAMS not in path:
        return False
    named = dict(parse_qsl(query))
    return named.get("alt", named.get("$alt")) != "sse"


def as_framed(ask: Ask, start: bytes) -> Ask:
    """The request whose answer would begin with these bytes: servers behind gateways may stream in the other form than
    the one that was asked for, and the client is sent what it would have got without us."""
    path, _, query = ask.call.partition("?")
    found = _FIRST.match(start)
    first = found[1] if found is not None else b""
    array = first == b"["
    if array and (WHOLE in path or not path):  # a stream where none was asked for, or a recording without its request
        return replace(ask, call=path.replace(WHOLE, STREAMS) or STREAMS)
    if STREAMS not in path or array == in_array(ask) or first in (b"", b"{", b"<"):
        return ask
    others = [part for part in query.split("&") if part and part.partition("=")[0] not in ("alt", "$alt", "%24alt")]
    return replace(ask, call="?".join([path, "&".join([*others, *([] if array else ["alt=sse"])])]))


_FIRST: Final = re.compile(rb"[\xef\xbb\xbf \t\r\n]*([^\xef\xbb\xbf \t\r\n])")


def contents(body: Json) -> list[Mapping[str, Any]]:
    """The turns; a string, or one turn without a list, is none."""
    given = body.get("contents")
    return [turn for turn in given if isinstance(turn, Mapping)] if isinstance(given, list) else []


def _texts(turn: Any, *, results: bool = True) -> Iterator[str]:
    parts = turn.get("parts") if isinstance(turn, Mapping) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping):
            if isinstance(part.get("text"), str):
                yield part["text"]
            elif results and isinstance(answered := member(part, "functionResponse"), Mapping):
                yield str(answered.get("response") or "")


def _prompt(body: Json) -> str:
    texts: list[str] = []
    left = PROMPT_LIMIT
    for turn in reversed(contents(body)):
        if turn.get("role") == "model":
            continue
        text = "\n".join(_texts(turn))[-left:]
        texts.append(text)
        left -= len(text)
        if left <= 0:
            break
    system = "\n".join(_texts(member(body, "systemInstruction")))
    return "\n".join(text for text in (system, *reversed(texts)) if text)[-PROMPT_LIMIT:]


def _asked(body: Json) -> str:
    """What the user says now: tool results and earlier answers are no wishes."""
    users = (turn for turn in reversed(contents(body)) if turn.get("role") in ("user", None))
    system = "\n".join(_texts(member(body, "systemInstruction")))
    return asked(system, ("\n".join(_texts(turn, results=False)) for turn in users))


def answers(turn: Mapping[str, Any]) -> bool:
    """Does this turn bring a function's result?"""
    parts = turn.get("parts")
    return isinstance(parts, list) and any(member(part, "functionResponse") is not None for part in parts)


def advise(body: Json, text: str) -> Json:
    """The reminder goes into the last user turn, or into a new one after results, whose number must match the calls'.
    It never goes behind a model turn that is to be continued."""
    turns = body.get("contents")
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, Mapping) for turn in turns):
        return body
    users = [at for at, turn in enumerate(turns) if turn.get("role") in ("user", None, "function")]
    if not users:
        return body
    at = users[-1]
    told = list(turns)
    if answers(told[at]) or not isinstance(told[at].get("parts"), list):
        if at != len(told) - 1:
            return body
        told.append({"role": "user", "parts": [{"text": text}]})
    else:
        told[at] = {**told[at], "parts": [*told[at]["parts"], {"text": text}]}
    return {**body, "contents": told}


def resume(ask: Ask, transcript: Transcript, style: str) -> Json | None:
    """The request that goes on right behind the shown text, as a trailing model turn. None for several candidates, for
    output in a form, and where anything but text was shown."""
    if style != "prefill" or ask.wants_json or ask.choices > 1 or not resumable(transcript):
        return None
    turns = continued(ask.body, prefill(transcript.text(tagged=True)))
    if turns is None:
        return None
    name, config = _config(ask.body)
    less = {n: max(1, config[n] - transcript.earlier) for n in LIMITS if type(config.get(n)) is int}
    return {**ask.body, **({name: {**config, **less}} if less else {}), "contents": turns}


def continued(body: Json, text: str) -> list[Any] | None:
    """The turns with a trailing model turn of this text; None where there is no such place."""
    turns = body.get("contents")
    if not isinstance(turns, list):
        return None
    if turns and isinstance(turns[-1], Mapping) and turns[-1].get("role") == "model":
        # The client itself asked for a continuation: ours goes on behind it.
        parts = turns[-1].get("parts")
        if not (isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping)):
            return None
        given = parts[0].get("text")
        if not isinstance(given, str) or parts[0].keys() != {"text"}:
            return None
        turns = turns[:-1]
        if not (len(given) >= LEAST_WHOLE and text.startswith(given)):  # else the answer began with it
            text = given + text
    return [*turns, model_turn(text)]


def heal(ask: Ask, change: Change) -> tuple[Json, list[str]] | None:
    """The second request after a loop: another thinking level or budget, warmer sampling, a trailing model turn.

    None for several candidates and for output in a form."""
    name, given = _config(ask.body)
    config = dict(given)
    turns = ask.body.get("contents")
    limits = heal_limits(config, change.spent, *LIMITS)
    if ask.wants_json or ask.choices > 1 or limits is None or not isinstance(turns, list):
        return None
    config |= limits
    changed = warmed(config, change.hottest)
    if change.hottest is not None and config.get("topK") == 1:
        del config["topK"]
        changed.append("topK")
    if change.thinking:
        key = "thinking_config" if "thinking_config" in config else "thinkingConfig"
        asked = config.get(key)
        others = {k: v for k, v in asked.items() if k not in _LEVELS} if isinstance(asked, Mapping) else {}
        new = {**others, **least_thinking(ask.model)}
        changed += [key] if new != asked else []
        config[key] = new
    body: dict[str, Any] = {**ask.body, **({name: config} if config else {})}
    if change.note:
        said = [model_turn(change.kept)] if change.kept else []
        body["contents"] = [*turns, *said, {"role": "user", "parts": [{"text": change.note}]}]
    elif change.kept:
        going = continued(ask.body, change.kept) if change.style == "prefill" else None
        if going is None:
            return None
        body["contents"] = going
    return body, changed


LIMITS: Final = ("maxOutputTokens", "max_output_tokens")
_LEVELS: Final = frozenset({"thinkingBudget", "thinking_budget", "thinkingLevel", "thinking_level"})


def least_thinking(model: str) -> dict[str, Any]:
    """The least thinking that a model takes (https://ai.google.dev/gemini-api/docs/thinking): Gemini 3 has levels, and
    only its Flash models `minimal`; 2.5 has budgets, which end at 128 for Pro. Both together are refused."""
    name = model.lower()
    if re.search(r"gemini-[3-9]", name):
        return {"thinkingLevel": "minimal" if "flash" in name else "low"}
    return {"thinkingBudget": 128 if "pro" in name else 0}


def _config(body: Json) -> tuple[str, Mapping[str, Any]]:
    """(the name under which the generation config stands, the config)"""
    name = "generation_config" if "generation_config" in body else "generationConfig"
    config = body.get(name)
    return name, config if isinstance(config, Mapping) else {}


def model_turn(text: str) -> dict[str, Any]:
    """A turn of the model."""
    return {"role": "model", "parts": [{"text": text}]}
