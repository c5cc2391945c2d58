"""A page's description of a kernel besides its WGSL, as JSON.

``page/gridlane.js`` reads it. Types have numpy's names; offsets and sizes are bytes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from gridlane.core.argtypes import (
    ArgType,
    ArrayType,
    CharsType,
    ComplexType,
    NoneType,
    RecordType,
    ScalarType,
    TupleType,
    VectorType,
    scalar_of,
)
from gridlane.core.artifact import Artifact, KernelErrorSite, ParamSlot, PrintSite

FORMAT = 1
"""Changes when older pages cannot read the format; gridlane.js has it as well."""
Json = dict[str, Any]


class NotForPagesError(Exception):
    """A page cannot pass an argument to a kernel, or print a line; the message names it, and what
    to do instead."""


def kernel(
    name: str,
    parameters: Sequence[str],
    types: Sequence[ArgType],
    artifact: Artifact,
    source: str,
    axes: int,
) -> Json:
    """A kernel's entry. The folder of the file ``source`` is private and omitted.

    Args:
        axes: of the grid, that the kernel reads.

    Raises:
        NotForPagesError: an argument is of a type that pages cannot pass, or a line has formats
            that pages lack.
    """
    arguments = [
        {"name": parameter, "type": _type(type_), "text": str(type_)}
        for parameter, type_ in zip(parameters, types, strict=True)
    ]
    return {
        "name": name,
        "wgsl": f"{name}.wgsl",
        "compact": None,
        "entry": artifact.entry,
        "block": list(artifact.block or ()),
        "axes": axes,
        "arguments": arguments,
        "slots": [_slot(slot) for slot in artifact.params],
        "paramBytes": artifact.param_bytes,
        "constants": b64encode(artifact.parameter_block(b"")).decode(),
        "sharedBytes": artifact.static_shared,
        "dynamicShared": artifact.uses_dynamic_shared,
        "errors": [_error(site) for site in artifact.errors],
        "prints": [_print(site) for site in artifact.prints],
        "notes": [note.replace(source, PurePath(source).name) for note in artifact.notes],
    }


def _type(type_: ArgType) -> Json:
    match type_:
        case ScalarType():
            return {"kind": "scalar", "dtype": type_.name}
        case ComplexType():
            return {"kind": "complex"}
        case ArrayType():
            description: Json = {"kind": "array", "element": _element(type_.element)}
            return {**description, "ndim": type_.ndim, "layout": type_.layout}
        case TupleType():
            return {"kind": "tuple", "items": [_type(item) for item in type_.items]}
        case NoneType():
            return {"kind": "none"}
        case _:
            raise NotForPagesError(
                f"a page cannot hand over an argument of type {type_}: take an array of one record "
                "in its place"
            )


def _element(type_: ArgType) -> str:
    if isinstance(type_, RecordType):
        return f"record of {type_.size} bytes"
    if isinstance(type_, VectorType | CharsType):
        return f"record of {type_.itemsize} bytes"
    return type_.name  # type: ignore[return-value]  # a scalar's or a complex number's


def _slot(slot: ParamSlot) -> Json:
    dtype = None if slot.dtype is None else scalar_of(slot.dtype).name
    place: Json = {"argument": slot.argument, "path": list(slot.path)}
    return {**place, "offset": slot.offset, "dtype": dtype}


def _error(site: KernelErrorSite) -> Json:
    """An error's entry, with the file without its folder."""
    file = PurePath(site.loc.file).name
    return {
        "exception": site.exception,
        "message": site.message,
        "file": file,
        "line": site.loc.line,
    }


def _print(site: PrintSite) -> Json:
    if site.formats or site.end != "\n":
        raise NotForPagesError(
            "a page prints whole lines of numbers as numpy shows them: print without formats and "
            "printf, a complex number by its real and imag, and no strings of arrays"
        )
    return {
        "parts": list(site.parts),
        "dtypes": [scalar_of(dtype).name for dtype in site.dtypes],
    }
