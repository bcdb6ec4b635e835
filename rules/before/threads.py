"""The memory of a conversation that its client does not resend (Responses' previous_response_id): digests only.

A thread holds the newest steps of one run. Each step is kept as the keys that step detectors compare, so no text, name
or argument can be read back from it. Reasoning is not remembered: detectors that compare reasoning see only what the
request itself holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..values.signature import digest, fold_digits
from ..values.steps import Run, Step, ToolCall
from .evidence.facts import CallFacts, Facts, all_facts, call_facts
from .evidence.waiting import Sign

LONGEST = 32
"""Steps kept of one thread."""
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def key(text: str | None) -> str | None:
    """A digest written in letters only, so that folding digits does not change it. None and "" stay as they are."""
    return digest(text).translate(_LETTERS) if text else text


@dataclass(frozen=True, slots=True)
class Thread:
    """Steps as recalled, oldest first. `pending` maps the digest of an unanswered call's id to its (step, call)."""

    steps: tuple[Facts, ...] = ()
    pending: Mapping[str, tuple[int, int]] | None = None

    def answered(self, outputs: Mapping[str, str]) -> tuple[Facts, ...]:
        """The steps, completed with the results that this request brings. `outputs`: result by call id."""
        steps = list(self.steps)
        for ident, result in outputs.items():
            at = (self.pending or {}).get(digest(ident))
            if at is not None:
                step, call = at
                calls = list(steps[step].calls)
                calls[call] = _with_result(calls[call], result)
                steps[step] = replace(steps[step], calls=tuple(calls))
        return tuple(steps)


def _with_result(call: CallFacts, result: str) -> CallFacts:
    seen = call_facts(ToolCall("", "", "", result))
    return replace(
        call, result=_result_key(seen), failed=seen.failed, empty=seen.empty, known=_either(call.sign, seen.sign)
    )


def _either(made: Sign, got: Sign) -> Sign:
    """Combine the sign of a call with that of its result. A call read without a result says nothing (MAYBE)."""
    return max(made, got) if made is not Sign.MAYBE else got


def _result_key(call: CallFacts) -> str | None:
    """The key of a result. Errors are compared by their words with digits folded, everything else exactly."""
    return key(fold_digits(call.result[:300]) if call.failed and call.result else call.result)


def _forget(facts: Facts) -> Facts:
    """The same step with digests in place of every text."""
    calls = tuple(
        replace(
            call,
            name=key(call.name) or "",
            signature=key(call.signature) or "",
            loose=key(call.loose) or "",
            result=_result_key(call),
            known=call.sign,
            call=None,
        )
        for call in facts.calls
    )
    said = key(facts.text) or ""
    return Facts(
        step=Step(text=said, cut=facts.step.cut),
        text=said,
        template=key(facts.template) or "",
        text_key=key(facts.text_key) or "",
        signature=key(facts.signature) or "",
        calls=calls,
    )


def so_far(prior: Sequence[Facts], run: Run) -> tuple[Facts, ...]:
    """The steps before an answer, as digests. `prior`: the recalled steps with their results."""
    return (*prior, *map(_forget, all_facts(run.steps[-LONGEST:])))[-LONGEST:]


def remember(before: Sequence[Facts], answer: Step) -> dict[str, Any]:
    """Make a record (JSON values only) of the run after this answer. `before`: as `so_far` gave it."""
    steps = [*before, *map(_forget, all_facts((answer,)))][-LONGEST:]
    ids = {digest(call.id): n for n, call in enumerate(answer.calls) if call.id}
    return {"steps": [_write(step) for step in steps], "open": ids}


def recall(record: Mapping[str, Any]) -> Thread:
    """Read a thread from its record. A record that cannot be read gives an empty thread."""
    try:
        steps = tuple(_read(row) for row in record["steps"])
        last = len(steps) - 1
        return Thread(steps, {str(ident): (last, int(n)) for ident, n in record["open"].items()})
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return Thread()


def _write(facts: Facts) -> list[Any]:
    calls = [
        [c.name, c.signature, c.loose, c.result, c.failed << 0 | c.empty << 1 | c.changes << 3 | c.sign << 4]
        for c in facts.calls
    ]
    return [facts.text, facts.template, facts.text_key, facts.signature, facts.step.cut, calls]


def _read(row: Sequence[Any]) -> Facts:
    text, template, text_key, signature, cut, calls = row
    return Facts(
        step=Step(text=str(text), cut=bool(cut)),
        text=str(text),
        template=str(template),
        text_key=str(text_key),
        signature=str(signature),
        calls=tuple(
            CallFacts(str(n), str(s), str(lo), r, bool(f & 1), bool(f & 2), bool(f & 8), Sign(f >> 4 & 3))
            for n, s, lo, r, f in calls
        ),
    )
