"""The webhook: what is sent, signed how, and that nothing ever waits for it."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest

from proxy.observers import notify
from proxy.observers.notify import NotifyObserver
from proxy.observers.reports import BreakerChanged, EndReason, Outcome, Stage
from proxy.settings.service.notify import Notify

from . import EXCHANGE, FAILURE, PROMPT, SECRET, ended


class Receiver:
    """Somebody who takes deliveries."""

    def __init__(self) -> None:
        self.got: Queue[tuple[dict[str, str], bytes]] = Queue()
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver.got.put(({name.lower(): value for name, value in self.headers.items()}, body))

            def log_message(self, *_args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?token={SECRET}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def next(self) -> tuple[dict[str, str], Any]:
        headers, body = self.got.get(timeout=5)
        return headers, json.loads(body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(notify, "IDLE", 0.05)
    it = Receiver()
    yield it
    it.close()


def test_a_cut_is_told_signed_and_without_content(receiver: Receiver):
    sink = NotifyObserver(Notify(url=receiver.url, secret="our-secret"), lambda: 1000.0)
    for report in EXCHANGE:
        sink.hear(report)
    headers, body = receiver.got.get(timeout=5)
    said = json.loads(body)
    assert (said["event"], said["at"], said["request_id"], said["model"]) == ("cut", 1000.0, "req-1", "gpt-x")
    assert said["finding"]["rule"] == "period" and said["finding"]["because"]
    mac = hmac.new(b"our-secret", body, hashlib.sha256).hexdigest()
    assert headers["x-streamfuse-signature"] == f"sha256={mac}" and headers["content-type"] == "application/json"
    assert PROMPT.encode() not in body and SECRET.encode() not in body and b"our-secret" not in body


def test_refusals_and_breakers_are_told_and_nothing_else(receiver: Receiver):
    sink = NotifyObserver(Notify(url=receiver.url))
    down, up = BreakerChanged("main", "m", True, FAILURE), BreakerChanged("main", "m", False, FAILURE)
    ends = ended(Outcome.OK), ended(Outcome.CUT, EndReason.DRAIN), ended(Outcome.REFUSED)
    for report in (*ends, down, down, up, up):
        sink.hear(report)
    said = [receiver.next()[1] for _ in range(3)]
    assert [one["event"] for one in said] == ["refused", "provider_down", "provider_up"]
    assert (said[1]["provider"], said[1]["upstream_status"]) == ("main", 429)
    assert receiver.got.empty()


def test_only_what_is_asked_for_and_a_new_config_counts(receiver: Receiver):
    sink = NotifyObserver(Notify(url=receiver.url, on=("refused",)))
    sink.hear(ended(Outcome.CUT))
    sink._set(Notify(url=receiver.url, on=("cut",)))
    sink.hear(ended(Outcome.REFUSED))
    sink.hear(ended(Outcome.CUT))
    assert receiver.next()[1]["event"] == "cut" and receiver.got.empty()
    sink._set(Notify())
    sink.hear(ended(Outcome.CUT))
    assert sink._queue.empty()


@pytest.mark.parametrize("status", [302, 500])
def test_a_delivery_that_fails_is_told_once_and_not_tried_again(receiver: Receiver, status: int):
    receiver.status = status
    told: Queue[Stage] = Queue()
    sink = NotifyObserver(Notify(url=receiver.url))
    sink.told = told.put
    counted: list[str] = []
    sink.counted = counted.append
    sink.hear(ended(Outcome.CUT))
    sink.hear(ended(Outcome.CUT))
    receiver.next()
    receiver.next()
    assert told.get(timeout=5) == Stage("notify_failed", {"error": f"HTTP{status}"}, wrong=True)
    assert told.empty() and receiver.got.empty()
    assert counted[0] == "failed"


def test_a_receiver_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notify, "PATIENCE", 0.1)
    told: Queue[Stage] = Queue()
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        line, _ = server.accept()
        with contextlib.suppress(OSError):
            line.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not over.wait(0.01):  # a byte now and then: no single read ever waits long
                line.sendall(b"a")
        line.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        sink = NotifyObserver(Notify(url=f"http://127.0.0.1:{server.getsockname()[1]}/"))
        sink.told = told.put
        sink.hear(ended(Outcome.CUT))
        assert told.get(timeout=5).facts["error"] == "TimeoutError"
        over.set()


def test_a_receiver_that_does_not_take_holds_nothing_up(monkeypatch: pytest.MonkeyPatch):
    told: list[Stage] = []
    sink = NotifyObserver(Notify(url="http://127.0.0.1:9/"))
    sink.told = told.append
    counted: list[str] = []
    sink.counted = counted.append
    monkeypatch.setattr(sink, "_thread", threading.current_thread())  # nobody sends
    for _ in range(notify.QUEUE + 50):
        sink.hear(ended(Outcome.CUT))
    assert sink._queue.qsize() == notify.QUEUE
    assert told == [Stage("notify_failed", {"error": "Full"}, wrong=True)]
    assert counted == ["dropped"] * 50


def test_the_address_must_be_one():
    with pytest.raises(ValueError, match="http"):
        Notify(url="ftp://a.example")
