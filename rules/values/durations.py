"""Written durations: `50ms`, `10s`, `2m`, `1h`, or a number of seconds. They are parsed into seconds (float)."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)?\s*", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(written: Any) -> float:
    """Parse a written duration into seconds. Raises ValueError on anything else (bool, negative, infinite, other
    units)."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        if written < 0 or not math.isfinite(written):
            raise ValueError("a duration is not negative and not infinite")
        return float(written)
    if isinstance(written, str) and (found := _WRITTEN.fullmatch(written)):
        return float(found[1]) * _UNITS[found[2] or "s"]
    raise ValueError("a duration is written like 50ms, 10s, 2m, 1h, or as a number of seconds")


Duration = Annotated[float, BeforeValidator(seconds)]
"""A duration in seconds, zero allowed."""

PositiveDuration = Annotated[float, BeforeValidator(seconds), Field(gt=0)]
"""A duration in seconds, more than zero."""
