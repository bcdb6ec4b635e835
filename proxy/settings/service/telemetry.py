"""OpenTelemetry: traces and metrics for a collector."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, SecretStr, field_validator

from ..base import MaybeText, Section, absent, field


class Telemetry(Section):
    """Traces and metrics over OTLP, in the names of the GenAI conventions. Needs the extra `streamfuse[otel]`; whatever
    is not written here comes from the usual OTEL_… variables."""

    enabled: Annotated[bool | None, BeforeValidator(absent)] = field(
        None,
        "true or false; not written: where OTEL_EXPORTER_OTLP_ENDPOINT (or that of traces or metrics) is set. "
        "OTEL_SDK_DISABLED=true switches it off.",
    )
    endpoint: MaybeText = field(
        None, "The collector's address: http://collector:4318. Not written: OTEL_EXPORTER_OTLP_ENDPOINT."
    )
    headers: dict[str, SecretStr] = field({}, "Headers for the collector, a key mostly.")
    traces: bool = field(True, "A span for each request and one for each upstream call.")
    metrics: bool = field(
        True, "gen_ai.client.operation.duration, .time_to_first_chunk and gen_ai.client.token.usage, by upstream call."
    )
    service: MaybeText = field(None, "service.name. Not written: OTEL_SERVICE_NAME, else streamfuse.")

    @field_validator("endpoint")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an address must begin with http:// or https://")
        return value
