"""Checks a key as it is written. A key that no server would accept is reported as a mistake."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, SecretStr

from .base import absent

_SCHEME = re.compile(r"(bearer|basic|token|api-?key|authorization:?)\s", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?\w+|\$\(|\{\{|%\w+%$|os\.environ|process\.env|env[:.]\w+$|<[^>]*>$", re.IGNORECASE)

_NAME = re.compile(r"[A-Z][A-Z0-9_]*_(KEY|TOKEN|SECRET)(=.*)?")
"""The name of a variable without a mark before it, or a line of an .env file."""


def key(value: SecretStr) -> SecretStr:
    """The key itself. Raises ValueError, never with the key in its words."""
    text = value.get_secret_value()
    if not text.strip():
        raise ValueError("a key is empty")
    if text[0] in "\"'`" and text[-1] == text[0] and len(text) > 1:
        raise ValueError("a key must not stand in quotes: they are sent as a part of it")
    if _SCHEME.match(text.lstrip()):
        raise ValueError("write the key alone, without a word before it (Bearer …): streamfuse adds that")
    if _VARIABLE.match(text) or _NAME.fullmatch(text):
        raise ValueError("this is the name of a variable, not a key: write ${NAME} in the file, and set NAME")
    if any(c.isspace() for c in text):
        raise ValueError("a key holds white space (a line break at the end of a file or variable?)")
    if not text.isascii() or not text.isprintable():
        raise ValueError("a key holds characters that no header can carry")
    return value


Key: TypeAlias = Annotated[SecretStr, AfterValidator(key)]
MaybeKey: TypeAlias = Annotated[Key | None, BeforeValidator(absent)]
