"""Scalar ops on tensors: as they are on scalars, by a device function for each element of tiles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gridlane.frontends.triton.context import Build, unit
from gridlane.frontends.triton.types import dtype
from gridlane.frontends.triton.values import tensor, wrap
from gridlane.ir.ops.tiles import TileMap, element_type
from gridlane.ir.types import TileType, tile
from gridlane.ir.values import Function, Value


def apply(
    name: str, build: Build, args: Sequence[tensor], result: dtype | None = None, key: Hashable = ()
) -> tensor:
    """A scalar function of tensors, tiles of one shape among them. ``name`` and ``key`` identify
    what ``build`` writes; ``result`` is the type of the elements, where the IR's says less."""
    return wrap(apply_all(name, build, [arg.handle for arg in args], key)[0], result)


def apply_all(
    name: str, build: Build, values: Sequence[Value], key: Hashable = ()
) -> tuple[Value, ...]:
    """All results of a scalar function on IR values."""
    u = unit()
    if not any(isinstance(value.type, TileType) for value in values):
        made = build(u.b, *values)
        return made if isinstance(made, tuple) else (made,)
    types = tuple([element_type(value.type) for value in values])
    return map_function(u.device_function((name, key), name, types, build), values)


def map_function(function: Function, values: Sequence[Value]) -> tuple[Value, ...]:
    """A device function for each element of tiles."""
    shape = next(value.type.shape for value in values if isinstance(value.type, TileType))
    types = tuple([tile(shape, each) for each in function.results])  # type: ignore[arg-type]  # scalars
    return unit().b.emit(TileMap(function.name, tuple(values), types)).results
