"""The artifact of a kernel that is split at its grid barriers: a plan and no code; see
core/grid_plan.py."""

from __future__ import annotations

from gridlane.compiler.layout import lay_out
from gridlane.compiler.sites import error_sites
from gridlane.core import grid_plan
from gridlane.core.artifact import Artifact
from gridlane.core.options import Target
from gridlane.ir.ops.memory import DynamicShared
from gridlane.ir.values import Module
from gridlane.passes.structure.grid_parts import GridParts


def artifact_of(module: Module, parts: GridParts, target: Target) -> Artifact:
    """The artifact of a kernel in parts: its parameters and the plan."""
    kernel = module.kernel
    slots, size = lay_out(kernel)
    functions = module.functions.values()
    dynamic = any(isinstance(op, DynamicShared) for f in functions for op in f.body.walk())
    return Artifact(
        target=target.name,
        format=grid_plan.FORMAT,
        code=grid_plan.to_json(parts.plan),
        entry=kernel.name,
        kernel=kernel.name,
        params=slots,
        param_bytes=size,
        static_shared=sum(-(-item.size // 16) * 16 for item in module.static_shared()),
        block=target.block,
        errors=error_sites(module, len(module.errors)),
        uses_dynamic_shared=dynamic,
    )
