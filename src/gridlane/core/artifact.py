"""The compiler's product for the runtime: a compiled kernel and how to call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.core.source import UNKNOWN, Loc

if TYPE_CHECKING:
    from gridlane.core.tensor_map import TensorMapUse

Path = tuple[str | int, ...]
"""The path to a scalar in an argument; see ``ParamSlot``."""


@frozen
class ParamSlot:
    """One scalar or pointer of the flat parameter block.

    ``offset`` bytes from its start, naturally aligned. ``dtype`` is None for a pointer (8 bytes).
    ``argument`` is the caller's argument number and ``path`` locates the scalar in it: () the
    scalar itself, ("data",), ("shape", d), ("strides", d) with strides in bytes; for a tuple the
    item index comes first, for a complex ("real",) and ("imag",); a record is passed as
    ("record",), a pointer to a copy of it. ``by_value``: the bytes of a tensor map that lies in the
    block itself, which no argument fills: see ``tensor_maps`` of ``Artifact``.
    """

    name: str
    offset: int
    dtype: DType | None
    argument: int
    path: Path = ()
    by_value: int = 0

    @property
    def size(self) -> int:
        """Its size in bytes."""
        if self.by_value:
            return self.by_value
        return 8 if self.dtype is None else self.dtype.size

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.offset + self.size


@frozen
class KernelErrorSite:
    """The meaning of code ``n`` in a running kernel's error report: exception name, message, place.

    Attributes:
        late: the error is the device's and not the program's, so no launch waits for it.
        detail: the message where the report has numbers, with a ``{}`` for each.
    """

    exception: str
    message: str
    loc: Loc = UNKNOWN
    late: bool = False
    detail: str = ""


@frozen
class PrintSite:
    """The meaning of print record ``n``: parts are texts, or None for the next type's argument.
    ``formats`` are those of the arguments, if they have any, and ``end`` is what follows; see the
    IR's ``print``."""

    parts: tuple[str | None, ...]
    dtypes: tuple[DType, ...]
    formats: tuple[str, ...] = ()
    end: str = "\n"


@frozen
class Artifact:
    """A compiled kernel.

    Attributes:
        target: name of the target: ``cpu``, ``interp``, ``cuda``, ``vulkan``, ``metal``, ``opengl``
            or ``webgpu``.
        format: of ``code``: ``object`` (a relocatable machine-code file), ``ir`` (IR text),
            ``ptx`` (text), ``cubin``, ``spirv`` (words), or the texts ``msl``, ``glsl`` and
            ``wgsl``.
        code: the bytes.
        entry: symbol of the kernel.
        params: the flat parameter block, in order; ``param_bytes`` long.
        static_shared: bytes of static shared memory of a block.
        block: the block shape that the code is made for, or None for any.
        scratch: bytes of working memory per worker, beyond shared memory, for this block shape.
        coarse: how many of the user's blocks, along x, each block of the launch runs.
        errors: the kernel's error table, the program's own errors first.
        prints: the kernel's print table.
        work: estimated scalar operations of one thread, to decide whether waking a worker pays.
        symbols: library functions that the code calls.
        notes: what the compiler did that the user should know (emulation, fallbacks).
        uses_dynamic_shared: the kernel uses shared memory whose size is given at launch.
        own_dynamic: bytes of dynamic shared memory for the code's own arrays, where these are more
            than static ones may be; each launch has them besides its own.
        needs: for code of a named processor: its architecture, and the features that a
            host must have to run it.
        extra_threads: those that a block has along x besides those of the launch.
        cooperative: blocks wait for each other, so all must be resident at once.
        cluster: how many blocks of the grid, along each axis, run at once and reach each other's
            shared memory.
        requires_cluster: the code itself requires these of every launch.
        non_portable: the program allows clusters of more blocks than every device has.
        kernel: its name in the source; "": the symbol.
        buffers: for each pointer of ``params``, the place of its buffer among those that the code
            binds as memory; (): all are in the first buffer of the device. See ``shader_abi``.
        places: where the instructions that reach memory come from, and behind the first
            ``accesses`` where loops are, by the numbers, from 1, that the code has as lines.
        untraced: it makes pointers of numbers or of memory, so their buffers are unknown.
        asks_host: code for host devices asks which memory there is, as it checks its accesses.
        constants: what the code reads behind the parameter block; see ``parameter_block``.
        tensor_maps: the descriptions of tensors that each launch has in its parameter block; their
            parameters are places in ``params``.
        starts: the offset of each parameter of PTX as it came, which may have several slots; ():
            each slot is a parameter.
        by_address: some parameter needs a larger alignment than the block has: launches pass the
            parameters by their addresses.
    """

    target: str
    format: str
    code: bytes
    entry: str
    params: tuple[ParamSlot, ...]
    param_bytes: int
    static_shared: int = 0
    block: tuple[int, int, int] | None = None
    scratch: int = 0
    errors: tuple[KernelErrorSite, ...] = ()
    prints: tuple[PrintSite, ...] = ()
    work: int = 0
    symbols: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    uses_dynamic_shared: bool = False
    own_dynamic: int = 0
    extra_threads: int = 0
    cooperative: bool = False
    cluster: tuple[int, int, int] = (1, 1, 1)
    requires_cluster: bool = False
    non_portable: bool = False
    coarse: int = 1
    needs: tuple[str, ...] = ()
    kernel: str = ""
    buffers: tuple[int, ...] = ()
    untraced: bool = False
    asks_host: bool = False
    constants: bytes = b""
    places: tuple[Loc, ...] = ()
    accesses: int = 0
    tensor_maps: tuple[TensorMapUse, ...] = ()
    starts: tuple[int, ...] = ()
    by_address: bool = False

    def whole_block(self, block: tuple[int, int, int]) -> tuple[int, int, int]:
        """The threads of a block with the extra ones."""
        x, y, z = block
        return x + self.extra_threads, y, z

    @property
    def name(self) -> str:
        """The kernel's name for messages."""
        return self.kernel or self.entry

    @property
    def param_end(self) -> int:
        """The end of the last parameter in bytes, without the block's padding."""
        return max([slot.end for slot in self.params], default=0)

    def parameter_block(self, params: bytes) -> bytes:
        """Packed parameters with the constants behind them, from a multiple of 16 bytes on."""
        if not self.constants:
            return params
        return params.ljust(max(16, -(-self.param_bytes // 16) * 16), b"\0") + self.constants

    @property
    def memory_bindings(self) -> int:
        """How many buffers of memory the code binds."""
        return 1 + max(self.buffers, default=0)

    @property
    def raises(self) -> bool:
        """Whether the program can raise: the host then waits for launches on the default stream."""
        return bool(self.errors) and not self.errors[0].late

    @property
    def spins(self) -> bool:
        """Whether the program has a loop or a barrier that may wait for ever, with an error of its
        own for that: for other threads, or for the host."""
        return any(each.late and each.exception == "RuntimeError" for each in self.errors)
