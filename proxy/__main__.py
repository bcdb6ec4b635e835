"""`python -m proxy` is the command `streamfuse`."""

from .cli import main

main()
