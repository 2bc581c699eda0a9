// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python_runner.h"

#include "c_point.h"

#include <algorithm>

namespace passpilot {

static RunnerCalls TheCalls;
const PythonModule TheModule = {"passpilot.runners.c_api", &TheCalls};

extern "C" {
static void releaseMemory(void *Kept) {
  delete static_cast<std::shared_ptr<SharedMemory> *>(Kept);
}
}

static bool failed(const Messages &Told) {
  return std::any_of(Told.begin(), Told.end(),
                     [](const Message &M) { return M.isError(); });
}

bool loadFiles(const std::string &Files, Messages &Told) {
  if (const auto *Calls = python<RunnerCalls>(Told))
    Calls->Load(&Told, Files.c_str());
  return !failed(Told);
}

std::unique_ptr<PythonRunner> makePythonRunner(const std::string &Spec,
                                               const Point &P, double Timeout,
                                               bool DefaultOnError,
                                               Messages &Told) {
  const auto *Calls = python<RunnerCalls>(Told);
  const size_t Handle =
      Calls ? Calls->Make(&Told, Spec.c_str(), describe(P).c_str(), Timeout,
                          DefaultOnError)
            : 0;
  if (!Handle)
    return nullptr;
  std::vector<TensorSpec> Inputs;
  for (const Message &M : Told)
    if (M.Kind == "input") {
      for (const TensorSpec &S : P.Features)
        if (S.Name == M.Text)
          Inputs.push_back(S);
      if (P.Default.Name == M.Text)
        Inputs.push_back(P.Default);
    }
  return std::make_unique<PythonRunner>(*Calls, Handle, std::move(Inputs),
                                        P.Decision);
}

bool PythonRunner::bind(Session &S, const std::shared_ptr<SharedMemory> &M,
                        Messages &Told) {
  TheSession = &S;
  Memory = M;
  std::string Order;
  for (const TensorSpec &Spec : M->Block->specs())
    Order += (Order.empty() ? "" : "\n") + Spec.Name;
  auto Address = [](void *P) { return reinterpret_cast<size_t>(P); };
  return Calls.Bind(&Told, Handle, Address(M->Block->begin()),
                    M->Block->bytes(), Order.c_str(), Address(&M->Default),
                    Address(&M->Answer),
                    Address(new std::shared_ptr<SharedMemory>(M)),
                    reinterpret_cast<size_t>(&releaseMemory));
}

bool PythonRunner::evaluate(const void *const *, void *Out) {
  Messages Told;
  if (!settle(Calls.Evaluate(&Told, Handle), Told))
    return false;
  *static_cast<Advice *>(Out) = Memory->Answer;
  return true;
}

void PythonRunner::switchContext(std::string_view Name) {
  Messages Told;
  Calls.SwitchContext(&Told, Handle, std::string(Name).c_str());
  settle(Told.empty(), Told);
}

void PythonRunner::close(Messages &Told) {
  if (Handle)
    Calls.Close(&Told, Handle);
  Handle = 0;
}

/// Tells the session of a failure.
bool PythonRunner::settle(bool Good, const Messages &Told) {
  if (Good)
    return true;
  const bool Known = !Told.empty();
  TheSession->noteFailure(FailureKind::Python,
                          Known ? Told.front().Text : "the runner has failed",
                          Known && Told.front().Kind == "fatal");
  return false;
}

} // namespace passpilot
