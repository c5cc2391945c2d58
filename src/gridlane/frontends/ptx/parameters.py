"""Parameters: byte-addressed in PTX, flat scalars in the IR.

A parameter is cut into pieces of its alignment. An access takes the bits of the pieces that it
touches.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.pieces import Piece, pieces
from gridlane.frontends.ptx.text import Text
from gridlane.frontends.ptx.translating import Translating
from gridlane.frontends.ptx.types import TYPES, unsigned
from gridlane.ir.ops.arith import Shl, Shr
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Function, Param, Value, Var

_MOST_BYTES = 32764
"""The most bytes of a kernel's parameters (PTX ISA 8.1 and sm_70 on)."""


class Parameters:
    """The parameters of a function and of the calls in it.

    Attributes:
        pointers: (parameter, offset) of those that hold addresses, and of what memory.
        stored: the bytes of arguments of calls that the function writes anywhere.
    """

    def __init__(
        self,
        function: PtxFunction,
        pointers: dict[tuple[Declared, int], Space],
        stored: dict[Declared, list[range]],
        result: tuple[Declared, Declared] | None = None,
    ) -> None:
        self.function, self.pointers, self.stored = function, pointers, stored
        self._result_address = result
        self._values: dict[tuple[Declared, int], Value] = {}
        self._results: dict[tuple[Declared, int], Var] = {}
        self._written: dict[tuple[Declared, int], Value] = {}
        """What st.param wrote for the next call, and what the last one returned."""

    def begin_block(self) -> None:
        """Drop the values that were written for calls: they are used in the block of their call."""
        self._written.clear()

    def declare(self, function: Function, text: Text) -> None:
        """Add the parameters and results to an IR function.

        Raises:
            PtxError: a parameter is declared to point to memory that a launch cannot pass.
        """
        hidden = self._result_address
        for number, param in enumerate(self.function.params):
            if hidden is not None and param is hidden[0]:
                continue
            if param.pointer in ("shared", "local", "const"):
                text.fail(f"a parameter that points to .{param.pointer} is refused", param.at)
            for offset, dtype in pieces(param):
                space = self.pointers.get((param, offset))
                type_ = dtype if space is None else pointer(unsigned(8), space)
                name = f"{param.name}.{offset}" if param.is_array else param.name
                value = Value(type_, None, name.replace("$", "_").replace("%", "_"))
                path = (offset,) if param.is_array else ()
                function.params.append(Param(value, number, path))
                self._values[param, offset] = value
        results = [*self.function.results, *(() if hidden is None else hidden[1:])]
        function.results = tuple(dtype for param in results for _, dtype in pieces(param))

    def load(self, t: Translating, param: Declared, offset: int, dtype: DType) -> Value:
        """The value at an offset of a parameter of this function, or of what a call returned."""
        hidden = self._result_address
        if hidden is not None and param is hidden[0]:
            if (offset, dtype.size) != (0, 8):
                t.fail(f"{param.name} is the address of the result, and is read in parts")
            return t.address_of_variable(hidden[1])
        known = self._values if param in self.function.params else self._written
        exact = known.get((param, offset))
        if exact is not None and exact.type.size == dtype.size:
            is_scalar = isinstance(exact.type, DType)
            return t.as_type(exact, dtype) if is_scalar or dtype.bits != 64 else exact
        end = offset + dtype.size
        if not 0 <= offset <= end <= param.size:
            t.fail(f"{param.name} has {param.size} bytes, and {offset} to {end} are read")
        total: Value | None = None
        wide = unsigned(max(8, dtype.bits))
        for start, piece in pieces(param):
            if start + piece.size <= offset or start >= end:
                continue
            value = known.get((param, start))
            if value is None:
                t.fail(
                    f"bytes {start} to {start + piece.size} of {param.name} were not written whole"
                )
            bits = t.bits(t.as_type(value, piece))
            if start < offset:
                bits = t.b.binary(Shr, bits, t.b.const(8 * (offset - start), unsigned(32)))
            bits = t.b.cast(bits, wide)
            if start > offset:
                bits = t.b.binary(Shl, bits, t.b.const(8 * (start - offset), unsigned(32)))
            total = bits if total is None else t.b.or_(total, bits)
        assert total is not None  # pieces cover the parameter
        return t.as_type(total, dtype)

    def store(self, t: Translating, param: Declared, offset: int, value: Value) -> None:
        """Write a part of an argument of the next call, or of this function's result."""
        if not 0 <= offset <= offset + value.type.size <= param.size:
            t.fail(f"{param.name} has {param.size} bytes, and byte {offset} on is written")
        for start, dtype in pieces(param):
            inside = offset <= start and start + dtype.size <= offset + value.type.size
            is_pointer = isinstance(value.type, PointerType)
            if is_pointer and (start, dtype.bits) == (offset, 64) and self._is_argument(param):
                self._written[param, start] = (
                    value  # functions of the language see what it points to
                )
            elif inside:
                part = t.bits(t.as_type(value, TYPES[f"b{8 * value.type.size}"]))
                if start > offset:
                    part = t.b.binary(Shr, part, t.b.const(8 * (start - offset), unsigned(32)))
                part = t.b.cast(part, unsigned(dtype.bits))
                self._put(t, param, start, t.as_type(part, dtype))
            elif start < offset + value.type.size and offset < start + dtype.size:
                self._put_part(t, param, (start, dtype), offset, value)

    def _is_argument(self, param: Declared) -> bool:
        return param not in self.function.results

    def _put_part(
        self, t: Translating, param: Declared, piece: Piece, offset: int, value: Value
    ) -> None:
        """Write some bytes of a piece."""
        start, dtype = piece
        whole = unsigned(dtype.bits)
        if offset < start or offset + value.type.size > start + dtype.size:
            t.fail(f"bytes {offset} on of {param.name} are written across its alignment")
        old = self._old(t, param, start, dtype)
        low = 8 * (offset - start)
        assert isinstance(value.type, DType)
        mask = (1 << value.type.bits) - 1 << low
        bits = t.b.cast(t.bits(value), whole)
        placed = t.b.binary(Shl, bits, t.b.const(low, unsigned(32)))
        kept = t.b.and_(t.bits(old), t.b.const(whole.max & ~mask, whole))
        self._put(t, param, start, t.as_type(t.b.or_(kept, placed), dtype))

    def _old(self, t: Translating, param: Declared, start: int, dtype: DType) -> Value:
        if not self._is_argument(param):
            return t.b.read(self._result(t, param, start, dtype))
        written = self._written.get((param, start))
        return t.b.zero(dtype) if written is None else t.as_type(written, dtype)

    def _put(self, t: Translating, param: Declared, start: int, value: Value) -> None:
        if not self._is_argument(param):
            assert isinstance(value.type, DType)
            t.b.write(self._result(t, param, start, value.type), value)
        else:
            self._written[param, start] = value

    def _result(self, t: Translating, param: Declared, start: int, dtype: DType) -> Var:
        variable = self._results.get((param, start))
        if variable is None:
            variable = self._results[param, start] = t.b.variable(f"result.{start}", dtype)
        return variable

    def results(self, t: Translating, param: Declared) -> list[Value]:
        """The pieces of a result of this function."""
        return [t.b.read(self._result(t, param, at, dtype)) for at, dtype in pieces(param)]

    def argument(self, t: Translating, given: Declared, wanted: Declared) -> list[Value]:
        """The pieces of a callee's parameter, from what st.param wrote; an address may be a
        pointer. What the function writes nowhere has no value, as compilers leave it that do not
        need it; it is 0, as what a parameter without a size is not given."""
        if given.size != wanted.size and not (wanted.is_open and given.size < wanted.size):
            t.fail(f"{given.name} has {given.size} bytes, and {wanted.name} has {wanted.size}")
        written = self.stored.get(given, [])
        for start, dtype in pieces(given):
            if (given, start) not in self._written and not any(
                each.start < start + dtype.size and start < each.stop for each in written
            ):
                self._written[given, start] = t.b.zero(dtype)
        return [
            self.load(t, given, at, dtype) if at < given.size else t.b.zero(dtype)
            for at, dtype in pieces(wanted)
        ]

    def keep(self, param: Declared, start: int, value: Value) -> None:
        """Keep a piece of what a call returned."""
        self._written[param, start] = value

    def returned(self, given: Declared, wanted: Declared, values: list[Value]) -> None:
        """Keep what a call returned, for ld.param."""
        for (start, _), value in zip(pieces(wanted), values, strict=True):
            self._written[given, start] = value
