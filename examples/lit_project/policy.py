# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mypy: disable-error-code="no-untyped-def"
"""The policy under test."""


def leaves(obs):
    """Inline callees that call nothing themselves, except cold ones."""
    callee = obs.site.callee
    return "call" not in callee.opcode_counts and "cold" not in callee.attributes
