"""``cuda.RawModule`` and ``cuda.RawKernel``: kernels from PTX, on every device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gridlane.compiler.units import linked
from gridlane.core import trace
from gridlane.core.device_errors import noted
from gridlane.core.errors import ArgumentError, GridlaneError
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.host.streams import AnyStream
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.cuda.raw.arguments import (
    Layout,
    layout,
    on_device,
    packed,
    refuse_textures,
    structs_as_bytes,
)
from gridlane.cuda.raw.code import RawCode, compiled, decoded
from gridlane.cuda.raw.sending import Sent, module_of, units_of
from gridlane.cuda.texture.references import Reference
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3, dim3
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer

_Text = str | bytes
_Path = str | os.PathLike[str]
_SHAPES = frozenset({int, tuple})
_MOST_READY = 256
"""How many shapes of launches are kept ready."""


class RawModule(Sent):
    """A module of PTX or CUDA C++.

    Args:
        code: the text; PTX begins with ``.version``, all else is CUDA C++. Or a list of several:
            translation units, which use each other's functions and variables.
        path: of a file with the text, in place of ``code``, or a list of such.
        options: for the compiler of CUDA C++: ``("-DN=4", "--std=c++17")``.
        name_expressions: kernels of CUDA C++ by their names there, such as ``scale<float>``.
        backend: the compiler of CUDA C++: ``clang``, ``nvcc`` or ``nvrtc``; "" is the first of
            these that is installed.
        via: how PTX is passed to the device. ``ir`` is through gridlane's IR, ``driver`` to the
            device's driver as it came; "" is the driver on NVIDIA GPUs, where it has all functions
            that the module calls, and the IR elsewhere.

    Raises:
        PtxError: the text is no PTX module, or units are incompatible; located.
        CompileError: the compiler's own messages, or that there is none.

    >>> text = '''
    ... .version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry triple(.param .u64 x) {
    ...     .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ...     ld.param.u64 %rd1, [x];
    ...     mov.u32 %r1, %tid.x;
    ...     mul.wide.u32 %rd2, %r1, 4;
    ...     add.s64 %rd3, %rd1, %rd2;
    ...     ld.global.u32 %r2, [%rd3];
    ...     mul.lo.u32 %r3, %r2, 3;
    ...     st.global.u32 [%rd3], %r3;
    ...     ret;
    ... }'''
    >>> import numpy as np
    >>> x = np.arange(4, dtype=np.int32)
    >>> RawModule(code=text).get_function("triple")((1,), (4,), (x,))
    >>> x
    array([0, 3, 6, 9], dtype=int32)
    """

    def __init__(
        self,
        *,
        code: _Text | list[_Text] | tuple[_Text, ...] = "",
        path: _Path | list[_Path] | tuple[_Path, ...] = "",
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        backend: str = "",
        via: str = "",
    ) -> None:
        if bool(code) == bool(path):
            raise ArgumentError("RawModule takes the text as code=, or a file as path=")
        if path:
            paths = list(path) if isinstance(path, list | tuple) else [path]
            names = [os.fspath(each) for each in paths]
            units = [(decoded(Path(each).read_bytes(), each), each) for each in names]
        elif isinstance(code, list | tuple):
            units = [(decoded(each, f"unit {n}"), "") for n, each in enumerate(code, 1)]
        else:
            units = [(decoded(code), "")]
        how = options, name_expressions, backend
        if len(units) == 1:
            module, self._lowered = compiled(*units[0], *how)
        else:
            module, self._lowered = linked(units, *how)
        self._code = RawCode(module, via)
        self._kernels: dict[str, RawKernel] = {}

    @property
    def name(self) -> str:
        """The name of its text."""
        return self._code.module.text.name

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        return RawModule._of, (units_of(self._code), self._code.via, self._lowered)

    @classmethod
    def _of(cls, units: list[tuple[str, str]], via: str, lowered: dict[str, str]) -> RawModule:
        """A module that another process sent."""
        module = object.__new__(cls)
        module._code, module._lowered = RawCode(module_of(units), via), lowered
        module._kernels = {}
        return module

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name in the PTX, which is mangled unless the source says extern "C"; or
        by one of ``name_expressions``.

        Raises:
            PtxError: there is no such kernel; the message lists those there are.
        """
        kernel = self._kernels.get(name)
        if kernel is None:
            raw_kernel = RawKernel(self._code, self._lowered.get(name, name))
            kernel = self._kernels[name] = raw_kernel
        return kernel

    def get_global(self, name: str) -> DeviceNDArray:
        """The memory of a variable on the current device: ``__device__`` and ``__constant__``
        variables by their names in the PTX.

        Returns:
            A device array of its bytes (uint8); ``view`` returns it with another dtype. The next
            launch reads what is written to it.

        Raises:
            ArgumentError: there is no such variable; the message lists those there are.

        >>> text = ".version 8.0 .target sm_80\\n.visible .global .u32 count = 7;"
        >>> RawModule(code=text).get_global("count").view(np.uint32).copy_to_host()
        array([7], dtype=uint32)
        """
        return self._code.array(self._lowered.get(name, name))

    def get_texref(self, name: str) -> Reference:
        """A reference to a texture or surface, as ``texture<float, 2>`` of CUDA C++, by its name in
        the PTX. ``bind`` sets its object.

        Raises:
            ArgumentError: there is no such reference; the message lists those there are.
        """
        return self._code.reference(self._lowered.get(name, name))


def _kernel_of(units: list[tuple[str, str]], via: str, name: str) -> RawKernel:
    """A kernel that another process sent."""
    return RawKernel(RawCode(module_of(units), via), name)


class RawKernel(Sent):
    """A kernel of PTX or CUDA C++. It compiles for a device at its first launch there.

    Args:
        code: the text of the module.
        name: of the kernel.
        options: for the compiler of CUDA C++.
        backend, via: as for ``RawModule``.

    Raises:
        PtxError: the text is no PTX module, or has no such kernel; located.
        CompileError: the compiler's own messages, or that there is none.
    """

    def __init__(
        self,
        code: str | bytes | RawCode,
        name: str,
        options: Sequence[str] = (),
        backend: str = "",
        via: str = "",
    ) -> None:
        super().__init__()
        if not isinstance(code, RawCode):
            module, lowered = compiled(decoded(code), "", options, (), backend)
            name = lowered.get(name, name)
            code = RawCode(module, via)
        self._code, self._kernel = code, code.kernel(name)
        params = enumerate(self._kernel.source.entry.params)
        self._structs = {number: each.size for number, each in params if each.is_array}
        self._layouts: dict[tuple[Any, ...], Layout | None] = {}
        self._ready: dict[Any, tuple[Plan, Dim3, Layout]] = {}

    @property
    def name(self) -> str:
        """Its name in the PTX."""
        return self._kernel.name

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        return _kernel_of, (units_of(self._code), self._code.via, self.name)

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
        cluster: Any = None,
    ) -> None:
        """Launch.

        Args:
            grid: blocks along each axis: a number, or a tuple of up to three.
            block: threads of a block along each axis.
            args: one for each parameter: device arrays, host arrays (copied in and back, and waited
                for), integers as numbers or addresses, numpy scalars of the parameter's size.
            shared_mem: bytes of dynamic shared memory.
            stream: one of ``cuda.stream()``; None is the default stream.
            cluster: blocks of a cluster along each axis, which run at once and reach each other's
                shared memory; None for what the code says, or one.

        Raises:
            ArgumentError: their number or types do not fit.
            LaunchError: no device has such a launch.
            PtxError: the kernel has what is not translated; located.
            TargetError: the device lacks what the kernel needs.
        """
        args = tuple(args)
        key: tuple[Any, ...] | None = None
        if (
            stream is None
            and type(grid) in _SHAPES
            and type(block) in _SHAPES
            and type(shared_mem) is int
            and (cluster is None or type(cluster) in _SHAPES)
        ):
            key = current.device(), grid, block, shared_mem, cluster, tuple(map(type, args))
            try:
                launch_record = self._ready.get(key)
            except TypeError:  # a shape of what has no hash, which ``dim3`` looks at
                launch_record = key = None
            if launch_record is not None and _again(*launch_record, shared_mem, args):
                return
        try:
            self._launch(grid, block, args, shared_mem, stream, cluster, key)
        except GridlaneError as error:
            noted(error, device=current.name(), kernel=self.name)
            raise

    def _launch(
        self,
        grid: Any,
        block: Any,
        args: tuple[Any, ...],
        shared_mem: int,
        stream: Any,
        cluster: Any,
        key: tuple[Any, ...] | None,
    ) -> None:
        """Launch like no launch before, and keep what is ready for others like this one.

        Args:
            key: None where it is not kept.
        """
        names = self._kernel.source.parameters
        if len(args) != len(names):
            raise ArgumentError(
                f"{self.name} takes {len(names)} arguments ({', '.join(names)}), not {len(args)}"
            )
        threads = dim3(block, "block")
        blocks = None if cluster is None else dim3(cluster, "cluster")
        kernel, plan = self._kernel.plan(threads, current.device(), cluster=blocks)
        back = Writebacks()
        if self._kernel.is_native(kernel):
            refuse_textures(self.name, args)
        given = on_device(structs_as_bytes(args, self._structs), back)
        params, given = self._packed(plan, threads, given)
        native = stream.native if isinstance(stream, AnyStream) else None
        if stream is not None and native is None:
            raise ArgumentError(f"stream: one of cuda.stream(), not {stream!r:.60}")
        shape = dim3(grid, "grid")
        plan = kernel.fitting(plan, shape, params)  # arrays may lie in several buffers
        plan.launch(shape, params, shared_mem, native, given)
        laid = self._layouts.get(self._layout_key(plan, threads, args))
        if laid is not None and key is not None:
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            self._ready[key] = plan, shape, laid
        if back or any(isinstance(value, np.ndarray) for value in given):
            (native or plan.device.default_stream).synchronize()
            for write in back:
                write()

    @staticmethod
    def _layout_key(plan: Plan, block: Dim3, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return plan.device, block, plan.kernel.artifact.cluster, tuple(map(type, args))

    def _packed(
        self, plan: Plan, block: Dim3, args: tuple[Any, ...]
    ) -> tuple[bytes, tuple[Any, ...]]:
        """The parameter block, and the arguments with the module's memory where code needs it."""
        artifact, key = plan.kernel.artifact, self._layout_key(plan, block, args)
        known = self._layouts.get(key)
        if known is not None:
            return known.packed(args), args
        further = self._kernel.further(artifact, plan.device)
        if key not in self._layouts:
            self._layouts[key] = (
                None if further else layout(artifact.params, artifact.param_bytes, args)
            )
        types = tuple(param.type for param in self._kernel.source.entry.params)
        types += ("u64",) * len(further)
        given = args + tuple(each.address if isinstance(each, Buffer) else each for each in further)
        block_bytes = packed(self.name, types, artifact.params, artifact.param_bytes, given)
        return block_bytes, args + further


def _again(
    plan: Plan, shape: Dim3, block_layout: Layout, shared: int, args: tuple[Any, ...]
) -> bool:
    """Launch as before, if a launch of this shape with arguments of these types was checked.
    Hot: nothing is checked again but where arrays are."""
    if not block_layout.are_on(plan.device, args) or trace.enabled():
        return False
    params = block_layout.packed(args)
    if not plan.suits(shape, params):
        return False
    plan.device.default_stream.launch(plan.kernel, params, *shape, shared, args)
    return True
