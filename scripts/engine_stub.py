"""Write src/gridlane/actors/_engine.pyi, the types of the engine of actors for type checkers.

    python scripts/stubs.py

A build writes it (setup.py). Methods and attributes are the rows of engine/methods.h, from which C
makes them as well. What C writes by hand is by hand here: constructors, functions of the module,
``Caller``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ACTORS = Path(__file__).parents[1] / "src/gridlane/actors"
TARGET = ACTORS / "_engine.pyi"
TABLE = ACTORS / "engine/methods.h"
WIDTH = 100

HEADER = """\
# Made by scripts/engine_stub.py of engine/methods.h, not by hand.

from collections.abc import Callable
from typing import Any

REASONS: int
TO_OUTBOX: int
C_API: Any  # a capsule

"""
FUNCTIONS = {
    "now": ("", "int"),
    "tick": ("physical: int, logical: int, now: int", "tuple[int, int]"),
    "merge": (
        "physical: int, logical: int, seen_physical: int, seen_logical: int, now: int, drift: int",
        "tuple[int, int] | None",
    ),
    "shift_time": ("nanoseconds: int", "None"),
    "shared_bytes": ("capacity: int, seats: int, payload: int, reply: int", "int"),
    "start_of": ("process: int", "int"),
}
CONSTRUCTORS = {
    "Actor": "",
    "Form": "cls: type, fields: tuple[tuple[str, str, int, str], ...], size: int, is_plain: bool",
    "Caller": "engine: Engine, actor: Actor, message: type, pack: Form | Callable[[Any], bytes], "
    "unpack: Form | Callable[[bytes], Any] | None, spin: int",
    "Engine": "workers: int, spins: int, node: int, drift: int, dead_limit: int, stop: int",
    "Handle": "actor: Actor, message_bytes: int, reply_bytes: int, reply_type: int",
    "Gate": "actor: Actor, file: int, capacity: int, seats: int, payload_bytes: int, "
    "reply_bytes: int, reply_type: int, space: int, lease: int, token: int, spins: int",
    "Peer": "file: int, host: int, capacity: int, seats: int, payload_bytes: int, "
    "reply_bytes: int, type: int, token: int, node: int, first_call: int",
}
BY_HAND = {
    "Actor": "    phase: int\n",
    "Caller": "    def call(\n"
    "        self, message: Any, timeout: float | None = None, spin: float | None = None\n"
    "    ) -> Any: ...\n",
}
KINDS = {
    **dict.fromkeys(("u64", "u32", "i32", "size"), "int"),
    **{"f64": "float", "bytes": "bytes", "buffer": "Any", "actor": "Actor"},
}
RESULTS = {"none": "None", "flag": "bool", "u64": "int"}


def text() -> str:
    """The whole file."""
    return stub(TABLE.read_text(encoding="utf-8"))


def stub(table: str) -> str:
    """The text of the stub for that of the table."""
    parts = [HEADER]
    parts += [_function(name, *given, "") for name, given in FUNCTIONS.items()]
    found = list(rows(table))
    for kind, parameters in CONSTRUCTORS.items():
        parts += ["\n", f"class {kind}:\n"]
        if parameters:
            parts.append(_function("__init__", f"self, {parameters}", "None", "    "))
        parts.append(BY_HAND.get(kind, ""))
        for owner, name, result, given in found:
            if owner != kind:
                continue
            if given is None:
                parts.append(f"    @property\n    def {name}(self) -> {result}: ...\n")
            else:
                parts.append(_function(name, ", ".join(["self", *given]), result, "    "))
    return "".join(parts)


def rows(table: str) -> Iterator[tuple[str, str, str, list[str] | None]]:
    """The type, name, result and parameters of each row; None for those of an attribute.

    Raises:
        ValueError: a row is of no known form.
    """
    text = table.partition("/* ---- kinds")[0].replace("\\\n", " ")
    for row in re.finditer(r"\b(METHOD|METHOD_O|ATTRIBUTE)\((?=[A-Z][a-z])", text):
        kind, state, *rest = _split(text[row.end() : _end(text, row.end())])
        if row[1] == "ATTRIBUTE":
            yield kind, rest[0], _type(state, RESULTS), None
            continue
        result, name, *parameters = rest
        if state not in ("any", "open"):
            raise ValueError(f"{kind}.{name}: no state is {state!r}")
        yield kind, name, _type(result, RESULTS), [_parameter(each) for each in parameters]


def _end(text: str, start: int) -> int:
    """Where the parenthesis before a place closes."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    raise ValueError("a row does not end")


def _split(text: str) -> list[str]:
    """Split at the commas outside of parentheses and brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [" ".join(each.split()) for each in parts]


def _parameter(text: str) -> str:
    kind, _, rest = text.removesuffix(")").partition("(")
    name, *of = _split(rest)
    if kind in ("object", "list", "payload"):
        return f"{name}: {', '.join(of)}"
    return f"{name}: {_type(kind, KINDS)}"


def _type(text: str, known: dict[str, str]) -> str:
    if text.startswith("object("):
        return text.removeprefix("object(").removesuffix(")")
    if text not in known:
        raise ValueError(f"no kind is {text!r}")
    return known[text]


def _function(name: str, parameters: str, result: str, indent: str) -> str:
    """A function whose parameters have no names for callers, in lines of at most 100."""
    given = f"{parameters}, /" if parameters not in ("", "self") else parameters
    line = f"{indent}def {name}({given}) -> {result}: ...\n"
    if len(line) <= WIDTH + 1:
        return line
    start, end = f"{indent}def {name}(\n", f"{indent}) -> {result}: ...\n"
    inner = f"{indent}    {given}\n"
    if len(inner) <= WIDTH + 1:
        return start + inner + end
    return start + "".join(f"{indent}    {each},\n" for each in _split(given)) + end
