"""From the LLVM IR of a kernel to PTX: linking libdevice, optimisation, code generation."""

# llvmlite has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from gridlane.codegen.llvm.gpu.nvptx.overlay import TRIPLE
from gridlane.core.errors import GridlaneError

# The PTX version with which a processor appeared (PTX ISA, release notes); drivers too old for it
# cannot run the processor anyway. LLVM ends the process for an older version than this. 7.5's first
# version lacked some of its tensor instructions: 6.5, of CUDA 10.2, has them. Code for sm_90a and
# its like runs on that processor alone, and for sm_100f on its family, so they have own lines.
VERSIONS: dict[str, int] = {
    **{"sm_70": 62, "sm_72": 62, "sm_75": 65, "sm_80": 70, "sm_86": 71, "sm_87": 74, "sm_88": 90},
    **{"sm_89": 78, "sm_90": 78, "sm_90a": 80, "sm_100": 86, "sm_100a": 86, "sm_100f": 88},
    **{"sm_101": 86, "sm_101a": 86, "sm_101f": 88, "sm_103": 88, "sm_103a": 88, "sm_103f": 88},
    **{"sm_110": 90, "sm_110a": 90, "sm_110f": 90, "sm_120": 87, "sm_120a": 87, "sm_120f": 88},
    **{"sm_121": 88, "sm_121a": 88, "sm_121f": 88},
}


def default_features(processor: str) -> str:
    """The PTX version to write for a processor of ``VERSIONS``, as LLVM's feature.

    >>> default_features("sm_90"), default_features("sm_75")
    ('+ptx78', '+ptx65')
    """
    return f"+ptx{VERSIONS[processor]}"


@cache
def _target() -> llvm.Target:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE)


@cache
def target_machine(processor: str, features: str, level: int) -> llvm.TargetMachine:
    """LLVM's machine for ``sm_90`` and the like."""
    return _target().create_target_machine(cpu=processor, features=features, opt=level)


@cache
def _extracted(path: Path, symbols: frozenset[str]) -> bytes:
    """Bitcode of some of libdevice's functions, with their callees. Cached for each set: reading
    the whole library takes most of the time of a compilation."""
    library = llvm.parse_bitcode(path.read_bytes())
    for function in library.functions:
        if not function.is_declaration and function.name not in symbols:
            function.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = target_machine("sm_75", default_features("sm_75"), 0)
    passes.run(library, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return library.as_bitcode()


def optimise(
    text: str,
    processor: str,
    features: str,
    level: int,
    library: Path | None = None,
    symbols: frozenset[str] = frozenset(),
) -> llvm.ModuleRef:
    """Parse, verify, link with ``symbols`` of the libdevice at ``library``, and optimise.

    Raises:
        GridlaneError: LLVM refuses the text, a defect in code generation; or the library.
    """
    machine = target_machine(processor, features, level)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise GridlaneError(f"LLVM refuses the generated code: {error}") from None
    module.triple = TRIPLE
    module.data_layout = str(machine.target_data)
    if library is not None:
        _link(module, library, symbols)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = False  # a thread has no vector registers
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def _link(module: llvm.ModuleRef, path: Path, symbols: frozenset[str]) -> None:
    """Link the functions that the module calls."""
    try:
        library = llvm.parse_bitcode(_extracted(path, symbols))
        library.triple = TRIPLE
        library.data_layout = module.data_layout
        module.link_in(library)
    except (OSError, RuntimeError) as error:
        raise GridlaneError(f"cannot link with {path}: {error}") from None
    for function in module.functions:
        if function.name in symbols and not function.is_declaration:
            function.linkage = "internal"  # so that it is dropped once inlined


LARGE = 8192
"""Instructions of an optimised module above which code generation does not optimise again: LLVM's
strength reduction takes seconds then, and the driver's compiler does its own. That keeps products
by warpgroups in flight only where their sums stay in their registers: with these it optimises."""


def assembly(*how: Any) -> str:
    """Compile to PTX; takes the arguments of ``optimise``."""
    module = optimise(*how)
    processor, features, level = how[1:4]
    machine = target_machine(
        processor, features, 0 if _is_large(module) and not _by_warpgroups(module) else level
    )
    return _rewritten(machine.emit_assembly(module))


def _is_large(module: llvm.ModuleRef) -> bool:
    """Whether a module has more than ``LARGE`` instructions."""
    return next(islice(_instructions(module), LARGE, None), None) is not None


def _by_warpgroups(module: llvm.ModuleRef) -> bool:
    return any("wgmma.mma_async" in str(each) for each in _instructions(module))


def _instructions(module: llvm.ModuleRef) -> Iterator[llvm.ValueRef]:
    for function in module.functions:
        for block in function.blocks:
            yield from block.instructions


_REWRITTEN = tuple(
    (re.compile(found), put)
    for found, put in (
        # Computed in 32 bits without truncation: where the result is widened, -32768 gives 32768.
        (r"\bneg\.s16\s+(%rs\d+), (%rs\d+);", r"sub.u16 \1, 0, \2;"),
        (
            r"\babs\.s16\s+(%rs\d+), (%rs\d+);",
            r"{ .reg .b32 %wide; cvt.s32.s16 %wide, \2; abs.s32 %wide, %wide; "
            r"cvt.u16.u32 \1, %wide; }",
        ),
        # Taken for not negative, but the absolute value of the least number is negative.
        (
            r"\babs\.s(32|64)\s+(%rd?\d+), (%rd?\d+);",
            r"{ .reg .b\1 %minus; neg.s\1 %minus, \3; max.s\1 \2, %minus, \3; }",
        ),
        # A select of 1 or -0 becomes 1 or 0, of a comparison that sets numbers.
        (r"\bselp\.f(32|64)\b", r"selp.b\1"),
    )
)
"""Instructions that ptxas (of CUDA 13.0) miscompiles, with their replacements."""

_STORE = re.compile(
    r"(?P<guard>@!?%p\d+\s+)?\b(?P<store>st\.(?:[\w:]+\.)*)(?P<type>[bsu](?P<bits>8|16|32)\s+"
    r"\[[^]]+\], )(?P<values>\{[^}]*\}|%r[sd]?\d+);"
)
_REGISTER = re.compile(r"%r(?P<kind>[sd]?)\d+")
_BITS = {"s": 16, "": 32, "d": 64}
"""Bits of a register by the letter behind ``%r``."""


def _with_bits(store: re.Match[str]) -> str:
    """A store of the low bits of registers, which are copied first: where a register is the result
    of an instruction for floats, ptxas stores its value rounded to an integer instead. The copy has
    no type."""
    moves = list[str]()

    def copied(register: re.Match[str]) -> str:
        bits = _BITS[register["kind"]]
        if bits <= int(store["bits"]):
            return register[0]
        name = f"%low{len(moves)}"
        moves.append(f".reg .b{bits} {name}; mov.b{bits} {name}, {register[0]};")
        return name

    values = _REGISTER.sub(copied, store["values"])
    if not moves:
        return store[0]
    stored = f"{store['guard'] or ''}{store['store']}{store['type']}{values};"
    return f"{{ {' '.join(moves)} {stored} }}"


def _rewritten(text: str) -> str:
    """Replace the instructions that ptxas miscompiles.

    >>> _rewritten("neg.s16 %rs2, %rs1;"), _rewritten("selp.f32 %f1, %f2, %f3, %p1;")
    ('sub.u16 %rs2, 0, %rs1;', 'selp.b32 %f1, %f2, %f3, %p1;')
    >>> _rewritten("abs.s64 %rd2, %rd1;")
    '{ .reg .b64 %minus; neg.s64 %minus, %rd1; max.s64 %rd2, %minus, %rd1; }'
    >>> _rewritten("st.global.b8 [%rd1+2], %r7;")
    '{ .reg .b32 %low0; mov.b32 %low0, %r7; st.global.b8 [%rd1+2], %low0; }'
    """
    for pattern, put in _REWRITTEN:
        text = pattern.sub(put, text)
    text = _STORE.sub(_with_bits, text)
    if ".b128" in text:  # assembly of ours has them
        text = _VERSION.sub(lambda match: max(match[0], _WIDE, key=_number), text, count=1)
    return text


_VERSION = re.compile(r"^\.version \d+\.\d+", re.MULTILINE)
_WIDE = ".version 8.4"
"""The first version of PTX with atomics of 128 bits of every scope."""


def _number(line: str) -> tuple[int, ...]:
    return tuple(map(int, line.split()[1].split(".")))


def optimised_text(*how: Any) -> str:
    """Optimised LLVM IR; takes the arguments of ``optimise``."""
    return str(optimise(*how))
