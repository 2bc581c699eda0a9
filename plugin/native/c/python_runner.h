// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runner that Python makes and asks, in a process that may have no Python
// before.

#ifndef PASSPILOT_C_PYTHON_RUNNER_H
#define PASSPILOT_C_PYTHON_RUNNER_H

#include "../loaded/python.h"
#include "../runtime/session.h"

namespace passpilot {

/// What Python may refer to after the runner has died.
struct SharedMemory {
  std::shared_ptr<TensorBlock> Block;
  Advice Default{0}, Answer{0};
};

/// Those of runners/c_api.py.
struct RunnerCalls : PythonCalls {
  /// Runs the files, separated by colons.
  void (*Load)(Messages *Teller, const char *Files);
  /// A runner, 0 after an error. Tells its inputs, as messages "input".
  size_t (*Make)(Messages *Teller, const char *Spec, const char *Point,
                 double Timeout, bool DefaultOnError);
  /// The runner's inputs come first in the block, then the tensors that are
  /// told, line by line. \p Release is to be called with \p Kept when nobody
  /// refers to the memory any more.
  bool (*Bind)(Messages *Teller, size_t Runner, size_t Block, size_t Bytes,
               const char *Order, size_t Default, size_t Answer, size_t Kept,
               size_t Release);
  /// Writes the answer. A failure is told as "error", or as "fatal" if the
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
            Messages &Told);
  bool evaluate(const void *const *In, void *Out) override;
  void switchContext(std::string_view Name) override;
  void close(Messages &Told);

private:
  const RunnerCalls &Calls;
  size_t Handle; ///< 0: closed
  Session *TheSession = nullptr;
  std::shared_ptr<SharedMemory> Memory;

  bool settle(bool Good, const Messages &Told);
};

/// Runs files of the user's. False after an error, which is told.
bool loadFiles(const std::string &Files, Messages &Told);
/// Null after an error, which is told.
std::unique_ptr<PythonRunner> makePythonRunner(const std::string &Spec,
                                               const Point &P, double Timeout,
                                               bool DefaultOnError,
                                               Messages &Told);

} // namespace passpilot

#endif
