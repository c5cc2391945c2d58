"""NVIDIA GPUs."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import CUBIN, IR, LLVM, PTX
from gridlane.backends.record import Backend, Fact
from gridlane.core.compact import ANY, Variant
from gridlane.core.extras import install
from gridlane.ir.families import (
    CLUSTERS,
    COOPERATIVE,
    COPIES,
    MACHINE,
    MATRIX,
    MBARRIERS,
    PAIRS,
    PARTS,
    PRODUCTS,
    TENSORS,
    WARPGROUPS,
)

_OTHERS = "the mask does not name the lanes that call"
_WAITS = "waits for the absent lanes"

BACKEND = Backend(
    name="cuda",
    title="NVIDIA GPUs",
    driver="gridlane.runtime.drivers.cuda",
    generator="gridlane.compiler.cuda",
    codegen="gridlane.codegen.llvm.gpu.nvptx",
    compiles="ptx",
    identity="gridlane.compiler.identity.libdevice",
    pipeline=(
        passes.LOWER_TILES.unless(Fact.MATRIX_PRODUCTS),
        passes.LOWER_TILES_TO_CORES.when(Fact.MATRIX_PRODUCTS).unless(
            Fact.LARGE_SHARED, Fact.MEDIUM_SHARED
        ),
        passes.LOWER_TILES_TO_MEDIUM.when(Fact.MATRIX_PRODUCTS, Fact.MEDIUM_SHARED),
        passes.LOWER_TILES_TO_LARGE.when(Fact.MATRIX_PRODUCTS, Fact.LARGE_SHARED).unless(
            Fact.WARPGROUPS
        ),
        passes.LOWER_TILES_TO_GROUPS.when(Fact.WARPGROUPS),
        passes.EXPAND_WARPGROUPS.unless(Fact.WARPGROUPS),
        passes.EXPAND_MBARRIERS.unless(Fact.MBARRIERS),
        passes.EXPAND_FLUSHING_OF_NVPTX,
        # These emit functions, so they precede the inlining of calls.
        passes.FUNCTIONS_OF_BITS,
        passes.FUNCTIONS_OF_NVPTX.unless(Fact.LIBDEVICE),
        passes.FUNCTIONS_OF_NVPTX.when(Fact.OWN_FUNCTIONS),
        passes.INLINE,
        passes.OTHER_MATRIX_ACCESSES,
        passes.MEMORY_PRODUCTS,
        passes.COPY_AT_ONCE.unless(Fact.ASYNC_COPIES),
        passes.PROMOTE,
        passes.SHARE_RANGES,
        passes.SHARE_RECIPROCALS,
        passes.COMPACT,
        passes.COARSE,
        passes.UNROLL,
        # After the hints, which LLVM follows.
        passes.KEEP_ROLLED,
        passes.GUARDS_OF_GPU,
    ),
    legal=CLUSTERS | COOPERATIVE | MATRIX | PAIRS | PARTS | MACHINE | PRODUCTS | TENSORS,
    legal_with={
        Fact.ASYNC_COPIES: COPIES,
        Fact.MBARRIERS: MBARRIERS,
        Fact.WARPGROUPS: WARPGROUPS,
    },
    reasons={**reasons.REPORT, **reasons.CHECKS},
    formats=(IR, LLVM, PTX, CUBIN),
    named_processors=True,
    compared=(Variant(compact=True), ANY),
    ulp={"tgamma": {"f32": 11, "f64": 10}},
    undefined={
        **{f"vote-{mode}-absent": _WAITS for mode in ("all", "any", "eq", "ballot")},
        "active_mask-beside-others-96": _OTHERS,
        "active_mask-beside-others-40": _OTHERS,
        "atomic-add-f32-apart": "atom.add.f32 takes subnormal numbers in global memory as 0",
        "atomic-sub-f32-apart": "as atom.add.f32",
    },
    refused=tuple(
        (name, ".*", "the description of a tensor is in global memory")
        for name in ("tensor_load", "tensor_store", "tensor_reduce", "tensor_multicast")
    ),
    program_warps=32,
    program_shared=48 << 10,
    passes_by_value=True,
    rank=60,
    extra="cuda",
    bindings="cuda-bindings",
    bench="gridlane.cli.gpu_bench.show.show",
    advice={
        "available": "a GPU needs NVIDIA's driver (nvidia-smi shows what that sees), "
        f"cuda-bindings, {install('cuda')}, and, in a container, to be handed in (--gpus all); the "
        "devices cpu and interp run the same programs without",
        "initialised": "nvidia-smi shows who uses the GPU and its memory, and whether one process "
        "may have it for itself (compute mode)",
        "executed": "GRIDLANE_TRACE=1 shows the launch, GRIDLANE_NATIVE=0 launches without the C "
        "extension; a driver that refuses the PTX or lacks a function is too old, update it",
    },
)
