"""Reads a file whole, or line by line however large it is. Gzip is decompressed, UTF-16 (PowerShell writes it) becomes
UTF-8, and a byte order mark is removed.
"""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

LARGEST = 1 << 30
"""Bytes of a file that is read whole, or of all lines of a gzipped one: a guard against bombs."""
LONGEST = 256 << 20
"""Bytes of one line."""


def whole(path: Path, most: int = LARGEST) -> bytes:
    """Everything. Raises OSError, EOFError, ValueError where it is more than `most` bytes."""
    with _opened(path) as (_, unpacked):
        data = unpacked.read(most + 1)
    if len(data) > most:
        raise ValueError(f"larger than {most >> 20} MB")
    return data


def lines(
    path: Path, at: Callable[[int], None] | None = None, *, most: int = LARGEST, longest: int = LONGEST
) -> Iterator[bytes]:
    """Each line. `at` hears how far the file has been read, in its own bytes. Raises as `whole`."""
    with _opened(path) as (raw, unpacked):
        packed, size = path.suffix == ".gz", 0
        while line := unpacked.readline(longest + 1):
            size += len(line)
            if len(line) > longest:
                raise ValueError(f"a line of more than {longest >> 20} MB")
            if packed and size > most:
                raise ValueError(f"larger than {most >> 20} MB when unpacked")
            if at is not None:
                at(raw.tell())
            yield line


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """(the file as it lies there, what it says)."""
    with path.open("rb") as raw:
        told = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        mark = told.peek(4)[:4]
        if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            yield raw, codecs.EncodedFile(cast("IO[bytes]", told), "utf-8", "utf-16", "replace")
            return
        if mark.startswith(codecs.BOM_UTF8):
            told.read(len(codecs.BOM_UTF8))
        yield raw, cast("IO[bytes]", told)
