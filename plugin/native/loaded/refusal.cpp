// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "refusal.h"

#include "../runtime/text.h"

#include "llvm/Support/Signals.h"
#include "llvm/Support/WithColor.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;

namespace passpilot {

static std::atomic<bool> Failed = false;

/// Removes the tool's unfinished outputs, also those that another LLVM in the
/// process knows of.
static void removeOutputs() {
  sys::RunInterruptHandlers();
  if (void *Theirs =
          dlsym(RTLD_DEFAULT, "_ZN4llvm3sys20RunInterruptHandlersEv"))
    reinterpret_cast<void (*)()>(Theirs)();
}

bool hasFailed() { return Failed; }

void noteFailure() {
  if (!Failed.exchange(true))
    std::atexit(removeOutputs);
}

void refuse(const std::string &Text) {
  WithColor::error() << shown(Text) << "\n";
  noteFailure();
  std::exit(1);
}

} // namespace passpilot
