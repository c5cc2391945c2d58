"""Devices of WebGPU, by WGSL."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import IR, WGSL
from gridlane.backends.record import Backend, Pass, Subnormals
from gridlane.core.compact import Variant
from gridlane.core.extras import install
from gridlane.core.features import Feature
from gridlane.ir.families import CALLS, LANES, REPORTS

BACKEND = Backend(
    name="webgpu",
    title="WebGPU devices",
    driver="gridlane.runtime.drivers.webgpu",
    generator="gridlane.compiler.clike",
    stack=0,
    codegen="gridlane.codegen.clike",
    dialects=(Pass("gridlane.codegen.clike.wgsl.Wgsl"),),
    pipeline=passes.WORDS,
    # Warp ops are barriers of the block now.
    legal=REPORTS | CALLS,
    absent=LANES,
    reasons={
        **reasons.WITHOUT_GRIDS,
        **reasons.WITHOUT_CLUSTERS,
        **reasons.SHADERS,
        **reasons.CHECKS,
        **reasons.SHARED_MATRICES,
    },
    refused=(
        ("fence", ".*", "WGSL orders memory by barriers of the block alone"),
        *reasons.WORD_ATOMICS,
    ),
    formats=(IR, WGSL),
    features=frozenset(
        (Feature.ROUNDS, Feature.SHORT_LOOPS, Feature.SWAPS_SELECTS, Feature.MISREADS_UNITS)
    ),
    shaped=True,
    program_shared=16 << 10,
    # Of what any launch takes there are more tests.
    compared=(Variant(compact=True),),
    float64=False,
    subnormals=Subnormals.LEFT_OPEN,
    rank=30,
    beneath=("vulkan", "opengl"),
    extra="webgpu",
    bindings="wgpu",
    advice={
        "available": f"WebGPU needs PyPI's wgpu, {install('webgpu')}, and a driver of Vulkan, "
        "Metal or Direct3D 12; for the CPU, Debian has one in mesa-vulkan-drivers",
    },
)
