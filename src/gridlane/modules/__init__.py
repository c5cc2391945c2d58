"""PTX modules on devices: their kernels and what these launch, their variables, and the memory of
``malloc``."""

from gridlane.modules.code import Code
from gridlane.modules.kernel import ModuleKernel

__all__ = ["Code", "ModuleKernel"]
