"""``cuda.RawModule`` and ``cuda.RawKernel``: kernels from PTX, on every device."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core import trace
from gridlane.core.compact import ANY
from gridlane.core.errors import ArgumentError, LaunchError
from gridlane.core.options import KernelOptions
from gridlane.core.process_bound import ProcessBound
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.host.streams import AnyStream
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.cuda.raw.arguments import on_device, packed
from gridlane.cuda.raw.memory import ModuleMemory
from gridlane.frontends.ptx import PtxModule, PtxSource, parse_ptx
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3, dim3
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan

if TYPE_CHECKING:
    from gridlane.frontends.cuda_cpp import Compiled

_PTX = re.compile(r"(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*\.version\b")
_CPP = re.compile(r"__global__|__device__|#\s*include")


class RawModule:
    """A module of PTX or CUDA C++.

    Args:
        code: the text; PTX begins with ``.version``, all else is CUDA C++.
        path: of a file with the text, in place of ``code``.
        options: for the compiler of CUDA C++: ``("-DN=4", "--std=c++17")``.
        name_expressions: kernels of CUDA C++ by their names there, such as ``scale<float>``.
        backend: the compiler of CUDA C++: ``clang``, ``nvcc`` or ``nvrtc``; "" is the first of
            these that is installed.

    Raises:
        PtxError: the text is no PTX module; located.
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
        code: str | bytes = "",
        path: str | os.PathLike[str] = "",
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        backend: str = "",
    ) -> None:
        if bool(code) == bool(path):
            raise ArgumentError("RawModule takes the text as code=, or a file as path=")
        name = os.fspath(path) if path else ""
        text = _decoded(Path(path).read_bytes() if path else code)
        module, self._lowered = _compiled(text, name, options, name_expressions, backend)
        self._memory = ModuleMemory(module)
        self._kernels: dict[str, RawKernel] = {}

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name in the PTX, which is mangled unless the source says extern "C"; or
        by one of ``name_expressions``.

        Raises:
            PtxError: there is no such kernel; the message lists those there are.
        """
        found = self._kernels.get(name)
        if found is None:
            made = RawKernel(self._memory, self._lowered.get(name, name))
            found = self._kernels[name] = made
        return found

    def get_global(self, name: str) -> DeviceNDArray:
        """The memory of a variable on the current device: ``__device__`` and ``__constant__``
        variables by their names in the PTX.

        Returns:
            A device array of its bytes (uint8); ``view`` gives it another dtype. What is written to
            it is what the next launch reads.

        Raises:
            ArgumentError: there is no such variable; the message lists those there are.

        >>> text = ".version 8.0 .target sm_80\\n.visible .global .u32 count = 7;"
        >>> RawModule(code=text).get_global("count").view(np.uint32).copy_to_host()
        array([7], dtype=uint32)
        """
        return self._memory.variable(self._lowered.get(name, name))


class RawKernel(ProcessBound):
    """A kernel of PTX or CUDA C++. It compiles for a device at its first launch there.

    Args:
        code: the text of the module.
        name: of the kernel.
        options: for the compiler of CUDA C++.
        backend: that compiler, as for ``RawModule``.

    Raises:
        PtxError: the text is no PTX module, or has no such kernel; located.
        CompileError: the compiler's own messages, or that there is none.
    """

    _instead = "pickle the text, and make the kernel of it there"

    def __init__(
        self,
        code: str | bytes | ModuleMemory,
        name: str,
        options: Sequence[str] = (),
        backend: str = "",
    ) -> None:
        super().__init__()
        if not isinstance(code, ModuleMemory):
            module, lowered = _compiled(_decoded(code), "", options, (), backend)
            name = lowered.get(name, name)
            code = ModuleMemory(module)
        self._memory = code
        self._source = PtxSource(code.module, name)
        # Where PTX says f64 it means binary64, also on devices without it.
        self._kernel = Kernel(self._source, (), KernelOptions(fp64="exact"))
        self._plans: dict[tuple[Any, Dim3], Plan] = {}

    @property
    def name(self) -> str:
        """Its name in the PTX."""
        return self._source.name

    def __call__(
        self,
        grid: Any,
        block: Any,
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch.

        Args:
            grid: blocks along each axis: a number, or a tuple of up to three.
            block: threads of a block along each axis.
            args: one for each parameter: device arrays, host arrays (copied in and back, and waited
                for), integers as numbers or addresses, numpy scalars of the parameter's size.
            shared_mem: bytes of dynamic shared memory.
            stream: one of ``cuda.stream()``; None is the default stream.

        Raises:
            ArgumentError: their number or types do not fit.
            LaunchError: no device has such a launch.
            PtxError: the kernel has what is not translated; located.
            TargetError: the device lacks what the kernel needs.
        """
        args = tuple(args)
        names = self._source.parameters
        if len(args) != len(names):
            raise ArgumentError(
                f"{self.name} takes {len(names)} arguments ({', '.join(names)}), not {len(args)}"
            )
        threads = dim3(block, "block")
        self._check_bounds(threads)
        plan = self._plan(threads)
        back = Writebacks()
        given = on_device(args, back)
        artifact = plan.kernel.artifact
        types = tuple(param.type for param in self._source.entry.params)
        if any(slot.argument == len(names) for slot in artifact.params):
            given, types = (*given, self._memory.here()), (*types, "u64")
        params = packed(self.name, types, artifact.params, artifact.param_bytes, given)
        native = stream.native if isinstance(stream, AnyStream) else None
        if stream is not None and native is None:
            raise ArgumentError(f"stream: one of cuda.stream(), not {stream!r:.60}")
        shape = dim3(grid, "grid")
        plan = self._kernel.fitting(plan, shape, params)  # arrays may lie in several buffers
        plan.launch(shape, params, shared_mem, native, given)
        if back or any(isinstance(value, np.ndarray) for value in given):
            (native or plan.device.default_stream).synchronize()
            for write in back:
                write()

    def _plan(self, block: Dim3) -> Plan:
        device = current.device()
        found = self._plans.get((device, block))
        if found is None:
            found = self._plans[device, block] = self._kernel.plan(block, ANY, device)
            for note in self._source.module.notes:
                trace.event("note", kernel=self.name, note=f'"{note}"')
        return found

    def _check_bounds(self, block: Dim3) -> None:
        """Raise if the PTX names another block shape, or fewer threads."""
        tuning = self._source.entry.tuning
        wanted, most = tuning.get("reqntid"), tuning.get("maxntid")
        threads = block[0] * block[1] * block[2]
        if wanted and block != (*wanted, 1, 1)[:3]:
            raise LaunchError(f"{self.name} is for blocks of {wanted} (.reqntid), not {block}")
        if most:
            bound = 1
            for each in most:
                bound *= each
            if threads > bound:
                raise LaunchError(
                    f"{self.name} is for at most {bound} threads a block (.maxntid), not {threads}"
                )


def _decoded(code: str | bytes) -> str:
    if isinstance(code, bytes):
        try:
            return code.rstrip(b"\0").decode()
        except UnicodeDecodeError as error:
            raise ArgumentError(
                f"the code is no text ({error}); a cubin or fatbin is not read: pass the PTX"
            ) from error
    if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"code is text, not an object of type {type(code).__name__}")
    return code


def compile_cpp(
    code: str | bytes,
    *,
    options: Sequence[str] = (),
    name: str = "",
    name_expressions: Sequence[str] = (),
    backend: str = "",
) -> str:
    """The PTX of CUDA C++, compiled or of the disk cache.

    Args:
        options: of the compiler: ``-I``, ``-D``, ``--std=c++17``, ``-arch=compute_90``, ...
        name: of the file, for the compiler's messages; quoted includes are searched beside it.
        name_expressions: templates to instantiate, such as ``scale<float>``.
        backend: ``clang``, ``nvcc`` or ``nvrtc``; "" is the first of these that is installed.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    return _by_compiler(_decoded(code), name, options, name_expressions, backend).ptx


def _by_compiler(
    text: str, name: str, options: Sequence[str], expressions: Sequence[str], backend: str
) -> Compiled:
    from gridlane.compiler import cpp  # few programs need it

    if isinstance(options, str) or isinstance(expressions, str):
        raise ArgumentError("options and name_expressions are tuples or lists of texts")
    given = tuple(options), name or "kernel.cu", tuple(expressions)
    return cpp.compile_cpp(cpp.CppSource(text, *given), backend)


def _compiled(
    text: str, name: str, options: Sequence[str], expressions: Sequence[str], backend: str
) -> tuple[PtxModule, dict[str, str]]:
    """The module, and the name in it of each name expression."""
    if _PTX.match(text):
        if expressions:
            raise ArgumentError("name_expressions are of CUDA C++, and the code is PTX")
        return parse_ptx(text, name), {}
    if not _CPP.search(text):
        return parse_ptx(text, name), {}  # which says what is missing
    made = _by_compiler(text, name, options, expressions, backend)
    return parse_ptx(made.ptx), made.names
