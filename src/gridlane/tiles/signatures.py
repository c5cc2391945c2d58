"""Signatures in text: what a launch would pass, by types in place of values.

``*fp32:16, *fp32, i32, BLOCK=128, num_warps=8``: in the order of the parameters, or by name. A type
is named as in Triton's signatures: ``*`` is a pointer; with ``:16`` it lies at a multiple of 16
bytes, and an integer is one; ``i32:1`` is the constant 1; ``tensordesc<fp16[128, 64]>`` is a tensor
descriptor of such blocks. All else is a constant: a literal of Python, or a name of the language as
``tl.float16``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from gridlane.core import argtypes
from gridlane.core.argtypes import ArrayType
from gridlane.core.errors import ArgumentError
from gridlane.frontends.triton import language
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.types import pointer_type, str_to_ty
from gridlane.tiles.arguments import ALIGNMENT, Described, scalar_type, short_name
from gridlane.tiles.launchable import Launchable
from gridlane.tiles.programs import Options, Program

_TYPE = re.compile(r"(\*?k?(?:[iu]\d+|fp\d+\w*|bf16))(?::(\d+))?")
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\s*\[([\d,\s]*)\]>")
_BY_NAME = re.compile(r"(\w+)\s*=(?!=)\s*(.*)", re.DOTALL)


def program_of(function: Launchable, signature: str) -> Program:
    """The program of a function for a signature.

    Raises:
        ArgumentError: it does not fit the parameters.
    """
    given, options = _assigned(function, signature)
    described: list[Described] = []
    for parameter in function.parameters:
        name = parameter.name
        if name in given:
            described.append(_described(name, given[name], parameter.is_constant))
            continue
        default = function.signature.parameters[name].default
        if default is function.signature.empty:
            raise ArgumentError(f"no type of {name}; {_expected(function)}")
        if not parameter.is_constant and default is not None:
            raise ArgumentError(f"no type of {name}, whose default is {default!r}")
        described.append(Described(None, default))
    _, known = function.bound((), dict.fromkeys(function.arg_names) | options)
    return Program(function, tuple(function.arg_names), tuple(described), known)


def _assigned(function: Launchable, signature: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The text for each parameter, and the options."""
    names, given, options = function.arg_names, dict[str, str](), dict[str, Any]()
    for place, item in enumerate(_items(signature)):
        named = _BY_NAME.fullmatch(item)
        if named is None and place >= len(names):
            raise ArgumentError(f"{item!r} is one too many; {_expected(function)}")
        name, text = (named[1], named[2]) if named else (names[place], item)
        if name in given or name in options:
            raise ArgumentError(f"{name} is given twice")
        if name in names:
            given[name] = text
        elif name in Options._fields:
            options[name] = _constant(name, text)
        else:
            raise ArgumentError(f"there is no parameter {name!r}; {_expected(function)}")
    return given, options


def _expected(function: Launchable) -> str:
    return f"the parameters are {', '.join(function.arg_names)}"


def _items(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets and no quotes."""
    part, depth, quote = "", 0, ""
    for each in text:
        if quote:
            quote = "" if each == quote else quote
        elif each in "'\"":
            quote = each
        depth += (each in "([{<") - (each in ")]}>") if not quote else 0
        if each == "," and not depth and not quote:
            yield part.strip()
            part = ""
        else:
            part += each
    if part.strip():
        yield part.strip()


def _described(name: str, text: str, is_constant: bool) -> Described:
    scalar, block = _TYPE.fullmatch(text), _DESCRIPTOR.fullmatch(text)
    if is_constant:
        if scalar or block or text == "constexpr":
            raise ArgumentError(f"{name} is a constant: give its value, as in {name}=128")
        return Described(None, _constant(name, text))
    if block is not None:
        shape = tuple([int(each) for each in block[2].split(",") if each.strip()])
        base = described_of(f"*{block[1]}")
        assert isinstance(base.type, ArrayType)
        type_ = ArrayType(base.type.element, len(shape), "A")
        return Described(type_, block=Block(shape), element=base.element)
    if scalar is None:
        return Described(None, _constant(name, text))
    if scalar[2] == "1":
        return Described(None, 1)
    if scalar[2] not in (None, str(ALIGNMENT)):
        raise ArgumentError(f"{text}: what is known of an argument is :1 or :{ALIGNMENT}")
    return described_of(scalar[1])._replace(aligned=scalar[2] is not None)


def described_of(name: str) -> Described:
    """What code depends on of an argument of a type, by its name: ``*fp32``, ``i32``.

    Raises:
        ArgumentError: no argument has this type.
    """
    try:
        kind = str_to_ty(name)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    if not isinstance(kind, pointer_type):
        return Described(scalar_type(kind))
    if kind.element_ty.is_fp8():
        return Described(ArrayType(argtypes.uint8, 1, "A"), element=kind.element_ty)
    return Described(ArrayType(scalar_type(kind.element_ty), 1, "A"))


def _constant(name: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = getattr(language, text.removeprefix("tl."), None)
    if found is None:
        raise ArgumentError(
            f"{name}: {text!r} is no type, as *fp32 and i32 are, and no constant, as 128, 'relu' "
            "and tl.float16 are"
        )
    return found


def shown(program: Program) -> tuple[str, ...]:
    """The parameters of a program as in a signature."""
    return tuple(
        [
            f"{name}={described.constant!r}"
            if described.type is None
            else f"{short_name(described)}{f':{ALIGNMENT}' if described.aligned else ''}"
            for name, described in zip(program.function.arg_names, program.described, strict=True)
        ]
    )
