"""Content codings: every cut of the input gives the same bytes, damage is an error, a bomb is met in pieces."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.upstream.coding import PIECE, Brotli, CodingError, Inflate, Zstd, codings, decode, decoder


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "x-gzip": gzip.compress}


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
    packers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.compress,
    }
    body = packers.get(coding.split(",")[0], bytes)(b"hello")
    assert decode(body, coding, 100) == b"hello"


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_bomb_meets_the_limit(coding: str) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}
    with pytest.raises(OverflowError):
        decode(packers[coding](b"\0" * (4 << 20)), coding, 1 << 20)


@pytest.mark.parametrize("coding", ["compress", "aws-chunked", "x" * 500])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(CodingError):
        decode(b"x", coding, 100)


def test_damaged_zstd() -> None:
    with pytest.raises(CodingError):
        decode(b"not zstd at all", "zstd", 100)


def test_any_chunking_of_zstd_gives_the_whole() -> None:
    data = b"".join(b"data: %d\n\n" % n for n in range(3000))
    packed = zstandard.compress(data) + zstandard.compress(b"a second frame")
    for cut in (1, 7, 64, 1000, len(packed)):
        undo = Zstd()
        assert b"".join(p for at in range(0, len(packed), cut) for p in undo.feed(packed[at : at + cut])) == (
            data + b"a second frame"
        )
        assert undo.complete
    undo = Zstd()
    list(undo.feed(packed[:-3]))
    assert not undo.complete


def test_zstd_comes_in_bounded_pieces() -> None:
    undo = Zstd()
    assert max(len(piece) for piece in undo.feed(zstandard.compress(b"a" * (64 << 20)))) <= 2 << 20


@pytest.mark.parametrize("junk", [b"not packed at all" * 20, b"\xff" * 300])
def test_junk_in_the_younger_codings_is_damage(junk: bytes) -> None:
    pytest.importorskip("brotli", reason="an environment made before the dependency was declared")
    for undo in (Brotli(), Zstd()):
        with pytest.raises(CodingError):
            list(undo.feed(junk))


def test_any_chunking_of_br_gives_the_whole() -> None:
    brotli = pytest.importorskip("brotli", reason="an environment made before the dependency was declared")
    data = b"".join(b"data: %d\n\n" % n for n in range(60000))
    packed = brotli.compress(data)
    for cut in (1, 7, 1000, len(packed)):
        undo = Brotli()
        pieces = [p for at in range(0, len(packed), cut) for p in undo.feed(packed[at : at + cut])]
        assert b"".join(pieces) == data and max(map(len, pieces)) <= 2 * PIECE
        assert undo.complete
    undo = Brotli()
    list(undo.feed(packed[:-3]))
    assert not undo.complete


def test_several_codings_are_undone_from_the_last() -> None:
    undo = decoder(codings("deflate, identity, gzip"))
    assert undo is not None
    assert b"".join(undo.feed(gzip.compress(zlib.compress(b"hello")))) == b"hello" and undo.complete


def test_a_body_in_too_many_codings_is_refused() -> None:
    with pytest.raises(CodingError):
        decoder(codings("gzip," * 5))
