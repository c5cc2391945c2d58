"""Parse the text that ``ir.printer`` writes. Any other text is a ParseError with line and column.

>>> from gridlane.ir.printer import print_module
>>> text = '''kernel @k(%n: i32) {
...   var $x: i32
...   %0: i32 = add %n, %n
...   write $x, %0
... }
... '''
>>> print_module(parse_module(text)) == text
True
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, get_type_hints

import gridlane.ir.ops  # noqa: F401  # pyright: ignore[reportUnusedImport]  # registers the ops
from gridlane.core.dtypes import DType
from gridlane.core.errors import ParseError, VerifyError
from gridlane.core.source import UNKNOWN, Loc
from gridlane.core.tensor_map import Element, TensorMapUse
from gridlane.ir.lexer import Token, Tokens
from gridlane.ir.op import REGISTRY, FastMath, FieldKind, Op
from gridlane.ir.ops.graph import Graph
from gridlane.ir.textform import PARAM_DEFAULTS, FieldForm, text_form
from gridlane.ir.typeparser import parse_type
from gridlane.ir.types import (
    FragmentType,
    PointerType,
    Space,
    StructType,
    TileType,
    Type,
    VectorType,
)
from gridlane.ir.values import ErrorSite, Function, Global, Module, Param, Region, Value, Var


def parse_module(text: str, file: str = "") -> Module:
    """The module that a text describes.

    Args:
        file: the name of the text's file, if functions and ops shall have their places in it as
            locations, instead of those that the text has.

    Raises:
        ParseError: the text is not IR.
    """
    tokens = Tokens(text, file)
    module = Module()
    while tokens.current.kind != "end":
        start = tokens.advance()
        read = _TOP_LEVEL.get(start.text) if start.kind == "word" else None
        if read is None:
            expected = ", ".join(_TOP_LEVEL)
            raise tokens.error(f"expected one of {expected}, found {start.text!r}", start)
        read(tokens, module, start)
    return module


def _read_global(tokens: Tokens, module: Module, start: Token) -> None:
    """``@name: element * count [space=…, align=…, data="hex"]``"""
    name = tokens.symbol()
    if name in module.globals:
        raise tokens.error(f"a second global @{name}", start)
    tokens.expect(":")
    element = parse_type(tokens)
    tokens.expect("*")
    count = tokens.count()
    values = _bracketed(tokens, _GLOBAL_FIELDS)
    if "space" not in values:
        raise tokens.error("a global needs its space", start)
    module.globals[name] = Global(name, element, count, **values)


def _read_error(tokens: Tokens, module: Module, start: Token) -> None:
    """``0 "ValueError" "message" ["detail"] loc(…)``"""
    if tokens.count() != len(module.errors):
        raise tokens.error(f"errors are numbered in order; this is {len(module.errors)}", start)
    exception, message = tokens.string(), tokens.string()
    detail = tokens.string() if tokens.current.kind == "string" else ""
    module.errors.append(ErrorSite(exception, message, _read_location(tokens), detail))


def _read_cluster(tokens: Tokens, module: Module, start: Token) -> None:
    """``(2, 1, 1)``"""
    sizes = _tuple_of(Tokens.count)(tokens)
    if len(sizes) != 3 or min(sizes) < 1:
        raise tokens.error("a cluster has blocks along three axes, 1 or more along each", start)
    module.cluster = sizes


def _read_tensor_map(tokens: Tokens, module: Module, start: Token) -> None:
    """``7 f16 [base=0, extents=(1, 2), strides=(3), box=(64, 64), swizzle=128, nans=false]``"""
    parameter, token = tokens.count(), tokens.kind("word", "the type of a tensor's elements")
    element = Element.__members__.get(token.text.upper())
    if element is None:
        raise tokens.error(f"{token.text!r} is no type of a tensor's elements", token)
    values = _bracketed(tokens, _TENSOR_MAP_FIELDS)
    missing = ", ".join(name for name in _TENSOR_MAP_FIELDS if name not in values)
    if missing:
        raise tokens.error(f"a tensor map needs its {missing}", start)
    nan = values.pop("nans")
    use = TensorMapUse(element=element, parameter=parameter, nan=nan, **values)
    module.tensor_maps = *module.tensor_maps, use


def _read_function(tokens: Tokens, module: Module, start: Token) -> None:
    name = tokens.symbol()
    if name in module.functions:
        raise tokens.error(f"a second function @{name}", start)
    module.functions[name] = _FunctionParser(tokens, name, start.text == "kernel").read()


_TOP_LEVEL: dict[str, Callable[[Tokens, Module, Token], None]] = {
    "global": _read_global,
    "error": _read_error,
    "cluster": _read_cluster,
    "tensor_map": _read_tensor_map,
    "kernel": _read_function,
    "device": _read_function,
}


class _FunctionParser:
    """One function: the names that are visible, and the regions that are open."""

    def __init__(self, tokens: Tokens, name: str, is_kernel: bool) -> None:
        self.tokens = tokens
        self.function = Function(name, is_kernel=is_kernel)
        self.values: dict[str, Value] = {}
        self.variables: dict[str, Var] = {}
        self.defined: list[str] = []
        self.foreseen: dict[str, Value] = {}

    def read(self) -> Function:
        tokens, function, start = self.tokens, self.function, self.tokens.current
        tokens.expect("(")
        function.params = self.listed(")", self.param)
        if tokens.accept("->"):
            tokens.expect("(")
            function.results = tuple(self.listed(")", lambda: parse_type(tokens)))
        function.loc = self.location(start)
        tokens.expect("{")
        while tokens.current.text == "var" and tokens.current.kind == "word":
            self.variable()
        self.body()
        return function

    def listed(self, end: str, read: Callable[[], Any]) -> list[Any]:
        """Items between commas up to ``end``."""
        items: list[Any] = []
        while not self.tokens.accept(end):
            if items:
                self.tokens.expect(",")
            items.append(read())
        return items

    def param(self) -> Param:
        value = self.definition()
        return Param(value, **_bracketed(self.tokens, _PARAM_FIELDS))

    def variable(self) -> None:
        self.tokens.expect("var")
        token = self.tokens.kind("var", "a variable such as $x")
        if token.text in self.variables:
            raise self.tokens.error(f"a second variable {token.text}", token)
        self.tokens.expect(":")
        var = Var(token.text[1:], parse_type(self.tokens))
        self.variables[token.text] = var
        self.function.variables.append(var)

    def definition(self) -> Value:
        """``%name: type``; the value is visible from here."""
        token = self.tokens.kind("value", "a value such as %x")
        self.tokens.expect(":")
        value = Value(parse_type(self.tokens))
        self.define(token, value)
        return value

    def define(self, token: Token, value: Value) -> None:
        if token.text in self.values:
            raise self.tokens.error(f"a second value {token.text}", token)
        name = token.text[1:]
        value.name = "" if name.isdecimal() else name
        self.values[token.text] = value
        self.defined.append(token.text)

    def body(self) -> None:
        """Parse ops up to the function's end. An explicit stack leaves the depth unlimited."""
        tokens = self.tokens
        # Each open region: the ops, its number of names outside, its op with its first token, the
        # regions still to parse.
        op: Op | None = None
        start = tokens.current
        stack: list[tuple[Region, int, Op | None, Token, list[str]]] = [
            (self.function.body, len(self.defined), None, start, [])
        ]
        while stack:
            region, outside, op, start, labels = stack[-1]
            if not tokens.accept("}"):
                begin = tokens.current
                inner = self.op()
                region.ops.append(inner)
                if inner.REGION_FIELDS:
                    tokens.expect("{")
                    first, *rest = inner.REGION_FIELDS
                    stack.append((getattr(inner, first), len(self.defined), inner, begin, rest))
                    if isinstance(inner, Graph):
                        self.foresee()
                continue
            self.forget(outside)
            stack.pop()
            if op is None:
                continue
            while labels and not tokens.accept(labels[0]):
                labels = labels[1:]
            if labels:
                tokens.expect("{")
                stack.append((getattr(op, labels[0]), outside, op, start, labels[1:]))
            else:
                op.loc = self.location(start)

    def foresee(self) -> None:
        """Make the values of a graph's blocks, which any of its blocks may use, also one before the
        definition. Their ops follow."""
        tokens, start, depth = self.tokens, self.tokens.index, 1
        while depth and tokens.current.kind != "end":
            token = tokens.advance()
            if token.kind == "punctuation":
                depth += (token.text == "{") - (token.text == "}")
            elif depth == 2 and token.kind == "value" and tokens.accept(":"):
                value = Value(parse_type(tokens))
                self.define(token, value)
                self.foreseen[token.text] = value
        tokens.go_to(start)

    def forget(self, outside: int) -> None:
        """Remove the names of a region from scope."""
        for name in self.defined[outside:]:
            del self.values[name]
        del self.defined[outside:]

    def op(self) -> Op:
        """One op, with empty regions; its location follows the regions, if any."""
        tokens, begin = self.tokens, self.tokens.current
        results: list[tuple[Token, Type]] = []
        while tokens.current.kind == "value":
            token = tokens.advance()
            tokens.expect(":")
            results.append((token, parse_type(tokens)))
            if not tokens.accept(","):
                tokens.expect("=")
                break
        start = tokens.kind("word", "an op")
        cls = REGISTRY.get(start.text)
        if cls is None:
            raise tokens.error(f"no op is called {start.text!r}", start)
        op = self.made(cls, start, [type_ for _, type_ in results])
        named = zip(results, op.results, strict=True)
        op.results = tuple([self.result(token, value) for (token, _), value in named])
        if not cls.REGION_FIELDS:
            op.loc = self.location(begin)
        return op

    def location(self, start: Token) -> Loc:
        """The location in the text, or the place of what starts at a token."""
        read = _read_location(self.tokens)
        if not self.tokens.file:
            return read
        line, column = self.tokens.place(start.start)
        return Loc(self.tokens.file, line, column, column + len(start.text))

    def result(self, token: Token, value: Value) -> Value:
        """The result of an op that a token names: the value of an op's own, or a foreseen one."""
        foreseen = self.foreseen.pop(token.text, None)
        if foreseen is None:
            self.define(token, value)
            return value
        foreseen.op = value.op
        return foreseen

    def made(self, cls: type[Op], start: Token, types: list[Type]) -> Op:
        """The op built from the fields in the text; its results must have ``types``."""
        tokens = self.tokens
        try:
            op = cls(**self.fields(cls, start, types))
        except VerifyError as error:
            raise tokens.error(str(error), start) from None
        got = [value.type for value in op.results]
        if got != types:
            has = ", ".join(map(str, got)) or "no result"
            raise tokens.error(f"{op.name} gives {has}, not {', '.join(map(str, types))}", start)
        return op

    def fields(self, cls: type[Op], start: Token, types: list[Type]) -> dict[str, Any]:
        form = text_form(cls)
        values: dict[str, Any] = {name: Region() for name in form.regions}
        if form.from_results == "type":
            if len(types) != 1:
                raise self.tokens.error(f"{cls.name} has one result", start)
            values["type"] = types[0]
        elif form.from_results:
            values[form.from_results] = tuple(types)
        for item in form.positional:
            follows = "(" if item is form.positional[0] else ","
            if item is form.positional[-1] and self.is_left_out(item, follows):
                break
            if item is not form.positional[0]:
                self.tokens.expect(",")
            values[item.name] = self.field(cls, item)
        readers = {item.name: _reader(cls, item.name) for item in form.bracketed}
        return values | _bracketed(self.tokens, readers)

    def is_left_out(self, item: FieldForm, follows: str) -> bool:
        """Whether the text omits operands that are optional, which have a sign in front."""
        return item.default == () and self.tokens.current.text != follows

    def field(self, cls: type[Op], item: FieldForm) -> Any:
        if item.kind is FieldKind.OPERAND:
            return self.value()
        if item.kind is FieldKind.VARIABLE:
            token = self.tokens.kind("var", "a variable such as $x")
            return self.known(self.variables, token, "variable")
        if item.kind is FieldKind.OPERANDS:
            self.tokens.expect("(")
            return tuple(self.listed(")", self.value))
        return _reader(cls, item.name)(self.tokens)

    def value(self) -> Value:
        return self.known(self.values, self.tokens.kind("value", "a value such as %x"), "value")

    def known(self, names: dict[str, Any], token: Token, what: str) -> Any:
        value = names.get(token.text)
        if value is None:
            raise self.tokens.error(f"no {what} {token.text} is visible here", token)
        return value


# ---- attributes

Reader = Callable[[Tokens], Any]


def _bracketed(tokens: Tokens, readers: dict[str, Reader]) -> dict[str, Any]:
    """``[name=value, …]``, or {} when there is no bracket."""
    values: dict[str, Any] = {}
    if not tokens.accept("["):
        return values
    while not tokens.accept("]"):
        if values:
            tokens.expect(",")
        token = tokens.kind("word", "an attribute")
        if token.text not in readers or token.text in values:
            allowed = ", ".join(readers) or "none"
            raise tokens.error(f"attribute {token.text!r} is not one of: {allowed}", token)
        tokens.expect("=")
        values[token.text] = readers[token.text](tokens)
    return values


@cache
def _reader(cls: type[Op], name: str) -> Reader:
    """The reader of an attribute, chosen by its annotation."""
    annotation = next(text for field, _, text in cls.LAYOUT if field == name)
    if annotation in _READERS:
        return _READERS[annotation]
    kind = get_type_hints(cls)[name]
    assert isinstance(kind, type) and issubclass(kind, Enum), f"{annotation} has no text form"
    return _enum_reader(kind)


def _enum_reader(kind: type[Enum]) -> Reader:
    members = {member.name.lower(): member for member in kind}

    def read(tokens: Tokens) -> Enum:
        token = tokens.kind("word", f"one of {', '.join(members)}")
        if token.text not in members:
            raise tokens.error(f"{token.text!r} is not one of {', '.join(members)}", token)
        return members[token.text]

    return read


def _read_bool(tokens: Tokens) -> bool:
    token = tokens.kind("word", "true or false")
    if token.text not in ("true", "false"):
        raise tokens.error(f"{token.text!r} is neither true nor false", token)
    return token.text == "true"


def _read_constant(tokens: Tokens) -> bool | int | float:
    return _read_bool(tokens) if tokens.current.kind == "word" else tokens.number()


_FLAGS = {flag.name.lower(): flag for flag in FastMath if flag.name} | {
    "fast": FastMath.FAST,
    "none": FastMath.NONE,
}


def _read_fast(tokens: Tokens) -> FastMath:
    flags = FastMath.NONE
    while True:
        token = tokens.kind("word", "a fast-math flag")
        if token.text not in _FLAGS:
            raise tokens.error(f"{token.text!r} is not one of {', '.join(_FLAGS)}", token)
        flags |= _FLAGS[token.text]
        if not tokens.accept("|"):
            return flags


def _read_hex(tokens: Tokens) -> bytes:
    token = tokens.current
    try:
        return bytes.fromhex(tokens.string())
    except ParseError:
        raise
    except ValueError:
        raise tokens.error("data is a string of hexadecimal bytes", token) from None


def _typed(wanted: type[Any] | Any, what: str) -> Reader:
    """A reader of types of one class."""

    def read(tokens: Tokens) -> Type:
        token = tokens.current
        parsed = parse_type(tokens)
        if not isinstance(parsed, wanted):
            raise tokens.error(f"{parsed} is not a {what}", token)
        return parsed

    return read


def _tuple_of(read: Reader) -> Reader:
    def read_tuple(tokens: Tokens) -> tuple[Any, ...]:
        tokens.expect("(")
        items: list[Any] = []
        while not tokens.accept(")"):
            if items:
                tokens.expect(",")
            items.append(read(tokens))
        return tuple(items)

    return read_tuple


_READERS: dict[str, Reader] = {
    "bool": _read_bool,
    "int": Tokens.integer,
    "str": Tokens.symbol,
    "bool | int | float": _read_constant,
    "FastMath": _read_fast,
    "Type": parse_type,
    "DType": _typed(DType, "scalar"),
    "PointerType": _typed(PointerType, "pointer"),
    "FragmentType": _typed(FragmentType, "fragment"),
    "TileType": _typed(TileType, "tile"),
    "StructType | VectorType": _typed(StructType | VectorType, "struct or vector"),
    "tuple[int, ...]": _tuple_of(Tokens.integer),
    "tuple[str, ...]": _tuple_of(Tokens.string),
    "tuple[Type, ...]": _tuple_of(parse_type),
}

_GLOBAL_FIELDS: dict[str, Reader] = {
    "space": _enum_reader(Space),
    "align": Tokens.count,
    "data": _read_hex,
}


def _read_step(tokens: Tokens) -> str | int:
    return tokens.string() if tokens.current.kind == "string" else tokens.integer()


_PARAM_FIELDS: dict[str, Reader] = dict(
    zip(
        PARAM_DEFAULTS,
        (
            Tokens.integer, _tuple_of(_read_step), _read_bool, _read_bool, Tokens.count, _read_bool,
            Tokens.count,
        ),
        strict=True,
    )
)  # fmt: skip

_TENSOR_MAP_FIELDS: dict[str, Reader] = {
    "base": Tokens.count,
    "extents": _tuple_of(Tokens.count),
    "strides": _tuple_of(Tokens.count),
    "box": _tuple_of(Tokens.count),
    "swizzle": Tokens.count,
    "nans": _read_bool,
}


def _read_location(tokens: Tokens) -> Loc:
    """``loc("file", line, column, end, "function") from loc(…)``, or nothing."""
    if tokens.current.text != "loc" or tokens.current.kind != "word":
        return UNKNOWN
    chain = [_read_place(tokens)]
    while tokens.accept("from"):
        chain.append(_read_place(tokens))
    caller: Loc | None = None
    for file, line, column, end, function in reversed(chain):
        caller = Loc(file, line, column, end, function, caller)
    assert caller is not None
    return caller


def _read_place(tokens: Tokens) -> tuple[str, int, int, int, str]:
    tokens.expect("loc")
    tokens.expect("(")
    file = tokens.string()
    numbers: list[int] = []
    for _ in range(3):
        tokens.expect(",")
        numbers.append(tokens.count())
    tokens.expect(",")
    function = tokens.string()
    tokens.expect(")")
    return (file, *numbers, function)  # type: ignore[return-value]  # three numbers
