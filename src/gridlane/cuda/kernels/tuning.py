"""``cuda.tune``: the fastest launch shape and constants of a kernel, by measurement."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gridlane.core import argtypes
from gridlane.core.encoding import NotEncodable, encode
from gridlane.core.errors import ArgumentError, GridlaneError
from gridlane.core.generated_text import function_of
from gridlane.cuda.arrays.devicearray import to_device
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3, dim3
from gridlane.profiler.access import accesses
from gridlane.tuning import classes, memory
from gridlane.tuning.errors import TuningError
from gridlane.tuning.estimates import microseconds
from gridlane.tuning.schedules import Schedules
from gridlane.tuning.search import MOST, SECONDS
from gridlane.tuning.spaces import Candidate, Space
from gridlane.tuning.work import Path, work_of

if TYPE_CHECKING:
    from gridlane.ir.values import Module

BLOCKS = 256, 32, 64, 128, 512, 1024
"""Blocks of a space that has none; the first is the plain schedule's."""
_LAUNCH = "block", "sharedmem", "max_registers"
"""Parameters of a space that are the launch's."""
_MOST_KNOWN = 256
Given = Any


class TunedKernel(Schedules):
    """A kernel that is launched with the fastest of its schedules.

    Calling it with arguments launches the schedule that was found for their shape class.

    Args:
        kernel: of ``cuda.jit``.
        space: values of ``block``, ``sharedmem`` and ``max_registers``, and of parameters of the
            kernel, which become constants of its code.
        grid: blocks; or a function of values of the space and of arguments, by their names.
        block: threads of a block, where the space has none.
        sharedmem: bytes of dynamic shared memory; or such a function.
        options: of ``tuning.search.tune``.

    Attributes:
        best: the values of the fastest schedule for the arguments that were tuned last.
        tuning: all of what was tried for these.
    """

    def __init__(
        self,
        kernel: Dispatcher,
        space: Space,
        grid: Given,
        block: Given = None,
        sharedmem: Given = 0,
        **options: Any,
    ) -> None:
        super().__init__(space, **options)
        self.kernel, self.grid, self.block, self.sharedmem = kernel, grid, block, sharedmem
        self.name = kernel.__name__
        names = [*inspect.signature(kernel.py_func).parameters]
        both = [name for name in names if name in _LAUNCH and name in space.parameters]
        if both:
            raise TuningError(f"tune: {both[0]!r} is the launch's and the kernel's; rename one")
        known = {*names, *_LAUNCH}
        unknown = [name for name in space.parameters if name not in known]
        if unknown:
            raise TuningError(
                f"tune: {unknown[0]!r} is no parameter of {kernel.__name__}({', '.join(names)}), "
                f"and none of {', '.join(_LAUNCH)}"
            )
        if "block" in space.parameters and block is not None:
            raise TuningError("tune: block= is given, and the space has blocks")
        self.constants = [name for name in names if name in space.parameters]
        self.names = [name for name in names if name not in self.constants]
        if self.constants and kernel.starred is not None:
            raise TuningError(f"tune: {kernel.__name__} takes *args, and no constants beside them")
        self._kernels: dict[Hashable, Dispatcher] = {}

    def subject(self, args: tuple[Any, ...]) -> KernelSubject:
        """The kernel with arguments."""
        if len(args) != len(self.names):
            raise ArgumentError(
                f"{self.name}({', '.join(self.names)}) takes {len(self.names)} arguments, "
                f"{len(args)} were given"
            )
        return KernelSubject(self, args)

    def of(self, candidate: Candidate) -> Dispatcher:
        """The kernel with the constants and options of a candidate."""
        values = candidate.named
        key = tuple(
            [
                (type(values[n]), values[n])
                for n in (*self.constants, "max_registers")
                if n in values
            ]
        )
        known = self._kernels.get(key)
        if known is None:
            known = self._kernels[key] = self._made(values)
        return known

    def _made(self, values: Mapping[str, Any]) -> Dispatcher:
        kernel, options = self.kernel, self.kernel.options
        if values.get("max_registers") is not None:
            options = replace(options, max_registers=int(values["max_registers"]))
        if not self.constants:
            same = options == kernel.options
            return kernel if same else Dispatcher(kernel.py_func, options, kernel.targetoptions)
        places = frozenset(self._all.index(name) for name in self.constants)
        own = kernel.__gridlane_function__
        inner = replace(own, options=options, constants=places)
        scope = {f"{name}_constant": values[name] for name in self.constants}
        names = [f"{n}_constant" if n in scope or n in self.constants else n for n in self._all]
        name = f"{kernel.__name__}_tuned"
        text = f"def {name}({', '.join(self.names)}):\n    kernel({', '.join(names)})\n"
        function = function_of(text, name, {"kernel": inner, **scope})
        return Dispatcher(function, options, kernel.targetoptions)

    @property
    def _all(self) -> list[str]:
        return [*inspect.signature(self.kernel.py_func).parameters]

    def shape(self, candidate: Candidate, args: tuple[Any, ...]) -> tuple[Dim3, Dim3, int]:
        """The grid, the block and the bytes of shared memory of a candidate."""
        values = {**dict(zip(self.names, args, strict=True)), **candidate.named}
        values.setdefault("block", self.block)
        block = dim3(values["block"], "block")
        shared = values.get("sharedmem", self.sharedmem)
        return dim3(_called(self.grid, values), "grid"), block, int(_called(shared, values))

    def launch(self, candidate: Candidate, args: tuple[Any, ...]) -> None:
        """Launch a candidate on the default stream."""
        grid, block, shared = self.shape(candidate, args)
        self.of(candidate)[grid, block, 0, shared](*args)


def _called(function: Given, values: Mapping[str, Any]) -> Any:
    """A value, or that of a function of some values by their names."""
    if not callable(function):
        return function
    parameters = inspect.signature(function).parameters
    missing = [
        name
        for name, each in parameters.items()
        if name not in values and each.default is each.empty and each.kind is not each.VAR_KEYWORD
    ]
    if missing:
        raise TuningError(
            f"tune: a function of the launch takes {missing[0]!r}, which is neither of the space "
            f"nor an argument; there are {', '.join(values)}"
        )
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return function(**values)
    return function(**{name: values[name] for name in parameters if name in values})


class KernelSubject:
    """A kernel with arguments; see ``tuning.search.Subject``."""

    def __init__(self, tuned: TunedKernel, args: tuple[Any, ...]) -> None:
        self.tuned, self.args = tuned, on_device(args)
        self.name = tuned.name
        self.fastmath = tuned.kernel.options.fastmath
        self.shapes = ", ".join(map(shape_class, args))
        self.arrays = memory.arrays_in(self.args)
        self.numbers = numbers_of(self.args)

    @property
    def source(self) -> bytes:
        """The kernel's text with what it captures, its options, and the launch's functions."""
        from gridlane.frontends.python.fingerprint import fingerprint

        tuned = self.tuned
        try:
            parts = [fingerprint(tuned.kernel.py_func, placed=False), encode(tuned.kernel.options)]
            for each in (tuned.grid, tuned.block, tuned.sharedmem):
                parts.append(_fixed(each))
        except (NotEncodable, GridlaneError):
            return b""
        return b"".join(parts)

    @property
    def outputs(self) -> frozenset[int]:
        """The arrays that the plain schedule writes and does not read, and that have memory of
        their own."""
        return outputs_of(self._kernel(self.tuned.space.plain).module, self.args, self.arrays)

    def _kernel(self, candidate: Candidate) -> Kernel:
        dispatcher = self.tuned.of(candidate)
        return dispatcher.kernel_for(dispatcher.checked(self.args, 0))

    def prepare(self, candidate: Candidate) -> None:
        """Compile for a candidate's block."""
        _, block, _ = self.tuned.shape(candidate, self.args)
        self._kernel(candidate).bound(block)

    def launch(self, candidate: Candidate) -> None:
        """Launch a candidate."""
        self.tuned.launch(candidate, self.args)

    def estimate(self, candidate: Candidate) -> float:
        """By the user's function, or by the kernel's IR and the launch's shape."""
        if self.tuned.rank is not None:
            return float(self.tuned.rank(**candidate.named))
        grid, block, shared = self.tuned.shape(candidate, self.args)
        work = work_of(self._kernel(candidate).module, self.numbers, grid, block)
        return microseconds(work, grid, block, current.device(), shared)

    def kind(self, candidate: Candidate) -> Hashable:
        """Each candidate is one."""
        return candidate.values


def outputs_of(module: Module, args: Sequence[Any], arrays: Sequence[Any]) -> frozenset[int]:
    """The numbers of the arrays that a kernel writes and does not read, and whose memory is that of
    no other one.

    Args:
        args: those that become the kernel's parameters.
        arrays: those among all arguments.
    """
    touched = accesses(module)
    if touched.others:
        return frozenset()
    params = module.kernel.params
    read = {params[number].argument for number in touched.read}
    written = {params[number].argument for number in touched.written} - read
    alone = memory.apart(arrays)
    return frozenset(
        number
        for number, array in enumerate(arrays)
        if number in alone and any(args[place] is array for place in written)
    )


def on_device(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with copies of NumPy's arrays in the device's memory, where that is another one: a
    launch is measured without copies. Arrays that share memory stay."""
    arrays = [each for each in args if isinstance(each, np.ndarray)]
    if current.device().host_visible or len(memory.apart(arrays)) < len(arrays):
        return args
    return tuple([to_device(each) if isinstance(each, np.ndarray) else each for each in args])


def numbers_of(args: tuple[Any, ...]) -> dict[tuple[int, Path], int | float]:
    """What is known of arguments, as ``work_of`` has it."""
    found: dict[tuple[int, Path], int | float] = {}
    for place, value in enumerate(args):
        if isinstance(value, int | float | np.integer | np.floating):
            found[place, ()] = value.item() if isinstance(value, np.generic) else value
        for axis, extent in enumerate(getattr(value, "shape", ())):
            found[place, ("shape", axis)] = int(extent)
    return found


def _fixed(value: Any) -> bytes:
    """The bytes of a number, a tuple, or a function of Python."""
    from gridlane.frontends.python.fingerprint import fingerprint

    return fingerprint(value, placed=False) if inspect.isfunction(value) else encode(value)


def shape_class(value: Any) -> str:
    """The class of an argument: its type with the class of its shape or number."""
    kind = typeof(value)
    if isinstance(kind, argtypes.ArrayType):
        return f"{kind}{classes.of_shape(value.shape)}"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return f"{kind} {classes.of_number(int(value))}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shape_class, cast('tuple[Any, ...]', value)))})"
    return str(kind)


def tune(
    kernel: Dispatcher,
    args: Sequence[Any],
    space: Mapping[str, Iterable[Any]] | None = None,
    *,
    grid: int | tuple[int, ...] | Callable[..., Any],
    block: int | tuple[int, ...] | None = None,
    sharedmem: int | Callable[..., int] = 0,
    seconds: float = SECONDS,
    most: int = MOST,
    plain: Mapping[str, Any] | None = None,
    where: Callable[..., bool] | None = None,
    tolerance: float | None = None,
    rank: Callable[..., float] | None = None,
) -> TunedKernel:
    """Find the fastest launch shape and constants of a kernel for arguments, inside a deadline.

    All candidates are ranked by an estimate, and at most ``most`` of them measured. Those whose
    results are not those of the plain schedule are thrown out. Arrays have the values that they
    had, when it returns. Results are kept on disk.

    Args:
        kernel: of ``cuda.jit``.
        args: the arguments, without the parameters that the space has.
        space: values of ``block``, ``sharedmem``, ``max_registers``, and of parameters of the
            kernel, which become constants of its code; by default blocks from 32 to 1024.
        grid: blocks, or a function of values of the space and arguments, by name.
        block: threads of a block, where the space has none.
        sharedmem: bytes of dynamic shared memory, or such a function.
        seconds: the deadline; compilations are not interrupted.
        most: the most candidates that are measured.
        plain: the values of the plain schedule; the first of each parameter that it leaves out.
        where: whether a combination of values is a candidate.
        tolerance: what floats may differ by, relative to the largest of an array; None for equal
            bits, or under ``fastmath`` what is usual for their type.
        rank: a number for values by name, in place of the estimate; small ones come first.

    Raises:
        TuningError: there is no candidate, or no time, or the plain schedule does not end in it.
        CompileError: the plain schedule does not compile; located.

    >>> import numpy as np
    >>> from gridlane import cuda
    >>> @cuda.jit
    ... def scale(x, out, ITEMS):
    ...     first = cuda.grid(1) * ITEMS
    ...     for i in range(first, min(first + ITEMS, x.size)):
    ...         out[i] = 2 * x[i]
    >>> x, out = np.arange(1000.0), np.zeros(1000)
    >>> tuned = cuda.tune(
    ...     scale, (x, out), {"block": [64, 128], "ITEMS": [1, 4]},
    ...     grid=lambda x, block, ITEMS: -(-x.size // (block * ITEMS)), seconds=5,
    ... )
    >>> sorted(tuned.best)
    ['ITEMS', 'block']
    >>> tuned(x, out)
    >>> float(out[999])
    1998.0
    """
    if not isinstance(kernel, Dispatcher) or kernel.is_device_function:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TuningError(f"tune: a kernel of cuda.jit is tuned, not {kernel!r}")
    if space is None:
        space = {"block": BLOCKS} if block is None else {}
    if block is None and "block" not in space:
        space = {"block": BLOCKS, **space}
    made = Space(space, plain, where)
    tuned = TunedKernel(
        kernel, made, grid, block, sharedmem, seconds=seconds, most=most, tolerance=tolerance,
        rank=rank,
    )  # fmt: skip
    tuned.tune(*args)
    return tuned
