"""Write the table of the enumerators of CUDA's libraries, from NVIDIA's own headers:
``python scripts/library_enums.py INCLUDE... > tests/frontends/cuda_cpp/library_enums.txt``.

The folders are those of the headers of cuBLAS, cuSPARSE, cuSOLVER, cuFFT and cuRAND, as the wheels
``nvidia-cublas`` and its like have them (nvidia/cu13/include), and of a toolkit's runtime. The
table has facts alone, a name and its value in a line;
``tests/frontends/cuda_cpp/test_library_enums.py`` compares gridlane's headers with it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

HEADERS = (
    "library_types.h",
    "cublas_v2.h",
    "cublasLt.h",
    "cusparse.h",
    "cusolver_common.h",
    "cusolverDn.h",
    "cusolverSp.h",
    "cusolverRf.h",
    "cufft.h",
    "cufftXt.h",
    "curand.h",
)
_ENUM = re.compile(r"\benum\b[^{};]*\{([^}]*)\}")
_NAME = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)")
_OURS = re.compile(
    r"CU(BLAS|BLASLT|SPARSE|SOLVER|SOLVERRF|FFT|RAND)_|CUDA_[RC]_|MAJOR_V|MINOR_V|PATCH_L"
)


def names(text: str) -> list[str]:
    """The enumerators of preprocessed text.

    >>> names("enum E { A, B = (1 << f(2, 3)), D }; void f(int G);")
    ['A', 'B', 'D']
    """
    plain = (re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", e)) for e in _ENUM.findall(text))
    return [name for body in plain for name in _NAME.findall(body)]


def values(includes: Iterable[str]) -> dict[str, int]:
    """The libraries' enumerators and their values, by a C++ compiler."""
    head = "".join(f'#include "{header}"\n' for header in HEADERS)
    compiler = ["c++", "-std=c++17", "-w", *(f"-I{each}" for each in includes), "-x", "c++", "-"]
    text = _run([*compiler, "-E", "-P"], head)
    found = sorted({name for name in names(text) if _OURS.match(name)})
    lines = [f'std::printf("{name} %lld\\n", (long long){name});' for name in found]
    with TemporaryDirectory() as room:
        program = str(Path(room, "values"))
        body = "\n".join(lines)
        _run([*compiler, "-o", program], f"{head}#include <cstdio>\nint main() {{\n{body}\n}}")
        made = _run([program], "")
    return {name: int(value) for name, value in map(str.split, made.splitlines())}


def _run(command: list[str], text: str) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print the table."""
    for name, value in sorted(values(sys.argv[1:]).items()):
        print(name, value)


if __name__ == "__main__":
    main()
