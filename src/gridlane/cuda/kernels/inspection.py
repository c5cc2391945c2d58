"""Inspect the compiled kernels of a dispatcher: signatures, figures, code to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from gridlane.core.argtypes import Signature, none
from gridlane.core.errors import UnsupportedError
from gridlane.core.options import KernelOptions
from gridlane.cuda.kernels.device_code import DeviceCode
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.cuda.kernels.signatures import Types, parse
from gridlane.launch import current


class CompileStats(NamedTuple):
    """The origins of a dispatcher's code: the disk cache or the compiler.

    Attributes:
        cache_path: the directory of the disk cache, None where it is off.
        cache_hits: codes that were read from it, by tuple of argument types.
        cache_misses: codes that were compiled. A signature may need several: for each device, and
            on some for each shape of blocks.
    """

    cache_path: str | None
    cache_hits: Counter[Types]
    cache_misses: Counter[Types]


class Inspection:
    """The part of a dispatcher that only reads ``overloads``."""

    __name__: str
    overloads: dict[Types, Kernel]
    is_device_function: bool
    _specialized: bool
    _source_func: Any
    _reading: dict[Types, Kernel]
    _earlier: Sequence[Counter[Types]]
    _device_codes: dict[Types, DeviceCode]
    options: KernelOptions
    device_signatures: tuple[Signature, ...]

    @property
    def signatures(self) -> list[Types]:
        """The compiled tuples of argument types."""
        return list(self.overloads)

    @property
    def nopython_signatures(self) -> list[Signature]:
        """The compiled signatures."""
        return [Signature(none, types) for types in self.overloads]

    @property
    def stats(self) -> CompileStats:
        """What the disk cache had, and what was compiled."""
        from gridlane.compiler.cache import default_cache

        hits, misses = (counted.copy() for counted in self._earlier)
        for kernels in (self.overloads, self._reading):
            for types, kernel in tuple(kernels.items()):
                for _, code in kernel.codes():
                    (misses if code.is_compiled else hits)[types] += 1
        cache = default_cache()
        return CompileStats(None if cache is None else str(cache.root), hits, misses)

    def _overload(self, signature: Any) -> Kernel:
        """The kernel of a signature.

        Raises:
            UnsupportedError: a device function, which has no kernel.
            KeyError: no kernel is compiled for it.
        """
        if self.is_device_function:
            raise UnsupportedError(
                f"{self.__name__} is a device function, which is compiled into the kernels that "
                "call it: ask such a kernel; inspect_asm(), inspect_llvm() and inspect_ir() show "
                "what cuda.compile makes of it"
            )
        types = parse(signature).args
        if types not in self.overloads:
            have = ", ".join(map(str, self.overloads)) or "none"
            raise KeyError(
                f"{self.__name__} is not compiled for {types}, but for {have}; call it, or "
                "compile(signature)"
            )
        return self.overloads[types]

    def _figure(self, name: str, signature: Any) -> Any:
        if signature is not None:
            return getattr(self._overload(signature), name)
        if self._specialized:
            return getattr(next(iter(self.overloads.values())), name)
        return {types: getattr(kernel, name) for types, kernel in self.overloads.items()}

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread, for a signature or for each."""
        return self._figure("regs_per_thread", signature)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant data, for a signature or for each."""
        return self._figure("const_mem_size", signature)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory, for a signature or for each."""
        return self._figure("shared_mem_per_block", signature)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """The largest block, for a signature or for each."""
        return self._figure("max_threads_per_block", signature)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of local arrays, for a signature or for each."""
        return self._figure("local_mem_per_thread", signature)

    def compile_device(self, args: Any, return_type: Any = None) -> DeviceCode:
        """A device function for types of its arguments, with numba's calling convention.

        Raises:
            CompileError: the function is outside the dialect or its types do not fit; located.
        """
        types = parse(args).args
        known = (each.return_type for each in self.device_signatures if each.args == types)
        wanted = return_type or next(known, None)
        wanted = None if wanted == none else wanted  # as calls have it: a void result is open
        device_code = self._device_codes.get(types)
        if device_code is None:
            signature = Signature(wanted, types)  # type: ignore[arg-type]  # None is open
            device_code = self._device_codes[types] = DeviceCode(
                self._source_func, signature, self.options
            )
            _ = device_code.return_type
        return device_code

    def _inspect(self, name: str, signature: Any) -> Any:
        if self.is_device_function:
            return self._inspect_device(name, signature)
        if signature is not None:
            return getattr(self._overload(signature), name)()
        return {types: getattr(kernel, name)() for types, kernel in self.overloads.items()}

    def _inspect_device(self, name: str, signature: Any) -> Any:
        if signature is not None:
            return getattr(self.compile_device(signature), name)()
        for each in self.device_signatures:
            self.compile_device(each)
        return {types: getattr(code, name)() for types, code in self._device_codes.items()}

    def inspect_ir(self, signature: Any = None) -> Any:
        """The typed IR, for a signature or for each."""
        return self._inspect("inspect_ir", signature)

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM IR of a GPU's code, for a signature or for each; see ``Kernel.inspect_llvm``."""
        return self._inspect("inspect_llvm", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """PTX, for a signature or for each; see ``Kernel.inspect_asm``."""
        return self._inspect("inspect_asm", signature)

    def inspect_ptx(self, signature: Any = None) -> Any:
        """PTX on every device, for a signature or for each; see ``Kernel.inspect_ptx``."""
        return self._inspect("inspect_ptx", signature)

    def inspect_native(self, signature: Any = None, stage: str = "asm") -> Any:
        """The device's own code as text, for a signature or for each: its assembly, or with
        ``stage="llvm"`` its LLVM IR."""
        if signature is not None:
            return self._overload(signature).inspect_native(stage)
        return {types: kernel.inspect_native(stage) for types, kernel in self.overloads.items()}

    def explain(self, signature: Any = None, block: Any = 256) -> str:
        """What the compiler makes of each line on the current device, for a signature or for each;
        see ``Kernel.explain``."""
        if signature is not None:
            return self._overload(signature).explain(block)
        if not self.overloads:
            return f"{self.__name__} is not compiled yet: launch it, or call compile(signature)"
        return "\n\n".join(kernel.explain(block) for kernel in self.overloads.values())

    def inspect_mlir(self, signature: Any = None) -> Any:
        """Refuse to show MLIR."""
        raise UnsupportedError(
            "inspect_mlir() shows a part of NVIDIA's MLIR compiler; gridlane has a compiler of its "
            "own, whose IR inspect_ir() shows"
        )

    def inspect_lto_ptx(self, signature: Any = None) -> Any:
        """Refuse to show what NVIDIA's linker makes."""
        raise UnsupportedError(
            "inspect_lto_ptx() shows what NVIDIA's linker makes of LTO-IR; gridlane has a compiler "
            "of its own, and inspect_ptx() shows its PTX"
        )

    def inspect_sass(self, signature: Any = None) -> Any:
        """Refuse to show NVIDIA's machine code."""
        if self.is_device_function:
            raise RuntimeError("Cannot inspect SASS of a device function")
        raise RuntimeError(
            f"nvdisasm was not found, and gridlane shows no SASS of the device "
            f"{current.device().name!r}; inspect_native() shows its code, and "
            "`gridlane compile --target cubin` writes what nvdisasm reads"
        )

    inspect_sass_cfg = inspect_sass

    def inspect_transformed_source(self, signature: Any = None) -> Any:
        """The kernel's text without its compile-time parts, for a signature or for each; None
        where it has none."""
        if signature is not None:
            return self._overload(signature).metadata["transformed_source"]
        return {
            types: kernel.metadata["transformed_source"] for types, kernel in self.overloads.items()
        }

    def inspect_types(self, file: Any = None) -> None:
        """Print the typed IR under each signature."""
        for types, kernel in self.overloads.items():
            shown = "(" + ", ".join(map(str, types)) + ("," if len(types) == 1 else "") + ")"
            print(self.__name__, shown, file=file)
            print("-" * 80, file=file)
            print(kernel.inspect_ir(), file=file)
            print("=" * 80, file=file)
