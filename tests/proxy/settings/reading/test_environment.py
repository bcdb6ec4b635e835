"""Settings from variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.settings.load import ConfigError, Settings, load
from proxy.settings.reading.environment import PREFIX, from_environment
from rules.values.verdict import Mode


def read(**variables: str) -> Settings:
    environ = {PREFIX + name: value for name, value in variables.items()}
    return load(Path("/dev/null"), {}, {"STREAMFUSE_UPSTREAM": "http://h", **environ})


def test_scalars_of_every_kind():
    s = read(
        LISTEN__PORT="1",
        CUT__NOTICE="false",
        RULES__MODE="watch",
        TIMEOUTS__IDLE="2m",
        TIMEOUTS__TOTAL="none",
        LIMITS__HOLD="1MB",
        REPLAY__REASONING="yes",
        RESERVE__RATIO="0.5",
    )
    assert (s.listen.port, s.cut.notice, s.rules.mode) == (1, False, Mode.WATCH)
    assert (s.timeouts.idle, s.timeouts.total, s.limits.hold) == (120, None, 1 << 20)
    assert s.replay.reasoning is True and s.reserve.ratio == 0.5


def test_short_forms_lists_and_whole_sections():
    s = read(
        STATE="redis://h/1",
        CORRELATION__HEADERS="x-a,x-b",
        RULES__PACKS="seeds",
        RULES__OFF="text-cycle",
        AUTH__KEYS='["k1", "k2"]',
        OPS="{port: 9}",
    )
    assert s.state.kind == "redis" and s.correlation.headers == ("x-a", "x-b") and s.rules.off == ("text-cycle",)
    assert [k.get_secret_value() for k in s.auth.keys] == ["k1", "k2"]
    assert s.ops is not None and s.ops.port == 9


def test_providers_by_name():
    s = read(PROVIDERS__DEEPSEEK__BASE_URL="http://d", PROVIDERS__DEEPSEEK__API_KEY="k")
    assert s.providers["deepseek"].base_url == "http://d" and s.default_provider == "upstream"


def test_case_does_not_matter_and_strangers_are_left_alone():
    tree, names = from_environment({"streamfuse_listen__port": "7", "PATH": "x", "OTHER_STREAMFUSE_X": "1"})
    assert tree == {"listen": {"port": "7"}} and names == {("listen", "port"): "streamfuse_listen__port"}


def test_what_kubernetes_sets_for_a_service_of_our_name_is_not_ours():
    environ = {
        "STREAMFUSE_SERVICE_HOST": "10.0.0.1",
        "STREAMFUSE_SERVICE_PORT": "8787",
        "STREAMFUSE_SERVICE_PORT_HTTP": "8787",
        "STREAMFUSE_PORT": "tcp://10.0.0.1:8787",
        "STREAMFUSE_PORT_8787_TCP_ADDR": "10.0.0.1",
    }
    assert from_environment(environ) == ({}, {})


def test_an_empty_one_says_nothing():
    assert read(LISTEN__PORT="", OPS="", STATE="").listen.port == 8787


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("LISTEN__PROT", "did you mean STREAMFUSE_LISTEN__PORT?"),
        ("LISTEN____PORT", "a name is missing"),
        ("WORKERS__X", "nothing below workers"),
        ("NO_SUCH_THING_AT_ALL", "there is no such setting"),
    ],
)
def test_unknown_ones_are_mistakes(name, said):
    with pytest.raises(ConfigError, match=f"^STREAMFUSE_{name}: .*") as caught:
        read(**{name: "1"})
    assert said in str(caught.value)


def test_a_wrong_value_names_its_variable_and_no_secret():
    with pytest.raises(ConfigError) as caught:
        read(AUTH__KEYS="{sk-secret: 1}", LISTEN__PORT="high")
    said = str(caught.value)
    assert "STREAMFUSE_LISTEN__PORT: listen.port" in said and "STREAMFUSE_AUTH__KEYS" in said
    assert "sk-secret" not in said
