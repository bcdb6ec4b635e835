"""The whole config as one frozen value. Checks that concern two sections at once stand here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from rules import ErrorRule

from .base import MaybeText, Move, Section, field
from .reading.document import Loc
from .reading.pasted import loop_guard, sse_retry, streak_recovery
from .sections.cut import CutSettings
from .sections.history import HistorySettings
from .sections.profile import Profile, profiled
from .sections.provider import ProviderSettings, Route
from .sections.replay import ReplaySettings, ReserveSettings
from .sections.retry import RetryOver
from .sections.rules import Rules
from .sections.timeouts import TimeoutSettings
from .service.auth import Auth
from .service.identity import Correlation, SessionSettings
from .service.limits import LimitSettings
from .service.listen import Listen, Ops
from .service.network import Network
from .service.notify import Notify
from .service.observability import Drain, Heartbeat, Journal, Metrics, Privacy, Recent
from .service.reload import Reload
from .service.state import State
from .service.telemetry import Telemetry

UPSTREAM = "upstream"
"""Name of the provider that `upstream` stands for."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TAKEN = frozenset({"v1", "healthz", "readyz", "metrics"})


class Settings(Section):
    """Everything that can be configured."""

    profile: Profile = field(
        "default",
        "default, or seeds: the budgets, ladder and limits of the systems that streamfuse grew out of. What is written "
        "beside it wins.",
    )
    listen: Listen = field(Listen(), "The port that agents use.")
    ops: Ops | None = field(None, "Moves /healthz, /readyz, /metrics and the page to a second port.")
    workers: int = field(
        1, "Processes that share the port; more than one needs state: redis://… to share accounts.", ge=1, le=256
    )
    loop: Literal["asyncio", "uvloop", "auto"] = field("asyncio", "Event loop; auto = uvloop where it is installed.")
    upstream: MaybeText = field(None, "Short for one provider called `upstream` that is the default.")
    default_provider: MaybeText = field(None, "Provider of /v1/…; the only one, where there is one.")
    providers: Mapping[str, ProviderSettings] = field({}, "Upstreams by name; each is also at /NAME/v1/….")
    routes: tuple[Route, ...] = field((), "Model patterns that go to a provider of their own; the first match counts.")
    retry: RetryOver = field(RetryOver(), "The eight budgets; what is not written keeps its built-in value.")
    reserve: ReserveSettings = field(ReserveSettings(), "Retries of one provider as a share of its ordinary requests.")
    replay: ReplaySettings = field(ReplaySettings(), "The window in which a failed stream is asked again unseen.")
    timeouts: TimeoutSettings = field(TimeoutSettings(), "The timers of one upstream call.")
    rules: Rules = field(Rules(), "Loop rules.")
    error_rules: tuple[ErrorRule, ...] = field(
        (), "Errors that hide in the data of an event, and how often to retry each."
    )
    error_packs: bool = field(
        True, "Also use the ready error rules of known providers, found by a provider's name or host."
    )
    network: Network = field(Network(), "The way out of this machine.")
    cut: CutSettings = field(CutSettings(), "How a looping answer is ended.")
    correlation: Correlation = field(Correlation(), "What names one logical request.")
    session: SessionSettings = field(SessionSettings(), "What names one run of an agent.")
    state: State = field(State(), "memory, or redis://… shared by workers and machines.")
    limits: LimitSettings = field(LimitSettings(), "Bounds of every buffer.")
    auth: Auth = field(Auth(), "Who may use the proxy.")
    privacy: Privacy = field(Privacy(), "What may be shown.")
    journal: Journal = field(Journal(), "One line an exchange.")
    metrics: Metrics = field(Metrics(), "Prometheus metrics.")
    telemetry: Telemetry = field(Telemetry(), "OpenTelemetry: traces and metrics for a collector.")
    recent: Recent = field(Recent(), "The newest exchanges, for the page.")
    heartbeat: Heartbeat = field(Heartbeat(), "Keeps clients' timers quiet.")
    notify: Notify = field(Notify(), "A webhook for what a person may want to know at once.")
    drain: Drain = field(Drain(), "The end on SIGTERM.")
    reload: Reload = field(Reload(), "How a changed config reaches the running process.")
    history: HistorySettings = field(HistorySettings(), "Loops across steps.")

    also: ClassVar[Mapping[str, str]] = {"provider": "providers"}

    @classmethod
    def pasted(cls, data: dict[str, Any], move: Move) -> dict[str, Any]:
        """The configuration blocks of the systems that streamfuse grew out of."""
        return sse_retry(streak_recovery(loop_guard(data, move), move), move)

    @model_validator(mode="before")
    @classmethod
    def _profiled(cls, data: Any) -> Any:
        return profiled(data) if isinstance(data, dict) else data

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("upstream"), str) and data["upstream"].strip():
            providers = data.get("providers")
            if providers is None or isinstance(providers, dict):
                mine = {**(providers or {}).get(UPSTREAM, {}), "base_url": data["upstream"]}
                return {**data, "providers": {**(providers or {}), UPSTREAM: mine}, "default_provider": UPSTREAM}
        if isinstance(data, dict) and not data.get("default_provider"):
            providers = data.get("providers")
            if isinstance(providers, dict) and len(providers) == 1:
                return {**data, "default_provider": str(next(iter(providers)))}
        return data

    @field_validator("providers")
    @classmethod
    def _path_names(cls, value: Mapping[str, ProviderSettings]) -> Mapping[str, ProviderSettings]:
        for name in value:
            if not _NAME.fullmatch(name) or name in _TAKEN:
                raise _at(
                    (name,), "a provider's name is part of its path: letters, digits, . _ -, and not v1 or metrics"
                )
        return value

    @model_validator(mode="after")
    def _known_providers(self) -> Settings:
        known = ", ".join(self.providers) or "none"
        if self.default_provider is not None and self.default_provider not in self.providers:
            raise _at(("default_provider",), f"there is no such provider (known: {known})")
        for name, provider in self.providers.items():
            for at, other in enumerate(provider.fallback):
                loc = ("providers", name, "fallback", at)
                if other.provider is not None and other.provider not in self.providers:
                    raise _at((*loc, "provider"), f"there is no such provider (known: {known})")
        for at, route in enumerate(self.routes):
            if route.provider not in self.providers:
                raise _at(("routes", at, "provider"), f"there is no such provider (known: {known})")
        return self


def _at(loc: Loc, message: str) -> PydanticCustomError:
    """An error of a part, raised from a validator of the whole."""
    return PydanticCustomError("streamfuse", "{message}", {"message": message, "at": loc})
