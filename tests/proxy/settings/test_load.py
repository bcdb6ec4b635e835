"""Settings: where they come from, who wins, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.settings.load import ConfigError, NoProvider, Settings, load
from rules.values.verdict import Mode


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a config file, loads it, with nothing else around."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, environ: dict[str, str] | None = None, **flags: object) -> Settings:
        (tmp_path / "config.yaml").write_text(text)
        return load(Path("config.yaml"), flags, environ or {})

    return write


def complaint(config, text: str, environ: dict[str, str] | None = None, **flags: object) -> str:
    with pytest.raises(ConfigError) as caught:
        config(text, environ, **flags)
    return str(caught.value)


ONE = "providers: {a: {base_url: http://h/v1}}\n"


def test_the_contract_s_example(config):
    s = config(
        """
listen: {host: 127.0.0.1, port: 8787}
default_provider: openai
providers:
  openai: {base_url: https://api.openai.com/v1}
  deepseek:
    base_url: https://api.deepseek.com/v1
    api_key: ${DEEPSEEK_API_KEY}
    retry: {rate_limit: {max_retries: 8}}
    timeouts: {idle: 120s}
timeouts: {connect: 10s, headers: 600s, first_event: 600s, idle: 480s, total: null}
rules: {packs: [seeds], off: [text-cycle], mode: on}
cut: {finish: stop, notice: true, notice_text: Hello}
correlation: {headers: [], strip: true, ttl: 300s}
limits: {request_body: 64MB, event: 16MB, hold: 256KB}
auth: {keys: [k1]}
""",
        {"DEEPSEEK_API_KEY": "sk-secret"},
    )
    deepseek = s.providers["deepseek"]
    assert deepseek.api_key is not None and deepseek.api_key.get_secret_value() == "sk-secret"
    assert deepseek.timeouts.written == {"idle": 120} and s.timeouts.idle == 480 and s.timeouts.total is None
    assert s.rules.mode is Mode.ON
    assert s.limits.request_body == 64 << 20 and s.limits.hold == 256 << 10
    assert deepseek.retry.written == {"rate_limit": {"max_retries": 8}}


def test_a_bare_off_is_a_mode_not_a_false(config):
    assert config(ONE + "rules: {mode: off}").rules.mode is Mode.OFF


def test_flag_over_environment_over_file_over_default(config):
    text = ONE + "listen: {port: 1001, host: from-file}\n"
    assert config(text).listen.port == 1001
    env = {"STREAMFUSE_LISTEN__PORT": "1002"}
    assert config(text, env).listen.port == 1002
    s = config(text, env, listen={"port": 1003, "host": None})
    assert (s.listen.port, s.listen.host) == (1003, "from-file")
    assert config(ONE).listen.port == 8787


def test_the_only_provider_is_the_default(config):
    assert config(ONE).default_provider == "a"


def test_upstream_is_short_for_a_default_provider(config):
    s = config(ONE, upstream="http://u:1/v1/")
    assert s.default_provider == "upstream" and s.providers["upstream"].base_url == "http://u:1/v1"
    assert "a" in s.providers
    assert config("", {"STREAMFUSE_UPSTREAM": "http://u:1"}).default_provider == "upstream"


def test_camel_case_and_milliseconds_of_the_seeds(config):
    s = config(
        ONE
        + """
retry:
  rateLimit: {maxRetries: 7, deadlineMs: 90000, initialDelayMs: 1500, maxDelayMs: 60000, jitterRatio: 0.5}
  network: {mode: persistent, noDeadline: true}
"""
    )
    assert s.retry.written == {
        "rate_limit": {
            "max_retries": 7, "deadline": 90, "initial_delay": 1.5, "max_delay": 60, "jitter_ratio": 0.5,
        },
        "network": {"mode": "persistent", "no_deadline": True},
    }  # fmt: skip


def test_no_provider_names_the_ways_out(config):
    with pytest.raises(NoProvider, match=r"--upstream.*demo"):
        config("listen: {port: 1}")
    assert load(None, {}, {}, need_provider=False).providers == {}


def test_an_unknown_key_has_its_place_and_the_nearest_name(config):
    assert complaint(config, "listen:\n  prot: 1\n").startswith(
        "config.yaml:2:3: listen.prot: unknown key; did you mean port?"
    )


def test_a_wrong_type_has_its_place(config):
    said = complaint(config, "listen:\n  port: high\n" + ONE)
    assert (
        said
        == "config.yaml:2:3: listen.port: must be a valid integer, unable to parse string as an integer, not 'high'"
    )


def test_all_mistakes_are_told_at_once(config):
    said = complaint(config, "workers: x\nlisten: 5\nproviders: {a: {base_url: http://h, mode: maybe}}")
    assert [line.split(": ")[1] for line in said.splitlines()] == ["workers", "listen", "providers.a.mode"]


def test_secrets_are_in_no_repr_and_no_error(config):
    text = """
providers:
  a:
    base_url: http://h?key=sk-very-secret
    api_key: sk-very-secret
    headers: {Authorization: Bearer sk-very-secret}
state: redis://:sk-very-secret@host/0
auth: {keys: [sk-very-secret]}
"""
    s = config(text)
    assert "sk-very-secret" not in repr(s) + str(s) + s.model_dump_json(
        exclude={"providers": {"a": {"headers", "base_url"}}}
    )
    for broken in (
        text.replace("api_key: sk-very-secret", "api_key: [sk-very-secret]"),
        text.replace("base_url: http://h?key=sk-very-secret", "base_url: http://user:sk-very-secret@h"),
        text.replace("base_url: http://h?key=sk-very-secret", "base_url: sk-very-secret"),
        text.replace("api_key:", "api_kye:"),
        text.replace("{keys: [sk-very-secret]}", "sk-very-secret"),
        text.replace("redis://", "radis://"),
        text.replace("{Authorization: Bearer sk-very-secret}", "sk-very-secret"),
        text + "workers: ${SECRET}\n",
    ):
        assert "sk-very-secret" not in complaint(config, broken, {"SECRET": "sk-very-secret"})
    assert "sk-very-secret" not in complaint(config, ONE, {"STREAMFUSE_AUTH": "sk-very-secret"})


def test_ourselves_as_upstream(config):
    said = complaint(config, "providers:\n  a:\n    base_url: http://localhost:8787/v1\n")
    assert (
        said.startswith("config.yaml:3:") and "providers.a.base_url: this is the address of streamfuse itself" in said
    )
    assert complaint(config, "upstream: http://127.0.0.1:8787\n").startswith("config.yaml:1:")
    assert complaint(config, "", upstream="http://127.0.0.1:8787").startswith("--upstream: ")
    assert complaint(
        config, ONE, {"STREAMFUSE_PROVIDERS__A__BASE_URL": "http://[::]:1"}, listen={"host": "::", "port": 1}
    )
    assert config("upstream: http://127.0.0.1:8080\n").providers["upstream"].base_url == "http://127.0.0.1:8080"


def test_the_old_name_of_a_monitor_works_and_the_new_one_is_told(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("rules: {add: [{name: a, monitor: cycle}, {name: b, monitor: refrain}]}\n")
    notes: list[str] = []
    load(file, {}, {}, need_provider=False, notes=notes)
    assert notes == [
        "rules.add[1].monitor: refrain is now called exact_repetition; the old name goes on working",
    ]


@pytest.mark.parametrize(
    "section", ["journal:\n  # level: debug\n", "rules:\n", "routes:\n  # - model: gpt-*\n", "retry: ~\n"]
)
def test_a_section_of_comments_only_is_as_if_it_were_not_there(config, section):
    assert config(ONE + section) == config(ONE)


def test_a_section_that_is_a_word_is_still_refused(config):
    assert "journal" in complaint(config, ONE + "journal: debug\n")
    assert "base_url" in complaint(config, "providers:\n  a:\n    base_url:\n")
