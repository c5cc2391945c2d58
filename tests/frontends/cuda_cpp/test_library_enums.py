"""The enumerators in gridlane's headers of CUDA's libraries are NVIDIA's, with their values."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from gridlane.frontends import cuda_cpp

INCLUDE = Path(cuda_cpp.__file__).parent / "include"
HEADERS = (
    *("gridlane/library_types.h", "cublas_v2.h", "cublas.h", "cublasLt.h", "cusparse.h"),
    *("cusolverDn.h", "cufft.h", "curand.h"),
)
"""Those that are written; others forward to these (``core/cuda_table/forwards.txt``)."""
OLD = {"CUSPARSE_CSR2CSC_ALG2": 2}
"""Names that CUDA 12 had last."""
TABLE = {
    name: int(value)
    for name, value in (
        line.split()
        for line in Path(__file__).with_name("library_enums.txt").read_text().splitlines()
        if not line.startswith("#")
    )
}


def enumerators(text):
    """The names and values of a header's text.

    >>> enumerators("enum E { A, B = 1 << 2, C, D = B };")
    {'A': 0, 'B': 4, 'C': 5, 'D': 4}
    """
    found = {}
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", plain):
        number = 0
        for part in filter(None, map(str.strip, body.split(","))):
            name, _, value = map(str.strip, part.partition("="))
            number = eval(value, {}, found) if value else number
            found[name] = number
            number += 1
    return found


@pytest.mark.parametrize("header", HEADERS)
def test_values(header):
    ours = enumerators((INCLUDE / header).read_text())
    assert ours or header in ("cublasLt.h", "cublas.h")
    assert ours == {name: (TABLE | OLD).get(name) for name in ours}


def test_the_table_has_the_libraries():
    for name, value in (
        ("CUBLAS_OP_C", 2),
        ("CUSPARSE_SPMM_CSR_ALG3", 12),
        ("CUSOLVER_EIG_RANGE_I", 1002),
        ("CUFFT_D2Z", 0x6A),
        ("CURAND_STATUS_NOT_INITIALIZED", 101),
    ):
        assert TABLE[name] == value


def test_the_table_is_that_of_the_installed_headers():
    """Of those names that both have: headers of another version may have others."""
    folders = [Path(each, "nvidia", "cu13", "include") for each in sys.path]
    names = ("cublas_v2.h", "cusparse.h", "cusolverDn.h", "cufft.h", "curand.h", "library_types.h")
    found = [each for each in folders if all((each / name).exists() for name in names)]
    if not found:
        pytest.skip("nvidia-cublas, -cusparse, -cusolver, -cufft or -curand is not installed")
    script = Path(__file__).parents[3] / "scripts" / "library_enums.py"
    spec = importlib.util.spec_from_file_location("library_enums", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    theirs = module.values([str(found[0])])
    assert theirs == {name: TABLE.get(name, value) for name, value in theirs.items()}
