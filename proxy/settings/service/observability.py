"""What is told, where, and what is never told."""

from __future__ import annotations

from typing import Literal

from ..base import Seconds, Section, field


class Privacy(Section):
    """What the page may show."""

    show_excerpts: bool = field(
        False,
        "What repeated, at most 240 characters, beside each finding on the page and in /-/recent; never in the journal "
        "or the metrics.",
        danger="Text of answers for whoever reaches that port. What looks like a credential is masked, but a net has "
        "holes.",
    )


class Journal(Section):
    """One line an exchange, on stderr. Never content, never credentials."""

    format: Literal["auto", "console", "json"] = field("auto", "auto: console on a terminal, else json.")
    level: Literal["debug", "info", "warning", "error", "off"] = field("info", "debug adds one line per attempt.")


class Metrics(Section):
    """Prometheus metrics on /metrics."""

    models: int = field(
        50,
        "How many model names get a label of their own; the rest count as other. 0 switches that label off.",
        danger="A client chooses the names; a high cap lets it fill Prometheus.",
        ge=0,
        le=10_000,
    )


class Recent(Section):
    """The newest exchanges, kept in memory for the page."""

    exchanges: int = field(200, "How many are kept.", ge=0, le=100_000)


class Heartbeat(Section):
    """Bytes that keep a client's timers quiet while nothing else can be sent."""

    every: Seconds = field(15.0, "After so long without a byte to the client; 0 switches it off.")
    prelude: Seconds = field(
        0.0,
        "After so long without output the answer begins nevertheless, so that heartbeats can be events: with the "
        "upstream's own first events, or on Responses with store:false with a response.created of ours. 0 = never.",
        danger="Codex hears no comments, only events. What has begun is a 200: a later failure comes in the stream.",
    )


class Drain(Section):
    """The end of the process on SIGTERM."""

    grace: Seconds = field(
        6.0,
        "How long open answers may go on; then they are ended legally. Everything fits into the 10 s after which "
        "`docker stop` kills; give a container more time (`--time`, `stop_grace_period`) where you raise it.",
    )
