"""What flows between the rooms, and what it is made of.

A record is a slotted value that nobody changes, frozen for the type checker alone.

A frozen dataclass sets each field through `object.__setattr__`, so that making one costs three times as much (17
fields: 6.7 against 1.9 µs on a busy machine, and a request makes some 100 fields). What is made for every request is a
record; it is equal and hashes as a frozen dataclass does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["record"]

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen, slots):
        """As `dataclass(frozen=True, slots=True)`."""
        assert frozen
        return dataclass(slots=slots, unsafe_hash=True)
