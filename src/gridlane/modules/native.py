"""PTX that a device's driver compiles itself, unchanged."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from gridlane.backends import backend
from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.device_errors import NOT_FOUND, handled
from gridlane.core.errors import DeviceError, TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.ptx import PtxModule, PtxSource
from gridlane.frontends.ptx.module import Declared
from gridlane.frontends.ptx.pieces import pieces
from gridlane.launch.kernel import Compile, Kernel
from gridlane.memory.resource import Buffer
from gridlane.modules.memory import no_variable
from gridlane.modules.parameters import packed_size, placed
from gridlane.runtime.protocol import Device, LoadedKernel, LoadedModule, ModuleDevice

if TYPE_CHECKING:
    from gridlane.ir.source import KernelSource

_ALIGNMENT = 16
"""That of the block of parameters, in bytes: ptxas aligns the address of each, and the driver's
constant memory of parameters begins at a multiple of this only."""

_OF_DRIVER = frozenset(("vprintf", "__assertfail", "malloc", "free"))
"""The functions that a driver has."""

_TEXTURES = re.compile(r"\b(tex|tld4|txq|suld|sust|sured|suq)\.")


def compiles_ptx(device: Device) -> bool:
    """Whether the device's driver takes PTX."""
    return backend(device.target((1, 1, 1)).name).compiles == "ptx"


class NativeModule:
    """A PTX module as a driver loads it. Its kernels share its variables.

    Any thread may use it.
    """

    def __init__(self, module: PtxModule) -> None:
        self.module = module
        self._loaded: dict[Device, LoadedModule] = {}
        self._variables: dict[tuple[Device, str], Buffer] = {}
        self._lock = threading.RLock()

    @cached_property
    def suits(self) -> bool:
        """Whether the driver has all that it names: it defines its functions, but for the driver's
        own, and its variables; it reads no textures, which are objects of gridlane's own; and its
        functions have no parameters in registers, which drivers do not link."""
        functions, variables = self.module.functions.values(), self.module.variables.values()
        return (
            all(each.has_body or each.name in _OF_DRIVER for each in functions)
            and not any(
                p.space == "reg" for each in functions for p in (*each.params, *each.results)
            )
            and not any(v.linking == "extern" and v.space != "shared" for v in variables)
            and not _TEXTURES.search(self.module.text.text)
        )

    def kernel(
        self,
        source: PtxSource,
        options: KernelOptions,
        around: Callable[[Compile], Compile] | None = None,
    ) -> Kernel:
        """A kernel of the module.

        Args:
            around: what changes its compilation.
        """
        compile = around(self._compile) if around is not None else self._compile
        return Kernel(source, (), options, compile, self._load)

    def variable(self, name: str, device: Device) -> Buffer:
        """The bytes of a variable on a device.

        Raises:
            ArgumentError: the module has no such variable; the message lists those it has.
        """
        with self._lock:
            buffer = self._variables.get((device, name))
            if buffer is None:
                buffer = self._find_variable(name, device)
                # The device knows the memory by its address as long as the module is loaded.
                self._variables[device, name] = buffer
            return buffer

    def _find_variable(self, name: str, device: Device) -> Buffer:
        module = self._on(device)
        try:
            address, size = module.variable(name)
        except DeviceError as error:
            if error.number != NOT_FOUND:
                raise
            handled(error)
            variables = self.module.variables.values()
            known = [each.name for each in variables if each.space in ("global", "const")]
            raise no_variable(name, known) from None
        return device.memory.note(Buffer(address, size, module, device))

    def _on(self, device: Device) -> LoadedModule:
        with self._lock:
            loaded = self._loaded.get(device)
            if loaded is None:
                from gridlane import compiler  # not needed before the first launch

                kernel = compiler.compile_kernel(
                    _Whole(self.module),
                    (),
                    KernelOptions(),
                    device.target((1, 1, 1)),
                    make=_as_it_came,
                )
                loaded = self._loaded[device] = cast(ModuleDevice, device).load_module(kernel)
            return loaded

    def _compile(
        self,
        source: KernelSource,
        types: tuple[Any, ...],
        options: KernelOptions,
        target: Target,
        device: Device,
    ) -> Artifact:
        declared = self.module.functions[source.name].params
        where = placed(declared)
        return replace(
            self._on(device).artifact,
            entry=source.name,
            kernel="",
            params=_slots(where),
            param_bytes=packed_size(declared),
            starts=tuple([start for _, start in where]),
            by_address=any(param.align > _ALIGNMENT for param in declared),
        )

    def _load(self, device: Device, artifact: Artifact) -> LoadedKernel:
        return cast(ModuleDevice, device).load(artifact, self._on(device))


class _Whole:
    """The source of all kernels of a module."""

    parameters = ()

    def __init__(self, module: PtxModule) -> None:
        self.module = module

    @property
    def name(self) -> str:
        """The name of its first kernel, for messages."""
        return next(iter(self.module.entries), "no kernel")

    def key(self) -> bytes:
        """A digest of the text."""
        return hashlib.sha256(b"as it came\0" + self.module.text.text.encode()).digest()

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Any:
        """Not possible: the IR has one kernel."""
        raise TargetError("a whole module of PTX has no IR")


def _as_it_came(
    source: KernelSource, types: tuple[Any, ...], options: KernelOptions, target: Target
) -> Artifact:
    assert isinstance(source, _Whole)
    variables = source.module.variables.values()
    return Artifact(
        target=target.name,
        format="ptx",
        code=source.module.text.text.encode(),
        entry=source.name,
        params=(),
        param_bytes=0,
        uses_dynamic_shared=any(v.space == "shared" and v.count is None for v in variables),
    )


def _slots(where: list[tuple[Declared, int]]) -> tuple[ParamSlot, ...]:
    """The slots of a kernel's parameters where PTX has them."""
    return tuple(
        ParamSlot(param.name, start + offset, dtype, number, (offset,) if param.is_array else ())
        for number, (param, start) in enumerate(where)
        for offset, dtype in pieces(param)
    )
