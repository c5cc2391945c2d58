"""From ``k[grid, block](*args)`` to the device. ``Configured.__call__`` is hot.

A launch computes a key from the arguments' classes and looks a plan up. All else (types, checks,
compilation, how to read the arguments) was done when the plan was made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core import trace
from gridlane.core.compact import ANY, COARSE, MANY_BLOCKS, Variant
from gridlane.core.errors import ArgumentError, CompileError, DeviceError
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda import active, compact
from gridlane.cuda.argument_types import KEYS, typeof
from gridlane.cuda.dimensions import Dim3, check_shape, check_shared
from gridlane.cuda.launcher import Launcher
from gridlane.cuda.overlaps import Writebacks, share
from gridlane.cuda.profiles import native_profile
from gridlane.cuda.reader import make_reader
from gridlane.cuda.signatures import conversion, writable
from gridlane.cuda.transfers import Convert, converter, is_direct
from gridlane.runtime.errors import NOT_CAPTURED, KernelStop, fail
from gridlane.runtime.protocol import BoundKernel, Limits
from gridlane.runtime.stream_queue import BUSY, wait_for_streams

if TYPE_CHECKING:
    from gridlane.cuda.dispatcher import Dispatcher

_current = threading.local()


def current_launch_config() -> Launching | None:
    """The launch for which this thread is compiling, or None."""
    return getattr(_current, "config", None)


def ensure_current_launch_config() -> Launching:
    """The launch for which this thread is compiling; RuntimeError when there is none."""
    config = current_launch_config()
    if config is None:
        raise RuntimeError("No launch config set for this thread")
    return config


@contextmanager
def capture_compile_config(dispatcher: Dispatcher) -> Iterator[dict[str, Launching | None]]:
    """In the with block, the launch for which ``dispatcher`` compiles, as item "config"."""
    seen: dict[str, Launching | None] = {"config": None}
    original = dispatcher._compile_for_args

    def watched(*args: Any) -> Any:
        seen["config"] = current_launch_config()
        return original(*args)

    replaced = dispatcher.__dict__.get("_compile_for_args")
    dispatcher.__dict__["_compile_for_args"] = watched
    try:
        yield seen
    finally:
        del dispatcher.__dict__["_compile_for_args"]
        if replaced is not None:
            dispatcher.__dict__["_compile_for_args"] = replaced


@dataclass(frozen=True, slots=True)
class Plan:
    """How to launch a kernel with arguments of given types and a given block shape.

    Attributes:
        read: arguments to parameter bytes.
        kernel: the loaded kernel with its block shape.
        launch: the kernel's ``launch``.
        converts: for each argument what it needs before ``read``; () when none needs any.
        static_shared: bytes of a block's static shared memory.
        argtypes: the kernel's.
        variant: for which launches it is.
        holds: whether parameters are such that a launch is compact, where the hot call has to ask.
        waits: host arrays are used in place or copied back, so the caller sees results on return,
            on every stream, as CUDA's copies to pageable memory have it.
    """

    read: Callable[..., bytes]
    kernel: BoundKernel
    launch: Callable[[bytes, int, int, int, int], None]
    converts: tuple[Convert | None, ...]
    static_shared: int
    waits: bool
    argtypes: tuple[Any, ...] = ()
    variant: Variant = ANY
    holds: Callable[[bytes], bool] | None = None


SLOTS = (
    "_fast",
    "_local",
    "_plans",
    "blockdim",
    "dispatcher",
    "griddim",
    "gx",
    "gy",
    "gz",
    "sharedmem",
    "stream",
)


class Launching(ProcessBound):
    """A kernel with its grid, block, stream and dynamic shared memory: all but the hot call."""

    __slots__ = ()
    _instead = "pass the kernel, which is pickled by its name, and configure it there: kernel[1, 1]"
    _fast: dict[Hashable, Plan]
    _local: threading.local
    _plans: dict[Hashable, Plan]
    blockdim: Dim3
    dispatcher: Dispatcher
    griddim: Dim3
    gx: int
    gy: int
    gz: int
    sharedmem: int
    stream: Any

    def __init__(
        self, dispatcher: Dispatcher, griddim: Dim3, blockdim: Dim3, stream: Any, sharedmem: int
    ) -> None:
        super().__init__()
        self.dispatcher = dispatcher
        self.griddim = griddim
        self.gx, self.gy, self.gz = griddim
        self.blockdim = blockdim
        self.stream = stream
        self.sharedmem = sharedmem
        # Plans that this grid and shared memory were checked with, and that need no more than
        # reading and launching on the caller.
        self._fast = {}
        self._plans = dispatcher.plans_of(blockdim)
        self._local = threading.local()

    if TYPE_CHECKING:  # each subclass has its own, which a method here would hide

        def __call__(self, *args: Any) -> None: ...

    @property
    def args(self) -> tuple[Any, ...] | None:
        """The arguments of the launch for which this thread compiles, or None."""
        return getattr(self._local, "args", None)

    def _launch_slowly(self, args: tuple[Any, ...]) -> None:
        """A launch that makes its plan, converts arguments, or goes to a stream."""
        dispatcher = self.dispatcher
        back = Writebacks()
        if dispatcher.extensions:
            args = self._extended(args, back)
        given, args = args, dispatcher.checked(args, self.stream)
        key = tuple([KEYS[arg.__class__](arg) for arg in args])
        device = active.device()
        limits = device.limits
        check_shape(
            dispatcher.__name__, self.griddim, self.blockdim, limits, dispatcher.launch_bounds
        )
        variant = self._variant(args, limits)
        plan = self._plans.get((device.ordinal, key, variant))
        if plan is None:
            plan, args = self._make_plan(args, back, variant)
            self._plans[device.ordinal, key, variant] = plan
        elif plan.converts:
            args = _converted(plan.converts, args, back)
        params = plan.read(*args)
        slots = plan.kernel.artifact.params
        if plan.variant.compact and not compact.parameters_hold(slots, params):
            plan = self._plan_for_any(plan, (device.ordinal, key, ANY))
        check_shared(dispatcher.__name__, plan.static_shared, self.sharedmem, limits)
        stream = self.stream.native
        traced = trace.enabled()
        if not plan.converts and not dispatcher.extensions and not traced:
            self._remember(key, plan, args, given)  # a launch that is traced comes here each time
        if stream.capturing and (back or plan.waits):
            fail(
                NOT_CAPTURED,
                f"{dispatcher.__name__}: a launch with a host array is waited for",
                "copy it with cuda.to_device before the capture",
            )
        if traced:
            _tell(self, plan, len(back))
        stream.launch(plan.kernel, params, self.gx, self.gy, self.gz, self.sharedmem, args)
        if back or (plan.waits and not stream.inline):
            stream.synchronize()
            for write in back:
                write()

    def _extended(self, args: tuple[Any, ...], back: Writebacks) -> tuple[Any, ...]:
        """The arguments as the dispatcher's extensions, the last one first, change them."""
        changed = []
        for value in args:
            type_ = None
            for extension in reversed(self.dispatcher.extensions):
                type_, value = extension.prepare_args(type_, value, stream=self.stream, retr=back)
            changed.append(value)
        return tuple(changed)

    def mark_kernel_as_launch_config_sensitive(self) -> None:
        """Accepted for numba's sake; see Dispatcher."""
        self.dispatcher.mark_launch_config_sensitive()

    def _variant(self, args: tuple[Any, ...], limits: Limits) -> Variant:
        """The code to take, as far as can be told from arguments that are not converted yet."""
        return ANY

    def _plan_for_any(self, plan: Plan, place: Hashable) -> Plan:
        """The plan for arguments of the same types as ``plan`` has, of any size."""
        found = self._plans.get(place)
        if found is None:
            dispatcher = self.dispatcher
            bound = dispatcher.kernel_of(plan.argtypes).loaded(self.blockdim)
            bound.explain = dispatcher.user_exception
            found = replace(plan, kernel=bound, launch=bound.launch, variant=ANY)
            self._plans[place] = found
        return found

    def _make_plan(
        self, args: tuple[Any, ...], back: Writebacks, variant: Variant
    ) -> tuple[Plan, tuple[Any, ...]]:
        """The plan for arguments like these, and these, converted."""
        dispatcher = self.dispatcher
        previous, _current.config = current_launch_config(), self
        self._local.args = args
        try:
            kernel = dispatcher.kernel_for(args)
            try:
                bound = kernel.loaded(self.blockdim, variant)
            except (CompileError, DeviceError):
                dispatcher.forget(kernel)
                raise
        finally:
            _current.config = previous
            self._local.args = None
        converts = tuple(converter(arg, want) for arg, want in zip(args, kernel.argtypes))
        args = _converted(converts, args, back)
        artifact = bound.artifact
        bound.explain = dispatcher.user_exception
        read = make_reader(kernel.argtypes, args, artifact.params, artifact.param_bytes)
        used = converts if any(converts) else ()
        waits = any(map(_holds_host_array, args))
        shared = artifact.static_shared
        types = kernel.argtypes
        return Plan(read, bound, bound.launch, used, shared, waits, types, variant), args

    def _remember(
        self, key: Hashable, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
    ) -> None:
        """Make the next launch with arguments like these, which the caller has ``given``, a fast
        one, where there is such."""


class Configured(Launching):
    """A kernel with its grid, block, stream and dynamic shared memory: ``k[grid, block]``."""

    __slots__ = SLOTS

    def __call__(self, *args: Any) -> None:
        """Launch. Hot: a key and a read for the arguments, then the device's own launch."""
        plan = self._fast.get(tuple([KEYS[arg.__class__](arg) for arg in args]))
        if plan is None:
            self._launch_slowly(args)
            return
        if BUSY:
            wait_for_streams()
        try:
            plan.launch(plan.read(*args), self.gx, self.gy, self.gz, self.sharedmem)
        except KernelStop as error:
            raise self.dispatcher.user_exception(error) from None

    def _remember(
        self, key: Hashable, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
    ) -> None:
        if self.stream.inline:
            self._fast[key] = plan


class NativeConfigured(Launching, Launcher):
    """The same for a GPU, whose hot call is ``Launcher``'s."""

    __slots__ = SLOTS

    def _variant(self, args: tuple[Any, ...], limits: Limits) -> Variant:
        return variant_of(self, args, limits)

    def _remember(
        self, key: Hashable, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
    ) -> None:
        profile = native_profile(self, plan, args, given)
        if profile is not None:
            self._install(*profile)

    def _failed(self, code: int, args: tuple[Any, ...]) -> None:
        """What the driver refused has not been launched; the slow way repairs or explains it."""
        active.device().forget_thread()
        self._forget()
        self._launch_slowly(args)


def variant_of(launch: Launching, args: tuple[Any, ...], limits: Limits) -> Variant:
    """The code for a launch on a GPU, as far as can be told from arguments that are not converted
    yet."""
    if not compact.grid_holds(launch.griddim, launch.blockdim):
        return ANY
    if not compact.arguments_seem_small(args):
        return ANY
    many = MANY_BLOCKS * limits.multiprocessors
    coarse = launch.gx % COARSE == 0 and launch.gx * launch.gy * launch.gz >= many
    return Variant(True, coarse)


def _holds_host_array(arg: Any) -> bool:
    if isinstance(arg, tuple):
        return any(map(_holds_host_array, arg))
    return isinstance(arg, np.ndarray)


def _converted(
    converts: Sequence[Convert | None], args: tuple[Any, ...], back: Writebacks
) -> tuple[Any, ...]:
    """The arguments as the reader meets them; ``back`` collects what to do after the launch."""
    if len(args) > 1 and any(converts):
        share(args, back, is_direct)
    return tuple(f(arg, back) if f else arg for f, arg in zip(converts, args))


def _tell(launch: Launching, plan: Plan, copies: int) -> None:
    """Say of a launch what is launched where, by which code, and what that does in another way."""
    artifact = plan.kernel.artifact
    kind = " coarse" if plan.variant.coarse else " compact" if plan.variant.compact else ""
    trace.event(
        "launch",
        kernel=launch.dispatcher.__name__,
        device=active.device().name,
        grid=tuple(launch.griddim),
        block=tuple(launch.blockdim),
        shared=plan.static_shared + launch.sharedmem,
        route=f"{artifact.format}{kind}",
        copies=copies,
        emulated="; ".join(artifact.notes) or "nothing",
    )


def check_convertible(
    name: str, parameters: Sequence[str], args: tuple[Any, ...], want: Sequence[Any]
) -> None:
    """Raise ArgumentError, naming the parameter, when an argument does not fit its type."""
    for n, (arg, type_) in enumerate(zip(args, want)):
        have = typeof(arg)
        if conversion(writable(have), writable(type_)) is None:
            raise ArgumentError(
                f"{name}: argument {n + 1}, {parameters[n]!r}, is {have}, and the kernel's "
                f"signature takes {type_}"
            )
