"""The budgets as written: only what is named counts, and the last layer that names a field decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from rules import BUDGETS

from ..base import MaybeSeconds, Section, field


class BudgetOver(Section):
    """What one layer says about one budget. Retries are counted after the first attempt."""

    also: ClassVar[Mapping[str, str]] = {"jitter": "jitter_ratio"}

    mode: Literal["bounded", "persistent"] | None = field(
        None,
        "bounded, or persistent (no count; ends with the deadline or when the client leaves).",
        danger="persistent without a deadline asks a dead provider for as long as a client waits.",
    )
    max_retries: int | None = field(None, "Retries after the first attempt.", ge=0, le=100)
    deadline: MaybeSeconds = field(None, "Counted from the first failure.", gt=0)
    no_deadline: bool | None = field(None, "true: no deadline. Not together with deadline.")
    initial_delay: MaybeSeconds = field(None, "First wait; doubled each time.", gt=0)
    max_delay: MaybeSeconds = field(None, "Longest wait; a longer hint from the provider ends the retries.", gt=0)
    jitter_ratio: float | None = field(None, "Part of a wait that is random, 0 to 1.", ge=0, le=1)

    @model_validator(mode="after")
    def _one_deadline(self) -> BudgetOver:
        if self.deadline is not None and self.no_deadline:
            raise ValueError("deadline and no_deadline cannot be configured together")
        return self


class RetryOver(Section):
    """One layer of the eight budgets."""

    request: BudgetOver = field(
        BudgetOver(),
        "Before the answer began, whatever went wrong, but only where it is written here; else the kind's own counts.",
    )
    stream: BudgetOver = field(BudgetOver(), "An answer that stalled, ended early or was none.")
    network: BudgetOver = field(BudgetOver(), "The connection was refused or broke.")
    server: BudgetOver = field(BudgetOver(), "5xx, overloaded, unavailable.")
    rate_limit: BudgetOver = field(BudgetOver(), "429 and its like.")
    unknown: BudgetOver = field(BudgetOver(), "Marked retryable by the provider, of no known kind.")
    max_candidate: BudgetOver = field(BudgetOver(), "Calls marked as one candidate of several.")
    max_judge: BudgetOver = field(BudgetOver(), "Calls marked as the judge of candidates.")

    @property
    def written(self) -> dict[str, dict[str, Any]]:
        """{budget: {field: value}} of what was written, nothing else."""
        named = ((name, getattr(self, name)) for name in BUDGETS)
        return {name: budget.model_dump(exclude_none=True) for name, budget in named if budget.model_fields_set}
