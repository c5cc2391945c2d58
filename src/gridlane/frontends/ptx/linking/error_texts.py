"""A unit with the functions that give the name and the words of a runtime's error to a kernel.

CUDA C++ Programming Guide, "CUDA Dynamic Parallelism", "API Reference": nvcc links them from the
runtime for devices, which is machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridlane.core.error_table import TABLE
from gridlane.frontends.ptx.module import PtxModule, parse_ptx

_TEXTS = {
    f"{prefix}GetError{name}": kind
    for prefix in ("cuda", "__cudaCDP2")
    for name, kind in (("Name", "names"), ("String", "words"))
}
_UNKNOWN = "unrecognized error code"
"""What CUDA says of a number that is no error's."""


def wanted(units: Sequence[PtxModule]) -> PtxModule | None:
    """The unit, if units declare one of its functions and none defines it."""
    names = [name for name in _TEXTS if any(name in unit.functions for unit in units)]
    names = [name for name in names if not any(_defines(unit, name) for unit in units)]
    if not names:
        return None
    first = units[0]
    lines = [f".version {first.version[0]}.{first.version[1]}"]
    lines.append(f".target {', '.join((first.target, *first.options))}\n.address_size 64")
    for kind in sorted({_TEXTS[name] for name in names}):
        lines += _table(kind)
    for name in names:
        lines += _function(name, _TEXTS[name])
    return parse_ptx("\n".join(lines) + "\n", "<texts of errors>")


def _defines(unit: PtxModule, name: str) -> bool:
    function = unit.functions.get(name)
    return function is not None and function.has_body


def _table(kind: str) -> Iterator[str]:
    """The numbers of the runtime's errors and the addresses of their texts; the last is of all
    other numbers."""
    rows = {number: row for number, row in sorted(TABLE.items()) if row.runtime}
    strings = [row.runtime if kind == "names" else row.meaning for row in rows.values()]
    for n, text in enumerate((*strings, _UNKNOWN)):
        data = ", ".join(map(str, (*text.encode(), 0)))
        yield f".global .align 1 .b8 error_{kind}_{n}[{len(text.encode()) + 1}] = {{{data}}};"
    addresses = ", ".join(f"generic(error_{kind}_{n})" for n in range(len(strings) + 1))
    yield f".global .align 8 .u64 error_{kind}[{len(strings) + 1}] = {{{addresses}}};"
    yield f".global .align 4 .u32 error_{kind}_of[{len(rows)}] = {{{', '.join(map(str, rows))}}};"


def _function(name: str, kind: str) -> Iterator[str]:
    count = sum(bool(row.runtime) for row in TABLE.values())
    yield f".visible .func (.param .b64 text) {name}(.param .b32 error)"
    yield f"""{{
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    ld.param.u32 %r1, [error];
    mov.u32 %r2, 0;
    mov.u64 %rd1, error_{kind}_of;
again:
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd1, %rd2;
    ld.global.u32 %r3, [%rd2];
    setp.eq.u32 %p1, %r3, %r1;
    @%p1 bra done;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, {count};
    @%p1 bra again;
done:
    mov.u64 %rd3, error_{kind};
    mul.wide.u32 %rd4, %r2, 8;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.u64 %rd5, [%rd3];
    st.param.b64 [text], %rd5;
    ret;
}}"""
