"""What providers call their errors: codes, types, and the phrases of their messages (real bodies, issue threads and
API references; the network, rate and context tables are MiMo-Code's)."""

from __future__ import annotations

import re

from ..values.failures import Kind

CONTEXT = "context_length_exceeded"
"""Our code for every context overflow, whatever the provider calls it: agents compact their history on it."""
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
# The gap between two words is bounded. Otherwise a body that repeats the first word would take quadratic time.
CONTEXT_TEXT = re.compile(
    r"prompt is too long|input is too long for requested model|exceeds the context window"
    r"|input token count.{0,120}exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages"
    r"|maximum context length is \d+ tokens|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|context[_ ]length[_ ]exceeded|request entity too large|context length is only \d+ tokens"
    r"|input length.{0,120}exceeds.{0,120}context length|prompt too long; exceeded (?:max )?context length"
    r"|too large for model with \d+ maximum context length|model_context_window_exceeded"
    r"|^4(?:00|13)\s*(?:status code)?\s*\(no body\)",
    re.I,
)
# Copilot says this about the prompt, all others about requests a minute. It is an overflow only where the message names
# no rate.
CONTEXT_LIMIT_TEXT = re.compile(r"exceeds the limit of \d+", re.I)
CONTEXT_CODES = frozenset({CONTEXT, "string_too_long", "exceed_context_size_error", "request_too_large"})

QUOTA_CODES = _words(
    "insufficient_quota billing_hard_limit_reached billing_not_active usage_limit_reached usage_not_included "
    "enforced_spend_limit_reached billing_error insufficient_balance insufficient_user_quota insufficient_credits "
    "insufficient_funds insufficient_credit credit_exhausted credits_exhausted exceeded_current_quota_error "
    "budget_exceeded budget_exceeded_error exceededbudget arrearage accountoverdueerror account_overdue "
    "setlimitexceeded payment_required allocationquota.freetieronly 1113 1304 1308 1309 1310"
)
"""Codes and types of errors that do not end on the same day. The numbers are Z.ai's: no balance, the day's calls, the
plan's hours, the plan itself, its week or month."""
SPENT_TEXT = re.compile(
    r"insufficient (?:account )?(?:balance|credits?|funds|quota)|not enough (?:balance|credits?|funds|quota)"
    r"|(?:balance|credits?) (?:is |are )?(?:insufficient|too low|not enough|exhausted|depleted|used up)"
    r"|out of credits|no (?:remaining )?credits?(?: left| remaining)?\b|(?:has|have|used|spent) all (?:your |its |of )*"
    r"(?:available |prepaid )?credits|account (?:is )?(?:in arrears|overdue|suspended|deactivated)|in arrears"
    r"|billing (?:hard |soft )?(?:cap|limit)|hard limit (?:has been )?reached|payment required"
    r"|spend(?:ing)? (?:limit|cap)|budget (?:has been |was )?exceeded|exceeded? (?:their |your |the |its )?budget"
    r"|crossed budget|(?:trial|subscription|plan|package) (?:has |is )?(?:expired|ended)"
    r"|packexhausted|top[- ]up|余额不足|餘額不足|额度不足|額度不足|额度已用[尽完]|欠费|欠費|充值|配额已?用[尽完]"
    r"|套餐.{0,6}(?:到期|用[尽完])|残高不足|잔액.{0,4}부족",
    re.I,
)
NOTHING_TEXT = re.compile(r"quota[^\n]{0,200}\blimit:\s*0(?!\.?[0-9])", re.I)
"""Google's word for a plan with a quota of zero. The RetryInfo beside it is of no use."""
TOO_LARGE_TEXT = re.compile(
    r"request (?:is )?too large|(?:must|should) be reduced in order to run|single request exceeds", re.I
)
ASKED_TEXT = re.compile(r"\blimit:?\s*([0-9,]{1,15})\b.{0,80}?\brequested:?\s*([0-9,]{1,15})\b", re.I | re.S)
"""One request that asks for more than a whole minute's limit: "Limit 30000, Requested 48000"."""
LONG_CODES = _words("quota_exceeded quotaexceeded quota_exhausted servicequotaexceededexception freeusagelimiterror")
LONG_TEXT = re.compile(
    r"exceeded your current quota|\bper[-_ ]?(?:day|week|month)\b|/ ?(?:day|week|month)\b|by(?:day|week|month)\b"
    r"|\b(?:daily|weekly|monthly)\b[^\n]{0,60}(?:limit|quota|allowance|allocation|usage|cap\b|credits|requests|tokens)"
    r"|(?:usage|quota|credits?|allowance|allocation) (?:limit |cap )?(?:has been |have been |is |was )?"
    r"(?:reached|exhausted|depleted|used up)|reached your (?:specified )?(?:api )?usage limits?"
    r"|free (?:tier|quota|trial|usage|plan)[^\n]{0,40}(?:exhausted|used up|exceeded|expired|reached)"
    r"|使用上限|日流控|每[日天周月].{0,8}(?:上限|限额|次数|额度)|[日天周月](?:使用)?(?:限额|配额|额度).{0,6}(?:用[尽完]|达到|超)"
    r"|配额.{0,4}(?:用[尽完]|耗尽|超)",
    re.I,
)
"""Words of limits that last for hours, days or months; some of them say when they end, and then that is their wait."""
LONG = 900.0
"""Seconds. The longest deadline of a budget: a limit whose end is told to be nearer is waited for."""
BASE_RESP_KINDS = {
    "1000": Kind.SERVER, "1001": Kind.SERVER, "1013": Kind.SERVER, "1024": Kind.SERVER, "1033": Kind.SERVER,
    "1002": Kind.RATE_LIMIT, "1039": Kind.RATE_LIMIT, "1041": Kind.RATE_LIMIT,
}  # fmt: skip
"""MiniMax's codes that may pass: unknown, time-out, internal, database; requests, tokens and connections. Every other
one stays: 1004 and 2049 key, 1008 balance, 1026 and 1027 content, 2013 parameters, 2056 the plan's hours."""
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
