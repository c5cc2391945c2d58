"""The interp target: IR as text, which the device runs."""

from __future__ import annotations

from gridlane.backends import backend
from gridlane.compiler import pipeline
from gridlane.compiler.layout import lay_out
from gridlane.compiler.sites import error_sites
from gridlane.core.artifact import Artifact
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """The module as text."""
    pipeline.run(module, backend("interp"))
    slots, size = lay_out(module.kernel)
    return Artifact(
        target=target.name,
        format="ir",
        code=print_module(module, locations=True).encode(),
        entry=module.kernel.name,
        params=slots,
        param_bytes=size,
        static_shared=sum(-(-item.size // 16) * 16 for item in module.static_shared()),
        block=target.block,
        errors=error_sites(module),
        cluster=module.cluster,
        requires_cluster=module.cluster != (1, 1, 1),
        tensor_maps=module.tensor_maps,
    )


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """Raise: the only stage is the IR.

    Raises:
        TargetError: always.
    """
    raise TargetError(f"target {target.name} has no stage {stage!r}; it has ir")
