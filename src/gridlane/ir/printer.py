"""IR as text that ``ir.parser`` reads back to the same IR. ``ir.textform`` shows the form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from enum import Enum
from typing import TYPE_CHECKING, Any

from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import FastMath, FieldKind, Op
from gridlane.ir.ops.graph import Graph
from gridlane.ir.textform import PARAM_DEFAULTS, FieldForm, TextForm, text_form
from gridlane.ir.types import Type, quoted
from gridlane.ir.values import Function, Global, Module, Param, Region, Value, Var

if TYPE_CHECKING:
    from gridlane.core.tensor_map import TensorMapUse

_FORBIDDEN = re.compile(r"[^\w.]")


def print_module(module: Module, locations: bool = False) -> str:
    """The text of a module, with source locations if ``locations``."""
    parts = [_global(item) for item in module.globals.values()]
    for number, site in enumerate(module.errors):
        where = location(site.loc) if locations else ""
        fields = (site.exception, site.message, *([site.detail] if site.detail else []))
        parts.append(f"error {number} {' '.join(map(json.dumps, fields))}{where}")
    if module.cluster != (1, 1, 1):
        parts.append(f"cluster {attribute(module.cluster)}")
    parts += map(_tensor_map, module.tensor_maps)
    parts += [print_function(function, locations) for function in module.functions.values()]
    return "\n".join(parts) + "\n"


def print_function(function: Function, locations: bool = False) -> str:
    """The text of one function."""
    return _Printer(function, locations).text()


def print_op(op: Op) -> str:
    """The text of one op without its regions, for messages: values show the names they carry."""
    return _Printer(Function(""), False).head(op)


def location(loc: Loc) -> str:
    """`` loc("file", line, column, end, "function") from loc(…)``, or "" for an unknown place."""
    if loc == UNKNOWN:
        return ""
    chain: list[str] = []
    place: Loc | None = loc
    while place is not None:
        numbers = f"{place.line}, {place.column}, {place.end_column}"
        chain.append(f"loc({json.dumps(place.file)}, {numbers}, {json.dumps(place.function)})")
        place = place.caller
    return " " + " from ".join(chain)


def attribute(value: object, annotation: str = "") -> str:
    """An attribute's value; a ``str`` by annotation is a symbol."""
    if annotation == "str":
        return f"@{quoted(str(value))}"
    return _FORMATS.get(type(value), _other)(value)


def _other(value: object) -> str:
    """An enum member in lower case, or a type."""
    return value.name.lower() if isinstance(value, Enum) else str(value)


def _fast(flags: FastMath) -> str:
    if flags == FastMath.FAST:
        return "fast"
    return "|".join(flag.name.lower() for flag in flags if flag.name) or "none"


_FORMATS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: str,
    float: float.hex,
    str: json.dumps,
    FastMath: _fast,
    tuple: lambda items: f"({', '.join(map(attribute, items))})",
}


def _global(item: Global) -> str:
    """One line for a global."""
    data = "" if item.data is None else f', data="{item.data.hex()}"'
    kind = f"{item.space.name.lower()}, align={item.align}{data}"
    return f"global @{quoted(item.name)}: {item.element} * {item.count} [space={kind}]"


def _tensor_map(use: TensorMapUse) -> str:
    """One line for a tensor map among the kernel's parameters."""
    fields = ("base", "extents", "strides", "box", "swizzle")
    parts = ", ".join(f"{name}={attribute(getattr(use, name))}" for name in fields)
    parts += f", nans={attribute(use.nan)}"
    return f"tensor_map {use.parameter} {use.element.name.lower()} [{parts}]"


class _Printer:
    """The text of one function. Values and variables get unique names, in the order of the text:
    their own where that is free, numbers where they have none."""

    def __init__(self, function: Function, locations: bool) -> None:
        self.function = function
        self.locations = locations
        self.names: dict[Value | Var, str] = {}
        self.taken: set[str] = set()
        self.types: dict[Type, str] = {}
        self.unnamed = 0

    def text(self) -> str:
        function = self.function
        kind = "kernel" if function.is_kernel else "device"
        params = ", ".join(map(self.param, function.params))
        results = ", ".join(map(self.type, function.results))
        arrow = f" -> ({results})" if results else ""
        where = location(function.loc) if self.locations else ""
        lines = [f"{kind} @{quoted(function.name)}({params}){arrow}{where} {{"]
        for var in function.variables:
            lines.append(f"  var {self.define_var(var)}: {self.type(var.type)}")
        lines += self.ops(function.body, "  ")
        return "\n".join([*lines, "}"])

    def param(self, param: Param) -> str:
        parts: list[str] = []
        for name, default in PARAM_DEFAULTS.items():
            if getattr(param, name) != default:
                parts.append(f"{name}={attribute(getattr(param, name))}")
        tail = f" [{', '.join(parts)}]" if parts else ""
        return f"{self.define(param.value)}{tail}"

    def type(self, type_: Type) -> str:
        text = self.types.get(type_)
        if text is None:
            text = self.types[type_] = str(type_)
        return text

    def define(self, value: Value) -> str:
        """``%name: type`` of a value defined here."""
        if value in self.names:
            return f"{self.names[value]}: {self.type(value.type)}"
        name = value.name
        if not name or name.isdecimal():
            name = str(self.unnamed)
            self.unnamed += 1
        self.names[value] = text = self.unique("%", name)
        return f"{text}: {self.type(value.type)}"

    def foresee(self, graph: Graph) -> None:
        """Name the values of a graph, which may be used in front of their definition."""
        for op in graph.body.walk():
            for value in op.results:
                self.define(value)

    def define_var(self, var: Var) -> str:
        self.names[var] = text = self.unique("$", var.name or "v")
        return text

    def unique(self, sigil: str, name: str) -> str:
        text = base = sigil + _FORBIDDEN.sub("_", name)
        count = 0
        while text in self.taken:
            count += 1
            text = f"{base}.{count}"
        self.taken.add(text)
        return text

    def use(self, item: Value | Var) -> str:
        """The name of a value; one not defined in the function shows its own name."""
        known = self.names.get(item)
        if known is not None:
            return known
        return f"{'$' if isinstance(item, Var) else '%'}{item.name or '?'}"

    def ops(self, region: Region, indent: str) -> list[str]:
        """The lines of a region. An explicit stack leaves the depth unlimited."""
        lines: list[str] = []
        stack: list[tuple[Iterator[Op], list[tuple[str, Region]], str]] = [
            (iter(region.ops), [], "")
        ]
        while stack:
            ops, waiting, tail = stack[-1]
            indentation = indent + "  " * (len(stack) - 1)
            for op in ops:
                line, where = indentation + self.head(op), self.tail(op)
                if not op.REGION_FIELDS:
                    lines.append(line + where)
                    continue
                if isinstance(op, Graph):
                    self.foresee(op)
                first, *rest = op.REGION_FIELDS
                others = [(name, getattr(op, name)) for name in rest if len(getattr(op, name))]
                lines.append(line + " {")
                stack.append((iter(getattr(op, first).ops), others, where))
                break
            else:
                stack.pop()
                outer = indentation[:-2]
                if waiting:
                    label, following = waiting[0]
                    lines.append(f"{outer}}} {label} {{")
                    stack.append((iter(following.ops), waiting[1:], tail))
                elif stack:
                    lines.append(f"{outer}}}{tail}")
        return lines

    def head(self, op: Op) -> str:
        """All of an op but its regions and location."""
        form = text_form(type(op))
        items = [self.field(op, item) for item in form.positional if self.is_shown(op, item)]
        text = f"{op.name} {', '.join(items)}" if items else op.name
        options = self.options(op, form)
        if options:
            text += f" [{options}]"
        if op.results:
            text = f"{', '.join([self.define(value) for value in op.results])} = {text}"
        return text

    def is_shown(self, op: Op, item: FieldForm) -> bool:
        return item.default is MISSING or getattr(op, item.name) != item.default

    def options(self, op: Op, form: TextForm) -> str:
        return ", ".join(
            f"{item.name}={attribute(getattr(op, item.name), item.annotation)}"
            for item in form.bracketed
            if self.is_shown(op, item)
        )

    def field(self, op: Op, item: FieldForm) -> str:
        value = getattr(op, item.name)
        if item.kind is FieldKind.OPERANDS:
            return f"({', '.join(map(self.use, value))})"
        if item.kind is FieldKind.ATTRIBUTE:
            return attribute(value, item.annotation)
        return self.use(value)

    def tail(self, op: Op) -> str:
        return location(op.loc) if self.locations else ""
