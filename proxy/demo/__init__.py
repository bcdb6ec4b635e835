"""The demo: a scripted provider and the proxy on loopback, without a key and without a network."""

from .show import run

__all__ = ["run"]
