"""``gridlane doctor PROGRAM``: which libcuda and which runtime a CUDA program gets, the images that
it holds, and what to do so that it runs on gridlane."""

from __future__ import annotations

import os
import platform
import re
import stat
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from gridlane.abi import fatbin
from gridlane.abi.fatbin.choice import ADVICE
from gridlane.abi.library.elf import Elf, Runtime, is_ours, runtime_of
from gridlane.abi.library.program import LINK_AGAIN, SECTIONS, Images, images_in
from gridlane.abi.library.search import Cache, Found, Search, cached
from gridlane.cli.failure import fail
from gridlane.cli.wording import counted
from gridlane.core.config import of_others
from gridlane.core.errors import ArgumentError
from gridlane.core.extras import install

DRIVER = "libcuda.so.1"
_CUDA = re.compile(r"lib(cuda|cudart|nvrtc)\.so(\.\d+)?")
_VERSION = re.compile(r"\.so\.(\d+\.\d[\d.]*)$")
_MACHINES = {"x86_64": "x86-64", "aarch64": "AArch64"}
RUNTIMES: dict[Runtime, str] = {
    "none": "none",
    "shared": "shared: a library beside it",
    "static": "static: NVIDIA's is inside, with its symbols",
    "stripped": "stripped: NVIDIA's is inside, without symbols to find it by",
    "gridlane": "gridlane's own is inside",
}
_UNPACKERS = {"zstd": "zstandard", "lz4": "lz4"}


def show(program: str) -> int:
    """Print what there is to say of a program; return the exit status, 0 if gridlane runs it."""
    path = Path(program)
    try:
        with path.open("rb") if path.is_file() else fail(f"{program} is no file") as file:
            start = file.read(256)
        if start[:4] != b"\x7fELF":
            return _no_elf(program, start)
        elf = Elf(path)
        report = Report(
            elf, Search(of_others(["LD_LIBRARY_PATH"])["LD_LIBRARY_PATH"] or "", cached())
        )
        for title, text in report.facts():
            print(f"{title:<17} {text}")
        advice, runs = report.advice()
    except (ArgumentError, OSError) as error:
        fail(error, 1)
    print("\nWhat to do:")
    for line in advice:
        print(f"  {line}")
    return 0 if runs else 1


def _no_elf(program: str, start: bytes) -> int:
    """Describe a file that the loader of libraries does not load."""
    line = start.partition(b"\n")[0].decode(errors="replace")
    if start[:2] != b"#!":
        print(f"{program} is no ELF file and no script: nothing that Linux runs")
        return 1
    print(f"{program} is a script of {line[2:].strip()}\n\nWhat to do:")
    if "python" in line:
        print(f"  gridlane run {program}: a program over numba.cuda or cuda.bindings")
    print(f"  gridlane exec {program}: what it starts finds gridlane's libraries")
    return 0


class Report:
    """What there is to say of a program.

    Args:
        search: the rules of the loader here.
    """

    def __init__(self, elf: Elf, search: Search) -> None:
        self.elf, self.search = elf, search
        self.runtime: Runtime = runtime_of(elf)
        self.images = images_in(elf)
        self.libraries = search.libraries(elf)
        self.own = [each for each in self.libraries if _holds_a_runtime(each)]
        """The libraries beside it that have a runtime of CUDA inside."""
        self.found = [each for each in self.libraries if _CUDA.fullmatch(each.name)]
        opener = self._opener()
        if opener is not None:
            self.found.append(search.find(DRIVER, elf, *opener))
        self.opens = opener is not None

    def _opener(self) -> tuple[Elf, Found | None] | None:
        """The file that opens the driver by its name: the driver is in no list of libraries
        then."""
        if any(each.name == DRIVER for each in self.found):
            return None
        files = [(self.elf, None), *((each.elf, each) for each in self.libraries)]
        for elf, library in files:
            if elf is not None and DRIVER.encode() + b"\0" in elf.data and not is_ours(elf.data):
                return elf, library
        return None

    # --- facts ---

    def facts(self) -> Iterator[tuple[str, str]]:
        """What is so."""
        yield str(self.elf.path), f"{_kind(self.elf)} for {self.elf.machine}"
        yield "runtime", RUNTIMES[self.runtime]
        for each in self.own:
            assert each.elf is not None
            yield "", f"{each.path}: {RUNTIMES[runtime_of(each.elf)]}"
        for each in self.found:
            yield each.name, f"{_place(each)}{_asked(each, self.opens)}"
        if not self.found:
            yield DRIVER, "nothing here asks for it; a library that is opened later may"
        yield "driver", _driver(self.search.cache)
        if os.environ.get("LD_PRELOAD"):
            yield "LD_PRELOAD", f"{os.environ['LD_PRELOAD']}: loaded before all of these"
        yield from _image_facts(self.images)

    # --- advice ---

    def advice(self) -> tuple[list[str], bool]:
        """What to do, and whether the program runs on gridlane then."""
        blocked = list(self._blocked())
        if blocked:
            return blocked, False
        lines: list[str] = []
        uses = self.runtime != "none" or self.found or self.own or self.images
        if self.runtime == "gridlane":
            lines.append(f"nothing: {self._program()} runs on gridlane as it is")
        elif uses:
            lines.append(f"gridlane exec {self._program()}{self._why_exec()}")
        else:
            lines.append(
                f"nothing: no use of CUDA is in it; gridlane exec {self._program()} gives "
                "gridlane's libraries to what it opens later"
            )
        packings = {each.packing for each in self._ptx() if each.packing}
        for packing in sorted(packings):
            if find_spec(_UNPACKERS[packing]) is None:
                lines.append(f"{install('fatbin')}: its PTX is compressed by {packing}")
        return lines, True

    def _program(self) -> str:
        is_program = self.elf.section(".interp") is not None
        return str(self.elf.path) if is_program else "PROGRAM, one that loads it"

    def _why_exec(self) -> str:
        if self.runtime == "static" or any(
            runtime_of(each.elf) == "static" for each in self.own if each.elf
        ):
            return ": the functions of NVIDIA's runtime inside jump to gridlane's"
        others = self._foreign()
        if others:
            return f": gridlane's libraries come before {others[0].path}, for that process alone"
        return ": it finds gridlane's libraries there"

    def _blocked(self) -> Iterator[str]:
        """What keeps the program from running on gridlane."""
        here = platform.machine()
        if _MACHINES.get(here, here) != self.elf.machine:
            yield f"run it on a machine that is {self.elf.machine}: this one is {here}"
        if not self.elf.sections:
            yield "keep its section headers: without them nothing in it can be found"
        elif not self.elf.is_dynamic:
            yield "link it dynamically: the loader gives a static program no library"
        elif self.elf.path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
            yield "take its set-uid bit away: the loader ignores LD_LIBRARY_PATH for such files"
        if self.runtime == "stripped" and not self.elf.soname.startswith("libcudart.so"):
            yield LINK_AGAIN
        for each in self.own:
            if each.elf is not None and runtime_of(each.elf) == "stripped":
                yield f"{each.path}: {LINK_AGAIN}"
        for each in self._foreign():
            if each.why.startswith("the RPATH"):
                yield (
                    f"link it again with -Wl,--enable-new-dtags, or without -rpath: {each.why} "
                    f"finds {each.path} before LD_LIBRARY_PATH is looked at"
                )
        held = [image for each in self.images for image in each.images]
        if held and not self._ptx():
            yield f"{ADVICE}: it holds {_listed(held)} alone"
        for each in self.images:
            if each.damage:
                yield f"build it again: {each.section} is damaged"

    def _foreign(self) -> list[Found]:
        """The libraries of CUDA that it finds here, and that are not gridlane's."""
        present = (each for each in self.found if each.elf is not None)
        return [each for each in present if each.elf and not is_ours(each.elf.data)]

    def _ptx(self) -> list[fatbin.Image]:
        return [image for each in self.images for image in each.images if image.is_ptx]


# --- facts in words ---


def _kind(elf: Elf) -> str:
    if not elf.sections:
        return "a file without section headers"
    if elf.soname or (elf.is_dynamic and elf.section(".interp") is None):
        return "a library"
    return "a program" if elf.is_dynamic else "a program without libraries (linked statically)"


def _holds_a_runtime(library: Found) -> bool:
    if library.elf is None or _CUDA.fullmatch(library.name):
        return False
    return runtime_of(library.elf) in ("static", "stripped")


def _place(library: Found) -> str:
    if library.path is None:
        return f"none: {library.why}"
    return f"{library.path} ({_owner(library)}), by {library.why}"


def _owner(library: Found) -> str:
    assert library.path is not None
    if library.elf is not None and is_ours(library.elf.data):
        return "gridlane's"
    version = _VERSION.search(library.path.resolve().name)
    return f"not gridlane's; version {version[1]}" if version else "not gridlane's"


def _asked(library: Found, opens: bool) -> str:
    """The file that requires a library, if not the program by its list."""
    if library.name == DRIVER and opens:
        who = library.by.path if library.by else "it"
        return f"; {who} opens it by name"
    return f"; {library.by.path} needs it" if library.by else ""


def _driver(cache: Cache) -> str:
    real = [path for path in cache.get(DRIVER, ()) if not _is_ours(path)]
    if not real:
        return "no driver of NVIDIA's is in the loader's cache"
    version = _VERSION.search(real[0].resolve().name)
    return f"NVIDIA's at {real[0]}" + (f", version {version[1]}" if version else "")


def _is_ours(path: Path) -> bool:
    try:
        return is_ours(path.read_bytes())
    except OSError:
        return False


def _image_facts(held: Sequence[Images]) -> Iterator[tuple[str, str]]:
    if not held:
        yield "images", "none: no kernels of nvcc's are in it"
    for each in held:
        about = f" ({SECTIONS[each.section]})" if SECTIONS[each.section] else ""
        if each.images:
            yield "images", f"{each.section}{about}: {_listed(each.images)}"
        elif not each.damage:
            yield "images", f"{each.section}{about}: none"
        if each.damage:
            yield "images", f"{each.section}{about} is damaged {each.damage}"


def _listed(images: Sequence[fatbin.Image]) -> str:
    """Images by kind, architecture and compression."""
    kinds = {fatbin.PTX: "PTX for", fatbin.MACHINE: "SASS for", fatbin.LINK: "code for the link of"}
    count: dict[str, int] = {}
    for each in sorted(images, key=lambda each: (each.kind, each.arch)):
        packed = f" compressed by {each.packing}" if each.packing else ""
        text = f"{kinds.get(each.kind, 'code for')} {each}{packed}"
        count[text] = count.get(text, 0) + 1
    return ", ".join(
        text if number == 1 else f"{text} ({counted(number, 'image')})"
        for text, number in count.items()
    )
