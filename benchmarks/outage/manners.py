"""When each agent asks again: the retry rules of real clients as pure functions, with their public sources.

A manner is given how a call ended and answers `Again` (after so many seconds, streaming or not) or that it is over.
Nothing here waits, draws chance or opens a socket. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Came:
    """How a call ended. `status` None: no connection, or it broke before the headers."""

    status: int | None = None
    whole: bool = False
    """A complete answer: the call is a success."""
    begun: bool = False
    """It broke, or told an error, after a 200 had begun."""
    fault: bool = False
    """The wire's own error event, not a broken connection."""
    broke: bool = False
    """The connection broke; else it ended cleanly, and too early."""
    silent: bool = False
    """The client's own timer ended it."""
    retry_after: float | None = None
    should_retry: bool | None = None
    """The header x-should-retry."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a manner remembers of its run. `tries` counts within a `round`."""

    tries: int = 0
    round: int = 0
    streaming: bool = True


@dataclass(frozen=True, slots=True)
class Again:
    """Ask once more after `after` seconds."""

    after: float
    tried: Tried


Rule = Callable[[Came, Tried, float], Again | None]
"""(how it ended, what was tried, chance 0..1) → ask again, or None: the agent gives up."""


@dataclass(frozen=True)
class Manner:
    """One client. `patience`: seconds without a byte until it ends a call itself. `says`: headers that tell who it is,
    as measured; {tries} and {session} are filled in."""

    name: str
    wire: str
    rule: Rule
    patience: float
    streaming: bool = True
    says: Mapping[str, str] = field(default_factory=dict)
    fine: bool = True
    """It reads retry-after-ms before Retry-After."""

    def headers(self, session: str, tried: Tried) -> dict[str, str]:
        """Those of one call. `session`: any word that is this agent's own."""
        return {name: value.format(tries=tried.tries, session=session) for name, value in self.says.items()}


def _retried(status: int | None) -> bool:
    return status is None or status in (408, 409, 429) or status >= 500


def sdk(retries: int, longest_hint: float | None) -> Rule:
    """The OpenAI and Anthropic SDKs: `_should_retry`, `_calculate_retry_timeout` in `_base_client.py` of
    github.com/openai/openai-python 3.57 and github.com/anthropics/anthropic-sdk-python 2.14. Nothing is retried once a
    200 has begun. `longest_hint`: openai-python gives up on a longer Retry-After."""

    def rule(came: Came, tried: Tried, chance: float) -> Again | None:
        hint = came.retry_after
        if came.begun or tried.tries >= retries:
            return None
        if longest_hint is not None and hint is not None and hint > longest_hint:
            return None
        if not (came.should_retry if came.should_retry is not None else _retried(came.status)):
            return None
        backoff = min(0.5 * 2.0**tried.tries, 8.0) * (1 - 0.25 * chance)
        return Again(hint if hint is not None and hint > 0 else backoff, replace(tried, tries=tried.tries + 1))

    return rule


def claude_code(came: Came, tried: Tried, chance: float) -> Again | None:
    """Claude Code: ten retries by default (code.claude.com/docs/en/errors, "automatic retries"), 0.5 s doubled up to
    32 s and up to a quarter more; Retry-After wins; x-should-retry: false ends it, but for an overload (measured
    2.1.332). A stream that broke is asked again, one that told an error is asked as a whole answer."""
    if tried.tries >= 10:
        return None
    overloaded = came.status == 529
    if came.should_retry is False and not overloaded and not came.begun:
        return None
    if not (came.begun or came.should_retry or _retried(came.status) or came.status == 401):
        return None
    backoff = min(0.5 * 2.0**tried.tries, 32.0) * (1 + 0.25 * chance)
    streaming = tried.streaming and not (came.begun and (came.fault or came.silent))
    hint = came.retry_after
    return Again(hint if hint is not None else backoff, replace(tried, tries=tried.tries + 1, streaming=streaming))


def codex(came: Came, tried: Tried, chance: float) -> Again | None:
    """Codex CLI: `request_max_retries` 4 within each of `stream_max_retries` 5 + 1 rounds (model-provider-info in
    github.com/openai/codex), both 0.2 s doubled, ± 10 %. A 429 is asked again only where it names a wait (measured
    0.171)."""
    shaken = 0.9 + 0.2 * chance
    if came.status == 429:
        if came.retry_after is None or tried.round >= 5:
            return None
        return Again(came.retry_after, Tried(round=tried.round + 1))
    if came.status is not None and came.status < 500 and not came.begun and came.status not in (401, 404, 408):
        return None
    if not came.begun and not came.silent and tried.tries < 4:
        return Again(0.2 * 2.0**tried.tries * shaken, replace(tried, tries=tried.tries + 1))
    if tried.round >= 5:
        return None
    hint = came.retry_after
    return Again(hint if hint is not None else 0.2 * 2.0**tried.round * shaken, Tried(round=tried.round + 1))


def opencode(came: Came, tried: Tried, chance: float) -> Again | None:
    """OpenCode: no limit of its own; 2 s doubled up to 30 s, or Retry-After (`session/retry.ts` of
    github.com/sst/opencode). It does not read x-should-retry. Given up after 40 tries, so that a run ends."""
    if tried.tries >= 40:
        return None
    if not came.begun and not _retried(came.status):
        return None
    hint = came.retry_after
    backoff = min(2.0 * 2.0 ** min(tried.tries, 10), 30.0)
    return Again(hint if hint is not None else backoff, replace(tried, tries=tried.tries + 1))


def gemini_cli(came: Came, tried: Tried, chance: float) -> Again | None:
    """Gemini CLI: ten tries, 5 s doubled up to 30 s and shaken by 30 %, for a 429 or a 5xx and for a connection that
    failed; a named wait is the least (`retryWithBackoff` in packages/core/src/utils/retry.ts of
    github.com/google-gemini/gemini-cli 0.61). Inside a stream: after a silence and an end without a finish three times
    more, after 1, 2 and 4 s; a broken connection and a bare error end the run (measured 0.61)."""
    if came.begun:
        if came.fault or (came.broke and not came.silent) or tried.round >= 3:
            return None
        return Again(1.0 * 2.0**tried.round, Tried(round=tried.round + 1))
    if tried.tries >= 9 or not (came.status is None or came.status == 429 or came.status >= 500):
        return None
    backoff = min(5.0 * 2.0**tried.tries, 30.0)
    again = replace(tried, tries=tried.tries + 1)
    if came.status == 429 and came.retry_after is not None:
        return Again(max(backoff, came.retry_after) * (1 + 0.2 * chance), again)
    return Again(backoff * (1 + 0.3 * (2 * chance - 1)), again)


SDK_PATIENCE = 600.0
"""The read time-out of the OpenAI and Anthropic SDKs (`DEFAULT_TIMEOUT` in `_constants.py`)."""

_COUNTS = {"x-stainless-retry-count": "{tries}", "x-stainless-read-timeout": "600"}
_OPENAI = {"user-agent": "AsyncOpenAI/Python 3.57.0", **_COUNTS}
_ANTHROPIC = {"user-agent": "AsyncAnthropic/Python 2.14.0", **_COUNTS}
_CLAUDE = {
    "user-agent": "claude-cli/2.1.332 (external, sdk-cli)",
    "x-claude-code-session-id": "{session}",
    "x-stainless-retry-count": "0",
    "x-stainless-timeout": "600",
}
_CODEX = {
    "user-agent": "codex_exec/0.171.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.171.0)",
    "session-id": "{session}",
    "originator": "codex_exec",
}
_OPENCODE = {
    "user-agent": "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14",
    "x-session-id": "{session}",
    "x-session-affinity": "{session}",
}

_GEMINI_CLI = {"user-agent": "GeminiCLI/0.61.0/m (linux; x64; terminal)"}
_GENAI = {"user-agent": "google-genai-sdk/3.6.1 gl-python/3.11.7"}
_OLLAMA = {"user-agent": "ollama-python/0.6.3 (x86_64 linux) Python/3.11.7"}

MANNERS = {
    one.name: one
    for one in (
        Manner("openai-2", "chat/completions", sdk(2, 120), SDK_PATIENCE, says=_OPENAI),
        Manner("openai-10", "chat/completions", sdk(10, 120), SDK_PATIENCE, says=_OPENAI),
        Manner("openai-10-whole", "chat/completions", sdk(10, 120), SDK_PATIENCE, streaming=False, says=_OPENAI),
        Manner("responses-10", "responses", sdk(10, 120), SDK_PATIENCE, says=_OPENAI),
        Manner("anthropic-2", "messages", sdk(2, None), SDK_PATIENCE, says=_ANTHROPIC),
        Manner("anthropic-10", "messages", sdk(10, None), SDK_PATIENCE, says=_ANTHROPIC),
        Manner("anthropic-10-whole", "messages", sdk(10, None), SDK_PATIENCE, streaming=False, says=_ANTHROPIC),
        # 299 s: a stalled stream through ANTHROPIC_BASE_URL, measured; the other two are documented defaults.
        Manner("claude-code", "messages", claude_code, 299.0, says=_CLAUDE, fine=False),
        Manner("codex", "responses", codex, 300.0, says=_CODEX, fine=False),
        Manner("opencode", "chat/completions", opencode, 300.0, says=_OPENCODE),
        Manner("gemini-cli", "gemini", gemini_cli, 300.0, says=_GEMINI_CLI, fine=False),
        # Neither of these asks again by itself, nor ends a silent call within an hour.
        Manner("google-genai", "gemini", sdk(0, None), SDK_PATIENCE, says=_GENAI),
        Manner("google-genai-whole", "gemini", sdk(0, None), SDK_PATIENCE, streaming=False, says=_GENAI),
        Manner("gemini-array", "gemini array", sdk(0, None), SDK_PATIENCE),
        Manner("ollama", "ollama", sdk(0, None), SDK_PATIENCE, says=_OLLAMA),
        Manner("ollama-whole", "ollama", sdk(0, None), SDK_PATIENCE, streaming=False, says=_OLLAMA),
        # A program of somebody's own: asks once, with a library that nobody knows.
        Manner("plain", "chat/completions", sdk(0, None), SDK_PATIENCE),
    )
}
