"""Waits in words: "try again in 6m0s", "请在20秒后重试", "20 秒後に再試行してください", as seconds.

A sentence counts only where a word of waiting stands beside a length of time; a number alone is no wait. Providers and
gateways write these in the language of their users, and often nowhere else.
"""

from __future__ import annotations

import re

LONGEST = 2048
"""Characters of a message that are looked at."""

_UNITS: tuple[tuple[str, float], ...] = (
    (r"milliseconds?|msecs?|ms|毫秒|ミリ秒|밀리초|миллисекунд\w*|millisekunden?", 0.001),
    (r"seconds?|secs?|s|秒钟|秒鐘|秒間?|초|sekunden?|secondes?|segundos?|secondi|секунд\w*", 1.0),
    (r"minutes?|mins?|m|分钟|分鐘|分間?|분|minuten?|minutos?|minuti|минут\w*", 60.0),
    (r"hours?|hrs?|h|小时|小時|時間|시간|stunden?|heures?|horas?|ore|часа?|часов", 3600.0),
    (r"days?|d|天|日間?|일|tage?n?|jours?|d[ií]as?|giorni|дня|дней|день", 86400.0),
)
_NUMBER = r"(?<![0-9.,])[0-9]{1,9}(?:[.,][0-9]{1,9})?"
_UNIT = "|".join(f"(?:{words})" for words, _ in _UNITS)
_SPAN = rf"{_NUMBER}\s{{0,2}}(?:{_UNIT})(?![^\W\d_а-яё가-힣ぁ-ヿ一-鿿])"
# Everything is bounded, because a message can be any text and must be cheap to read.
_SPANS = rf"{_SPAN}(?:\s{{0,2}}(?:(?:and|und|et|y|e|и|,)\s{{0,2}})?{_SPAN}){{0,4}}"
_ABOUT = r"(?:about|approximately|around|another|at least|~|≈|circa|etwa|environ|约|約|大约|大約)?\s*"

_SENTENCES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?:try again|retry|retrying|resend|available(?: again)?|come back|resets?|reset (?:is|will be))\s*"
        rf"(?:later\s+)?(?:in|after|within)\s*:?\s*{_ABOUT}({_SPANS})",
        rf"\bwait(?:ing)?\s+(?:for\s+)?{_ABOUT}({_SPANS})",
        rf"(?:erneut|wieder|réessay\w*|(?:de|à) nouveau|intent\w+|inténte\w+|nuevamente|de nuevo|tente|novamente|"
        rf"riprova\w*|повтор\w*|попробу\w*|подожд\w*|warte\w*|attend\w*|esper\w+|aguard\w+|resets? )"
        rf"[^.!?。0-9]{{0,40}}?\s({_SPANS})",
        rf"(?:in|nach|dans|après|tra|dopo|через)\s+({_SPANS})\s+(?:erneut|wieder|noch ?mal|de nouveau|à nouveau)",
        rf"({_SPANS})\s*(?:以|之)?[后後內内][^.!?。0-9]{{0,16}}?"
        rf"(?:重[试試]|再[试試次]|[尝嘗][试試]|恢[复復]|重置|可用|[请請]求|[访訪][问問]|使用)",
        rf"(?:等待|等候|稍等|稍候|等)\s*(?:约|約|大约|大約|至少)?\s*({_SPANS})",
        rf"({_SPANS})\s*(?:後|経過後|ほど|以上)?(?:に|経って|おいて|お待ち|待って|待機)"
        rf"[^.!?。0-9]{{0,16}}?(?:再|もう一度|改めて|お試し|リトライ|ください|から)",
        rf"({_SPANS})\s*(?:후|뒤|이후)(?:에)?[^.!?。0-9]{{0,16}}?(?:다시|재시도|시도)",
    )
)
_FIELD = re.compile(
    rf"\bretry[-_ ]?after(?:[-_ ]?seconds|[-_ ]?secs?)?[\"']?\s*[:=]\s*[\"']?({_NUMBER})(?![0-9.]*\s*[a-z])", re.I
)
_BLANKS = re.compile(r"\s+")
_PART = re.compile(rf"({_NUMBER})\s*({_UNIT})", re.I)
_WRITTEN = re.compile(rf"\s*{_SPANS}\s*", re.I)
_EACH = tuple((re.compile(words, re.I), seconds) for words, seconds in _UNITS)


def sentence(message: str) -> float | None:
    """Seconds that a message asks to wait, by its first sentence that does; None where none does."""
    message = _BLANKS.sub(" ", message[:LONGEST])
    found = [hit for hit in (pattern.search(message) for pattern in _SENTENCES) if hit is not None]
    if found:
        return _seconds(min(found, key=lambda hit: hit.start(1))[1])
    field = _FIELD.search(message)
    return float(field[1].replace(",", ".")) if field is not None else None


def span(written: str) -> float | None:
    """Seconds of a length of time alone: "6m0s", "120ms", "1h2m3.5s"; None for anything else."""
    return _seconds(written) if len(written) <= 64 and _WRITTEN.fullmatch(written) else None


def _seconds(spans: str) -> float:
    return sum(float(number.replace(",", ".")) * _unit(unit) for number, unit in _PART.findall(spans))


def _unit(word: str) -> float:
    return next(seconds for pattern, seconds in _EACH if pattern.fullmatch(word))
