// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiling.h"

#include "interpreter.h"
#include "python_error.h"

namespace passpilot {

bool SignalPoll::operator()() {
  if (interpreterEnds())
    return true;
  const auto Now = std::chrono::steady_clock::now();
  if (Raised || Now < Next)
    return Raised.has_value();
  Next = Now + std::chrono::milliseconds(20);
  nb::gil_scoped_acquire GIL;
  if (PyErr_CheckSignals() != 0)
    Raised.emplace();
  return Raised.has_value();
}

void SignalPoll::check() {
  if (Raised)
    throw *Raised;
  if (interpreterEnds())
    throw CompilationError("compilation: the interpreter ends");
}

[[noreturn]] static void refuseBusy(HostedModule &H) {
  throw InputError("module " + H.module().getModuleIdentifier() +
                   ": expected it to be free, got one that is being compiled; "
                   "copy it first");
}

void refuseBroken(HostedModule &H) {
  if (!H.Broken.empty())
    throw InputError("module " + H.module().getModuleIdentifier() +
                     ": expected valid IR, got what the pass " + H.Broken +
                     " left; read it again");
}

HostedModule &readable(HostedModule &H) {
  if (H.ended())
    raiseError("StaleViewError", "module: expected one of a compilation that "
                                 "goes on, got one whose compiler has it back");
  if (H.busy())
    refuseBusy(H);
  return H;
}

void reserve(HostedModule &H) {
  readable(H);
  if (H.Worker != std::thread::id())
    refuseBusy(H);
  refuseBroken(H);
  H.Worker = std::this_thread::get_id();
}

void release(HostedModule &H) { H.Worker = std::thread::id(); }

Compiling::Compiling(HostedModule &H, const std::vector<PyAdvisor *> &All)
    : H(H), Advisors(All) {
  reserve(H);
  H.dropAnalyses();
  try {
    for (PyAdvisor *A : Advisors)
      A->begin();
  } catch (...) {
    end();
    throw;
  }
}

void Compiling::end() {
  release(H);
  for (PyAdvisor *A : Advisors)
    A->end();
}

} // namespace passpilot
