"""How a changed config reaches a process that runs."""

from __future__ import annotations

from ..base import Seconds, Section, field


class Reload(Section):
    """The config is read again on SIGHUP, on `streamfuse reload`, and where the file is watched."""

    watch: Seconds = field(
        0.0,
        "Look at the config file so often and take it when it has changed; 0 = only on SIGHUP and `streamfuse reload`. "
        "A broken file changes nothing.",
        ge=0,
    )
