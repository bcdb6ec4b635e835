"""Which tests run each line of one file, so that a mutant need not be shown to the others."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Generator
from types import FrameType
from typing import Any

import pytest


class LinesByTest:
    """A pytest plugin: traces one file while tests run. `lines`: line → node ids of the tests that run it. What runs at
    import is every test's."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._test: str | None = None
        self.lines: dict[int, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Trace the whole test, fixtures included."""
        self._test = item.nodeid
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """How long it took."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        return self._ran(frame, event, arg)

    def _ran(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self._test is not None:
            self.lines[frame.f_lineno].add(self._test)
        return self._ran
