"""Blocks of the systems that streamfuse grew from, brought into its own shape: they paste in unchanged.

MiMo-Code's `retry` needs nothing (its keys are camelCase of ours); here are the blocks of another shape. Each function
takes the mapping as written, gives one in our shape, and tells `move` where the parts went, so that a mistake is
still reported at its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Move


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
            raise ValueError("providers is a mapping of names here; give retry inside each provider it is meant for")
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
