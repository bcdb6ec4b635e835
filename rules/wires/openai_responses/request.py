"""A request of /responses: what it is about, a reminder put in, what an earlier cut left behind taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...values.asked import asked
from ...values.brief import Brief
from ...values.notices import has_notice
from ..base import Ask, Change, Json
from ..second_request import heal_limits, least_effort, warmed
from .endings import OURS
from .grammar import CALLS

PROMPT_LIMIT: Final = 64 << 10
"""Characters of the request's text a monitor may read, newest last."""


def read(body: Json) -> Ask:
    text = body.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    return Ask(
        model=str(body.get("model") or ""),
        streaming=body.get("stream") is True,
        wants_usage=True,
        has_tools=bool(body.get("tools")),
        wants_json=isinstance(form, dict) and form.get("type") in ("json_schema", "json_object"),
        body=body,
        brief=Brief(lambda: _prompt(body), lambda: _asked(body)),
    )


def _prompt(body: Json) -> str:
    found = _words(body.get("instructions"))
    given = body.get("input")
    if isinstance(given, str):
        found.append(given)
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict) and item.get("role") != "assistant":
            found += _words(item.get("output") if "output" in item else item.get("content"))
    return "\n".join(found)[-PROMPT_LIMIT:]


def _asked(body: Json) -> str:
    """What the user says now: results of tools and earlier answers are no wishes."""
    given = body.get("input")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    system = _words(body.get("instructions"))
    for item in items:
        if item.get("role") in ("system", "developer"):
            system += _words(item.get("content"))
    users = ["\n".join(_words(item.get("content"))) for item in reversed(items) if item.get("role") == "user"]
    return asked("\n".join(system), [given] if isinstance(given, str) else users)


def _words(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else ()
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def advise(body: Json, text: str) -> Json:
    given = body.get("input")
    if isinstance(given, str):
        return {**body, "input": f"{given}\n\n{text}"}
    if not isinstance(given, list):
        return body
    part = {"type": "input_text", "text": text}
    last = given[-1] if given else None
    if isinstance(last, dict) and last.get("role") == "user":
        content = last.get("content")
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content or []
        if not isinstance(parts, list):
            return body
        return {**body, "input": [*given[:-1], {**last, "content": [*parts, part]}]}
    return {**body, "input": [*given, {"type": "message", "role": "user", "content": [part]}]}


def heal(ask: Ask, change: Change) -> tuple[Json, list[str]] | None:
    """The second request after a loop. Nothing continues a text here.

    Not where a stream's id is kept by the provider (`store`, `background`): the next request may name it, and it would
    name the answer that was stopped.
    """
    body: dict[str, Any] = dict(ask.body)
    limits = heal_limits(body, change.spent, "max_output_tokens")
    kept = body.get("store") is not False and ask.streaming
    if ask.wants_json or limits is None or kept or body.get("background") or body.get("top_logprobs"):
        return None
    include = body.get("include")
    if isinstance(include, list) and "message.output_text.logprobs" in include:
        return None
    body.update(limits)
    changed = warmed(body, change.hottest)
    if change.thinking:
        given = body.get("reasoning")
        lower = {**(given if isinstance(given, dict) else {}), "effort": least_effort(ask.model)}
        changed += ["reasoning"] if lower != given else []
        body["reasoning"] = lower
        if change.thinking == "template":  # llama.cpp and vLLM take the switch of the template on this path, too
            kwargs = body.get("chat_template_kwargs")
            off = {"enable_thinking": False, "thinking": False}
            body["chat_template_kwargs"] = {**(kwargs if isinstance(kwargs, dict) else {}), **off}
            changed.append("chat_template_kwargs")
    if change.note:
        given = body.get("input")
        if not isinstance(given, str | list):
            return None
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        said = [{"role": "assistant", "content": change.kept}] if change.kept else []
        body["input"] = [*items, *said, {"role": "user", "content": change.note}]
    elif change.kept:
        return None
    return body, changed


def clean(body: Json) -> Json:
    """Drop reasoning items that we closed, and the ids of our notices.

    Ours are marked `incomplete`. Clients that keep no status (Codex) are stateless: there, reasoning without
    encrypted content is ours where our notice follows it, or nothing at all.
    """
    given = body.get("input")
    if not isinstance(given, list):
        return body
    kept: list[Any] = []
    changed = False
    for at, item in enumerate(given):
        ident = item.get("id") if isinstance(item, dict) else None
        if isinstance(item, dict) and item.get("type") == "reasoning" and _ours(given, at, body):
            changed = True
        elif isinstance(ident, str) and ident.startswith(OURS):
            changed = True
            if item.get("type") != "item_reference":
                kept.append({key: value for key, value in item.items() if key != "id"})
        else:
            kept.append(item)
    return {**body, "input": kept} if changed else body


def _ours(given: Sequence[Any], at: int, body: Json) -> bool:
    """Did we close this reasoning item?"""
    item = given[at]
    if item.get("encrypted_content"):
        return False  # its provider has sealed it, and takes it back
    if item.get("status") == "incomplete":
        return True
    if body.get("store") is not False:
        return False
    if any(isinstance(one, dict) and one.get("type") == "reasoning" and one.get("encrypted_content") for one in given):
        return True  # this provider seals its reasoning, so what is not sealed was closed by us
    for later in given[at + 1 :]:
        if not isinstance(later, dict) or later.get("role") not in (None, "assistant"):
            return True
        if str(later.get("type")) in CALLS:
            return False
        if later.get("role") == "assistant":
            return has_notice(_said(later.get("content")))
    return True


def _said(content: Any) -> str:
    """The last text of a message item."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = texts[-1] if texts else ""
    return content if isinstance(content, str) else ""
