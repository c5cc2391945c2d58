"""Run numba-cuda's own tests on libcuda.so.1 and write what came of them:
``python -m tests.peers.clients.numba_suite --out docs/numba-suite.md``. With ``--suite DIR``, the
folder ``tests`` of a checkout of NVIDIA/numba-cuda-mlir, those of numba-cuda-mlir, whose wheel has
no tests.

Each module of tests has a process of its own and a limit of time. Where a process ends or is ended,
the test that ran failed, and the module goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.peers.clients.environment import libraries, surroundings
from tests.peers.clients.numba_report import Outcome, text
from tests.peers.corpus.packages import python

HERE = Path(__file__).parent
NUMBA = "numba"
MLIR = "numba-mlir"
_APART = {"benchmarks", "doc_examples"}
"""Folders that numba-cuda-mlir's own settings of pytest leave out."""
FOLDERS = "cudapy", "cudadrv", "nocuda", "doc_examples", "nrt", "core", "cudasim"
_MOST_ENDS = 12
"""How often a module goes on after the end of its process."""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--raw", type=Path, help="keep outcomes here; its modules are not run")
    parser.add_argument("--write", action="store_true", help="only write, from --raw's outcomes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a module")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--suite", type=Path, help="the tests of numba-cuda-mlir")
    parser.add_argument("modules", nargs="*", help="such as cudapy.test_sm; all without one")
    given = parser.parse_args()
    suite = Suite.of(given.suite)
    found = _kept(given.raw)
    ran = {each.module for each in found}

    def add(name: str) -> None:
        made = run(suite, libraries(), name, given.device, given.limit)
        counts = Counter(each.kind for each in made)
        print(name, ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())), flush=True)
        found.extend(made)
        if given.raw:
            with given.raw.open("a") as out:
                out.writelines(json.dumps(astuple(each)) + "\n" for each in made)

    names = [] if given.write else given.modules or suite.modules()
    wanted = [each for each in names if each not in ran]
    with ThreadPoolExecutor(given.jobs) as threads:
        list(threads.map(add, wanted))
    if given.out:
        absent = sorted(set(suite.modules()) - {each.module for each in found})
        given.out.write_text(text(found, suite.interpreter, suite.root, given.device, absent))
    counts = Counter(each.kind for each in found)
    print("all:", ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))


def _kept(raw: Path | None) -> list[Outcome]:
    if raw is None or not raw.exists():
        return []
    return [Outcome(*json.loads(each)) for each in raw.read_text().splitlines()]


@dataclass(frozen=True, slots=True)
class Suite:
    """The tests of a package.

    Attributes:
        interpreter: of the environment that has the package.
        root: the folder of tests; None for numba-cuda, which has them in its package.
    """

    interpreter: Path
    root: Path | None

    @classmethod
    def of(cls, root: Path | None) -> Suite:
        """The tests of numba-cuda-mlir in a folder, or those of numba-cuda."""
        return cls(python(MLIR if root else NUMBA), root.absolute() if root else None)

    def modules(self) -> list[str]:
        """The modules, such as ``cudapy.test_sm``."""
        if self.root is not None:
            files = (each.relative_to(self.root) for each in sorted(self.root.rglob("test_*.py")))
            return [_dotted(each) for each in files if _APART.isdisjoint(each.parts)]
        told = "import numba_cuda; print(numba_cuda.__path__[0])"
        words = [self.interpreter, "-c", told]
        found = subprocess.run(words, capture_output=True, text=True, check=True)
        root = Path(found.stdout.strip()) / "numba" / "cuda" / "tests"
        return [
            f"{folder}.{each.stem}"
            for folder in FOLDERS
            for each in sorted(root.glob(f"{folder}/test_*.py"))
        ]

    def words(self, name: str) -> list[str]:
        """The words of pytest for a module."""
        if self.root is None:
            return ["--import-mode=importlib", "--pyargs", f"numba.cuda.tests.{name}"]
        path = self.root / f"{name.replace('.', '/')}.py"
        # Some modules use what others import.
        return ["-o", "addopts=", "-p", "numba_cuda_mlir.cuda", str(path)]


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)


def run(suite: Suite, folder: Path, name: str, device: str, limit: int) -> list[Outcome]:
    """What comes of a module's tests."""
    made: dict[str, Outcome] = {}
    for _ in range(_MOST_ENDS):
        lines, why = _run_once(suite, folder, name, device, limit, list(made))
        began = ""
        for kind, test, reason in lines:
            if kind == "starts":
                began = test
                continue
            began = ""
            if made.get(test) is None or made[test].kind == "passed":
                made[test] = Outcome(name, test, kind, reason)
        if not why:
            break
        test = began or f"{name} as a whole"
        made[test] = Outcome(name, test, "ended", why)
        if not began:
            break
    return list(made.values())


def _run_once(
    suite: Suite, folder: Path, name: str, device: str, limit: int, done: Sequence[str]
) -> tuple[list[tuple[str, str, str]], str]:
    """The lines of a process, and why it ended before its tests did."""
    with TemporaryDirectory() as room:
        out = Path(room) / "outcomes"
        out.touch()
        words = ["-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider"]
        words += suite.words(name)
        words += [word for each in done for word in ("--deselect", each)]
        settings = {"OUTCOMES": str(out), "PYTHONPATH": str(HERE), "GRIDLANE_DEVICE": device}
        settings["PYTHONDONTWRITEBYTECODE"] = "1"
        process = subprocess.Popen(
            [suite.interpreter, *words],
            env=surroundings(folder) | settings,
            cwd=suite.root or room,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(limit)
            why = "" if process.returncode >= 0 else signal.Signals(-process.returncode).name
        except subprocess.TimeoutExpired:
            why = f"no end in {limit} s"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # with what its tests started
            except ProcessLookupError:
                pass
            process.wait()
        lines = [tuple(json.loads(each)) for each in out.read_text().splitlines()]
    return lines, why


if __name__ == "__main__":
    main()
