"""The reference of the site has every public name, with a text."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gridlane import actors, cuda
from gridlane.core.vector_names import NAMES

AS_NUMBA = "Compilation", "numba"
ROOT = Path(__file__).parents[2]


def loaded(name: str) -> ModuleType:
    path = ROOT / "scripts" / "site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"site_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return loaded("reference").pages()


def test_every_name_is_there(pages: dict[str, str]) -> None:
    text = "\n".join(pages.values())
    named = set(re.findall(r"^#+ (.*)$", text, re.M)) | set(re.findall(r"`(\w+)`", text))
    wanted = {f"cuda.{name}" for name in cuda.__all__} | {f"actors.{n}" for n in actors.__all__}
    missing = {name for name in wanted if name not in named and name.split(".")[1] not in named}
    assert missing - {f"cuda.{name}" for name in NAMES} == set()


def test_every_entry_has_a_text(pages: dict[str, str]) -> None:
    for page, text in pages.items():
        for part in re.split(r"^#{2,} ", text, flags=re.M)[1:]:
            title, _, body = part.partition("\n")
            told = re.sub(r"```python.*?```", "", body, flags=re.S).strip()
            groups = re.search(rf"^#+ {re.escape(title)}\n\n#", text, re.M)
            assert told or groups, f"{page}: {title} has no docstring"


def test_no_address_of_an_object(pages: dict[str, str]) -> None:
    assert not any(" at 0x" in text for text in pages.values())


def test_every_name_of_kernels_has_a_group(pages: dict[str, str]) -> None:
    assert "## More" not in pages["cuda-kernels"]
    assert "def " not in pages["cuda-kernels"].replace("\ndef ", "")  # signatures, not code
    assert "shfl_sync(mask: integer, value: T, src_lane: integer) -> T" in pages["cuda-kernels"]


KERNELS, HOST = loaded("kernel_names"), loaded("host_names")


@pytest.mark.parametrize("group", KERNELS.GROUPS)
def test_the_example_of_a_group(group: str, tmp_path: Path) -> None:
    text = KERNELS.EXAMPLES[group]
    assert any(re.search(rf"cuda\.{name}\b", text) for name in KERNELS.GROUPS[group])
    run(text, tmp_path)


def test_every_group_of_the_host_has_an_example(pages: dict[str, str]) -> None:
    page = pages["cuda-host"]
    assert "## More" not in page
    groups = set(re.findall(r"^## (.*)$", page, re.M)) - {"Types"}
    assert groups == set(HOST.EXAMPLES) == set(HOST.TEXTS)
    assert all(text.strip() in page for text in HOST.EXAMPLES.values())


@pytest.mark.parametrize("group", [name for name in HOST.EXAMPLES if name not in AS_NUMBA])
def test_the_example_of_a_group_of_the_host(group: str, tmp_path: Path) -> None:
    run(HOST.EXAMPLES[group], tmp_path)


@pytest.mark.parametrize("group", AS_NUMBA)
def test_the_example_of_a_group_that_imports_numba(group: str, tmp_path: Path) -> None:
    head = "import numpy as np\nfrom gridlane import cuda\ncuda.install_as_numba()\n"
    file = tmp_path / "example.py"
    file.write_text(head + HOST.EXAMPLES[group])
    subprocess.run([sys.executable, file], check=True)  # numba stays replaced in a process


def run(text: str, folder: Path) -> None:
    """Run an example; kernels are compiled from their file."""
    file = folder / "example.py"
    file.write_text(text)
    exec(compile(text, file, "exec"), {"np": np, "cuda": cuda, "__name__": "example"})
