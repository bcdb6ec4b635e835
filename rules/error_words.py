"""What providers call their errors: codes, types, and the phrases of their messages (real bodies, issue threads and
API references; the network, rate and context tables are the seed's)."""

from __future__ import annotations

import re

from .failures import Kind

CONTEXT = "context_length_exceeded"
"""Code of every context overflow, whatever the provider calls it: agents compact on it."""
QUOTA = "insufficient_quota"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NETWORK_CODES = _words(
    "ECONNABORTED ECONNREFUSED ECONNRESET EHOSTDOWN EHOSTUNREACH EPIPE ENETDOWN ENETUNREACH EAI_AGAIN "
    "ETIMEDOUT UND_ERR_BODY_TIMEOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT "
    "UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_ABORTED UND_ERR_SOCKET"
)
NETWORK_NAMES = _words(
    "ConnectionResetError ConnectionRefusedError ConnectionAbortedError BrokenPipeError TimeoutError "
    "ServerDisconnectedError ClientPayloadError ClientOSError ServerTimeoutError SocketTimeoutError"
)
NETWORK_TEXT = re.compile(
    r"^fetch failed$|^sse read timed out$|connection (?:aborted|closed|refused|reset)(?: by server)?$"
    r"|network connection|network error|response body (?:terminated|closed)|socket hang up",
    re.I,
)
READ_TIMED_OUT = "SSE read timed out"
RATE_TEXT = re.compile(
    r"too many requests|too_many_requests|rate limit|rate_limit|rate limited|rate increased too quickly", re.I
)
CONTEXT_TEXT = re.compile(
    r"prompt is too long|input is too long for requested model|exceeds the context window"
    r"|input token count.*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages"
    r"|maximum context length is \d+ tokens|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|context[_ ]length[_ ]exceeded|request entity too large|context length is only \d+ tokens"
    r"|input length.*exceeds.*context length|prompt too long; exceeded (?:max )?context length"
    r"|too large for model with \d+ maximum context length|model_context_window_exceeded"
    r"|^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
    re.I,
)
# Copilot says it of the prompt, everybody else of requests a minute: an overflow only where nothing speaks of a rate.
CONTEXT_LIMIT_TEXT = re.compile(r"exceeds the limit of \d+", re.I)
CONTEXT_CODES = frozenset({CONTEXT, "string_too_long", "exceed_context_size_error", "request_too_large"})

QUOTA_CODES = frozenset(
    {QUOTA, "billing_hard_limit_reached", "usage_limit_reached", "usage_not_included", "enforced_spend_limit_reached",
     "billing_error", "insufficient_balance", "insufficient_user_quota"}
)  # fmt: skip
QUOTA_TEXT = re.compile(
    r"exceeded your current quota|insufficient (?:account )?balance|credit balance is too low"
    r"|余额不足|额度不足|额度已用尽",
    re.I,
)
REFUSED_CODES = _words(
    "invalid_prompt invalid_api_key authentication_error permission_error permission_denied "
    "not_found_error invalid_request_error tier_not_allowed content_filter bio_policy cyber_policy "
    "data_residency_mismatch misalignment_policy_violation model_not_found "
    "unsupported_country_region_territory unauthenticated invalid_argument failed_precondition "
    "BadRequestError"
)
CAPACITY_CODES = _words(
    "overloaded_error server_is_overloaded slow_down unavailable service_unavailable "
    "service_unavailable_error capacity_exceeded unavailable_error engine_overloaded_error"
)
SERVER_CODES = _words(
    "server_error api_error internal internal_error internal_server_error internalservererror "
    "vector_store_timeout timeout_error deadline_exceeded"
)
CAPACITY_TEXT = re.compile(
    r"overloaded|capacity exceeded|queue is full|server busy|负载已饱和|no available workers|currently loading"
    r"|loading model",
    re.I,
)
STREAM_TEXT = re.compile(
    r"^upstream stream error:|stream error:|stream_read_error|upstream_error|provider disconnected|unexpected eof"
    r"|runner has unexpectedly stopped",
    re.I,
)
PREPAID = ("FreeUsageLimitError", "SubscriptionUsageLimitError")
ALWAYS_TERMINAL = frozenset({402, 501, 505})
TERMINAL = frozenset({400, 401, 403, 422})
NAMED_TERMINAL = frozenset({"ContextOverflowError", "MessageAbortedError", "ProviderAuthError"})
BAD_FINISH = {
    "error": Kind.STREAM,
    "abort": Kind.STREAM,
    "network_error": Kind.STREAM,
    "insufficient_system_resource": Kind.SERVER,
}
"""Finish reasons that are failures: OpenRouter, vLLM, Zhipu, DeepSeek."""
