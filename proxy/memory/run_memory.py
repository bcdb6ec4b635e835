"""Asks the first door about a request, with the memory of earlier answers, and remembers the new answer. It keeps
digests and numbers: which answers we cut, the keys of steps that a client does not resend, outlines of steps, and the
times of the requests of a repetition. Everything is bounded and expires. Where something is forgotten, a request goes
upstream as it came, or is looked at again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import orjson

from rules import (
    ArrayPlace,
    Ask,
    Before,
    Begun,
    BodyDigest,
    Channel,
    Continued,
    Facts,
    Finding,
    HistoryPolicy,
    Identity,
    Imprint,
    Mode,
    MonitorScope,
    Outlines,
    Pace,
    Piece,
    PrefixCache,
    RuleSet,
    Step,
    StepKind,
    Thread,
    ToolCall,
    Transcript,
    Wire,
    all_texts,
    finish_word,
    going_on,
    histories,
    inspect_request,
    key_of,
    known_keys,
    loads,
    recall,
    record,
    remember,
    so_far,
    unanswered,
    with_texts,
)
from rules import classify_step as classify
from rules import monitor_named as monitor
from rules import signature_digest as digest

from . import cuts, threads
from .accounts import Accounts
from .clock import Clock
from .cuts import Cuts
from .threads import Kept, Threads

T = TypeVar("T")
_CUT = "cut:"
_THREAD = "thread:"
_PACE = "pace:"
MOST_TIMES = 13
"""Times kept of one repetition: the gaps between them are what a pace is judged by."""
MOST_ASKED = 256
"""The newest texts of a request that other processes are asked about."""


class RequestView(Protocol):
    """The part of a request that the memory of runs reads."""

    @property
    def name(self) -> str:
        """The provider's name."""

    @property
    def wire(self) -> Wire: ...
    @property
    def ask(self) -> Ask | None: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def known(self) -> ArrayPlace | Begun | Continued | None: ...
    @property
    def digested(self) -> BodyDigest | None: ...
    @property
    def body(self) -> object: ...


@record(frozen=True, slots=True)
class Looked:
    """What to do with a request, and what was known of it beforehand."""

    before: Before
    prior: Thread | None = None


class RunMemory:
    """One process's memory of what was answered."""

    def __init__(
        self,
        clock: Clock,
        policies: Mapping[str, HistoryPolicy],
        store: Accounts,
        later: Callable[[Coroutine[Any, Any, None]], None],
        before: RunMemory | None = None,
    ) -> None:
        """`policies` by provider. `store`: shares what this process knows with others; `later` runs what need not be
        waited for. `before`: the memory under the config before this one; what it knows stays known."""
        self._policies = policies
        self._store = store
        self._later = later
        self._clock = clock
        self.cuts: Cuts = before.cuts if before is not None else Cuts(clock.now)
        self.threads: Threads = before.threads if before is not None else Threads(clock.now)
        self.paces: Kept[Sequence[float]] = before.paces if before is not None else Kept(clock.now)
        self.outlines: Outlines = before.outlines if before is not None else Outlines()
        self.prefixes: PrefixCache = (
            before.prefixes if before is not None else PrefixCache(one.member for one in histories.HISTORIES.values())
        )

    async def look(self, order: RequestView) -> Looked:
        """What to do with a request before it is sent."""
        assert order.ask is not None
        body, policy = order.ask.body, self._policies[order.name]
        history = histories.get(order.wire.name)
        thread = _thread_key(order, body)
        if thread is None and (new := unanswered(order.wire, history, body, order.mode)) is not None:
            return Looked(new)
        # Where no process has cut anything, no answer has to be recognised.
        asked = self._store.shared or len(self.cuts) > 0
        found = known_keys(history, body, policy, order.mode) if asked else {}
        asked = asked and policy.hygiene and order.mode is Mode.ON
        known = self.cuts.look_up(found.values()) if found else {}
        noted = self.threads.get(thread) if thread is not None else None
        unknown = [_CUT + key for key in dict.fromkeys(found.values()) if key not in known][-MOST_ASKED:]
        if thread is not None and noted is None:
            unknown.append(_THREAD + thread)
        for name, value in (await self._store.notes(unknown)).items() if unknown else ():
            with contextlib.suppress(ValueError):
                if name.startswith(_CUT):
                    known[name.removeprefix(_CUT)] = int(value)
                else:
                    noted = orjson.loads(value)
        prior = recall(noted or {}) if thread is not None else None

        async def decided(pace: Pace) -> Before:
            looking = inspect_request(
                order.wire,
                history,
                body,
                policy,
                order.mode,
                found=found,
                cuts=known,
                prior=prior,
                pace=pace,
                known=self.outlines,
                keep=order.known is not None,
            )
            return await _in_turns(looking)

        first = await decided(Pace())
        await self._seen(order, first, found if asked else None)
        acting = first.review.acting
        if acting is None or history is None:
            return Looked(first, prior)
        # The times are looked up only for a repetition.
        name = _pace_digest(order, acting.rule, history.run(body).asked or "")
        pace = Pace(await self._gaps(name))
        return Looked(await decided(pace) if pace.gaps else first, prior)

    async def going_on(self, order: RequestView) -> Looked | None:
        """As `look`, from what is new in the body alone; None: all of it is needed. It is needed where one of the
        answers in it may be one that we cut."""
        known = order.known
        if not isinstance(known, Continued):
            return None
        history, past, policy = histories.get(order.wire.name), known.prefix.past, self._policies[order.name]
        if history is None or history.member != known.prefix.member or past.wire != order.wire.name:
            return None
        texts: dict[int, str] | None = None
        if (self._store.shared or len(self.cuts)) and policy.hygiene and order.mode is Mode.ON:
            texts = all_texts(history, known.new, past)
            if texts is None or self.cuts.look_up(texts.values()):
                return None
            unknown = [_CUT + key for key in dict.fromkeys(texts.values())][-MOST_ASKED:]
            if unknown and await self._store.notes(unknown):
                return None
        gone_on = await _in_turns(
            going_on(order.wire, history, known.members, known.new, past, policy, order.mode, self.outlines)
        )
        if gone_on is None:
            return None
        await self._seen(order, gone_on, texts)
        return Looked(gone_on)

    async def _seen(self, order: RequestView, looked: Before, texts: Mapping[int, str] | None) -> None:
        """Remember what came of this history. `texts`: the keys of its answers, where they were asked for."""
        if looked.pasts and isinstance(order.body, bytes) and order.known is not None:
            pasts = looked.pasts if texts is None else [with_texts(past, texts) for past in looked.pasts]
            if order.digested is not None:
                pasts = [past._replace(mark=order.digested.at(past.items)) for past in pasts]
            await _in_turns(self.prefixes.remember(order.body, order.known, pasts))

    async def _gaps(self, name: str) -> tuple[float, ...]:
        """Seconds between the requests of this repetition, this one included, which is remembered."""
        times = self.paces.get(name) or ()
        if self._store.shared:
            with contextlib.suppress(ValueError, TypeError):
                noted = orjson.loads((await self._store.notes([_PACE + name])).get(_PACE + name, b"[]"))
                times = sorted({*times, *map(float, noted)})
        times = [*times, self._clock.wall()][-MOST_TIMES:]
        self.paces.keep(name, times)
        self._later(self._store.note(_PACE + name, orjson.dumps(times), threads.KEPT_S))
        return tuple(later - earlier for earlier, later in pairwise(times))

    def imprint(self, order: RequestView) -> Imprint | None:
        """What listens to an answer so that it is known again; None where that is not wanted."""
        if order.mode is not Mode.ON or not self._policies[order.name].hygiene:
            return None
        return Imprint(order.wire.block_per_item) if histories.get(order.wire.name) else None

    def cut(self, finding: Finding, transcript: Transcript, rules: RuleSet) -> None:
        """A stream was cut: remember it by what was shown."""
        if not isinstance(transcript.listener, Imprint):
            return
        known = transcript.listener.cut(finding, _thought(finding, transcript, rules))
        if known is not None:
            self._remember(*known)

    def cut_whole(self, finding: Finding, order: RequestView, body: bytes) -> None:
        """A whole answer was cut: remember its text."""
        if order.mode is not Mode.ON or finding.channel is not Channel.TEXT or finding.choice:
            return
        pieces = order.wire.whole(loads(body))
        texts = [p for p in pieces if isinstance(p, Piece) and p.channel is Channel.TEXT and p.block[0] == 0]
        keep = finding.hit.since + (finding.hit.period or 0)
        text = "".join(p.text for p in texts)
        if 0 <= keep < len(text):
            self._remember(key_of(text), keep)

    @staticmethod
    def since(finding: Finding, transcript: Transcript, rules: RuleSet) -> int:
        """Where in the visible text a loop begins, in characters that this answer's rules have seen."""
        return max(0, finding.hit.since - _thought(finding, transcript, rules))

    def _remember(self, key: str, keep: int) -> None:
        self.cuts.remember(key, keep)
        self._later(self._store.note(_CUT + key, b"%d" % keep, cuts.KEPT_S))

    @staticmethod
    def steps(order: RequestView, ask: Ask, prior: Thread | None) -> Sequence[Facts]:
        """The digests of the steps before an answer, where they will be remembered with it. `prior` as `look` gave
        it."""
        history = histories.get(order.wire.name)
        if not order.wire.continues_by_id or history is None:
            return ()
        run = history.run(ask.body)
        return so_far(prior.answered(history.outputs(ask.body)) if prior and run.asked is None else (), run)

    def answered(
        self, order: RequestView, ask: Ask, transcript: Transcript, steps: Callable[[], Sequence[Facts]]
    ) -> StepKind | None:
        """An answer is over: its kind, and its step remembered where the client will not resend it. `steps` gives what
        the method of this name gave."""
        if 0 not in transcript.finished:
            return None
        step = step_of(transcript)
        kind = kind_of(transcript, step, ask.model)
        ident = transcript.head.get("id")
        if order.wire.continues_by_id and isinstance(ident, str) and histories.get(order.wire.name) is not None:
            key, record = _thread_digest(order, ident), remember(steps(), step)
            self.threads.keep(key, record)
            self._later(self._store.note(_THREAD + key, orjson.dumps(record), threads.KEPT_S))
        return kind


async def _in_turns(looking: Generator[None, None, T]) -> T:
    """Do this work, and let other tasks run wherever it yields."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            done: T = end.value
            return done
        await asyncio.sleep(0)


def step_of(transcript: Transcript) -> Step:
    """The step that this answer is, as far as its text was kept."""
    calls: list[ToolCall] = []
    text = reasoning = ""
    for shape in transcript.shapes.values():
        if shape.block[0] != 0:
            continue
        if shape.channel is Channel.TOOL:
            calls.append(ToolCall(_call_id(shape.fields), shape.name, shape.text))
        elif shape.channel is Channel.REASONING:
            reasoning += shape.text
        elif shape.channel is Channel.TEXT or shape.channel is Channel.REFUSAL:
            text += shape.text
    return Step(text=text, reasoning=reasoning, calls=tuple(calls), finish=transcript.finished.get(0))


def _call_id(fields: Mapping[str, Any]) -> str:
    """The id that a result will name: in the item on Responses, in the block itself elsewhere."""
    item = fields.get("item")
    known = item if isinstance(item, Mapping) else fields
    return str(known.get("call_id") or known.get("id") or "")


def kind_of(transcript: Transcript, step: Step, model: str) -> StepKind:
    """The class of a finished answer, by MiMo-Code's table. Works on counts where no text was kept."""
    said = [0] * len(Channel)
    for shape in transcript.shapes.values():
        if shape.block[0] == 0:
            said[shape.channel] += shape.chars
    visible = said[Channel.TEXT] + said[Channel.REFUSAL]
    word = finish_word(transcript.finished.get(0))
    return classify(
        finish="tool-calls" if word == "stop" and step.calls else word,
        text=step.text or ("." if visible else ""),
        reasoning=step.reasoning or ("." if said[Channel.REASONING] else ""),
        client_calls=0,
        any_calls=len(step.calls),
        model=model,
    )


def _thread_key(order: RequestView, body: Mapping[str, Any]) -> str | None:
    """The thread that a request continues, where its client does not resend it."""
    ident = body.get("previous_response_id")
    return _thread_digest(order, ident) if order.wire.continues_by_id and isinstance(ident, str) else None


def _pace_digest(order: RequestView, rule: str, asked: str) -> str:
    """A repetition: of a session where the request names one, else of whoever was asked this."""
    return digest(f"{order.name}\0{order.identity.session or ''}\0{rule}\0{asked}")


def _thread_digest(order: RequestView, ident: str) -> str:
    """Ids are unique within a provider only."""
    return digest(f"{order.name}\0{ident}")


def _thought(finding: Finding, transcript: Transcript, rules: RuleSet) -> int:
    """Characters of reasoning that a finding's offsets count as well."""
    if not _whole_choice(finding, rules):
        return 0
    return sum(s.chars for s in transcript.shapes.values() if s.channel is Channel.REASONING and s.block[0] == 0)


def _whole_choice(finding: Finding, rules: RuleSet) -> bool:
    """Does the rule count reasoning and text together?"""
    rule = next((rule for rule in rules.rules if rule.name == finding.rule), None)
    return rule is not None and monitor(rule.monitor).scope is MonitorScope.CHOICE
