"""Checks each access to memory: it ends the launch, and reports the place and the address.

In an array of a known size the offset of an access is compared with the size. Other addresses are
looked up among the allocations, and those in shared memory compared with all that the block has.
Elements whose index the frontend has checked are left alone. No table has local and constant
arrays: an address in a variable is compared with the arrays that the variable may point into, and
is left alone where these are not known.
"""

from __future__ import annotations

import re

from gridlane.core.device_errors import ILLEGAL_ACCESS, THROUGH
from gridlane.core.dtypes import DType, b1, i64, u64
from gridlane.core.frozen import frozen
from gridlane.core.kernel_names import readable
from gridlane.ir.builder import Builder, constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair
from gridlane.ir.types import PointerType, Space, StructType
from gridlane.ir.values import ErrorSite, Function, Module, Param, Region, Value, Var

_SHARED = " outside of the block's shared memory"
_MOST_ARRAYS = 4
"""The most arrays that an address is compared with."""
_PAIR = 16
"""Bytes of a compare-and-swap of two words."""


def check_accesses(module: Module) -> None:
    """Put checks in front of the kernel's accesses to memory."""
    _Checks(module, module.kernel).region(module.kernel.body, {})


@frozen
class _Access:
    """What an op does to memory."""

    pointer: Value
    bytes: int
    word: str


def _access(op: Op) -> _Access | None:
    if isinstance(op, memory.Load):
        return _Access(op.pointer, op.result.type.size, "load")
    if isinstance(op, memory.Store):
        return _Access(op.pointer, op.value.type.size, "store")
    if isinstance(op, AtomicCasPair):
        return _Access(op.pointer, _PAIR, "atomic access")
    if isinstance(op, Atomic | AtomicCas):
        return _Access(op.pointer, op.results[0].type.size, "atomic access")
    return None


_Array = memory.LocalArray | memory.GlobalAddress


class _Checks:
    """Puts checks in front of the accesses of a kernel."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self.builder = Builder(module, function)
        self.params = {param.value: param for param in function.params}
        self.sites: dict[ErrorSite, int] = {}
        self.targets = _Targets(function)
        self.visible: set[Value] = set()

    def region(self, region: Region, known: dict[Value, int]) -> None:
        """Rewrite a region. ``known`` are the bytes that were checked of addresses before it."""
        known, outer = dict(known), self.visible
        self.visible = set(outer)
        ops, region.ops = region.ops, []
        with self.builder.inside(region):
            for op in ops:
                access = _access(op)
                if access is not None and known.get(access.pointer, 0) < access.bytes:
                    self.builder.loc = op.loc
                    self.check(access)
                    known[access.pointer] = access.bytes
                for inner in op.regions():
                    self.region(inner, known)
                region.ops.append(op)
                if isinstance(op, memory.LocalArray):
                    self.visible.add(op.results[0])
        self.visible = outer

    def check(self, access: _Access) -> None:
        """Emit the check of an access."""
        chain = list(_chain(access.pointer))
        root = chain[-1].pointer if chain else access.pointer
        offsets = [op for op in chain if isinstance(op, memory.Offset)]
        if any(op.checked for op in offsets):
            return
        source, param = root.op, self.params.get(root)
        space = memory.space_of(access.pointer)
        if isinstance(source, memory.LocalArray | memory.GlobalAddress):
            self.within(access, chain, *self.array(source))
        elif isinstance(source, memory.DynamicShared):
            self.within_dynamic(access, chain)
        elif param is not None and not offsets and param.path[-1:] in (("data",), ("record",)):
            return  # the first element of an array, or a part of a structure
        elif space in (Space.GLOBAL, Space.SHARED) or param is not None:
            base = root if param is not None else access.pointer
            pointer = access.pointer
            where = _SHARED if space is Space.SHARED else _through(param)
            code = self.site(_what(access), where)
            self.builder.emit(control.CheckAccess(pointer, base, access.bytes, code))
        else:
            self.within_some(access, self.targets.of(root))

    def within_some(self, access: _Access, roots: list[Value]) -> None:
        """Check an access to one of some arrays, or to memory of the kernel's arguments."""
        arrays = [root.op for root in roots if isinstance(root.op, _Array)]
        rest = [root for root in roots if not isinstance(root.op, _Array)]
        if len(arrays) > _MOST_ARRAYS or not roots or not self.may_check(arrays, rest):
            return
        b, what, where = self.builder, _what(access), " at {}"
        address = b.value(memory.Address(access.pointer))
        offset, outside = address, b.const(True, b1)
        for op in arrays:
            size, whose = self.array(op)
            where = f" at byte {{}} of {whose}, which has {_bytes(size)}"
            offset = b.sub(address, b.value(memory.Address(self.again(op))))
            limit = b.const(max(0, size - access.bytes + 1), u64)
            outside = b.and_(outside, b.binary(arith.Ge, offset, limit))
        if rest:
            with b.if_(outside):
                condition = " outside of the kernel's own arrays at {}" if arrays else where
                code = self.site(what, condition)
                b.emit(control.CheckAccess(access.pointer, access.pointer, access.bytes, code))
        elif len(arrays) > 1:
            code = self.site(what, f" outside of the {len(arrays)} arrays that it may be in")
            b.emit(control.StopIf(outside, code))
        else:
            b.emit(control.StopIf(outside, self.site(what, where), (b.cast(offset, i64),)))

    def may_check(self, arrays: list[_Array], rest: list[Value]) -> bool:
        """Whether these are all that an address may point into, and have addresses here."""
        return all(root in self.params for root in rest) and all(
            op.results[0] in self.visible or isinstance(op, memory.GlobalAddress) for op in arrays
        )

    def again(self, op: _Array) -> Value:
        """The address of an array at this place."""
        if isinstance(op, memory.GlobalAddress):
            return self.builder.value(memory.GlobalAddress(op.symbol, op.type))
        return op.results[0]

    def array(self, op: memory.LocalArray | memory.GlobalAddress) -> tuple[int, str]:
        """The bytes of an array, and what it is."""
        if isinstance(op, memory.LocalArray):
            return op.size, "a local array"
        item = self.module.globals[op.symbol]
        name = _variable(item.name.rpartition(".")[2])
        return item.size, f"the {item.space.name.lower()} array {name}"

    def within(self, access: _Access, chain: list[_Step], size: int, whose: str) -> None:
        """Check an access to an array of a known size."""
        b, offset = self.builder, self.offset(chain)
        limit = max(0, size - access.bytes + 1)
        known = constant(offset)
        if type(known) is int and 0 <= known < limit:
            return
        outside = b.binary(arith.Ge, b.cast(offset, u64), b.const(limit, u64))
        what = _what(access)
        code = self.site(what, f" at byte {{}} of {whose}, which has {_bytes(size)}")
        b.emit(control.StopIf(outside, code, (offset,)))

    def within_dynamic(self, access: _Access, chain: list[_Step]) -> None:
        """Check an access to the dynamic shared memory, whose size the launch sets."""
        b, offset = self.builder, self.offset(chain)
        size = b.cast(b.value(grid.DynamicSharedSize()), u64)
        first = b.cast(offset, u64)
        last = b.add(first, b.const(access.bytes - 1, u64))
        outside = [b.binary(arith.Ge, end, size) for end in (first, last)]
        what = _what(access)
        code = self.site(what, " at byte {} of the dynamic shared memory, which has {} bytes")
        numbers = offset, b.cast(size, i64)
        b.emit(control.StopIf(b.or_(*outside), code, numbers))

    def offset(self, chain: list[_Step]) -> Value:
        """The distance in bytes of an address from its root, as an i64."""
        b, still = self.builder, 0
        total: Value | None = None
        for op in reversed(chain):
            element = memory.element_of(op, op.pointer)
            if isinstance(op, memory.FieldPointer):
                still += element.offsets[op.index] if isinstance(element, StructType) else 0
            elif isinstance(op, memory.Offset):
                known = constant(op.index)
                if type(known) is int:
                    still += known * element.size
                    continue
                assert isinstance(op.index.type, DType)
                step = b.mul(b.cast(op.index, i64), b.const(element.size, i64))
                total = step if total is None else b.add(total, step)
        if total is None:
            return b.const(still, i64)
        return b.add(total, b.const(still, i64)) if still else total

    def site(self, what: str, where: str) -> int:
        """The code of the error of an access here."""
        site = ErrorSite(ILLEGAL_ACCESS, what, self.builder.loc, what + where)
        if site not in self.sites:
            self.sites[site] = len(self.module.errors)
            self.module.errors.append(site)
        return self.sites[site]


_Step = memory.Offset | memory.FieldPointer | memory.Recast


def _chain(pointer: Value) -> list[_Step]:
    """The ops that make an address from its root, the last one first."""
    steps: list[_Step] = []
    while isinstance(pointer.op, memory.Offset | memory.FieldPointer | memory.Recast):
        steps.append(pointer.op)
        pointer = pointer.op.pointer
    return steps


_VARIABLES = "module_data"
"""The parameter that the frontend of PTX adds for the variables of a module."""


def _through(param: Param | None) -> str:
    """Through which parameter an access reaches its address, which follows."""
    if param is None:
        return " at {}"
    name = param.value.name
    known = name and not re.search(r"_param_\d+(\.\d+)?$", name)
    own = f"parameter {name if known else param.argument + 1}"
    own = "the module's variables" if name == _VARIABLES else own
    return f" {THROUGH} {own} at {{}}"


def _what(access: _Access) -> str:
    article = "an" if access.word[0] == "a" else "a"
    return f"{article} {access.word} of {_bytes(access.bytes)}"


def _variable(name: str) -> str:
    """The name of a variable as its program writes it, if a compiler of C++ made it of one in a
    function."""
    match = re.fullmatch(r"_ZZ.+EL?(\d+)(\w+)", name)
    return match[2][: int(match[1])] if match else readable(name)


def _bytes(count: int) -> str:
    return f"{count} byte{'s' if count > 1 else ''}"


class _Targets:
    """What the pointers of a function may point into."""

    def __init__(self, function: Function) -> None:
        self._written: dict[Var, list[Value]] = {}
        for op in function.body.walk():
            if isinstance(op, memory.WriteVar) and isinstance(op.value.type, PointerType):
                self._written.setdefault(op.var, []).append(op.value)

    def of(self, pointer: Value) -> list[Value]:
        """The beginnings of the arrays, and pointers of unknown origin."""
        beginnings, seen, waiting = dict[object, Value](), set[Value](), [pointer]
        while waiting:
            value = waiting.pop()
            chain = _chain(value)
            root = chain[-1].pointer if chain else value
            if root in seen:
                continue
            seen.add(root)
            if isinstance(root.op, memory.ReadVar):
                waiting += self._written.get(root.op.var, ())
            elif isinstance(root.op, arith.Select):
                waiting += root.op.on_true, root.op.on_false
            else:
                symbol = isinstance(root.op, memory.GlobalAddress) and root.op.symbol
                beginnings.setdefault(symbol or root, root)
        return [*beginnings.values()]
