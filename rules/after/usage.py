"""Token counts in one shape, from the `usage` of any wire.

`input` is the whole prompt, what came from a cache included: Anthropic counts cached tokens beside `input_tokens`, the
others within it. `reasoning` is a part of `output`: Gemini counts thoughts beside `candidatesTokenCount`. A count that
a provider does not tell is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Tokens(NamedTuple):
    """What one answer took."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int = 0


ASSUMED = 4096
"""Output tokens that a looping answer would have had, where the request names no limit: models that loop go on to the
limit of their server, which is mostly larger (vLLM: the rest of the context; Ollama: none)."""
MOST = 16_384
"""Of a request's own limit, what an estimate of savings counts with: nobody knows that all of it would have come."""
CHARACTERS = 4
"""Characters of a token, about (https://platform.openai.com/tokenizer)."""

_INPUT = ("prompt_tokens", "input_tokens", "prompt_eval_count", "promptTokenCount")
_OUTPUT = ("completion_tokens", "output_tokens", "eval_count")
_REASONING = ("reasoning_tokens", "thinking_tokens")
_NOTHING: Mapping[str, Any] = {}
_LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")


def unwritten(body: Mapping[str, Any], characters: int) -> int:
    """An estimate: output tokens of this request's limit that were left when its answer was cut after so many
    characters. Never raises."""
    asked = _count(body, *_LIMITS) or _count(
        _part(body, "generationConfig", "options"), "maxOutputTokens", "num_predict"
    )
    return max(0, min(asked or ASSUMED, MOST) - characters // CHARACTERS)


def tokens(usage: object) -> Tokens | None:
    """The counts of a `usage` object; None where it holds none. Never raises."""
    if type(usage) is not dict and not isinstance(usage, Mapping):
        return None
    told = {name: value for name, value in usage.items() if type(value) is int and value > 0}
    read, thought = told.get("cache_read_input_tokens", 0), told.get("thoughtsTokenCount", 0)
    counts = Tokens(
        _first(told, _INPUT) + read + told.get("cache_creation_input_tokens", 0),
        _first(told, _OUTPUT) or told.get("candidatesTokenCount", 0) + thought,
        _count(_part(usage, "completion_tokens_details", "output_tokens_details"), *_REASONING) or thought,
        read
        or told.get("cachedContentTokenCount")
        or _count(_part(usage, "prompt_tokens_details", "input_tokens_details"), "cached_tokens"),
    )
    return counts if any(counts) else None


def _first(told: Mapping[str, int], names: Sequence[str]) -> int:
    for name in names:
        if name in told:
            return told[name]
    return 0


def _part(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        if name in usage:
            part = usage[name]
            if type(part) is dict or isinstance(part, Mapping):
                return part
    return _NOTHING


def _count(usage: Mapping[str, Any], *names: str) -> int:
    """The first of these members that is a count."""
    for name in names:
        if name in usage:
            value = usage[name]
            if type(value) is int and value > 0:
                return value
    return 0
