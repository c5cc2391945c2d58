"""Launch a kernel with ``k[grid, block](*args)``. The call is hot.

A launch computes a key from the arguments' classes and looks a plan up. The plan's creation did all
other work: types, checks, compilation, the readers of the arguments.
"""

# pyright: reportPrivateUsage=false
# What kernels hide is hidden from users, not from this room.

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core import trace
from gridlane.core.argtypes import ArrayType, ScalarType
from gridlane.core.compact import Variant
from gridlane.core.device_errors import NOT_CAPTURED, fail, noted
from gridlane.core.errors import ArgumentError, CompileError, DeviceError, GridlaneError
from gridlane.cuda.host.streams import Stream
from gridlane.cuda.interop.torch_streams import captured_stream
from gridlane.cuda.kernels import showing
from gridlane.cuda.kernels.argument_types import KEYS, is_shared, typeof
from gridlane.cuda.kernels.expected import expected_buffers
from gridlane.cuda.kernels.external_arrays import user_argument
from gridlane.cuda.kernels.overlaps import Writebacks, share
from gridlane.cuda.kernels.reading import Launchable, Reading
from gridlane.cuda.kernels.routes import Route, route_of
from gridlane.cuda.kernels.signatures import as_other_sign, conversion, writable
from gridlane.cuda.kernels.tracebacks import shortened
from gridlane.cuda.kernels.transfers import Convert, converter, is_direct
from gridlane.frontends.python.extensions import is_users
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3, check_shape
from gridlane.launch.launcher import Launcher
from gridlane.launch.packing import packer
from gridlane.launch.plan import Plan
from gridlane.runtime import protocol
from gridlane.runtime.queues.host_stream import LEFT, DefaultHostStream

if TYPE_CHECKING:
    from gridlane.cuda.kernels.kernel import Kernel

_current = threading.local()


def current_launch_config() -> Configured | None:
    """The launch for which this thread is compiling, or None."""
    return getattr(_current, "config", None)


def ensure_current_launch_config() -> Configured:
    """The launch for which this thread is compiling; RuntimeError when there is none."""
    config = current_launch_config()
    if config is None:
        raise RuntimeError("No launch config set for this thread")
    return config


@contextmanager
def capture_compile_config(dispatcher: Launchable) -> Generator[dict[str, Configured | None]]:
    """Collect, in the with block, the launch for which ``dispatcher`` compiles as item "config"."""
    seen: dict[str, Configured | None] = {"config": None}
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


SLOTS = (
    "_fast", "_local", "_own", "_plans", "_route", "blockdim", "dispatcher", "griddim", "gx", "gy",
    "gz", "sharedmem", "stream",
)  # fmt: skip


class Launching:
    """A kernel with its grid, block, stream and dynamic shared memory, lacking only the call."""

    __slots__ = ()
    _fast: dict[Hashable, Any]
    _forget: Callable[[], None]
    _go: Callable[[Callable[[Any, tuple[Any, ...]], None]], None]
    _local: threading.local
    _own: Any
    _plans: dict[Hashable, Reading]
    _route: Route | None
    blockdim: Dim3
    dispatcher: Launchable
    griddim: Dim3
    gx: int
    gy: int
    gz: int
    sharedmem: int
    stream: Any

    if TYPE_CHECKING:  # a method here would hide the launcher's

        def __call__(self, *args: Any, **keywords: Any) -> None: ...

    def __init__(
        self, dispatcher: Launchable, griddim: Dim3, blockdim: Dim3, stream: Any, sharedmem: int
    ) -> None:
        super().__init__()
        self.dispatcher = dispatcher
        self.griddim = griddim
        self.gx, self.gy, self.gz = griddim
        self.blockdim = blockdim
        self.stream = stream
        self.sharedmem = sharedmem
        # None for the default stream, which is looked up at each launch: a reopened device has a
        # new one.
        self._own = stream.native if isinstance(stream, Stream) else None
        # Plans that are checked for this grid and shared memory, and that only need reading and
        # launching.
        self._fast = {}
        self._plans = dispatcher.plans_of(blockdim)
        self._local = threading.local()
        self._route = None  # the device is opened at the first launch

    def __reduce__(self) -> Any:
        shape = tuple(self.griddim), tuple(self.blockdim), self.stream, self.sharedmem
        return self.dispatcher.configure, shape

    @property
    def args(self) -> tuple[Any, ...] | None:
        """The arguments of the launch for which this thread compiles, or None."""
        return getattr(self._local, "args", None)

    def _elsewhere(self) -> Launching:
        """The same launch on the device that this thread uses."""
        cls = type(self)
        return cls(self.dispatcher, self.griddim, self.blockdim, self.stream, self.sharedmem)

    def _failed(self, code: int, args: tuple[Any, ...]) -> None:
        """Repair or explain on the slow path a launch that the driver refused and did not run."""
        current.device().forget_thread()
        self._forget()
        self._launch_slowly(args)

    def _launch_slowly(self, args: tuple[Any, ...]) -> None:
        """Launch on the slow path."""
        __tracebackhide__ = True  # by pytest and IPython
        current.captures()  # behind a capture that another thread has ended, launches are native
        try:
            self._launch_with_plan(args)
        except GridlaneError as error:
            noted(error, device=current.name(), kernel=self.dispatcher.__name__)
            raise shortened(error)  # noqa: B904  # it is the same error

    def _launch_with_plan(self, args: tuple[Any, ...]) -> None:
        """Create the plan, convert arguments, or submit to a stream."""
        dispatcher = self.dispatcher
        whole = dispatcher.bound(args, {})
        if len(whole) != len(args):
            self(*whole)
            return
        back = Writebacks()
        if dispatcher.extensions:
            args = self._extended(args, back)
        given, args = args, dispatcher.checked(args, self.stream)
        key = tuple([KEYS[arg.__class__](arg) for arg in args])
        device = current.device()
        if self._route is None:
            self._route = route_of(device)
            if self._route.hot is not None:
                self._go(self._route.hot)
        route, limits = self._route, device.limits
        check_shape(
            dispatcher.__name__, self.griddim, self.blockdim, limits, dispatcher.launch_bounds
        )
        variant = route.variant(self, args, limits)
        if device.several_buffers:
            variant = variant._replace(buffers=expected_buffers(args))
        reading = self._plans.get((device, key, variant))
        if reading is None:
            reading, args = self._make_plan(args, back, variant)
            self._plans[device, key, variant] = reading
        elif reading.converts:
            args = _converted(reading.converts, args, back)
        params = reading.read(*args)
        variant = reading.plan.variant_of(self.griddim, params)
        if variant != reading.plan.variant:
            reading = self._plan_of(variant, reading, (device, key, variant))
        plan, stream = reading.plan, self.stream.native
        if stream is device.default_stream:
            stream = captured_stream(given, device) or stream
        plan.check(dispatcher.__name__, self.griddim, self.sharedmem, stream)
        traced = trace.enabled()
        if not reading.converts and not dispatcher.extensions and not traced:
            # A traced launch takes the slow path each time.
            route.remember(self, key, reading, args, given)
        if stream.capturing and (back or (reading.waits and any(map(_is_waited_for, args)))):
            fail(
                NOT_CAPTURED,
                f"{dispatcher.__name__}: a launch with a host array is waited for",
                "copy it with cuda.to_device before the capture",
            )
        if traced:
            plan.tell(dispatcher.__name__, self.griddim, self.sharedmem, len(back))
        stream.launch(plan.kernel, params, self.gx, self.gy, self.gz, self.sharedmem, args)
        if back or ((LEFT or not stream.inline) and _is_finished_here(reading, stream, args)):
            stream.synchronize()
            for write in back:
                write()

    def _launch_by_name(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Launch with arguments given by the names of parameters."""
        self(*self.dispatcher.bound(args, keywords))

    def _extended(self, args: tuple[Any, ...], back: Writebacks) -> tuple[Any, ...]:
        """The arguments after the dispatcher's extensions, the last one first."""
        changed = []
        for value in args:
            original, kind = value, _type_of(value)
            type_: Any = kind
            for extension in reversed(self.dispatcher.extensions):
                type_, value = extension.prepare_args(type_, value, stream=self.stream, retr=back)
            if value is not original and kind is not None and is_users(kind):
                members = value if isinstance(value, tuple) else (value,)
                value = user_argument(kind, members, self.stream)
            changed.append(value)
        return tuple(changed)

    def __repr__(self) -> str:
        return showing.launch_text(self)

    def _repr_html_(self) -> str:
        return showing.launch_html(self)

    def mark_kernel_as_launch_config_sensitive(self) -> None:
        """Accept numba's mark without effect; see Dispatcher."""
        self.dispatcher.mark_launch_config_sensitive()

    def _plan_of(self, variant: Variant, reading: Reading, place: Hashable) -> Reading:
        """The same plan for launches of another kind."""
        known = self._plans.get(place)
        if known is None:
            plan = self._planned(self.dispatcher.kernel_of(reading.argtypes), variant)
            known = replace(reading, plan=plan)
            self._plans[place] = known
        return known

    def _planned(self, kernel: Kernel, variant: Variant) -> Plan:
        plan = kernel.plan(self.blockdim, variant)
        plan.kernel.explain = self.dispatcher.user_exception
        return plan

    def _make_plan(
        self, args: tuple[Any, ...], back: Writebacks, variant: Variant
    ) -> tuple[Reading, tuple[Any, ...]]:
        """The plan for arguments like these, and the converted arguments."""
        dispatcher = self.dispatcher
        previous, _current.config = current_launch_config(), self
        self._local.args = args
        try:
            kernel = dispatcher.kernel_for(args)
            try:
                plan = self._planned(kernel, variant)
            except (CompileError, DeviceError):
                if not variant.buffers:  # with its arrays in other buffers it may compile
                    dispatcher.forget(kernel)
                raise
        finally:
            _current.config = previous
            self._local.args = None
        converts = tuple(converter(arg, want) for arg, want in zip(args, kernel.argtypes))
        args = _converted(converts, args, back)
        read = packer(plan.parameters, args)
        used = converts if any(converts) else ()
        waits = any(map(_holds_host_array, args))
        return Reading(read, plan, used, waits, kernel.argtypes), args


class Configured(Launching, Launcher):
    """A kernel with its grid, block, stream and dynamic shared memory: ``k[grid, block]``.

    The call itself is ``Launcher``'s. Once a plan is known, the device decides how the call runs:
    its ``route`` names the functions of ``routes.py``.
    """

    __slots__ = SLOTS


class Packing(Configured):
    """A kernel with ``*args``, which gets the arguments from there on as one tuple."""

    __slots__ = ()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Launch it."""
        first: int = self.dispatcher.starred  # type: ignore[attr-defined]  # a Dispatcher's
        return super().__call__(*args[:first], args[first:], **keywords)


def _holds_host_array(arg: Any) -> bool:
    if isinstance(arg, tuple):
        return any(map(_holds_host_array, arg))
    return isinstance(arg, np.ndarray)


def _is_finished_here(reading: Reading, stream: protocol.Stream, args: tuple[Any, ...]) -> bool:
    """Whether an asynchronous launch is waited for: its results are in the caller's arrays, or it
    can raise and is on the default stream of a device of the host."""
    if isinstance(stream, DefaultHostStream) and reading.plan.kernel.artifact.raises:
        return True
    return reading.waits and any(map(_is_waited_for, args))


def _is_waited_for(arg: Any) -> bool:
    """Whether an argument holds an array of the host that is in no memory which the host uses while
    kernels run."""
    if isinstance(arg, tuple):
        return any(map(_is_waited_for, arg))
    return isinstance(arg, np.ndarray) and not is_shared(arg)


def _converted(
    converts: Sequence[Convert | None], args: tuple[Any, ...], back: Writebacks
) -> tuple[Any, ...]:
    """The arguments in the reader's form; ``back`` collects the work after the launch."""
    if len(args) > 1 and any(converts):
        share(args, back, is_direct)
    return tuple(f(arg, back) if f else arg for f, arg in zip(converts, args))


def check_convertible(
    name: str, parameters: Sequence[str], args: tuple[Any, ...], want: Sequence[Any]
) -> None:
    """Raise ArgumentError, naming the parameter, if an argument does not fit its type. A kernel of
    one signature takes integers of either sign for those of an array, by their bits, as numba."""
    for n, (arg, type_) in enumerate(zip(args, want)):
        have = typeof(arg)
        seen = as_other_sign(have, type_)
        if conversion(writable(seen), writable(type_)) is None:
            raise ArgumentError(
                f"{name}: argument {n + 1}, {parameters[n]!r}, is {have}, and the kernel's "
                f"signature takes {type_}{_conversion_advice(have, type_)}"
            )


def _conversion_advice(have: Any, want: Any) -> str:
    """What to do where an argument has not the type of the signature."""
    if not (isinstance(have, ArrayType) and isinstance(want, ArrayType)):
        return ""
    if have.ndim != want.ndim:
        return f"; pass one of {want.ndim} dimensions, or leave the signature away"
    if have.element != want.element and isinstance(want.element, ScalarType):
        return f"; pass x.astype(np.{want.element}), or leave the signature away"
    return "; leave the signature away, so that each type gets a kernel of its own"


def _type_of(value: Any) -> Any:
    """The type of an argument for the extensions of a kernel; None where it has none."""
    try:
        return typeof(value)
    except ArgumentError:
        return None
