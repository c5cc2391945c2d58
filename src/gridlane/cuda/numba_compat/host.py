"""``numba.jit`` and ``numba.njit``: device functions in kernels. On the host numba compiles them if
it is installed, and they are plain Python if not."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType, ArrayType, NoneType, Signature, none
from gridlane.core.errors import GridlaneError, UnsupportedError
from gridlane.cuda.host import settings
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.kernels.argument_types import KEYS, typeof
from gridlane.cuda.kernels.decorators import jit as cuda_jit
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.cuda.kernels.signatures import Types, is_signature, parse
from gridlane.cuda.numba_compat import installed
from gridlane.cuda.numba_compat.host_overloads import with_overloads
from gridlane.cuda.ufuncs.result_types import calling, result_type

prange = range
_threads = threading.local()


def set_num_threads(n: int) -> None:
    """Set the number that ``get_num_threads`` returns in this thread. Functions of ``njit`` run in
    Python on the host, one thread each, whatever it is.

    Raises:
        ValueError: not between 1 and NUMBA_NUM_THREADS.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise TypeError(f"The number of threads specified must be an integer, not {n!r}")
    if not 1 <= n <= settings.NUMBA_NUM_THREADS:
        raise ValueError(
            f"The number of threads must be between 1 and {settings.NUMBA_NUM_THREADS}, not {n}; "
            "NUMBA_NUM_THREADS sets the bound"
        )
    _threads.number = int(n)


def get_num_threads() -> int:
    """The number that ``set_num_threads`` set in this thread, NUMBA_NUM_THREADS before that."""
    return getattr(_threads, "number", settings.NUMBA_NUM_THREADS)


class HostFunction:
    """A function that kernels may call, and that the host runs as numba compiles it.

    gridlane compiles kernels only: where numba is not installed, the host runs Python, with numpy's
    types of scalars. Inspection shows the function that kernels call, for the types that it was
    called with or declared for.

    Attributes:
        py_func: the Python function.
        targetoptions: the options that it was decorated with.
    """

    __name__: str

    def __init__(
        self, function: Callable[..., Any], signatures: Sequence[Any], options: dict[str, Any]
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.py_func = function
        self.targetoptions = options
        self._device = cuda_jit(function, device=True, fastmath=bool(options.get("fastmath")))
        self._types: dict[Hashable, Types | None] = {}
        self._signatures = signatures
        self._in_python: set[Hashable] = set()
        for signature in signatures:
            with suppress(GridlaneError, TypeError, ValueError):  # types that only the host has
                types = parse(signature).args
                self._types[types] = types

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = tuple([KEYS[arg.__class__](arg) for arg in args])
        if key not in self._types:
            self._meet(key, args)
        function = with_overloads(self.py_func)
        if function is self.py_func and key not in self._in_python and not settings.DISABLE_JIT:
            try:
                return (self.dispatcher or function)(*args, **kwargs)
            except installed.NotCompiledError as error:
                self._in_python.add(key)
                warnings.warn(
                    f"{self.__name__} runs in Python on the host, since numba does not compile "
                    f"it: {error}",
                    NumbaWarning,
                    stacklevel=2,
                )
        return function(*args, **kwargs)

    @functools.cached_property
    def dispatcher(self) -> Callable[..., Any] | None:
        """numba's dispatcher for the host; None where numba is not installed."""
        return installed.compiled(self.py_func, self._signatures, self.targetoptions, HostFunction)

    def _meet(self, key: Hashable, args: tuple[Any, ...]) -> None:
        """Record the types of arguments; None if a kernel cannot have them."""
        if any(isinstance(getattr(arg, "_numba_type_", None), ArgType) for arg in args):
            self._in_python.add(key)  # arrays of devices, whose types numba does not have
        try:
            self._types[key] = tuple(map(typeof, args))
        except (GridlaneError, TypeError, ValueError):
            self._types[key] = None

    @property
    def __gridlane_function__(self) -> Any:
        return self._device.__gridlane_function__

    # ---- the interface of numba's dispatchers

    @property
    def signatures(self) -> list[Types]:
        """The tuples of argument types that it was declared for or called with."""
        return list(dict.fromkeys(types for types in self._types.values() if types is not None))

    @property
    def nopython_signatures(self) -> list[Signature]:
        """The signatures with result types that kernels can call."""
        return [self.overloads[types].signature for types in self.overloads]

    @property
    def overloads(self) -> dict[Types, Overload]:
        """The device functions, for each of the signatures that compiles."""
        compiled: dict[Types, Overload] = {}
        for types in self.signatures:
            with suppress(GridlaneError):
                compiled[types] = Overload(self._device, types)
        return compiled

    def compile(self, sig: Any) -> Overload:
        """Compile the device function for a signature.

        Raises:
            CompileError: the error of the source for it, and its place.
        """
        types = parse(sig).args
        overload = Overload(self._device, types)
        self._types[types] = types
        return overload

    def inspect_types(self, file: Any = None, signature: Any = None) -> None:
        """Print the typed IR of a kernel that calls it, under each signature."""
        for overload in self._chosen(signature).values():
            print(self.__name__, overload.signature, file=file)
            print("-" * 80, file=file)
            print(overload.kernel.inspect_ir(), file=file)
            print("=" * 80, file=file)

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM IR of a kernel that calls it on this device, for a signature or for each."""
        return self._inspected("llvm", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """Assembly of a kernel that calls it on this device, for a signature or for each."""
        return self._inspected("asm", signature)

    def disable_compile(self, val: bool = True) -> None:
        """Accept the call without effect: nothing is compiled on the host."""

    def recompile(self) -> None:
        """Accept the call without effect: kernels compile the function with themselves."""

    def _chosen(self, signature: Any) -> dict[Types, Overload]:
        if signature is None:
            return self.overloads
        types = parse(signature).args
        return {types: Overload(self._device, types)}

    def _inspected(self, stage: str, signature: Any) -> Any:
        texts_by_signature = {
            types: overload.kernel.inspect_native(stage)
            for types, overload in self._chosen(signature).items()
        }
        return texts_by_signature if signature is None else next(iter(texts_by_signature.values()))


class Overload:
    """A device function for arguments of given types.

    Attributes:
        signature: with the result type.
        kernel: one that calls it, and stores its result if it has one.
    """

    def __init__(self, core: Any, types: Types) -> None:
        try:
            result: ArgType | NoneType = result_type(core, types)
        except UnsupportedError:  # it returns nothing, or several values
            result = none
        self.signature = Signature(result, types)
        stored = result is not none
        caller: Callable[..., Any] = calling(core, len(types), stored)
        out = (ArrayType(result, 1, "C"),) if stored else ()
        self.kernel: Kernel = cuda_jit(caller).compile((*types, *out))


def jit(func_or_sig: Any = None, *args: Any, **options: Any) -> Any:
    """Decorate a function that kernels may call; signatures and options for the host are
    accepted."""
    if isinstance(func_or_sig, list) or is_signature(func_or_sig):
        signatures = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
        return lambda function: HostFunction(function, signatures, options)
    if func_or_sig is None:
        return lambda function: HostFunction(function, (), options)
    return HostFunction(func_or_sig, (), options)


njit = jit


def generated_jit(*args: Any, **options: Any) -> Any:
    """Refuse functions that are chosen by the types of their arguments."""
    raise UnsupportedError("generated_jit: write one device function for each type instead")
