"""`make bench-detect`: loopbench's figures for our packs and the reference detectors, side by side.

Loopbench (labelled real answers and files, with its own run.py and baselines.py) is no part of this repository: give
its folder as the first argument or in LOOPBENCH. Without it the table says so and nothing is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DETECTORS = {
    "default": "loopbench:default",
    "strict": "loopbench:strict",
    "seeds pack": "loopbench:seeds",
    "reference: both seeds": "baselines:seeds",
    "reference: LiteLLM": "baselines:litellm",
}
ROWS = ("recall", "exact_cycle", "flood", "paragraph", "drifting_cycle", "line_pool", "early", "delay_median",
        "delay_p90", "wasted", "false_healthy", "false_file", "false_legit", "us_per_KB", "worst_ms")  # fmt: skip


def measure(folder: Path, detector: str, jobs: int) -> dict[str, Any]:
    """Loopbench's own numbers for one detector, from its own harness."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [sys.executable, str(folder / "run.py"), detector, "--jobs", str(jobs), "--json", out.name],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"},
            cwd=tempfile.gettempdir(),
        )
        got: dict[str, Any] = json.loads(Path(out.name).read_text(encoding="utf-8"))
    return {**got, **got["by_kind"]}


def main() -> int:
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LOOPBENCH", "")
    folder = Path(given)
    if not given or not (folder / "run.py").is_file():
        print("loopbench is not here: give its folder as argument or in LOOPBENCH (it is not part of this repository)")
        return 2
    jobs = int(os.environ.get("JOBS", "1"))
    results = {name: measure(folder, detector, jobs) for name, detector in DETECTORS.items()}
    print("| figure | " + " | ".join(results) + " |")
    print("|---" * (len(results) + 1) + "|")
    for row in ROWS:
        print(f"| {row} | " + " | ".join(str(got.get(row, "")) for got in results.values()) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
