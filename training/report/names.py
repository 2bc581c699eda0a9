# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Demangles the names of C++ functions with the C++ library that libLLVM has loaded anyway."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import cache

from passpilot.plugin.failures import utf8

_LIBRARY = "libstdc++.so.6"


def demangled(names: Iterable[str]) -> dict[str, str]:
    """The readable names of those that are mangled C++ names; empty where there is no C++ library."""
    demangle = _demangler()
    if demangle is None:
        return {}
    readable = {name: demangle(name) for name in names if name.startswith("_Z")}
    return {name: text for name, text in readable.items() if text}


@cache
def _demangler() -> Callable[[str], str] | None:
    """The function that demangles a name; it gives an empty text for a name that it does not know."""
    try:
        function = ctypes.CDLL(_LIBRARY)["__cxa_demangle"]
        free = ctypes.CDLL(None)["free"]
    except (OSError, AttributeError):
        return None
    function.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]

    def demangle(name: str) -> str:
        base, dot, suffix = name.partition(".")  # of copies that LLVM made, such as `.llvm.123` and `.cold`
        status = ctypes.c_int()
        address = function(utf8(base), None, None, ctypes.byref(status))
        if not address:
            return ""
        text = ctypes.string_at(address).decode("utf-8", "surrogateescape")
        free(address)
        return f"{text} [{dot}{suffix}]" if dot else text

    return demangle
