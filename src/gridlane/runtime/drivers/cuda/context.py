"""The primary context of a device: current on each thread that uses it, and lost after a fault."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import (
    CONTEXT_DESTROYED,
    NOT_CAPTURED,
    KernelStop,
    again,
    described,
    device_error,
    fail,
    noted,
)
from gridlane.core.errors import DeviceError
from gridlane.core.forks import fork_waits
from gridlane.core.weak import live
from gridlane.runtime.drivers.cuda.api import STICKY, call
from gridlane.runtime.drivers.cuda.multiprocessors import Multiprocessors
from gridlane.runtime.protocol import Explain
from gridlane.runtime.queues import callbacks

_thread = threading.local()
FLAGS = 1024
_NO_FLAGS = bytes(FLAGS)

# These wait for every stream, or are work of the default stream, which waits for most: they would
# end the capture.
_WAITING = {
    "cuCtxSynchronize": "waiting for the device",
    "cuMemAllocFromPoolAsync": "allocating memory",
    "cuMemAllocManaged": "allocating memory",
    "cuMemHostRegister": "pinning memory",
    "cuMemcpyDtoH": "a copy that the host waits for",
    "cuMemcpyHtoD": "a copy that the host waits for",
}
_FOR_ALL = frozenset(
    ("cuCtxSynchronize", "cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuModuleUnload")
)
"""These wait for every kernel, and are put off while one runs that does not end."""
_ALONE = frozenset(
    (
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuMemAlloc",
        "cuMemAllocManaged",
        "cuMemHostAlloc",
        "cuMemHostRegister",
        "cuMemPoolTrimTo",
        "cuGraphInstantiate",
        "cuStreamCreateWithPriority",
    )
)
"""These may wait for every kernel before they go on: those that do not end leave the device for the
time. Driver 580 waits in cuModuleLoadData and cuModuleLoadDataEx."""
_BEFORE = (
    "make device arrays before the capture, and use them, not host arrays, as arguments of kernels"
)

Call = tuple[Any, ...]
"""The name of a driver function and its arguments."""


class Recording(Protocol):
    """A capture in progress."""

    @property
    def stops_default(self) -> bool:
        """Whether this thread may not use the default stream."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended."""
        ...

    def end(self) -> None:
        """Stop recording every stream."""
        ...


class Resident(Protocol):
    """A kernel that does not end by itself."""

    def ask_to_leave(self) -> None:
        """Request that it leaves the device."""
        ...

    def leave(self) -> None:
        """Wait until it has left; DeviceError if it does not leave."""
        ...

    def come_back(self) -> None:
        """Launch it again after a request to leave."""
        ...


class Reporting(Protocol):
    """The report block of a kernel; see ``report.py``."""

    artifact: Artifact
    dropped: bool
    ended: bool

    @property
    def explain(self) -> Explain | None:
        """Converts the error that the kernel raised to the user's exception."""
        ...

    @property
    def launched(self) -> bool:
        """Whether the kernel may be in flight."""
        ...

    def places(self) -> list[str]:
        """The lines at which its warps stood when it faulted."""
        ...

    def flush(self) -> None:
        """Write the lines that the kernel printed."""
        ...

    def stop(self) -> KernelStop | None:
        """The first error that it raised since the last call."""
        ...


class Loaded(Protocol):
    """A kernel that is loaded into a context."""

    name: str

    def disconnect(self) -> None:
        """Forget the report block, whose memory is gone."""
        ...

    @property
    def launched(self) -> bool:
        """Whether it may be in flight."""
        ...

    def places(self) -> list[str]:
        """The lines at which its warps stood when it faulted."""
        ...


class Context:
    """A device's primary context.

    ``generation`` counts the contexts made so far: resources of an earlier one are lost.
    """

    def __init__(self, ordinal: int) -> None:
        self.device = call("cuDeviceGet", ordinal)
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}" if ordinal else "cuda"
        """That of the device."""
        self.alone = int(call("cuDeviceGetCount")) == 1
        self.generation = -1
        self.fault: DeviceError | None = None
        """The fault; every call raises a copy, as a raised exception keeps its frames alive."""
        self.kernels: weakref.WeakSet[Loaded] = weakref.WeakSet()
        self.reporting = weakref.WeakKeyDictionary[Reporting, None]()
        """The reports of kernels to the host, in the order of their loading."""
        self.silent = True
        """Whether there has never been such a kernel."""
        self.reading = threading.RLock()
        """Held while a report is read, and from a launch on to the reading of its report where the
        launch is waited for."""
        self._flags = bytearray(FLAGS)
        self._flag_numbers = itertools.count()
        self.residents: set[Resident] = set()
        """The kernels that run and do not end by themselves."""
        self.pausing = threading.RLock()
        """Held while they leave the device, and while one comes."""
        self.multiprocessors = Multiprocessors(self.residents, self.pausing)
        self.local_bytes = 0
        """Local memory of a thread that the device has room for, at least."""
        self.wait_for_others: weakref.WeakMethod[Callable[[], None]] | None = None
        """Waits for all streams but theirs."""
        self._put_off: deque[tuple[int, tuple[Call, ...]]] = deque()
        self.own_captures: list[Recording] = []
        self.foreign_captures: list[Recording] = []
        """Those of other libraries that gridlane's work is in, and that may have ended."""
        self._later: deque[tuple[int, tuple[Call, ...]]] = deque()
        self._retain()

    def _retain(self) -> None:
        self.handle = call("cuDevicePrimaryCtxRetain", self.device)
        self.generation += 1
        self.fault = None
        self.residents.clear()
        # A thread has this where the context is current; a renewed context is another object.
        self._token = object()
        self.sound = flag_byte(1)
        """1 until the native launches prepared so far expire."""
        self._closer = weakref.finalize(self, _release, self.device)
        self._closer.atexit = False

    def enter(self) -> None:
        """Make the context current on this thread. With several GPUs, other libraries may have
        changed that since.

        Raises:
            DeviceError: a kernel has brought the context down; NOT_PERMITTED in a callback.
        """
        if self.fault is not None:
            raise again(self.fault, self.name)
        if callbacks.here.in_callback:
            callbacks.refuse_in_callback()
        if not self.alone or getattr(_thread, "context", None) is not self._token:
            call("cuCtxSetCurrent", self.handle)
            _thread.context = self._token
        if (self._later or (self._put_off and not self.residents)) and not self.captures:
            self._give_back_now()

    def forget_thread(self) -> None:
        """Assume nothing about which context is current on this thread."""
        _thread.context = None

    def call(self, name: str, *args: Any, what: str = "") -> Any:
        """Call a driver function in this context; a kernel's fault is explained in full."""
        self.enter()
        self.check_capture(name)
        if self.residents and name == "cuCtxSynchronize":
            others = self.wait_for_others() if self.wait_for_others is not None else None
            return others() if others is not None else None
        if self.residents and name in _ALONE:
            with self.without_residents():
                return self.call(name, *args, what=what)
        try:
            return call(name, *args, what=what)
        except DeviceError as error:
            raise self.explained(error) from None

    @contextmanager
    def without_residents(self) -> Generator[None, None, None]:
        """Remove the kernels that do not end from the device in the with block.

        Raises:
            DeviceError: NOT_PERMITTED, one does not leave, as its handler is still running.
        """
        with fork_waits(), self.pausing:
            left = tuple(self.residents)
            try:
                for each in left:
                    each.ask_to_leave()
                for each in left:
                    each.leave()
                yield
            finally:
                for each in left:
                    each.come_back()

    @property
    def captures(self) -> list[Recording]:
        """The captures in progress, as far as they are known."""
        if not self.foreign_captures:
            return self.own_captures
        self.foreign_captures = [each for each in self.foreign_captures if each.goes_on]
        return [*self.own_captures, *self.foreign_captures]

    def check_capture(self, name: str) -> None:
        """Refuse a driver function that would end a capture in progress."""
        if self.captures and name in _WAITING:
            fail(NOT_CAPTURED, f"{name}: {_WAITING[name]}", _BEFORE)

    # --- giving back ---

    def give_back(self, generation: int, *calls: Call) -> None:
        """Free a resource of a generation of the context; safe on any thread at any moment, as
        finalizers run so. Never raises: the next synchronisation raises a fault.

        The call is deferred to the next use of the context where no CUDA function may be called,
        and during a capture, which a call of the default stream would break.
        """
        if generation != self.generation or self.fault is not None:
            return
        self._later.append((generation, calls))
        if self.captures or callbacks.here.in_callback:
            return
        try:
            # The thread may be about to call a function in another device's context.
            before = None if self.alone else call("cuCtxGetCurrent")
            self.enter()
            if before is not None:
                call("cuCtxSetCurrent", before)
        except DeviceError:
            return

    def _give_back_now(self) -> None:
        while self._put_off and not self.residents:
            self._later.append(self._put_off.popleft())
        for _ in range(len(self._later)):
            try:
                generation, calls = self._later.popleft()
            except IndexError:  # another thread was faster
                return
            if generation != self.generation:
                continue
            if self.residents and any(name in _FOR_ALL for name, *_ in calls):
                self._put_off.append((generation, calls))
                continue
            try:
                for name, *args in calls:
                    done = self._of_gone_kernels() if name == "cuCtxSynchronize" else ()
                    call(name, *args)
                    for report in done:
                        report.ended = True
            except DeviceError as error:  # it stays allocated: the failed call may have been a wait
                self.explained(error)

    def _of_gone_kernels(self) -> list[Reporting]:
        """The reports of kernels that no longer exist."""
        return [report for report in live(self.reporting) if report.dropped]

    # --- faults ---

    def explained(self, error: DeviceError) -> DeviceError:
        """The exception of a failure; one that loses the context names the suspect kernels and
        lines, and every later call raises it."""
        if error.number not in STICKY:
            return noted(error, device=self.name)
        if self.fault is None:
            self.fault = self._lost() if error.number == CONTEXT_DESTROYED else self._fault(error)
        return again(self.fault, self.name)

    def _fault(self, error: DeviceError) -> DeviceError:
        gone = [report for report in self._of_gone_kernels() if report.launched]
        names = [kernel.name for kernel in live(self.kernels) if kernel.launched]
        suspects = sorted({*names, *(each.artifact.name for each in gone)})
        culprits = f"in kernel {', '.join(suspects)}" if suspects else "in a kernel"
        if len(suspects) > 1:
            culprits = f"in one of the kernels {', '.join(suspects)}"
        locations = [line for each in (*live(self.kernels), *gone) for line in each.places()]
        culprits += "".join(f"\n  {place}" for place in locations)
        advice = (
            "@cuda.jit(debug=True, opt=False) checks indices and names the line; cuda.close() "
            "asks the driver for a new context, which not every driver gives"
        )
        fault = described(error.number, culprits, advice)
        return noted(fault, device=self.name, kernel=", ".join(suspects))

    def _lost(self) -> DeviceError:
        message = "other code of this process has reset the device, and its memory is lost"
        fault = described(CONTEXT_DESTROYED, message, "cuda.close() begins again")
        return noted(fault, device=self.name)

    def settled(self) -> None:
        """Note that all work is done: no kernel is a suspect any more."""
        self._flags[:] = _NO_FLAGS

    def new_flag(self) -> ctypes.Array[ctypes.c_ubyte]:
        """Return the address of a byte that native launches of a kernel set. Beyond ``FLAGS``
        kernels, some share one and are suspects together."""
        number = next(self._flag_numbers) % FLAGS
        return (ctypes.c_ubyte * 1).from_buffer(self._flags, number)

    def renew(self) -> None:
        """Destroy a lost context and make a new one. All memory, streams and modules of it go.

        Raises:
            DeviceError: the driver refuses a new context to a process that faulted. Driver 580 does
                so after an illegal address: the process has to restart.
        """
        fault = self.fault
        if fault is None or fault.number != CONTEXT_DESTROYED:
            call("cuDevicePrimaryCtxReset", self.device)
        self.expire()
        for kernel in live(self.kernels):
            kernel.disconnect()
        self.reporting.clear()
        self._later.clear()
        self._put_off.clear()
        for capture in tuple(self.own_captures):
            capture.end()
        self.foreign_captures.clear()
        self._closer()
        try:
            self._retain()
        except DeviceError as error:
            raise device_error(
                error.number,
                "the driver gives this process no new context after the fault",
                "start the process again; run what may fault in a process of its own",
                self.name,
            ) from fault

    def expire(self) -> None:
        """Expire every native launch prepared so far."""
        self.sound[0] = 0
        self.sound = flag_byte(1)


def _release(device: Any) -> None:
    try:
        call("cuDevicePrimaryCtxRelease", device)
    except DeviceError:
        return  # the driver has no context of ours then, and a finalizer cannot raise


def flag_byte(value: int = 0) -> ctypes.Array[ctypes.c_ubyte]:
    """The address of a byte that native launches set or read."""
    return (ctypes.c_ubyte * 1)(value)
