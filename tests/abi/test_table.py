"""The table against CUDA's own headers, by a C++ compiler."""

import re
import shutil
import subprocess

import pytest
from tests.abi.toolkits import Toolkit, toolkits

from gridlane.core.cuda_table import constants, ctype, enums, functions, layout
from gridlane.core.cuda_table.functions import Function
from gridlane.core.cuda_table.structs import structs

COUNTS = re.compile(r".*(_MAX|Max|Count|_NUM_OPTIONS|_LIGHTWEIGHT_FLAGS)$")
"""Enumerators that count the others, or stand for all flags: they grow with versions."""

GREW = re.compile(
    r"(CUDA_|cuda)(HOST_N|EXT_S|EVENT_R|MemsetP|HostN|KernelN|Ext\w+N|Cond|EventR)\w+|CUdev.*"
)
"""Structures that have more members after 13.0, where there is room after these."""

ONLY_13 = re.compile(r"cudaExternal\w+Desc|CUcheckpointR\w+|CUdevS\w+|CUtensorMap_st")
"""Structures of what is refused, which CUDA 12 has with fewer members."""

ERRORS = {"driver": "CUresult", "runtime": "cudaError_t", "nvrtc": "nvrtcResult"}
HEADERS = "cuda.h", "cuda_runtime_api.h", "driver_types.h", "cudaProfiler.h"
PROFILER = {"driver": "cudaProfiler.h", "runtime": "cuda_profiler_api.h"}
OTHERS = (
    "cuda_profiler_api.h",
    "vector_types.h",
    "texture_types.h",
    "surface_types.h",
    "device_types.h",
)

QUALIFIERS = (
    "".join(
        f"#define {name}\n"
        for name in ("__device_builtin__", "__cudart_builtin__", "CUDARTAPI", "CUDARTAPI_CDECL")
        + ("__host__", "__device__", "__device_builtin_texture_type__", "__annotate__(x)")
        + ("__device_builtin_surface_type__",)
    )
    + "#define __align__(n) __attribute__((aligned(n)))\n#define __builtin_align__ __align__\n"
)
"""What the header of the compiler defines, which the runtime's wheel lacks."""

everywhere = pytest.mark.parametrize("toolkit", toolkits(), ids=str)


@pytest.fixture(autouse=True)
def compiler() -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed, and it reads the headers")
    if not toolkits():
        pytest.skip("no headers of CUDA are installed")


def compiles(facts: dict[str, str], toolkit: Toolkit, tmp_path, undone=()) -> None:
    """Compile an assertion for each fact, named by its key."""
    source = tmp_path / "check.cpp"
    includes = [h for h in (*HEADERS, *OTHERS) if (toolkit.include / h).is_file()]
    source.write_text(
        "#include <cstddef>\n#include <type_traits>\n"
        + "".join(f"#include <{each}>\n" for each in includes)
        + "".join(f"#undef {each}\n" for each in undone)
        + "".join(f'static_assert({what}, "{name}");\n' for name, what in facts.items())
    )
    (tmp_path / "crt").mkdir()
    (tmp_path / "crt" / "host_defines.h").write_text(QUALIFIERS)
    run = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", "-w", "-D__CUDA_API_VERSION_INTERNAL"]
        + [f"-I{toolkit.include}", f"-I{tmp_path}", str(source)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert not run.returncode, "\n".join(
        line for line in run.stderr.splitlines() if "error" in line
    )[:3000]


def words(toolkit: Toolkit) -> set[str]:
    """All names of the headers."""
    names = [toolkit.include / each for each in (*HEADERS, *OTHERS)]
    texts = (name.read_text(errors="replace") for name in names if name.is_file())
    return {word for text in texts for word in re.findall(r"\w+", text)}


@everywhere
def test_values_are_those_of_the_headers(toolkit, tmp_path):
    known = words(toolkit)
    values = {name: v for each in enums().values() for name, v in each.values.items()}
    later = {name: v for each in enums().values() for name, v in each.later.items()}
    assert later and not later.keys() & values.keys()
    values |= later
    handles = re.compile(
        r"CU_LAUNCH_PARAM_\w+|.*STREAM_(LEGACY|PER_THREAD)|cudaStream(Legacy|Per.*)"
    )
    values |= {name: v for name, v in constants().items() if not handles.fullmatch(name)}
    facts = {
        name: f"(long)({name}) == {value}L"
        for name, value in values.items()
        if name in known and not COUNTS.match(name)
    }
    assert len(facts) > 1500
    compiles(facts, toolkit, tmp_path)


@everywhere
def test_layouts_are_those_of_the_headers(toolkit, tmp_path):
    known = words(toolkit)
    facts = {}
    for name in structs():
        plain, _, only = name.partition("@")
        is_old = toolkit.version < (13, 0)
        if plain not in known or (is_old and not only and f"{plain}@12" in structs()):
            continue
        if (only and not is_old) or (toolkit.version > (13, 0) and GREW.match(plain)):
            continue
        if is_old and ONLY_13.fullmatch(plain):
            continue
        laid = layout(name)
        if plain.startswith("CUstreamMemOp"):  # they are declared inside the union of them
            plain = f"CUstreamBatchMemOpParams::{plain}"
        facts[plain] = f"sizeof({plain}) == {laid.size} && alignof({plain}) == {laid.align}"
        if toolkit.version > (13, 0):
            continue  # later ones have names for what is reserved here
        for field in laid.fields.values():
            if is_old and field.name not in known:
                continue  # it is reserved there
            facts[f"{plain}.{field.name}"] = f"offsetof({plain}, {field.name}) == {field.offset}"
    assert len(facts) > 120
    compiles(facts, toolkit, tmp_path)


def pointer(row: Function) -> str:
    """The type of its address, in C++."""
    params = ", ".join(each.type for each in row.parameters)
    return f"{row.result or ERRORS[row.api]} (*)({params})"


@everywhere
@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_parameters_are_those_of_the_headers(api, toolkit, tmp_path):
    known = words(toolkit)
    facts = {}
    rows = functions(api).values()
    for row in rows:
        is_there = row.since <= toolkit.version and (
            row.until is None or toolkit.version[0] <= row.until
        )
        if is_there and row.base in known and hidden(row, toolkit) is False:
            facts[row.name] = f"std::is_same<decltype(&{row.name}), {pointer(row)}>::value"
    assert len(facts) > 250
    compiles(facts, toolkit, tmp_path, undone=[row.name for row in rows])


def hidden(row: Function, toolkit: Toolkit) -> bool:
    """Whether the headers of this version have no declaration of a function that is exported."""
    if row.family == "profiler" and not (toolkit.include / PROFILER[row.api]).is_file():
        return True
    return row.name in ("cuDevSmResourceSplitByCount",) and toolkit.version > (13, 0)


@everywhere
def test_no_function_of_the_headers_is_missing(toolkit):
    if toolkit.version > (13, 0):
        pytest.skip("of functions that are newer than CUDA 13.0 the table has some")
    text = (toolkit.include / "cuda.h").read_text()
    declared = set(re.findall(r"CUresult CUDAAPI (cu\w+)\(", text))
    text = (toolkit.include / "cuda_runtime_api.h").read_text()
    declared |= set(re.findall(r"cudaError_t CUDARTAPI (cuda\w+)\(", text))
    rows = [*functions("driver").values(), *functions("runtime").values()]
    known = {row.name for row in rows} | {row.base for row in rows}
    per_thread = re.compile(r"_pt[sd][sz]$")
    assert {name for name in declared if not per_thread.search(name)} - known == set()


def test_every_parameter_has_a_type():
    for api in ("driver", "runtime", "nvrtc"):
        for row in functions(api).values():
            for parameter in row.parameters:
                assert ctype(parameter.type).kind != "void", row.name
            assert set(row.given) <= {each.name for each in row.parameters}
