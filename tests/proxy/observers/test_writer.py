"""Lines for a reader that is slow, stopped or gone: whoever writes them never waits, and what is lost is told."""

from __future__ import annotations

import fcntl
import io
import os
import threading
from collections import deque

import pytest

from proxy.observers.journal import JournalObserver
from proxy.observers.reports import Stage
from proxy.observers.writer import LineWriter

from . import ended

LIMIT = 30.0
"""Seconds; only a hung test needs them."""


class Pipe:
    """Both ends, the written one as a text stream."""

    def __init__(self) -> None:
        self.read_end, written = os.pipe()
        fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, 4096)
        self.out = os.fdopen(written, "w")

    def read(self, until: bytes) -> bytes:
        """What comes, up to and with these bytes."""
        got = b""
        while until not in got:
            more = os.read(self.read_end, 65536)
            assert more, f"it ended without {until!r}"
            got += more
        return got

    def close_reader(self) -> None:
        os.close(self.read_end)
        self.read_end = -1


@pytest.fixture
def pipe():
    it = Pipe()
    yield it
    if it.read_end >= 0:
        it.close_reader()
    # A thread that is still writing would write to whatever gets this descriptor's number next.
    threads_end()
    it.out.close()


def threads_end() -> None:
    """Wait for the threads of writers that are closed; their reader must be gone."""
    for thread in threading.enumerate():
        if thread.name == "streamfuse-lines":
            thread.join(LIMIT)
            assert not thread.is_alive(), "a closed writer's thread goes on"


class Losses:
    """Counts what is lost, in whichever thread, and lets a test wait for it."""

    def __init__(self) -> None:
        self.count = 0
        self._news = threading.Condition()

    def __call__(self, lines: int) -> None:
        with self._news:
            self.count += lines
            self._news.notify_all()

    def until(self, count: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.count >= count, LIMIT), f"{self.count} of {count}"


def test_a_line_comes_whole_and_in_order(pipe):
    writer = LineWriter(pipe.out)
    for number in range(50):
        writer.put(f"line {number} ü")
    assert pipe.read(b"line 49 \xc3\xbc\n").decode().split("\n") == [*(f"line {n} ü" for n in range(50)), ""]
    writer.close()


def test_what_waits_is_written_when_the_process_ends(pipe):
    writer = LineWriter(pipe.out)
    for number in range(9):
        writer.put(f"line {number}")
    writer.close()
    assert pipe.read(b"line 8\n").count(b"\n") == 9


def test_a_reader_that_does_not_read_costs_lines_and_no_wait(pipe):
    lost = Losses()
    writer = LineWriter(pipe.out, most=20_000, dropped=lost, told=lambda lines: f"{lines} lines are missing")
    line = "x" * 99
    for _ in range(1000):  # 100 kB: into a pipe of 4 kB and a queue of 20
        writer.put(line)
    assert lost.count >= 700
    before = lost.count
    got = pipe.read(f"{before} lines are missing\n".encode())
    *whole, told = got.decode().splitlines()
    assert set(whole) == {line} and len(whole) == 1000 - before
    assert told == f"{before} lines are missing"
    writer.put("on it goes")
    assert pipe.read(b"\n") == b"on it goes\n", "told once"
    writer.close()


def test_the_end_does_not_wait_for_a_reader_that_does_not_read(pipe):
    writer = LineWriter(pipe.out)
    for _ in range(1000):
        writer.put("x" * 99)
    writer.close(0.01)
    writer.put("after the end")  # no error, no thread
    assert threading.active_count() < 20


def test_a_reader_that_is_gone_costs_lines_only(pipe):
    lost = Losses()
    writer = LineWriter(pipe.out, dropped=lost)
    pipe.close_reader()
    for _ in range(5):
        writer.put("nobody hears this")
    lost.until(5)
    writer.put("nor this")
    lost.until(6)
    writer.close()


def test_a_full_disk_costs_lines_and_the_rest_comes_when_there_is_room(monkeypatch, pipe):
    lost = Losses()
    writer = LineWriter(pipe.out, dropped=lost, told=lambda lines: f"missing {lines}")
    real = os.write
    room = [b"whole\n", b"to"]

    def full(descriptor: int, data: memoryview) -> int:
        if descriptor != pipe.out.fileno() or not room:
            raise OSError(28, "No space left on device")
        return real(descriptor, room.pop(0))

    monkeypatch.setattr("proxy.observers.writer.os.write", full)
    with writer._lock:  # so that the three come in one batch
        for line in (b"whole\n", b"torn\n", b"unsaid\n"):
            writer._queue.put(line)
            writer._size += len(line)
        assert writer._started()
    lost.until(2)
    monkeypatch.setattr("proxy.observers.writer.os.write", real)
    writer.put("room again")
    assert pipe.read(b"missing 2\n") == b"whole\nto\nroom again\nmissing 2\n"
    writer.close()


def test_a_descriptor_that_somebody_made_non_blocking(pipe):
    os.set_blocking(pipe.out.fileno(), False)
    lost = Losses()
    writer = LineWriter(pipe.out, dropped=lost)
    for number in range(200):
        writer.put(f"{number:03d} " + "x" * 95)
    got = pipe.read(b"199 " + b"x" * 95 + b"\n")
    assert got.count(b"\n") == 200 and lost.count == 0
    writer.close()


def test_no_stream_and_no_thread_cost_lines_only(monkeypatch, pipe):
    lost = Losses()
    LineWriter(None, dropped=lost).put("nowhere")
    assert lost.count == 1

    def none(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    writer = LineWriter(pipe.out, dropped=lost)
    writer.put("no thread")
    assert lost.count == 2
    monkeypatch.undo()
    writer.put("a thread")
    assert pipe.read(b"a thread\n")
    writer.close()


def test_a_stream_without_a_descriptor_is_written_at_once():
    out = io.StringIO()
    LineWriter(out).put("now")
    assert out.getvalue() == "now\n"


def test_a_terminal_that_is_stopped(pipe):
    """What Ctrl-S does: a terminal whose other side takes nothing."""
    primary, secondary = os.openpty()
    with os.fdopen(secondary, "w") as out:
        lost = Losses()
        writer = LineWriter(out, most=20_000, dropped=lost)
        for _ in range(1000):
            writer.put("x" * 99)
        lost.until(500)
        writer.close(0.01)
        os.close(primary)
        threads_end()


@pytest.mark.parametrize(
    ("format", "line", "last"), [("json", b"exchange", b"journal_dropped"), ("console", b"  cut ", b"were dropped")]
)
def test_the_journal_tells_what_is_missing(pipe, format, line, last):
    lost = Losses()
    journal = JournalObserver(format=format, stream=pipe.out, dropped=lost)
    for _ in range(8000):
        journal.hear(ended())
    assert lost.count > 0
    got = pipe.read(last)
    got += b"" if got.endswith(b"\n") else pipe.read(b"\n")
    *whole, told = got.splitlines()
    assert len(whole) == 8000 - lost.count and all(line in one for one in whole)
    assert last in told and str(lost.count).encode() in told
    journal.close()


def test_the_journal_without_stderr(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    lost = Losses()
    JournalObserver(dropped=lost).hear(Stage("started"))
    assert lost.count == 1


def test_lines_from_many_threads_stay_whole(pipe):
    writer = LineWriter(pipe.out)
    threads = [threading.Thread(target=lambda c=c: deque(map(writer.put, [c * 50] * 100))) for c in "abcdef"]
    for thread in threads:
        thread.start()
    got = b""
    while got.count(b"\n") < 600:
        got += os.read(pipe.read_end, 65536)
    for thread in threads:
        thread.join()
    assert sorted(set(got.decode().split())) == [c * 50 for c in "abcdef"]
    writer.close()
