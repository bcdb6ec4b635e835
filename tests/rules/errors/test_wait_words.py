"""Waits in words, in the languages of those who write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.errors.wait_words import sentence, span


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Please try again in 6m0s.", 360.0),
        ("Please retry after 20 seconds", 20.0),
        ("Please retry in 26.586329s.", 26.586329),
        ("Your quota will reset after 18h31m10s.", 66670.0),
        ("Please wait 42000 seconds before retrying.", 42000.0),
        ("You must wait for about 2 minutes", 120.0),
        ("Limit resets in: 2 hours", 7200.0),
        ("Try again in 1 hour and 5 minutes", 3900.0),
        ("try again in 1 day", 86400.0),
        ("Retry-After: 20", 20.0),
        ("{'retry_after': 17}", 17.0),
        ("retry_after_seconds=1.5", 1.5),
        ("请在20秒后重试", 20.0),
        ("請在 20 秒後重試", 20.0),
        ("请求过于频繁，请等待30秒后再试", 30.0),
        ("1分钟后再试", 60.0),
        ("请在 1 小时 5 分钟后重试", 3900.0),
        ("20秒後に再試行してください", 20.0),
        ("5分後にもう一度お試しください", 300.0),
        ("30秒お待ちください", 30.0),
        ("20초 후에 다시 시도해 주세요", 20.0),
        ("Bitte versuchen Sie es in 20 Sekunden erneut", 20.0),
        ("Veuillez réessayer dans 1 minute et 20 secondes", 80.0),
        ("Inténtelo de nuevo en 20 segundos", 20.0),
        ("Tente novamente em 2 minutos", 120.0),
        ("Riprova tra 20 secondi", 20.0),
        ("Повторите попытку через 20 секунд", 20.0),
        ("попробуйте снова через 5 минут", 300.0),
        ("try again in a few seconds", None),
        ("try again in 3 sheep", None),
        ("try again after 2 months", None),
        ("retry after 3 attempts", None),
        ("at most 30s of audio", None),
        ("The request ran for 20 minutes", None),
        ("", None),
    ],
)
def test_sentences(message: str, wait: float | None) -> None:
    assert sentence(message) == wait


@pytest.mark.parametrize(
    ("written", "wait"),
    [("6m0s", 360.0), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("2d3h", 183600.0), ("7", None), ("soon", None)],
)
def test_lengths_alone(written: str, wait: float | None) -> None:
    assert span(written) == wait


@given(st.text(alphabet="try again in wait 19.,smhd 秒后请等 \n\t", max_size=3000))
@settings(max_examples=60, deadline=None)
def test_no_text_takes_it_long_or_raises(message: str) -> None:
    wait = sentence(message)
    assert wait is None or wait >= 0
