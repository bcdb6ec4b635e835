"""`streamfuse rules`: every rule with its passport."""

from __future__ import annotations

import typer

from ..console import ConfigOption, JsonOption, out
from ..recordings import judging

EXAMPLES = """Examples:

[cyan]streamfuse rules[/cyan]
    what watches an answer, a history and a failure now
[cyan]streamfuse rules -c config.yaml[/cyan]
    with a config's packs, changes and own rules
[cyan]streamfuse rules --json > rules.json[/cyan]
    for machines: every threshold and passport"""


def run(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Every rule with its passport: title, channels, thresholds, action, pack; the habits; the packs of error rules."""
    from .. import offline as replaying

    raise typer.Exit(replaying.show_rules(judging(config), json=json, out=out))
