"""Draws docs/demo.svg: what `make demo` prints on a terminal, played for real.

python docs/picture.py
"""

import io
import re
from pathlib import Path

from rich.console import Console

from proxy.demo.show import SCENES, run

WANTED = ("loop", "dies", "tool")

out = Console(file=io.StringIO(), record=True, width=116, force_terminal=True, color_system="truecolor")
run(False, console=out, scenes=[scene for scene in SCENES if scene.model in WANTED])
svg = out.export_svg(title="streamfuse demo")
# A picture in a repository fetches nothing: the terminal's own fonts do.
svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.S)
svg = svg.replace("Fira Code, monospace", "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace")
Path(__file__).with_name("demo.svg").write_text(svg)
