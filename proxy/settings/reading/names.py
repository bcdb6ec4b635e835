"""From the keys people write to the fields of the models.

snake_case, camelCase and kebab-case name the same field, and a duration field is also there with `Ms` or `_ms`
(milliseconds), so blocks of other systems paste in unchanged. Keys that people choose themselves (provider names,
rule names, headers, params) are left alone.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rules import parse_seconds as seconds

from ..base import Section
from .document import Document, Loc

T = TypeVar("T")

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Misnamed(ValueError):
    """Keys that cannot be brought to fields: two spellings of one, or a pasted block that means nothing here."""

    def __init__(self, loc: Loc, message: str) -> None:
        super().__init__(message)
        self.loc = loc


def snake(key: str) -> str:
    """maxRetries, max-retries, baseURL → max_retries, max_retries, base_url"""
    return _HUMPS.sub("_", key).replace("-", "_").lower()


def canonical(data: Any, model: type[BaseModel], document: Document | None = None, loc: Loc = ()) -> Any:
    """`data` with every known key under its field's name; `document.places` gains the new paths. Raises Misnamed."""
    if not isinstance(data, dict):
        return data
    if issubclass(model, Section):
        data = _pasted(data, model, document, loc)
    out: dict[str, Any] = {}
    written: dict[str, str] = {}
    for key, value in data.items():
        name, scale = field_of(str(key), model)
        if name is None:
            out[key] = value
            continue
        if name in out:
            raise Misnamed((*loc, str(key)), f"{key} and {written[name]} are the same field; keep one")
        written[name] = str(key)
        if scale != 1.0 and isinstance(value, int | float) and not isinstance(value, bool):
            value = value * scale
        elif scale != 1.0 and isinstance(value, str) and value.strip().isdigit():
            value = int(value) * scale
        if document is not None and key != name:
            _move(document, (*loc, str(key)), (*loc, name))
        if value is None and _may_be_left_out(model.model_fields[name]):
            continue
        out[name] = _inside(value, model.model_fields[name].annotation, document, (*loc, name))
    return out


def _pasted(data: dict[str, Any], model: type[Section], document: Document | None, loc: Loc) -> dict[str, Any]:
    moved: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    try:
        data = model.pasted(data, lambda old, new: moved.append((old, new)))
    except ValueError as error:
        raise Misnamed(loc, str(error)) from None
    if document is not None:
        for old, new in moved:
            _move(document, (*loc, *old), (*loc, *new))
    return data


def field_of(key: str, model: type[BaseModel]) -> tuple[str | None, float]:
    """(field, factor) of a written key: the factor is 0.001 where the key says milliseconds. (None, 1) = unknown."""
    name = snake(key)
    fields = model.model_fields
    if issubclass(model, Section):
        name = model.also.get(name, name)
    if name in fields:
        return name, 1.0
    if (
        name.endswith("_ms")
        and name[:-3] in fields
        and is_duration(fields[name[:-3]].metadata, fields[name[:-3]].annotation)
    ):
        return name[:-3], 0.001
    return None, 1.0


def is_duration(metadata: list[Any], annotation: Any) -> bool:
    """Is a field's value a duration?"""
    return has_validator(metadata, annotation, seconds)


def has_validator(metadata: list[Any], annotation: Any, validator: Callable[..., Any]) -> bool:
    """Does a field's type run this validator, itself or one of its parts?"""
    if any(getattr(item, "func", None) is validator for item in metadata):
        return True
    if get_origin(annotation) is Annotated:
        inner, *extra = get_args(annotation)
        return has_validator(extra, inner, validator)
    return any(has_validator([], part, validator) for part in get_args(annotation) if not isinstance(part, str))


def nearest(key: str, model: type[BaseModel]) -> str | None:
    """The field whose name is closest to an unknown key, if any is close."""
    found = get_close_matches(snake(key), list(model.model_fields), n=1, cutoff=0.6)
    return found[0] if found else None


def model_at(loc: Loc, model: type[BaseModel]) -> type[BaseModel] | None:
    """The model that the keys below a path belong to; None where there is none."""
    inner = type_at(loc, model)
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def type_at(loc: Loc, model: type[BaseModel]) -> Any:
    """The type of the value at a path, without Annotated and None; None where no value can be."""
    annotation: Any = model
    for part in loc:
        inner = bare(annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            info = inner.model_fields.get(str(part))
            if info is None:
                return None
            annotation = info.annotation
        elif get_origin(inner) is tuple or is_mapping(inner):
            arguments = get_args(inner)
            annotation = arguments[1] if is_mapping(inner) else arguments[0]
        else:
            return None
    return bare(annotation)


def bare(annotation: Any) -> Any:
    """Without Annotated and None."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, types.UnionType):
            rest = [a for a in get_args(annotation) if a is not type(None)]
            if len(rest) != 1:
                return annotation
            annotation = rest[0]
        else:
            return annotation


def is_mapping(annotation: Any) -> bool:
    """Is this a mapping with keys of one's own?"""
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _may_be_left_out(info: FieldInfo) -> bool:
    """Does a key of this field without a value say nothing? `journal:` followed by comments only is read as null. A
    section, a mapping or a list that cannot be null is then as if the key were not there."""
    inner = bare(info.annotation)
    section = isinstance(inner, type) and issubclass(inner, BaseModel)
    several = get_origin(inner) is tuple or is_mapping(inner)
    return (section or several) and not info.is_required() and not _nullable(info.annotation)


def _nullable(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _nullable(get_args(annotation)[0])
    return annotation is type(None) or (
        get_origin(annotation) in (Union, types.UnionType) and any(_nullable(part) for part in get_args(annotation))
    )


def _inside(value: Any, annotation: Any, document: Document | None, loc: Loc) -> Any:
    inner = bare(annotation)
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return canonical(value, inner, document, loc)
    arguments = get_args(inner)
    if isinstance(value, dict) and is_mapping(inner):
        return {k: _inside(v, arguments[1], document, (*loc, k)) for k, v in value.items()}
    if isinstance(value, list) and get_origin(inner) is tuple:
        return [_inside(v, arguments[0], document, (*loc, at)) for at, v in enumerate(value)]
    return value


def _move(document: Document, old: Loc, new: Loc) -> None:
    """Paths below `old` are also known as `new`."""
    _also(document.places, old, new)
    _also(document.filled, old, new)


def _also(table: dict[Loc, T], old: Loc, new: Loc) -> None:
    for loc in [loc for loc in table if loc[: len(old)] == old]:
        table.setdefault(new + loc[len(old) :], table[loc])
