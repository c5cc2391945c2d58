"""tinygrad on libcuda.so.1, with its own PTX renderer."""

from __future__ import annotations

import subprocess
import tarfile
from functools import cache
from pathlib import Path

from tests.peers.clients.environment import libraries, surroundings
from tests.peers.corpus.packages import HOME, REQUIREMENTS, Absent, python

_CLANG = """#!/bin/sh
# Constants go by tinygrad's device of the host, whose target ziglang's clang calls otherwise.
for each do
    shift
    case $each in --target=*) each=--target=x86_64-linux-musl ;; esac
    set -- "$@" "$each"
done
exec {python} -m ziglang cc "$@" -fno-sanitize=undefined -fno-stack-protector -g0
"""


@cache
def sources() -> Path:
    """The folder of the package's sources, which have its tests.

    Raises:
        Absent: they cannot be had here.
    """
    wanted = REQUIREMENTS["tinygrad"][0]
    folder = HOME / wanted.replace("==", "-")
    if not folder.exists():
        command = [python("tinygrad"), "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary", ":all:", "--no-build-isolation", "--dest", HOME, wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"pip has no sources of {wanted}: {done.stderr.strip()[-400:]}")
        with tarfile.open(folder.with_name(f"{folder.name}.tar.gz")) as packed:
            packed.extractall(HOME, filter="data")
    return folder


def run(file: Path, device: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of tinygrad's.

    Raises:
        Absent: the package cannot be installed.
    """
    interpreter = python("tinygrad")
    programs = HOME / "tinygrad" / "clang"
    programs.mkdir(exist_ok=True)
    clang = programs / "clang"
    clang.write_text(_CLANG.format(python=interpreter))
    clang.chmod(0o755)
    kept = surroundings(libraries())
    settings = {
        "DEV": ";CUDA:PTX",
        "CACHELEVEL": "0",  # what another device's compiler made would be found again
        "GRIDLANE_DEVICE": device,
        "PATH": f"{programs}:{kept['PATH']}",
    }
    return subprocess.run(
        [interpreter, file, *words],
        env=kept | settings,
        capture_output=True,
        text=True,
        timeout=900,
    )
