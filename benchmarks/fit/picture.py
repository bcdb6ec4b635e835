"""docs/detection.svg: the curve of the score in the packs, as a picture without anything to fetch."""

from __future__ import annotations

import json
from importlib import resources
from math import sqrt
from typing import Any

WIDE, HIGH, LEFT, TOP, GAP = 460, 300, 60, 40, 90
MOST = 64
"""False cuts at the right edge of the first panel."""
LOWEST = 40
"""Caught loops in per cent at its lower edge."""
COLOURS = {"score alone": "#8a8a8a", "default": "#1f6feb"}
TITLES = {"score alone": "the score alone", "default": "default's gates or the score"}


def picture() -> str:
    """Two panels: loops caught against false cuts, and the share of texts that stopped against the score."""
    told = json.loads(resources.files("rules.detect.packs").joinpath("odds.json").read_bytes())
    width, height = 2 * WIDE + 2 * LEFT + GAP - 40, HIGH + TOP + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_caught(told),
        *_stopped(told, LEFT + WIDE + GAP),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _caught(told: dict[str, Any]) -> list[str]:
    def x(false: float) -> float:
        return LEFT + WIDE * sqrt(min(false, MOST) / MOST)

    def y(caught: float) -> float:
        return TOP + HIGH * (100 - max(LOWEST, 100 * caught)) / (100 - LOWEST)

    texts = sum(one["texts"] for one in told["sources"].values())
    out = _frame(LEFT, f"caught loops (%) against false cuts of {texts:,} texts, model families left out")
    for false in (0, 1, 2, 4, 8, 16, 32, 64):
        out += _tick(x(false), TOP + HIGH + 16, str(false), "middle")
        out.append(_line([(x(false), TOP), (x(false), TOP + HIGH)], "#e5e5e5"))
    for caught in range(LOWEST, 101, 10):
        out += _tick(LEFT - 8, y(caught / 100) + 4, str(caught), "end")
        out.append(_line([(LEFT, y(caught / 100)), (LEFT + WIDE, y(caught / 100))], "#e5e5e5"))
    out += _tick(LEFT + WIDE / 2, TOP + HIGH + 36, "false cuts: healthy, legitimate, file, before the onset", "middle")
    for at, (name, colour) in enumerate(COLOURS.items()):
        line = [(x(sum(one["false"].values())), y(one["caught"])) for one in told["beside"][name]]
        out.append(_line(line, colour, 2))
        out += _tick(LEFT + WIDE - 10, TOP + HIGH - 14 - 18 * at, TITLES[name], "end", colour)
    for name, point in told["points"].items():
        left = point["left_out_families"]
        at_x, at_y = x(sum(left["false"].values())), y(left["caught"])
        out.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="5" fill="black"/>')
        out += _tick(at_x + 8, at_y + 16, name, "start", "black")
    return out


def _stopped(told: dict[str, Any], left: float) -> list[str]:
    steps = told["curve"]
    least, most = steps[-1]["score"], steps[0]["score"]

    def x(score: float) -> float:
        return left + WIDE * (score - least) / (most - least)

    def y(share: float) -> float:
        return TOP + HIGH * (1 - share / 0.5)

    out = _frame(left, "of the texts that reached a score, the share that stopped by themselves (%)")
    for share in (0, 0.1, 0.2, 0.3, 0.4, 0.5):
        out += _tick(left - 8, y(share) + 4, f"{100 * share:.0f}", "end")
        out.append(_line([(left, y(share)), (left + WIDE, y(share))], "#e5e5e5"))
    for step in steps[::2]:
        out += _tick(x(step["score"]), TOP + HIGH + 16, f"{step['score']:g}", "middle")
    for step in steps[::4]:
        share = min(0.5, step["stopped"] / max(1, step["texts"]))
        out += _tick(x(step["score"]), y(share) - 8, f"{step['stopped']} of {step['texts']}", "middle", "#1f6feb")
    out.append(_line([(x(s["score"]), y(min(0.5, s["stopped"] / max(1, s["texts"])))) for s in steps], "#1f6feb", 2))
    out += _tick(left + WIDE / 2, TOP + HIGH + 36, "score", "middle")
    return out


def _frame(left: float, title: str) -> list[str]:
    box = f'<rect x="{left}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#999"/>'
    return [box, *_tick(left, TOP - 14, title, "start", "black")]


def _line(points: list[tuple[float, float]], colour: str, wide: int = 1) -> str:
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="{wide}"/>'


def _tick(x: float, y: float, text: str, anchor: str, colour: str = "#555") -> list[str]:
    return [f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>']
