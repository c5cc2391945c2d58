"""The record of a target. A dotted name in it is imported at its first use.

Every process has these classes. They are named tuples because dataclasses of as many fields take
milliseconds to define.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import Enum, StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from gridlane.backends.formats import Format
from gridlane.core.compact import ANY, Variant
from gridlane.core.features import Feature


class Fact(StrEnum):
    """A condition of a compilation besides the features."""

    OPTIMISED = "optimised"
    COMPACT = "compact"
    """Optimised code for compact launches; see core/compact.py."""

    COARSE = "coarse"
    """Compact code for grids with a multiple of ``COARSE`` blocks along x."""

    FUSES = "fuses"
    """The processor has fused multiply-adds."""

    VECTOR_LIBRARY = "vector library"
    """There is a library of functions on the processor's vectors."""

    OWN_FUNCTIONS = "own functions"
    """The kernel's options ask for gridlane's own functions."""

    TILES = "tiles"
    """It is a program over tiles."""

    CHECKED = "checked"
    """Each access to memory is checked."""

    FLUSHES = "flushes"
    """The processor has a mode that flushes subnormal numbers as NVIDIA's GPUs do."""

    LIBDEVICE = "libdevice"
    """There is NVIDIA's library of functions."""

    ASYNC_COPIES = "async copies"
    """The processor has asynchronous copies."""

    MATRIX_PRODUCTS = "matrix products"
    """The processor has ``mma`` with the shapes of ``passes/tiles``."""

    WARPGROUPS = "warpgroups"
    """The processor has ``wgmma``: it is sm_90a."""

    MBARRIERS = "mbarriers"
    """The processor has mbarriers that count bytes."""

    MEDIUM_SHARED = "medium shared"
    """A block may have 163 KiB of shared memory."""

    LARGE_SHARED = "large shared"
    """A block may have 227 KiB of shared memory."""


Condition: TypeAlias = Feature | Fact
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Pass(NamedTuple):
    """A pass of a pipeline, or another function or class that a record chooses, by its dotted name.
    It is active where all of ``needs`` hold and none of ``lacks``.

    Attributes:
        arguments: of a pass, dotted names of its arguments after the module.
        facts: of a pass, dotted names of functions of the target's ``Backend``, whose results it
            takes after these.
        options: of a pass, fields of KernelOptions that it takes after these. What a pass returns,
            if anything, are notes for the user.
    """

    path: str
    arguments: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: frozenset[Condition] = frozenset()
    lacks: frozenset[Condition] = frozenset()

    def when(self, *conditions: Condition) -> Pass:
        """The same, active where these hold as well."""
        return self._replace(needs=self.needs | {*conditions})

    def unless(self, *conditions: Condition) -> Pass:
        """The same, active where none of these holds."""
        return self._replace(lacks=self.lacks | {*conditions})

    def applies(self, given: Container[str]) -> bool:
        """Whether it is active."""
        return all(each in given for each in self.needs) and not any(
            each in given for each in self.lacks
        )


class Subnormals(Enum):
    """Where a target may take subnormal f32 as 0."""

    KEPT = "nowhere"
    IN_ATOMICS = "in atomic sums"
    LEFT_OPEN = "anywhere, as its language leaves that to the device"


class Backend(NamedTuple):
    """The record of a target.

    Attributes:
        name: in ``Target.name`` and GRIDLANE_DEVICE.
        title: its name in messages.
        driver: dotted name of the module with ``open_device(ordinal)`` and ``device_count()``.
        generator: dotted name of the module with ``generate`` and ``text``; see
            ``compiler.generation``.
        pipeline: the passes before the generator, in order.
        stage: dotted name of the set of ops that the generator accepts, in ``ir/stages.py``.
        legal: those that it accepts besides.
        absent: those of the stage that it does not accept.
        codegen: dotted name of the package that emits ops for it; "" where none are emitted.
        legal_with: those that it accepts as well where a condition holds.
        reasons: why it refuses an op, by name, and the alternative.
        formats: of its code; the last are those of artifacts.
        named_processors: ``gridlane compile --arch`` may name its processor.
        dialects: of a C-like language; the first that applies is taken.
        compiles: the language of texts that its driver compiles itself; "" is none.
        identity: dotted name of a function that returns further dependencies, for the key.
        features: those that its devices may have.
        usual: the features of a target that names none.
        stack: the most bytes of a thread's stacks, which hold numbers only: addresses on it are
            refused, as ``Module.stack`` says. 0: none, as compilers of its drivers take minutes
            for the loops; None: any.
        shaped: its code is for one block shape.
        max_threads: of a block.
        program_warps: the most warps that run one program over tiles.
        program_shared: the most bytes of shared memory of one.
        passes_by_value: its kernels take objects by value, such as tensor maps.
        float64: it computes in binary64; otherwise ``KernelOptions.fp64`` says how.
        subnormals: where subnormal f32 may be 0.
        ulp: error bounds of functions, by name and type, where they exceed the default.
        undefined: cases of ``conformance`` whose result the hardware leaves undefined, and why.
        refused: cases that its generator does not support: an op, a pattern of the labels of
            its cases, and words of the message.
        compared: the kinds of launches whose code conformance compares, of a compact launch.
        executes_ir: its driver runs the IR itself, as the reference of the others.
        on_host: its devices are the processor that Python runs on.
        reads_as: the target whose code is shown for its own.
        rank: the order in which ``gridlane run --device auto`` tries devices, the highest first;
            0: never.
        beneath: the targets by whose drivers its own reaches devices on Linux. If the first shows
            software alone, and the others do, so does it.
        extra: the extra to install for its driver.
        bindings: the package of the extra that binds the driver, by its name on PyPI.
        system: the only one that has the driver, as in ``sys.platform``; "", any.
        bench: dotted name of the benchmark of ``gridlane bench``; "": the host's.
        advice: what to do when a step of ``gridlane doctor`` fails.
    """

    name: str
    title: str
    driver: str
    generator: str
    pipeline: tuple[Pass, ...]
    stage: str = "gridlane.ir.stages.COMMON"
    legal: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    codegen: str = ""
    legal_with: Mapping[Condition, frozenset[str]] = _NOTHING
    reasons: Mapping[str, str] = _NOTHING
    formats: tuple[Format, ...] = ()
    named_processors: bool = False
    dialects: tuple[Pass, ...] = ()
    compiles: str = ""
    identity: str = ""
    features: frozenset[Feature] = frozenset()
    usual: frozenset[Feature] = frozenset()
    stack: int | None = None
    shaped: bool = False
    max_threads: int = 1024
    program_warps: int = 8
    program_shared: int = 32 << 10
    passes_by_value: bool = False
    float64: bool = True
    subnormals: Subnormals = Subnormals.KEPT
    ulp: Mapping[str, Mapping[str, int]] = _NOTHING
    undefined: Mapping[str, str] = _NOTHING
    refused: tuple[tuple[str, str, str], ...] = ()
    compared: tuple[Variant, ...] = (ANY,)
    executes_ir: bool = False
    on_host: bool = False
    reads_as: str = ""
    rank: int = 0
    beneath: tuple[str, ...] = ()
    extra: str = ""
    bindings: str = ""
    system: str = ""
    bench: str = ""
    advice: Mapping[str, str] = _NOTHING

    def legal_ops(self, given: Container[str]) -> frozenset[str]:
        """The names of the ops that the generator accepts."""
        more = (ops for condition, ops in self.legal_with.items() if condition in given)
        return (loaded(self.stage) - self.absent).union(self.legal, *more)

    def pairs_float64(self, fp64: str) -> bool:
        """Whether it has float64 as pairs of float32, and none in memory, with this option."""
        return not self.float64 and fp64 == "emulate"

    @property
    def has_compact_code(self) -> bool:
        """Whether compact launches have code of their own."""
        return any(Fact.COMPACT in each.needs for each in self.pipeline)


def loaded(path: str) -> Any:
    """The attribute of a module, by its dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
