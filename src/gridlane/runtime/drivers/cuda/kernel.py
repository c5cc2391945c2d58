"""Modules and functions: artifacts loaded into a context, and their launches."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from gridlane.core import gpu_abi as abi
from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_IMAGE, NOT_CAPTURED, NOT_FOUND, fail, handled
from gridlane.core.errors import DeviceError
from gridlane.core.forks import fork_waits
from gridlane.runtime.drivers.cuda.api import address_of, bindings, enum
from gridlane.runtime.drivers.cuda.context import Context
from gridlane.runtime.drivers.cuda.loader import load
from gridlane.runtime.drivers.cuda.report import Report
from gridlane.runtime.protocol import Block, Explain, Figures, Limits, NativeLaunch

if TYPE_CHECKING:
    from gridlane.runtime.tensor_maps import TensorMaps

_ALONE = (1, 1, 1)
"""The cluster of a block that is one of its own."""
_PARAM_BUFFER_END, _PARAM_BUFFER, _PARAM_BUFFER_SIZE = 0, 1, 2


def _attribute(name: str) -> Any:
    return enum("CUlaunchAttributeID", f"CU_LAUNCH_ATTRIBUTE_{name}")


class LaunchStream(Protocol):
    """The stream interface that a launch uses.

    Attributes:
        apart: whether it does not wait for the default stream.
    """

    handle: int
    apart: bool

    def launch(
        self, kernel: CudaBound, params: bytes, gx: int, gy: int, gz: int, shared: int
    ) -> None:
        """Append a launch."""
        ...


class Device(Protocol):
    """The device interface that a kernel uses."""

    context: Context
    limits: Limits

    @property
    def default_stream(self) -> LaunchStream:
        """The stream of launches that name none."""
        ...

    def keep_report(self, report: Report) -> None:
        """Read the report of a kernel where work is waited for."""
        ...

    def give_report(self, report: Report) -> None:
        """Leave reading the report to the caller."""
        ...

    def forget_if_read(self, *reports: Report) -> None:
        """Free the reports of kernels that no longer exist, if they are read."""
        ...


def _tensor_maps(artifact: Artifact) -> TensorMaps:
    from gridlane.runtime.drivers.cuda.tensor_maps import encode  # few kernels have any
    from gridlane.runtime.tensor_maps import TensorMaps

    return TensorMaps(artifact, encode)


class CudaModule:
    """Code loaded into a context, and its variables; reloaded at its next use after the context was
    lost, with their initial values.

    Raises:
        DeviceError: INVALID_IMAGE and its like, the device cannot run the code.
    """

    def __init__(self, context: Context, artifact: Artifact) -> None:
        if artifact.target != "cuda" or artifact.format not in ("ptx", "cubin"):
            fail(INVALID_IMAGE, f"the cuda device runs PTX and cubins, not {artifact.format}")
        self.context, self.artifact = context, artifact
        self.generation = -1
        self._lock = threading.Lock()
        self.ready()

    def ready(self) -> None:
        """Reload if the context was renewed since."""
        if self.generation != self.context.generation:
            with fork_waits(), self._lock:
                if self.generation != self.context.generation:
                    self._load()

    def _load(self) -> None:
        context, artifact = self.context, self.artifact
        self.handle = load(context, artifact)
        self.generation = context.generation
        # Its kernels may still be in flight, on any stream.
        unload = ("cuCtxSynchronize",), ("cuModuleUnload", self.handle)
        weakref.finalize(self, context.give_back, self.generation, *unload).atexit = False

    def variable(self, name: str) -> tuple[int, int]:
        """The address and the bytes of a variable.

        Raises:
            DeviceError: NOT_FOUND, there is no such variable.
        """
        self.ready()
        address, size = self.context.call(
            "cuModuleGetGlobal", self.handle, name.encode(), what=self.artifact.name
        )
        return int(address), int(size)


class CudaKernel:
    """A kernel of a module; looked up again at its next use after the context was lost.

    Args:
        module: that has it; None loads the artifact's code for it alone.
    """

    report: Report | None = None
    """Its report block, if it reports anything."""

    def __init__(
        self, device: Device, artifact: Artifact, module: CudaModule | None = None
    ) -> None:
        self.artifact = artifact
        self.name = artifact.name
        self.device = device
        self.context: Context = device.context
        self.flag = self.context.new_flag()
        """1 after a launch, until all work is known to be done; see Context."""
        self.explain: Explain | None = None
        """Converts the error that it raised to the user's exception."""
        self._apart = False
        self.param_size = artifact.param_end
        self.maps = _tensor_maps(artifact) if artifact.tensor_maps else None
        if self.context.residents:
            with self.context.without_residents():  # the driver waits for them when it loads code
                self._load(module)
        else:
            self._load(module)
        self.context.kernels.add(self)

    def _load(self, module: CudaModule | None) -> None:
        self.module = module or CudaModule(self.context, self.artifact)
        self._find()

    def _find(self) -> None:
        context, artifact = self.context, self.artifact
        self.module.ready()
        self.generation = self.module.generation
        name = artifact.entry.encode()
        self.handle = context.call("cuModuleGetFunction", self.module.handle, name, what=self.name)
        self.function = int(self.handle)
        self.local_bytes = self._attribute("LOCAL_SIZE_BYTES")
        if artifact.uses_dynamic_shared:
            own = artifact.static_shared or self._attribute("SHARED_SIZE_BYTES")
            self._set("MAX_DYNAMIC_SHARED_SIZE_BYTES", self.device.limits.max_dynamic_shared - own)
        if artifact.non_portable:
            self._set("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
        self.disconnect()
        if (artifact.errors or artifact.prints) and context.captures:
            fail(NOT_CAPTURED, f"the first launch of {self.name}", "launch it before the capture")
        if artifact.errors or artifact.prints:
            self._connect()

    def _connect(self) -> None:
        """Give the kernel its report block, if it refers to one."""
        try:
            address, _ = self.module.variable(abi.REPORT)
        except DeviceError as error:
            if error.number != NOT_FOUND:
                raise
            handled(error)
            return
        self.report = report = Report(self.context, self.artifact, self)
        self.device.keep_report(report)
        where = ctypes.c_uint64(report.address)
        pointer = bindings().CUdeviceptr(address)
        self.context.call("cuMemcpyHtoD", pointer, ctypes.addressof(where), 8)

    def __del__(self) -> None:
        # The device holds the report: what garbage collection finds is freed by finalizers, even
        # if a method like this one keeps it.
        if self.report is not None and not self._apart:
            self.report.drop(self.explain)
            self.device.forget_if_read(self.report)

    def report_apart(self) -> None:
        """Leave reading the report to the caller: waiting for the device does not read it."""
        if self.report is not None:
            self.device.give_report(self.report)
            self._apart = True

    def disconnect(self) -> None:
        """Forget the report block, whose memory is gone."""
        self.report = None

    def ready(self) -> None:
        """Look it up again if the context was renewed since."""
        if self.generation != self.context.generation:
            self.context.enter()
            self._find()

    @property
    def launched(self) -> bool:
        """Whether it may be in flight."""
        return bool(self.flag[0])

    def places(self) -> list[str]:
        """The lines at which its warps stood when it faulted."""
        return self.report.places() if self.report is not None and self.launched else []

    # --- the driver's figures ---

    def _set(self, name: str, value: int) -> None:
        attribute = enum("CUfunction_attribute", f"CU_FUNC_ATTRIBUTE_{name}")
        self.context.call("cuFuncSetAttribute", self.handle, attribute, value, what=self.name)

    def _attribute(self, name: str) -> int:
        attribute = enum("CUfunction_attribute", f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self.context.call("cuFuncGetAttribute", attribute, self.handle))

    def figures(self) -> Figures:
        """Registers, memory and the largest block."""
        self.ready()
        return Figures(
            registers=self._attribute("NUM_REGS"),
            local_bytes=self._attribute("LOCAL_SIZE_BYTES"),
            shared_bytes=self._attribute("SHARED_SIZE_BYTES"),
            constant_bytes=self._attribute("CONST_SIZE_BYTES"),
            max_threads=self._attribute("MAX_THREADS_PER_BLOCK"),
        )

    def occupancy(self, threads: int, shared: int = 0) -> int:
        """The number of blocks that a multiprocessor holds at once."""
        self.ready()
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self.context.call(name, self.handle, threads, shared, what=self.name))

    def active_clusters(self, threads: int, shared: int = 0) -> int:
        """The number of clusters of the artifact's size that the device holds at once."""
        self.ready()
        config = self.configured(self.artifact.cluster, (threads, 1, 1), shared, 0)
        name = "cuOccupancyMaxActiveClusters"
        return int(self.context.call(name, self.handle, config, what=self.name))

    def configured(self, grid: Block, block: Block, shared: int, stream: int) -> Any:
        """The driver's structure for a launch of clusters."""
        driver = bindings()
        config, attributes = driver.CUlaunchConfig(), [driver.CUlaunchAttribute()]
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes, config.hStream = shared, driver.CUstream(stream)
        attributes[0].id = _attribute("CLUSTER_DIMENSION")
        size = attributes[0].value.clusterDim
        size.x, size.y, size.z = self.artifact.cluster
        if self.artifact.cooperative:
            attributes.append(driver.CUlaunchAttribute())
            attributes[1].id = _attribute("COOPERATIVE")
            attributes[1].value.cooperative = 1
        config.attrs, config.numAttrs = attributes, len(attributes)
        return config

    def potential_block_size(self, shared: int = 0) -> tuple[int, int]:
        """(blocks that fill the device, threads per block) at the best occupancy."""
        self.ready()
        blocks, threads = self.context.call(
            "cuOccupancyMaxPotentialBlockSize", self.handle, None, shared, 0, what=self.name
        )
        return int(blocks), int(threads)

    # --- launching ---

    def bind(self, block: Block) -> CudaBound:
        """Bind the kernel to a block shape, without the threads that its code adds."""
        return CudaBound(self, self.artifact.whole_block(block))


class CudaBound:
    """A kernel and its block shape."""

    def __init__(self, kernel: CudaKernel, block: Block) -> None:
        self.kernel = kernel
        self.artifact = kernel.artifact
        self.block = block

    @property
    def explain(self) -> Explain | None:
        """Convert a KernelStop to the user's exception."""
        return self.kernel.explain

    @explain.setter
    def explain(self, value: Explain | None) -> None:
        self.kernel.explain = value

    def figures(self) -> Figures:
        """Registers, memory and the largest block."""
        return self.kernel.figures()

    def launch(self, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch on the default stream."""
        self.kernel.device.default_stream.launch(self, params, gx, gy, gz, shared)

    def launch_on(self, stream: int, params: bytes, gx: int, gy: int, gz: int, shared: int) -> None:
        """Launch on a stream by its number."""
        kernel = self.kernel
        kernel.ready()
        context = kernel.context
        if context.residents and kernel.local_bytes > context.local_bytes:
            with (
                context.without_residents()
            ):  # the driver waits for all kernels before it has more room
                self.launch_on(stream, params, gx, gy, gz, shared)
            return
        context.local_bytes = max(context.local_bytes, kernel.local_bytes)
        if kernel.maps is not None:
            params = kernel.maps.filled(params)
        memory = ctypes.create_string_buffer(params, len(params)) if params else None
        address = ctypes.addressof(memory) if memory is not None else 0
        size = ctypes.c_size_t(kernel.param_size)
        x = gx // self.artifact.coarse
        shared += self.artifact.own_dynamic
        geometry = (x, gy, gz, *self.block, shared, bindings().CUstream(stream))
        what = f"kernel {kernel.name}, grid {(gx, gy, gz)}, block {self.block}"
        kernel.flag[0] = 1
        pointers = extra = None
        if self.artifact.cooperative or kernel.maps is not None or self.artifact.by_address:
            # Cooperative launches take an array of pointers only; and where the driver has aligned
            # parameters depends on where its constant memory of parameters begins.
            offsets = self.artifact.starts or [slot.offset for slot in self.artifact.params]
            pointers = (ctypes.c_void_p * max(1, len(offsets)))(*[address + at for at in offsets])
        elif params:
            end = ctypes.addressof(size), _PARAM_BUFFER_END
            extra = (ctypes.c_void_p * 5)(_PARAM_BUFFER, address, _PARAM_BUFFER_SIZE, *end)
        given = [0 if each is None else ctypes.addressof(each) for each in (pointers, extra)]
        if self.artifact.cluster != _ALONE and not self.artifact.requires_cluster:
            config = kernel.configured((x, gy, gz), self.block, shared, stream)
            what += f", clusters of {self.artifact.cluster}"
            kernel.context.call("cuLaunchKernelEx", config, kernel.handle, *given, what=what)
        elif self.artifact.cooperative:
            kernel.context.call(
                "cuLaunchCooperativeKernel", kernel.handle, *geometry, given[0], what=what
            )
        else:
            kernel.context.call("cuLaunchKernel", kernel.handle, *geometry, *given, what=what)

    def native_launch(self, stream: LaunchStream) -> NativeLaunch | None:
        """The parameters of a native launch on a stream; None for launches that must be waited for,
        cooperative ones, and streams that need the slow path."""
        kernel, address = self.kernel, address_of("cuLaunchKernel")
        maps_by = address_of("cuTensorMapEncodeTiled") if kernel.maps is not None else 0
        kernel.ready()
        if kernel.context.captures:  # a recording must keep its objects alive
            return None
        if kernel.context.residents and kernel.local_bytes > kernel.context.local_bytes:
            return None
        if not address or self.raises() or self.artifact.cooperative or stream.apart:
            return None
        if self.artifact.by_address:  # the native launch passes a block
            return None
        if self.artifact.cluster != _ALONE and not self.artifact.requires_cluster:
            return None
        if kernel.maps is not None and not maps_by:
            return None
        sound = kernel.context.sound
        return NativeLaunch(
            address=address,
            pointer_attribute=self.pointer_attribute,
            function=kernel.function,
            stream=stream.handle,
            param_size=kernel.param_size,
            flag=ctypes.addressof(kernel.flag),
            sound=ctypes.addressof(sound),
            keep=(kernel, sound),
            encode=maps_by,
            capture_query=address_of("cuStreamIsCapturing"),
        )

    @property
    def pointer_attribute(self) -> int:
        """The address of cuPointerGetAttribute; 0 if the driver lacks it."""
        return address_of("cuPointerGetAttribute")

    def raises(self) -> bool:
        """Whether the kernel can stop itself."""
        return bool(self.artifact.errors) and self.kernel.report is not None

    def holder(self) -> Any:
        """The object that a launch must keep alive: the module."""
        return self.kernel
