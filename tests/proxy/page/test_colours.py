"""The page's colours: text can be read on its background, in light and in dark (WCAG 2.2 AA: 4.5 to 1)."""

from __future__ import annotations

import re
from importlib import resources

import pytest

CSS = resources.files("proxy.page").joinpath("page.css").read_text(encoding="utf-8")
LIGHT, DARK = (dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", block)) for block in re.findall(r":root \{([^}]*)\}", CSS))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("back", ["back", "card"])
@pytest.mark.parametrize("ink", ["ink", "soft", "good", "care", "bad", "link"])
def test_text_can_be_read(scheme, back, ink):
    one, other = sorted((luminance(scheme[back]), luminance(scheme[ink])))
    assert (other + 0.05) / (one + 0.05) >= 4.5
