"""The jumps of preload.c, with a stand-in for the vendor's static runtime: on this machine, and on
AArch64 by qemu-user."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gridlane.abi.library import build as building

HERE = Path(__file__).parent / "programs" / "redirect"
MACHINES = {
    "here": (["cc"], []),
    "aarch64": (["aarch64-linux-gnu-gcc"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
}
FORMS = {
    "pie": ["-O2", "-fPIE", "-pie"],
    "no_pie": ["-O2", "-fno-pie", "-no-pie"],
    "unoptimised": ["-O0"],
    "aligned_by_4": ["-Os", "-falign-functions=4"],
}
OURS, VENDORS = "0 {device} gridlane's 6 6 1", "500 -1 the vendor's 7 6 1"


@pytest.fixture(scope="module", params=MACHINES)
def machine(request, tmp_path_factory):
    """A folder with the libraries of a machine, its compiler, and how its programs are run."""
    compiler, runner = MACHINES[request.param]
    for each in (*compiler, *runner[:1]):
        if not shutil.which(each):
            pytest.skip(f"{each} is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "compiler", lambda: compiler)
        for each in building.LIBRARIES:
            if each.file == building.PRELOADED:
                building.build(each, folder)
    for file in ("libcudart.so.13", "libcudart.so.12"):
        command = [*compiler, "-O2", "-shared", "-fPIC", HERE / "libcudart.c", "-o", folder / file]
        subprocess.run(command, check=True, timeout=300)
    return folder, compiler, runner


def made(machine, name, *options):
    folder, compiler, _ = machine
    sources = [HERE / "user.c", HERE / "static_runtime.c"]
    command = [*compiler, "-w", *sources, "-o", folder / name, *options, "-ldl"]
    subprocess.run(command, check=True, timeout=300)
    return folder / name


def library(machine, name, *options):
    return made(machine, name, "-O2", "-DLIBRARY", "-shared", "-fPIC", *options)


def run(machine, program, *words, preload=True):
    folder, _, runner = machine
    given = {"LD_LIBRARY_PATH": folder}
    if preload:
        given["LD_PRELOAD"] = folder / building.PRELOADED
    if runner:  # qemu itself runs with neither
        options = [word for name, value in given.items() for word in ("-E", f"{name}={value}")]
        command = [*runner, *options, program, *words]
        environment = dict(os.environ)
    else:
        command, environment = [program, *words], {n: str(v) for n, v in given.items()}
    return subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_program(machine, form):
    program = made(machine, form, *FORMS[form])
    assert run(machine, program, preload=False).stdout == f"{VENDORS}\n"
    found = run(machine, program)
    assert (found.stdout, found.stderr) == (f"{OURS.format(device=17)}\n", ""), found


def test_the_environment_and_the_name(machine):
    """The C library has them, though libcudart is opened before its constructor has run."""
    folder, _, _ = machine
    source = folder / "environment.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        '__attribute__((constructor)) static void early(void) { puts(getenv("LD_PRELOAD")); }\n'
        "__attribute__((destructor)) static void last(void)\n"
        '{ printf("%s %s\\n", getenv("LD_PRELOAD"), program_invocation_short_name); }\n'
    )
    program = made(machine, "environment", *FORMS["pie"], source)
    preloaded = folder / building.PRELOADED
    expected = [str(preloaded), OURS.format(device=17), f"{preloaded} environment"]
    assert run(machine, program).stdout.splitlines() == expected


def test_libraries_that_are_opened_later(machine):
    """Each registers once; one comes back after it was closed."""
    program = made(machine, "opener", *FORMS["pie"])
    one, two = (library(machine, f"lib{name}.so") for name in ("one", "two"))
    found = run(machine, program, one, two, one)
    expected = [OURS.format(device=10 * count + 7) for count in (1, 2, 3, 4)]
    assert found.stdout.splitlines() == expected and found.stderr == "", found


def test_a_library_that_a_program_is_linked_with(machine):
    beside = library(machine, "libbeside.so", "-Wl,-soname,libbeside.so")
    folder, compiler, _ = machine
    source, program = folder / "linked.c", folder / "linked"
    source.write_text(
        "int puts(const char *); const char *work(void); int main(void) { puts(work()); }\n"
    )
    command = [*compiler, source, beside, "-o", program]
    subprocess.run(command, check=True, timeout=300)
    assert run(machine, program).stdout == f"{OURS.format(device=17)}\n"


def test_without_symbols_nothing_is_changed(machine):
    program = made(machine, "stripped", *FORMS["pie"], "-s")
    found = run(machine, program)
    assert (found.stdout, found.stderr) == (f"{VENDORS}\n", "")


def test_a_runtime_of_gridlane_s_own_is_left_alone(machine):
    """A section tells it, as in programs that are linked with -lcudart_gridlane."""
    source = machine[0] / "mark.c"
    source.write_text('__attribute__((section(".gridlane"), used)) static const char mark = 1;\n')
    program = made(machine, "own", *FORMS["pie"], source)
    assert run(machine, program).stdout == f"{VENDORS}\n"


def test_protected_branches(machine):
    """Programs for processors that check where branches land."""
    kind = "-fcf-protection=full" if machine[1] == ["cc"] else "-mbranch-protection=standard"
    try:
        program = made(machine, "protected", *FORMS["pie"], kind)
    except subprocess.CalledProcessError:
        pytest.skip(f"the compiler has no {kind}")
    assert run(machine, program).stdout == f"{OURS.format(device=17)}\n"


def test_a_function_that_is_too_short(machine):
    """It is refused by its name, not overwritten with what is behind it."""
    folder, _, _ = machine
    source = folder / "short.c"
    size = ".size cudaGetLastError, 2"
    source.write_text(
        'asm(".text\\n.globl cudaGetLastError\\n.type cudaGetLastError, %function\\n'
        f'cudaGetLastError: ret\\n{size}\\n");\n'
    )
    ours = folder / "more"
    ours.mkdir(exist_ok=True)
    program = made((ours, *machine[1:]), "short", *FORMS["pie"], source)
    text = (HERE / "libcudart.c").read_text() + "int cudaGetLastError(void) { return 0; }\n"
    (ours / "libcudart.c").write_text(text)
    command = [*machine[1], "-shared", "-fPIC", ours / "libcudart.c", "-o"]
    subprocess.run([*command, ours / "libcudart.so.13"], check=True, timeout=300)
    shutil.copy(folder / building.PRELOADED, ours)
    found = run((ours, *machine[1:]), program)
    assert found.returncode == 127
    assert found.stderr == "gridlane: cudaGetLastError: its code is too short to be replaced\n"
