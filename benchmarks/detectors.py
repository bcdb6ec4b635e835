"""The detectors that `bench_detect` compares, and one of them over rows: in other processes, in small batches.

A detector is `module:factory`, as loopbench wants it: `factory(instruction)` gives an object with `feed(text)`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .measured import Measured

HERE = Path(__file__).parent
BATCH = 32_000
"""Characters handed to a process at once: half a second of the slowest detector, so that Ctrl-C is obeyed soon."""


class Broken(Exception):
    """A detector failed; the message says which, where and why."""


class Detector(NamedTuple):
    """`usual`: in the table without being asked for."""

    name: str
    spec: str
    usual: bool = True

    @property
    def ours(self) -> bool:
        return self.spec.startswith("loopbench:")

    def digest(self, folder: Path) -> str:
        """Of all code that its verdicts come from: ours from the modules it really imports and the packs, a reference
        from loopbench's own files; both also from the harness and the Python version."""
        files = [folder / "run.py"]
        files += sorted(_ours()) if self.ours else [folder / "baselines.py"]
        digest = hashlib.blake2b(f"{self.spec} {sys.version_info[:2]}".encode(), digest_size=8)
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


DETECTORS = (
    Detector("default", "loopbench:default"),
    Detector("strict", "loopbench:strict"),
    Detector("seeds", "loopbench:seeds"),
    Detector("ref-seeds", "baselines:seeds"),
    Detector("ref-mimo", "baselines:mimo"),
    Detector("ref-loop-guard", "baselines:dsh"),
    Detector("ref-litellm", "baselines:litellm"),
    Detector("early", "loopbench:early", usual=False),
    Detector("calm", "loopbench:calm", usual=False),
    Detector("refrain", "loopbench:refrain", usual=False),
    Detector("novelty", "loopbench:novelty", usual=False),
    Detector("slant", "loopbench:slant", usual=False),
    Detector("chapter", "loopbench:chapter", usual=False),
)


@cache
def _ours() -> frozenset[Path]:
    importlib.import_module("benchmarks.loopbench")
    loaded = [sys.modules[name] for name in sys.modules if name.partition(".")[0] == "rules"]
    code = {Path(module.__file__) for module in loaded if module.__file__}
    return frozenset(code | set((HERE.parent / "rules" / "detect" / "packs").glob("*.[yj]*")) | {HERE / "loopbench.py"})


def measure(
    detector: Detector, folder: Path, rows: Sequence[dict[str, Any]], jobs: int
) -> Iterator[tuple[dict[str, Any], Measured]]:
    """Each row with what the detector says of it, as they come. Raises Broken."""
    batches = list(_batches(rows))
    if not batches:
        return
    # spawn: a bar that is being drawn by a thread must not be copied into the workers
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(batches)), context, _begin, (str(folder), detector.spec)) as pool:
        todo = {pool.submit(_work, batch): batch for batch in batches}
        try:
            for future in as_completed(todo):
                yield from zip(todo.pop(future), future.result(), strict=True)
        except BrokenProcessPool:
            raise Broken(f"{detector.name} ({detector.spec}): cannot be loaded, or a process died; see above") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _batches(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The longest texts first: some detectors take minutes for one, which should not be the last."""
    rows = sorted(rows, key=lambda row: -len(row["text"]))
    batch: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row["text"])
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


Factory = Callable[[str | None], Any]
_worker: tuple[Callable[..., Any], Factory, str] | None = None


def _begin(folder: str, spec: str) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    sys.path[:0] = [folder]
    module, _, name = spec.partition(":")
    found = importlib.import_module("benchmarks.loopbench" if module == "loopbench" else module)
    there = importlib.util.spec_from_file_location("loopbench_run", Path(folder) / "run.py")
    assert there is not None and there.loader is not None
    harness = importlib.util.module_from_spec(there)
    there.loader.exec_module(harness)
    _worker = harness.run_one, getattr(found, name), spec


def _work(batch: list[dict[str, Any]]) -> list[Measured]:
    assert _worker is not None
    run_one, factory, spec = _worker
    results = []
    for row in batch:
        try:
            fired, used, cpu, worst, why = run_one(factory, row)
        except Exception as error:
            raise Broken(f"{spec} fails on {row['id']}: {type(error).__name__}: {error}") from error
        results.append(Measured(fired, used, cpu, worst, why))
    return results
