"""Accounts in a Redis (or Valkey) that several workers and machines share.

A change is swapped in only if nobody else changed the account meanwhile, so that two proxies that serve one logical
request draw on one budget. While Redis does not answer, this process keeps accounts in its own memory and reports that
once. When Redis answers again, it merges them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import orjson
import redis.asyncio as aioredis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from rules import Account

from .accounts import TTL, Accounts, MemoryAccounts, Step, joined

PAUSE = 1.0
"""Seconds before a Redis that failed is asked again."""
TRIES = 32
"""Lost swaps in a row before a change is made without Redis."""
CONNECTIONS = 32

_SWAP = """
local held = redis.call('GET', KEYS[1]) or ''
if held ~= ARGV[1] then return held end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return false
"""
"""Lua: store the new value if the stored one is the expected one; else return the stored one."""

T = TypeVar("T")


class SharedAccounts(Accounts):
    """Accounts in a Redis (or Valkey), with this process's own memory for when it is away."""

    shared = True

    def __init__(
        self,
        url: str,
        clock: Callable[[], float],
        *,
        prefix: str = "streamfuse:",
        timeout: float = 0.25,
        ttl: float = TTL,
        changed: Callable[[bool, str], None] = lambda healthy, detail: None,
    ) -> None:
        """`url`: redis://, rediss:// or unix://. `clock`: monotonic seconds. `timeout`: the longest wait for one
        answer. `changed(healthy, detail)` is told when Redis goes or comes back."""
        self.ttl = ttl
        self._prefix = prefix + "account:"
        self._notes = prefix + "note:"
        self._clock = clock
        self._timeout = timeout
        self._changed = changed
        self._local = MemoryAccounts(ttl)
        self._away_until: float | None = None
        self._detail = ""
        self._asking: set[asyncio.Task[Any]] = set()
        # Under load, wait for a free connection instead of taking the store for dead.
        pool = aioredis.BlockingConnectionPool.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            max_connections=CONNECTIONS,
            timeout=timeout,
            retry=Retry(NoBackoff(), 1),
        )
        self._redis = aioredis.Redis.from_pool(pool)
        self._script = self._redis.register_script(_SWAP)

    @property
    def healthy(self) -> bool:
        return self._away_until is None

    @property
    def detail(self) -> str:
        return self._detail

    async def start(self) -> None:
        await self.read("", 0.0)

    async def stop(self) -> None:
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._redis.aclose()

    async def read(self, key: str, now: float) -> Account:
        held = await self._ask(self._get(key))
        if held is None:
            return self._local.held(key, now) or Account()
        return self._joined(key, _load(held, now, self.ttl), now)

    async def change(self, key: str, known: Account, step: Step, now: float) -> Account | None:
        # The first attempt needs no read: at the first failure nothing is stored, and later the book has just read the
        # value.
        held: bytes | None = b"" if known == Account() else await self._ask(self._get(key))
        for _ in range(TRIES):
            if held is None:
                break
            after = step(self._joined(key, _load(held, now, self.ttl), now))
            swapped, held = await self._swap(key, held, _dump(after, now))
            if swapped:
                self._local.keep(key, None, now)
                return after
        mine = self._local.held(key, now) or known
        after = step(mine)
        self._local.keep(key, after, now)
        return after

    async def notes(self, keys: Sequence[str]) -> dict[str, bytes]:
        if not keys:
            return {}
        held = await self._ask(self._all(keys))
        return {key: value for key, value in zip(keys, held or (), strict=False) if isinstance(value, bytes)}

    async def note(self, key: str, value: bytes, life: float) -> None:
        await self._ask(self._leave(key, value, int(life * 1000)))

    async def _all(self, keys: Sequence[str]) -> list[Any]:
        return list(await self._redis.mget([self._notes + key for key in keys]))

    async def _leave(self, key: str, value: bytes, life: int) -> bool:
        return bool(await self._redis.set(self._notes + key, value, px=life))

    async def _get(self, key: str) -> bytes:
        return _bytes(await self._redis.get(self._prefix + key))

    async def _swap(self, key: str, held: bytes, after: bytes) -> tuple[bool, bytes | None]:
        """(done, what is there instead); (False, None) where Redis is away."""
        # Twice the time to live: age is told by the account itself, this only sweeps.
        life = max(1, int(self.ttl * 2000))
        answer = await self._ask(self._run(key, held, after, life))
        if answer is None:
            return False, None
        done, now_held = answer
        return done, now_held

    async def _run(self, key: str, held: bytes, after: bytes, life: int) -> tuple[bool, bytes]:
        other = await self._script(keys=[self._prefix + key], args=[held, after, life])
        return other is None, _bytes(other)

    async def _ask(self, question: Coroutine[Any, Any, T]) -> T | None:
        """The answer of Redis, None where it is away. Nothing waits longer than twice the timeout."""
        away = self._away_until
        if away is not None and self._clock() < away:
            question.close()
            return None
        if away is not None:
            # One request tests the connection; the others go on without Redis meanwhile.
            self._away_until = self._clock() + PAUSE
        # In a task of its own: redis-py (8.1) loses a cancellation that comes while it checks a pooled connection,
        # and a client that has left must end its exchange at once.
        task = asyncio.create_task(question)
        self._asking.add(task)
        task.add_done_callback(self._answered)
        try:
            await asyncio.wait({task}, timeout=self._timeout * 2)
        finally:
            if not task.done():
                task.cancel()
        if not task.done() or task.cancelled():
            self._gone("TimeoutError")
            return None
        if (error := task.exception()) is not None:
            if not isinstance(error, RedisError | OSError | TimeoutError):
                raise error
            # redis-py (8.1) raises a refused password as a connection that failed, and keeps the truth as its cause.
            cause = error.__cause__
            self._gone(type(cause if isinstance(cause, RedisError) else error).__name__)
            return None
        self._back()
        return task.result()

    def _answered(self, task: asyncio.Task[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # an answer that nobody waits for any more: looked at, so that asyncio does not complain

    def _gone(self, detail: str) -> None:
        told = self._away_until is not None
        self._away_until = self._clock() + PAUSE
        self._detail = detail
        if not told:
            self._changed(False, detail)

    def _back(self) -> None:
        if self._away_until is not None:
            self._away_until = None
            self._detail = ""
            self._changed(True, "")

    def _joined(self, key: str, account: Account, now: float) -> Account:
        """Merge the account that Redis holds with the one that was counted here while Redis did not answer."""
        mine = self._local.held(key, now)
        return account if mine is None else joined(account, mine)


def _bytes(held: Any) -> bytes:
    return held if isinstance(held, bytes) else b""


def _dump(account: Account | None, now: float) -> bytes:
    """An account as JSON, b"" for none. Keys are sorted: equal accounts are equal bytes."""
    if account is None or account == Account():
        return b""
    kind, status, code = account.closed_as
    written = {
        "at": now,
        "failures": account.failures,
        "since": account.since,
        "spent": account.spent,
        "hits": account.hits,
        "rounds": account.rounds,
        "closed": [account.closed_until, kind, status, code],
    }
    return orjson.dumps(written, option=orjson.OPT_SORT_KEYS)


def _load(held: bytes, now: float, ttl: float) -> Account:
    """The account of its JSON; an empty one where it is too old, or not one of ours."""
    if not held:
        return Account()
    try:
        read = orjson.loads(held)
        if now - read["at"] > ttl:
            return Account()
        until, kind, status, code = read["closed"]
        return Account(
            failures=int(read["failures"]),
            since=None if read["since"] is None else float(read["since"]),
            spent=dict(read["spent"]),
            hits=dict(read["hits"]),
            rounds=dict(read["rounds"]),
            closed_until=float(until),
            closed_as=(str(kind), None if status is None else int(status), str(code)),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return Account()
