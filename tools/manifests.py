"""Writes deploy/kubernetes/streamfuse.yaml: the chart in deploy/helm with its defaults, for those who use no Helm.

python tools/manifests.py        (needs `pip install -e '.[deploy]'`, which brings Helm's own engine)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy/helm/streamfuse"
PLAIN = ROOT / "deploy/kubernetes/streamfuse.yaml"
HEAD = """\
# streamfuse on Kubernetes without Helm: kubectl apply -n NAMESPACE -f streamfuse.yaml
# Made from the chart in deploy/helm/streamfuse with its defaults (python tools/manifests.py); change the ConfigMap to
# your providers, and put the image's name where your cluster finds it. Keys: kubectl create secret generic
# streamfuse-keys --from-literal=OPENAI_API_KEY=…, then write api_key: "${OPENAI_API_KEY}" in the ConfigMap.
"""


def rendered(values: dict[str, Any], name: str = "streamfuse", namespace: str = "default") -> list[dict[str, Any]]:
    """All objects of the chart, as Helm makes them."""
    import helm_python

    with helm_python.Chart.load(str(CHART)) as chart:
        files = chart.render(values, name=name, namespace=namespace)
    texts = (text for path, text in sorted(files.items()) if path.endswith(".yaml"))
    return [one for text in texts for one in yaml.safe_load_all(text) if one is not None]


def plain(objects: list[dict[str, Any]]) -> str:
    """The same as one file, without the labels that say that Helm manages it."""
    for one in objects:
        for label in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
            one["metadata"]["labels"].pop(label, None)
    return HEAD + yaml.dump_all(objects, Dumper=_Blocks, sort_keys=False, width=120, explicit_start=True)


class _Blocks(yaml.SafeDumper):
    """Texts of several lines as blocks, as people write them."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Blocks.add_representer(str, _text)


if __name__ == "__main__":
    PLAIN.parent.mkdir(exist_ok=True)
    PLAIN.write_text(plain(rendered({"secretName": "streamfuse-keys"})), encoding="utf-8")
