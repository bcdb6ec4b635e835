"""The laws of docs/house.md, read from the source itself. Each failure says which law and what to do."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
from pydantic import BaseModel

import proxy
import proxy.observers
import rules
import rules.before.step_detectors
import rules.detect.monitors
import rules.histories
import rules.wires
from proxy.commands.cli import app
from proxy.observers import SINKS, Sinks
from proxy.observers.metric_table import METRICS
from proxy.settings.load import Settings
from proxy.settings.reading.document import parse
from proxy.settings.reading.environment import PREFIX, from_environment
from proxy.settings.reading.names import canonical

ROOT = Path(__file__).parents[1]
PACKAGES = ("rules", "proxy")
SOURCES = sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py"))
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

# fmt: off
BANNED = frozenset({
    "aiohttp", "asyncio", "concurrent", "http", "logging", "multiprocessing", "os", "pathlib",
    "random", "secrets", "select", "shutil", "signal", "socket", "ssl", "structlog",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib3", "uuid",
})
# fmt: on
"""What the quiet engine never imports: input and output, the clock, chance, logs."""

ACROSS = frozenset(
    {
        "alike",
        "blank_lines",
        "bounds",
        "browser",
        "colours",
        "contract",
        "damage",
        "faults",
        "linear",
        "memory",
        "native",
        "patience",
        "preludes",
        "privacy",
        "properties",
        "provider_errors",
        "recordings",
        "resumes",
        "resumes_sdks",
        "handed_on",
        "same_answer",
        "other_answers",
        "seed_steps",
        "seed_vectors",
        "sent",
        "sick_provider",
        "signals",
        "splice",
        "splices",
        "unread",
    }
)
"""What a test may be named after besides a file: it goes over a whole folder."""

UNLISTED: frozenset[str] = frozenset()
"""Files whose line in the table comes with the next commits."""

BAD_NAMES = frozenset({"utils", "util", "helpers", "helper", "manager", "common", "misc"})


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCES}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, everywhere: bool = True) -> Iterator[tuple[str, int]]:
    """(absolute name, level as written) of each import; `everywhere`: also inside functions and TYPE_CHECKING."""
    module = name_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree(path)) if everywhere else _at_import(tree(path).body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base] if base else up)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield (whole if whole in MODULES else base), node.level


def _at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _at_import(getattr(node, inner, []))


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


# the quiet engine -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [p for p in SOURCES if p.is_relative_to(ROOT / "rules")], ids=short)
def test_the_engine_is_quiet(path):
    for name, _ in imports(path):
        top = name.partition(".")[0]
        assert top not in BANNED, f"{short(path)} imports {name}: rules/ does no I/O and reads no clock"
        assert top != "proxy", f"{short(path)} imports {name}: rules/ never imports proxy/"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("open", "print", "input"), f"{short(path)}:{node.lineno} calls {node.func.id}"
        if isinstance(node, ast.Attribute):
            # datetime may read a date that it is given; now() and today() would be a clock
            assert node.attr not in ("utcnow", "today"), f"{short(path)}:{node.lineno} reads the clock"
            clock = node.attr == "now" and isinstance(node.value, ast.Name) and node.value.id == "datetime"
            assert not clock, f"{short(path)}:{node.lineno} reads the clock"
    if any(name.startswith("importlib.resources") for name, _ in imports(path)):
        assert path.parent.name in ("packs", "provider_packs"), f"{short(path)}: only packs read packaged files"


# who may see whom -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_inside_a_package_imports_are_relative(path):
    mine = path.relative_to(ROOT).parts[0]
    if path.name == "__main__.py":
        return
    for name, level in imports(path):
        assert name.partition(".")[0] != mine or level, f"{short(path)}: write the import of {name} relatively"


MEET_NEVER = (
    ("wires", "detect"),
    ("detect", "wires"),
    ("before/step_detectors", "wires"),
    ("histories", "detect"),
)
"""Rooms of rules/ that know each other only through values."""

MOST_FILES = 12
"""Python files in one folder, `__init__.py` counted: more are two rooms."""
MOST_OF_A_KIND, OF_A_KIND = 20, {"rules/detect/monitors", "rules/before/step_detectors"}
"""Where each file is one of a kind and stands in a table, one file more must be one file more."""


def test_wires_and_monitors_meet_only_in_delta():
    for one, other in MEET_NEVER:
        paths = sorted((ROOT / "rules" / one).rglob("*.py"))
        assert paths, f"rules/{one} is gone: name the room that took its place"
        for path in paths:
            for name, _ in imports(path):
                assert not name.startswith(f"rules.{other}"), f"{short(path)} imports {name}"


def test_the_doors_know_contracts_only():
    for door in ("during/stream", "detect/ruleset", "detect/watch", "before/review", "after/decision/decide"):
        path = ROOT / "rules" / f"{door}.py"
        for name, _ in imports(path):
            found = re.fullmatch(r"rules\.(wires|detect\.monitors)\.(\w+)", name)
            allowed = ("base", "server_cuts", "overlap")
            assert not found or found[2] in allowed, f"{short(path)} imports {name}: only the contract is for doors"


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Names that lead back to the first of them; empty where there are none."""
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for target in sorted(edges[name]):
                if found := visit(target, (*path, name)):
                    return found
            done.add(name)
        return []

    return next((found for name in sorted(edges) if (found := visit(name, ()))), [])


def room(module: str) -> str:
    """A module's folder, the topmost below its package."""
    return "/".join(short(MODULES[module].parent).split("/")[:2])


def test_wires_are_named_in_their_own_folders_only():
    """Others ask the wire: does it continue by id, where does its key travel? The demo plays servers, so it may."""
    names = {wire.name for wire in rules.wires.WIRES} - {"opaque"}
    for path in SOURCES:
        if not short(path).startswith(("rules/wires/", "rules/histories/", "proxy/demo/")):
            said = {n.value for n in ast.walk(tree(path)) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            assert not (known := said & names), f"{short(path)} names {sorted(known)}: make it a member of Wire"


def test_no_import_circle():
    """Imports for types and inside functions count: whoever reads a circle of files has to read it whole."""
    edges = {m: {n for n, _ in imports(p) if n in MODULES and n != m} for m, p in MODULES.items()}
    assert not (found := circle(edges)), "imports go in a circle: " + " → ".join(found)


def test_a_folder_imports_only_from_those_beneath_it():
    edges: dict[str, set[str]] = {room(m): set() for m in MODULES}
    for module, path in MODULES.items():
        for name, _ in imports(path):
            if name in MODULES and room(name) != room(module):
                edges[room(module)].add(room(name))
    assert not (found := circle(edges)), "folders import in a circle: " + " → ".join(found)


def test_the_proxy_takes_nothing_from_deeper_inside_the_engine():
    for path in SOURCES:
        if path.is_relative_to(ROOT / "proxy"):
            for name, _ in imports(path):
                deep = name.startswith("rules.") and name not in {f"rules.{n}" for n in rules.__all__}
                assert not deep, f"{short(path)} imports {name}: take it from rules, and add it to its __all__"


def test_the_face_of_the_engine_is_a_list():
    assert len(set(rules.__all__)) == len(rules.__all__)
    missing = [name for name in rules.__all__ if not hasattr(rules, name)]
    assert not missing, f"rules/__init__.py lists {missing}, which it does not have"
    used = {n for p in SOURCES if p.is_relative_to(ROOT / "proxy") for n in _taken(p)}
    assert set(rules.__all__) <= used, f"nobody takes {sorted(set(rules.__all__) - used)} from rules"


def _taken(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module == "rules" and not node.level:
            yield from (alias.name for alias in node.names)


# files ------------------------------------------------------------------------------------------------------


def test_a_folder_is_one_room():
    for folder in sorted({path.parent for path in SOURCES}):
        files = sorted(folder.glob("*.py"))
        most = MOST_OF_A_KIND if short(folder) in OF_A_KIND else MOST_FILES
        assert len(files) <= most, f"{short(folder)}/ holds {len(files)} files: make two rooms of it"
    for package in PACKAGES:
        top = {path.name for path in (ROOT / package).glob("*.py")} - {"__init__.py", "__main__.py"}
        assert not top, f"{package}/ has {sorted(top)} at its top: each file belongs into a room"


def test_no_file_has_a_name_that_says_nothing():
    for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]:
        assert not BAD_NAMES & set(path.with_suffix("").name.split("_")), f"{short(path)}: name it after its noun"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_the_first_lines_of_a_file_say_what_is_true_of_it(path):
    assert ast.get_docstring(tree(path)), f"{short(path)} begins without a docstring"


def test_the_test_tree_mirrors_the_source_tree():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        rel = path.relative_to(ROOT / "tests")
        if rel.parts[0] in PACKAGES and rel.stem.removeprefix("test_") not in ACROSS:
            noun = rel.parent / rel.stem.removeprefix("test_")
            there = (ROOT / noun).with_suffix(".py").exists() or (ROOT / noun).is_dir() or noun.name == rel.parent.name
            assert there, f"tests/{rel} tests no file {noun}.py: rename it, or name it in ACROSS"
    for folder in sorted({path.parent for path in SOURCES}):
        rel = folder.relative_to(ROOT)
        beside = ROOT / "tests" / rel.parent / f"test_{rel.name}.py"
        above = (ROOT / "tests" / rel.parent).glob("test_*.py") if (folder.parent / "base.py").exists() else ()
        tested = any((ROOT / "tests" / rel).glob("test_*.py")) or beside.exists() or any(above)
        assert tested, f"{rel}/ has no tests in tests/{rel}/ and no tests/{rel.parent}/test_{rel.name}.py"


def test_nothing_names_the_machine_it_was_written_on():
    kinds = {".py", ".md", ".toml", ".yaml", ".yml", ".sh", ".json", ".jsonl", ""}
    here = "/wor" + "k/"
    for path in ROOT.rglob("*"):
        rel = path.relative_to(ROOT)
        if rel.parts[0].startswith(".") and rel.parts[0] != ".ci":
            continue
        if path.is_file() and path.suffix in kinds and "node_modules" not in rel.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            assert here not in text, f"{rel} names a folder of one machine"


def test_the_page_of_the_house_names_every_folder_and_file():
    page = (ROOT / "docs/house.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `((?:rules|proxy)/[a-z_/]*)` \| (.*) \|$", page, flags=re.MULTILINE))
    there = {f"{short(path.parent)}/": path.parent for path in SOURCES}
    assert not (gone := set(rows) - set(there)), f"docs/house.md names {sorted(gone)}, which are not there"
    whole = {name for name, row in rows.items() if "or folder a" in row}  # its folders are of one kind
    there = {name: folder for name, folder in there.items() if f"{short(folder.parent)}/" not in whole}
    assert not (new := set(there) - set(rows)), f"docs/house.md has no row for {sorted(new)}"
    for name, folder in there.items():
        stems = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
        named = set(re.findall(r"`([a-z_]+)`", rows[name]))
        if "one file" not in rows[name].lower():
            assert not (new := stems - named), f"docs/house.md, row {name}: say what {sorted(new)} hold"
        inside = stems | {path.name for path in folder.iterdir() if path.is_dir()}
        assert not (gone := named - inside), f"docs/house.md, row {name} names {sorted(gone)}, which are not there"
    for found in re.findall(r"`((?:rules|proxy|tests)/[a-z_/.]+)`", page):
        assert (ROOT / found).exists(), f"docs/house.md names {found}, which is not there"


def test_a_class_name_stands_for_one_thing():
    places = defaultdict(set)
    for path in SOURCES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.removeprefix("_")].add(short(path))
    twice = {name: sorted(files) for name, files in places.items() if len(files) > 1}
    assert not twice, f"one class name for two things: {twice}"


# one export a file, one line in the table ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "export", "table"),
    [
        (rules.wires, "WIRE", lambda: rules.wires.WIRES),
        (rules.detect.monitors, "MONITOR", lambda: rules.detect.monitors.TABLE.values()),
        (rules.before.step_detectors, "DETECTOR", lambda: rules.before.step_detectors.STEP_DETECTORS),
        (rules.histories, "HISTORY", lambda: rules.histories.HISTORIES.values()),
    ],
    ids=["wires", "monitors", "step detectors", "histories"],
)
def test_each_file_exports_one_and_the_table_has_it(package, export, table):
    exported = []
    for info in pkgutil.iter_modules(package.__path__):
        if info.name == "base":
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if info.ispkg:  # one of the kind, in several files
            exported.append(getattr(module, export))
            continue
        assigned = [n for n in tree(Path(inspect.getfile(module))).body if export in _targets(n)]
        parts = not any(name in MODULES[module.__name__].read_text() for name in (export,))
        if parts and _is_part(module.__name__):
            continue
        assert len(assigned) == 1, f"{module.__name__} must set {export} exactly once, has {len(assigned)}"
        exported.append(getattr(module, export))
    listed = {id(kind) for kind in table()}
    missing = [kind.name for kind in exported if id(kind) not in listed and kind.name not in UNLISTED]
    assert not missing, f"the table of {package.__name__} lacks {missing}"
    assert listed <= {id(kind) for kind in exported}, f"the table of {package.__name__} has more than its files"


def _is_part(module: str) -> bool:
    """A file that others of its folder, or of folders in it, import: a part of those, not one more of the kind."""
    return any(
        module in {n for n, _ in imports(path)}
        for path in MODULES[module].parent.rglob("*.py")
        if path.name != "__init__.py"
    )


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def test_each_sink_is_in_the_table_and_hears():
    made = []
    for info in pkgutil.iter_modules(proxy.observers.__path__):
        module = importlib.import_module(f"proxy.observers.{info.name}")
        if info.name in ("reports", "writer", "numbers", "excerpts", "otlp", "terminal", "metric_table"):  # of sinks
            continue
        assert hasattr(module, "observer"), f"{module.__name__} must export observer(settings)"
        assert module.observer in SINKS, f"SINKS in proxy/observers/__init__.py lacks {info.name}.observer"
        made.append(module.observer)
        assert callable(module.observer(Settings()).hear), f"{module.__name__}.observer(settings) must hear"
    assert len(made) == len(SINKS), "SINKS has more than its files"
    assert Sinks(Settings()).all, "nobody hears anything"


def test_what_people_write_is_frozen_and_closed():
    for package in (rules, proxy):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__"):
                continue
            for _, kind in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
                if issubclass(kind, BaseModel) and kind.__module__ == info.name and not kind.__name__.startswith("_"):
                    assert kind.model_config.get("frozen"), f"{info.name}.{kind.__name__} is not frozen"
                    assert kind.model_config.get("extra") == "forbid", f"{info.name}.{kind.__name__} takes unknown keys"


# what we say is what there is ---------------------------------------------------------------------------------

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_commands_flags_and_variables_in_the_docs_exist(page):
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"\bstreamfuse ([a-z]+)((?: +[^\s`|#&;)]+)*)", _code(text)):
        command, rest = found[1], found[2]
        assert command in COMMANDS, f"{short(page)}: there is no command streamfuse {command}"
        known = {opt for p in COMMANDS[command].params for opt in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        for flag in re.findall(r"(?<= )(--?[a-z][a-z-]*)", rest):
            assert flag in known, f"{short(page)}: streamfuse {command} has no {flag}"
    for variable in set(re.findall(rf"\b{PREFIX}[A-Z0-9_]*[A-Z0-9]\b(?!__)", text)):
        if "SECTION__FIELD" not in variable:
            from_environment({variable: "1"})


def _code(text: str) -> str:
    """What stands in code, inline or in blocks, without shell comments."""
    blocks = re.findall(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", text, flags=re.DOTALL)
    return "\n".join(re.sub(r"\s#.*", "", line) for pair in blocks for part in pair for line in part.splitlines())


def test_every_command_teaches_with_an_example():
    for name, command in COMMANDS.items():
        assert f"streamfuse {name}" in (command.epilog or ""), f"streamfuse {name} --help shows no example"


def test_metrics_in_the_docs_exist_and_all_are_there():
    names = {metric.name for metric in METRICS}
    suffixed = names | {f"{n}{s}" for n in names for s in ("_bucket", "_sum", "_count")}
    for page in PAGES:
        for name in re.findall(
            r"\bstreamfuse_[a-z_]+_(?:total|seconds|info|onset|streams|bucket|sum|count)\b", page.read_text()
        ):
            assert name in suffixed, f"{short(page)}: there is no metric {name}"
    docs = (ROOT / "docs/metrics.md").read_text()
    assert all(f"`{name}`" in docs for name in names)


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_config_shown_in_the_docs_is_config(page):
    for block in re.findall(r"```ya?ml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        data = parse(block, short(page), Filled()).data
        if isinstance(data, dict) and set(data) & set(Settings.model_fields):
            base = {} if "providers" in data or "upstream" in data else {"upstream": "http://h"}
            Settings.model_validate(base | canonical(data, Settings))


class Filled(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: object = None) -> str:
        return "x"


def test_the_command_is_the_one_that_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["streamfuse"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
