"""The page of what gridlane has of CUDA's interface, made of the table.

``python -m gridlane.abi.coverage`` prints it; docs/cuda-api.md is what it printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from gridlane.abi.calls.registry import calls
from gridlane.core.cuda_table import Function, functions
from gridlane.core.cuda_table.functions import Api

_TITLES: dict[Api, str] = {
    "driver": "The driver: libcuda, `gridlane.cuda.driver`",
    "runtime": "The runtime: libcudart, `gridlane.cuda.runtime`",
    "nvrtc": "The run-time compiler: libnvrtc, `gridlane.cuda.nvrtc`",
}
_HEAD = """\
# Supported functions of CUDA's interface

`python -m gridlane.abi.coverage > docs/cuda-api.md` writes this page from the \
[table](../src/gridlane/abi/README.md) of functions.

The names are the exported names of the libraries of CUDA 12 and 13.0, and some of later ones: \
programs write `cuMemAlloc` for `cuMemAlloc_v2`. `NAME@12` is the function of CUDA 12 if CUDA 13 \
has another one of the same name. A refused function, or one that is not done yet, returns \
`CUDA_ERROR_NOT_SUPPORTED` or `cudaErrorNotSupported`; `GRIDLANE_TRACE=1` prints the reason.
"""


def page() -> str:
    """The page in Markdown."""
    lines = [_HEAD, "| library | functions | done | refused | not yet |", "|---|---|---|---|---|"]
    apis: tuple[Api, ...] = ("driver", "runtime", "nvrtc")
    for api in apis:
        counts = " | ".join(map(str, _counts(api, functions(api))))
        lines.append(f"| {_TITLES[api].partition(':')[0]} | {counts} |")
    for api in apis:
        lines += ["", f"## {_TITLES[api]}", *_families(api)]
    return "\n".join(lines) + "\n"


def _counts(api: Api, names: Iterable[str]) -> tuple[int, int, int, int]:
    """How many functions there are, and how many are done, refused, and neither."""
    listed, rows, known = list(names), functions(api), calls(api)
    done = sum(name in known for name in listed)
    refused = sum(name not in known and bool(rows[name].refused) for name in listed)
    return len(listed), done, refused, len(listed) - done - refused


def _families(api: Api) -> Iterator[str]:
    families: dict[str, dict[str, Function]] = {}
    for name, row in functions(api).items():
        families.setdefault(row.family, {})[name] = row
    for family, rows in families.items():
        total, done, refused, _ = _counts(api, rows)
        yield ""
        yield f"### {family}"
        yield ""
        yield f"{done} of {total} done" + (f", {refused} refused" if refused else "") + "."
        known = calls(api)
        groups: dict[str, list[str]] = {}
        for name, row in rows.items():
            kind = "Done" if name in known else row.refused or "Not here yet"
            groups.setdefault(kind, []).append(name)
        for kind in sorted(groups, key=lambda each: (each != "Done", each == "Not here yet", each)):
            is_plain = kind in ("Done", "Not here yet")
            yield ""
            yield f"{kind if is_plain else f'Refused, as {kind}'}: {_listed(groups[kind])}."


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write(page())
