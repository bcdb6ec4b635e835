"""`streamfuse health` asks where the config says that the proxy answers."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from proxy.commands.ask_health import alive
from proxy.commands.cli import app
from proxy.settings.load import Settings


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Alive, and draining."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), _Proxy) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_the_port_of_ops_is_asked_where_there_is_one(port: int) -> None:
    settings = Settings.model_validate({"listen": {"port": 1}, "ops": {"host": "0.0.0.0", "port": port}})
    assert alive(settings) == (True, "alive")
    assert alive(Settings.model_validate({"listen": {"host": "0.0.0.0", "port": port}})) == (True, "alive")


def test_a_proxy_that_drains_is_alive_and_not_ready(port: int) -> None:
    good, said = alive(Settings.model_validate({"listen": {"port": port}}), ready=True)
    assert not good and "503: it is shutting down" in said


def test_nobody_there_is_said() -> None:
    good, said = alive(Settings.model_validate({"listen": {"port": 1}}))
    assert not good and "port 1 (ConnectionRefusedError)" in said


def test_the_command_reads_the_port_as_the_proxy_does(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMFUSE_UPSTREAM", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("STREAMFUSE_OPS__PORT", str(port))
    assert CliRunner().invoke(app, ["health"]).exit_code == 0
    assert CliRunner().invoke(app, ["health", "--ready"]).exit_code == 1
