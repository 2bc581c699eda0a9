// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the decision log: the stream of LLVM's TrainingLogger, whose
// observation lines also name the place of the decision.
//
//   {"features":[{"name":"sroa_savings","type":"int64_t","port":0,"shape":[1]},...]}
//   {"context":""}
//   {"observation":0,"caller":"f","callee":"g","location":"a.c:3:7"}
//   or {"observation":0,"register":"%12","registers":"rax rcx"}
//   or {"observation":0}
//   <the tensors, packed in the header's order>\n
//
// It writes through one buffer and allocates nothing per decision.

#pragma once

#include "tensor_spec.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

namespace passpilot {

/// The place of a decision: a call, or the function that the context names,
/// with the virtual register if there is one.
struct DecisionPlace {
  std::string_view Caller, Callee, File, Register;
  unsigned Line = 0, Column = 0;
  /// Of an eviction's columns, with blanks between them.
  std::string_view Registers = {};

  bool ofCall() const { return !Caller.empty() || !Callee.empty(); }
};

class DecisionLog {
public:
  /// Takes over the open file descriptor \p FD.
  DecisionLog(int FD, const std::vector<TensorSpec> &Features);

  /// Sets the context of the observations that follow. Written with the first
  /// of them: LLVM's reader expects an observation after each context line.
  void context(std::string_view Name) { NextContext = Name; }
  void observation(uint64_t Ordinal, const DecisionPlace &Place);
  void tensor(const void *Data, size_t Bytes) {
    write({static_cast<const char *>(Data), Bytes});
  }
  void endObservation() { write("\n"); }
  /// Returns false if any write so far has failed.
  bool flush();
  /// Flushes and closes. Returns false if any write so far has
  /// failed.
  bool close();
  bool failed() const { return Failed; }
  /// The system's message about the failed write.
  const std::string &error() const { return Error; }

private:
  struct Closer {
    void operator()(std::FILE *F) const { std::fclose(F); }
  };
  std::unique_ptr<std::FILE, Closer> File;
  bool Failed = false;
  std::string Error;
  std::optional<std::string> NextContext;

  void write(std::string_view Text);
  void quoted(std::string_view Text);
  void escaped(std::string_view Text);
  void number(uint64_t N);
  void fail();
};

} // namespace passpilot
