"""Artifacts for the fake driver, written by hand: only their declarations are ever read."""

from __future__ import annotations

from gridlane.core import gpu_abi
from gridlane.core.artifact import Artifact, KernelErrorSite, ParamSlot, PrintSite
from gridlane.core.dtypes import i32, i64
from gridlane.core.source import Loc

TOO_LARGE = KernelErrorSite("ValueError", "too large", Loc("here.py", 7, 3, function="f"))
HELLO = PrintSite(("i = ", None), (i32,))


def artifact(
    name: str = "plain",
    errors: tuple[KernelErrorSite, ...] = (),
    prints: tuple[PrintSite, ...] = (),
    dynamic: bool = False,
    cooperative: bool = False,
    cluster: tuple[int, int, int] = (1, 1, 1),
    code: bytes = b"",
) -> Artifact:
    """A kernel of a pointer and an integer."""
    report = f".visible .global .align 8 .u64 {gpu_abi.REPORT};\n" if errors or prints else ""
    text = (
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        f"{report}.visible .entry {name}(\n"
        f"    .param .u64 .ptr .global .align 4 {name}_0,\n    .param .u64 {name}_1\n)\n{{\n}}\n"
    )
    return Artifact(
        target="cuda",
        format="ptx",
        code=code or text.encode(),
        entry=name,
        params=(
            ParamSlot("data", 0, None, 0, ("data",)),
            ParamSlot("count", 8, i64, 1),
        ),
        param_bytes=16,
        errors=errors,
        prints=prints,
        uses_dynamic_shared=dynamic,
        cooperative=cooperative,
        cluster=cluster,
    )
