"""The result of ``@cuda.jit``: kernels by argument types, compiled when called."""

from __future__ import annotations

import functools
import inspect
import math
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from numbers import Integral
from typing import Any

from gridlane.core.argtypes import Signature
from gridlane.core.device_errors import KernelStop
from gridlane.core.errors import ArgumentError, LaunchError
from gridlane.core.forks import fork_waits
from gridlane.core.options import KernelOptions
from gridlane.core.signatures import signature_of
from gridlane.cuda.host import settings
from gridlane.cuda.host.streams import Stream, as_stream
from gridlane.cuda.host.warnings import NumbaPerformanceWarning, NumbaWarning
from gridlane.cuda.kernels import showing
from gridlane.cuda.kernels.argument_types import check_alignment, typeof
from gridlane.cuda.kernels.arguments import In
from gridlane.cuda.kernels.device_code import DeviceCode
from gridlane.cuda.kernels.external_arrays import resolved
from gridlane.cuda.kernels.inspection import Inspection
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.cuda.kernels.launch import (
    Configured,
    Packing,
    check_convertible,
    current_launch_config,
)
from gridlane.cuda.kernels.launch_table import LaunchTable
from gridlane.cuda.kernels.linkable import links_of
from gridlane.cuda.kernels.named import Named, object_named
from gridlane.cuda.kernels.reading import Reading
from gridlane.cuda.kernels.signatures import Types, as_readonly, parse, resolve, writable
from gridlane.cuda.kernels.sources import with_source
from gridlane.launch.dimensions import MISSING_CONFIGURATION, Dim3, dim3

_FEW_BLOCKS = 128
_STARRED = inspect.Parameter.VAR_POSITIONAL
_FITTING = 256
"""Threads of a block where ``forall`` is given none."""


class Dispatcher(Inspection, Named):
    """A kernel or device function written in Python.

    ``d[griddim, blockdim, stream, sharedmem](*args)`` launches it; the last two are optional.

    Attributes:
        py_func: the Python function.
        overloads: the compiled kernels by their tuple of argument types.
        targetoptions: the options given to ``jit``.
        starred: the number of the parameter ``*args``; None where there is none.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        options: KernelOptions,
        targetoptions: dict[str, Any] | None = None,
        device: bool = False,
    ) -> None:
        functools.update_wrapper(self, py_func, updated=())
        self.py_func = py_func
        self._source_func = with_source(py_func)  # read by the compiler
        self.options = options
        self.targetoptions = targetoptions or {}
        self.is_device_function = device
        self.overloads: dict[Types, Kernel] = {}
        self._reading: dict[Types, Kernel] = {}  # kernels of signatures, for read-only arrays
        self._device_codes: dict[Types, DeviceCode] = {}
        self.specializations: dict[Types, Dispatcher] = {}
        self.device_signatures: tuple[Signature, ...] = ()
        self.extensions: list[Any] = list(self.targetoptions.get("extensions") or ())
        self._links = links_of(self.targetoptions.get("link"))
        self.launch_bounds = _first(self.targetoptions.get("launch_bounds"))
        parameters = signature_of(py_func).parameters
        self._parameters = tuple(parameters)
        stars = [n for n, each in enumerate(parameters.values()) if each.kind is _STARRED]
        self.starred = stars[0] if stars else None
        self._defaults = {
            n: each.default for n, each in parameters.items() if each.default is not each.empty
        }
        self._earlier = Counter(), Counter()  # the statistics of kernels dropped by recompile()
        self._can_compile = True
        self._specialized = False
        self._configured = LaunchTable()
        self._plans: dict[Dim3, dict[Hashable, Reading]] = {}
        self._lock = threading.RLock()
        if self.targetoptions.get("cache"):
            self.enable_caching()

    # --- launching ---

    def __getitem__(self, item: Any) -> Configured:
        """The kernel configured with grid, block, stream and bytes of dynamic shared memory."""
        try:
            configured = self._configured.get(item)
        except TypeError:  # a list for a dimension
            return self._configure(item)
        if configured is None:
            configured = self._configure(item)
            self._configured.keep(item, configured)
        return configured

    def _configure(self, item: Any) -> Configured:
        if not isinstance(item, tuple) or not 2 <= len(item) <= 4:
            raise ValueError("must specify at least the griddim and blockdim" + _GIVEN % (item,))
        return self.configure(*item)

    def configure(
        self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> Configured:
        """Configure a launch, like indexing."""
        if griddim is None or blockdim is None:
            raise ValueError(MISSING_CONFIGURATION)
        if self.is_device_function:
            raise RuntimeError(
                f"Cannot compile a device function as a kernel: {self.__name__} is a device "
                "function, which kernels call"
            )
        grid, block = dim3(griddim, "griddim"), dim3(blockdim, "blockdim")
        if settings.CUDA_LOW_OCCUPANCY_WARNINGS and math.prod(grid) < _FEW_BLOCKS:
            warnings.warn(
                NumbaPerformanceWarning(
                    f"Grid size {math.prod(grid)} will likely result in GPU under-utilization due "
                    "to low occupancy."
                ),
                stacklevel=3,
            )
        queue = as_stream(stream)
        own = Stream(queue.native) if isinstance(queue, Stream) else queue
        if not isinstance(sharedmem, Integral):
            raise TypeError(f"sharedmem must be a number of bytes, got {sharedmem!r}")
        kind = Configured if self.starred is None else Packing
        return kind(self, grid, block, own, int(sharedmem))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: kernels need a grid and a block; device functions are called from kernels."""
        if self.is_device_function:
            raise LaunchError(
                f"{self.__name__} is a device function: it is called from kernels, and its "
                f"Python function is {self.__name__}.py_func"
            )
        raise LaunchError(MISSING_CONFIGURATION)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A 1-D launch of at least ``ntasks`` threads, ``tpb`` per block (0: chosen here)."""
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def plans_of(self, block: Dim3) -> dict[Hashable, Reading]:
        """The plans of launches with this block shape."""
        return self._plans.setdefault(block, {})

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, with those given by name, and defaults for
        those left out.

        Raises:
            ArgumentError: a name is of no parameter, or of one that is given already.
        """
        left = self._parameters[len(args) :]
        for name in keywords:
            if name not in left:
                what = "is given twice" if name in self._parameters else "is no parameter"
                names = ", ".join(self._parameters)
                raise ArgumentError(f"{self.__name__}({names}): {name!r} {what}")
        if not left:
            return args
        values = self._defaults | keywords
        if any(name not in values for name in left):
            missing = ", ".join(name for name in left if name not in values)
            names = ", ".join(self._parameters)
            raise ArgumentError(
                f"{self.__name__}({names}) takes {len(self._parameters)} arguments, "
                f"{len(args) + len(keywords)} were given: {missing} is missing"
            )
        return (*args, *(values[name] for name in left))

    def checked(self, args: tuple[Any, ...], stream: Any) -> tuple[Any, ...]:
        """Check the arguments of a launch on ``stream``, and resolve those of other libraries.

        Raises:
            ArgumentError: their number or types are wrong.
        """
        wanted = len(self._parameters)
        if len(args) != wanted:
            names = ", ".join(self._parameters)
            raise ArgumentError(
                f"{self.__name__}({names}) takes {wanted} arguments, {len(args)} were given"
            )
        arguments = []
        for n, arg in enumerate(args):
            try:
                arguments.append(resolved(arg, stream))
                typeof(arguments[n])
                check_alignment(arguments[n])
            except ArgumentError as error:
                raise ArgumentError(
                    f"{self.__name__}: argument {n + 1}, {self._parameters[n]!r}: {error}"
                ) from error.__cause__
        return tuple(arguments)

    def user_exception(self, error: KernelStop) -> Exception:
        """The exception of a stopped kernel: the user's own class if it is one."""
        cls = _exception_class(error.exception, self.py_func)
        if cls is None:
            return error
        try:
            mine = cls(*error.args)
        except TypeError:  # it has other arguments
            return error
        mine.__cause__ = error
        return mine

    # --- compiling ---

    def kernel_for(self, args: tuple[Any, ...]) -> Kernel:
        """The kernel that takes these arguments; compiled at first use."""
        if self._specialized:
            kernel = next(iter(self.overloads.values()))
            check_convertible(self.__name__, self._parameters, args, kernel.argtypes)
            return self._for_access(kernel, args)
        types = tuple(map(typeof, args))
        kernel = self.overloads.get(types)
        if kernel is not None:
            return kernel
        if self._can_compile:
            return self._compile_for_args(*args)
        # Signatures need not say readonly: the arguments decide what a kernel may write.
        plain = tuple(map(writable, types))
        overload = self.overloads[resolve(repr(self.py_func), self.overloads, plain)]
        return self._for_access(overload, args)

    def _for_access(self, kernel: Kernel, args: tuple[Any, ...]) -> Kernel:
        """The kernel of a signature. If an argument is read-only and the signature's array is
        writable, the variant for that, which is refused if it stores there."""
        # cuda.In gives the kernel a copy of its own.
        have = [want if isinstance(a, In) else typeof(a) for a, want in zip(args, kernel.argtypes)]
        types = tuple(map(as_readonly, kernel.argtypes, have))
        if types == kernel.argtypes:
            return kernel
        with self._lock:
            kernel_of_types = self._reading.get(types)
            if kernel_of_types is None:
                kernel_of_types = self._reading[types] = Kernel(
                    self._source_func, types, self.options, self._links
                )
            return kernel_of_types

    def kernel_of(self, types: Types) -> Kernel:
        """The kernel that a launch looked up by types."""
        return self.overloads.get(types) or self._reading[types]

    def _compile_for_args(self, *args: Any) -> Kernel:
        # The launch compiles the code next, and raises the errors of the source then.
        return self._add(tuple(map(typeof, args)))

    def compile(self, sig: Any) -> Kernel:
        """Compile the kernel for a signature or a tuple of types.

        Raises:
            CompileError: the error of the source, and its place.
        """
        if self._specialized:
            return next(iter(self.overloads.values()))
        kernel = self._add(parse(sig).args)
        try:
            _ = kernel.module
        except BaseException:
            self.forget(kernel)
            raise
        return kernel

    def forget(self, kernel: Kernel) -> None:
        """Drop a kernel that does not compile."""
        self.overloads.pop(kernel.argtypes, None)
        self._reading.pop(kernel.argtypes, None)

    def _add(self, types: Types) -> Kernel:
        with fork_waits(), self._lock:
            overload = self.overloads.get(types)
            if overload is not None:
                return overload
            if not self._can_compile:
                raise RuntimeError("Compilation disabled")
            if len(types) != len(self._parameters):
                raise ArgumentError(
                    f"{self.__name__} has {len(self._parameters)} parameters, and the signature "
                    f"{len(types)} types"
                )
            kernel = Kernel(self._source_func, types, self.options, self._links)
            launch = current_launch_config()
            if launch is not None and launch.dispatcher is self:
                kernel.launch_config_sensitive = getattr(self, "_sensitive", False)
            self.overloads[types] = kernel
            return kernel

    def disable_compile(self, val: bool = True) -> None:
        """Compile no further argument types."""
        self._can_compile = not val

    def recompile(self) -> None:
        """Drop all compiled code, and compile the same signatures again."""
        with fork_waits(), self._lock:
            types = list(self.overloads)
            _, *self._earlier = self.stats
            self.overloads.clear()
            self._reading.clear()
            self._plans.clear()
            self._configured.clear()
            allowed, self._can_compile = self._can_compile, True
            specialized, self._specialized = self._specialized, False
            try:
                for each in types:
                    self.compile(each)
            finally:
                self._can_compile, self._specialized = allowed, specialized

    def specialize(self, *args: Any) -> Dispatcher:
        """A dispatcher for one tuple of argument types, from arguments or types."""
        if self._specialized:
            raise RuntimeError("Dispatcher already specialized")
        types = tuple(map(typeof, args))
        dispatcher = self.specializations.get(types)
        if dispatcher is None:
            dispatcher = Dispatcher(self.py_func, self.options, self.targetoptions)
            dispatcher.compile(types)
            dispatcher.disable_compile()
            dispatcher._specialized = True
            self.specializations[types] = dispatcher
        return dispatcher

    @property
    def specialized(self) -> bool:
        """Whether the dispatcher is fixed to one signature."""
        return self._specialized

    def mark_launch_config_sensitive(self) -> None:
        """Accept numba's mark without effect: code is specific to a block shape anyway."""
        self._sensitive = True

    def enable_caching(self) -> None:
        """Warn where the disk cache, which is always on, cannot keep the code."""
        problem = _cache_problem()
        if problem:
            warnings.warn(
                f"{self.__name__}: cache=True, and compiled kernels are not kept: {problem}; "
                "GRIDLANE_CACHE_DIR and NUMBA_CACHE_DIR name another directory",
                NumbaWarning,
                stacklevel=2,
            )

    @functools.cached_property
    def __gridlane_function__(self) -> Any:
        from gridlane.frontends.python.device_function import DeviceFunction

        own = self.targetoptions.get("floats")
        return DeviceFunction(self._source_func, self.options, self.device_signatures, own)

    def __repr__(self) -> str:
        return showing.kernel_text(self)

    def _repr_html_(self) -> str:
        return showing.kernel_html(self)

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        from gridlane.cuda.kernels.sending import parts_of  # few programs need it

        return parts_of(self)


@functools.cache
def _cache_problem() -> str:
    """Why the directory of the disk cache cannot be used; "" where it can, or is off on purpose."""
    from gridlane.compiler.cache import default_cache

    cache = default_cache()
    return "" if cache is None else cache.problem()


def _exception_class(name: str, function: Callable[..., Any]) -> type[Exception] | None:
    """The class of a user's exception, which a kernel names as ``module:qualified name``."""
    module, _, path = name.rpartition(":")
    seen = inspect.getclosurevars(function)
    for value in (*seen.nonlocals.values(), *seen.globals.values()):
        if isinstance(value, type) and (value.__module__, value.__qualname__) == (module, path):
            return value if issubclass(value, Exception) else None
    exception = object_named(module, path)
    return exception if isinstance(exception, type) and issubclass(exception, Exception) else None


def _first(bounds: Any) -> int | None:
    """The largest number of threads of a block, from launch bounds."""
    return bounds[0] if isinstance(bounds, (tuple, list)) else bounds


_GIVEN = ", as in kernel[griddim, blockdim, stream, sharedmem]; got %r"


class ForAll:
    """A 1-D launch over a number of tasks; the kernel checks the bounds."""

    def __init__(
        self, dispatcher: Dispatcher, ntasks: int, tpb: int, stream: Any, sharedmem: int
    ) -> None:
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        self.dispatcher = dispatcher
        self.ntasks = ntasks
        self.thread_per_block = tpb
        self.stream = stream
        self.sharedmem = sharedmem

    def __repr__(self) -> str:
        more = f", sharedmem={self.sharedmem}" if self.sharedmem else ""
        more += f", stream={self.stream!r}" if self.stream else ""
        block = self.thread_per_block or _FITTING
        return (
            f"<launch of {self.dispatcher.__name__} for {self.ntasks} tasks: block={block}{more}>"
        )

    def __call__(self, *args: Any, **keywords: Any) -> None:
        if not self.ntasks:
            return
        block = self.thread_per_block or _FITTING
        grid = -(-self.ntasks // block)
        self.dispatcher[grid, block, self.stream, self.sharedmem](*args, **keywords)
