"""Content codings: every cut of the input gives the same bytes, damage is an error, a bomb is met in pieces."""

from __future__ import annotations

import contextlib
import gzip
import zlib

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.coding import PIECE, CodingError, Inflate, decode


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "x-gzip": gzip.compress}


@given(data=st.binary(max_size=2000), cut=st.integers(1, 40), coding=st.sampled_from(sorted(CODERS)))
@settings(max_examples=100)
def test_any_chunking_gives_the_whole(data: bytes, cut: int, coding: str) -> None:
    packed = CODERS[coding](data)
    inflate = Inflate(coding)
    out = b"".join(b"".join(inflate.feed(packed[i : i + cut])) for i in range(0, len(packed), cut))
    assert out == data
    assert inflate.complete


@given(data=st.binary(min_size=1, max_size=500))
@settings(max_examples=50)
def test_raw_deflate_is_taken_too(data: bytes) -> None:
    assert b"".join(Inflate("deflate").feed(raw_deflate(data))) == data


def test_gzip_of_several_members() -> None:
    assert b"".join(Inflate("gzip").feed(gzip.compress(b"one ") + gzip.compress(b"two"))) == b"one two"


def test_an_early_end_is_seen() -> None:
    inflate = Inflate("gzip")
    list(inflate.feed(gzip.compress(b"a long text" * 50)[:-9]))
    assert not inflate.complete


@given(junk=st.binary(min_size=1, max_size=200))
@settings(max_examples=50)
def test_junk_never_raises_anything_else(junk: bytes) -> None:
    for coding in ("gzip", "deflate"):
        with contextlib.suppress(CodingError):
            list(Inflate(coding).feed(junk))


def test_output_comes_in_bounded_pieces() -> None:
    sizes = [len(piece) for piece in Inflate("gzip").feed(gzip.compress(b"a" * (3 * PIECE)))]
    assert sum(sizes) == 3 * PIECE
    assert max(sizes) <= PIECE


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd", "identity", "gzip, identity"])
def test_whole_bodies(coding: str) -> None:
    packers = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}
    body = packers.get(coding.split(",")[0], bytes)(b"hello")
    assert decode(body, coding, 100) == b"hello"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_bomb_meets_the_limit(coding: str) -> None:
    packers = {"gzip": gzip.compress, "zstd": zstandard.compress}
    with pytest.raises(OverflowError):
        decode(packers[coding](b"\0" * (4 << 20)), coding, 1 << 20)


@pytest.mark.parametrize("coding", ["br", "compress", "x" * 500])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(CodingError):
        decode(b"x", coding, 100)


def test_damaged_zstd() -> None:
    with pytest.raises(CodingError):
        decode(b"not zstd at all", "zstd", 100)
