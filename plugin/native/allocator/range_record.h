// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the advised allocator remembers of every live range.

#pragma once

#include "llvm/CodeGen/Register.h"

#include <deque>

namespace passpilot {

struct RangeRecord {
  bool Waited = false; ///< sent to the end of the queue once
  bool Done = false;   ///< made by a spill: must get a register
  /// A live range evicts only those with a smaller number, which then get its
  /// number: evictions come to an end.
  unsigned Cascade = 0;
  unsigned Generation = 0; ///< the number of splits that led to it
  unsigned Evictions = 0;  ///< how often it was evicted
  llvm::MCRegister Wanted; ///< was free when the range was split off
};

/// The records of a function's live ranges; references stay valid.
class RangeRecords {
public:
  RangeRecord &operator[](llvm::Register Reg) {
    const size_t Number = Reg.virtRegIndex();
    if (Number >= All.size())
      All.resize(Number + 1);
    return All[Number];
  }
  unsigned newCascade() { return NextCascade++; }
  /// The number that a range has, or would get.
  unsigned cascade(llvm::Register Reg) {
    const unsigned Known = (*this)[Reg].Cascade;
    return Known ? Known : NextCascade;
  }

private:
  std::deque<RangeRecord> All;
  unsigned NextCascade = 1;
};

} // namespace passpilot
