"""Archives of machine code, which Metal reads from and writes to files.

The stand-in's archives are zip files: the shared libraries that g++ made, each once, and an index
of their functions. An archive of another g++ or another stand-in is refused, as Metal refuses those
of other GPUs and systems.
"""

# pyright: reportPrivateUsage=false
# The objects hide from callers what Metal hides, and not from each other.

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.emulation.metal import machine
from gridlane.emulation.metal.bridge import Object, require
from gridlane.emulation.metal.foundation import NSURL, NSError
from gridlane.emulation.metal.machine import FailedCompilationError, Program
from gridlane.emulation.metal.options import MTLComputePipelineDescriptor, MTLFunction

DOMAIN = "MTLBinaryArchiveDomain"
INVALID_FILE, COMPILATION_FAILURE = 1, 3  # MTLBinaryArchiveError
_INDEX = "index.json"

Code = tuple[Path, int]
"""A shared library, and the number of the text in it."""


class MTLBinaryArchive(Object):
    """Machine code of functions."""

    def __init__(self, codes: dict[str, Code]) -> None:
        super().__init__()
        self._codes = codes

    def addComputePipelineFunctionsWithDescriptor_error_(
        self, descriptor: MTLComputePipelineDescriptor, error: None
    ) -> tuple[bool, NSError | None]:
        function = descriptor._function
        require(function is not None, "adding a description without a function")
        assert function is not None
        try:
            program = Program([function._text])
        except FailedCompilationError as failed:
            return False, NSError(DOMAIN, COMPILATION_FAILURE, str(failed))
        self._codes[_key(function)] = program.path, program.first
        return True, None

    def serializeToURL_error_(self, url: NSURL, error: None) -> tuple[bool, NSError | None]:
        if not self._codes:
            return False, NSError(DOMAIN, INVALID_FILE, "there is nothing to write")
        libraries = {
            path: number for number, path in enumerate({c[0]: 0 for c in self._codes.values()})
        }
        functions = {key: [libraries[path], n] for key, (path, n) in self._codes.items()}
        try:
            with zipfile.ZipFile(url._path, "w") as file:
                for path, number in libraries.items():
                    file.write(path, _member(number))
                index = {"identity": _identity(), "functions": functions}
                file.writestr(_INDEX, json.dumps(index))
        except OSError as failed:
            return False, NSError(DOMAIN, INVALID_FILE, str(failed))
        return True, None

    def _program(self, function: MTLFunction) -> Program | None:
        """The machine code of a function, if the archive has it."""
        code = self._codes.get(_key(function))
        return None if code is None else Program.of_code(function._text, *code)


def opened(url: NSURL | None) -> tuple[MTLBinaryArchive | None, NSError | None]:
    """Open a file's archive, or create an empty one."""
    if url is None:
        return MTLBinaryArchive({}), None
    try:
        with zipfile.ZipFile(url._path) as file:
            index = json.loads(file.read(_INDEX))
            if index["identity"] != _identity():
                raise ValueError("the archive is of another compiler")
            folder = Path(tempfile.mkdtemp(dir=machine.folder()))
            file.extractall(folder)  # which checks each file's sum
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as failed:
        return None, NSError(DOMAIN, INVALID_FILE, str(failed))
    functions = index["functions"].items()
    return MTLBinaryArchive(
        {key: (folder / _member(code), n) for key, (code, n) in functions}
    ), None


def _key(function: MTLFunction) -> str:
    return f"{sha256(function._text.encode()).hexdigest()} {function.name()}"


def _member(number: int) -> str:
    return f"{number}.so"


@cache
def _identity() -> str:
    """The key of machine code besides the text."""
    version = subprocess.run([machine.COMPILER, "--version"], capture_output=True).stdout
    facts = [version, repr(machine.FLAGS).encode()]
    facts += [path.read_bytes() for path in sorted(machine.HERE.glob("*")) if path.is_file()]
    return sha256(b"\0".join(facts)).hexdigest()
