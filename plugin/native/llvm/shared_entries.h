// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are neighbours share an entry of the unwind table. A pass of
// modules, behind the one of unwind_tables.h: all functions are in machine code
// when it runs, and none is printed.

#pragma once

#include "llvm/CodeGen/MachineFunction.h"

namespace passpilot {

extern char &SharedEntriesID;

/// Whether the options let \p MF share an entry, which has no handler.
bool sharesEntry(const llvm::MachineFunction &MF);

} // namespace passpilot
