"""How each real agent is started without a human: one prompt, in a throw-away home, pointed at a base URL.

Nothing of the machine's environment reaches an agent, and every agent may run the shell tool in its own folder: the
tests see by the files there which tool calls were really executed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .install import NODE, home

KEY = "sk-test-0000"
MODEL = "scripted"


@dataclass(frozen=True)
class Room:
    """Where one run of an agent lives: `home` and `work` are empty folders of its own, `url` the proxy without /v1."""

    home: Path
    work: Path
    url: str
    prompt: str

    def write(self, path: str, text: str) -> Path:
        """A file under home."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target


@dataclass(frozen=True)
class Start:
    """One command line with the environment it needs on top of the bare one."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Agent:
    """A real agent. `tools`: whether it offers the model a shell tool. `before`: a set-up command, run first."""

    name: str
    wire: str
    start: Callable[[Room], Start]
    tools: bool = True
    before: Callable[[Room], Start] | None = None
    side: str = ""
    """Words in which a call shows that the agent makes it for itself, though it offers the shell tool."""
    limit: float = 90.0
    """Seconds until a run counts as hanging."""


@dataclass(frozen=True)
class Ran:
    """How a run ended. `code` is None where it had to be killed at its limit."""

    code: int | None
    out: str
    err: str


def _npm(name: str, command: str) -> str:
    return str(home(name) / "node_modules/.bin" / command)


def opencode(room: Room) -> Start:
    model = {"name": "Scripted", "tool_call": True, "limit": {"context": 32000, "output": 4096}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fuse",
        "options": {"baseURL": f"{room.url}/v1", "apiKey": KEY},
        "models": {MODEL: model},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"fuse/{MODEL}",
        "small_model": f"fuse/{MODEL}",
        "provider": {"fuse": provider},
    }
    room.write(".config/opencode/opencode.json", json.dumps(config))
    offline = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    return Start([_npm("opencode", "opencode"), "run", room.prompt], dict.fromkeys(offline, "1"))


def codex(room: Room) -> Start:
    config = room.write(
        ".codex/config.toml",
        f'model = "{MODEL}"\nmodel_provider = "fuse"\n[model_providers.fuse]\nname = "fuse"\n'
        f'base_url = "{room.url}/v1"\nenv_key = "FUSE_KEY"\nwire_api = "responses"\n',
    )
    argv = [_npm("codex", "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Start([*argv, room.prompt], {"CODEX_HOME": str(config.parent), "FUSE_KEY": KEY})


def claude(room: Room) -> Start:
    quiet = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    )
    env = {"ANTHROPIC_BASE_URL": room.url, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_MODEL": "claude-sonnet-4-5"}
    argv = [_npm("claude", "claude"), "-p", room.prompt, "--allowedTools", "Bash"]
    return Start(argv, {**env, **dict.fromkeys(quiet, "1")})


def qwen(room: Room) -> Start:
    settings = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    room.write(".qwen/settings.json", json.dumps(settings))
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{room.url}/v1", "OPENAI_MODEL": MODEL}
    return Start([_npm("qwen", "qwen"), "--auth-type", "openai", "--yolo", "-p", room.prompt], env)


def cline_login(room: Room) -> Start:
    return Start([_npm("cline", "cline"), "auth", "-p", "openai", "-k", KEY, "-m", MODEL, "-b", f"{room.url}/v1"])


def cline(room: Room) -> Start:
    return Start([_npm("cline", "cline"), "-P", "openai", "-m", MODEL, room.prompt])


def cline_auto(room: Room) -> Start:
    start = cline(room)
    return Start([start.argv[0], "-y", *start.argv[1:]], start.env)


def pi(room: Room) -> Start:
    model = {
        "id": MODEL,
        "name": MODEL,
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 32000,
        "maxTokens": 2048,
    }
    provider = {"baseUrl": f"{room.url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [model]}
    room.write(".pi/agent/models.json", json.dumps({"providers": {"fuse": provider}}))
    argv = [str(NODE), _npm("pi", "pi"), "--provider", "fuse", "--model", MODEL, "-p", room.prompt]
    return Start(argv, {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"})


def aider(room: Room) -> Start:
    flags = "--yes-always --no-git --no-check-update --no-show-model-warnings --no-show-release-notes --no-gitignore"
    argv = [str(home("aider") / "bin/aider"), "--model", f"openai/{MODEL}", "--message", room.prompt]
    env = {"OPENAI_API_BASE": f"{room.url}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false"}
    env["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    return Start([*argv, *flags.split(), "--no-pretty", "--no-fancy-input"], env)


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("opencode", "openai_chat", opencode),
        Agent("codex", "openai_responses", codex),
        Agent("claude", "anthropic_messages", claude),
        Agent("qwen", "openai_chat", qwen, side="managed memory extraction"),
        Agent("cline", "openai_chat", cline, before=cline_login),
        Agent("pi", "openai_chat", pi),
        Agent("aider", "openai_chat", aider, tools=False),
    )
}
AUTO = Agent("cline", "openai_chat", cline_auto, before=cline_login)
"""Cline in its auto mode, which asks again for as long as the model does not call its final tool."""


def gemini(room: Room) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True},
    }
    room.write(".gemini/settings.json", json.dumps(settings))
    env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": room.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    argv = [_npm("gemini", "gemini"), "-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", room.prompt]
    return Start(argv, env)


GEMINI = Agent("gemini", "gemini", gemini, limit=150.0)
"""Gemini CLI, the only agent here that speaks Google's own wire: `test_gemini_cli.py`."""


def _bare(room: Room, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(room.home),
        "TMPDIR": str(room.home / "tmp"),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "CI": "1",
        "NO_COLOR": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        **more,
    }


async def _command(room: Room, start: Start, limit: float) -> Ran:
    process = await asyncio.create_subprocess_exec(
        *start.argv,
        cwd=room.work,
        env=_bare(room, start.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    talk = asyncio.ensure_future(process.communicate())
    # communicate() waits for every holder of the pipes; a daemon that an agent leaves behind would hold them for ever.
    done, _ = await asyncio.wait({talk}, timeout=limit)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    out, err = await talk
    return Ran(process.returncode if done else None, out.decode(errors="replace"), err.decode(errors="replace"))


def _sweep(room: Room) -> None:
    """Ends what an agent left running in its own home: only processes whose environment names this very folder."""
    mark = f"HOME={room.home}".encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in entry.read_bytes().split(b"\0"):
                os.kill(int(entry.parent.name), signal.SIGKILL)


async def run(agent: Agent, room: Room) -> Ran:
    """One prompt from start to end."""
    (room.home / "tmp").mkdir(parents=True, exist_ok=True)
    try:
        if agent.before is not None:
            await _command(room, agent.before(room), 60)
        return await _command(room, agent.start(room), agent.limit)
    finally:
        _sweep(room)
