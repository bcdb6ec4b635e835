"""Makes the virtual environment that `make` runs in, and says what it is doing.

python3 tools/environment.py VENV [EXTRA]

It runs before anything is installed, on whatever `python3` is: standard library only, and syntax that Python 3.6 reads,
so that an old Python is told what is missing. Exit codes: 0 done, 2 not possible, with one line that says why.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NEEDS = (3, 11)

WHAT = {
    "": "its packages",
    "test": "its packages and those of the tests",
    "test,deploy": "its packages, those of the tests, and Helm's engine",
    "docs": "the packages of the documentation's site",
    "fit": "the packages that fit the score",
}

OFFLINE = re.compile(
    r"Failed to establish a new connection|NewConnectionError|NameResolutionError|name resolution|ConnectTimeout"
    r"|Network is unreachable|Connection refused|Read timed out|ProxyError"
)
CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError|certificate verify failed")


def folder_of(path):
    """The nearest folder above `path` that exists, or `path` itself."""
    path = Path(path).resolve()
    while not path.is_dir():
        path = path.parent
    return path


def not_writable(folder):
    """Why nothing can be written there, in words; None where it can."""
    if os.access(folder, os.W_OK | os.X_OK):
        return None
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & getattr(os, "ST_RDONLY", 1):
        return "is on a read-only file system"
    try:
        import pwd

        owner = pwd.getpwuid(folder.stat().st_uid).pw_name
    except (ImportError, KeyError):
        owner = "somebody else"
    return f"cannot be written by you: it belongs to {owner}"


def why_failed(log):
    """What went wrong, and what to do, from what pip said."""
    if CERTIFICATE.search(log):
        return (
            "The package index shows a certificate that this machine does not know (a company's proxy?). "
            "Name its authority: PIP_CERT=/path/to/ca.pem make …"
        )
    if OFFLINE.search(log):
        return (
            "The package index cannot be reached. The first start needs it, later ones do not. "
            "Behind a proxy: HTTPS_PROXY=http://… make …; a mirror: PIP_INDEX_URL=https://… make …"
        )
    if "No space left on device" in log:
        return "The disk is full: the environment takes some 120 MB, that of the tests 700 MB."
    said = [line for line in log.splitlines() if line.startswith("ERROR:")]
    return "pip could not install the packages. " + (said[-1] if said else "")


def quit(line):
    sys.stderr.write(f"streamfuse: {line.strip()}\n")
    sys.exit(2)


def make(venv):
    """The environment with pip in it. A half-made one is removed: it would look finished to the next call."""
    said = ""
    ways = [[sys.executable, "-m", "venv", str(venv)], [sys.executable, "-m", "virtualenv", str(venv)]]
    if shutil.which("uv"):
        ways.append(["uv", "venv", "--quiet", "--seed", "--python", sys.executable, str(venv)])
    for way in ways:
        tried = subprocess.run(way, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if tried.returncode == 0:
            return
        said = said or tried.stdout.decode("utf-8", "replace")
        shutil.rmtree(venv, ignore_errors=True)
    if "No space left on device" in said:
        quit(why_failed(said))
    if "ensurepip" in said or "No module named venv" in said:
        quit("There is no way to make a virtual environment (on Debian or Ubuntu: apt-get install python3-venv).")
    quit(f"No virtual environment could be made in {venv}: {' '.join(said.split())[-300:]}")


def install(venv, extra):
    """Run pip in it. On a terminal one line shows what is being fetched; all that pip says goes to a log."""
    log = venv / "setup.log"
    environment = dict(os.environ)
    environment.setdefault("PIP_RETRIES", "2")
    environment["PYTHONUNBUFFERED"] = "1"
    what = f".[{extra}]" if extra else "."
    command = [
        str(venv / "bin/python"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "-e",
        what,
    ]
    shows = sys.stdout.isatty()
    with log.open("w", encoding="utf-8") as kept:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        for raw in running.stdout:
            line = raw.decode("utf-8", "replace")
            kept.write(line)
            doing = re.match(r"\s*(Collecting|Downloading|Building|Preparing|Installing) ([\w.\[\]-]+)", line)
            if shows and doing:
                sys.stdout.write(f"\r\x1b[K  {doing.group(1).lower()} {doing.group(2)[:60]}")
                sys.stdout.flush()
        code = running.wait()
    if shows:
        sys.stdout.write("\r\x1b[K")
        sys.stdout.flush()
    if code != 0:
        quit(f"{why_failed(log.read_text(encoding='utf-8'))} (All that pip said: {log})")


def main(venv, extra=""):
    if sys.version_info < NEEDS:
        version = ".".join(map(str, sys.version_info[:3]))
        quit(f"Python 3.11 or newer is needed; this is Python {version}. Try: make PYTHON=python3.12 …")
    venv = Path(venv)
    folder = folder_of(venv)
    reason = not_writable(folder)
    if reason is not None:
        quit(f"{folder} {reason}. Put the environment elsewhere: make VENV=$HOME/.cache/streamfuse …")
    sys.stdout.write(f"streamfuse: installing {WHAT[extra]} into {venv} (once; a minute or two) …\n")
    sys.stdout.flush()
    if not (venv / "bin/python").exists():
        make(venv)
    install(venv, extra)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        quit("stopped; the next call goes on from here.")
