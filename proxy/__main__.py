"""`python -m proxy` is the command `streamfuse`.

A server must not die of a SIGHUP that comes while it is still being loaded: it asks for the config to be read again.
The signal is held back before anything else is imported, and let through when somebody listens (`server/hangup.py`).
"""

from __future__ import annotations

import sys

from .server.hangup import hold


def main() -> None:
    """The command line."""
    if "serve" in sys.argv[1:]:
        hold()
    from .commands.cli import main as run

    run()


if __name__ == "__main__":
    main()
