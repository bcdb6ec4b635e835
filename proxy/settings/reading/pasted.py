"""Blocks of the systems that streamfuse grew from, brought into its own shape: they paste in unchanged.

MiMo-Code's `retry` needs nothing (its keys are camelCase of ours); here are the blocks of another shape. Each function
takes the mapping as written, gives one in our shape, and tells `move` where the parts went, so that a mistake is
still reported at its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ..base import Move


def sse_retry(data: dict[str, Any], move: Move) -> dict[str, Any]:
    """opencode-sse-retry: `rules` as a list is our `error_rules`; `maxRetries` counts broken streams;
    `correlationHeader` and `stripCorrelationHeader` are `correlation.headers` and `.strip`."""
    out = dict(data)
    if isinstance(out.get("rules"), list):
        if "error_rules" in out:
            raise ValueError("rules as a list and error_rules are the same; keep one")
        out["error_rules"] = out.pop("rules")
        move(("rules",), ("error_rules",))
    for key in {"maxRetries", "max_retries"} & set(out):
        count = out.pop(key)
        budgets = out["retry"] = _copy(out.get("retry"), "retry")
        for name, mode in (("stream", {}), ("network", {"mode": "bounded"})):
            if name not in budgets:
                budgets[name] = {**mode, "max_retries": count}
                move((key,), ("retry", name, "max_retries"))
    if isinstance(out.get("providers"), list):
        if out["providers"] != ["*"]:
            if all(isinstance(one, str) for one in out["providers"]):
                raise ValueError(
                    "providers is a mapping of names here; give retry inside each provider it is meant for"
                )
            raise ValueError(
                "providers is a mapping of names, not a list: providers: {openai: {base_url: https://…/v1}}"
            )
        del out["providers"]
    for theirs, name in (("correlationHeader", "headers"), ("stripCorrelationHeader", "strip")):
        if theirs in out:
            value = out.pop(theirs)
            out["correlation"] = _copy(out.get("correlation"), "correlation")
            out["correlation"][name] = value
            move((theirs,), ("correlation", name))
    return out


def streak_recovery(data: dict[str, Any], move: Move) -> dict[str, Any]:
    """MiMo-Code: `experimental.loop_streak_recovery` is our `history.crop`."""
    block = data.get("experimental")
    if not isinstance(block, Mapping) or set(block) != {"loop_streak_recovery"}:
        return data
    out = {k: v for k, v in data.items() if k != "experimental"}
    out["history"] = _copy(out.get("history"), "history")
    out["history"]["crop"] = block["loop_streak_recovery"]
    move(("experimental", "loop_streak_recovery"), ("history", "crop"))
    return out


_GUARD: dict[str, tuple[str, str]] = {
    "maxRepeatedText": ("identical-deltas", "run"),
    "maxRepeatedCycleChars": ("text-cycle", "period"),
    "minRepeatedCycleChars": ("text-cycle", "span"),
    "maxRepeatedReasoningCycleChars": ("reasoning-cycle", "period"),
    "minRepeatedReasoningCycleChars": ("reasoning-cycle", "span"),
    "maxRepeatedTextLineChars": ("text-lines", "chars"),
    "minRepeatedTextLineCoverage": ("text-lines", "coverage"),
    "minRepeatedTextLineConcentration": ("text-lines", "concentration"),
    "maxRepeatedReasoningLineChars": ("reasoning-lines", "chars"),
    "minRepeatedReasoningLineCoverage": ("reasoning-lines", "coverage"),
    "minRepeatedReasoningLineConcentration": ("reasoning-lines", "concentration"),
}
"""Options of dsh-loop-guard → rule of the pack `seeds` and its number. 0 for a `max…` switches the rule off."""
_STALLED = {
    "maxThinkingSteps": "steps",
    "minReasoningChars": "min_chars",
    "similarityThreshold": "similarity",
    "maxFires": "max_fires",
}
"""Options of dsh-loop-guard → numbers of the habit `stalled`."""
_HOST = frozenset({"cancelCause", "breakCode", "breakCorrection", "resumeAfterBreak"})
"""Options that only the agent it was written for can act on; taken and left aside."""


def loop_guard(data: dict[str, Any], move: Move) -> dict[str, Any]:
    """dsh-loop-guard: a block `loop-guard:`, or `plugins:` with `id: loop-guard` and a `config:`.

    Its numbers become those of the pack `seeds`, which is then used unless `rules.packs` names others.
    """
    out = dict(data)
    at: tuple[str, ...] = ()
    block: object = None
    for name in ("loop-guard", "loopGuard", "loop_guard"):
        if name in out:
            block, at = out.pop(name), (name,)
    plugins = out.get("plugins")
    if isinstance(plugins, list) and len(plugins) == 1 and isinstance(plugins[0], Mapping):
        if plugins[0].get("id") != "loop-guard":
            return data
        del out["plugins"]
        block, at = plugins[0].get("config"), ("plugins",)
    if not at:
        return data
    options = _copy(block, "loop-guard")
    rules = out["rules"] = _copy(out.get("rules"), "rules")
    rules.setdefault("packs", ["seeds"])
    change = rules["change"] = _copy(rules.get("change"), "rules.change")
    off = rules["off"] = list(rules.get("off") or [])
    history = out["history"] = _copy(out.get("history"), "history")
    habits = history["habits"] = _copy(history.get("habits"), "history.habits")
    for key, value in options.items():
        if key in _GUARD:
            rule, number = _GUARD[key]
            if value == 0 and key.startswith("max"):
                off.append(rule)
                continue
            change[rule] = _copy(change.get(rule), rule)
            change[rule]["params"] = {**(change[rule].get("params") or {}), number: value}
            move((*at, key), ("rules", "change", rule, "params", number))
        elif key in _STALLED or key == "escalate":
            stalled = habits["stalled"] = _copy(habits.get("stalled"), "stalled")
            if key == "escalate":
                stalled["most"] = value
                move((*at, key), ("history", "habits", "stalled", "most"))
            else:
                stalled["params"] = {**(stalled.get("params") or {}), _STALLED[key]: value}
        elif key not in _HOST:
            near = get_close_matches(key, [*_GUARD, *_STALLED, *_HOST, "escalate"], n=1)
            raise ValueError(f"loop-guard has no option {key}" + (f"; did you mean {near[0]}?" if near else ""))
    return out


def options(data: dict[str, Any], move: Move) -> dict[str, Any]:
    """A provider of OpenCode or MiMo-Code: `options.baseURL`, `.apiKey` and `.chunkTimeout` (ms, 0 or less = off)."""
    block = data.get("options")
    if not isinstance(block, Mapping):
        return data
    out = {k: v for k, v in data.items() if k != "options"}
    for key, value in block.items():
        if key != "chunkTimeout":
            out.setdefault(key, value)
            move(("options", key), (key,))
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError("chunkTimeout is a number of milliseconds")
        out["timeouts"] = {"idle": value / 1000 if value > 0 else None, **_copy(out.get("timeouts"), "timeouts")}
        move(("options", key), ("timeouts", "idle"))
    return out


def _copy(block: object, name: str) -> dict[str, Any]:
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise ValueError(f"{name} must be a mapping")
    return dict(block)
