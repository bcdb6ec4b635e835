"""What a config may say about retries beside the budgets."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Policy(BaseModel):
    """The choices about retries that are configurable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replay_reasoning: bool = False
    """Replay although reasoning was shown. The client may show two trains of thought, but no answer is contradicted."""
    rounds: int = Field(default=1, ge=0, le=10)
    """How many heals one logical request may have, those of the client's own retries included. One answer is healed
    once at most: a second round healed nothing (docs/heal.md)."""
    equal_answers: int = Field(default=2, ge=0, le=100)
    """How often what is no answer comes in the same bytes until it is handed on; 0 = the budgets alone decide."""
    final_limits: bool = False
    """A stream that broke as often as its budget allows is reported as a failure that no client retries, as
    opencode-sse-retry does. Otherwise it is reported as one that may pass: an agent with tries left goes on."""
