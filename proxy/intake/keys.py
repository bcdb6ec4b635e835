"""Our own keys: which header of a request holds one, and which of our pages it opens. Compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..settings.service.auth import CREDENTIALS

if TYPE_CHECKING:
    from ..settings.service.auth import Auth

ASK = 'Basic realm="streamfuse", charset="UTF-8"'
"""What makes a browser ask a person for the key (RFC 7617). Only pages of ours take it in this form."""


BEARER = {"WWW-Authenticate": 'Bearer realm="streamfuse"'}
"""What a 401 of the API says (RFC 9110 §11.6.1, RFC 6750 §3): no browser asks a person for it."""


class Keys:
    """The keys of one config. False where there are none: everybody may."""

    def __init__(self, auth: Auth) -> None:
        self._keys = tuple(_bytes(key.get_secret_value().strip()) for key in auth.keys)
        scraper = auth.metrics_key
        self._scraper = (_bytes(scraper.get_secret_value().strip()),) if scraper is not None else ()
        self._open = frozenset(auth.open)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def admit(self, headers: Mapping[str, str]) -> str | None:
        """The name of the header that carries one of our keys; None = not admitted. Every form is looked at, and every
        key compared: the time taken tells nothing."""
        found = None
        for name in CREDENTIALS:
            value = headers.get(name)
            if value is None:
                continue
            if name == "authorization":
                scheme, _, value = value.partition(" ")
                if scheme.lower() != "bearer":
                    continue
            if _among(_bytes(value.strip()), self._keys) and found is None:
                found = name
        return found

    def admits(self, key: str) -> bool:
        """Is this one of our keys? For clients that write it into the query."""
        return _among(_bytes(key.strip()), self._keys)

    def opens(self, page: str, headers: Mapping[str, str]) -> bool:
        """May whoever sent these headers see `page` (metrics, page, ready)?"""
        wanted = self._keys + (self._scraper if page == "metrics" else ())
        if not wanted or page in self._open:
            return True
        given = [headers[name] for name in CREDENTIALS[1:] if name in headers]
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given.append(value)
        elif scheme.lower() == "basic":
            given.append(_password(value))
        return sum(_among(_bytes(one.strip()), wanted) for one in given) > 0


def _among(given: bytes, keys: tuple[bytes, ...]) -> bool:
    return sum(hmac.compare_digest(given, key) for key in keys) > 0


def _bytes(text: str) -> bytes:
    """As it came on the wire: a header may hold bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def _password(value: str) -> str:
    """The password of a Basic credential, or the user's name where there is no password; "" where it cannot be read."""
    try:
        user, _, password = (
            base64.b64decode(_bytes(value.strip()), validate=True).decode(errors="replace").partition(":")
        )
    except (binascii.Error, ValueError):
        return ""
    return password or user
