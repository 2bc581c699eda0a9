// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The references that Python holds to a module's values. LLVM clears a
// reference when its value is deleted, also by LLVM's passes.

#pragma once

#include "llvm/IR/ValueHandle.h"

#include <array>
#include <deque>
#include <vector>

namespace passpilot {

/// Hands out weak references at stable addresses and takes them back. LLVM
/// keeps its list of references in the context, without a lock: while another
/// thread compiles the module, released references are queued.
class HandleTable {
public:
  using Node = llvm::WeakVH;

  Node *acquire(llvm::Value &V) {
    if (!Waiting.empty())
      flush();
    if (Free.empty())
      grow();
    Node *N = Free.back();
    Free.pop_back();
    *N = &V;
    return N;
  }
  /// \p Busy: another thread is compiling the module.
  void release(Node *N, bool Busy) {
    if (Busy)
      return Waiting.push_back(N);
    *N = nullptr;
    Free.push_back(N);
  }

  /// Clears all references.
  void clear() {
    for (auto &Slab : Slabs)
      for (Node &N : Slab)
        N = nullptr;
  }

private:
  void flush() {
    for (Node *N : Waiting) {
      *N = nullptr;
      Free.push_back(N);
    }
    Waiting.clear();
  }
  void grow() {
    for (Node &N : Slabs.emplace_back())
      Free.push_back(&N);
  }

  std::deque<std::array<Node, 256>> Slabs;
  std::vector<Node *> Free, Waiting;
};

} // namespace passpilot
