// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runner that Python makes and answers, in a process that may not have
// started Python before.

#pragma once

#include "../loaded/python.h"
#include "../runtime/session.h"

namespace passpilot {

/// Memory that Python may refer to after the runner is destroyed.
struct SharedMemory {
  std::shared_ptr<TensorBlock> Block;
  Advice Default{0}, Answer{0};
};

/// The functions of runners/c_api.py.
struct RunnerCalls : PythonCalls {
  /// Runs the files, separated by colons.
  void (*Load)(Messages *Teller, const char *Files);
  /// Makes a runner; 0 after an error. Reports its inputs as messages "input".
  size_t (*Make)(Messages *Teller, const char *Spec, const char *Point,
                 double Timeout, bool DefaultOnError);
  /// Binds the block: first the runner's inputs, then the reported tensors, one
  /// per line. Python calls \p Release with \p Kept when nothing refers to the
  /// memory any more.
  bool (*Bind)(Messages *Teller, size_t Runner, size_t Block, size_t Bytes,
               const char *Order, size_t Default, size_t Answer, size_t Kept,
               size_t Release);
  /// Writes the answer. Reports a failure as "error", or as "fatal" if the
  /// runner will never answer again.
  bool (*Evaluate)(Messages *Teller, size_t Runner);
  void (*SwitchContext)(Messages *Teller, size_t Runner, const char *Name);
  void (*Close)(Messages *Teller, size_t Runner);
};

class PythonRunner final : public Runner {
public:
  PythonRunner(const RunnerCalls &Calls, size_t Handle,
               std::vector<TensorSpec> Inputs, TensorSpec Output)
      : Runner(std::move(Inputs), std::move(Output)), Calls(Calls),
        Handle(Handle) {}
  ~PythonRunner() override {
    Messages Ignored;
    close(Ignored);
  }

  bool bind(Session &S, const std::shared_ptr<SharedMemory> &Memory,
            Messages &Report);
  bool evaluate(const void *const *In, void *Out) override;
  void switchContext(std::string_view Name) override;
  void close(Messages &Report);

private:
  const RunnerCalls &Calls;
  size_t Handle; ///< 0: closed
  Session *TheSession = nullptr;
  std::shared_ptr<SharedMemory> Memory;

  bool settle(bool Good, const Messages &Report);
};

/// Runs the user's files. Returns false after an error, added to \p Report.
bool loadFiles(const std::string &Files, Messages &Report);
/// Returns null after an error, added to \p Report.
std::unique_ptr<PythonRunner> makePythonRunner(const std::string &Spec,
                                               const Point &P, double Timeout,
                                               bool DefaultOnError,
                                               Messages &Report);

} // namespace passpilot
