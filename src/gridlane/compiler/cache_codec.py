"""Artifacts as JSON and back. The reader trusts nothing: it checks each value's type, so that a
file with a right digest and a wrong content is an error here, not a crash later."""

from __future__ import annotations

import json
from typing import Any

from gridlane.core import dtypes
from gridlane.core.artifact import Artifact, KernelErrorSite, ParamSlot, PrintSite
from gridlane.core.dtypes import DType
from gridlane.core.source import Loc
from gridlane.core.tensor_map import MOST_DIMENSIONS, SWIZZLES, Element, TensorMapUse

# Fields of Artifact that JSON holds unchanged. Each of the others has a line of its own below.
PLAIN: dict[str, type] = {
    "target": str,
    "format": str,
    "entry": str,
    "param_bytes": int,
    "static_shared": int,
    "own_dynamic": int,
    "extra_threads": int,
    "scratch": int,
    "work": int,
    "accesses": int,
    "coarse": int,
    "uses_dynamic_shared": bool,
    "cooperative": bool,
    "requires_cluster": bool,
    "non_portable": bool,
    "untraced": bool,
    "asks_host": bool,
    "by_address": bool,
    "kernel": str,
}
SHAPED = (
    "code", "params", "block", "errors", "prints", "symbols", "notes", "needs", "buffers",
    "cluster", "constants", "places", "tensor_maps", "starts",
)  # fmt: skip


def to_json(artifact: Artifact) -> bytes:
    """All fields of an artifact but its code, as JSON."""
    fields: dict[str, Any] = {name: getattr(artifact, name) for name in PLAIN}
    fields["params"] = [
        (
            slot.name, slot.offset, slot.dtype and slot.dtype.name, slot.argument, slot.path,
            slot.by_value,
        )
        for slot in artifact.params
    ]  # fmt: skip
    fields["block"] = artifact.block
    fields["cluster"] = artifact.cluster
    fields["errors"] = [
        (e.exception, e.message, _place(e.loc), e.late, e.detail) for e in artifact.errors
    ]
    fields["prints"] = [
        (p.parts, [d.name for d in p.dtypes], p.formats, p.end) for p in artifact.prints
    ]
    fields["symbols"] = artifact.symbols
    fields["notes"] = artifact.notes
    fields["needs"] = artifact.needs
    fields["buffers"] = artifact.buffers
    fields["constants"] = artifact.constants.hex()
    fields["places"] = [_place(each) for each in artifact.places]
    fields["tensor_maps"] = [
        (m.base, m.extents, m.strides, m.element, m.box, m.swizzle, m.nan, m.parameter)
        for m in artifact.tensor_maps
    ]
    fields["starts"] = artifact.starts
    return json.dumps(fields, separators=(",", ":")).encode()


def from_json(metadata: bytes, code: bytes) -> Artifact:
    """The artifact that ``to_json`` encoded, with its code.

    Raises:
        ValueError: a field is missing, or of the wrong type.
    """
    try:
        fields = _object(json.loads(metadata))
        plain = {name: _checked(fields[name], type_) for name, type_ in PLAIN.items()}
        if min(value for value in plain.values() if type(value) is int) < 0:
            raise ValueError("a negative size")
        if not plain["coarse"]:
            raise ValueError("a block that does no block")
        return Artifact(
            **plain,
            code=code,
            params=tuple(_slot(item, plain["param_bytes"]) for item in _list(fields["params"])),
            block=_block(fields["block"]) if fields["block"] is not None else None,
            cluster=_block(fields["cluster"]),
            errors=tuple(map(_error_site, _list(fields["errors"]))),
            prints=tuple(map(_print_site, _list(fields["prints"]))),
            symbols=_texts(fields["symbols"]),
            notes=_texts(fields["notes"]),
            needs=_texts(fields["needs"]),
            buffers=_places(fields["buffers"]),
            constants=bytes.fromhex(_checked(fields["constants"], str)),
            places=tuple(map(_loc, _list(fields["places"]))),
            tensor_maps=tuple(
                [_tensor_map(each, fields["params"]) for each in _list(fields["tensor_maps"])]
            ),
            starts=_places(fields["starts"]),
        )
    except KeyError as error:
        raise ValueError(f"no {error}") from None
    except RecursionError:
        raise ValueError("nested too deep") from None


def _place(loc: Loc) -> Any:
    caller = loc.caller and _place(loc.caller)
    return (loc.file, loc.line, loc.column, loc.end_column, loc.function, caller)


def _checked(value: Any, type_: type) -> Any:
    if type(value) is not type_:  # not isinstance: True is no size
        raise ValueError(f"{value!r} is not {type_.__name__}")
    return value


def _object(value: Any) -> dict[str, Any]:
    return _checked(value, dict)


def _list(value: Any) -> list[Any]:
    return _checked(value, list)


def _items(value: Any, *types: type) -> list[Any]:
    """A list with one value of each type; ``object`` accepts any."""
    if len(_list(value)) != len(types):
        raise ValueError(f"{len(types)} items expected, {len(value)} found")
    return [item if t is object else _checked(item, t) for item, t in zip(value, types)]


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_checked(item, str) for item in _list(value))


def _places(value: Any) -> tuple[int, ...]:
    places_of_buffers = tuple(_checked(item, int) for item in _list(value))
    if min(places_of_buffers, default=0) < 0:
        raise ValueError(f"buffers of {places_of_buffers}")
    return places_of_buffers


def _dtype(name: Any) -> DType:
    return dtypes.by_name(_checked(name, str))


def _slot(value: Any, param_bytes: int) -> ParamSlot:
    name, offset, dtype, argument, path, size = _items(value, str, int, object, int, list, int)
    if not all(type(step) in (str, int) for step in path):
        raise ValueError(f"parameter {name} has the path {path}")
    type_ = None if dtype is None else _dtype(dtype)
    slot = ParamSlot(name, offset, type_, argument, tuple(path), size)
    if argument < 0 or offset < 0 or size < 0 or slot.end > param_bytes:
        raise ValueError(f"parameter {name} lies outside the block")
    return slot


def _tensor_map(value: Any, params: list[Any]) -> TensorMapUse:
    base, extents, strides, element, box, swizzle, nan, parameter = _items(
        value, int, list, list, int, list, int, bool, int
    )
    if element >= len(Element) or swizzle not in SWIZZLES:
        raise ValueError(f"a tensor map of {value}")
    use = TensorMapUse(
        base, _places(extents), _places(strides), Element(element), _places(box), swizzle, nan,
        parameter,
    )  # fmt: skip
    rank = len(use.box)
    if not 0 < rank <= MOST_DIMENSIONS or (len(extents), len(strides)) != (rank, rank - 1):
        raise ValueError(f"a tensor map of {value}")
    if not all(0 <= each < len(params) for each in (*use.numbers, parameter)):
        raise ValueError(f"a tensor map of the parameters {value}")
    return use


def _block(value: Any) -> tuple[int, int, int]:
    x, y, z = _items(value, int, int, int)
    if min(x, y, z) < 1:
        raise ValueError(f"a block of {value}")
    return x, y, z


def _error_site(value: Any) -> KernelErrorSite:
    exception, message, loc, late, detail = _items(value, str, str, object, bool, str)
    return KernelErrorSite(exception, message, _loc(loc), late, detail)


def _loc(value: Any) -> Loc:
    file, line, column, end, function, caller = _items(value, str, int, int, int, str, object)
    return Loc(file, line, column, end, function, None if caller is None else _loc(caller))


def _print_site(value: Any) -> PrintSite:
    parts, types, formats, end = _items(value, list, list, list, str)
    for part in (*parts, *formats):
        if part is not None:
            _checked(part, str)
    return PrintSite(tuple(parts), tuple(map(_dtype, types)), tuple(formats), end)
