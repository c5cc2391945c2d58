"""The C types that wgpu uses, declared to its cffi at once.

wgpu names types by text, such as ``"WGPULimits *"``. cffi parses each new text together with a
declaration of every type that it knows, some 400 of them, in about 30 milliseconds: the first
kernel of a process would wait for 1.5 seconds. Here one declaration has them all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

_FUNCTIONS = (
    "void(WGPULogLevel, WGPUStringView, void *)",
    "void(WGPUDevice const *, WGPUDeviceLostReason, WGPUStringView, void *, void *)",
    "void(WGPUDevice const *, WGPUErrorType, WGPUStringView, void *, void *)",
    "void(WGPURequestDeviceStatus, WGPUDevice, WGPUStringView, void *, void *)",
    "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)",
    "void(WGPUQueueWorkDoneStatus, WGPUStringView, void *, void *)",
)
_ARRAYS = ("char []", "uint8_t []", "uint32_t []")
_WORDS = ("intptr_t", "uintptr_t", "void *")
_NAME = "gridlane_types"


def tell_types(ffi: Any) -> int:
    """Declare the types of wgpu's header to a cffi ``FFI``; return how many texts it knows then.

    It is only for speed: 0 if this cffi stores types in another way, or the header differs.
    """
    kept: object = getattr(ffi, "_parsed_types", None)
    if not isinstance(kept, dict) or _NAME in kept:
        return 0
    known = cast("dict[str, tuple[Any, bool]]", kept)
    try:
        types = _types_of(ffi)
    except Exception:  # cffi raises errors of its own and of its parser
        return 0
    before = len(known)
    for text, type_and_kind in types.items():
        known.setdefault(text, type_and_kind)
    return len(known) - before


def _types_of(ffi: Any) -> dict[str, tuple[Any, bool]]:
    """The types by their texts, and whether each is a function, as ``FFI`` keeps them."""
    array_of = import_module("_cffi_backend").new_array_type
    names = [name for name in ffi.list_types()[0] if name.startswith("WGPU")]
    items = [f"{text.rstrip(' []')} *a{n};" for n, text in enumerate(_ARRAYS)]
    functions = [text.replace("(", f"(*f{n})(", 1) + ";" for n, text in enumerate(_FUNCTIONS)]
    members = [f"{name} *p{n};" for n, name in enumerate(names)]
    word_members = [f"{text} w{n};" for n, text in enumerate(_WORDS)]
    ffi.cdef(
        f"typedef struct {{ {' '.join(members + items + functions + word_members)} }} {_NAME};"
    )
    fields = {name: field.type for name, field in ffi.typeof(_NAME).fields}
    types_by_text: dict[str, tuple[Any, bool]] = {}
    for n, name in enumerate(names):
        types_by_text[f"{name} *"] = types_by_text[f"{name} * "] = fields[f"p{n}"], False
        if fields[f"p{n}"].item.kind != "void":
            types_by_text[f"{name}[]"] = array_of(fields[f"p{n}"], None), False
    for n, text in enumerate(_ARRAYS):
        types_by_text[text] = array_of(fields[f"a{n}"], None), False
        types_by_text[text.replace("[]", "*")] = fields[f"a{n}"], False
    for n, text in enumerate(_FUNCTIONS):
        types_by_text[text] = fields[f"f{n}"], True
    for n, text in enumerate(_WORDS):
        types_by_text[text] = fields[f"w{n}"], False
    return types_by_text
