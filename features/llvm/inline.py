# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a call site: the 38 features of LLVM 22's inliner, in LLVM's order.

The values are those of LLVM's own ML inliner. Costs are in LLVM's inline cost units: an instruction is 5, a
call 25. LLVM sums up the first 25 rows while it walks the callee with the call site's constant arguments
bound; code that these arguments make dead is not counted. The other rows describe the two functions and the
call graph.

Source: llvm/Analysis/InlineModelFeatureMaps.h for names, types and order (a test compares them with the
installed header), InlineCost.cpp, MLInlineAdvisor.cpp and FunctionPropertiesAnalysis.cpp for the values.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.domain import Flag
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

FEATURES: Final = (
    row("sroa_savings", "cost of the accesses to caller allocas that SROA would remove after inlining"),
    row("sroa_losses", "cost of the accesses to caller allocas whose SROA inlining would prevent"),
    row("load_elimination", "repeated loads that go away; 1 once a store or call has ruled that out"),
    row("call_penalty", "25 per direct call in the callee, and per floating-point operation in software"),
    row("call_argument_setup", "5 per argument of the indirect calls in the callee that stay indirect"),
    row("load_relative_intrinsic", "15 per llvm.load.relative in the callee"),
    row("lowered_call_arg_setup", "5 per argument of the calls to known functions in the callee"),
    row("indirect_call_penalty", "always 0: LLVM 22 never writes it"),
    row("jump_table_penalty", "cost of the switches that become jump tables: 5 per entry and 10 each"),
    row("case_cluster_penalty", "cost of the switches with up to three case clusters: 10 per cluster"),
    row("switch_default_dest_penalty", "10 per jump table whose default can be reached"),
    row("switch_penalty", "cost of the compare trees of switches with more than three case clusters"),
    row("unsimplified_common_instructions", "5 per instruction that constant arguments do not fold away"),
    row("num_loops", "25 per live outermost loop of the callee if the caller is minsize, else 0"),
    row("dead_blocks", "blocks of the callee that the constant arguments make unreachable"),
    row("simplified_instructions", "instructions of the callee that fold away"),
    row("constant_args", "arguments that are constants, as the cost analysis counts them"),
    row("constant_offset_ptr_args", "pointer arguments at a known offset from their base, 0 included"),
    row("callsite_cost", "minus the cost of the call itself: arguments, call, target's penalty"),
    row("cold_cc_penalty", "1 if the callee has the cold calling convention"),
    row("last_call_to_static_bonus", "1 if this is the only use of a callee with local linkage"),
    row("is_multiple_blocks", "1 if a branch of the callee stays open, so that it has several live blocks"),
    row("nested_inlines", "indirect calls in the callee that become direct and would be inlined in turn"),
    row("nested_inline_cost_estimate", "cost of those nested calls"),
    row("threshold", "what the walk leaves of a threshold that falls with each block"),
    row("callee_basic_block_count", "reachable basic blocks of the callee"),
    row("callsite_height", "height of the caller in the initial call graph; a leaf has 0"),
    row("node_count", "functions defined in the module now"),
    row("nr_ctant_params", "arguments of the call that are constants"),
    row("cost_estimate", "LLVM's whole inline cost of the call site, no threshold applied"),
    row("edge_count", "direct calls between functions defined in the module now"),
    row("caller_users", "uses of the caller, one more if visible outside the module"),
    row("caller_conditionally_executed_blocks", "targets of the caller's conditional branches and switches"),
    row("caller_basic_block_count", "reachable basic blocks of the caller"),
    row("callee_conditionally_executed_blocks", "targets of the callee's conditional branches and switches"),
    row("callee_users", "uses of the callee when last analysed, one more if visible outside the module"),
    row("is_callee_avail_external", "1 if the callee's linkage is available_externally"),
    row("is_caller_avail_external", "1 if the caller's linkage is available_externally"),
)

DECISION: Final = TensorSpec("inlining_decision", "int64", (1,))
"""The advice: 1 to inline the call."""

TABLE: Final = PointTable(
    "inline", FEATURES, DECISION, Flag(), "1 if LLVM's own heuristic would inline", "inlining_default"
)
