"""The limits of retries: what the configuration allows (Budget), what one request has used (Account), and what all
clients of one provider may use together (Reserve).

Durations are seconds. `now` is the wall clock in seconds since the epoch, because accounts outlive a process and are
shared between machines. Defaults and merge rules are those of MiMo-Code (config/retry.ts).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..values import record
from ..values.durations import PositiveDuration
from ..values.failures import Kind, Phase

HINT_FLOOR = 0.1
"""Seconds. A hinted or jittered wait is never shorter (MiMo-Code)."""


class Scope(StrEnum):
    """The purpose of a request, named by a header. Only the last two have budgets of their own."""

    REQUEST = "request"
    LIVE_STEP = "live-step"
    MAX_CANDIDATE = "max-candidate"
    MAX_JUDGE = "max-judge"


class Budget(BaseModel):
    """One complete budget. `max_retries` counts retries *after* the first attempt; None = no limit by count. `deadline`
    runs from the first counted failure; None = no deadline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["bounded", "persistent"] = "bounded"
    max_retries: int | None = Field(default=None, ge=0, le=100)
    deadline: PositiveDuration | None = None
    initial_delay: PositiveDuration = 2.0
    max_delay: PositiveDuration = 30.0
    jitter_ratio: float = Field(default=0.1, ge=0, le=1)

    @model_validator(mode="after")
    def _persistent_has_no_count(self) -> Self:
        if self.mode == "persistent" and self.max_retries is not None:
            raise ValueError("a persistent budget has no max_retries")
        return self

    def allows(self, number: int) -> bool:
        """Does the count allow another attempt after failure `number` (1 = the first)?"""
        return self.max_retries is None or number <= self.max_retries

    def delay(self, number: int, jitter: float, hint: float | None = None) -> float:
        """Seconds to wait after failure `number`, in whole milliseconds.

        `hint`: the upstream's own wait. It is kept; where it is over `max_delay`, `decide` does not retry at all.
        Without a hint: initial_delay, doubled for each failure, capped, times 1 ± jitter_ratio. `jitter` (0..1) picks
        the value in that range.
        """
        if hint is not None:
            return min(self.max_delay, max(HINT_FLOOR, hint))
        base = min(self.max_delay, self.initial_delay * 2.0 ** min(max(number, 1) - 1, 64))
        if self.jitter_ratio == 0:
            return base
        # A Retry of 184.5 ms waits 185: half up, as MiMo-Code rounds, not half to even. The inner round removes the
        # noise of binary seconds, which would turn 184.5 into 184.49999.
        shaken = base * 1000 * (1 + self.jitter_ratio * (2 * jitter - 1))
        return min(self.max_delay, max(HINT_FLOOR, math.floor(round(shaken, 6) + 0.5) / 1000))


class BudgetOverride(BaseModel):
    """Configured changes to a budget: any subset of its fields. MiMo-Code's camelCase and milliseconds are aliases."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["bounded", "persistent"] | None = None
    max_retries: Annotated[int, Field(ge=0, le=100)] | None = None
    deadline: PositiveDuration | None = None
    no_deadline: bool | None = None
    initial_delay: PositiveDuration | None = None
    max_delay: PositiveDuration | None = None
    jitter_ratio: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _seed_keys(cls, written: Any) -> Any:
        return _translate(written, _FIELD_KEYS, _MILLISECOND_KEYS)

    @model_validator(mode="after")
    def _one_deadline(self) -> Self:
        if self.deadline is not None and self.no_deadline:
            raise ValueError("deadlineMs and noDeadline cannot be configured together")
        return self


class BudgetOverrides(BaseModel):
    """One layer of the config's `retry:` block: overrides by budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: BudgetOverride | None = None
    stream: BudgetOverride | None = None
    network: BudgetOverride | None = None
    server: BudgetOverride | None = None
    rate_limit: BudgetOverride | None = None
    unknown: BudgetOverride | None = None
    max_candidate: BudgetOverride | None = None
    max_judge: BudgetOverride | None = None

    @model_validator(mode="before")
    @classmethod
    def _seed_keys(cls, written: Any) -> Any:
        return _translate(written, _BUDGET_KEYS, {})


class Budgets(BaseModel):
    """The eight budgets, complete. `explicit`: the names of those that are configured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: Budget = Budget(max_retries=4, deadline=30, initial_delay=0.2)
    stream: Budget = Budget(max_retries=5, deadline=600)
    network: Budget = Budget(mode="persistent", initial_delay=5, max_delay=60, jitter_ratio=0)
    server: Budget = Budget(max_retries=8, deadline=900)
    rate_limit: Budget = Budget(max_retries=5, deadline=900, max_delay=300)
    unknown: Budget = Budget(max_retries=8, deadline=900)
    max_candidate: Budget = Budget(max_retries=3, deadline=180, initial_delay=0.5)
    max_judge: Budget = Budget(max_retries=3, deadline=180, initial_delay=0.5)
    explicit: frozenset[str] = frozenset()

    @classmethod
    def merge(cls, *layers: BudgetOverrides | None) -> Budgets:
        """Merge the layers over the defaults, field by field, weakest layer first (global, provider).

        The last layer that names `deadline` or `no_deadline` decides about the deadline alone: `no_deadline: false`
        there hides an earlier deadline and restores the default. `persistent` drops max_retries; a budget made bounded
        without max_retries does not stop by count.
        """
        defaults = cls()
        merged: dict[str, Budget] = {}
        for name in BUDGETS:
            written = [over for layer in layers if layer is not None and (over := getattr(layer, name)) is not None]
            if written:
                merged[name] = _merge(getattr(defaults, name), written)
        return defaults.model_copy(update={**merged, "explicit": frozenset(merged)})

    def choose(self, phase: Phase, kind: Kind, scope: Scope = Scope.REQUEST) -> str:
        """The name of the budget that a failure draws on.

        That is its kind's, as early as it comes: four tries within three seconds, which `request` grants, are fewer
        than an agent has of its own. Where somebody configured `request` (`profile: seeds` does) it is drawn on before
        the answer began, whatever the kind, unless the kind's own budget is configured too: what is written takes
        effect.
        """
        by_kind = _OF_KIND.get(kind, "stream")
        if phase is not Phase.STREAM and "request" in self.explicit:
            return by_kind if by_kind in self.explicit and by_kind != "stream" else "request"
        if kind is Kind.NETWORK:
            return "network"
        return _OF_SCOPE.get(scope, by_kind)

    def named(self, name: str) -> Budget:
        """The budget with the name that `choose` returned."""
        budget: Budget = getattr(self, name)
        return budget


BUDGETS = ("request", "stream", "network", "server", "rate_limit", "unknown", "max_candidate", "max_judge")

_OF_KIND = {Kind.NETWORK: "network", Kind.SERVER: "server", Kind.RATE_LIMIT: "rate_limit", Kind.UNKNOWN: "unknown"}
_OF_SCOPE = {Scope.MAX_CANDIDATE: "max_candidate", Scope.MAX_JUDGE: "max_judge"}
_BUDGET_KEYS = {"rateLimit": "rate_limit", "maxCandidate": "max_candidate", "maxJudge": "max_judge"}
_FIELD_KEYS = {"maxRetries": "max_retries", "noDeadline": "no_deadline", "jitterRatio": "jitter_ratio"}
_MILLISECOND_KEYS = {"deadlineMs": "deadline", "initialDelayMs": "initial_delay", "maxDelayMs": "max_delay"}


def _translate(written: Any, keys: Mapping[str, str], milliseconds: Mapping[str, str]) -> Any:
    """Rename MiMo-Code's keys. Raises ValueError where a field is named twice or milliseconds are not whole."""
    if not isinstance(written, Mapping):
        return written
    plain: dict[str, Any] = {}
    for key, value in written.items():
        name = keys.get(key) or milliseconds.get(key) or key
        if name in plain:
            raise ValueError(f"{name} is named twice")
        if key in milliseconds and value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"{key} is a whole number of milliseconds, more than 0")
            value = value / 1000
        plain[name] = value
    return plain


def _merge(default: Budget, written: list[BudgetOverride]) -> Budget:
    values: dict[str, Any] = default.model_dump()
    for over in written:
        values |= over.model_dump(exclude_none=True, exclude={"deadline", "no_deadline"})
    for over in reversed(written):
        if over.deadline is not None or over.no_deadline is not None:
            if over.deadline is not None:
                values["deadline"] = over.deadline
            elif over.no_deadline:
                values["deadline"] = None
            break
    if values["mode"] == "persistent":
        values["max_retries"] = None
    return Budget(**values)


@record(frozen=True, slots=True)
class Account:
    """What one logical request has used, over its attempts and its client's own retries. Holds numbers, names and times
    only. It is a value: `decide` reads it, `decide.charged` makes the next one, the store swaps them atomically."""

    failures: int = 0
    """Counted failures of any kind. All budgets share this number, so that alternating kinds cannot add up their
    budgets."""
    since: float | None = None
    """When the first failure was counted: deadlines run from here. A silent retry does not start them."""
    spent: Mapping[str, int] = field(default_factory=dict)
    """Retries granted, by budget."""
    hits: Mapping[str, int] = field(default_factory=dict)
    """Failures, by error rule or by status, where these have a limit of their own."""
    rounds: Mapping[str, int] = field(default_factory=dict)
    """Halted loops, by rule."""
    closed_until: float = 0.0
    """Until this moment the provider has asked this request to wait."""
    closed_as: tuple[str, int | None, str] = ("", None, "")
    """(kind, upstream status, stable code) of the failure that asked for the wait."""


class Reserve:
    """The retries that all clients of one provider may make together: a share of its ordinary requests in a sliding
    window, plus a small constant flow so that a quiet proxy can retry at all (as in Linkerd and Envoy)."""

    __slots__ = ("_asked", "_epoch", "_retried", "_slot", "floor", "ratio", "window")

    SLOTS = 10

    def __init__(self, ratio: float = 0.2, window: float = 10.0, floor: float = 1.0) -> None:
        """`ratio`: retries per ordinary request. `window`: seconds. `floor`: retries per second that are always
        allowed. Ratio and window are Linkerd's defaults; its floor of 10 is for RPCs of milliseconds, not for LLM
        calls."""
        self.ratio = ratio
        self.window = window
        self.floor = floor
        self._slot = window / self.SLOTS
        self._asked = [0] * self.SLOTS
        self._retried = [0] * self.SLOTS
        self._epoch = 0

    def deposit(self, now: float) -> None:
        """Count an ordinary (first) request."""
        self._asked[self._at(now)] += 1

    def allows(self, now: float) -> bool:
        """Is one more retry allowed?"""
        self._at(now)
        return sum(self._retried) + 1 <= sum(self._asked) * self.ratio + self.floor * self.window

    def left(self, now: float) -> int:
        """How many retries it allows now."""
        self._at(now)
        return max(0, int(sum(self._asked) * self.ratio + self.floor * self.window) - sum(self._retried))

    def withdraw(self, now: float) -> bool:
        """Take one retry out of the reserve. False, and nothing taken, where none is left."""
        if not self.allows(now):
            return False
        self._retried[self._at(now)] += 1
        return True

    def refund(self, now: float) -> None:
        """Give one retry back, because it is being answered. When a provider recovers, the requests that waited for it
        must not wait for the reserve, too."""
        at = self._at(now)
        for back in range(self.SLOTS):
            if self._retried[(at - back) % self.SLOTS] > 0:
                self._retried[(at - back) % self.SLOTS] -= 1
                return

    def _at(self, now: float) -> int:
        """The slot of this moment; empties old slots. A clock that jumps back counts as standing still."""
        epoch = int(now // self._slot)
        if epoch > self._epoch:
            for passed in range(max(self._epoch + 1, epoch - self.SLOTS + 1), epoch + 1):
                self._asked[passed % self.SLOTS] = 0
                self._retried[passed % self.SLOTS] = 0
            self._epoch = epoch
        return self._epoch % self.SLOTS
