# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of an innermost loop that LLVM can vectorize: the loop, its memory, and LLVM's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from passpilot.features.llvm.loop import LOOP_FEATURES, body_of, observe_loop, same_attributes
from passpilot.features.point import row
from passpilot.features.table import choice_table
from passpilot.plugin._core import Loop, Vectorization

WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64)
"""The vectorization factors, as far as LLVM's metadata goes."""

INTERLEAVES: Final = (1, 2, 4, 8, 16)
"""The interleave counts, as far as LLVM's metadata goes."""

VECTOR_PLANS: Final = ((0, 0), *((width, count) for width in WIDTHS for count in INTERLEAVES))
"""The vectorization factor and the interleave count of each choice: (0, 0) leaves the loop to LLVM, (1, 1)
forbids both, and (1, N) only interleaves."""

LARGEST: Final = 1024
"""The largest size of a vectorized and interleaved body, in the units of ``size``."""

FEATURES: Final = (
    *LOOP_FEATURES,
    row("conversions", "conversions between types of different size or kind"),
    row("narrowest_bits", "the narrowest type of loads, stores and reductions, in bits"),
    row("widest_bits", "the widest type of loads, stores and reductions, in bits"),
    row("register_bits", "the size of the target's vector registers, in bits; 0 if it has none"),
    row("inductions", "induction variables"),
    row("reductions", "values such as sums and maxima"),
    row("recurrences", "values that an iteration takes from the one before"),
    row("is_exact", "1 if floating-point operations must keep their order"),
    row("safe_bits", "the largest vector that dependences allow, in bits; 0 for any"),
    row("consecutive", "loads and stores whose address goes up by their size"),
    row("reversed", "loads and stores whose address goes down by their size"),
    row("strided", "loads and stores whose address changes by another constant"),
    row("invariant", "loads and stores whose address does not change"),
    row("irregular", "loads and stores whose address changes in another way"),
    row("bytes", "how far all addresses together move per iteration, in bytes"),
    row("footprint", "the same for all iterations: by `trip_count`, else by `iterations`", "float64"),
    row("pointer_checks", "pairs of pointers to compare before the loop"),
    row("assumptions", "other conditions to check before the loop"),
    row("masked_blocks", "blocks that run in some iterations only"),
    row("early_exit", "1 if data decide when the loop ends"),
    row("llvm_width", "the vectorization factor that LLVM would choose; 1 for none"),
    row("llvm_interleave", "the interleave count that LLVM would choose; 1 for none"),
    row("mask", "1 for each plan that is allowed", shape=(1, len(VECTOR_PLANS))),
)

TABLE: Final = choice_table("advised-vectorize", "vectorize_choice", len(VECTOR_PLANS), FEATURES)
"""The answer is an index into `VECTOR_PLANS`."""

_CONVERSIONS: Final = frozenset(
    ("trunc", "zext", "sext", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp")
)


def observe(loop: Loop, known: Vectorization) -> Mapping[str, object]:
    """The feature values of an innermost loop; `known` is its `vectorization`. For function passes."""
    body = body_of(loop)
    values = observe_loop(loop, body)
    size, most = cast("int", values["size"]), cast("int", values["max_trip_count"])
    times = cast("int", values["trip_count"]) or cast("float", values["iterations"])
    return {
        **values,
        **same_attributes(FEATURES, known),
        "conversions": sum(inst.opcode in _CONVERSIONS for inst in body),
        "safe_bits": known.safe_bits or 0,
        "footprint": known.bytes * float(times),
        "llvm_width": known.width,
        "llvm_interleave": known.interleave,
        "mask": [[_is_allowed(width, count, known, size, most) for width, count in VECTOR_PLANS]],
    }


def _is_allowed(width: int, count: int, known: Vectorization, size: int, most: int) -> bool:
    """Whether a plan keeps the results, fits the trip count, and makes a body of at most `LARGEST`.

    LLVM takes a width in metadata as leave to reorder floating-point operations, so `is_exact` forbids it.
    """
    if width * count <= 1:
        return True
    if known.is_exact or (most and width * count > most):
        return False
    bits = width * known.widest_bits
    if known.safe_bits is not None and bits * count > known.safe_bits:
        return False
    copies = -(-bits // known.register_bits) if known.register_bits else width
    return copies * count * size <= LARGEST
