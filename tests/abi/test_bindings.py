"""The Python interface against NVIDIA's own bindings: names, parameters, results, values."""

import importlib
import inspect
import re
from functools import cache

import pytest
from tests.abi.toolkits import toolkits

from gridlane.abi.python.functions import names_of, resolve
from gridlane.core.cuda_table import ctype, enums, functions, layout

APIS = ["driver", "runtime", "nvrtc"]
apis = pytest.mark.parametrize("api", APIS)

GRAPHICS = re.compile(
    r"cu(da)?(EGL|GL|VDPAU|Graphics(EGL|GL|VDPAU)|EventCreateFromEGL)\w*|\w+EglFrame"
)
"""Names of headers for graphics libraries, with which gridlane shares nothing."""

HELPERS = {"Optional", "sizeof", "getLocalRuntimeVersion"}
"""Of the bindings' own: an import, a table of sizes, and a look for libcudart."""

ONLY_C = {
    "cuCtxGetDevice_v2",
    "cuCtxSynchronize_v2",
    "cuStreamGetCtx_v2",
    "cuDevSmResourceSplitByCount",
}
"""Versions that gridlane has in C alone; in Python a function has one, of CUDA 13.0."""

COUNTED = "the bindings return how many there are as well, and take 0 for it"
REFUSED = "the bindings return what is read and written; gridlane refuses it"
BROKEN = "the documentation of the bindings lacks the result, which their code returns"
DIFFERENCES = {
    **dict.fromkeys(
        [
            f"{api}{name}"
            for api in ("cu", "cuda")
            for name in (
                "GraphGetEdges",
                "GraphGetNodes",
                "GraphGetRootNodes",
                "GraphNodeGetDependencies",
                "GraphNodeGetDependentNodes",
            )
        ],
        COUNTED,
    ),
    "cuLogsDumpToFile": REFUSED,
    "cuLogsDumpToMemory": REFUSED,
    "cudaLogsDumpToFile": REFUSED,
    "cudaLogsDumpToMemory": REFUSED,
    "cuThreadExchangeStreamCaptureMode": "the bindings return the mode before, too",
    "cudaThreadExchangeStreamCaptureMode": "the bindings return the mode before, too",
    "cuGetExportTable": BROKEN,
    "cudaGetExportTable": BROKEN,
    "cuMemPoolGetAccess": BROKEN,
    "cudaMemPoolGetAccess": BROKEN,
    "cuTexRefGetBorderColor": BROKEN,
}
"""Functions whose parameters or results differ, and why."""

GONE = {
    "CU_TARGET_COMPUTE_101",
    "CU_TARGET_COMPUTE_101A",
    "CU_TARGET_COMPUTE_101F",
    "cudaCGScopeMultiGrid",
    "cudaDevAttrCooperativeMultiDeviceLaunch",
    "cudaDevAttrMaxTimelineSemaphoreInteropSupported",
}
"""Enumerators of CUDA 12 or 13.0 that the bindings no longer have."""

PADDING = {"pad", "padding", "_internal_padding", "_oversize"}
NEW_MEMBERS = re.compile(
    r"\w*(Params|PARAMS)\w*\.(ctx|kern)|CUdevSmResource_st.flags"
    r"|CUmemPoolProps_st.gpuDirectRDMACapable"
)
"""Members after CUDA 13.0 whose names are words of its headers as well."""


@cache
def bindings(api):
    """Of the version that the table is of: older ones lack names, and call others differently."""
    pytest.importorskip("cuda.bindings", "13.5", reason="NVIDIA's bindings 13.5 are not installed")
    return pytest.importorskip(f"cuda.bindings.{api}")


@cache
def words():
    """All names of the headers of CUDA 13.0, by which what is newer is known."""
    for toolkit in toolkits():
        if toolkit.version == (13, 0):
            texts = (each.read_text(errors="replace") for each in toolkit.include.glob("*.h"))
            return frozenset(word for text in texts for word in re.findall(r"\w+", text))
    pytest.skip("the headers of CUDA 13.0 are not installed")
    return frozenset()


def outside(text):
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [each.strip() for each in parts if each.strip()]


def parameters(doc):
    """The names of a function's parameters, by the first line of its documentation."""
    first = re.match(r"\w+\((.*?)\)(?: -> .*)?$", doc.strip().split("\n")[0])
    assert first, doc[:100]
    given = (re.split(r"[:=]", each)[0].strip() for each in outside(first[1]))
    return [each.split()[-1].lstrip("*") for each in given]


def results(doc):
    """The types of what a function returns, by the section of its documentation."""
    _, _, section = doc.partition("Returns\n-------\n")
    lines = section.partition("\n\n")[0].split("\n")
    return [line.rpartition(" : ")[2].strip() for line in lines if line and line[0] != " "]


def functions_of(module):
    return {
        name
        for name in dir(module)
        if callable(getattr(module, name))
        and not isinstance(getattr(module, name), type)
        and name[0] != "_"
    }


def is_newer(name):
    return name not in words() and name.partition("_v")[0] not in words()


def import_ours(api):
    return importlib.import_module(f"gridlane.cuda.{api}")


@apis
def test_functions_have_the_same_names(api):
    theirs = functions_of(bindings(api)) - HELPERS - ONLY_C
    ours = {name for name in names_of(api) if inspect.isfunction(resolve(api, name))}
    ours |= {name for name in theirs & set(dir(import_ours(api))) if name.startswith("make_")}
    assert ours - theirs == set()
    missing = {name for name in theirs - ours if not GRAPHICS.fullmatch(name)}
    assert {name for name in missing if not is_newer_function(name)} == set()


def is_newer_function(name):
    """Whether CUDA 13.0 has no function of this name, or an older version of it."""
    return is_newer(name) or (re.search(r"_v\d$", name) is not None and name not in words())


OTHER_TYPES = re.compile(
    r"Any|EGL\w+|GL\w+|Vdp\w+|cl_\w+|(cuda|CU|cu)(Egl|egl|GL)\w+|CUDA_EGL\w+|MAX_PLANES|CUoutput_mode"
    r"|cudaDataType|libraryPropertyType|cudaEmulation\w+"
)
"""Types and numbers of headers for graphics, OpenCL, the profiler's files and CUDA's libraries."""


@apis
def test_types_and_numbers_have_the_same_names(api):
    module = bindings(api)
    theirs = {
        name
        for name in dir(module)
        if isinstance(getattr(module, name), (type, int))
        and name[0] != "_"
        and not re.match(r"anon_|cudaBindings", name)
    }
    missing = {name for name in theirs - names_of(api) if not OTHER_TYPES.fullmatch(name)}
    assert {name for name in missing if not is_newer(name)} == set()


@apis
def test_functions_have_the_same_parameters(api):
    module = bindings(api)
    wrong = {}
    for name in names_of(api) & functions_of(module):
        theirs = inspect.cleandoc(getattr(module, name).__doc__ or "")
        ours = resolve(api, name).__doc__
        if theirs and name not in DIFFERENCES and parameters(theirs) != parameters(ours):
            wrong[name] = parameters(theirs), parameters(ours)
    assert wrong == {}


def fits(theirs, parameter):
    """Whether a documented result can be what a pointer to a C type gives."""
    kind = ctype(parameter.type)
    of = ctype(kind.to) if kind.to and kind.to != "void" else None
    if theirs.startswith("list["):
        theirs = theirs[5:-1]
        if of is not None and of.kind == "pointer":
            of = ctype(of.to)
    name = re.fullmatch(r"(?::py:obj:`)?~?\.?(\w+)`?", theirs)
    if of is None or theirs == "Any":
        return True  # of any type
    if theirs == "bytes":
        return of.name == "char" or of.to in ("const char", "char")
    if theirs == "float":
        return of.kind == "float"
    if theirs in ("int", "unsigned int", "size_t", "unsigned long long", "int64_t"):
        return of.kind == "int"
    assert name, theirs
    if of.kind == "enum":
        return name[1] in enums()[of.name].names or name[1] == of.name
    if of.kind == "struct":
        return layout(name[1]).names == layout(of.name).names
    return of.name == name[1] or {of.name, name[1]} <= {"cuuint32_t", "cuuint64_t"}


@apis
def test_functions_have_the_same_results(api):
    module = bindings(api)
    wrong = {}
    rows = {row.base: row for row in functions(api).values() if row.outs is not None}
    for name in names_of(api) & functions_of(module) & set(rows):
        theirs = results(inspect.cleandoc(getattr(module, name).__doc__ or ""))
        row, known = rows[name], {each.name: each for each in rows[name].parameters}
        if not theirs or name in DIFFERENCES or row.result:
            continue
        outs = row.outs or ()
        if len(theirs) != 1 + len(outs):
            wrong[name] = theirs, outs
            continue
        bad = [t for t, out in zip(theirs[1:], outs) if not fits(t, known[out])]
        if bad:
            wrong[name] = bad, [known[each] for each in outs]
    assert wrong == {}


@apis
def test_enumerations_have_the_same_members(api):
    module = bindings(api)
    grew = re.compile(r".*(_MAX|Max|Count|_NUM_OPTIONS|_LIGHTWEIGHT_FLAGS)$")
    checked, wrong = 0, {}
    for name in names_of(api) & set(enums()) & set(dir(module)):
        theirs = {n: int(each) for n, each in getattr(module, name).__members__.items()}
        ours = {n: number for n, number in enums()[name].values.items() if not grew.match(n)}
        checked += len(ours)
        differ = {each for each, number in ours.items() if theirs.get(each, number) != number}
        lost = ours.keys() - theirs.keys() - GONE
        new = {e for e in theirs.keys() - enums()[name].values.keys() if not is_newer(e)}
        if differ or lost or new:
            wrong[name] = differ, lost, new
    assert wrong == {}
    assert checked > {"driver": 800, "runtime": 500, "nvrtc": 10}[api]


@apis
def test_structures_have_the_same_members(api):
    module = bindings(api)
    checked, wrong = 0, {}
    for name in names_of(api) & set(dir(module)):
        theirs, ours = getattr(module, name), resolve(api, name)
        if not isinstance(theirs, type) or not hasattr(ours, "getPtr") or name in enums():
            continue
        if ctype(name).kind != "struct":
            continue
        members = {each for each in dir(theirs) if each[0] != "_"} - {"getPtr"}
        laid = layout(name)
        own = {each for each in laid.fields if "reserved" not in each.lower()} - PADDING
        checked += len(own)
        lost = own - members
        new = {each for each in members - set(laid.fields) if not is_newer(each)}
        new = {each for each in new if not NEW_MEMBERS.fullmatch(f"{laid.names[0]}.{each}")}
        if lost or new:
            wrong[name] = lost, new
    assert wrong == {}
    assert api == "nvrtc" or checked > 300
