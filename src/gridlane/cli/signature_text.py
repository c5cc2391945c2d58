"""Types on the command line: numba's names, and the IR's, whose numbers count bits."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import NoReturn

from gridlane.cli.failure import fail, likely
from gridlane.core.argtypes import SCALARS, ArgType
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.types import SIGNATURE_NAMES

# f32, i32, u8, b1, bf16. Where numba's name counts bytes and means another type, this one wins.
IR_NAMES: dict[str, str] = {scalar.dtype.name: scalar.name for scalar in SCALARS}
_IR_NAME = re.compile(r"\b(" + "|".join(IR_NAMES) + r")\b")
_AMBIGUOUS = {
    name: SIGNATURE_NAMES[name]
    for name, full in IR_NAMES.items()
    if name in SIGNATURE_NAMES and SIGNATURE_NAMES[name] is not SIGNATURE_NAMES[full]
}


def argument_types(text: str) -> tuple[ArgType, ...]:
    """The types that ``text`` lists, with or without ``void(...)`` around them. Fails with a caret.

    >>> argument_types("f32[:], float32[:, ::1], i32")
    (array(float32, 1d, A), array(float32, 2d, C), int32)
    """
    if not text.strip():
        return ()
    types = tuple(_type(text, node) for node in _items(text))
    for name, numbas in _AMBIGUOUS.items():
        if re.search(rf"\b{name}\b", text):
            print(
                f"gridlane: note: {name} in --sig is {IR_NAMES[name]}; numba's {name} is {numbas}",
                file=sys.stderr,
            )
    return types


def _items(text: str) -> list[ast.expr]:
    """The argument types as the source has them."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        start = (error.offset or 1) - 1
        _fail(text, error.msg, start, start + 1)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        if tree.func.id in ("void", "none"):
            return tree.args
        if (
            tree.func.id
            in SIGNATURE_NAMES.keys() - {"Tuple", "UniTuple", "Array"} | IR_NAMES.keys()
        ):
            _fail_at(text, tree.func, "a kernel returns nothing: write void(...) or the types only")
    return tree.elts if isinstance(tree, ast.Tuple) else [tree]


def _type(text: str, node: ast.expr) -> ArgType:
    for name in _names(node):
        if name.id not in SIGNATURE_NAMES and name.id not in IR_NAMES:
            known = [*IR_NAMES, *SIGNATURE_NAMES]
            _fail_at(text, name, f"there is no type {name.id!r}{likely(name.id, known)}")
    source = ast.get_source_segment(text, node) or ""
    try:
        return parse(f"({_IR_NAME.sub(lambda match: IR_NAMES[match[0]], source)},)").args[0]
    except (TypeError, ValueError, AttributeError):
        _fail_at(text, node, "not a type; types are such as f32, i32, float32[:], f32[:, ::1]")


def _names(node: ast.expr) -> Iterator[ast.Name]:
    """The names that must be types: not numba in numba.float32."""
    modules = {id(item.value) for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and id(item) not in modules:
            yield item


def _fail_at(text: str, node: ast.expr, message: str) -> NoReturn:
    line = text.encode()
    start = len(line[: node.col_offset].decode())
    end = len(line[: node.end_col_offset].decode())
    _fail(text, message, start, end)


def _fail(text: str, message: str, start: int, end: int) -> NoReturn:
    shown = text.replace("\n", " ")
    carets = " " * start + "^" * max(1, end - start)
    fail(f"--sig: {message}\n  {shown}\n  {carets}")
