"""gridlane install, uninstall and exec."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.abi import installed

from gridlane.abi.library import installing

PROGRAM = r"""
#include <cuda.h>
#include <stdio.h>
int main(int count, char **words)
{
    char name[64];
    CUdevice device;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDeviceGetName(name, 64, device))
        return 1;
    printf("%s", name);
    for (int n = 1; n < count; n++)
        printf(" [%s]", words[n]);
    return 3;
}
"""


@pytest.fixture(autouse=True)
def compiler():
    if not shutil.which("cc"):
        pytest.skip("cc is not installed, and it compiles the libraries")


def gridlane(*words, **settings):
    return subprocess.run(
        [sys.executable, "-m", "gridlane", *map(str, words)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=200,
    )


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_install_and_uninstall(tmp_path, tmp_path_factory):
    prefix = tmp_path / "there"
    shutil.copytree(installed.prefix(tmp_path_factory), prefix, symlinks=True)
    (prefix / "mine.txt").write_text("the user's")
    (prefix / "env.sh").write_text("false")  # it is installed over its own files
    (prefix / "include" / "earlier.h").write_text("of an earlier version")
    with (prefix / "installed.txt").open("a") as listed:
        listed.write("include/earlier.h\n")
    done = gridlane("install", "--prefix", prefix, "--force")
    assert done.returncode == 0, done.stderr
    assert "env.sh" in done.stdout and "lib/libcuda.so.1" in files_in(prefix)
    assert "include/earlier.h" not in files_in(prefix)
    source, made = tmp_path / "p.c", tmp_path / "p"
    source.write_text(PROGRAM)
    subprocess.run(
        f". {prefix}/env.sh && cc {source} -I{prefix}/include -L{prefix}/lib -lcuda -o {made}",
        shell=True,
        check=True,
        timeout=300,
    )
    linked = tmp_path / "linked"  # env.sh names the folder to the linker, and the program no path
    code = tmp_path / "linked.c"
    code.write_text(
        "int cudaDeviceSynchronize(void); int main(void) { return cudaDeviceSynchronize(); }"
    )
    for library in ("-lcudart_gridlane", "-lcudart_static"):
        command = f". {prefix}/env.sh && cc {code} -o {linked} {library} -ldl -lpthread"
        subprocess.run(command, shell=True, check=True, timeout=300)
        assert subprocess.run([str(linked)], timeout=300).returncode == 0
    shown = subprocess.run(
        f". {prefix}/env.sh && {made} a 'b c'", shell=True, capture_output=True, text=True
    )
    assert shown.returncode == 3 and shown.stdout.endswith("[a] [b c]"), shown.stderr
    removed = gridlane("uninstall", "--prefix", prefix)
    assert removed.returncode == 0 and files_in(prefix) == ["mine.txt"]
    once_more = gridlane("uninstall", "--prefix", prefix)
    assert once_more.returncode == 1 and "not installed" in once_more.stderr


def test_it_writes_over_nothing_that_is_not_its_own(tmp_path):
    (tmp_path / "lib").mkdir()
    for name in ("libcuda.so.1", "libcudart_static.a"):
        (tmp_path / "lib" / name).write_text("another")
        done = gridlane("install", "--prefix", tmp_path, "--force")
        assert done.returncode == 1 and "gridlane did not write it" in done.stderr
        assert (tmp_path / "lib" / name).read_text() == "another"
        (tmp_path / "lib" / name).unlink()


def test_a_real_driver_is_not_shadowed_without_force(tmp_path, monkeypatch):
    monkeypatch.setattr(installing, "shadowed", lambda: [Path("/usr/lib/libcuda.so.1")])
    with pytest.raises(installing.InstallError, match="say --force"):
        installing.install(tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = gridlane("install", "--prefix", tmp_path / "file", "--force")
    assert done.returncode == 1 and "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_exec(tmp_path, tmp_path_factory):
    prefix = installed.prefix(tmp_path_factory)
    source, made = tmp_path / "p.c", tmp_path / "p"
    source.write_text(PROGRAM)
    subprocess.run(
        ["cc", str(source), f"-I{prefix}/include", f"-L{prefix}/lib", "-lcuda", "-o", str(made)],
        check=True,
        timeout=300,
    )
    done = gridlane("exec", made, "--device", "x", "-h")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("gridlane cpu") and done.stdout.endswith("[--device] [x] [-h]")
    on = gridlane("exec", "--device", "interp", made)
    assert on.stdout.startswith("gridlane interp")
    absent = gridlane("exec", tmp_path / "none")
    assert absent.returncode == 127 and "there is no program" in absent.stderr
    plain = gridlane("exec", source)
    assert plain.returncode == 126 and "is no executable file" in plain.stderr


def test_exec_of_a_program_with_the_vendor_s_runtime(tmp_path):
    """It is in the program with its symbols; without them it cannot be found."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    source, made = tmp_path / "p.cu", tmp_path / "p"
    source.write_text(
        "__global__ void k(int *x) { *x = 7; } int main() { int *x, y; cudaMalloc(&x, 4);"
        "k<<<1, 1>>>(x); cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost); return y; }"
    )
    subprocess.run(["nvcc", "-arch=sm_80", str(source), "-o", str(made)], check=True, timeout=200)
    done = gridlane("exec", made)
    assert done.returncode == 7, done.stderr
    subprocess.run(["strip", str(made)], check=True, timeout=300)
    done = gridlane("exec", made)
    assert done.returncode == 1 and "-cudart shared" in done.stderr
    assert "-cudart none ... -lcudart_gridlane, or gridlane cc" in done.stderr


def test_exec_of_a_program_that_opens_the_vendor_s_runtime_later(tmp_path):
    """The program itself makes no call of CUDA's."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    source, made, main = tmp_path / "l.cu", tmp_path / "libl.so", tmp_path / "main.c"
    source.write_text(
        '__global__ void k(int *x) { *x = 7; } extern "C" int work() { int *x, y;'
        "cudaMalloc(&x, 4); k<<<1, 1>>>(x); cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost);"
        "return y; }"
    )
    main.write_text(
        "#include <dlfcn.h>\nint main(int n, char **v) { void *opened = dlopen(v[1], RTLD_NOW);"
        'return opened ? ((int (*)(void))dlsym(opened, "work"))() : 1; }\n'
    )
    shared = ["nvcc", "-arch=sm_80", "-shared", "-Xcompiler", "-fPIC", source, "-o", made]
    subprocess.run(shared, check=True, timeout=200)
    subprocess.run(["cc", main, "-o", tmp_path / "main", "-ldl"], check=True, timeout=300)
    done = gridlane("exec", tmp_path / "main", made)
    assert done.returncode == 7, done.stderr
