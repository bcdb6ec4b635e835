"""Keeps the accounts of logical requests between their attempts, in this process's memory.

Kept are digests, counters and times, never a character of a prompt, an answer or a credential. A change is a pure
function of the present account, and no other change can happen between its reading and its writing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rules import Account, Decision, Failure, Finding, charged

TTL = 300.0
"""Seconds without a change after which an account is forgotten (opencode-sse-retry: five minutes)."""
MOST = 50_000
"""Accounts of one process, 39 MB measured; the one longest untouched goes first."""
EMPTY = Account()
Look = Callable[[Account], Decision]
Step = Callable[[Account], "Account | None"]


class Accounts(ABC):
    """A store of accounts. `book(key)` is one exchange's view of one of them."""

    ttl: float

    def book(self, key: str | None) -> AccountBook:
        """The account of a logical request; without a key it lives as long as the book."""
        return AccountBook(self if key is not None else None, key or "")

    @abstractmethod
    async def read(self, key: str, now: float) -> Account:
        """The account as it stands, empty where there is none or it is too old. Never raises."""

    @abstractmethod
    async def change(self, key: str, known: Account, step: Step, now: float) -> Account | None:
        """Apply `step` to the present account and store its result (None: forget the account). `known`: the account
        that the caller expects to be stored. `step` is called again if another process has changed the account
        meanwhile. Never raises."""

    shared = False
    """Do other processes leave notes here?"""

    async def notes(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The keys among these under which some process has left a note. A store of one process keeps no notes, because
        this process knows its own. Never raises."""
        return {}

    async def note(self, key: str, value: bytes, life: float) -> None:
        """Leave a note for the other processes, for so many seconds. Never raises."""

    @property
    def healthy(self) -> bool:
        """Accounts are kept where the config says."""
        return True

    @property
    def detail(self) -> str:
        """Why not, as the class of an error; "" while healthy."""
        return ""

    async def start(self) -> None:
        """Test whether the store answers. The process starts even if it does not."""

    async def stop(self) -> None:
        """Let go of connections."""


class AccountBook:
    """One exchange's account."""

    __slots__ = ("_accounts", "_key", "account")

    def __init__(self, accounts: Accounts | None, key: str) -> None:
        self._accounts = accounts
        self._key = key
        self.account = EMPTY
        """As last seen."""

    async def read(self, now: float) -> Account:
        """The account as it stands. `now`: wall clock, seconds."""
        if self._accounts is not None:
            self.account = await self._accounts.read(self._key, now)
        return self.account

    async def charge(self, came: Failure | Finding | None, look: Look, now: float) -> Decision:
        """Decide on the present account and charge it, in one atomic step. `look` is pure (`decide` with everything but
        the account) and may be called more than once.
        """
        decision: Decision | None = None

        def step(account: Account) -> Account | None:
            nonlocal decision
            decision = look(account)
            return charged(account, came, decision, now)

        if self._accounts is None:
            after = step(self.account)
        else:
            # The store forgets an account after some minutes without a change, and one call may take longer. What this
            # exchange has counted itself still counts: otherwise a provider that always fails late is asked for ever.
            mine = self.account
            known = step if mine == EMPTY else lambda held: step(joined(held, mine))
            after = await self._accounts.change(self._key, mine, known, now)
        self.account = after or EMPTY
        assert decision is not None
        return decision

    async def forget(self, now: float) -> None:
        """The logical request is over: answered, or its client has left."""
        if self._accounts is not None and self.account != Account():
            await self._accounts.change(self._key, self.account, lambda _: None, now)
        self.account = Account()


class MemoryAccounts(Accounts):
    """Accounts of this process."""

    def __init__(self, ttl: float = TTL, most: int = MOST) -> None:
        self.ttl = ttl
        self._most = most
        self._kept: OrderedDict[str, tuple[float, Account]] = OrderedDict()

    async def read(self, key: str, now: float) -> Account:
        return self.held(key, now) or Account()

    async def change(self, key: str, known: Account, step: Step, now: float) -> Account | None:
        after = step(self.held(key, now) or Account())
        self.keep(key, after, now)
        return after

    def held(self, key: str, now: float) -> Account | None:
        """What is kept under a key and not too old."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        if now - entry[0] > self.ttl:
            del self._kept[key]
            return None
        return entry[1]

    def keep(self, key: str, account: Account | None, now: float) -> None:
        """Keep an account, or forget it."""
        if account is None or account == Account():
            self._kept.pop(key, None)
            return
        self._kept[key] = (now, account)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)


def joined(one: Account, other: Account) -> Account:
    """Merge two countings of one logical request: take the larger of each number."""
    later = one if one.closed_until >= other.closed_until else other
    times = [at for at in (one.since, other.since) if at is not None]
    return replace(
        later,
        failures=max(one.failures, other.failures),
        since=min(times) if times else None,
        spent=_larger(one.spent, other.spent),
        hits=_larger(one.hits, other.hits),
        rounds=_larger(one.rounds, other.rounds),
    )


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}}
