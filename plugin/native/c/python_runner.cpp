// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "python_runner.h"

#include "../runtime/text.h"

#include "c_point.h"

#include <algorithm>

namespace passpilot {

static RunnerCalls ModuleCalls;
const PythonModule LibraryModule = {"passpilot.runners.c_api", &ModuleCalls};

extern "C" {
static void releaseMemory(void *Kept) {
  delete static_cast<std::shared_ptr<SharedMemory> *>(Kept);
}
}

static bool failed(const Messages &Report) {
  return std::any_of(Report.begin(), Report.end(),
                     [](const Message &M) { return M.isError(); });
}

bool loadFiles(const std::string &Files, Messages &Report) {
  if (const auto *Calls = python<RunnerCalls>(Report))
    Calls->Load(&Report, Files.c_str());
  return !failed(Report);
}

std::unique_ptr<PythonRunner> makePythonRunner(const std::string &Spec,
                                               const Point &P, double Timeout,
                                               bool DefaultOnError,
                                               Messages &Report) {
  const auto *Calls = python<RunnerCalls>(Report);
  const size_t Handle =
      Calls ? Calls->Make(&Report, Spec.c_str(), describe(P).c_str(), Timeout,
                          DefaultOnError)
            : 0;
  if (!Handle)
    return nullptr;
  std::vector<TensorSpec> Inputs;
  for (const Message &M : Report)
    if (M.Kind == "input") {
      const TensorSpec *Feature = named(P.Features, M.Text);
      Inputs.push_back(Feature ? *Feature : P.Default);
    }
  return std::make_unique<PythonRunner>(*Calls, Handle, std::move(Inputs),
                                        P.Decision);
}

bool PythonRunner::bind(Session &S, const std::shared_ptr<SharedMemory> &M,
                        Messages &Report) {
  TheSession = &S;
  Memory = M;
  std::vector<std::string_view> Names;
  for (const TensorSpec &Spec : M->Block->specs())
    Names.push_back(Spec.Name);
  auto Address = [](void *P) { return reinterpret_cast<size_t>(P); };
  return Calls.Bind(&Report, Handle, Address(M->Block->begin()),
                    M->Block->bytes(), joined(Names, "\n").c_str(),
                    Address(&M->Default), Address(&M->Answer),
                    Address(new std::shared_ptr<SharedMemory>(M)),
                    reinterpret_cast<size_t>(&releaseMemory));
}

bool PythonRunner::evaluate(const void *const *, void *Out) {
  Messages Report;
  if (!settle(Calls.Evaluate(&Report, Handle), Report))
    return false;
  *static_cast<Advice *>(Out) = Memory->Answer;
  return true;
}

void PythonRunner::switchContext(std::string_view Name) {
  Messages Report;
  Calls.SwitchContext(&Report, Handle, std::string(Name).c_str());
  settle(Report.empty(), Report);
}

void PythonRunner::close(Messages &Report) {
  if (Handle)
    Calls.Close(&Report, Handle);
  Handle = 0;
}

/// Reports a failure to the session.
bool PythonRunner::settle(bool Good, const Messages &Report) {
  if (Good)
    return true;
  const bool Known = !Report.empty();
  TheSession->noteFailure(FailureKind::Python,
                          Known ? Report.front().Text : "the runner has failed",
                          Known && Report.front().Kind == "fatal");
  return false;
}

} // namespace passpilot
