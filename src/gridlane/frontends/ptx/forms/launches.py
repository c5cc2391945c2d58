"""Launches from kernels: what nvcc and clang make of ``<<<>>>`` in a kernel.

CUDA C++ Programming Guide, "CUDA Dynamic Parallelism". A launch is a record in memory that the
kernel gets for it (core/launch_queue.py); the host runs the records when the grid is done. That is
one of the orders that CUDA allows: a grid cannot wait for what it launches. Streams and events of
the device are numbers, as records run in the order of their launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.core.dtypes import DType, u32, u64
from gridlane.core.launch_queue import (
    BLOCK,
    CAPACITY,
    COUNT,
    ERROR,
    GRID,
    HANDLES,
    HEADER,
    INVALID_CONFIGURATION,
    INVALID_VALUE,
    KIND,
    ORDER,
    RECORD,
    STATE,
    STREAM,
    STRIDE,
    TARGET,
    TOO_MANY,
    VALUE,
    Kind,
)
from gridlane.frontends.ptx.forms import heap
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.ops.atomic import Atomic, AtomicKind
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Function, Module, Param, Value

_BYTE = unsigned(8)
_MOST_THREADS = 1024
_OUT_OF_MEMORY = 2
_FIRST_HANDLE = 16
"""Smaller numbers are CUDA's own streams."""


def _named(*names: str) -> tuple[str, ...]:
    """The names of a function: those of toolkits 11 and older, and those since 12."""
    return tuple(f"{prefix}{name}" for name in names for prefix in ("cuda", "__cudaCDP2"))


# --- launches


@function(*_named("GetParameterBufferV2"))
def parameter_buffer(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The address for the parameters of a launch, or 0 where there are too many launches."""
    kernel, *shape = arguments
    function_object = _function(t, "reserve", [u64, *[u32] * 7], [u64], _reserve)
    sizes = [t.as_type(each, u32) for each in shape]
    return t.b.call(
        function_object, (t.as_type(kernel, u64), *sizes, t.variables.handed("launches"))
    )


@function(*_named("LaunchDeviceV2", "LaunchDeviceV2_ptsz"))
def launch(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Launch what a parameter buffer was made for; an error's number, or 0."""
    function_object = _function(t, "launch", [u64, u64], [u32], _launch)
    given = [t.as_type(each, u64) for each in arguments]
    return t.b.call(function_object, (*given, t.variables.handed("launches")))


@function("cudaGetParameterBuffer", "__cudaCDP2GetParameterBuffer")
def bare_buffer(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The address for so many bytes of parameters, of a kernel that the launch names."""
    b, none = t.b, t.b.const(0, u32)
    function_object = _function(t, "reserve", [u64, *[u32] * 7], [u64], _reserve)
    return b.call(function_object, (b.const(0, u64), *[none] * 7, t.variables.handed("launches")))


@function("cudaLaunchDevice", "cudaLaunchDevice_ptsz", "__cudaCDP2LaunchDevice")
def launch_kernel(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Launch a kernel with the parameters in a buffer; an error's number, or 0."""
    kernel, buffer, *shape, shared, stream = arguments
    function_object = _function(t, "name", [u64, u64, *[u32] * 7], [], _name)
    sizes = [t.as_type(each, u32) for each in (*shape, shared)]
    queue = t.variables.handed("launches")
    t.b.call(function_object, (t.as_type(buffer, u64), t.as_type(kernel, u64), *sizes, queue))
    return launch(t, (buffer, stream))


@function(*_named("MemcpyAsync", "MemcpyAsync_ptsz"))
def copy(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Copy memory in the order of the launches; an error's number, or 0."""
    target, source, size, _, stream = arguments
    return _move(t, Kind.COPY, [target, source, t.b.const(0, u64), size, stream])


@function(*_named("MemsetAsync", "MemsetAsync_ptsz"))
def fill(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Fill memory in the order of the launches; an error's number, or 0."""
    target, value, size, stream = arguments
    return _move(t, Kind.FILL, [target, t.b.const(0, u64), value, size, stream])


def _move(t: Values, kind: Kind, arguments: Sequence[Value]) -> Sequence[Value]:
    function_object = _function(t, f"move{kind.value}", [u64] * 5, [u32], lambda q: _moved(q, kind))
    whole = [t.b.cast(t.bits(each), u64) if _is_word(each) else each for each in arguments]
    whole = [t.as_type(each, u64) for each in whole]
    return t.b.call(function_object, (*whole, t.variables.handed("launches")))


def _is_word(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.bits == 32


# --- errors, streams and events


@function(*_named("Malloc"))
def allocate(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Memory of ``malloc``, its address written to another; an error's number, or 0."""
    (address,) = heap.malloc(t, arguments[1:])
    _store(t, arguments[0], address)
    b = t.b
    none = b.eq(address, b.const(0, u64))
    return [b.select(none, b.const(_OUT_OF_MEMORY, u32), b.const(0, u32))]


@function(*_named("Free"))
def free(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Free memory of ``malloc``."""
    heap.free(t, arguments)
    return [t.b.const(0, u32)]


def _store(t: Values, where: Value, number: Value) -> None:
    """Write 64 bits to an address that a function got."""
    there = t.local(where)
    assert isinstance(there.type, PointerType)
    t.b.store(t.b.recast(there, pointer(u64, there.type.space)), number)


@function(*_named("GetLastError"))
def last_error(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The last error of the grid's launches, which is forgotten."""
    return t.b.call(_function(t, "take", [], [u32], _take), (t.variables.handed("launches"),))


@function(*_named("PeekAtLastError"))
def peek_error(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The last error of the grid's launches."""
    return t.b.call(_function(t, "peek", [], [u32], _peek), (t.variables.handed("launches"),))


@function(*_named("StreamCreateWithFlags", "EventCreateWithFlags"))
def handle(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """A new stream or event, written to an address."""
    function_object = _function(t, "handle", [], [u64], _handle)
    (number,) = t.b.call(function_object, (t.variables.handed("launches"),))
    _store(t, arguments[0], number)
    return [t.b.const(0, u32)]


@function(
    *_named("StreamDestroy", "EventDestroy", "EventRecord", "EventRecord_ptsz"),
    *_named("EventRecordWithFlags", "EventRecordWithFlags_ptsz"),
    *_named("StreamWaitEvent", "StreamWaitEvent_ptsz"),
)
def ordered(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Nothing: records are in order already."""
    return [t.b.const(0, u32)]


@function("cudaGraphSetConditional")
def set_condition(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Set the number that chooses the work of a graph's node: it is at the address that is its
    handle (abi/state/conditionals.py)."""
    handle, value = arguments
    address = t.b.recast(t.as_pointer(handle), pointer(u32, Space.GLOBAL))
    t.b.store(address, t.as_type(value, u32), volatile=True)
    return []


# --- functions of the queue


_Build = Callable[["_Queue"], None]


def _function(
    t: Values, name: str, params: Sequence[DType], results: Sequence[DType], build: _Build
) -> Function:
    """A function of the module, which the first call makes."""
    module, name = t.variables.made, f"launches.{name}"
    if name not in module.functions:
        build(_Queue(module, name, params, results))
    return module.functions[name]


class _Queue:
    """A function of the queue while it is made.

    Attributes:
        given: its parameters without the queue.
        start: the queue's first byte.
    """

    def __init__(
        self, module: Module, name: str, params: Sequence[DType], results: Sequence[DType]
    ) -> None:
        self.given = [Value(dtype, None, f"given{n}") for n, dtype in enumerate(params)]
        self.start = Value(pointer(_BYTE, Space.GLOBAL), None, "queue")
        values = [*self.given, self.start]
        new_function = Function(
            name, [Param(each, n) for n, each in enumerate(values)], tuple(results)
        )
        module.functions[name] = new_function
        self.b = Builder(module, new_function)

    def do(self, kind: type[Op], first: Value, second: Value | int) -> Value:
        """A binary op."""
        if isinstance(second, int):
            assert isinstance(first.type, DType)
            second = self.b.const(second, first.type)
        return self.b.binary(kind, first, second)

    def number(self, value: int, dtype: DType = u32) -> Value:
        """A constant."""
        return self.b.const(value, dtype)

    def shared_word(self, number: int) -> Value:
        """The address of a word that all threads share."""
        words = self.b.recast(self.start, pointer(u32, Space.GLOBAL))
        return self.b.offset(words, self.number(number))

    def change(self, kind: AtomicKind, number: int, value: Value) -> Value:
        """Change a shared word; its old value."""
        return self.b.value(Atomic(kind, self.shared_word(number), value))

    def record(self, offset: Value) -> Value:
        """The record at a number of bytes from the start, as words."""
        address = self.b.offset(self.start, offset)
        return self.b.recast(address, pointer(u32, Space.GLOBAL))

    def put(self, record: Value, number: int, *values: Value) -> None:
        """Write words of a record; a value of 64 bits is two of them."""
        b = self.b
        for value in values:
            if value.type is u64:
                low, high = b.cast(value, u32), self.do(arith.Shr, value, self.number(32))
                self.put(record, number, low, b.cast(high, u32))
                number += 2
                continue
            b.store(b.offset(record, self.number(number)), value)
            number += 1

    def fail_if(self, condition: Value, error: int, result: Value) -> None:
        """Note an error, and return."""
        with self.b.if_(condition):
            self.change(AtomicKind.EXCHANGE, ERROR, self.number(error))
            self.b.return_((result,))

    def reserve(self, none: Value) -> Value:
        """The offset of a new record; ``none`` is returned where there are too many."""
        b = self.b
        place = self.change(AtomicKind.ADD, COUNT, self.number(1))
        most, stride = (b.load(self.shared_word(at)) for at in (CAPACITY, STRIDE))
        self.fail_if(self.do(arith.Ge, place, most), TOO_MANY, none)
        offset = self.do(arith.Mul, b.cast(place, u64), b.cast(stride, u64))
        offset = self.do(arith.Add, offset, HEADER)
        self.put(self.record(offset), STATE, self.number(0))
        return offset

    def submit(self, record: Value) -> None:
        """Give a record its place in the order."""
        self.b.emit(grid.Fence(grid.MemoryScope.DEVICE))
        place = self.change(AtomicKind.ADD, ORDER, self.number(1))
        self.put(record, STATE, self.do(arith.Add, place, 1))

    @property
    def address(self) -> Value:
        """The queue's address, as a number."""
        return self.b.value(memory.Address(self.start))


def _reserve(q: _Queue) -> None:
    kernel, *shape, shared = q.given
    offset = q.reserve(q.number(0, u64))
    record = q.record(offset)
    q.put(record, KIND, q.number(Kind.KERNEL), kernel, *shape, shared)
    q.b.return_((q.do(arith.Add, q.do(arith.Add, q.address, offset), RECORD),))


def _record_of(q: _Queue, buffer: Value) -> Value:
    """The record of a parameter buffer."""
    return q.record(q.do(arith.Sub, q.do(arith.Sub, buffer, q.address), RECORD))


def _name(q: _Queue) -> None:
    buffer, kernel, *shape, shared = q.given
    with q.b.if_(q.do(arith.Ne, buffer, 0)):
        q.put(_record_of(q, buffer), TARGET, kernel, *shape, shared)
    q.b.return_()


def _launch(q: _Queue) -> None:
    b, (buffer, stream) = q.b, q.given
    q.fail_if(q.do(arith.Eq, buffer, 0), INVALID_VALUE, q.number(INVALID_VALUE))
    record = _record_of(q, buffer)
    shape = [b.load(b.offset(record, q.number(at))) for at in range(GRID, BLOCK + 3)]
    threads = q.number(1, u64)
    wrong = q.do(arith.Eq, shape[0], 0)
    for each in shape[1:]:
        wrong = b.or_(wrong, q.do(arith.Eq, each, 0))
    for each in shape[3:]:
        wrong = b.or_(wrong, q.do(arith.Gt, each, _MOST_THREADS))
        threads = q.do(arith.Mul, threads, b.cast(each, u64))
    wrong = b.or_(wrong, q.do(arith.Gt, threads, _MOST_THREADS))
    q.fail_if(wrong, INVALID_CONFIGURATION, q.number(INVALID_CONFIGURATION))
    q.put(record, STREAM, stream)
    q.submit(record)
    b.return_((q.number(0),))


def _moved(q: _Queue, kind: Kind) -> None:
    target, source, value, size, stream = q.given
    record = q.record(q.reserve(q.number(TOO_MANY)))
    q.put(record, KIND, q.number(kind), target, source)
    q.put(record, VALUE, q.b.cast(value, u32), stream, size)
    q.submit(record)
    q.b.return_((q.number(0),))


def _take(q: _Queue) -> None:
    q.b.return_((q.change(AtomicKind.EXCHANGE, ERROR, q.number(0)),))


def _peek(q: _Queue) -> None:
    q.b.return_((q.b.load(q.shared_word(ERROR), volatile=True),))


def _handle(q: _Queue) -> None:
    handle_number = q.change(AtomicKind.ADD, HANDLES, q.number(1))
    q.b.return_((q.do(arith.Add, q.b.cast(handle_number, u64), _FIRST_HANDLE),))
