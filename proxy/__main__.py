"""`python -m proxy` is the command `streamfuse`."""

from .commands.cli import main

main()
