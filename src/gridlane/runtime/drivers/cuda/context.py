"""The primary context of a device: current on each thread that uses it, and lost after a fault."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cuda.api import STICKY, call
from gridlane.runtime.errors import device_error

if TYPE_CHECKING:
    from gridlane.runtime.drivers.cuda.kernel import CudaKernel

_thread = threading.local()
FLAGS = 1024
_NO_FLAGS = bytes(FLAGS)


class Context:
    """A device's primary context.

    ``generation`` counts how often it was made anew: what belongs to an earlier one is lost.
    """

    def __init__(self, ordinal: int) -> None:
        self.device = call("cuDeviceGet", ordinal)
        self.ordinal = ordinal
        self.alone = int(call("cuDeviceGetCount")) == 1
        self.handle = call("cuDevicePrimaryCtxRetain", self.device)
        self.generation = 0
        self.fault: DeviceError | None = None
        self.kernels: weakref.WeakSet[CudaKernel] = weakref.WeakSet()
        self.reporting: weakref.WeakSet[CudaKernel] = weakref.WeakSet()
        """The kernels that have something to tell the host."""
        self.silent = True
        """Whether there has never been such a kernel."""
        self._flags = bytearray(FLAGS)
        self._flag_numbers = itertools.count()

    def enter(self) -> None:
        """Make the context current on this thread. Where there are several GPUs, other libraries
        may have changed that since.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        if self.fault is not None:
            raise self.fault
        if not self.alone or getattr(_thread, "context", None) != (self.ordinal, self.generation):
            call("cuCtxSetCurrent", self.handle)
            _thread.context = self.ordinal, self.generation

    def forget_thread(self) -> None:
        """Take nothing for granted about which context is current on this thread."""
        _thread.context = None

    def call(self, name: str, *args: Any, what: str = "") -> Any:
        """Call a driver function in this context; a fault of a kernel is told in full."""
        self.enter()
        try:
            return call(name, *args, what=what)
        except DeviceError as error:
            raise self.explained(error) from None

    def explained(self, error: DeviceError) -> DeviceError:
        """A failure; one that loses the context names the kernels and lines that may be at fault,
        and is what every later call raises."""
        if error.number not in STICKY:
            return error
        if self.fault is None:
            suspects = sorted({kernel.name for kernel in self.kernels if kernel.launched})
            told = f"in kernel {', '.join(suspects)}" if suspects else "in a kernel"
            if len(suspects) > 1:
                told = f"in one of the kernels {', '.join(suspects)}"
            places = [line for kernel in self.kernels for line in kernel.places()]
            told += "".join(f"\n  {place}" for place in places)
            advice = (
                "@cuda.jit(debug=True, opt=False) checks indices and names the line; cuda.close() "
                "asks the driver for a new context, which not every driver gives"
            )
            self.fault = device_error(error.number, told, advice)
        return self.fault

    def settled(self) -> None:
        """Note that all work is done: no kernel is a suspect any more."""
        self._flags[:] = _NO_FLAGS

    def new_flag(self) -> ctypes.Array[ctypes.c_ubyte]:
        """A byte that launches of a kernel set, by its address where they are native. Beyond
        ``FLAGS`` kernels some share one, and are suspects together."""
        at = next(self._flag_numbers) % FLAGS
        return (ctypes.c_ubyte * 1).from_buffer(self._flags, at)

    def renew(self) -> None:
        """Destroy a lost context and make a new one. All memory, streams and modules of it go.

        Raises:
            DeviceError: the driver gives a process that faulted no new context. Driver 580 does so
                after an illegal address: the process has to start again.
        """
        call("cuDevicePrimaryCtxReset", self.device)
        call("cuDevicePrimaryCtxRelease", self.device)
        try:
            self.handle = call("cuDevicePrimaryCtxRetain", self.device)
        except DeviceError as error:
            assert self.fault is not None
            raise device_error(
                error.number,
                "the driver gives this process no new context after the fault",
                "start the process again; run what may fault in a process of its own",
            ) from self.fault
        self.generation += 1
        self.fault = None
