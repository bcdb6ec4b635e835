"""`make mutate`: break the core of the house one line at a time, and count how many breaks a test notices.

Each mutant runs in a process of its own that is forked from this one, so that packages are imported once. The changed
file is never written: the import system is given the changed text. Only the tests that run the changed line are asked.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.machinery
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from .mutants import Mutant, mutants
from .watched import LinesByTest

ROOT = Path(__file__).resolve().parents[2]
DURING = ("tests/rules/during", "tests/rules/detect/test_doubt.py", "tests/rules/wires/test_server_cuts.py")
TARGETS: dict[str, tuple[str, ...]] = {
    "rules/after/decision/decide.py": ("tests/rules/after",),
    "rules/after/decision/claim.py": ("tests/rules/after",),
    "rules/after/decision/limits.py": ("tests/rules/after",),
    "rules/after/decision/outcome.py": ("tests/rules/after",),
    "rules/after/decision/charge.py": ("tests/rules/after",),
    "rules/after/budgets.py": ("tests/rules/after",),
    "rules/during/tool_call_hold.py": ("tests/rules/during",),
    "rules/during/judge.py": DURING,
    "rules/during/stream.py": DURING,
    "rules/during/reader.py": DURING,
    "rules/during/event_handler.py": DURING,
    "rules/detect/watch.py": ("tests/rules/detect", "tests/rules/during"),
    "proxy/upstream/tap.py": ("tests/proxy/upstream/test_tap.py", "tests/proxy/upstream/test_client.py"),
    "proxy/exchange/reply.py": ("tests/proxy/exchange",),
}  # fmt: skip
"""What is broken, and the tests that are near enough to notice."""
SHARED = (
    "aiohttp", "hypothesis", "orjson", "pydantic", "pytest_asyncio", "structlog", "typer", "yaml", "rich.console",
)  # fmt: skip
OPTIONS = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
SLOWEST = 60
"""Seconds after which a mutant counts as noticed: it hangs."""


def forked(work: Callable[[], int], patience: int) -> int:
    """`work` in a process of its own, silent; its exit code, negative where a signal ended it, as after `patience`
    seconds."""
    child = os.fork()
    if child == 0:
        signal.alarm(patience)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        code = 70
        try:
            code = int(work())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def with_source(file: Path, source: str) -> None:
    """From now on this process imports `file` as if it held `source`."""
    loader = importlib.machinery.SourceFileLoader
    usual = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> Any:
        if self.path == str(file):
            return compile(source, str(file), "exec", dont_inherit=True)
        return usual(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign, assignment]


def with_bodies(file: Path, source: str) -> None:
    """Give the functions of an imported file the bodies that `source` has for them."""
    new: dict[str, CodeType] = {}
    rest = [compile(source, str(file), "exec", dont_inherit=True)]
    while rest:
        code = rest.pop()
        new[code.co_qualname] = code
        rest += [const for const in code.co_consts if isinstance(const, CodeType)]
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(file):
            code = new[function.__code__.co_qualname]
            if code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code


def lines_by_test(file: Path, tests: Sequence[str], answer: Path) -> dict[int, list[str]]:
    """Line → tests that run it, the quickest first."""

    def work() -> int:
        plugin = LinesByTest(str(file))
        code = pytest.main([*OPTIONS, *tests], plugins=[plugin])
        quick = plugin.seconds
        found = {line: sorted(ids, key=lambda one: quick.get(one, 0.0)) for line, ids in plugin.lines.items()}
        answer.write_text(json.dumps(found), encoding="utf-8")
        return int(code)

    if (code := forked(work, 900)) != 0:
        sys.exit(f"{file.relative_to(ROOT)}: its tests fail as they are (exit {code})")
    return {int(line): ids for line, ids in json.loads(answer.read_text(encoding="utf-8")).items()}


def noticed(work: Callable[[], None], tests: Sequence[str]) -> bool:
    """Does one of these tests fail where `work` has put a mutant in place?"""

    def run() -> int:
        sys.dont_write_bytecode = True
        work()
        return int(pytest.main([*OPTIONS, *tests]))

    return forked(run, SLOWEST) != 0


def statement_lines(source: str) -> dict[int, int]:
    """Line → first line of its innermost statement: that is where a tracer sees it."""
    first: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.end_lineno is not None:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno
            for line in range(node.lineno, max(last, node.lineno) + 1):
                first[line] = max(first.get(line, 0), node.lineno)
    return first


def attack(name: str, tests: Sequence[str], share: float, seed: int, work: Path) -> int:
    """Try mutants of one file; what nobody noticed goes to stdout, and (tried, missed) into `work`. 0."""
    file = ROOT / name
    source = file.read_text(encoding="utf-8")
    every = mutants(source)
    count = len(every) if share >= 1 else max(1, round(len(every) * share))
    chosen = sorted(random.Random(seed).sample(every, count), key=lambda mutant: mutant.start)
    who, first, inside = lines_by_test(file, tests, work), statement_lines(source), function_lines(source)
    missed = 0

    def told(mutant: Mutant, why: str = "") -> int:
        print(f"    {name}:{mutant.told(source)}{why}", flush=True)
        return 1

    # What runs at import first: each needs the file imported anew.
    for mutant in chosen:
        if mutant.line not in inside and not noticed(partial(with_source, file, mutant.of(source)), tests):
            missed += told(mutant)
    importlib.import_module(name.removesuffix(".py").replace("/", "."))
    importlib.import_module("proxy.server.app")
    for mutant in chosen:
        if mutant.line not in inside:
            continue
        if not (ids := who.get(mutant.line) or who.get(first.get(mutant.line, 0))):
            missed += told(mutant, "  (no test runs this line)")
        elif not noticed(partial(with_bodies, file, mutant.of(source)), ids):
            missed += told(mutant)
    work.write_text(json.dumps([count, missed]), encoding="utf-8")
    return 0


def function_lines(source: str) -> set[int]:
    """The lines of all bodies of functions."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }


def main() -> None:
    """Run, and end with the figures."""
    ask = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    ask.add_argument("--sample", type=float, default=0.1, help="share of all mutants to try (1 = all; hours)")
    ask.add_argument("--seed", type=int, default=1, help="which sample is drawn")
    ask.add_argument("files", nargs="*", help=f"of {', '.join(TARGETS)} (all)")
    given = ask.parse_args()
    if unknown := set(given.files) - set(TARGETS):
        ask.error(f"no target: {', '.join(sorted(unknown))}")
    os.chdir(ROOT)
    os.environ["CI"] = "true"  # Hypothesis draws the same examples for every mutant
    for package in SHARED:
        importlib.import_module(package)
    work = ROOT / ".mutation.json"
    tried = missed = 0
    try:
        for name in given.files or TARGETS:
            began = time.monotonic()
            if os.fork() == 0:  # a process for each file: they import different things
                os._exit(attack(name, TARGETS[name], given.sample, given.seed, work))
            if os.wait()[1] != 0:
                sys.exit(1)
            count, here = json.loads(work.read_text(encoding="utf-8"))
            tried, missed = tried + count, missed + here
            print(f"{name}: {count - here} of {count} noticed, {time.monotonic() - began:.0f} s", flush=True)
    finally:
        work.unlink(missing_ok=True)
    print(f"all: {tried - missed} of {tried} noticed ({(tried - missed) / max(1, tried):.0%})")


if __name__ == "__main__":
    main()
