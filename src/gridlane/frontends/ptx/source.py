"""A kernel of a PTX module as a KernelSource."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from gridlane.core.config import config
from gridlane.core.options import KernelOptions
from gridlane.frontends.ptx.module import PtxModule

if TYPE_CHECKING:
    from gridlane.ir.values import Module


class PtxSource:
    """A kernel of a PTX module. It takes no argument types: its parameters are flat, those of
    bytes in pieces with their offset as path.

    Args:
        cluster: the blocks of a cluster along each axis; None for what the kernel says, or one.

    Raises:
        PtxError: the module has no such kernel.
    """

    def __init__(
        self, module: PtxModule, name: str, cluster: tuple[int, int, int] | None = None
    ) -> None:
        entry = module.functions.get(name)
        if entry is None or not entry.is_entry:
            known = ", ".join(module.entries) or "none"
            hint = ""
            if any(_mangled(name) in each for each in module.entries):
                hint = f'; a kernel of C++ has its own name by name_expressions=("{name}",)'
            module.text.fail(f"there is no kernel {name} here; the kernels are: {known}{hint}", 0)
        self.module, self.entry = module, entry
        self.cluster = cluster or entry.cluster or (1, 1, 1)
        self._made: dict[int, Module] = {}

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.entry.name

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(param.name for param in self.entry.params)

    def key(self) -> bytes:
        """A digest of the text, the kernel's name and its clusters."""
        parts = "ptx", self.name, str(self.cluster), self.module.text.identity
        return hashlib.sha256("\0".join(parts).encode()).digest()

    def translate(self, types: tuple[Any, ...], options: KernelOptions) -> Module:
        """The structured IR; the same module at every call with a stack of so many bytes.

        Raises:
            PtxError: the kernel is malformed or is not translated; located.
        """
        module = self._made.get(options.stack)
        if module is None:
            from gridlane.frontends.ptx.translate import translate
            from gridlane.passes.optimise.fold_signs import fold_signs
            from gridlane.passes.structure.recursion import remove_recursion
            from gridlane.passes.structure.structurize import structurize

            module = translate(self.module, self.name, self.cluster)
            remove_recursion(module, options.stack or config().stack)
            structurize(module)
            fold_signs(module)
            self._made[options.stack] = module
        return module


def _mangled(name: str) -> str:
    """What the mangled name of a C++ name contains: its last part with a length."""
    last = name.partition("<")[0].rpartition("::")[2].strip()
    return f"{len(last)}{last}"
