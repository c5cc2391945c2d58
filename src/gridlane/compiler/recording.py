"""The stages of a compilation as files: GRIDLANE_DUMP=DIR writes them, GRIDLANE_OVERRIDE=DIR feeds
changed ones back.

    KERNEL-DIGEST.TARGET.NUMBER-STAGE.SUFFIX

The digest is that of the frontend's IR, the options and the target, so that a name is the same in
every process, and a file of an earlier state of the kernel replaces nothing. Both settings turn the
caches off (``core/config.py``).
"""

from __future__ import annotations

import atexit
import re
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

from gridlane.core.config import config
from gridlane.core.encoding import encode
from gridlane.core.errors import GridlaneError, ParseError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.printer import print_module
from gridlane.ir.values import Function, Module

Check = Callable[[str], None]
"""Raises a GridlaneError for a text that is no code of its language."""

_UNUSUAL = re.compile(r"[^\w.-]+", re.ASCII)
"""Not every locale has names of other characters, and names have a limit in bytes."""


class _Recording:
    """One compilation."""

    def __init__(self, module: Module, target: Target, options: KernelOptions) -> None:
        content = print_module(module).encode() + encode((options, target))
        kernel = _UNUSUAL.sub("_", module.kernel.name)[:80]
        self.prefix = f"{kernel}-{sha256(content).hexdigest()[:8]}.{target.name}"
        self.number = 0
        self.last = ""

    def passed(self, stage: str, suffix: str, text: str) -> tuple[str, Path | None]:
        """The text with which a stage continues, and the file that replaces it. A pass that changes
        nothing has a number, but no file."""
        name = f"{self.prefix}.{self.number:02}-{stage}{suffix}"
        self.number += 1
        folder, file = config().dump_folder, _replacement(name)
        if file is not None:
            text = _read(file)
        if folder is not None and text != self.last:
            _write(folder / name, text)
        self.last = text
        return text, file


class _Thread(threading.local):
    recording: _Recording | None = None


_thread = _Thread()


def active() -> bool:
    """Whether the settings request files of stages."""
    settings = config()
    return settings.dump_folder is not None or settings.override is not None


@contextmanager
def recorded(module: Module, target: Target, options: KernelOptions) -> Generator[None]:
    """Record a compilation on this thread. The module may be replaced in place by a file."""
    if not active():
        yield
        return
    before, _thread.recording = _thread.recording, _Recording(module, target, options)
    try:
        record_ir("frontend", module)
        yield
    finally:
        _thread.recording = before


def record_ir(stage: str, module: Module) -> None:
    """Record a module after a stage; its content may be replaced by a file.

    Raises:
        ParseError: the file is no valid IR.
    """
    recording = _thread.recording
    if recording is None:
        return
    text, file = recording.passed(stage, ".ir", print_module(module, locations=True))
    if file is not None:
        from gridlane.ir.reading import read_module

        try:
            read = read_module(text, file.name)
            _check_launch(module.kernel, read.kernel)
        except GridlaneError as error:
            raise _refused(file, error) from None
        _replace(module, read)


def record_text(stage: str, suffix: str, text: str, check: Check, shown: str = "asm") -> str:
    """Record the code of a target; the text to go on with.

    Args:
        shown: the word of GRIDLANE_DUMP that prints it.

    Raises:
        ParseError: the file that replaces it is no such code.
    """
    if shown in config().dump:
        print(text, file=sys.stderr)
    recording = _thread.recording
    if recording is None:
        return text
    replaced, file = recording.passed(stage, suffix, text)
    if file is None:
        return text
    try:
        check(replaced)
    except GridlaneError as error:
        raise _refused(file, error) from None
    return replaced


def names_entry(entry: str) -> Check:
    """A check of text that it contains the kernel."""

    def check(text: str) -> None:
        if re.search(rf"(?<!\w){re.escape(entry)}(?!\w)", text) is None:
            raise GridlaneError(f"there is no {entry} in it, the name of the kernel")

    return check


def _check_launch(before: Function, after: Function) -> None:
    """Require the name and the parameters with which launches are packed."""
    if after.name != before.name:
        raise GridlaneError(f"the kernel is @{after.name}, which launches know as @{before.name}")
    if _parameters(after) != _parameters(before):
        raise GridlaneError(
            f"@{after.name} has the parameters {_parameters(after)}, and launches pass "
            f"{_parameters(before)}: types, arguments and paths stay as they are"
        )


def _parameters(function: Function) -> str:
    each = ((str(p.value.type), p.argument, p.path) for p in function.params)
    return ", ".join(f"{type_} of {argument}{path or ''}" for type_, argument, path in each)


def _replace(module: Module, read: Module) -> None:
    """Replace the content of a module by that of another, which was parsed from text. Facts that
    the text lacks are unchanged."""
    for name, function in read.functions.items():
        before = module.functions.get(name)
        if before is not None:
            function.is_library, function.is_declared = before.is_library, before.is_declared
    module.functions, module.globals = read.functions, read.globals
    module.errors = read.errors


def _refused(file: Path, error: GridlaneError) -> ParseError:
    return ParseError(f"GRIDLANE_OVERRIDE: {file}: {error}")


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode()
    except OSError as error:
        raise ParseError(f"GRIDLANE_OVERRIDE: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParseError(f"GRIDLANE_OVERRIDE: {file}: no text: {error}") from None


def _write(file: Path, text: str) -> None:
    """Write a stage.

    Raises:
        GridlaneError: the folder cannot be made or written to.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    except OSError as error:
        message = f"GRIDLANE_DUMP: {file} cannot be written: {error.strerror}"
        raise GridlaneError(f"{message}; it names a folder, which is made if need be") from None


_used: set[Path] = set()


def _replacement(name: str) -> Path | None:
    """The file that replaces a stage; printed once."""
    folder = config().override
    if folder is None:
        return None
    _watch(folder)
    file = folder / name
    if not file.is_file():
        return None
    if file not in _used:
        _used.add(file)
        print(f"gridlane: GRIDLANE_OVERRIDE: {file} replaces this stage", file=sys.stderr)
    return file


@cache
def _watch(folder: Path) -> None:
    """Report at the end of the process which files have replaced nothing."""

    def report() -> None:
        files = folder.iterdir() if folder.is_dir() else ()
        unused = sorted(file.name for file in files if file not in _used)
        if unused:
            message = f"{folder} has files that replaced nothing here: {', '.join(unused)}"
            print(f"gridlane: GRIDLANE_OVERRIDE: {message}", file=sys.stderr)

    atexit.register(report)
