"""Headers of CUDA C++ that are rows: those of ``forwards.txt``, which include others alone, and the
tests of ``nv/target``."""

from __future__ import annotations

from pathlib import Path

_GENERATIONS = (
    35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121,
)  # fmt: skip


def forwards() -> dict[str, str]:
    """The texts of the headers by their names."""
    text = Path(__file__).with_name("forwards.txt").read_text()
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    texts = {"gridlane/generations.h": "#pragma once\n" + "".join(map(_tests, _GENERATIONS))}
    for row in "\n".join(rows).replace("\n ", " ").splitlines():
        name, included, words = row.split(":")
        for word in words.split():
            lines = map(_include, included.replace("*", word).split())
            texts[name.replace("*", word)] = "".join(["#pragma once\n", *lines])
    return texts


def _include(name: str) -> str:
    return f"#include {name}\n" if name[0] == "<" else f'#include "{name}"\n'


def _tests(generation: int) -> str:
    rows = (">=", "PROVIDES"), ("==", "IS_EXACTLY")
    return "".join(
        f"#if __CUDA_ARCH__ {test} {generation}0\n#define NV_{word}_SM_{generation} 1\n"
        f"#else\n#define NV_{word}_SM_{generation} 0\n#endif\n"
        for test, word in rows
    )
