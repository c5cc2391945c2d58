"""Compiled programs: the code for one set of argument types and constants, and its launches."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gridlane.backends import backend
from gridlane.compiler.cache_key import make_key
from gridlane.compiler.programs import block_of
from gridlane.core import argtypes
from gridlane.core.argtypes import ArgType
from gridlane.core.encoding import NotEncodable, encode
from gridlane.core.errors import ArgumentError
from gridlane.core.options import KernelOptions
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.parameters import Block
from gridlane.frontends.triton.source import TileSource
from gridlane.frontends.triton.types import dtype
from gridlane.launch import current
from gridlane.launch.dimensions import ALONE, Dim3
from gridlane.launch.kernel import Kernel
from gridlane.launch.packing import Packer, packer
from gridlane.launch.plan import Plan
from gridlane.runtime.protocol import Device
from gridlane.tiles.arguments import (
    ALIGNMENT,
    Described,
    TuplePart,
    on_current_device,
    packed_form,
)
from gridlane.tiles.grids import grid_of
from gridlane.tiles.streams import Handles, handles_of, stream_at

_LEAST_REGISTERS = 16


class Options(NamedTuple):
    """The options of a launch that code depends on.

    Attributes:
        num_warps: of a block, where the device has warps.
        num_stages: iterations of a loop whose copies may be in flight.
        debug: assertions of the program are checked.
        enable_fp_fusion: multiplications and additions may contract.
        cluster_dims: programs along each axis that are launched together, and share the loads of
            tiles that all of them need, where a device can and the grid consists of such; only
            those along the first axis are.
    """

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    debug: bool = False
    enable_fp_fusion: bool = True
    cluster_dims: tuple[int, int, int] = ALONE

    @property
    def cluster(self) -> int:
        """The programs along the first axis that are launched together."""
        x, y, z = self.cluster_dims
        return x if y == z == 1 else 1


class Launch(NamedTuple):
    """Code on a device, and how arguments of known types become its parameters."""

    plan: Plan
    pack: Packer


class Program:
    """A function with the types and constants of one kind of launch.

    Args:
        names: of the parameters.
        described: what code depends on of each argument.
    """

    def __init__(
        self,
        function: TileFunction,
        names: tuple[str, ...],
        described: tuple[Described, ...],
        options: Options,
    ) -> None:
        function.check()
        self.function, self.options, self.described = function, options, described
        self.name = function.fn.__name__
        self.runtime = tuple([n for n, each in enumerate(described) if each.type is not None])
        types: list[ArgType] = []
        constants: dict[Any, Any] = {}
        blocks: dict[Any, Block] = {}
        aligned: dict[Any, int] = {}
        elements: dict[Any, dtype] = {}
        for name, each in zip(names, described, strict=True):
            type_ = _taken_apart(name, (), each, constants, blocks, aligned, elements)
            if type_ is not None:
                types.append(type_)
        self.source = TileSource(
            function, constants, blocks, aligned, options.num_warps, elements, options.num_stages,
            options.cluster,
        )  # fmt: skip
        kernel_options = KernelOptions(
            floats="float32", fma=options.enable_fp_fusion, debug=options.debug,
            max_registers=options.maxnreg,
        )  # fmt: skip
        self.kernel = Kernel(self.source, tuple(types), kernel_options)
        self._launches: dict[Hashable, Launch] = {}
        self._lock = threading.Lock()
        self._names = names
        self.alone: Program | None = None
        """The same without clusters, for grids that do not consist of them."""

    def block(self, device: Device) -> Dim3:
        """The block that a device runs a program on."""
        return block_of(backend(device.target((1, 1, 1)).name), self.options.num_warps)

    def plan(self, device: Device) -> Plan:
        """The code on a device.

        Raises:
            CompilationError: the program is outside the language; located.
            TargetError: the device lacks what it needs.
            OutOfResources: a block does not fit into the device's memory.
        """
        return self.kernel.plan(self.block(device), device=device)

    def launch(self, grid: Dim3, args: tuple[Any, ...]) -> None:
        """Launch on this thread's device; ``args`` has all arguments, constants too.

        Raises:
            ArgumentError: it has more, or fewer.
        """
        if len(args) != len(self.described):
            raise ArgumentError(
                f"{self.name} takes {len(self.described)} arguments, its constants among them: "
                f"{', '.join(self.function.arg_names)}; {len(args)} were passed"
            )
        back, values = Writebacks(), tuple([args[n] for n in self.runtime])
        given = on_current_device(values, back)
        self.launch_converted(grid, given, back, handles_of(values, current.device()))

    def launch_converted(
        self, grid: Dim3, given: tuple[Any, ...], back: Writebacks, handles: Handles | None = None
    ) -> tuple[Launch, bytes]:
        """Launch with arrays that are on this thread's device already; return the code that was
        launched, and its parameter block.

        Args:
            handles: returns the CUstream of the launch; None for the default stream.
        """
        forms = tuple([packed_form(value) for value in given])
        device = current.device()
        known = self.launch_for(device, forms)
        if grid[0] % known.plan.kernel.artifact.cluster[0]:
            return self._without_clusters().launch_converted(grid, given, back, handles)
        params = known.pack(*forms)
        plan = self.kernel.fitting(known.plan, grid, params)
        stream = stream_at(handles(), device) if handles is not None else None
        plan.launch(grid, params, 0, stream, given)
        if back or any(isinstance(value, np.ndarray) for value in _leaves(given)):
            (stream or device.default_stream).synchronize()
            for write in back:
                write()
        return Launch(plan, known.pack), params

    def _without_clusters(self) -> Program:
        if self.alone is None:
            options = self.options._replace(cluster_dims=ALONE)
            self.alone = Program(self.function, self._names, self.described, options)
        return self.alone

    def launch_for(self, device: Device, forms: tuple[Any, ...]) -> Launch:
        """The code on a device for arguments in the form that packers read."""
        key = device, tuple([_kind(value) for value in forms])
        known = self._launches.get(key)
        if known is None:
            with self._lock:
                plan = self.plan(device)
                known = self._launches[key] = Launch(plan, packer(plan.parameters, forms))
        return known


def _kind(value: Any) -> Hashable:
    return tuple(map(_kind, value)) if type(value) is tuple else type(value)


def _leaves(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if type(value) is tuple:
            yield from _leaves(value)
        else:
            yield getattr(value, "base", value) if not isinstance(value, np.ndarray) else value


def _taken_apart(
    name: str,
    path: tuple[int, ...],
    described: Described,
    constants: dict[Any, Any],
    blocks: dict[Any, Block],
    aligned: dict[Any, int],
    elements: dict[Any, dtype],
) -> ArgType | None:
    """Note a parameter's constants, blocks, alignments and narrow elements; return its type, None
    for a constant."""
    key: Any = (name, *path) if path else name
    if described.type is None:
        constants[key] = described.constant
        return None
    if isinstance(described.type, TuplePart):
        items = [
            _taken_apart(name, (*path, place), part, constants, blocks, aligned, elements)
            or argtypes.none
            for place, part in enumerate(described.type.parts)
        ]
        fields = getattr(described.type.cls, "_fields", ())
        return argtypes.TupleType(tuple(items), fields, described.type.cls)
    if described.block is not None:
        blocks[key] = described.block
    if described.aligned:
        aligned[key] = ALIGNMENT
    if described.element is not None:
        elements[key] = described.element
    return described.type


class Metadata(NamedTuple):
    """Facts of a compiled program, by Triton's names. ``shared``: bytes of a block, those of the
    worker's own memory where a device has no shared memory."""

    name: str
    num_warps: int
    num_stages: int
    num_ctas: int
    shared: int
    debug: bool
    target: Any


class CompiledKernel:
    """A program on the device of the thread that asked for it, as ``warmup`` returns it.

    ``kernel[grid](*args)`` launches it with the arguments of all parameters.
    """

    def __init__(self, program: Program, plan: Plan, target: Any) -> None:
        self.program, self._plan = program, plan
        artifact = plan.kernel.artifact
        options = program.options
        self.name = program.name
        self.metadata = Metadata(
            program.name, options.num_warps, options.num_stages, options.num_ctas,
            artifact.static_shared + artifact.own_dynamic or artifact.scratch, options.debug,
            target,
        )  # fmt: skip
        self.src = program.source

    @property
    def hash(self) -> str:
        """A digest of what the code depends on; a number of this object where that has none."""
        kernel = self.program.kernel
        try:
            parts = (
                self.src.key(),
                encode((kernel.types, kernel.options)),
                repr(self.metadata.target),
            )
        except NotEncodable:
            return f"{id(self.program):064x}"
        return make_key(*parts)

    def _init_handles(self) -> None:
        """Load the code; it is loaded already."""

    @property
    def n_regs(self) -> int:
        """Registers of a thread; where the device does not say, the least that a compiler gives, as
        programs divide by it."""
        return self._figures("registers") or _LEAST_REGISTERS

    @property
    def n_spills(self) -> int:
        """Bytes of a thread's local memory."""
        return self._figures("local_bytes")

    def _figures(self, name: str) -> int:
        figures = getattr(self._plan.kernel, "figures", None)
        found = figures() if callable(figures) else figures
        return int(getattr(found, name, 0) or 0)

    @property
    def asm(self) -> Mapping[str, Any]:
        """The texts of the program by stage: ``ttir``, the tiles, and the device's code by its
        format, as ``ptx``, ``spirv`` or ``wgsl``."""
        from gridlane.ir.printer import print_module

        artifact = self._plan.kernel.artifact
        binary = artifact.format in ("object", "cubin", "spirv")
        code = artifact.code if binary else artifact.code.decode()
        return {"ttir": print_module(self.program.kernel.module), artifact.format: code}

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any) -> None:
            self.program.launch(grid_of(grid, {}), args)

        return launch
