"""Parts of a second request: one that continues a broken answer (`Wire.resume`) or replaces a loop (`Wire.heal`).

Pure functions of the first request and of the answer so far, for the wires whose requests have these members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..values.delta import Channel

if TYPE_CHECKING:
    from ..values.transcript import Transcript
    from .base import Json

LEAST_TOKENS = 64
"""Tokens of the client's own limit that must be left for a second answer, else it is not worth a call."""


WARM = 1.0
"""Lowest temperature of a second answer after a loop in text: 0.7 and less fell back into the loop, and at 1.0 more
answers were alive than at 0.9 (docs/heal.md)."""


def resumable(transcript: Transcript) -> bool:
    """Was only text (and reasoning before it) of one open choice shown, and was all of the text kept?"""
    shapes = transcript.shapes.values()
    if not (transcript.keep and transcript.whole) or transcript.finished or transcript.done:
        return False
    if any(s.channel not in (Channel.TEXT, Channel.REASONING) or s.block[0] != 0 for s in shapes):
        return False
    return bool(transcript.text(tagged=True).strip())


def less(body: Json, transcript: Transcript, *names: str) -> dict[str, int]:
    """The token limits of a request, reduced by what earlier attempts have used."""
    return {n: max(1, body[n] - transcript.earlier) for n in names if type(body.get(n)) is int}


def heal_limits(body: Json, spent: int, *names: str) -> dict[str, int] | None:
    """The token limits of a second request; None where too little is left of one."""
    given = {name: body[name] - spent for name in names if type(body.get(name)) is int}
    return None if any(left < LEAST_TOKENS for left in given.values()) and spent else given


def warmed(body: dict[str, Any], hottest: float | None) -> list[str]:
    """Make the sampling of a request warmer, in place: the same sampling gives the same loop. Returns the names of what
    changed. Nothing is done where `hottest` is None."""
    if hottest is None:
        return []
    changed = []
    asked = body.get("temperature")
    warm = min(hottest, max(WARM, asked) if isinstance(asked, int | float) else WARM)
    if warm != asked:
        body["temperature"] = warm
        changed.append("temperature")
    if body.pop("seed", None) is not None:
        changed.append("seed")
    if body.get("top_k") == 1:
        del body["top_k"]
        changed.append("top_k")
    return changed


def least_effort(model: str) -> str:
    """The lowest reasoning effort that a model takes (developers.openai.com/api/docs/guides/reasoning): gpt-5 itself
    has `minimal`, its successors `none`, older models and gpt-oss `low`. Google's models, under OpenAI's names for it
    (https://ai.google.dev/gemini-api/docs/openai): Gemini 2.5 Flash has `none`, newer Flash `minimal`, Pro `low`."""
    name = model.lower().rpartition("/")[2]
    if name.startswith(("o1", "o3", "o4", "gpt-oss", "codex")) or "codex" in name:
        return "low"
    if name.startswith("gemini"):
        return "low" if "pro" in name else "none" if name.startswith("gemini-2") else "minimal"
    return "minimal" if name.startswith("gpt-5") and not name.startswith("gpt-5.") else "none"
