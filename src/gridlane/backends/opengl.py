"""Devices of OpenGL 4.3 and OpenGL ES 3.1, by GLSL."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import GLSL, IR
from gridlane.backends.record import Backend, Pass, Subnormals
from gridlane.core.compact import Variant
from gridlane.core.extras import install
from gridlane.core.features import Feature
from gridlane.ir.families import CALLS, LANES, REPORTS

BACKEND = Backend(
    name="opengl",
    title="OpenGL devices",
    driver="gridlane.runtime.drivers.opengl",
    generator="gridlane.compiler.clike",
    stack=1024,
    codegen="gridlane.codegen.clike",
    dialects=(
        Pass("gridlane.codegen.clike.glsl.GlslEs").when(Feature.ES),
        Pass("gridlane.codegen.clike.glsl.Glsl"),
    ),
    # Compilers of GLSL are slow on scopes with a leave.
    pipeline=(*passes.WORDS, passes.BRANCH_OUT_OF_SCOPES),
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
        ("fence", ".*", "the host sees what a kernel wrote when the kernel is done"),
        *reasons.WORD_ATOMICS,
    ),
    formats=(IR, GLSL),
    features=frozenset(
        (
            Feature.ES,
            Feature.ROUNDS,
            Feature.SHORT_LOOPS,
            Feature.SWAPS_SELECTS,
            Feature.MISREADS_UNITS,
        )
    ),
    shaped=True,
    # Of what any launch takes there are more tests.
    compared=(Variant(compact=True),),
    float64=False,
    subnormals=Subnormals.LEFT_OPEN,
    rank=20,
    extra="opengl",
    bindings="moderngl",
    advice={
        "available": f"OpenGL needs PyPI's moderngl, {install('opengl')}, EGL (Debian: libegl1) "
        "and a driver of OpenGL 4.3 or OpenGL ES 3.1; for the CPU, Debian has one in "
        "libgl1-mesa-dri. Windows and macOS have no EGL: use webgpu there",
    },
)
