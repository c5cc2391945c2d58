"""``scripts/testing/counts.py``: sizes and circles, on files made here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.testing.counts import counts, text_of
from scripts.testing.graph import ROOT

FUNCTION = '''
def outer(a):
    """A docstring.

    Its last line."""
    # A comment.
    b = (  # which counts, as it has code

        a
    )

    @decorated(
        1
    )
    def inner():
        """Inside."""
{lines}
    return inner
'''


def made(folder: Path, **files: str) -> Path:
    source = folder / "src" / "gridlane"
    for name, text in files.items():
        path = source / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def lines_of(count: int, indent: str = "        ") -> str:
    return "\n".join(f"{indent}x{n} = {n}" for n in range(count))


def test_lines_of_rooms(tmp_path):
    root = made(tmp_path, a__one_dot_py="x = 1\n\n# y\n", a__two_dot_c="int x;\n", top_dot_py="x\n")
    found = counts(root)
    assert found.lines == {".py": 4, ".c": 1} and found.rooms == {"a": 4, "top.py": 1}


def test_files_that_builds_write_are_apart(tmp_path):
    root = made(tmp_path, actors___engine_dot_pyi="x: int\ny: int\n", actors__x_dot_pyi="x: int\n")
    found = counts(root)
    assert (found.lines, found.written) == ({".pyi": 1}, 2)
    assert "2 lines of files that a build writes" in text_of(found)


@pytest.mark.parametrize(("count", "number"), [(39, 0), (40, 1)])
def test_inner_functions_are_their_own(tmp_path, count, number):
    text = FUNCTION.format(lines=lines_of(count))
    found = counts(made(tmp_path, a_dot_py=text)).functions
    assert [(each.lines, each.name) for each in found] == [(41, "inner")] * number
    if number:
        assert found[0].whole == 42 and found[0].file == "a.py"


@pytest.mark.parametrize(("count", "number"), [(35, 0), (36, 1)])
def test_functions_without_inner_ones(tmp_path, count, number):
    """def, the expression of three lines with code, return, and those put in front of it."""
    text = FUNCTION.format(lines=lines_of(60)).replace(
        "    return", lines_of(count, "    ") + "\n    return"
    )
    found = [
        each for each in counts(made(tmp_path, a_dot_py=text)).functions if each.name == "outer"
    ]
    assert [each.lines for each in found] == [count + 5] * number


def test_classes_have_their_methods(tmp_path):
    method = "    def f{}(self):\n" + lines_of(24) + "\n"
    text = "class A:\n" + "".join(method.format(n) for n in range(10))
    assert 1 + 10 * 25 == 251
    found = counts(made(tmp_path, a_dot_py=text))
    assert [(each.lines, each.name) for each in found.classes] == [(251, "A")]
    assert not found.functions
    assert not counts(made(tmp_path, a_dot_py=text.rpartition("\n        x")[0])).classes


def test_circles(tmp_path):
    root = made(
        tmp_path,
        a____init___dot_py="",
        a__one_dot_py="def f():\n    from gridlane.a import two\n",
        a__two_dot_py="from . import three\n",
        a__three_dot_py="import gridlane.a.one\n",
        a__four_dot_py="from gridlane.a.one import f\nNAME = 'gridlane.a.five.g'\n",
        a__five_dot_py="from gridlane.a.four import NAME\n",
        a__x_dot_h='#include "y.h"\n',
        a__y_dot_h='#  include "x.h"\n#include <stdio.h>\n',
        b__z_dot_c='#include "x.h"\n',
    )
    found, place = counts(root), "src/gridlane/a/"
    assert found.imports == [[f"{place}{n}.py" for n in ("one", "three", "two")]]
    assert found.with_strings == [
        *found.imports, [f"{place}five.py", f"{place}four.py"],
    ]  # fmt: skip
    assert found.includes == [[f"{place}x.h", f"{place}y.h"]]
    assert "1 circles of imports: 3 files" in text_of(found)


def test_the_command(tmp_path):
    root = made(tmp_path, a_dot_py="x = 1\n")
    command = [sys.executable, "-m", "scripts.testing.counts", str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 lines: 1 of .py")
    done = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, check=True)
    assert json.loads(done.stdout)["rooms"] == {"a.py": 1}


def test_no_circle_of_imports_here():
    assert counts(ROOT).imports == []
