"""The first thing that a newcomer runs: it says what it does, and what is in the way in one line."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/environment.py"
spec = importlib.util.spec_from_file_location("environment", SCRIPT)
assert spec is not None and spec.loader is not None
environment = importlib.util.module_from_spec(spec)
spec.loader.exec_module(environment)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError('<pip object>: "
            "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'\n"
            "ERROR: No matching distribution found for hatchling",
            "The package index cannot be reached",
        ),
        ("WARNING: … ProxyError('Cannot connect to proxy.')", "HTTPS_PROXY="),
        (
            "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate'))",
            "PIP_CERT=",
        ),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: first\nERROR: No matching distribution found for aiohttp>=99", "found for aiohttp>=99"),
        ("", "could not install"),
    ],
)
def test_what_pip_says_becomes_one_line_that_says_what_to_do(said: str, expected: str) -> None:
    told = environment.why_failed(said)
    assert expected in told
    assert "\n" not in told


def test_the_folder_that_is_asked_about_is_the_one_that_exists(tmp_path: Path) -> None:
    assert environment.folder_of(tmp_path / "not" / "there") == tmp_path
    assert environment.folder_of(str(tmp_path)) == tmp_path


def test_a_folder_of_somebody_else_is_told_with_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.not_writable(tmp_path) is None
    monkeypatch.setattr(os, "access", lambda path, how: False)
    pwd = pytest.importorskip("pwd")
    assert environment.not_writable(tmp_path).endswith(f"it belongs to {pwd.getpwuid(tmp_path.stat().st_uid)[0]}")


def test_a_read_only_file_system_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "ST_RDONLY"):
        pytest.skip("this system does not tell read-only file systems")
    told = list(os.statvfs(tmp_path))
    told[8] |= os.ST_RDONLY
    monkeypatch.setattr(os, "access", lambda path, how: False)
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(told))
    assert environment.not_writable(tmp_path) == "is on a read-only file system"


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", str(SCRIPT), *arguments], capture_output=True, text=True, env={**os.environ, **env}
    )


def test_a_new_environment_whose_pip_fails_ends_with_one_line_and_code_2(tmp_path: Path) -> None:
    venv = tmp_path / "env"
    (venv / "bin").mkdir(parents=True)
    python = venv / "bin/python"
    python.write_text("#!/bin/sh\necho 'Collecting hatchling'\necho 'ERROR: Network is unreachable'\nexit 1\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    done = run(str(venv))
    assert done.returncode == 2
    assert done.stdout.startswith("streamfuse: installing its packages into")
    (line,) = done.stderr.splitlines()
    assert "cannot be reached" in line and str(venv / "setup.log") in line
    assert "Collecting hatchling" in (venv / "setup.log").read_text()


def test_an_old_python_is_told_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    with pytest.raises(SystemExit) as stopped:
        environment.main("/nowhere")
    assert stopped.value.code == 2
    assert "this is Python 3.9.2. Try: make PYTHON=python3.12" in capsys.readouterr().err
