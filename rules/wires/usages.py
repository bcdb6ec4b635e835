"""Adds up the token counts of an answer that more than one upstream call gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..values.transcript import Transcript


def both_usages(first: Any, second: Any) -> dict[str, Any] | None:
    """The usage of an answer that was asked for twice: the first prompt, and the output of both; of one alone where the
    other told none. None where neither did."""
    if not isinstance(second, dict):
        return dict(first) if isinstance(first, dict) else None
    out = dict(second)
    if not isinstance(first, dict):
        return out
    for asked, said in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        if all(type(usage.get(name)) is int for usage in (first, second) for name in (asked, said)):
            out[asked], out[said] = first[asked], first[said] + second[said]
            if "total_tokens" in second:
                out["total_tokens"] = out[asked] + out[said]
    return out


def earlier_usage(transcript: Transcript) -> tuple[int, int | None, int]:
    """(output tokens, prompt tokens or None where none were told, output tokens that the later prompt holds) of earlier
    attempts."""
    said = transcript.usage or {}
    given, asked = said.get("completion_tokens"), said.get("prompt_tokens")
    spent = max(given if type(given) is int else 0, transcript.earlier)
    return spent, asked if type(asked) is int else None, spent if transcript.resent is None else transcript.resent


def summed(usage: Mapping[str, Any], spent: int, asked: int | None, resent: int) -> dict[str, Any]:
    """The usage of one answer that several upstreams gave: the output of all, and the prompt of the first. What a later
    prompt holds of the earlier output is subtracted where the first prompt's length is not known."""
    said, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    if not spent or type(said) is not int or type(prompt) is not int:
        return dict(usage)
    asked = max(0, prompt - resent) if asked is None else asked
    return {**usage, "prompt_tokens": asked, "completion_tokens": said + spent, "total_tokens": asked + said + spent}
