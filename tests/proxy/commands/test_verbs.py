"""The command as a person meets it: what it says, where, and with which exit code."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from proxy.commands import console
from proxy.commands.cli import app
from rules.detect.packs import assemble

PROVIDER = "providers: {a: {base_url: http://127.0.0.1:9/v1}}\n"

BOTH = PROVIDER + "retry:\n  server: {deadline: 1m, no_deadline: true}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the command in an empty folder, wide, without a terminal."""
    monkeypatch.chdir(tmp_path)
    # Set when the module was imported, which may have been on a narrow terminal (pytest -n sets COLUMNS).
    monkeypatch.setattr(console.out, "width", 200)
    monkeypatch.setattr(console.err, "width", 200)
    monkeypatch.setenv("COLUMNS", "200")

    def go(*arguments: str, **environ: str) -> Result:
        return CliRunner().invoke(app, list(arguments), env=environ)

    return go


def test_nothing_said_is_a_request_for_help(run):
    got = run()
    assert "serve" in got.output and "check" in got.output


@pytest.mark.parametrize("command", ["serve", "demo", "init", "check", "replay", "calibrate", "rules"])
def test_help_teaches_with_examples(run, command):
    got = run(command, "--help")
    assert got.exit_code == 0 and "Examples" in got.output and f"streamfuse {command}" in got.output
    assert "<bool>" not in got.output, "a flag takes no value"


def test_no_provider_is_exit_2_and_one_sentence_that_names_the_ways_out(run):
    got = run("serve")
    assert got.exit_code == 2
    (line,) = got.stderr.strip().splitlines()
    assert "no provider" in line and "--upstream" in line and "demo" in line and "init" in line and got.stdout == ""


def test_every_mistake_of_a_config_is_a_line_and_exit_2(run, tmp_path):
    (tmp_path / "c.yaml").write_text("listen: {prot: 1}\nworkers: many\n" + PROVIDER)
    for command in (["check", "c.yaml"], ["serve", "-c", "c.yaml"]):
        got = run(*command)
        assert got.exit_code == 2
        assert [line.split(": ")[1] for line in got.stderr.splitlines()] == ["c.yaml:1:10", "c.yaml:2:1"]
        assert "did you mean port?" in got.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.yaml", None, "there is no such file"),
        (
            "list.yaml",
            "- a\n- b\n",
            "list.yaml:1:1: a mapping of `key: value` lines is needed",
        ),
        ("word.yaml", "hello", "single value"),
        ("twice.yaml", "workers: 1\nworkers: 2\n", "twice.yaml:2:1: workers: is written twice (first on line 1)"),
        ("broken.yaml", "a: [1\nb: 2\n", "broken.yaml:2:2: this is not YAML"),
        ("tabs.yaml", "listen:\n\tport: 1\n", "(write blanks instead of the tab)"),
        ("names.yaml", "providers: [{name: a}]\n", "providers is a mapping of names, not a list"),
        ("tag.yaml", "workers: !!python/object:os.system x\n", "is not allowed here"),
        ("binary.yaml", b"\xff\xfe\x00", "binary.yaml:1: is not UTF-8 text"),
        ("empty.yaml", "", "no provider is configured"),
        ("spaces.yaml", "\n# nothing\n", "no provider is configured"),
        ("env.yaml", "workers: ${STREAMFUSE_NOT_THERE_X}\n", "STREAMFUSE_NOT_THERE_X is not set"),
        ("half.yaml", "workers: ${X\n", "a variable is written ${NAME}"),
        ("url.yaml", "providers: {a: {base_url: 'file:///etc/passwd'}}\n", "must begin with http:// or https://"),
        ("no-url.yaml", "providers: {a: {}}\n", "no-url.yaml:1:13: providers.a.base_url: is needed and not there"),
        (
            "both.yaml",
            PROVIDER + "retry:\n  server: {deadline: 1m, no_deadline: true}\n",
            "both.yaml:3:3: retry.server: deadline and no",
        ),
        ("route.yaml", PROVIDER + "routes: [{model: x, provider: b}]\n", "there is no such provider (known: a)"),
        ("pack.yaml", PROVIDER + "rules:\n  packs: [defualt]\n", "no pack is called 'defualt'"),
        ("off.yaml", PROVIDER + "rules:\n  off: [nobody]\n", "off.yaml:3:9: rules.off[0]: no rule is called 'nobody'"),
        ("add.yaml", PROVIDER + "rules:\n  add:\n  - name: x\n    monitor: y\n", "add.yaml:5:5: rules.add[0].monitor"),
        ("default.yaml", PROVIDER + "default_provider: b\n", "default.yaml:2:1: default_provider: there is no such"),
    ],
)
def test_bad_files(run, tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    got = run("check", name)
    assert got.exit_code == 2, got.output
    assert said in got.stderr and "Traceback" not in got.output


def test_a_reload_needs_no_provider(run, monkeypatch):
    monkeypatch.setenv("STREAMFUSE_LISTEN__PORT", "1")
    got = run("reload")
    assert got.exit_code and "no provider" not in got.stderr and "Traceback" not in got.output


def test_a_folder_is_no_config(run, tmp_path):
    (tmp_path / "d").mkdir()
    assert "folder" in run("check", "d").stderr


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("STREAMFUSE_LISTEN__PORT", "high", "STREAMFUSE_LISTEN__PORT: listen.port: must be a valid integer"),
        ("STREAMFUSE_LISTEN__PROT", "1", "did you mean STREAMFUSE_LISTEN__PORT?"),
        ("STREAMFUSE_LISTNE__PORT", "1", "did you mean STREAMFUSE_LISTEN?"),
        ("STREAMFUSE_DRAIN__GRACE", "soon", "a duration is written"),
        ("STREAMFUSE_LISTEN__PORT__X", "1", "STREAMFUSE_LISTEN__PORT__X"),
        ("STREAMFUSE_RULES", "{", "rules"),
    ],
)
def test_bad_variables(run, variable, value, said):
    got = run("check", **{variable: value, "STREAMFUSE_UPSTREAM": "http://h"})
    assert got.exit_code == 2 and said in got.stderr, got.output


def test_wrong_usage_is_exit_2(run):
    assert run("serve", "--no-such").exit_code == 2
    assert run("serve", "--port", "high").exit_code == 2
    assert run("nonsense").exit_code == 2
    got = run("serve", "--upstream", "api.openai.com")
    assert got.exit_code == 2 and "--upstream" in got.stderr and "http://" in got.stderr


def test_check_says_what_binds_and_never_a_key(run, tmp_path):
    (tmp_path / "config.yaml").write_text(
        "providers: {a: {base_url: http://h/v1, api_key: sk-secret, retry: {server: {max_retries: 3}}}}\n"
        "listen: {host: 0.0.0.0}\n"
    )
    got = run("check")
    assert got.exit_code == 0
    assert "http://h/v1" in got.stdout and "server*" in got.stdout and "15m" in got.stdout
    assert "caution: listen.host 0.0.0.0" in got.stdout and "unencrypted" in got.stdout
    assert "sk-secret" not in got.output and "\x1b" not in got.output


def test_a_taken_port_is_a_clear_sentence(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for more in ([], ["--workers", "2"]):
            got = run("serve", "--upstream", "http://127.0.0.1:9/v1", "--port", port, *more)
            assert got.exit_code == 1 and "Traceback" not in got.output
            assert f"port {port} on 127.0.0.1 is taken by another process" in got.stderr


def test_an_address_that_is_not_ours(run):
    got = run("serve", "--upstream", "http://127.0.0.1:9/v1", "--host", "203.0.113.7")
    assert got.exit_code == 1 and "no address of this machine" in got.stderr


LOOP = '{"text": "%s"}\n' % ("I will check it again now. " * 60)


def test_replay_tells_what_fires_and_exits_1(run, tmp_path):
    (tmp_path / "loop.jsonl").write_text(LOOP)
    got = run("replay", "loop.jsonl")
    assert got.exit_code == 1 and "loop.jsonl" in got.stdout and "cut" in got.stdout
    found = json.loads(run("replay", "loop.jsonl", "--json").stdout)
    assert found


def test_replay_of_a_quiet_answer_is_exit_0(run, tmp_path):
    (tmp_path / "calm.jsonl").write_text('{"text": "All is well."}\n')
    assert run("replay", "calm.jsonl").exit_code == 0


def test_replay_heeds_the_config(run, tmp_path):
    (tmp_path / "loop.jsonl").write_text(LOOP)
    (tmp_path / "c.yaml").write_text("rules: {packs: []}\n")
    assert run("replay", "loop.jsonl", "-c", "c.yaml").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.jsonl"], "no such file"),
        (["loop.jsonl", "--wire", "telex"], "there is no wire called telex; there are openai_"),
        (["loop.jsonl", "-c", "gone.yaml"], "gone.yaml: there is no such file"),
    ],
)
def test_replay_of_what_is_not_there_is_exit_2(run, tmp_path, arguments, said):
    (tmp_path / "loop.jsonl").write_text(LOOP)
    got = run("replay", *arguments)
    assert got.exit_code == 2 and said in got.stderr and "Traceback" not in got.output


def test_replay_compares_two_configs(run, tmp_path):
    (tmp_path / "loop.jsonl").write_text(LOOP)
    (tmp_path / "none.yaml").write_text("rules: {packs: []}\n")
    assert run("replay", "loop.jsonl", "--diff", "config.yaml").exit_code == 2, "there is none"
    got = run("replay", "loop.jsonl", "--diff", "none.yaml")
    assert got.exit_code == 1 and "A only" in got.stdout
    got = run("replay", "loop.jsonl", "-c", "none.yaml", "--diff", "none.yaml", "--json")
    assert got.exit_code == 0 and json.loads(got.stdout)["only_a"] == []


def test_replay_writes_a_page_only_where_it_is_told_to(run, tmp_path):
    (tmp_path / "loop.jsonl").write_text(LOOP)
    got = run("replay", "loop.jsonl", "--html", "report.html")
    assert got.exit_code == 1 and "<mark>" in (tmp_path / "report.html").read_text()
    got = run("replay", "loop.jsonl", "--html", "no/report.html")
    assert got.exit_code == 2 and "no/report.html: No such file" in got.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop.jsonl", "report.html"]


def test_calibrate_on_one_s_own_sessions(run, tmp_path):
    (tmp_path / "calm.jsonl").write_text('{"text": "All is well."}\n')
    (tmp_path / "config.yaml").write_text("rules: {packs: [seeds]}\n")
    got = run("calibrate", "calm.jsonl")
    assert got.exit_code == 0 and "1 healthy answers" in got.stdout and "text-cycle" in got.stdout
    (tmp_path / "loop.jsonl").write_text(LOOP)
    (tmp_path / "c.yaml").write_text("rules: {packs: [seeds], change: {text-cycle: {params: {span: 8000}}}}\n")
    assert run("calibrate", ".").exit_code == 1
    told = json.loads(run("calibrate", ".", "-c", "c.yaml", "--json").stdout)
    assert next(r for r in told["rules"] if r["name"] == "text-cycle")["acted"] == 0
    assert run("calibrate", "gone").exit_code == 2


def test_rules_for_machines(run, tmp_path):
    (tmp_path / "config.yaml").write_text("history: {habits: {narration: {most: warn, params: {equal: 20}}}}\n")
    told = json.loads(run("rules", "--json").stdout)
    narration = next(habit for habit in told["habits"] if habit["name"] == "narration")
    assert (narration["most"], narration["params"]["equal"], narration["defaults"]["equal"]) == ("warn", 20, 12)


def test_rules_shows_every_passport(run, tmp_path):
    got = run("rules")
    assert got.exit_code == 0 and got.stderr == ""
    for rule in assemble():
        assert rule.name in got.stdout
    (tmp_path / "config.yaml").write_text("rules: {packs: [seeds], off: [text-cycle]}\n")
    assert "text-cycle" not in run("rules").stdout


def test_check_takes_the_file_as_serve_does(run, tmp_path):
    good, other = tmp_path / "good.yaml", tmp_path / "other.yaml"
    good.write_text("upstream: https://api.example.com/v1\n")
    other.write_text("upstream: https://api.example.com/v1/chat/completions\n")
    assert run("check", "-c", str(good)).exit_code == 0
    assert run("check", "--config", str(other)).exit_code == 2
    assert run("check", str(good), "-c", str(good)).exit_code == 0
    assert run("check", str(good), "-c", str(other)).exit_code == 2


def test_check_explains(run):
    got = run("check", "--explain", STREAMFUSE_UPSTREAM="http://h", STREAMFUSE_RULES__PACKS="seeds")
    assert got.exit_code == 0 and "256 text-cycle" in got.stdout and "passes" in got.stdout


OWN = """title: Mine
rules:
- {name: mine, title: A short cycle, monitor: cycle, channels: [text], params: {period: 8, span: 64}}
"""


def test_a_pack_of_one_s_own_by_its_path(run, tmp_path):
    (tmp_path / "mine.yaml").write_text(OWN)
    (tmp_path / "config.yaml").write_text(PROVIDER + "rules: {packs: [./mine.yaml]}\n")
    assert "mine" in run("rules").stdout
    assert "rules: mine" in run("check").stdout and "errors/openai" in run("check").stdout
    (tmp_path / "mine.yaml").write_text(OWN.replace("period: 8", "perod: 8"))
    got = run("check")
    assert got.exit_code == 2 and "mine.yaml:3: rules[0].params" in got.stderr
    (tmp_path / "mine.yaml").unlink()
    assert "mine.yaml: this pack cannot be read: No such file" in run("check").stderr


def test_check_reads_every_pack(run, monkeypatch):
    from rules.detect import packs

    real = packs.load

    def broken(name: str) -> packs.Pack:
        if name == "seeds":
            raise packs.PackError([packs.PackProblem("seeds.yaml", 7, "rules[0].params", "is wrong")])
        return real(name)

    monkeypatch.setattr(packs, "load", broken)
    got = run("check", STREAMFUSE_UPSTREAM="http://h", STREAMFUSE_RULES__PACKS="[]")
    assert got.exit_code == 2 and "seeds.yaml:7: rules[0].params: is wrong" in got.stderr


LITELLM = "model_list:\n- {model_name: m, litellm_params: {model: openai/m}}\ngeneral_settings: {}\n"


def test_another_program_s_config_in_the_folder(run, tmp_path):
    """`--upstream` reads no file, rules need none, and everything else says whose it is."""
    (tmp_path / "config.yaml").write_text(LITELLM)
    (tmp_path / "calm.jsonl").write_text('{"text": "All is well."}\n')
    got = run("check")
    assert got.exit_code == 2 and "looks like the config of LiteLLM" in got.stderr and "--upstream URL" in got.stderr
    assert got.stderr.count("error:") == 1
    got = run("check", "config.yaml")
    assert got.exit_code == 2 and "looks like the config of LiteLLM" in got.stderr
    for command in (["rules"], ["replay", "calm.jsonl"], ["calibrate", "calm.jsonl"]):
        got = run(*command)
        assert got.exit_code == 0 and "it is left aside" in got.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        got = run("serve", "--upstream", "http://127.0.0.1:9/v1", "--port", str(taken.getsockname()[1]))
        assert got.exit_code == 1 and "is taken by another process" in got.stderr


def test_upstream_reads_no_file_that_is_not_named(tmp_path, monkeypatch):
    from proxy.settings.load import load

    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("listen: {port: 9999}\nupstream: http://other/v1\n")
    assert load(None, {"upstream": "http://h/v1"}, {}).listen.port == 8787
    assert load(tmp_path / "config.yaml", {"upstream": "http://h/v1"}, {}).listen.port == 9999


def test_rules_need_no_secrets(run, tmp_path):
    (tmp_path / "calm.jsonl").write_text('{"text": "All is well."}\n')
    (tmp_path / "config.yaml").write_text(
        "upstream: ${URL}\nproviders: {a: {base_url: '${URL}/v1', api_key: '${KEY}'}}\nauth: {keys: ['${FUSE}']}\n"
        "state: ${REDIS}\nlisten: {port: '${PORT}'}\nroutes: [{model: '${M}', provider: '${P}'}]\n"
        "cut: {notice_text: '${SAID}'}\nrules: {packs: [seeds], off: [text-cycle, '${OFF}']}\n"
    )
    for command in (["rules"], ["replay", "calm.jsonl"], ["calibrate", "calm.jsonl"]):
        got = run(*command)
        assert got.exit_code == 0, got.output
    assert "text-cycle" not in run("rules").stdout, "and the rules of that config are used"
    got = run("check")
    assert got.exit_code == 2 and "the environment variable KEY is not set" in got.stderr


def test_a_folder_where_the_config_should_be(run, tmp_path):
    (tmp_path / "config.yaml").mkdir()
    for command in (["check"], ["serve"], ["check", "config.yaml"]):
        got = run(*command)
        assert got.exit_code == 2 and "config.yaml: this is a folder, not a file (docker" in got.stderr
    assert run("rules").exit_code == 0
    (tmp_path / "config.yaml").rmdir()
    (tmp_path / "config.yaml").symlink_to("nowhere.yaml")
    assert "there is no such file" in run("check").stderr


def test_a_variable_that_beats_the_file_is_told(run, tmp_path):
    (tmp_path / "config.yaml").write_text(PROVIDER + "listen: {port: 9000, host: 127.0.0.1}\nauth: {keys: [k1]}\n")
    told = {
        "STREAMFUSE_LISTEN__PORT": "8787",
        "STREAMFUSE_LISTEN__HOST": "127.0.0.1",
        "STREAMFUSE_AUTH__KEYS": "k2-secret",
    }
    got = run("check", **told)
    assert got.exit_code == 0
    assert "caution: the variable STREAMFUSE_LISTEN__PORT beats listen.port in config.yaml" in got.stdout
    assert "STREAMFUSE_AUTH__KEYS beats auth.keys" in got.stdout and "k2-secret" not in got.output
    assert "STREAMFUSE_LISTEN__HOST beats" not in got.stdout, "it says the same"
    got = run("check", STREAMFUSE_UPSTREAM="http://h/v1")
    assert "STREAMFUSE_UPSTREAM is the default provider" in got.stdout
    assert "beats" not in run("check").stdout


WRONGLY_GOOD = [
    ("providers: {a: {base_url: 'https://api.openai.com/v1/chat/completions'}}", 2, "https://api.openai.com/v1"),
    ('providers: {a: {base_url: "https://h/v1", api_key: "sk-abc\\n"}}', 2, "white space"),
    ("providers: {a: {base_url: 'https://h/v1', api_key: '\"sk-abc\"'}}", 2, "quotes"),
    ("providers: {a: {base_url: 'https://h/v1', api_key: 'Bearer sk-abc'}}", 2, "without a word before it"),
    ("upstream: http://api.openai.com/v1", 0, "encrypts nothing"),
    ("upstream: http://127.0.0.1:8787/v1", 2, "streamfuse itself"),
    ("auth: {keys: [fuse-123]}\nupstream: https://h/v1", 0, "this provider gets none"),
    ("upstream: https://127.0.0.1:8080/v1", 0, "most local servers speak http://"),
]


@pytest.mark.parametrize(("text", "code", "said"), WRONGLY_GOOD)
def test_what_cannot_work_is_not_simply_good(run, tmp_path, text, code, said):
    (tmp_path / "config.yaml").write_text(text)
    got = run("check")
    assert got.exit_code == code and said in got.output and "sk-abc" not in got.output


def test_check_probes(run, tmp_path, monkeypatch):
    from proxy.commands import probe
    from proxy.commands.probe import Found

    async def asked(_settings):
        return {"a": Found(True, ("reachable", "2 models")), "b[x]": Found(good, ("not reachable: [red]no",))}

    monkeypatch.setattr(probe, "probe", asked)
    (tmp_path / "config.yaml").write_text(PROVIDER)
    good = False
    got = run("check", "--probe")
    assert got.exit_code == 1 and "probe: a: reachable; 2 models" in got.stdout
    assert "probe: b[x]: not reachable: [red]no" in got.stdout and not got.stdout.endswith("good\n")
    good = True
    got = run("check", "--probe")
    assert got.exit_code == 0 and got.stdout.endswith("good\n")
