"""Units of PTX and CUDA C++ as one module of PTX."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridlane.core.errors import ArgumentError
from gridlane.frontends.ptx import PtxModule, parse_ptx

if TYPE_CHECKING:
    from gridlane.frontends.cuda_cpp import Compiled

PTX = re.compile(r"(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*\.version\b")
"""The beginning of PTX."""
_CPP = re.compile(r"__global__|__device__|__constant__|#\s*include")


def check_lists(*given: Sequence[str]) -> None:
    """Refuse a text where a list of texts is meant."""
    if any(isinstance(each, str) for each in given):
        raise ArgumentError("options and name_expressions are tuples or lists of texts")


def is_cpp(text: str, name: str) -> bool:
    """Whether a text is CUDA C++. Other text is taken for PTX, and ``parse_ptx`` reports what is
    wrong with it."""
    return not PTX.match(text) and (name.endswith(".cu") or _CPP.search(text) is not None)


def linked(
    units: Sequence[tuple[str, str]],
    options: Sequence[str],
    expressions: Sequence[str],
    backend: str,
) -> tuple[PtxModule, dict[str, str]]:
    """The module of several units, each a text and its name or "", and the name in it of each name
    expression. CUDA C++ is compiled as relocatable device code, unless the options say otherwise.
    """
    from gridlane.frontends.ptx.linking import link  # few programs need it

    check_lists(options, expressions)
    sources = {n: unit for n, unit in enumerate(units) if is_cpp(*unit)}
    if expressions and not sources:
        raise ArgumentError("name_expressions are of CUDA C++, and the code is PTX")
    products = dict(zip(sources, _by_compiler_each(sources, options, expressions, backend)))
    modules: list[PtxModule] = []
    for n, (text, name) in enumerate(units):
        text = products[n].ptx if n in products else text
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        if n in products or not name:
            name = f"<{name or f'unit {n + 1}'}: ptx {digest}>"
        modules.append(parse_ptx(text, name))
    linked_module = link(modules)
    lowered = {
        expression: linked_module.names[n].get(lowered, lowered)
        for n, each in products.items()
        for expression, lowered in each.names.items()
    }
    return linked_module.module, lowered


_RELOCATABLE = "-rdc=true"
"""The option of nvcc and NVRTC that lets a unit use what another one defines."""
_SAYS = re.compile(r"-rdc\b|-dc$|--device-c$|--relocatable-device-code\b|-f(?:no-)?gpu-rdc$")


def _by_compiler_each(
    units: dict[int, tuple[str, str]],
    options: Sequence[str],
    expressions: Sequence[str],
    backend: str,
) -> list[Compiled]:
    if not units:
        return []
    from gridlane.compiler import cpp  # few programs need it

    says = any(map(_SAYS.match, options))
    given = tuple(options) if says else (_RELOCATABLE, *options)
    sources = [
        cpp.CppSource(text, given, name or f"unit{n + 1}.cu") for n, (text, name) in units.items()
    ]
    return cpp.compile_units(sources, tuple(expressions), backend)
