"""Programs in C whose kernels were compiled before run without Python, and as with it."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.abi import installed
from tests.abi.test_library import compiled

from gridlane.abi.library import ready
from gridlane.abi.library.build import numbered
from gridlane.compiler.cache import READY_SUFFIX, DiskCache
from gridlane.native import text
from gridlane.runtime.host_code import object_of

HERE = Path(__file__).parent / "programs"
LIBRARY = Path(ready.__file__).parent
WITHOUT = "00\n"
"""What the program says on stderr where Python was never entered."""
TAKEN_OVER = "01\n"
WITH = "11\n"
MODES = {
    **dict.fromkeys(("plain", "threads", "late", "fork", "rounding"), WITHOUT),
    **dict.fromkeys(("properties", "stream", "shape", "variable", "fault", "frees"), TAKEN_OVER),
    **dict.fromkeys(("attributes", "reset", "threads_mixed"), TAKEN_OVER),
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64",
    reason="Python is needed everywhere but on Linux on x86-64",
)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with the libraries, the program and a cache that its kernels are in."""
    words = "-cudart", "shared", str(HERE / "ready.cu")
    built = installed.by_nvcc(tmp_path_factory, "ready-program", *words)
    folder = installed.folder(tmp_path_factory, "ready")
    (folder / "ready").symlink_to(built)
    for mode in ("plain", "shape", "variable"):
        assert run(folder, mode).returncode == 0
    return folder


def run(folder, mode="plain", cache=None, program="ready", **environment):
    """The program on a device that it has its kernels for, if nothing else is said."""
    return subprocess.run(
        [str(folder / program), mode],
        env={
            "LD_LIBRARY_PATH": str(folder),
            "GRIDLANE_CACHE_DIR": str(cache or folder / "cache"),
            "GRIDLANE_QUIET": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def files(cache):
    """The files by which C runs programs."""
    return sorted(cache.glob(f"*{READY_SUFFIX}"))


@pytest.fixture
def cache(room, tmp_path):
    """A cache of its own to spoil."""
    made = tmp_path / "cache"
    shutil.copytree(room / "cache", made)
    return made


@pytest.mark.parametrize("mode", MODES)
def test_a_program_is_the_same_without_python(room, mode):
    """Until the call that C cannot answer, if there is one."""
    ahead, plain = run(room, mode), run(room, mode, GRIDLANE_NATIVE="0")
    assert (ahead.returncode, ahead.stdout) == (0, plain.stdout)
    assert ahead.stderr == MODES[mode]
    assert plain.stderr == WITH


def test_the_pool_stays_in_its_memory(room, tmp_path):
    """The pages behind what C allocates for it are out of bounds."""
    guard, cache, threads = tmp_path / "guard.so", tmp_path / "cache", {"GRIDLANE_THREADS": "4"}
    command = ["cc", "-shared", "-fPIC", "-O1", str(HERE / "guarded.c"), "-o", str(guard)]
    subprocess.run(command, check=True, timeout=300)
    plain = run(room, cache=cache, **threads)
    assert plain.stderr == WITH
    found = run(room, cache=cache, LD_PRELOAD=str(guard), **threads)
    assert (found.returncode, found.stdout, found.stderr) == (0, plain.stdout, WITHOUT)


def test_a_fault_is_told_the_same(room):
    ahead = run(room, "fault")
    assert "fault: 7" in ahead.stdout, ahead.stdout


def test_processes_at_once(room, tmp_path):
    """Some write the files, others read them."""
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: run(room, cache=tmp_path / "new"), range(6)))
    assert {(each.returncode, each.stdout) for each in found} == {(0, run(room).stdout)}
    assert run(room, cache=tmp_path / "new").stderr == WITHOUT


def test_a_copy_of_a_cache_is_used(room, cache):
    assert run(room, cache=cache).stderr == WITHOUT


def test_the_cache_in_the_directory_of_numba_is_used(room, tmp_path):
    shutil.copytree(room / "cache", tmp_path / "gridlane")
    there = {"GRIDLANE_CACHE_DIR": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(room, **there).stderr == WITHOUT


def spoil(path, change):
    data = bytearray(path.read_bytes())
    path.write_bytes(change(data))


def flipped(place):
    def change(data):
        data[place % len(data)] ^= 0x10
        return data

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(flipped(place) for place in (0, 9, 13, 45, 60, -1)),
        lambda data: data[:-1],
        lambda data: data[:50],
        lambda data: data[:10],
        lambda data: b"",
        lambda data: data + b"x",
    ],
)
def test_a_spoilt_file_is_not_used(room, cache, change):
    """Python does the work then, and writes the file again."""
    for each in files(cache):
        spoil(each, change)
    found = run(room, cache=cache)
    assert (found.returncode, found.stdout, found.stderr) == (0, run(room).stdout, WITH)
    assert run(room, cache=cache).stderr == WITHOUT


def test_a_file_of_another_key_is_not_used(room, cache):
    """Its digest covers the key that is its name."""
    one, *others = files(cache)
    for each in others:
        each.write_bytes(one.read_bytes())
    found = run(room, cache=cache)
    assert (found.stdout, found.stderr) == (run(room).stdout, WITH)


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666])
def test_a_file_that_others_may_write_is_not_used(room, cache, mode):
    for each in files(cache):
        each.chmod(mode)
    assert run(room, cache=cache).stderr == WITH


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_others_may_write_is_not_used(room, cache, mode):
    cache.chmod(mode)
    assert run(room, cache=cache).stderr == WITH


def test_a_link_is_not_followed(room, cache, tmp_path):
    for each in files(cache):
        each.rename(tmp_path / each.name)
        each.symlink_to(tmp_path / each.name)
    assert run(room, cache=cache).stderr == WITH


@pytest.mark.parametrize(
    "name, value",
    [
        *(("GRIDLANE_THREADS", "3"), ("GRIDLANE_STACK", "32768"), ("GRIDLANE_CPU", "x86-64-v2")),
        *(("GRIDLANE_NATIVE", "0"), ("GRIDLANE_CACHE", "0"), ("GRIDLANE_DEVICE", "interp")),
        ("CUDA_VISIBLE_DEVICES", "0"),
    ],
)
def test_another_environment_does_not_use_the_files(room, name, value):
    found = run(room, "few", **{name: value})
    assert (found.returncode, found.stdout, found.stderr) == (0, run(room, "few").stdout, WITH)


def test_the_file_of_another_environment_is_its_own(room, cache):
    other = {"GRIDLANE_THREADS": "4"}
    first, second = run(room, cache=cache, **other), run(room, cache=cache, **other)
    assert (first.stderr, second.stderr) == (WITH, WITHOUT)
    assert first.stdout == second.stdout == run(room).stdout


def test_other_code_does_not_use_the_files(room, tmp_path):
    """The same names of kernels, with other code in them."""
    text = (HERE / "ready.cu").read_text().replace("a[i] + b[i]", "a[i] - b[i]")
    source = tmp_path / "other.cu"
    source.write_text(text)
    options = ["-w", "-arch=sm_80", "-cudart", "shared", f"-I{HERE}"]
    command = ["nvcc", *options, str(source), "-o", str(room / "other")]
    subprocess.run(command, check=True, timeout=300)
    found, plain = run(room, program="other"), run(room, program="other", GRIDLANE_NATIVE="0")
    assert (found.stdout, found.stderr) == (plain.stdout, TAKEN_OVER.replace("0", "1"))
    assert found.stdout != run(room).stdout
    assert run(room, program="other").stderr == WITHOUT


def test_the_files_are_of_the_cache(room, cache):
    """They are counted, and go with it."""
    entries = DiskCache(cache)
    count = len(files(cache))
    assert count > 3
    assert entries.stats().entries == count + len(list(cache.glob("*.kernel2")))
    assert run(room, cache=cache).stderr == WITHOUT
    entries.clear()
    assert not files(cache)
    assert run(room, cache=cache).stderr == WITH


def test_the_cache_sweeps_what_was_not_used(room, cache):
    """C notes the use of a file, an hour after the last."""
    for each in files(cache):
        os.utime(each, (1, 1))
    assert run(room, cache=cache).stderr == WITHOUT
    used = [each for each in files(cache) if each.stat().st_mtime > 1]
    assert len(used) == 5  # the device, and four kernels


def test_a_process_with_little(room):
    """Time and memory: what Python alone takes is much more."""
    source = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True)\n"
    source += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)"
    found = subprocess.run(
        [sys.executable, "-c", source, str(room / "ready"), "plain"],
        env={
            "LD_LIBRARY_PATH": str(room),
            "GRIDLANE_CACHE_DIR": str(room / "cache"),
            "GRIDLANE_QUIET": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert float(found.stdout.splitlines()[-1]) < 0.2


def test_the_loader_of_objects_is_safe(tmp_path):
    """Objects with bytes changed at random are refused or loaded, under sanitizers."""
    if not shutil.which("cc"):
        pytest.skip("cc is not installed")
    made, program = tmp_path / "pool.o", tmp_path / "program"
    made.write_bytes(object_of(text.text()))
    sources = [HERE / "ready_objects.c", LIBRARY / "ready_object.c"]
    options = ["-g", "-O1", "-Wall", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [
        "cc",
        *options,
        *numbered(),
        f"-I{LIBRARY}",
        f"-I{text.ROOM}",
        *map(str, sources),
        "-ldl",
    ]
    command += ["-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "cannot find" in built.stderr:
        pytest.skip("cc has no sanitizers")
    assert built.returncode == 0, built.stderr
    found = subprocess.run(
        [str(program), str(made), "gridlane_launch", "20000"],
        env={"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert found.returncode == 0, found.stderr
    loaded, _, rounds = found.stdout.split()
    assert 0 < int(loaded) < int(rounds)


def test_a_library_that_is_closed_takes_its_kernels_along(room, tmp_path):
    """Another one at the same addresses has kernels of its own."""
    libraries: list[str] = []
    for number in (1, 2):
        source, made = tmp_path / f"work{number}.cu", tmp_path / f"work{number}.so"
        source.write_text(
            f"__global__ void k(int *p) {{ *p = {number}; }}\n"
            'extern "C" int work() { int *d, h = 0; cudaMalloc(&d, 4); k<<<1, 1>>>(d);\n'
            "  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); cudaFree(d); return h; }\n"
        )
        options = ["-w", "-arch=sm_80", "-cudart", "shared", "-Xcompiler", "-fPIC", "-shared"]
        command = ["nvcc", *options, str(source), "-o", str(made)]
        subprocess.run(command, check=True, timeout=300)
        libraries.append(str(made))
    program = tmp_path / "reopener"
    command = ["cc", str(HERE / "reopener.c"), "-o", str(program), "-ldl"]
    subprocess.run(command, check=True, timeout=300)
    for entered in ("1\n", "0\n"):
        found = subprocess.run(
            [str(program), *libraries, *libraries, *reversed(libraries)],
            env={"LD_LIBRARY_PATH": str(room), "GRIDLANE_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (found.stdout, found.stderr) == ("1\n2\n1\n2\n2\n1\n", entered)


def test_a_key_is_of_all_that_decides_the_code(tmp_path):
    """Whatever changes, the files that were made before are not found."""
    if not shutil.which("cc"):
        pytest.skip("cc is not installed")
    package, site, program = tmp_path / "package", tmp_path / "site", tmp_path / "program"
    source, path_file, llvm = package / "inner" / "a.py", site / "a.pth", tmp_path / "llvm.so"
    for each in (source, path_file, llvm):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("1")
    words = {"GL_PACKAGE": package, "GL_SITE": site, "GL_LLVM": llvm}
    words |= {"GL_LIBPYTHON": "p", "GL_VERSION": "3", "GL_MARK": "m"}
    defined = [f'-D{name}="{value}"' for name, value in words.items()] + numbered()
    texts = [HERE / "ready_keys.c", LIBRARY / "ready_key.c", LIBRARY / "digest.c"]
    folders = f"-I{LIBRARY}", f"-I{text.ROOM}"
    command = ["cc", *defined, *folders, *map(str, texts), "-o", str(program), "-lpthread"]
    subprocess.run(command, check=True, timeout=300)

    def key(**environment):
        found = subprocess.run([str(program)], env=environment, capture_output=True, text=True)
        return found.stdout.strip()

    def after(change):
        change()
        return key()

    first = key()
    assert len(first) == 64
    assert first == key(HOME="/elsewhere", GRIDLANE_CACHE_DIR="/somewhere", LANG="C")
    changes = (
        lambda: source.write_text("12"),
        lambda: os.utime(source, ns=(1, 1)),
        lambda: os.utime(source, ns=(1, 2)),
        lambda: (package / "b.c").write_text(""),
        lambda: (package / "b.c").rename(package / "inner" / "b.c"),
        lambda: os.utime(path_file, ns=(1, 2)),
        lambda: (site / "b.dist-info").mkdir(),
        lambda: os.utime(llvm, ns=(1, 2)),
    )
    keys = [first, key(GRIDLANE_STACK="1"), key(GRIDLANE_STACK="2"), *map(after, changes)]
    assert len(set(keys)) == len(keys)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "a.pyc").write_text("")
    assert key() == keys[-1]
    assert key(GRIDLANE_TRACE="1") == key(GRIDLANE_DEVICE="vulkan") == "none"
    assert key(GRIDLANE_OVERRIDE="/tmp") == "none"
    (tmp_path / "far").mkdir()
    (package / "linked").symlink_to(tmp_path / "far")  # whose files would not be seen
    assert key() == "none"
    (package / "linked").unlink()
    assert key() == keys[-1]
    llvm.unlink()
    assert key() == "none"


def test_the_driver_is_as_ready_as_with_python(room, tmp_path):
    """A program that asks the runtime first, and then the driver."""
    made = compiled("hot_state", room, tmp_path, str(room / "libcudart.so.13"))
    ahead = run(room, program=made)
    plain = run(room, program=made, GRIDLANE_NATIVE="0")
    assert (ahead.returncode, ahead.stdout, ahead.stderr) == (0, plain.stdout, "")


def test_forks_during_the_first_call(room):
    """The child has the locks that another thread held."""
    linked = [str(room / each) for each in ("libcuda.so.1", "libcudart.so.13")]
    command = ["cc", f"-I{room / 'include'}", str(HERE / "forks_at_once.c"), *linked, "-lpthread"]
    subprocess.run([*command, "-o", str(room / "forks")], check=True, timeout=300)
    found = run(room, program="forks")
    assert (found.stdout, found.stderr) == ("well\n", "")


def test_no_python_when_it_is_needed(room, tmp_path, monkeypatch):
    """What C answered alone until then does not hide that a launch failed."""
    from gridlane.abi.library import build as building

    monkeypatch.setattr(building, "_codecs", lambda: "/nonexistent/codecs")
    made = next(each for each in building.LIBRARIES if each.file == "libcudart.so.13")
    building.build(made, tmp_path, "-O0")
    cache = tmp_path / "cache"  # any file of the package that changes meanwhile makes others old
    assert [run(room, mode, cache).stderr for mode in ("plain", "plain")] == [WITH, WITHOUT]
    found = run(room, "shape", cache, LD_LIBRARY_PATH=str(tmp_path))
    assert found.returncode and "/nonexistent/codecs" in found.stderr
    assert "shape: 802, last 802" in found.stdout


def test_streams_of_programs_without_python(room, tmp_path, tmp_path_factory):
    """C makes them; launches there get plans, also where nothing else tells C that Python has
    taken over."""
    words = "-cudart", "shared", str(HERE / "ready_streams.cu")
    built = installed.by_nvcc(tmp_path_factory, "ready-streams", *words)
    (room / "ready_streams").symlink_to(built)
    for begun in (1, 0):  # the second time C begins alone
        found = run(room, "", tmp_path / "own", "ready_streams")
        wanted = f"Python has begun: {begun}\nand now: {begun}\nplans: 1\n4\n"
        assert (found.stdout, found.stderr) == (wanted, "")
