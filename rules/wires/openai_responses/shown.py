"""What the client was shown of a response: its items and parts, as the transcript remembers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .grammar import PARTS

if TYPE_CHECKING:
    from ...values.transcript import Shape, Transcript


def item_shapes(transcript: Transcript) -> list[Shape]:
    """The items the client was shown, by output index."""
    shapes = [shape for shape in transcript.shapes.values() if "item" in shape.fields]
    return sorted(shapes, key=lambda shape: int(shape.fields["index"]))


def parts_of(transcript: Transcript, item: Shape) -> list[Shape]:
    return [shape for shape in transcript.shapes.values() if shape.fields.get("of") == item.block[1]]


def writable(part: Shape) -> bool:
    """May visible text still be added to this open part?"""
    return part.fields.get("part", {}).get("type") == "output_text" and "said" not in part.fields


def part_of(shape: Shape, more: str = "") -> dict[str, Any]:
    """A part in its final form: the text shown so far, its annotations."""
    part: dict[str, Any] = dict(shape.fields["part"])
    if not shape.open and part.get(PARTS[part["type"]][1]):
        return part
    part[PARTS[part["type"]][1]] = shape.text + more
    if part["type"] == "output_text":
        notes = [value for key, value in shape.fields.items() if key.startswith("annotation.")]
        part.update(annotations=notes, logprobs=[])
    return part
