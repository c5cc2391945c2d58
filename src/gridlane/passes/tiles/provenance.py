"""Whether accesses of a program may meet in memory."""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Function, Param, Value


class Provenance:
    """Finds the parameter that an address is derived from."""

    def __init__(self, function: Function) -> None:
        self.params = {param.value: param for param in function.params}

    def root(self, value: Value) -> Param | None:
        """The parameter of a pointer or of a tile of pointers; None where it is not known."""
        while value not in self.params:
            op = value.op
            if isinstance(op, memory.Offset | memory.FieldPointer | memory.Recast):
                value = op.pointer
                continue
            shapes = (tiles.TileBroadcast, tiles.TileReshape, tiles.TileTranspose, tiles.TileSplit)
            if isinstance(op, shapes):
                value = op.source
                continue
            if isinstance(op, tiles.TileSplat):
                value = op.value
                continue
            pointers = (
                [v for v in op.arguments if _points(v)] if isinstance(op, tiles.TileMap) else []
            )
            if len(pointers) != 1:
                return None
            value = pointers[0]
        return self.params[value]

    def of(self, op: Op) -> Param | None:
        """The parameter whose memory an op accesses."""
        if isinstance(op, tile_memory.TileLoadBlock | tile_memory.TileStoreBlock):
            return self.root(op.base)
        if isinstance(op, memory.Load | memory.Store):
            return self.root(op.pointer)
        pointers = getattr(op, "pointers", None) or getattr(op, "pointer", None)
        return self.root(pointers) if isinstance(pointers, Value) else None

    def may_meet(self, load: Op, store: Op) -> bool:
        """Whether a store may write what a load reads."""
        read, written = self.of(load), self.of(store)
        if read is not None and read.readonly:
            return False
        if read is None or written is None or read is written:
            return True
        return not (read.noalias or written.noalias)


def _points(value: Value) -> bool:
    element = value.type.element if isinstance(value.type, TileType) else value.type
    return isinstance(element, PointerType)
