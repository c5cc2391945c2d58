"""Every block of code of the pages runs as it is printed, or a mark names what it needs.

``pages.py`` describes the marks. Programs run on the interpreter, commands in a folder with the
files of ``stand_ins``, which the pages name as the reader's own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import typer
from _pytest.mark import ParameterSet
from tests import programs
from tests.devices import DEVICES
from tests.site import test_readme
from tests.site.pages import CAPABILITIES, PAGES, ROOT, SHOWN, Block, blocks, parts, whole_lines

from gridlane.cli.app import app

COMMAND_LINE = typer.main.get_group(app)
STAND_INS = ROOT / "tests" / "site" / "stand_ins"
ALIKE = ("my_program", "script", "file", "kernels")
"""The reader's programs, each of them ``program.py``."""
# The interpreter has everything; the CPU device refuses some of it.
RUN_ON = ["interp", *(device for device in DEVICES if device == "cuda")]
ELSEWHERE = {
    "tutorial.md": "tests/site/test_tutorial.py",
    "language.md": "tests/site/test_language.py",
}
"""Pages that a test of their own follows."""
DRAWN = {"performance.md"}
"""Pages whose text is figures that a script draws."""
COMMANDS_ELSEWHERE = {
    "gridlane doctor": "tests/cli/test_commands.py",
    "gridlane devices": "docs/tutorial.md",  # which test_tutorial.py follows
    "make test": ".ci/run",
    **dict.fromkeys(test_readme.INSTALL, "tests/site/test_readme.py"),
}
"""Commands that another test runs exactly."""
WITHOUT = {
    "PyTorch and CuPy": 1,
    "a GPU": 8,
    "a Mac": 2,
    "a browser": 3,
    "a second GPU": 2,
    "a toolkit": 1,
    "another library": 1,
    "dask": 1,
    "installed libraries": 1,
    "jax": 2,
    "minutes": 12,
    "network": 6,
    "somebody's checkout": 4,
    "ten minutes": 3,
    "torch": 1,
}
"""How many programs and commands need each capability, so that a new mark is seen."""


def of(*languages: str) -> list[Block]:
    return [
        block
        for page in PAGES
        if page.name not in ELSEWHERE
        for block in blocks(page)
        if block.language in languages
    ]


def named(chosen: list[Block]) -> list[ParameterSet]:
    return [pytest.param(block, id=block.place) for block in chosen]


def environment(**settings: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings}


def program_of(block: Block) -> str:
    """The text of a program, after that of the programs that it continues."""
    before = blocks(block.page)
    text = block.text
    while block.continues:
        block = [each for each in before if each.language == "python" and each.line < block.line][
            -1
        ]
        text = f"{block.text}\n{text}"
    return text


def output_of(block: Block) -> str | None:
    """The text behind a program or its command, if it is what that prints."""
    following = [each for each in blocks(block.page) if each.line > block.line]
    if following and following[0].language == "text" and not following[0].shows:
        return following[0].text
    return None


def named_like(block: Block) -> str:
    """The file of a program: its title, or that of the program that it continues."""
    chain = [each for each in blocks(block.page) if each.line <= block.line and each.title]
    return chain[-1].title if chain and (block.title or block.continues) else "program.py"


CONTINUED = {
    before
    for page in PAGES
    for before, block in pairwise(each for each in blocks(page) if each.language == "python")
    if block.continues
}
"""Programs that run as the beginning of the next one."""


@pytest.mark.parametrize("device", RUN_ON)
@pytest.mark.parametrize("block", named([each for each in of("python") if each not in CONTINUED]))
def test_program(block: Block, device: str, tmp_path: Path) -> None:
    text = program_of(block)
    program = tmp_path / named_like(block)
    program.write_text(text)
    needs = block.needs
    if needs and needs.startswith("the device "):
        device, needs = needs.removeprefix("the device "), None
    if needs and not CAPABILITIES[needs]():
        compile(text, program, "exec")
        return
    done = programs.run(
        ["-m", "gridlane", "run", "--device", device, program.name], tmp_path, environment()
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
    for printed in re.findall(r"^ *print\(.*\)  # (.*)$", block.text, re.M):
        assert whole_lines(printed, done.stdout), f"{printed!r} is not in {done.stdout!r}"
    if (output := output_of(block)) is not None:
        assert whole_lines(output, done.stdout + done.stderr), done.stdout + done.stderr


@pytest.mark.parametrize("block", named(of("py")))
def test_quoted(block: Block) -> None:
    """Code that a page quotes stands so in a file that the page names."""
    names = set(re.findall(r"`((?:src|tests)/[^`]*\.py)`", block.page.read_text()))
    assert any(block.text in (ROOT / name).read_text() for name in names if (ROOT / name).exists())


def plain(command: str) -> str:
    """A command without its comment, with one name for the reader's programs, which are alike."""
    return re.sub(rf"\b({'|'.join(ALIKE)})\.py", "program.py", command.partition("  #")[0].rstrip())


FIRST: dict[str, Path] = {}
"""The page that runs a command, where several have it."""
for _block in of("sh"):
    for _command, _ in _block.commands():
        FIRST.setdefault(plain(_command), _block.page)


def run(command: str, folder: Path) -> CompletedProcess[str]:
    """Run a line of a shell."""
    done = CompletedProcess("", 0, "", "")
    for settings, words in parts(command):
        if words[0] == "gridlane":
            done = programs.run(["-m", *words], folder, environment(**settings))
        elif words[0] == "pytest":
            done = programs.run(["-m", *words], folder, environment(**settings))
        elif words[0] == "python":
            done = programs.run(words[1:], folder, environment(**settings))
        else:
            done = subprocess.run(
                words, cwd=folder, env=environment(**settings), text=True, capture_output=True
            )
        if done.returncode:
            break
    return done


def device_of(command: str) -> str | None:
    match = re.search(r"--device (\w+)", command)
    return match[1] if match else None


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``app.cu`` of the stand-ins as a program."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copy(STAND_INS / "app.cu", folder)
    done = run("gridlane cc app.cu -o app", folder)
    assert done.returncode == 0, done.stderr
    return folder / "app"


@pytest.mark.parametrize(
    "page", dict.fromkeys(block.page for block in of("sh")), ids=lambda page: page.name
)
def test_commands(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    shutil.copytree(STAND_INS, tmp_path, dirs_exist_ok=True)
    (tmp_path / "checks.py").rename(tmp_path / "test_checks.py")
    for name in (*ALIKE, "package/module"):
        shutil.copy(STAND_INS / "program.py", tmp_path / f"{name}.py")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in re.findall(r"gridlane exec.* \./(\w+)", page.read_text()):
        shutil.copy(request.getfixturevalue("built"), tmp_path / name)
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        if block.language != "sh":
            continue
        output = output_of(block)
        for command, needs in block.commands():
            words = plain(command)
            again = FIRST[words] != page and output is None and " -o " not in words
            if again or words in COMMANDS_ELSEWHERE or (needs and not CAPABILITIES[needs]()):
                continue
            if device_of(command) not in {None, "cpu", "interp", "metal", *DEVICES}:
                continue
            done = run(command, tmp_path)
            said = f"{command}\n{done.stdout}{done.stderr}".replace(f"{tmp_path}/", "")
            assert done.returncode == 0, said
            assert "gridlane compile" not in command or done.stderr == "", said
            assert output is None or whole_lines(output, said.partition("\n")[2]), said


@pytest.mark.parametrize("block", named(of("sh")))
def test_options(block: Block) -> None:
    """Commands that do not run here have words that the command line takes."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for command, needs in block.commands():
        for _, words in parts(command):
            if words[0] == "make":
                assert set(words[1:]) <= targets, command
            if words[0] == "gridlane" and needs:
                group = COMMAND_LINE.make_context("gridlane", words[1:2], resilient_parsing=True)
                COMMAND_LINE.commands[words[1]].make_context(words[1], words[2:], parent=group)


INLINE = re.compile(r"`gridlane (?!does )([a-z]+)([^`]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_inline_commands(page: Path) -> None:
    """Commands in sentences have options that the command line has."""
    for name, rest in INLINE.findall(page.read_text()):
        command = COMMAND_LINE.commands.get(name)
        assert command is not None, f"{page.name}: gridlane {name}"
        if name in ("cc", "bench", "actors"):
            continue
        options = {option for each in command.params for option in each.opts}
        used = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest.partition(".py")[0]))
        assert used <= options | {"--help", "-h", "-m"}, f"{page.name}: gridlane {name}{rest}"


def test_every_block_has_a_test_or_a_mark() -> None:
    for page in PAGES:
        if page.name in DRAWN or page.name in ELSEWHERE:
            continue
        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if block.language == "text":
                outputs = {output_of(each) for each in blocks(page) if each.language != "text"}
                assert block.shows in SHOWN or block.text in outputs, f"{where}: whose output?"
            elif block.language not in ("sh", "python", "py"):
                assert block.needs in CAPABILITIES, f"{where}: {block.language or 'no language'}"


def test_pages_that_other_tests_follow() -> None:
    for names in (ELSEWHERE, COMMANDS_ELSEWHERE):
        for name, test in names.items():
            word = name.rpartition(" ")[2] if name in COMMANDS_ELSEWHERE else name
            assert word in (ROOT / test).read_text() or test.endswith("test_readme.py")


def test_marks_are_counted() -> None:
    counted: Counter[str] = Counter()
    for block in of("sh"):
        counted.update(needs for _, needs in block.commands() if needs)
    programs = (block.needs for block in of("python", "html", "yaml") if block.needs)
    counted.update(needs for needs in programs if not needs.startswith("the device "))
    assert counted == WITHOUT


PAGE = """# A page

```python
print(15)  # {printed}
```

```text
{output}
```

    python -c "print('a b'); raise SystemExit({status})"

```text
{said}
```
"""
RIGHT = {"printed": "15", "output": "15", "status": "0", "said": "a b"}
WRONG = ({"printed": "5"}, {"output": "5"}, {"output": "1"}, {"said": "b"}, {"status": "3"})
WRONG += ({"said": "print('a b')"},)


@pytest.mark.parametrize("change", [{}, *WRONG], ids=str)
def test_wrong_pages_fail(
    change: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A text that is not printed, a part of a line, and a command that fails."""
    page, folder = tmp_path / "page.md", tmp_path / "run"
    page.write_text(PAGE.format(**{**RIGHT, **change}))
    folder.mkdir()
    for block in blocks(page):
        for command, _ in block.commands():
            FIRST.setdefault(plain(command), page)
    (program,) = [block for block in blocks(page) if block.language == "python"]

    def follow() -> None:
        test_program(program, "interp", folder)
        test_commands(page, folder, request)

    if change:
        with pytest.raises(AssertionError):
            follow()
    else:
        follow()
