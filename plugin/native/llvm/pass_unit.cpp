// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "pass_unit.h"

#include "llvm/Analysis/LoopInfo.h"

using namespace llvm;

namespace passpilot {

const char *levelName(PassLevel Level) {
  const char *Names[] = {"module", "cgscc", "function", "loop"};
  return Names[static_cast<size_t>(Level)];
}

static std::string nameOf(const Function &F) { return F.getName().str(); }

std::string PassUnit::text() const {
  if (Loop)
    return "loop " + Loop->getName().str() + " in function " +
           nameOf(*Function);
  if (Function)
    return "function " + nameOf(*Function);
  if (!SCC)
    return "module " + Module->getModuleIdentifier();
  std::string Names;
  for (const LazyCallGraph::Node &N : *SCC)
    Names += (Names.empty() ? "" : ", ") + nameOf(N.getFunction());
  return "SCC (" + Names + ")";
}

} // namespace passpilot
