"""How Hypothesis draws: never against a clock, and in CI always the same examples, so that a landing is judged by what
it changed. New examples are drawn on every run at a desk."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("desk", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
