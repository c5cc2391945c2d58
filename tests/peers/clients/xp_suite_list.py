"""The public suites that run on gridlane.xp and gridlane.tiles; ``xp_suites`` runs them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite whose tests pytest runs.

    Attributes:
        title, text: its section of the page; the text may contain ``{commit}`` and ``{device}``.
        place: the environment variable that its plugin finds the checkout by.
        files: what pytest gets, each in a process of its own, from a checkout.
        folder: where pytest runs, in the checkout.
        options, environment: of pytest.
        reasons: words by a pattern of a test's name and error.
        has_table: whether the page lists the counts of files.
        subject: which page it is on.
        parts: what pytest gets for a name of ``files`` that is not a file.
    """

    title: str
    text: str
    place: str
    files: Callable[[Path], list[str]]
    folder: str = "."
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    has_table: bool = True
    subject: str = "arrays"
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        """The link to its section."""
        return re.sub(r"[^\w -]", "", self.title).lower().replace(" ", "-")

    def label(self, name: str) -> str:
        """A file in the words of the page."""
        return re.sub(r"^.*\[(.*)\]$", r"\1", name).removeprefix("cupy_tests/").removesuffix(".py")


def _tutorials(checkout: Path) -> list[str]:
    file = _HERE / "tile_tutorials.py"
    names = sorted(each.stem for each in checkout.glob("python/tutorials/0[1-8]-*.py"))
    return [f"{file}::test_tutorial[{each}]" for each in names if not each.endswith("-cpu")]


def _npbench(checkout: Path) -> list[str]:
    file = _HERE / "npbench_programs.py"
    names = sorted(each.stem for each in checkout.glob("bench_info/*.json"))
    return [f"{file}::test_program[{each}]" for each in names]


_CUPY = "math_tests", "sorting_tests"
_CUPY_CORE = (
    "ndarray_complex_ops ndarray_elementwise_op ndarray_math ndarray_reduction ndarray_ufunc "
    "ndarray_unary_op nep50_examples reduction ufunc_methods"
)


def _cupy(checkout: Path) -> list[str]:
    tests = checkout / "tests"
    files = [each for name in _CUPY for each in sorted(tests.glob(f"cupy_tests/{name}/test_*.py"))]
    core = [f"cupy_tests/core_tests/test_{each}.py" for each in _CUPY_CORE.split()]
    return [*[str(each.relative_to(tests)) for each in files], *core]


_SCIPY = """
cluster/tests/test_vq cluster/tests/test_hierarchy fft/tests/test_basic fft/tests/test_helper
fft/tests/test_real_transforms fft/tests/test_fftlog special/tests/test_logsumexp
special/tests/test_support_alternative_backends signal/tests/test_windows
signal/tests/test_fir_filter_design signal/tests/test_upfirdn signal/tests/test_savitzky_golay
signal/tests/test_bsplines signal/tests/test_splines stats/tests/test_entropy
stats/tests/test_variation stats/tests/test_rank stats/tests/test_quantile
stats/tests/test_correlation
"""


def _scipy(folder: Path) -> list[str]:
    return [f"{each}.py" for each in _SCIPY.split() if (folder / f"{each}.py").exists()]


def _extra(checkout: Path) -> list[str]:
    tests = sorted(checkout.glob("tests/main/test_*.py"))
    return [str(each.relative_to(checkout)) for each in tests]


_REASONS = {
    "complex numbers have no order": "an order of complex numbers, which the standard leaves out",
    r"cupy\._core|get_compute_type|create_reduction_func": "CuPy's own modules",
    "get_default_memory_pool|is_hip|cupy\\.cuda": "CuPy's own modules",
    r"gridlane\.xp has no|'gridlane\.xp\.\w+' has no": "functions of NumPy's that gridlane.xp "
    "lacks: `interp`, `unwrap`, `real_if_close`, `fix`, windows and others",
    r"attribute '(get|view|at|types|reduceat|base|put)'|np\.\w+\.\w+: gridlane": "attributes and "
    "methods of CuPy's arrays and ufuncs: `get`, `view`, `at`, `types`, `reduceat`",
    "unexpected keyword|has no parameter|positional argument|takes \\d operands": "parameters of "
    "NumPy's that functions here lack, as `axes`, `dtype` of `argmax`, `where` of one operand",
    "Namespace": "an array of NumPy's is expected, or one of the library's",
    "DID NOT WARN": "warnings that SciPy gives for NumPy's arrays",
    r"XPASS": "passes, and CuPy expects a failure",
    "different type of return value|truth value": "comparisons with objects that are no arrays",
    "DID NOT RAISE": "an error of CuPy's that gridlane.xp does not raise",
    "different dtypes": "another dtype, of numbers alone or of bool",
    "concatenate tuple": "a list of devices, which is a tuple in the standard's 2025.12",
    "OUT_OF_MEMORY": "more memory than the machine has",
    "AxisError": "sorts of arrays of no dimensions",
    r"has no setter|\] is array\(|assert array\(False\)": "`real`, `imag`, `conj` that are views",
    "Regex pattern": "another wording of an error",
    "Integers to negative|operand is an array of gridlane": "operands that CuPy takes",
    "pytest's status|no end in": "ended with its file, by an import or the limit of time",
}


_CORE = "unit/language/test_core.py"
_CORE_PARTS = {
    "core: binary operators": "test_bin_op or test_bitwise_op or test_shift_op or test_compare_op",
    "core: reductions and scans": "test_reduce or test_scan or test_sort or test_histogram",
    "core: products": "test_dot or test_scaled_dot or test_dot3d",
    "core: conversions": "test_cast or test_convert or test_conv",
    "core: accesses": "test_masked_load or test_atomic or test_load or test_store",
}
"""Tests of Triton's largest file by what they are of, each part in a process of its own."""
_REST = "core: the rest"
_CORE_PARTS[_REST] = " and ".join([f"not ({words})" for words in _CORE_PARTS.values()])
_LANGUAGE = (
    "annotations block_pointer compile_errors conversions decorator frontend libdevice matmul "
    "mxfp random standard subprocess tensor_descriptor tuple"
)


def _triton(checkout: Path) -> list[str]:
    files = [f"unit/language/test_{each}.py" for each in _LANGUAGE.split()]
    return [*_CORE_PARTS, *[each for each in files if (checkout / "python/test" / each).exists()]]


_GEMS_PARTS = {
    "pointwise": "abs add addcmul atan2 clamp div eq erf exp floor_divide gelu isclose lerp "
    "logical_xor pow rsqrt sigmoid silu sub tanh",
    "reductions": "all amax any argmax max mean min prod std sum var_mean vector_norm",
    "normalisations": "layer_norm log_softmax rms_norm softmax",
    "places": "embedding flip gather index_select masked_fill one_hot scatter tril triu",
    "products": "addmm mv outer",
}
"""Tests of FlagGems' operators, each group in a process of its own."""


_ON_INTERP = {
    "test_scaled_dot": "one element of thousands is beyond torch's tolerance, by cancellation: in "
    "each case nearer to the exact sum than torch's",
    "out of bounds": "the test itself stores out of bounds, which `interp` finds",
    "test_print": "a scalar is printed once for a program, not for each thread, and floats with "
    "all their digits",
}
"""Reasons on ``interp``, before those on ``cpu``."""


def _gems(checkout: Path) -> list[str]:
    return [*_GEMS_PARTS]


_OF_TILES = {
    "Timeout": "a test of more than 60 seconds",
    "Torch not compiled with CUDA|CUDA or other accelerator": "torch without CUDA",
    r"arith\.|tt\.|ttg\.|llvm\.|ub\.poison|'llir'|'ttgir'|'ptx'|lineinfo": "text of Triton's own "
    "intermediate languages",
    r"No module named 'triton\._C|gridlane has no triton|_filecheck": "parts of Triton's compiler",
    "test_print": "prints a tile as Triton's fork for CPUs does, in one piece",
    "test_scaled_dot": "one element of thousands is beyond torch's tolerance, by cancellation: off "
    "by at most 0.6 of 2**-24 of its terms' sum of sizes",
    "fp8": "errors of GPUs that lack a float of 8 bits",
    "test_bessel": "Bessel functions",
    "test_int_annotation|test_constexpr|test_enable_fp_fusion|test_call|test_unroll": "text of "
    "Triton's own intermediate languages",
    "assert None is not None|kernel @kernel|assert '' != ''|assert 1 <= 0|%v: i64": "text of "
    "Triton's own intermediate languages",
    "error should point": "the place of an error",
    "has no attribute 'compiler'|ASTSource": "a name that was added after this run",
    "'TensorWrapper' object has no attribute 'device'": "the device of a reinterpreted tensor",
    "test_tensor_descriptor_reduce|test_typeconvert_upcast": "errors of GPUs that lack a type",
    "test_frontend": "FileCheck, a part of Triton's compiler",
    "device_caches": "Triton's own caches of code",
    "NoneType' and 'int'": "torch without CUDA",
    "DID NOT RAISE ValueError": "a tensor of the CPU is no error here",
    "pytest's status|no end in": "ended with its file, by an import or the limit of time",
}


_LANGUAGE_SUITE = Suite(
    "Triton's language",
    "Triton's own tests of its language at {commit} (`python/test/unit/language`), on the "
    "device `{device}`. `triton` is `gridlane.tiles`, with Triton's own `_internal_testing`; tests "
    "that ask for a GPU of one kind skip themselves.",
    place="TRITON",
    files=_triton,
    folder="python/test",
    options=("-c", "/dev/null", "--rootdir", ".", "-p", "triton_standins", "--device", "cpu"),
    environment={"PYTEST_TIMEOUT": "60"},
    reasons=_OF_TILES,
    subject="tiles",
    parts={part: (_CORE, "-k", words) for part, words in _CORE_PARTS.items()},
)
_TUTORIALS = Suite(
    "Triton's tutorials",
    "The tutorials 01 to 08 at {commit}, unmodified, on the device `{device}`: their own "
    "comparisons, and of each benchmark one call of the smallest size. 07 knows the backends of "
    "CUDA and ROCm alone, and runs with GRIDLANE_TRITON_BACKEND=cuda.",
    place="TRITON",
    files=_tutorials,
    options=("-c", "/dev/null", "--rootdir", ".", "-p", "triton_standins"),
    reasons={
        "no end in": "ended by the limit of time",
    },
    has_table=False,
    subject="tiles",
)
_GEMS = Suite(
    "FlagGems",
    "[FlagGems](https://github.com/flagos-ai/FlagGems)' own tests of operators at {commit}, in "
    "its quick mode, on the device `{device}`: the operators for NVIDIA, over tensors of the CPU, "
    "beside torch's. A test that launches no program counts as skipped; those of big and large "
    "shapes are left out, and those of `argmin`, which reads and writes beyond its arrays: "
    "`interp` names the place.",
    place="GEMS",
    files=_gems,
    options=(
        *("-p", "gems_standins", "--quick", "--ref", "cpu", "-W", "ignore"),
        *("-k", "not big_shape and not large"),
    ),
    environment={"PYTEST_TIMEOUT": "60"},
    reasons={
        "CUDA enabled|accelerator device": "torch without CUDA",
        "Timeout": "a test of more than 60 seconds",
        "pytest's status|no end in": "ended with its file, by an import or the limit of time",
    },
    subject="tiles",
    parts={
        name: tuple([f"tests/test_{each}.py" for each in operators.split()])
        for name, operators in _GEMS_PARTS.items()
    },
)


SUITES = {
    "npbench": Suite(
        "npbench",
        "The programs of [npbench](https://github.com/spcl/npbench) at {commit}: each one's "
        "version for NumPy, with `gridlane.xp` in NumPy's place and the arguments of the size S. "
        "Every result is within 1e-9 of NumPy's (nbody's 1e-6), or 1e-4 in single precision.",
        place="NPBENCH",
        files=_npbench,
        has_table=False,
    ),
    "cupy": Suite(
        "CuPy",
        "[CuPy's tests](https://github.com/cupy/cupy) of mathematical functions, reductions, "
        "ufuncs and sorting at {commit}. `cupy` is `gridlane.xp`, with NumPy's scalar types and "
        "CuPy's own `cupy.testing`, which compares each result with NumPy's; tests that CuPy "
        "marks as slow are left out.",
        place="CUPY",
        files=_cupy,
        folder="tests",
        options=("-m", "not slow", "--noconftest", "-p", "tests.peers.clients.cupy_standins"),
        reasons=_REASONS,
    ),
    "scipy": Suite(
        "SciPy",
        "SciPy's own tests that take an array library, with `SCIPY_ARRAY_API`, of the version "
        "{commit}: DIR is the package in an environment. `gridlane.xp` is behind the name of "
        "`array_api_strict`, for which SciPy runs the tests that need the standard alone.",
        place="SCIPY",
        files=_scipy,
        options=("-m", "array_api_backends", "-p", "tests.peers.clients.scipy_standins"),
        environment={"SCIPY_ARRAY_API": '["array_api_strict"]'},
        reasons=_REASONS,
    ),
    "extra": Suite(
        "array-api-extra",
        "[array-api-extra's tests](https://github.com/data-apis/array-api-extra) at {commit}. "
        "`gridlane.xp` is behind the name `cupy`, and the tests of other libraries are left out.",
        place="EXTRA",
        files=_extra,
        options=("-p", "extra_standins", "--no-showlocals"),
        reasons={"should not be used": "a function of CuPy's own is expected"},
    ),
    "sklearn": Suite(
        "scikit-learn",
        "Estimators and metrics of scikit-learn {commit} with `array_api_dispatch=True` "
        "(`sklearn_estimators.py`), beside their results for NumPy's arrays: scalers, principal "
        "components, ridge regression, linear discriminants, Gaussian mixtures.",
        place="SKLEARN",
        files=lambda folder: [str(_HERE / "sklearn_estimators.py")],
        environment={"SCIPY_ARRAY_API": "1"},
        has_table=False,
    ),
    "triton": replace(
        _LANGUAGE_SUITE,
        text=_LANGUAGE_SUITE.text
        + " The tests of tensor descriptors ran after the others; products of 8192 rows and "
        "columns take about a minute there.",
    ),
    "triton-on-interp": replace(
        _LANGUAGE_SUITE,
        title="Triton's language on interp",
        text=_LANGUAGE_SUITE.text + " Tests skip less of the backend `interp`, which "
        "GRIDLANE_TRITON_BACKEND names, than of `cpu`, which they take for Triton's fork.",
        environment={**_LANGUAGE_SUITE.environment, "GRIDLANE_TRITON_BACKEND": "interp"},
        reasons={**_ON_INTERP, **_OF_TILES, **_ON_INTERP},
    ),
    "triton-tutorials": replace(
        _TUTORIALS,
        text=_TUTORIALS.text + " On an NVIDIA H200 (driver 580, 2026-11-29) 02 to 08 pass.",
    ),
    "triton-tutorials-on-vulkan": replace(
        _TUTORIALS,
        title="Triton's tutorials on Vulkan",
        text=_TUTORIALS.text + " The device is Mesa's lavapipe, a CPU.",
        reasons={
            "no end in": "its benchmarks are about 10^12 operations, by estimate half an hour and "
            "more of lavapipe's; its comparisons for 128 keys hold where they run by themselves",
            "out of this loop": "llvmpipe runs at most 65,535 iterations of a thread's loops; two "
            "earlier runs passed",
        },
    ),
    "flag-gems": _GEMS,
    "flag-gems-on-interp": replace(_GEMS, title="FlagGems on interp"),
    "triton-interpreter": Suite(
        "Triton's interpreter",
        "The same tests at {commit} in the interpreter of the installed Triton, 3.9.0 "
        "(`TRITON_INTERPRET=1`), for comparison: without gridlane. Files that ended by the limit "
        "of time count as far as they came: those of tensor descriptors have 2,858 tests.",
        place="TRITON",
        files=_triton,
        folder="python/test",
        options=("-c", "/dev/null", "--rootdir", ".", "-p", "triton_standins", "--device", "cpu"),
        environment={"TRITON_INTERPRET": "1"},
        reasons={
            "pytest's status|no end in": "ended with its file, by an import or the limit of time",
            "Timeout": "a test of more than 60 seconds",
            "Block pointers have been removed": "block pointers, which newer releases lack",
            "'asm'|'name'|active drivers|without CUDA|not compiled with CUDA": "no compiled kernel",
            "DID NOT RAISE|test_compile_errors": "errors that it does not raise",
            "": "an error or a wrong number of the interpreter",
        },
        subject="tiles",
        parts={part: (_CORE, "-k", words) for part, words in _CORE_PARTS.items()},
    ),
}
"""The suites by their names on the command line, in the order of the page."""
