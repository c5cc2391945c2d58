"""``vectorize`` for the host: a ufunc with a loop for each combination of types it is called with.

A loop is a kernel on the current device over host arrays; its result type is the function's result
type for the types of the arguments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.argtypes import Signature
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.named import Named
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.ufuncs.generated import core_of
from gridlane.cuda.ufuncs.result_types import result_type
from gridlane.cuda.ufuncs.ufunc import DTypes, UFunc


class HostUFunc(Named):
    """The result of ``vectorize`` without signatures, or with the target ``cpu``.

    Called with host arrays and scalars, it broadcasts them as numpy does. With signatures, it uses
    the first one that the arguments convert to without loss; without, it compiles a loop for each
    new combination of types, until ``disable_compile``.

    Attributes:
        py_func: the Python function, of scalars.
        nin, nout, nargs: the numbers of inputs, outputs, and both.
    """

    nout = 1

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Sequence[Any] = (),
        floats: str | None = None,
    ) -> None:
        if not (isinstance(function, Dispatcher) and function.is_device_function):
            function = getattr(function, "py_func", function)  # of what runs on the host
        self._core = core_of(function, floats, "vectorize")
        self.py_func = self._core.py_func
        self.__name__, self.__doc__ = self._core.__name__, self._core.__doc__
        self.nin = self.py_func.__code__.co_argcount
        self.nargs = self.nin + self.nout
        self._loops: dict[DTypes, UFunc] = {}
        self._can_compile = True
        self._lock = threading.RLock()
        for signature in signatures:
            self.add(signature)
        self._can_compile = not signatures

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        signatures = [each.__gridlane_parts__()[1][1][0] for each in self._loops.values()]
        return HostUFunc, (self._core, () if self._can_compile else signatures)

    def add(self, sig: Any) -> UFunc:
        """The loop for a signature or a tuple of types; compiled at its first use.

        Raises:
            CompileError: the error of the source for such arguments, and its place.
            TypeError: it has another number of arguments, or arrays.
        """
        parsed = parse(sig)
        if len(parsed.args) != self.nin:
            raise TypeError(
                f"{self.__name__} takes {self.nin} arguments, and {parsed} has {len(parsed.args)}"
            )
        result = parsed.return_type or result_type(self._core, parsed.args)
        loop = UFunc(self._core, [Signature(result, parsed.args)])
        with self._lock:
            (types,) = loop.functions
            return self._loops.setdefault(types, loop)

    @property
    def types(self) -> list[str]:
        """The compiled loops in numpy's notation: ``dd->d``."""
        return [
            f"{''.join(dtype.char for dtype in types)}->{loop.functions[types].char}"
            for types, loop in self._loops.items()
        ]

    @property
    def ntypes(self) -> int:
        """The number of loops."""
        return len(self._loops)

    def disable_compile(self) -> None:
        """Compile no further loops."""
        self._can_compile = False

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """Apply to each element; ``out`` takes the result."""
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} arguments, got {len(args)}")
        arrays = [np.asarray(arg) for arg in args]
        types, loop = self._loop_for(tuple(array.dtype for array in arrays))
        wanted = [array.astype(dtype, copy=False) for array, dtype in zip(arrays, types)]
        (target,) = out if isinstance(out, tuple) else (out,)
        result = loop(*wanted, out=target)
        if target is None and not result.shape:
            return result[()]
        return result

    def _loop_for(self, have: DTypes) -> tuple[DTypes, UFunc]:
        """The loop for arguments of types, and the types that it takes."""
        known_loop = self._loops.get(have)
        if known_loop is not None:
            return have, known_loop
        if self._can_compile:
            return have, self.add(tuple(map(from_numpy, have)))
        for types, loop in self._loops.items():
            if all(map(np.can_cast, have, types)):
                return types, loop
        shown = ", ".join(map(str, have))
        raise TypeError(
            f"{self.__name__} has no loop for ({shown}), nor one that they convert to without "
            f"loss; it has {', '.join(self.types)}"
        )

    def reduce(self, array: Any, axis: int = 0) -> Any:
        """Combine the items along an axis, the first with the second and so on."""
        if self.nin != 2:
            raise ValueError("reduce only supported for binary functions")
        items = np.moveaxis(np.asarray(array), axis, 0)
        if not len(items):
            raise ValueError(f"reduction of nothing: {self.__name__} has no identity")
        result = items[0]
        for item in items[1:]:
            result = self(result, item)
        return result

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r} of gridlane>"
