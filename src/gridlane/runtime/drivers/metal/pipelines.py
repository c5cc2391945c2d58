"""Compile program texts to pipelines, which are kept as long as a kernel uses them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

from gridlane.core.device_errors import INVALID_IMAGE, NOT_SUPPORTED, fail
from gridlane.runtime.drivers.metal.archive import Archive
from gridlane.runtime.drivers.metal.context import Context
from gridlane.runtime.protocol import Block

WARP = 32


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Pipeline:
    """A kernel that can be launched.

    Attributes:
        state: the MTLComputePipelineState.
        threads: the largest block.
        static_shared: bytes of shared memory that it declares.
    """

    name: str
    state: Any
    threads: int
    static_shared: int
    uses_dynamic_shared: bool = False


class Prepared(NamedTuple):
    """A pipeline, for blocks of a shape; launches keep the object ``keep`` alive."""

    pipeline: Pipeline
    block: Block
    keep: object


class Pipelines:
    """Create pipelines, from the machine code of archive.py if it has any."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._archive = Archive(context)
        self._made: weakref.WeakValueDictionary[tuple[bytes, str], Pipeline] = (
            weakref.WeakValueDictionary()
        )

    def get(self, code: bytes, entry: str, uses_dynamic_shared: bool = False) -> Pipeline:
        """The pipeline of a kernel in a text.

        Raises:
            DeviceError: INVALID_IMAGE if Metal's compiler refuses the text; NOT_SUPPORTED if the
                device's SIMD groups are not 32 threads wide.
        """
        with self.context.lock, self.context.pool():
            pipeline = self._made.get((code, entry))
            if pipeline is None:
                pipeline = self._make(code, entry, uses_dynamic_shared)
                self._made[code, entry] = pipeline
            return pipeline

    def _make(self, code: bytes, entry: str, uses_dynamic_shared: bool) -> Pipeline:
        function = self._library(code, entry).newFunctionWithName_(entry)
        if function is None:
            fail(INVALID_IMAGE, f"the text has no kernel {entry}")
        state, error = self._archive.state(function)
        if state is None:
            fail(INVALID_IMAGE, f"kernel {entry}: {_text(error)}")
        width = int(state.threadExecutionWidth())
        if width != WARP:
            fail(NOT_SUPPORTED, f"kernel {entry}: warps of {width} threads, not {WARP}")
        return Pipeline(
            entry,
            state,
            int(state.maxTotalThreadsPerThreadgroup()),
            int(state.staticThreadgroupMemoryLength()),
            uses_dynamic_shared,
        )

    def _library(self, code: bytes, entry: str) -> Any:
        metal = self.context.metal
        options = metal.MTLCompileOptions.new()
        # The language version of the text: newer compilers accept it as well.
        options.setLanguageVersion_(metal.MTLLanguageVersion3_2)
        options.setMathMode_(metal.MTLMathModeSafe)
        compile_ = self.context.device.newLibraryWithSource_options_error_
        library, error = compile_(code.decode(), options, None)
        if library is None:
            fail(INVALID_IMAGE, f"Metal's compiler refuses kernel {entry}: {_text(error)}")
        return library

    def end(self) -> None:
        """Save the machine code for the next process."""
        with self.context.lock, self.context.pool():
            self._archive.end()


def _text(error: Any) -> str:
    return str(error.localizedDescription()) if error is not None else "it does not say why"
