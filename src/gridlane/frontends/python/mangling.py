"""Private names of classes, which Python compiles as ``_Class__name``.

Python Language Reference, section 6.2.1. The ast has the names as they are written.
"""

from __future__ import annotations

import ast
import types


def mangled(name: str, code: types.CodeType) -> str:
    """A name of a function's text as its code has it."""
    if not name.startswith("__") or name.endswith("__"):
        return name
    owner = class_around(code.co_qualname).lstrip("_")
    return f"_{owner}{name}" if owner else name


def mangle(node: ast.AST, code: types.CodeType) -> None:
    """Give the names in a function's ast the spelling of its code."""
    if not class_around(code.co_qualname):
        return
    for item in ast.walk(node):
        if isinstance(item, ast.Name):
            item.id = mangled(item.id, code)
        elif isinstance(item, ast.Attribute):
            item.attr = mangled(item.attr, code)
        elif isinstance(item, ast.arg):
            item.arg = mangled(item.arg, code)
        elif isinstance(item, ast.FunctionDef) and item is not node:
            item.name = mangled(item.name, code)


def class_around(qualified: str) -> str:
    """The innermost class around a function, from its qualified name; "" where there is none."""
    parts = qualified.split(".")[:-1]
    while parts:
        last = parts.pop()
        if last != "<locals>":
            return last
        parts.pop()  # a function, of which the next is a local
    return ""
