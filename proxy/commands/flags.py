"""Flags in `--help`: a flag takes no value, so none is shown behind it (`<bool>` invites to write `--json true`)."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flagged(super().get_params(ctx))


class Group(TyperGroup):
    """The command itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flagged(super().get_params(ctx))


def _flagged(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params
