"""Both forms of an algorithm: a call, and an object whose caller owns the temporary memory."""

from __future__ import annotations

import inspect
import operator as python_operator
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial, wraps
from inspect import Parameter
from typing import Any

import numpy as np

from gridlane.algorithms import arrays
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import notes
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.sequences import Access, IteratorBase, Pointer, sequence
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.host.native_streams import NativeStream
from gridlane.cuda.interop.torch_streams import captured_stream
from gridlane.launch import current
from gridlane.launch.fusion.redirecting import redirected


@frozen
class Prepared:
    """A call whose arguments are checked.

    ``launch`` takes the parts of the temporary memory and the stream; the device of the sequences
    is current then.
    """

    key: Hashable
    sequences: tuple[IteratorBase, ...]
    layout: Layout
    launch: Callable[[list[Access], Any], None]

    def run(self, temp_storage: Any, stream: Any) -> None:
        """Launch, with temporary memory of the caller's or, for None, of our own."""
        given = [array for each in self.sequences for array in each.given_arrays()]
        chosen = stream_of(stream)
        with arrays.using(arrays.device_of(given)), _recorded(given, chosen):
            if not self.layout.parts:
                self.launch([], chosen)
                return
            if temp_storage is None:
                octets: Any = device_array(self.layout.size, np.uint8, stream=chosen)
            else:
                octets = arrays.on_device(temp_storage)
            self.launch(self.layout.within(octets), chosen)
            noted = notes()
            if noted is not None and temp_storage is None:
                noted.scratch.append(octets)


@contextmanager
def _recorded(given: list[Any], stream: Any) -> Generator[None]:
    """Launch on torch's current stream, not the default one, while torch captures that."""
    captured = None
    if stream == 0 and not current.fusing():
        captured = captured_stream(given, current.device())
    with nullcontext() if captured is None else redirected(captured, "an algorithm"):
        yield


class Algorithm:
    """An algorithm for arguments of some types. Called with ``temp_storage=None`` it returns how
    many bytes of temporary memory it uses for the other arguments; else it runs in the memory that
    is given, an array of bytes on the device. The other arguments are those of the function of its
    name.
    """

    def __init__(self, name: str, prepare: Callable[..., Prepared]) -> None:
        self._name, self._prepare = name, prepare

    def __repr__(self) -> str:
        return f"<{self._name} of gridlane.algorithms>"

    def __call__(self, *, temp_storage: Any, stream: Any = None, **arguments: Any) -> int:
        """Run, or return the bytes of temporary memory."""
        prepared = self._prepare(**arguments)
        if temp_storage is None:
            stream_of(stream)
            return prepared.layout.size
        prepared.run(temp_storage, stream)
        return prepared.layout.size


class PlainAlgorithm(Algorithm):
    """An algorithm without temporary memory."""

    def __call__(self, *, stream: Any = None, **arguments: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run."""
        self._prepare(**arguments).run(None, stream)


@cached
def _built(
    cls: type[Algorithm],
    name: str,
    prepare: Callable[..., Prepared],
    kept: tuple[tuple[str, Any], ...],
    key: Hashable,
) -> Algorithm:
    return cls(name, partial(prepare, **dict(kept)))


def called(prepare: Callable[..., Prepared]) -> Callable[..., None]:
    """The call of an algorithm: it has the arguments of the function that prepares it, and
    ``stream``."""

    @wraps(prepare)
    def call(*args: Any, stream: Any = None, **arguments: Any) -> None:
        prepare(*args, **arguments).run(None, stream)

    own = inspect.signature(prepare)
    last = Parameter("stream", Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    parameters = [*own.parameters.values(), last]
    vars(call)["__signature__"] = own.replace(parameters=parameters, return_annotation="None")
    return call


def made(
    name: str,
    call: Callable[..., Any],
    text: str,
    later: Mapping[str, Any] | None = None,
    fixed: tuple[str, ...] = (),
    needed: tuple[str, ...] = (),
    temporary: bool = True,
) -> Callable[..., Any]:
    """The function that makes an algorithm's object: the same for arguments of the same types and
    the same operators.

    Args:
        call: that of ``called``, or the function that prepares it.
        text: its documentation.
        later: arguments that the object's call alone has, and their defaults there; ``num_items``
            of 0 where none are given.
        fixed: arguments that the object's call does not have.
        needed: arguments that only the object's call has a default of.

    The function raises NotImplementedError where ``compute_capability`` asks for code of another
    GPU.
    """
    prepare, later = inspect.unwrap(call), {"num_items": 0} if later is None else later
    parameters = [
        each.replace(default=Parameter.empty) if each.name in needed else each
        for each in inspect.signature(prepare).parameters.values()
        if each.name not in later
    ]
    required = [each.name for each in parameters if each.default is Parameter.empty]

    def make(**options: Any) -> Any:
        missing = [repr(each) for each in required if each not in options]
        if missing:
            names = " and ".join(missing)
            if len(missing) > 2:
                names = f"{', '.join(missing[:-1])}, and {missing[-1]}"
            count = f"{len(missing)} required keyword-only argument{'s' * (len(missing) > 1)}"
            raise TypeError(f"make_{name}() missing {count}: {names}")
        given = {each.name: options.pop(each.name) for each in parameters if each.name in options}
        _check_options(name, options)
        prepared = prepare(**later, **given)
        kept = (*later.items(), *((each, given[each]) for each in fixed))
        cls = Algorithm if temporary else PlainAlgorithm
        return _built(cls, name, prepare, kept, prepared.key)

    make.__name__ = make.__qualname__ = f"make_{name}"
    make.__module__, make.__doc__ = getattr(prepare, "func", prepare).__module__, text
    others = Parameter("options", Parameter.VAR_KEYWORD, annotation="Any")
    vars(make)["__signature__"] = inspect.Signature([*parameters, others], return_annotation="Any")
    return make


def _check_options(name: str, options: dict[str, Any]) -> None:
    if options.pop("compute_capability", None) is not None:
        raise NotImplementedError(
            f"make_{name}: compute_capability is unsupported; code is made for the device that "
            "runs it, and kept on disk"
        )
    if options:
        raise TypeError(f"make_{name} has no argument {', '.join(options)}")


def stream_of(stream: Any) -> Any:
    """The stream of a launch, of any object that represents one; the default stream for None.

    Raises:
        TypeError: it is none.
    """
    if stream is None or isinstance(stream, NativeStream):
        return stream or 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is None:
        raise TypeError(f"the stream {stream!r} does not implement the '__cuda_stream__' protocol")
    try:
        _, handle = protocol()
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"could not obtain __cuda_stream__ protocol version and handle from {stream!r}"
        ) from error
    if not isinstance(handle, int):
        raise TypeError(f"invalid stream handle {handle!r} of {stream!r}; it is an integer")
    return stream


# --- checks ---


def checked_count(value: Any, name: str) -> int:
    """A number of items.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative, or no index has so many bits.
    """
    try:
        count = python_operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an integer") from None
    if not 0 <= count < 1 << 63:
        raise ValueError(f"{name} is {count}; it must be from 0 to 2**63 - 1")
    return count


def readable(value: Any, name: str, count: int = 0) -> IteratorBase:
    """An argument that an algorithm reads ``count`` items of.

    Raises:
        TypeError: it is no sequence that can be read.
        ValueError: it has fewer items.
    """
    source = _sequence(value, name)
    if source.code().load is None:
        raise TypeError(f"{name} is a {type(value).__name__}, which cannot be read")
    return _with_room(source, name, count)


def writable(value: Any, name: str, count: int = 0) -> IteratorBase:
    """An argument that an algorithm writes ``count`` items of.

    Raises:
        TypeError: it is no sequence that can be written.
        ValueError: it has fewer items.
    """
    sink = _sequence(value, name)
    if sink.code().store is None:
        raise TypeError(f"{name} is a {type(value).__name__}, which cannot be written")
    return _with_room(sink, name, count)


def _sequence(value: Any, name: str) -> IteratorBase:
    try:
        return sequence(value)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _with_room(given: IteratorBase, name: str, count: int) -> IteratorBase:
    size = given.size()
    if size is not None and size < count:
        raise ValueError(f"{name} has {size} items, and the call uses {count}")
    return given


def initial(value: Any, sink: IteratorBase | None, name: str) -> tuple[ItemType, Any]:
    """The type of an initial value on the host, and the argument of kernels. A Python number has
    the type of the output."""
    array = np.asarray(value)
    item = item_type(array.dtype)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        item = (sink.item if sink is not None else None) or item
    if array.size != 1:
        raise ValueError(f"{name} is one value; got {array.size}")
    if item.dtype.kind in "iu" and array.dtype.kind in "iu":
        limits = np.iinfo(item.dtype)
        if not limits.min <= int(array.reshape(-1)[0]) <= limits.max:
            raise ValueError(f"{name} is {value}, which {item.dtype} does not hold")
    return item, item.argument(array)


def counter(value: Any, name: str, sizes: int, count: int) -> IteratorBase:
    """An output of ``sizes`` numbers of items, which are at most ``count``.

    Raises:
        TypeError: it is no output of real numbers.
        ValueError: it has fewer items, or they do not hold the count.
    """
    sink = writable(value, name, sizes)
    dtype = np.dtype(np.int64) if sink.item is None else sink.item.dtype
    if dtype.kind not in "iuf":
        raise TypeError(f"{name} has the dtype {dtype}; it gets numbers of items")
    if dtype.kind in "iu" and np.iinfo(dtype).max < count:
        raise ValueError(f"{name} has the dtype {dtype}, which does not hold {count} items")
    return sink


def check_fits(item: ItemType, other: ItemType | None, where: str) -> None:
    """Raise if items of type ``other`` do not convert to ``item``.

    Raises:
        TypeError: they do not.
    """
    if other is not None and not item.fits(other):
        raise TypeError(f"{where} {other.dtype} does not convert to {item.dtype}")


def check_apart(sources: list[IteratorBase], sinks: list[IteratorBase], name: str) -> None:
    """Raise if an output is in the memory of an input.

    Raises:
        ValueError: it is.
    """
    if overlap(sources, sinks):
        raise ValueError(f"{name}: an output is in the memory of an input; use another array")


def overlap(sources: list[IteratorBase], sinks: list[IteratorBase]) -> bool:
    """Whether an output is in the memory of an input."""
    inputs, outputs = (
        arrays.extents([array for each in group for array in each.given_arrays()])
        for group in (sources, sinks)
    )
    return any(low < end and start < high for low, high in outputs for start, end in inputs)


def check_in_place(source: IteratorBase, sink: IteratorBase, name: str) -> None:
    """Raise if an output array is in the memory of an input array at another place: an item might
    be written before it is read.

    Raises:
        ValueError: it is.
    """
    if isinstance(source, Pointer) and isinstance(sink, Pointer):
        ranges = arrays.extents([source.array, sink.array])
        if len(ranges) == 2 and (ranges[0][0], source.item.size) != (ranges[1][0], sink.item.size):
            check_apart([source], [sink], name)


def access(given: IteratorBase) -> Access:
    """A sequence at a launch on the current device."""
    return Access(given.code(), given.state())
