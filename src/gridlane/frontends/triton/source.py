"""A tile program as a KernelSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gridlane.core.argtypes import ArgType
from gridlane.core.encoding import encode, frame
from gridlane.core.options import KernelOptions
from gridlane.frontends.triton.fingerprint import constant_bytes, fingerprint
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.parameters import Block, Key
from gridlane.frontends.triton.types import dtype

if TYPE_CHECKING:
    from gridlane.ir.values import Module


class TileSource:
    """A function of the language with the values of its constant parameters.

    Its arguments are the other parameters, in order. ``constants``: by the parameter's name, or by
    name and places for what is in a tuple. ``blocks``: for a parameter that is a host's tensor
    descriptor, whose argument is the array, the shape of blocks. ``aligned``: multiples of bytes
    at which pointers lie, and numbers that divide integers. ``elements``: the types of what
    pointers are to, for floats of 8 bits, whose arguments are of uint8. ``warps``: of a block;
    devices without warps of their own ignore it. ``stages``: iterations of a loop whose copies
    may be in flight. ``cluster``: programs along x that share loads where a device can.
    """

    def __init__(
        self,
        function: TileFunction,
        constants: Mapping[Key, Any] | None = None,
        blocks: Mapping[Key, Block] | None = None,
        aligned: Mapping[Key, int] | None = None,
        warps: int = 4,
        elements: Mapping[Key, dtype] | None = None,
        stages: int = 1,
        cluster: int = 1,
    ) -> None:
        self.function, self.warps, self.stages = function, warps, stages
        self.cluster = cluster
        self.constants, self.blocks = dict(constants or {}), dict(blocks or {})
        self.aligned, self.elements = dict(aligned or {}), dict(elements or {})
        self._key: bytes | None = None
        self._modules: dict[tuple[tuple[ArgType, ...], KernelOptions], Module] = {}

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.fn.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that are no constants."""
        return tuple([name for name in self.function.arg_names if name not in self.constants])

    def key(self) -> bytes:
        """A digest of the function's text, of all functions that it calls, and of constants.

        Raises:
            NotEncodable: it reads an object that cannot be encoded.
        """
        if self._key is None:
            numbers = self.warps, self.stages, self.cluster
            parts = [encode("tile"), fingerprint(self.function), encode(numbers)]
            for key, value in self.constants.items():
                parts += [encode(key), constant_bytes(value)]
            for key, block in self.blocks.items():
                parts += [encode(key), encode((block.shape, block.padding, block.mapped))]
            for key, bytes_ in self.aligned.items():
                parts += [encode(key), encode(bytes_)]
            for key, kind in self.elements.items():
                parts += [encode(key), encode(kind.name)]
            self._key = frame(b"S", *parts)
        return self._key

    def translate(self, types: tuple[ArgType, ...], options: KernelOptions) -> Module:
        """The module of stage tile for argument types; the same one at every call.

        Raises:
            CompileError: the program is outside the language or its types do not fit; located.
        """
        module = self._modules.get((types, options))
        if module is None:
            # A process whose programs are all in the disk cache never loads it.
            from gridlane.frontends.triton.translation import translate

            module = translate(
                self.function,
                types,
                options,
                self.constants,
                self.blocks,
                self.aligned,
                self.warps,
                self.elements,
                self.stages,
                self.cluster,
            )
            self._modules[types, options] = module
        return module
