"""Finds constants that a compiler may misread where a select chooses them.

Mesa's compilers read a select of -1.0 and 0.0 as minus the condition, and one of 1.0 and -0.0 as
the condition, with the sign of the other zero; they compare constants as floats, whatever their
types are, and make selects of branches. So constants with the bits of -1.0 and -0.0 are hidden
where they are chosen, on devices with such a compiler (``misreads_units``).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence

from gridlane.core.dtypes import DType, f16, f32, f64
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Module, Value

Users = Mapping[Value, Sequence[Op]]
"""The ops that have a value as an operand."""

_BITS = {
    16: (0xBC00, 0x8000),
    32: (0xBF800000, 0x80000000),
    64: (0xBFF0000000000000, 0x8000000000000000),
}
"""Of -1.0 and -0.0."""
_PACKED = {f16: ("<e", "<H"), f32: ("<f", "<I"), f64: ("<d", "<Q")}


def is_misread(op: arith.Const, users: Users) -> bool:
    """Whether a compiler may misread a constant by what is done with it."""
    return _looks_like_unit(op) and _is_chosen(op.result, users)


def users_of_constants(module: Module) -> Users:
    """The users of constants, and of what has their bits."""
    users: dict[Value, list[Op]] = defaultdict(list)
    for function in module.functions.values():
        for op in function.body.walk():
            for value in op.operands():
                if isinstance(value.op, arith.Const | arith.Bitcast | arith.Cast):
                    users[value].append(op)
    return users


def _looks_like_unit(op: arith.Const) -> bool:
    dtype, value = op.type, op.value
    if not isinstance(dtype, DType) or dtype.bits not in _BITS:
        return False
    if isinstance(value, float):
        if dtype not in _PACKED:
            return False
        packed, read = _PACKED[dtype]
        (bits,) = struct.unpack(read, struct.pack(packed, value))
    else:
        bits = int(value) & (1 << dtype.bits) - 1
    return bits in _BITS[dtype.bits]


def _is_chosen(value: Value, users: Users) -> bool:
    return any(
        isinstance(user, arith.Select | memory.WriteVar)
        or (isinstance(user, arith.Bitcast | arith.Cast) and _is_chosen(user.result, users))
        for user in users.get(value, ())
    )
