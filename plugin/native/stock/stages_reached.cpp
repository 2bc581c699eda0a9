// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "stages_reached.h"

#include "../loaded/refusal.h"
#include "../runtime/text.h"
#include "flags.h"
#include "host.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

using namespace llvm;

namespace passpilot {

static std::atomic<bool> Optimizes = false, GeneratesCode = false;

std::vector<const HookedPoint *> pointsOf(StringRef Function) {
  std::vector<const HookedPoint *> Ours;
  for (const HookedPoint &P : hookedPoints())
    if (P.Function == Function)
      Ours.push_back(&P);
  return Ours;
}

void noteOptimization() { Optimizes = true; }

bool optimizes() { return Optimizes; }

void noteCodeGeneration() { GeneratesCode = true; }

// clang leaves code generation to the linker under -flto; then variables are
// for the linker.
void warnOfMissingCode() {
  if (GeneratesCode || hasFailed())
    return;
  for (const HookedPoint *P : pointsOf("emit"))
    if (isClang() ? advisedByFlag(P->Name) : advisedByChoice(P->Name))
      printWarning(P->Name +
                   std::string(" advisor: the runner was never asked: "
                               "this process has generated no code"));
}

void expectCodeGeneration() {
  static std::once_flag Once;
  std::call_once(Once, [] { std::atexit(warnOfMissingCode); });
}

} // namespace passpilot
