"""Sets of defaults with a name. What a profile says lies under everything that people write: a value of theirs wins.

`default` is what is best for an agent. `seeds` restores what the three systems prescribe that streamfuse grew out of
(MiMo-Code, dsh-loop-guard, opencode-sse-retry), where the default has moved away from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Profile = Literal["default", "seeds"]

PROFILES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "seeds": {
        # MiMo-Code, config/retry.ts: whatever goes wrong before the headers draws on `request`.
        "retry": {"request": {"max_retries": 4, "deadline": 30.0, "initial_delay": 0.2}},
        # MiMo-Code's chunkTimeout.
        "timeouts": {"idle": 480.0, "idle_alive": 480.0},
        # MiMo-Code's ladder: two reminders, the third finding ends the run.
        "history": {"ladder": {"refuse_after": 0}},
        # opencode-sse-retry: a stream that broke as often as allowed is an error that is not tried again. None of the
        # three compares what came with what came before.
        "replay": {"final_limits": True, "equal_answers": 0},
    },
}
"""Config trees by profile, in the names and units of the config file."""


def profiled(data: Mapping[str, Any]) -> dict[str, Any]:
    """A config tree with its profile's values under its own; unknown profiles are left for validation to refuse."""
    name = data.get("profile", "default")
    below = PROFILES.get(name, {}) if isinstance(name, str) else {}
    return _under(data, below)


def _under(written: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(written)
    for key, value in below.items():
        if key not in out:
            out[key] = value
        elif isinstance(value, Mapping) and isinstance(out[key], Mapping):
            out[key] = _under(out[key], value)
    return out
