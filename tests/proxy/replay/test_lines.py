"""Files of any size and encoding, as lines and whole."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest

from proxy.replay.lines import lines, whole

TEXT = '{"text": "café"}\n{"text": "二"}\n'
ENCODED = {
    "plain": TEXT.encode(),
    "with a mark": codecs.BOM_UTF8 + TEXT.encode(),
    "UTF-16 LE": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "UTF-16 BE": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_every_way_of_writing_reads_the_same(tmp_path: Path, data: bytes, packed: bool) -> None:
    path = tmp_path / ("x.jsonl.gz" if packed else "x.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert whole(path).decode() == TEXT
    assert b"".join(lines(path)).decode() == TEXT
    assert len(list(lines(path))) == 2


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    assert (whole(tmp_path / "x"), list(lines(tmp_path / "x"))) == (b"", [])


def test_it_tells_how_far_it_has_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\nbc\n\nd")
    seen: list[int] = []
    for _ in lines(path, seen.append):
        pass
    assert seen == [2, 5, 6, 7]


def test_what_is_too_large_ends_in_an_error(tmp_path: Path) -> None:
    path, packed = tmp_path / "x", tmp_path / "x.gz"
    path.write_bytes(b"x" * 3_000_000)
    packed.write_bytes(gzip.compress(b"line\n" * 600_000))
    with pytest.raises(ValueError, match="larger than 1 MB"):
        whole(path, most=1 << 20)
    with pytest.raises(ValueError, match="a line of more than 1 MB"):
        list(lines(path, longest=1 << 20))
    with pytest.raises(ValueError, match="larger than 1 MB when unpacked"):
        list(lines(packed, most=1 << 20))


def test_a_broken_gzip_gives_the_lines_before_it(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"line\n" * 10)[:-6])
    coming = lines(path)
    assert [next(coming) for _ in range(10)] == [b"line\n"] * 10
    with pytest.raises(EOFError):
        next(coming)
