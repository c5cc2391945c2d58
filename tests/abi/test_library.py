"""libcuda.so.1 in C programs without Python, and under NVIDIA's own Python bindings."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.abi import installed
from tests.devices import DEVICES

from gridlane.abi.library import entry
from gridlane.abi.library.build import _ALIKE, _ROOM, LIBRARIES, build
from gridlane.native import compiled as native_module

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """A folder with the libraries, and in include/ the headers."""
    return installed.folder(tmp_path_factory, "libraries")


def compiled(name, library, tmp_path, *options):
    """A program in C, linked with the libraries that it does not open itself."""
    made = tmp_path / name
    linked = [] if name in ("loaded", "closes") else [str(library / "libcuda.so.1")]
    runtime = name not in ("embedded", "loaded", "compiling", "closes")
    linked += [str(library / "libcudart.so.13")] if runtime else []
    linked += [str(library / "libnvrtc.so.13")] if name == "compiling" else []
    subprocess.run(
        ["cc", "-Wall", "-Werror", "-O1", f"-I{library / 'include'}"]
        + [str(HERE / "programs" / f"{name}.c"), "-o", str(made), *linked]
        + ["-lpthread", "-lm", "-ldl", *options],
        check=True,
        timeout=300,
    )
    return made


def run(program, library, *words, **settings):
    """A program's output; no Python is on its path, and nothing of this process's surroundings."""
    kept = {k: v for k, v in os.environ.items() if k.startswith("GRIDLANE_CACHE")}
    found = subprocess.run(
        [str(program), *words],
        env={
            "LD_LIBRARY_PATH": str(library),
            "PATH": "",
            "HOME": "/none",
            "GRIDLANE_QUIET": "1",
            **kept,
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert found.returncode == 0, (found.returncode, found.stdout, found.stderr)
    return found


@pytest.mark.parametrize("name", ["embedded", "loaded", "entry_points"])
def test_programs_without_python(name, library, tmp_path):
    found = run(compiled(name, library, tmp_path), library)
    assert found.stdout == "well\n" and found.stderr == ""


@pytest.mark.parametrize("name", ["faults", "many_threads", "closes"])
def test_hostile_programs(name, library, tmp_path):
    made = compiled(name, library, tmp_path)
    for native in "10":
        found = run(made, library, GRIDLANE_NATIVE=native)
        assert found.stdout == "well\n" and found.stderr == ""


@pytest.mark.parametrize("native", ["0", "1"])
def test_signals_are_the_program_s(native, library, tmp_path):
    made = compiled("waits_for_signals", library, tmp_path)
    found = run(made, library, GRIDLANE_NATIVE=native)
    assert found.stdout == "well\n" and found.stderr == ""


def test_the_compiler_in_a_program_without_python(library, tmp_path):
    pytest.importorskip("ziglang", reason="ziglang is not installed")
    found = run(compiled("compiling", library, tmp_path), library)
    assert found.stdout == "well\n" and found.stderr == ""


@pytest.mark.parametrize("major", [12, 13])
def test_the_compiler_is_exported_as_nvidia_s(library, major):
    """Each function with the version node that is the library's name."""
    words = ["readelf", "--dyn-syms", "-W", str(library / f"libnvrtc.so.{major}")]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    names = {word for line in told.splitlines() for word in line.split() if "nvrtc" in word}
    assert f"nvrtcCompileProgram@@libnvrtc.so.{major}" in names
    assert all(each.endswith(f"libnvrtc.so.{major}") for each in names)
    theirs = _theirs(major)
    if theirs:
        assert names >= {each for each in theirs if not each.startswith("__")}


def _theirs(major):
    """What NVIDIA's library of this version exports; nothing where it is not installed."""
    for path in Path(sys.prefix).glob(
        f"lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.{major}"
    ):
        words = ["readelf", "--dyn-syms", "-W", str(path)]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return {word for line in told.splitlines() for word in line.split() if "@@libnvrtc" in word}
    return set()


def test_all_first_calls_at_once(library, tmp_path):
    """The environment is that of no Python: what it says to another is not for gridlane's."""
    surroundings = {"PYTHONHOME": "/none", "PYTHONPATH": "/none", "PYTHONVERBOSE": "1"}
    surroundings["GRIDLANE_QUIET"] = "0"
    found = run(compiled("first", library, tmp_path), library, **surroundings)
    assert found.stdout == "well\n" and is_of_no_code(found.stderr)


def is_of_no_code(told):
    """Whether stderr says what it has to say of the program's image, which is no code."""
    line, *end = told.splitlines()
    assert all("asked for no error" in each for each in end)
    return "/first: no kernel can be loaded: PTX begins with" in line


def test_a_process_without_surroundings(library, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    found = run(compiled("surroundings", library, tmp_path), library, str(gone))
    assert found.stdout == "callback 0\nexit 0\nend 0\n" and found.stderr == ""


def test_threads_of_c_in_a_process_with_python(library, tmp_path):
    """Python's keys of a thread are older than the library's there, and cleared before."""
    made = compiled("first", library, tmp_path, "-shared", "-fPIC")
    found = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(made)!r}).main()"],
        env=os.environ | {"LD_LIBRARY_PATH": str(library), "PYTHONMALLOC": "debug"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout) == (0, "well\n") and is_of_no_code(found.stderr)


def test_forks_while_another_thread_makes_the_first_call(library, tmp_path):
    found = run(compiled("forks_at_once", library, tmp_path), library)
    assert (found.stdout, found.stderr) == ("well\n", "")


def test_handlers_that_are_set_during_the_first_call(library, tmp_path):
    found = run(compiled("signals_at_once", library, tmp_path), library)
    assert (found.stdout, found.stderr) == ("0 0\n", "")


@pytest.mark.parametrize("native", ["0", "1"])
def test_cancelled_threads(native, library, tmp_path):
    found = run(compiled("cancels", library, tmp_path), library, GRIDLANE_NATIVE=native)
    assert (found.stdout, found.stderr) == ("well\n", "")


def test_a_process_that_ends_its_python(library, tmp_path):
    """Another Python that it begins has nothing of the first."""
    folder, name = sysconfig.get_config_vars("LIBDIR", "INSTSONAME")
    shared = Path(str(folder)) / str(name)
    if ".so" not in shared.name or not shared.is_file():
        pytest.skip("this Python has no shared library")
    made = compiled("ends_python", library, tmp_path, str(shared), f"-Wl,-rpath,{folder}")
    found = run(made, library, PYTHONHOME=sys.base_prefix)
    assert found.stdout.splitlines() == [
        *("python: 0 0 0 0", "thread: 0 0 0 0", "none: 4 4 4 0"),
        *("python: 4 4 4 0", "thread: 4 4 4 0", "none: 4 4 4 0"),
    ]


def test_interpreters_beside_the_first(library):
    subs = pytest.importorskip("_xxsubinterpreters", reason="this Python calls them otherwise")
    assert subs
    calls = (
        "import ctypes; c = ctypes.CDLL('libcudart.so.13'); p = ctypes.c_void_p()\n"
        "assert c.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64)) == c.cudaFree(p) == 0\n"
    )
    text = (
        "import _xxsubinterpreters as subs\nmade = subs.create(isolated=False)\n"
        f"{calls}subs.run_string(made, {calls!r})\n{calls}print('well')"
    )
    found = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | {"LD_LIBRARY_PATH": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "well\n", "")


def test_a_program_on_vulkan(library, tmp_path):
    if "vulkan" not in DEVICES:
        pytest.skip("there is no Vulkan device")
    found = run(compiled("loaded", library, tmp_path), library, GRIDLANE_DEVICE="vulkan")
    assert found.stdout == "well\n"


def test_what_is_compiled_once_is_the_same_in_each_library():
    """Its text asks for none of what differs, but whether it is NVRTC's, which has none of it."""
    for name in (*_ALIKE, "hot.h", "hot_order.h", "hot_memory.h", "ready.h"):
        assert not re.search(r"GL_MAJOR|GL_OF_(DRIVER|RUNTIME|NVRTC)", (_ROOM / name).read_text())
    assert not re.search(r"GL_MAJOR|GL_OF_(DRIVER|RUNTIME)", (_ROOM / "bridge.h").read_text())
    assert not any(set(_ALIKE) & {*each.sources} for each in LIBRARIES if each.api == "nvrtc")


@pytest.mark.parametrize("part", ["_libpython", "_codecs"])
def test_no_python_to_open(part, library, tmp_path, monkeypatch):
    """Neither the library of Python, nor one whose own files are gone, ends the process."""
    from gridlane.abi.library import build as building

    monkeypatch.setattr(building, part, lambda: "/nonexistent/part")
    other = tmp_path / "other"
    build(LIBRARIES[0], other, "-O0")
    found = subprocess.run(
        [str(compiled("embedded", library, tmp_path))],
        env={"LD_LIBRARY_PATH": str(other)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode > 0
    assert "no Python to compile kernels with" in found.stderr
    assert "/nonexistent/part" in found.stderr and "Fatal" not in found.stderr
    assert "gridlane install" in found.stderr and "Traceback" not in found.stderr


MISMATCHED = """
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void)
{
    void *made;
    int count;
    printf("%d ", cudaMalloc(&made, 64));
    printf("%d ", cudaGetDeviceCount(&count));
    printf("%d ", cuInit(0));
    printf("%d\\n", cudaDeviceSynchronize());
    return 0;
}
"""


def test_libraries_of_another_version(library, tmp_path, monkeypatch):
    """Libraries with another mark answer each call with an error, and one line says what to run."""
    from gridlane.abi.library import build as building

    source = tmp_path / "mismatched.c"
    source.write_text(MISMATCHED)
    program = tmp_path / "mismatched"
    linked = [library / each for each in ("libcuda.so.1", "libcudart.so.13")]
    words = ["cc", f"-I{library / 'include'}", source, "-o", program, *linked]
    subprocess.run(list(map(str, words)), check=True, timeout=300)
    monkeypatch.setattr(building, "mark", lambda: "of another version")
    other = tmp_path / "other"
    for each in (each for each in LIBRARIES if each.file in ("libcuda.so.1", "libcudart.so.13")):
        build(each, other, "-O0")
    found = run(program, other)
    assert found.stdout == "803 803 803 803\n"  # cudaErrorSystemDriverMismatch
    assert len(found.stderr.splitlines()) == 1 and "gridlane install --force" in found.stderr


CALLED = """
#include <cuda.h>
#include <stdio.h>
int main(void)
{
    int count;
    printf("%d %d\\n", cuInit(0), cuDeviceGetCount(&count));
    return 0;
}
"""
OLD_MODULE = """
import ctypes
from gridlane.native import compiled

module = compiled()
now = module.sizes()
module.sizes = lambda: (now[0], now[1] - 8, *now[2:])
count, c = ctypes.c_int(), ctypes.CDLL("libcudart.so.13")
print(c.cudaGetDeviceCount(ctypes.byref(count)), c.cudaDeviceSynchronize())
"""


SITES = {
    "import gridlane.native; gridlane.native.INTERFACE += 1": (
        "the compiled module gridlane.native._pool was built from another version of its source",
        "pip install -e .",
        "gridlane install --force",
    ),
    "import gridlane.abi; sys.modules['gridlane.abi.library'] = None": ("gridlane.abi.library",),
}
"""What breaks gridlane as a folder of packages is added, and what the program prints then."""


@pytest.mark.skipif(native_module() is None, reason="there is no compiled module")
@pytest.mark.parametrize("breaks", SITES)
def test_a_program_whose_gridlane_cannot_be_imported(breaks, library, tmp_path, monkeypatch):
    """It gets an error from each call, and Python's own text, once."""
    from gridlane.abi.library import build as building

    site = tmp_path / "site"
    site.mkdir()
    (site / "broken.pth").write_text(
        f"import site, sys; site.addsitedir({str(building._site())!r}); {breaks}\n"
    )
    monkeypatch.setattr(building, "_site", lambda: site)
    other = tmp_path / "other"
    build(LIBRARIES[0], other, "-O0")
    source = tmp_path / "called.c"
    source.write_text(CALLED)
    program = tmp_path / "called"
    words = ["cc", f"-I{library / 'include'}", source, "-o", program, other / "libcuda.so.1"]
    subprocess.run(list(map(str, words)), check=True, timeout=300)
    found = run(program, other)
    assert found.stdout == "802 802\n"  # CUDA_ERROR_SYSTEM_NOT_READY
    assert found.stderr.startswith(f"gridlane: gridlane cannot be imported from {site}: ")
    assert all(each in found.stderr for each in SITES[breaks])
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.skipif(native_module() is None, reason="there is no compiled module")
def test_a_compiled_module_whose_queues_have_another_layout(library):
    """Each call answers with an error, and one line says what to run: nothing crashes."""
    found = run(sys.executable, library, "-c", OLD_MODULE)
    assert found.stdout == "803 803\n"
    assert "pip install -e ." in found.stderr and "gridlane install --force" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_queries_start_the_thread_that_could_not_start(library, tmp_path):
    program = compiled("no_thread", library, tmp_path, "-rdynamic")
    found = run(program, library)
    assert (found.stdout, found.stderr) == ("well\n", "")


def test_libraries_from_before_there_were_marks(capsys, monkeypatch):
    """They take no answer but an exception, and nothing of theirs is touched."""
    monkeypatch.setattr(entry, "_told", set())
    for _ in range(2):
        with pytest.raises(ImportError, match="another version"):
            entry.begin(0, 8)  # an address that ends the process if it is read
    told = capsys.readouterr().err
    assert told.count("gridlane install --force") == 1 == len(told.splitlines())


@pytest.mark.parametrize(
    "options",
    [
        ["test_driver.py"],
        pytest.param(
            ["test_libraries.py", "test_functions.py", "test_links.py", "test_images.py", "-kcpu"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(["test_nvrtc.py"], marks=pytest.mark.nightly),
    ],
    ids=["driver", "code", "nvrtc"],
)
def test_nvidia_s_own_bindings(library, options):
    """Tests of the driver again, by cuda-bindings, which calls the C functions."""
    pytest.importorskip("cuda.bindings", "13.5", reason="cuda-bindings 13.5 is not installed")
    settings = {"LD_LIBRARY_PATH": str(library), "GRIDLANE_TEST_BINDINGS": "nvidia"}
    settings["GRIDLANE_TEST_GPU"] = ""  # that path hides NVIDIA's driver
    if options == ["test_nvrtc.py"]:  # the bindings prefer the library of NVIDIA's package
        settings["LD_PRELOAD"] = str(library / "libnvrtc.so.13")
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-x", *options],
        env=os.environ | settings,
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-2000:]


@pytest.mark.parametrize(
    ("module", "text", "name"),
    [
        ("cupy", "", "CuPy"),
        ("torch", "class version: cuda = '13.0'", "PyTorch"),
        ("torch", "class version: cuda = None", None),
    ],
)
def test_packages_that_are_out_of_scope_are_told_by_name(library, tmp_path, module, text, name):
    """Stand-ins for those that take gridlane's libraries for CUDA's."""
    (tmp_path / f"{module}.py").write_text(text)
    text = (
        f"import ctypes, {module}\nn = ctypes.byref(ctypes.c_int())\n"
        "assert ctypes.CDLL('libcudart.so.13').cudaGetDeviceCount(n) == 0\n"
        "assert ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(n) == 0\n"
    )
    settings = {"LD_LIBRARY_PATH": str(library), "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    assert len(found.stderr.splitlines()) == (1 if name else 0)
    assert not name or f"{name} is out of gridlane's scope" in found.stderr


ASKING = """
#include <cuda.h>
int ask(void) { const void *table; CUuuid id = {{0}}; return cuGetExportTable(&table, &id); }
"""
ASKED = (
    '#include <stdio.h>\nint ask(void);\nint main(void) { return printf("%d\\n", ask()) < 0; }\n'
)


@pytest.mark.parametrize("name, is_told", [("nvrtc-other", False), ("other", True)])
def test_who_asks_for_tables_of_the_driver(name, is_told, library, tmp_path):
    """NVIDIA's runtime does not run without them; its compilers do."""
    parts = {"asking.c": ASKING, "asked.c": ASKED}
    for file, text in parts.items():
        (tmp_path / file).write_text(text)
    cuda = [f"-I{library / 'include'}", str(library / "libcuda.so.1")]
    shared, program = str(tmp_path / f"lib{name}.so"), str(tmp_path / "asked")
    words = ["cc", "-shared", "-fPIC", str(tmp_path / "asking.c"), *cuda, "-o", shared]
    subprocess.run(words, check=True, timeout=300)
    words = ["cc", str(tmp_path / "asked.c"), shared, cuda[1], "-o", program]
    subprocess.run(words, check=True, timeout=300)
    found = run(program, library)
    assert found.stdout == "500\n" and ("has NVIDIA's runtime inside" in found.stderr) == is_told
