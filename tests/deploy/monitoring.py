"""A schema of the Prometheus operator's two kinds, as far as the chart uses them, written after its public API:
https://prometheus-operator.dev/docs/api-reference/api/ . What is not named here is refused: a member that is added to
the chart belongs here, too, and is looked up there first."""

from __future__ import annotations

from typing import Any

DURATION = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}


def members(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


def kind(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = members(["name"], name={"type": "string"}, namespace={"type": "string"}, labels=TEXTS, annotations=TEXTS)
    return members(
        ["apiVersion", "kind", "metadata", "spec"],
        apiVersion={"const": "monitoring.coreos.com/v1"},
        kind={"const": name},
        metadata=metadata,
        spec=spec,
    )


SCHEMAS = {
    "ServiceMonitor": kind(
        "ServiceMonitor",
        members(
            ["endpoints", "selector"],
            jobLabel={"type": "string"},
            selector=members([], matchLabels=TEXTS),
            endpoints={
                "type": "array",
                "minItems": 1,
                "items": members(
                    [],
                    port={"type": "string"},
                    path={"type": "string"},
                    interval={"type": "string", "pattern": DURATION},
                ),
            },
        ),
    ),
    "PrometheusRule": kind(
        "PrometheusRule",
        members(
            [],
            groups={
                "type": "array",
                "items": members(
                    ["name"],
                    name={"type": "string", "minLength": 1},
                    rules={
                        "type": "array",
                        "items": members(
                            ["expr"],
                            alert={"type": "string"},
                            expr={"type": ["integer", "string"]},
                            annotations=TEXTS,
                            labels=TEXTS,
                            **{"for": {"type": "string", "pattern": DURATION}},
                        ),
                    },
                ),
            },
        ),
    ),
}
