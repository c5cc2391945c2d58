"""Numbers in memory, at aligned addresses or any."""

from __future__ import annotations

from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import memory
from gridlane.ir.types import StructType
from gridlane.ir.values import Value


def is_unaligned(address: Value) -> bool:
    """Whether an address of a number is not known to be aligned; see layout.memory_type."""
    return isinstance(address.type.element, StructType)  # type: ignore[union-attr]  # a pointer


def read(t: Translator, address: Value) -> Value:
    """Load a number."""
    number = t.b.load(address)
    return t.b.value(memory.Part(number, 0)) if is_unaligned(address) else number


def write(t: Translator, address: Value, value: Value) -> None:
    """Store a number."""
    if is_unaligned(address):
        whole = address.type.element  # type: ignore[union-attr]  # a pointer
        value = t.b.value(memory.Pack((value,), whole))  # type: ignore[arg-type]  # a struct
    t.b.store(address, value)
