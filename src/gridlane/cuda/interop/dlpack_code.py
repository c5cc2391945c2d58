"""The functions that DLPack's consumers call, in LLVM IR; dlpack_python.py has the structures."""

from __future__ import annotations

import sys
import threading
from functools import cache
from typing import Any

from gridlane.core.forks import fork_waits
from gridlane.core.frozen import frozen

_FINALIZING = "Py_IsFinalizing" if sys.version_info >= (3, 13) else "_Py_IsFinalizing"

TEXT = f"""
@plain = private constant [9 x i8] c"dltensor\\00"
@versioned = private constant [19 x i8] c"dltensor_versioned\\00"

declare i32 @Py_IsInitialized()
declare i32 @{_FINALIZING}()
declare i32 @PyGILState_Check()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare void @Py_DecRef(ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)

; Let an owner go. One whose interpreter has ended, or ends on another thread, stays.
define internal void @let_go(ptr %owner) {{
  %pending = alloca [3 x ptr]
  %value = getelementptr ptr, ptr %pending, i64 1
  %traceback = getelementptr ptr, ptr %pending, i64 2
  %alive = call i32 @Py_IsInitialized()
  %ended = icmp eq i32 %alive, 0
  br i1 %ended, label %done, label %running
running:
  %ending = call i32 @{_FINALIZING}()
  %plainly = icmp eq i32 %ending, 0
  br i1 %plainly, label %drop, label %late
late:
  %held = call i32 @PyGILState_Check()
  %other = icmp eq i32 %held, 0
  br i1 %other, label %done, label %drop
drop:
  %state = call i32 @PyGILState_Ensure()
  call void @PyErr_Fetch(ptr %pending, ptr %value, ptr %traceback)
  call void @Py_DecRef(ptr %owner)
  %t = load ptr, ptr %pending
  %v = load ptr, ptr %value
  %b = load ptr, ptr %traceback
  call void @PyErr_Restore(ptr %t, ptr %v, ptr %b)
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  ret void
}}

define void @gridlane_delete_plain(ptr %managed) {{
  %at = getelementptr i8, ptr %managed, i64 48
  %owner = load ptr, ptr %at
  call void @let_go(ptr %owner)
  ret void
}}

define void @gridlane_delete_versioned(ptr %managed) {{
  %at = getelementptr i8, ptr %managed, i64 8
  %owner = load ptr, ptr %at
  call void @let_go(ptr %owner)
  ret void
}}

; The destructor of a capsule: one that still has its first name was taken by nobody.
define void @gridlane_destroy(ptr %capsule) {{
  %older = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @plain)
  %no = icmp eq i32 %older, 0
  br i1 %no, label %next, label %one
one:
  %first = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @plain)
  call void @gridlane_delete_plain(ptr %first)
  ret void
next:
  %newer = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @versioned)
  %neither = icmp eq i32 %newer, 0
  br i1 %neither, label %taken, label %two
two:
  %second = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @versioned)
  call void @gridlane_delete_versioned(ptr %second)
  ret void
taken:
  ret void
}}
"""


@frozen
class Code:
    """Addresses of functions, and the owner of their code.

    Attributes:
        deleters: of a tensor of the older kind, and of a versioned one.
        destroy: the destructor of capsules.
    """

    deleters: tuple[int, int]
    destroy: int
    holder: Any


_once = threading.RLock()


def linked() -> Code:
    """The functions, compiled at their first use."""
    with fork_waits(), _once:
        return _linked()


@cache
def _linked() -> Code:
    from gridlane.runtime.host_code import Linked, object_of  # loads LLVM

    names = ("gridlane_delete_plain", "gridlane_delete_versioned", "gridlane_destroy")
    code = Linked("gridlane.dlpack", object_of(TEXT), names)
    plain, versioned, destroy = (code[name] for name in names)
    return Code((plain, versioned), destroy, code)


def ours() -> tuple[int, ...]:
    """The deleters of gridlane's own capsules."""
    return linked().deleters if _linked.cache_info().currsize else ()
