"""Why a finding came, and what would have kept it quiet: the evidence against its bars, and their settings."""

from __future__ import annotations

import math
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from rules import Channel, Finding, Hit, RuleSet
from rules import detector_named as habit


class Quiet(NamedTuple):
    """One setting that, alone, would have kept a finding quiet at its character. Where the repetition goes on, it may
    come later: `streamfuse calibrate` measures whole answers."""

    bar: str
    above: float
    """The bar must be above this; for `factor`, that is its own value."""
    setting: str = ""
    """The path in a config; "" where the monitor derives the bar from tables of its own."""


def evidence(hit: Hit) -> str:
    """Each measured value against its bar."""
    held = ((name, value, hit.bars[name]) for name, value in hit.evidence.items() if name in hit.bars)
    return ", ".join(f"{name} {value:.6g} ≥ {bar:.6g}" for name, value, bar in held)


def quiet(finding: Finding, rules: RuleSet) -> tuple[Quiet, ...]:
    """What would have kept it quiet, one setting each; any one of them does."""
    hit = finding.hit
    if finding.channel is Channel.STEPS:
        params: BaseModel = habit(finding.rule).params()
        path = f"history.habits.{finding.rule}.params"
    else:
        params = rules[finding.rule].params
        path = f"rules.change.{finding.rule}.params"
    factor = getattr(params, "factor", None)
    held = {name: (value, hit.bars[name]) for name, value in hit.evidence.items() if name in hit.bars}
    if "odds" in held:  # its bar is not a setting: it follows from the price of a false cut
        return (Quiet("odds", held["odds"][0]),)
    told = [Quiet(name, value, f"{path}.{name}") for name, (value, _) in held.items() if _may(params, name, value)]
    if isinstance(factor, int | float) and held:
        over = max(value / bar if bar else 1.0 for value, bar in held.values())
        told.append(Quiet("factor", round(factor * over, 4), f"{path}.factor"))
    return tuple(told) or tuple(Quiet(name, value) for name, (value, _) in held.items())


def _may(params: BaseModel, name: str, value: float) -> bool:
    """Can this setting be above the value?"""
    now = getattr(params, name, None)
    if not isinstance(now, int | float):
        return False
    over = math.floor(value) + 1 if isinstance(now, int) else math.nextafter(value, math.inf)
    try:
        type(params).model_validate({**params.model_dump(), name: over})
    except ValidationError:
        return False
    return True


def in_short(told: tuple[Quiet, ...]) -> str:
    """`span > 256 or distinct > 4`."""
    return " or ".join(f"{one.bar} > {one.above:.6g}" for one in told)
