"""A made-up backend: another language of 32-bit words, and a driver of it on top of wgpu."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import IR, WGSL
from gridlane.backends.record import Backend, Pass, Subnormals
from gridlane.codegen.clike.wgsl import Wgsl
from gridlane.core.features import Feature
from gridlane.ir.families import CALLS, LANES, REPORTS
from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice
from gridlane.runtime.drivers.webgpu import device_count
from gridlane.runtime.drivers.webgpu.adapters import usable
from gridlane.runtime.drivers.webgpu.engine import WebGpuEngine

__all__ = ["BACKEND", "MadeUp", "device_count", "open_device"]

MARK = "// made up"


class MadeUp(Wgsl):
    """WGSL with a mark on each line that names a value."""

    target = "made_up"
    device = "made-up shaders"

    def let(self, type_: str, name: str, text: str, exact: bool = False) -> str:
        return f"{super().let(type_, name, text, exact)} {MARK}"


class Engine(WebGpuEngine):
    """wgpu, for code of this target."""

    target = "made_up"


def open_device(ordinal: int = 0) -> SingleBufferDevice:
    return SingleBufferDevice("made_up", ordinal, lambda: Engine(usable()[ordinal]))


BACKEND = Backend(
    name="made_up",
    title="made-up devices",
    driver=__name__,
    generator="gridlane.compiler.clike",
    codegen="gridlane.codegen.clike",
    dialects=(Pass(f"{__name__}.MadeUp"),),
    pipeline=passes.WORDS,
    legal=REPORTS | CALLS,
    absent=LANES,
    reasons=reasons.WITHOUT_GRIDS,
    refused=reasons.WORD_ATOMICS,
    formats=(IR, WGSL),
    features=frozenset(
        (Feature.ROUNDS, Feature.SHORT_LOOPS, Feature.SWAPS_SELECTS, Feature.MISREADS_UNITS)
    ),
    shaped=True,
    float64=False,
    subnormals=Subnormals.LEFT_OPEN,
    advice={"available": "make one up"},
)
