"""``guvectorize``: apply a function of small arrays over the leading axes of larger ones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType, ArrayType, none
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.arrays.creation import device_array
from gridlane.cuda.arrays.devicearray import DeviceNDArray, as_device, to_device
from gridlane.cuda.interop.dlpack_read import as_numpy
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.named import Named
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.ufuncs.generated import core_of, define
from gridlane.launch.geometry import Shape

Symbols = tuple[str, ...]


def parse_layout(text: str) -> tuple[list[Symbols], list[Symbols]]:
    """Parse the axes of inputs and outputs.

    >>> parse_layout("(m, n),(n)->(m)")
    ([('m', 'n'), ('n',)], [('m',)])
    """
    compact = "".join(text.split())
    if not re.fullmatch(r"(\([\w,]*\),?)+->(\([\w,]*\),?)+", compact):
        raise ValueError(f"bad gufunc signature {text!r}; write it as '(m,n),(n)->(m)'")
    left, right = compact.split("->")
    sides = []
    for side in (left, right):
        groups = re.findall(r"\(([\w,]*)\)", side)
        sides.append([tuple(filter(None, group.split(","))) for group in groups])
    unknown = {s for group in sides[1] for s in group} - {s for g in sides[0] for s in g}
    if unknown:
        raise NameError(f"undefined output symbols: {','.join(sorted(unknown))}")
    return sides[0], sides[1]


class _Version:
    """One signature: dtypes of the arguments, and the numbers of axes of the parameters."""

    def __init__(self, types: Sequence[ArgType], nin: int) -> None:
        self.types = types
        self.ndims = [t.ndim if isinstance(t, ArrayType) else 0 for t in types]
        elements = [t.element if isinstance(t, ArrayType) else t for t in types]
        dtypes = [t.numpy for t in elements]  # type: ignore[attr-defined]
        self.inputs, self.outputs = tuple(dtypes[:nin]), tuple(dtypes[nin:])


class GUFunc(Named):
    """The result of ``guvectorize``."""

    def __init__(
        self,
        function: Callable[..., Any],
        layout: str,
        signatures: list[Any],
        floats: str | None = None,
    ) -> None:
        core = core_of(function, floats, "guvectorize")
        self._made_of = core, layout, signatures
        self.__name__ = core.__name__
        self.py_func = core.py_func
        self.__doc__ = core.__doc__
        self.signature = layout
        self.ins, self.outs = parse_layout(layout)
        self.nin, self.nout = len(self.ins), len(self.outs)
        self._versions = [self._version(text) for text in signatures]
        self._kernel = _kernel(core, self.nin + self.nout)

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        return GUFunc, self._made_of

    def _version(self, text: Any) -> _Version:
        signature = parse(text)
        if signature.return_type not in (None, none):
            raise TypeError(
                f"guvectorized functions cannot return values: signature {signature} specifies "
                f"{signature.return_type} return type"
            )
        if len(signature.args) != self.nin + self.nout:
            raise TypeError(f"{signature} does not fit the layout {self.signature}")
        return _Version(signature.args, self.nin)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Apply over the leading axes, which broadcast.

        The result is a device array if an argument is one, else a host array. The function may read
        what ``out`` holds; an ``out`` of another dtype than the signature's is converted before and
        after.

        Raises:
            TypeError: no signature fits, or its result does not convert to the dtype of ``out`` as
                numpy's "same_kind" has it.
        """
        inputs, outputs = self._sorted(args, out)
        version = self._choose(inputs)
        inputs = self._scalars([_cast(a, dtype) for a, dtype in zip(inputs, version.inputs)])
        loop, sizes = self._schedule(inputs)
        shapes = [(*loop, *(sizes[s] for s in symbols)) for symbols in self.outs]
        for shape, given, dtype in zip(shapes, outputs, version.outputs):
            _check_output(self.__name__, given, shape, dtype)
        count = math.prod(loop)
        if not count:
            raise AssertionError("zero looping dimension")
        on_device = any(isinstance(a, DeviceNDArray) for a in (*inputs, *outputs))
        devices = [
            _looped(a, loop, count, tuple(sizes[s] for s in symbols), ndim, stream)
            for a, symbols, ndim in zip(inputs, self.ins, version.ndims)
        ]
        results = [
            _output(given, shape, dtype, stream)
            for given, shape, dtype in zip(outputs, shapes, version.outputs)
        ]
        devices += [
            _reshaped(r, count, r.shape[len(loop) :], ndim)
            for r, ndim in zip(results, version.ndims[self.nin :])
        ]
        self._kernel.forall(count, stream=stream)(*devices)
        final = [_finished(r, g, on_device, stream) for r, g in zip(results, outputs)]
        return final[0] if len(final) == 1 else tuple(final)

    def _sorted(self, args: tuple[Any, ...], out: Any) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs; None for an omitted output."""
        nin, both = self.nin, self.nin + self.nout
        if out is None and len(args) not in (nin, both):
            raise TypeError(
                f"This gufunc accepts {_positional(nin)} (when providing input only) or "
                f"{_positional(both)} (when providing input and output). "
                f"Got {_positional(len(args))}."
            )
        if out is not None and len(args) > nin:
            raise ValueError("cannot specify argument 'out' as both positional and keyword")
        arrays = [
            a if isinstance(a, DeviceNDArray) else np.asarray(as_numpy(a))
            for a in map(as_device, args)
        ]
        if out is not None:
            given = out if isinstance(out, tuple) else (out,)
            arrays += [as_device(o) for o in given]
        missing = both - len(arrays)
        return arrays[:nin], arrays[nin:] + [None] * missing

    def _choose(self, inputs: list[Any]) -> _Version:
        """The version with these dtypes; else the first that they convert to, or from."""
        have = tuple(a.dtype for a in inputs)
        for version in self._versions:
            if version.inputs == have:
                return version
        # numba accepts a version whose types convert to the arguments'; so does this, second.
        for casts in (lambda a, b: np.can_cast(a, b), lambda a, b: np.can_cast(b, a)):
            for version in self._versions:
                if all(casts(a, b) for a, b in zip(have, version.inputs)):
                    return version
        raise TypeError("no matching signature")

    def _schedule(self, inputs: list[Any]) -> tuple[Shape, dict[str, int]]:
        """The leading axes of the result, and the size of each symbol."""
        sizes: dict[str, int] = {}
        loops = []
        for n, (array, symbols) in enumerate(zip(inputs, self.ins)):
            split = array.ndim - len(symbols)
            if split < 0:
                raise ValueError(
                    f"{self.__name__}: argument {n + 1} has {array.ndim} axes, and the layout "
                    f"{self.signature} asks for {len(symbols)}"
                )
            loops.append(tuple(array.shape[:split]))
            for symbol, size in zip(symbols, array.shape[split:]):
                if sizes.setdefault(symbol, size) != size:
                    raise ValueError(
                        f"{self.__name__}: the axis {symbol} is {sizes[symbol]} in one argument "
                        f"and {size} in another"
                    )
        return np.broadcast_shapes(*loops), sizes

    def _scalars(self, inputs: list[Any]) -> list[Any]:
        """Drop the axis of a one-element array for a scalar, unless other arguments have leading
        axes."""
        looped = [a.ndim > len(s) for a, s in zip(inputs, self.ins)]
        return [
            a.reshape(()) if a.shape == (1,) and not s and sum(looped) == 1 < self.nin else a
            for a, s in zip(inputs, self.ins)
        ]


def _positional(count: int) -> str:
    return f"{count} positional argument{'s' * (count != 1)}"


def _cast(array: Any, dtype: np.dtype) -> Any:
    if array.dtype == dtype:
        return array
    if isinstance(array, DeviceNDArray):
        raise TypeError(
            "compatible signature is possible by casting but "
            f"{type(array)} does not support .astype()"
        )
    return array.astype(dtype)


def _looped(
    array: Any, loop: Shape, count: int, core: Shape, ndim: int, stream: Any
) -> DeviceNDArray:
    """An input as ``count`` cores of ``ndim`` axes on the device."""
    if not isinstance(array, DeviceNDArray) or array.shape != (*loop, *core):
        if isinstance(array, DeviceNDArray):
            array = array.copy_to_host(stream=stream)
        full = np.broadcast_to(array, (*loop, *core))
        array = to_device(np.ascontiguousarray(full), stream)
    return _reshaped(array, count, core, ndim)


def _reshaped(array: DeviceNDArray, count: int, core: Shape, ndim: int) -> DeviceNDArray:
    # A parameter may be declared with more axes than its symbols: a scalar as a 1-element array.
    return array.reshape((count, *core, *(1,) * (ndim - len(core))))


def _check_output(name: str, given: Any, shape: Shape, dtype: np.dtype) -> None:
    if given is None:
        return
    if tuple(given.shape) != shape:
        raise ValueError(f"output shape mismatch: {tuple(given.shape)}, wanted {shape}")
    if not np.can_cast(dtype, given.dtype, "same_kind"):
        raise TypeError(
            f"{name}: cannot cast the output from {dtype} to {given.dtype} with casting rule "
            "'same_kind'"
        )


def _output(given: Any, shape: Shape, dtype: np.dtype, stream: Any) -> DeviceNDArray:
    """A contiguous device array of an output, with what ``out`` holds."""
    if given is None:
        return device_array(shape, dtype, stream=stream)
    if isinstance(given, DeviceNDArray):
        if given.dtype == dtype and given.is_c_contiguous():
            return given
        given = given.copy_to_host(stream=stream)
    return to_device(np.array(given, dtype, order="C", subok=False), stream)


def _finished(result: DeviceNDArray, given: Any, on_device: bool, stream: Any) -> Any:
    if result is given:
        return given
    if isinstance(given, DeviceNDArray):
        given.setitem(..., result.copy_to_host(stream=stream), stream)
        return given
    if given is not None:
        given[...] = result.copy_to_host(stream=stream)
        return given
    if on_device:
        return result
    host = result.copy_to_host(stream=stream)
    return host if host.shape else host[()]


def _kernel(core: Dispatcher, arity: int) -> Dispatcher:
    """The kernel that calls a device function with item i of each argument."""
    from gridlane import cuda  # the names that kernels use are loaded with the first kernel

    names = [f"a{n}" for n in range(arity)]
    text = (
        f"def guvectorized({', '.join(names)}):\n"
        "    i = cuda.grid(1)\n"
        f"    if i < {names[-1]}.shape[0]:\n"
        f"        core({', '.join(f'{name}[i]' for name in names)})\n"
    )
    return jit(define("guvectorized", text, {"cuda": cuda, "core": core}))


def guvectorize(*args: Any, **options: Any) -> Callable[[Callable[..., Any]], GUFunc]:
    """Create a generalised ufunc: ``guvectorize(signatures, "(m,n),(n)->(m)", target="cuda")``.

    ``floats`` is as for ``cuda.jit``.
    """
    if len(args) == 1:
        raise UnsupportedError("guvectorize without signatures: list them before the layout")
    if len(args) != 2:
        raise TypeError("guvectorize() takes one or two positional arguments")
    target = options.pop("target", "cuda")
    if target != "cuda":
        raise ValueError(f"Unsupported target: {target}; gridlane has 'cuda'")
    if options.pop("cache", False):
        raise TypeError("caching is not supported")
    options.pop("identity", None)
    if not options.pop("nopython", True):
        raise TypeError("nopython flag must be True")
    if options.pop("writable_args", ()):
        raise TypeError("writable_args are not supported")
    floats = options.pop("floats", None)
    if options:
        shown = ", ".join(map(repr, options))
        raise TypeError(f"The following target options are not supported: {shown}")
    signatures, layout = args
    listed = [signatures] if isinstance(signatures, str) else list(signatures)
    return lambda function: GUFunc(function, layout, listed, floats)
