"""One small change of a source file each: a comparison turned, a number moved, a statement left out.

Changes are made in the text at the place of a syntax node, so everything else of the file stays as it is. Text, types,
docstrings and imports are left alone: a test that pins the words of a message is no better for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPARE_BACK = {"!=": "==", "==": "!=", "<=": "<", "<": "<=", ">=": ">", ">": ">=", "is not": "is", "is": "is not",
                 "not in": "in", "in": "not in"}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


class Mutant(NamedTuple):
    """`text` replaces `source[start:end]`, in bytes of UTF-8."""

    line: int
    start: int
    end: int
    text: str

    def of(self, source: str) -> str:
        """The whole changed file."""
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()

    def told(self, source: str) -> str:
        """The change for people: `line: old → new`, on one line."""
        old = " ".join(source.encode()[self.start : self.end].decode().split())
        return f"{self.line}: {old} → {' '.join(self.text.split())}"


def mutants(source: str) -> list[Mutant]:
    """Every change of a file, in the order of its text."""
    return sorted(_Finder(source).all(), key=lambda mutant: mutant[1:])


class _Finder:
    def __init__(self, source: str) -> None:
        self._source = source
        lines = source.encode().splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def all(self) -> Iterator[Mutant]:
        yield from self._below(ast.parse(self._source))

    def _below(self, node: ast.AST) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _says_nothing(child):
                    yield from self._here(child)
                    yield from self._below(child)

    def _here(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=compared):
                for turned in range(len(ops)):
                    text = self._text(left)
                    for at, (op, right) in enumerate(zip(ops, compared, strict=True)):
                        word = _COMPARE[type(op)]
                        text += f" {word if at == turned else _COMPARE_BACK[word]} {self._text(right)}"
                    yield self._at(node, f"({text})")
            case ast.BoolOp(op=op, values=values):
                word = " or " if isinstance(op, ast.And) else " and "
                yield self._at(node, "(" + word.join(self._text(value) for value in values) + ")")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._at(node, f"bool({self._text(operand)})")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                yield self._at(node, f"({self._text(left)} {_ARITHMETIC[type(op)]} {self._text(right)})")
            case ast.Constant(value=bool() as value):
                yield self._at(node, str(not value))
            case ast.Constant(value=int() as value):
                yield self._at(node, str(value + 1))
            case ast.Constant(value=float() as value):
                yield self._at(node, str(value * 1.5 + 0.125))
            case ast.Call(func=ast.Name(id="min" | "max" as name) as func):
                yield self._at(func, "max" if name == "min" else "min")
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield self._at(value, "None")
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                yield self._at(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._at(node, "pass")
            case ast.Break() | ast.Continue():
                yield self._at(node, "pass")
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield self._at(node, f"({self._text(orelse)} if {self._text(test)} else {self._text(body)})")

    def _at(self, node: ast.expr | ast.stmt, text: str) -> Mutant:
        end_line, end = node.end_lineno, node.end_col_offset
        assert end_line is not None and end is not None
        return Mutant(
            node.lineno, self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end, text
        )

    def _text(self, node: ast.expr) -> str:
        text = ast.get_source_segment(self._source, node) or ast.unparse(node)
        return text if isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Call) else f"({text})"


def _says_nothing(node: ast.AST) -> bool:
    """Is this a name list, a type, or a block for types only?"""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="__slots__" | "__all__")]):
            return True
        case ast.Subscript(value=ast.Name(id="Literal" | "tuple" | "dict" | "list")):
            return True
        case ast.Call(func=ast.Name(id="cast")):
            return True
    return False
