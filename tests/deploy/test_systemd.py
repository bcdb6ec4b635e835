"""The unit of systemd: systemd itself finds nothing wrong with it, and it gives a drain its time."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from proxy.settings.load import Settings

UNIT = Path(__file__).parents[2] / "deploy/systemd/streamfuse.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    """With a program that is there: the one that it names is installed by whoever uses the unit."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/streamfuse/bin/streamfuse", "/bin/true"))
    told = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")


def test_an_open_answer_has_its_time_and_a_reload_is_a_sighup() -> None:
    text = UNIT.read_text()
    stop = re.search(r"^TimeoutStopSec=(\d+)$", text, flags=re.M)
    assert stop is not None and int(stop[1]) >= Settings().drain.grace + 5
    assert "ExecReload=/bin/kill -HUP $MAINPID" in text
