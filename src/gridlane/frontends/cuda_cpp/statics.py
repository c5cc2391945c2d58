"""Variables of internal linkage, which the host alone may write, and kernels of clusters.

Clang takes it that nothing but its own text writes a static variable: it folds the initial value
into the kernels, and drops the variable. nvcc and NVRTC have both. So clang writes the LLVM IR of
such sources before any pass, the variables are marked there, and clang compiles the marked text.
It knows no ``__cluster_dims__`` either, which is an annotation of the kernel, and metadata there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gridlane.frontends.cuda_cpp.source_and_ptx import defines

CONSTANT = "gridlane:constant"
"""The annotation of ``__constant__`` in ``gridlane/qualifiers.h``: of what is constant in the IR,
these alone can change."""

_DEVICE = re.compile(r"\b(?:__device__|__managed__|device)\b")
_STATIC = re.compile(r"\bstatic\b|\bnamespace\b[^;{}=]*\{")
_CONST = re.compile(r"\b(?:static|const)\b|\bnamespace\b[^;{}=]*\{")


def may_define(sources: Iterable[str]) -> bool:
    """Whether a source may define such variables, by the texts of itself and its headers."""
    whole = "\n".join(sources)
    is_static = _DEVICE.search(whole) and _STATIC.search(whole)
    is_constant = "constant" in whole and _CONST.search(whole)
    return bool(is_static or is_constant or names_clusters(whole))


def names_clusters(text: str) -> bool:
    """Whether a text says how many blocks the clusters of a kernel have."""
    return "cluster_dims" in text


def has_clusters(ir: str) -> bool:
    """Whether a kernel in LLVM IR is annotated so."""
    return _CLUSTER_TEXT.search(ir) is not None


_NAME = r'@(?:[\w$.]+|"[^"\n]*")'
_VARIABLE = re.compile(
    rf"^(?P<name>{_NAME}) = (?P<before>internal (?:[\w()]+ )*?addrspace\((?P<space>[14])\) )"
    r"(?P<kind>global|constant) ",
    re.MULTILINE,
)
_ANNOTATIONS = re.compile(r"^@llvm\.global\.annotations = .*$", re.MULTILINE)
_USED = re.compile(r"^@llvm\.compiler\.used = appending global \[(\d+) x ptr\] \[", re.MULTILINE)
_NAMED = f"({_NAME})"
_FIRST_NODE = 1 << 24
"""The number of a node of metadata that clang does not reach."""
_CLUSTER_TEXT = re.compile(rf'^({_NAME}) = private .*\bc"gridlane:cluster\\00"', re.MULTILINE)
"""The annotation of ``__cluster_dims__`` in ``gridlane/qualifiers.h``."""
_TEXT = re.compile(rf'^({_NAME}) = private .*\bc"{re.escape(CONSTANT)}\\00"', re.MULTILINE)
_OF_FUNCTION = "@_ZZ"
"""Variables inside of functions, which the host cannot name."""


def is_ir(text: str) -> bool:
    """Whether a compiler wrote LLVM IR."""
    return text.startswith("; ModuleID") or "\ntarget triple = " in text


def marked(ir: str) -> str:
    """LLVM IR whose static variables of the device are initialised from outside, and stay, and
    whose kernels of clusters say so."""
    ir = _with_clusters(ir)
    constants = _annotated(ir)
    kept: list[str] = []

    def mark(row: re.Match[str]) -> str:
        name, kind = row["name"], row["kind"]
        if name.startswith(_OF_FUNCTION) or (kind == "constant" and name not in constants):
            return row[0]
        kept.append(f"ptr addrspacecast (ptr addrspace({row['space']}) {name} to ptr)")
        return f"{name} = {row['before']}externally_initialized {kind} "

    marked_ir = _VARIABLE.sub(mark, ir)
    return _with_used(marked_ir, kept) if kept else ir


def _annotated(ir: str) -> set[str]:
    """The variables of ``__constant__``."""
    row, text = _ANNOTATIONS.search(ir), _TEXT.search(ir)
    if row is None or text is None:
        return set()
    return set(re.findall(rf"\{{ {_pointer(_NAMED)}, {_pointer(re.escape(text[1]))},", row[0]))


def _pointer(name: str) -> str:
    """The pattern of a generic pointer to what has a name."""
    return rf"ptr (?:addrspacecast \(ptr addrspace\(\d+\) )?{name}(?: to ptr\))?"


def _with_clusters(ir: str) -> str:
    """The IR with the clusters of annotated kernels as metadata."""
    row, text = _ANNOTATIONS.search(ir), _CLUSTER_TEXT.search(ir)
    if row is None or text is None:
        return ir
    pattern = (
        rf"\{{ {_pointer(_NAMED)}, {_pointer(re.escape(text[1]))}, [^,]*(?:\([^()]*\))?, i32 \d+, "
        rf"{_pointer(_NAMED)} \}}"
    )
    nodes: list[str] = []
    for kernel, sizes in re.findall(pattern, row[0]):
        values = re.search(rf"^{re.escape(sizes)} = .*\}} \{{ ([^}}]*) \}}", ir, re.MULTILINE)
        if values is None:
            continue
        dimensions = [int(each) for each in re.findall(r"i\d+ (-?\d+)", values[1])]
        for axis, size in zip("xyz", (*dimensions, 1, 1)[:3], strict=True):
            nodes.append(f'!{{ptr {kernel}, !"cluster_dim_{axis}", i32 {size}}}')
    numbers = [f"!{_FIRST_NODE + n}" for n in range(len(nodes))]
    rows = [f"{number} = {node}" for number, node in zip(numbers, nodes, strict=True)]
    return "\n".join((ir, f"!nvvm.annotations = !{{{', '.join(numbers)}}}", *rows, ""))


def _with_used(ir: str, kept: list[str]) -> str:
    """The IR with more variables that no pass removes."""
    row = _USED.search(ir)
    if row is None:
        listed = f"[{len(kept)} x ptr] [{', '.join(kept)}]"
        section = 'section "llvm.metadata"'
        return f"{ir}\n@llvm.compiler.used = appending global {listed}, {section}\n"
    head = f"@llvm.compiler.used = appending global [{int(row[1]) + len(kept)} x ptr] ["
    return f"{ir[: row.start()]}{head}{', '.join(kept)}, {ir[row.end() :]}"


_DEFINED = re.compile(
    r"^(?:\.(?:visible|weak) )?\.(?:const|global) [^\n=;]*?(?<![\w$])_ZL(\d+)([\w$]+)", re.MULTILINE
)
_WORD = re.compile(r"(?<![\w$%.])_ZL\d+[\w$]+")


def with_plain_names(ptx: str) -> str:
    """The PTX of whole code whose static variables of the global namespace have their own names, as
    those of nvcc have."""
    plain = {
        f"_ZL{row[1]}{row[2]}": row[2]
        for row in _DEFINED.finditer(ptx)
        if len(row[2]) == int(row[1]) and not defines(ptx, row[2])
    }
    return _WORD.sub(lambda word: plain.get(word[0], word[0]), ptx) if plain else ptx
