// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs LLVM's pipelines on behalf of a pass in Python.

#include "mutations.h"

#include "../llvm/user_pass.h"
#include "access.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace passpilot {

static void checkRuns(HostedModule &H, Function *F, const std::string &Who) {
  const PassAccess *Pass = H.Pass;
  if (!Pass || !Pass->mayChangeBlocks() ||
      !(F ? Pass->mayChange(*F) : Pass->mayChangeModule()))
    throw IRError(Who + ": expected a " +
                  (F ? "pass that may change its blocks" : "module pass") +
                  " to run it, got " + (Pass ? "another" : "none") +
                  "; elsewhere passpilot.optimize does it");
  if (F && F->isDeclaration())
    throw IRError(Who + ": expected a body, got a declaration");
}

bool runPipeline(HostedModule &H, Function *F, StringRef Text) {
  const std::string Who = "run(\"" + Text.str() + "\") on " +
                          (F ? "function " + F->getName().str()
                             : "module " + H.module().getModuleIdentifier());
  checkRuns(H, F, Who);
  PassAccess &Pass = *H.Pass;
  const bool Before = std::exchange(Pass.Changed, false);
  H.forgetAnalyses();
  // A policy that is asked during the pipeline is not inside the pass.
  const SaveAndRestore Inner(H.Pass, static_cast<PassAccess *>(nullptr));
  Expected<bool> Changed = Pass.Passes->runText(*Pass.Unit, F, Text, Before);
  if (Changed) {
    if (*Changed)
      Pass.Preserved = PreservedAnalyses::none();
    return *Changed;
  }
  const std::string Told = Who + ": " + toString(Changed.takeError());
  if (Pass.Passes->Stopped && Pass.Passes->Stopped())
    throw CompilationError(Told);
  throw IRError(Told);
}

void skipPass(HostedModule &H, Function &F, StringRef Name) {
  const std::string Who =
      "skip(\"" + Name.str() + "\") on function " + F.getName().str();
  if (!H.Pass || !H.Pass->mayChange(F))
    throw IRError(Who + ": expected a pass that may change the function, got " +
                  (H.Pass ? "another" : "none"));
  if (Error E = H.Pass->Passes->skip(F, Name))
    throw IRError(Who +
                  ": expected the name of one of LLVM's function "
                  "passes, got: " +
                  toString(std::move(E)));
}

} // namespace passpilot
