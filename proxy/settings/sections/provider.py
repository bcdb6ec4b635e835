"""One upstream: where it is, whose key it gets, what it can do, and what differs from the top level for it."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from unicodedata import category
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr, field_validator, model_validator

from rules import HealStyle, Mode, wires

from ..base import MaybeText, Move, Section, absent, field
from ..proxy_env import is_proxy
from ..reading.pasted import options
from ..secret import MaybeKey
from .overload import BreakerSettings, ConcurrencySettings, Fallback
from .retry import RetryOver
from .timeouts import TimeoutsOver

READ = tuple(wire.name for wire in wires.WIRES if wire.reads)
"""The wires that streamfuse reads, from the engine's table: a new wire is configurable by being in it."""

if TYPE_CHECKING:
    WireName: TypeAlias = str
else:
    WireName = Literal[READ]


class ResumeStyle(StrEnum):
    """How a provider can continue an answer exactly where it broke off."""

    NONE = "none"
    CONTINUE_FINAL_MESSAGE = "continue_final_message"
    LLAMACPP = "llamacpp"
    PREFIX = "prefix"
    PREFILL = "prefill"


class Fail(StrEnum):
    """How a failure inside a started stream is told."""

    IN_BAND = "in_band"
    BREAK = "break"


class KeyHeader(StrEnum):
    """The header a provider's api_key travels in."""

    AUTO = "auto"
    AUTHORIZATION = "authorization"
    X_API_KEY = "x-api-key"
    API_KEY = "api-key"
    X_GOOG_API_KEY = "x-goog-api-key"


def http_url(value: str) -> str:
    """An http(s) address with a host, without credentials, query or fragment; a trailing slash is dropped."""
    try:
        parts = urlsplit(value.strip())
        if parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError("this is not a valid address; write http://host[:port]/path") from None
    if any(category(c) in ("Cc", "Cf") for c in value.strip()):
        raise ValueError("an address holds a character that cannot be seen (copied from a page?): type it anew")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address must begin with http:// or https:// and name a host")
    if parts.hostname in ("http", "https"):
        raise ValueError("this address has http:// or https:// twice")
    if any(part in (".", "..") for part in unquote(parts.path).split("/")):
        raise ValueError("an address must not have . or .. in its path")
    if "@" in parts.netloc:
        raise ValueError("an address must not hold credentials; use api_key")
    if parts.fragment:
        raise ValueError("an address must not have a #fragment")
    return value.strip().rstrip("/")


_ENDPOINT = re.compile(
    r"(/(chat/completions|completions|messages(/count_tokens|/batches)?|responses(/compact)?|embeddings|rerank|moderations"
    r"|images/generations|audio/(speech|transcriptions)|api/(chat|generate|tags|embed))"
    r"|(?<=/v1)/models|/(models|tunedModels|publishers|endpoints)/[^:]+:\w+)/*$",
    re.IGNORECASE,
)
"""The ends of addresses that belong to one call; the last two forms are Ollama's and Google's own."""


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A name as HTTP has them (RFC 9110 §5.6.2)."""
FRAMING = frozenset(
    {"connection", "content-encoding", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding",
     "upgrade"}
)  # fmt: skip
"""Headers of a request that nobody else can know: with one of them written, the body and its description differ."""


def base_url(value: str) -> str:
    """An address that paths are joined to: one that already ends in an endpoint would make every call miss."""
    whole = http_url(value)
    parts = urlsplit(whole)
    if any(c in parts.netloc for c in "${}<>") or any(c.isspace() for c in whole):
        raise ValueError("this address holds a variable or a placeholder that nobody filled in")
    base = parts.path
    while (shorter := _ENDPOINT.sub("", base)) != base:
        base = shorter
    if base != parts.path:
        more = " (with its ?query)" if parts.query else ""
        raise ValueError(
            f"this is the address of one endpoint; write the one before it: {parts.scheme}://{parts.netloc}{base}{more}"
        )
    return whole


def absent_style(value: object) -> object:
    """`none` is a style of its own; every other word for "no value" means that none is written."""
    return value if isinstance(value, str) and value.strip().lower() == "none" else absent(value)


HttpUrl = Annotated[str, AfterValidator(base_url)]
MaybeHeal = Annotated[HealStyle | None, BeforeValidator(absent_style)]
MaybeSecret = Annotated[SecretStr | None, BeforeValidator(absent)]


class ProviderSettings(Section):
    """One upstream."""

    base_url: HttpUrl = field(..., "Address up to and including the version: https://api.openai.com/v1.", repr=False)
    api_key: MaybeKey = field(
        None,
        "Replaces the client's credential. Without it the client's own passes through.",
        danger="With it, anyone who reaches the port spends this key; set auth.keys where others can.",
    )
    key_header: KeyHeader = field(
        KeyHeader.AUTO,
        "Header that api_key travels in; auto: x-api-key for Messages, x-goog-api-key for Gemini, "
        "else Authorization: Bearer.",
    )
    headers: Mapping[str, str] = field({}, "Extra headers sent to this provider.", repr=False)
    wires: tuple[WireName, ...] = field(
        READ,
        "Wires watched for this provider; calls on the others pass through untouched.",
    )
    retry: RetryOver = field(RetryOver(), "Budgets, field by field over the top level.")
    timeouts: TimeoutsOver = field(TimeoutsOver(), "Timers, field by field over the top level.")
    mode: Mode = field(Mode.ON, "off, watch (report only) or on; the weaker of this and rules.mode counts.")
    resume: ResumeStyle = field(
        ResumeStyle.NONE,
        "How it continues a broken answer: none, continue_final_message (vLLM, SGLang), llamacpp, prefix (DeepSeek, "
        "Mistral), prefill (whoever continues a trailing assistant message: Claude up to 4.5).",
        danger="A style the provider does not have makes it start anew in the middle of an answer.",
    )
    heal: MaybeHeal = field(
        None,
        "What is done for an answer that was cut as a loop: it goes on from a second call, in the same stream. "
        "thinking (loops in reasoning: thinking off), prefill (loops in text and calls, too: continued from before the "
        "loop), note (text, with a correction, where nothing else goes), auto (what the provider is known to take), "
        "none. Without it: thinking where the provider is known to take it, else none. x-streamfuse-heal says it for "
        "one request.",
        danger="Each heal is one more upstream call. prefill and note sample warmer than the client asked for.",
    )
    concurrency: ConcurrencySettings = field(
        ConcurrencySettings(), "How many calls run at once, and how further ones wait."
    )
    breaker: BreakerSettings = field(BreakerSettings(), "Answers from memory while this provider fails.")
    fallback: tuple[Fallback, ...] = field(
        (),
        "Asked instead, one after the other, where this provider has failed for good and the client has seen nothing: "
        "[{provider: other, model: name}]. Same wire only.",
        danger="A provider without an api_key of its own gets no credential, unless it has the same host as this one.",
    )
    fail: Fail = field(
        Fail.IN_BAND,
        "A failure after the first byte: in_band (the wire's own error event) or break (drop the connection).",
    )
    proxy_url: MaybeSecret = field(
        None,
        "Proxy for calls to this provider, instead of the environment's: http:// or socks5://[user:password@]host:port "
        "(the proxy resolves names; socks4:// too).",
    )
    verify_tls: bool = field(True, "Check the provider's certificate.", danger="false lets anyone in between read.")
    ca_file: MaybeText = field(None, "PEM file of certificate authorities to trust besides the system's.")
    client_cert: MaybeText = field(None, "PEM file of the certificate that we show to this provider (mTLS).")
    client_key: MaybeText = field(None, "PEM file of its private key, where client_cert does not hold it.")

    @property
    def address(self) -> str:
        """base_url for showing: a query may hold a key."""
        return self.base_url.partition("?")[0]

    @classmethod
    def pasted(cls, data: dict[str, Any], move: Move) -> dict[str, Any]:
        """The `options` block of OpenCode and MiMo-Code."""
        return options(data, move)

    @field_validator("base_url", "proxy_url", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        if value is not None and not isinstance(value, str):
            raise ValueError("an address is text")
        return value

    @field_validator("proxy_url")
    @classmethod
    def _proxy(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not is_proxy(value.get_secret_value()):
            raise ValueError("a proxy's address must begin with http://, https:// or socks5:// and name a host")
        return value

    @field_validator("ca_file")
    @classmethod
    def _authorities(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ssl.create_default_context(cafile=value)
            except ssl.SSLError:
                raise ValueError("this is no PEM file of certificates") from None
            except OSError as error:
                raise ValueError(f"this file cannot be read ({error.strerror})") from None
        return value

    @model_validator(mode="after")
    def _own_certificate(self) -> ProviderSettings:
        if self.client_key is not None and self.client_cert is None:
            raise ValueError("client_key needs the client_cert that it belongs to")
        if self.client_cert is not None:
            try:
                # No pass phrase is asked for: a server has nobody to ask.
                ssl.create_default_context().load_cert_chain(self.client_cert, self.client_key, password=lambda: "")
            except ssl.SSLError:
                raise ValueError("client_cert and client_key are no PEM pair without a pass phrase") from None
            except OSError as error:
                raise ValueError(f"client_cert or client_key cannot be read ({error.strerror})") from None
        return self

    @field_validator("headers")
    @classmethod
    def _clean(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for name, text in value.items():
            if not name or not name.isascii() or any(c in name + text for c in "\r\n\0"):
                raise ValueError("a header's name is plain ASCII and neither part holds a line break")
            if not _TOKEN.fullmatch(name):
                raise ValueError("a header's name holds letters, digits and -, no white space or colon")
            if name.lower() in FRAMING:
                raise ValueError(f"{name.lower()} tells how a message is framed: streamfuse writes it itself")
        return value


class Route(Section):
    """Sends a model to a provider."""

    model: str = field(..., "Pattern of the model's name: * and ? as in file names.", min_length=1)
    provider: str = field(..., "The provider's name.", min_length=1)
