"""The linking of PTX. What a link makes is PTX as well, an image to load a module from."""

from __future__ import annotations

from gridlane.abi import images, raw
from gridlane.abi.calls import jit
from gridlane.abi.calls.modules import file
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NO_BINARY_FOR_GPU, NOT_SUPPORTED, fail
from gridlane.abi.fatbin.choice import ADVICE
from gridlane.abi.host_objects import Library, units_of_object
from gridlane.abi.state.links import links
from gridlane.core.cuda_table import enums

_KINDS = {
    number: name.removeprefix("CU_JIT_INPUT_")
    for name, number in enums()["CUjitInputType"].values.items()
    if name.startswith("CU_JIT_INPUT_")
}
_LARGEST = 1 << 31


@implements("cuLinkAddData_v2", "cuLinkAddData")
def add_data(
    handle: int,
    kind: int,
    data: int,
    size: int,
    name: bytes | None,
    count: int,
    options: int,
    values: int,
) -> None:
    """Add a unit from memory."""
    if not data or not 0 < size <= _LARGEST:
        fail(INVALID_VALUE, f"a unit of {size} bytes at {data:#x}")
    _check(kind)
    jit.Options(count, options, values)
    _add(handle, kind, raw.copied(data, size), (name or b"").decode(errors="replace"))


@implements("cuLinkAddFile_v2", "cuLinkAddFile")
def add_file(
    handle: int, kind: int, path: bytes | None, count: int, options: int, values: int
) -> None:
    """Add a unit from a file."""
    _check(kind)
    jit.Options(count, options, values)
    _add(handle, kind, file(path), (path or b"").decode(errors="replace"))


def _check(kind: int) -> None:
    name = _KINDS.get(kind)
    if name is None:
        fail(INVALID_VALUE, f"no kind of unit has the number {kind}")
    if name == "CUBIN":
        fail(NO_BINARY_FOR_GPU, f"cubins are not linked: {ADVICE}")
    if name == "NVVM":
        advice = "pass PTX, or a fatbin of nvcc -fatbin -rdc=true"
        fail(NOT_SUPPORTED, f"units of the kind CU_JIT_INPUT_{name}: {advice}")


def _add(handle: int, kind: int, image: bytes, name: str) -> None:
    link = links.get(handle)
    if link.is_complete:
        fail(INVALID_VALUE, "the link is complete")
    device = link.context.device
    with link.options.logged():
        if _KINDS[kind] == "LIBRARY":
            link.libraries.append(Library(image, name, device))
        elif _KINDS[kind] == "OBJECT":
            link.units += units_of_object(image, name, device)
        else:
            link.units.append(images.module((image,), device, name))


@implements("cuLinkComplete")
def complete(handle: int) -> tuple[int, int]:
    """Link: the address of the image, which lives as long as the link, and its bytes."""
    link = links.get(handle)
    if not link.units:
        fail(INVALID_VALUE, "the link has no units")
    with link.options.logged() as log:
        log.extend(note for unit in link.units for note in unit.notes)
        return link.complete()
