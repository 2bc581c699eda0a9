// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runner specs, as far as they name a runner that needs no interpreter. The
// grammar, and what is said of a spec that breaks it, are those of
// runners/spec.py and runners/native.py.

#ifndef PASSPILOT_RUNTIME_RUNNER_SPEC_H
#define PASSPILOT_RUNTIME_RUNNER_SPEC_H

#include "runner.h"

namespace passpilot {

/// What runners of models need of the machine.
struct ModelHost {
  std::string OnnxLibrary;           ///< onnxruntime's; empty if there is none
  std::vector<std::string> Features; ///< of the processor, by LLVM's names
};

/// The runner for \p P that \p Spec names. Null with \p Error set if its model
/// is at fault. Null without an error for every other spec: it is one for
/// Python, which makes the other runners and knows what is wrong with a spec.
std::unique_ptr<Runner> makeNativeRunner(std::string_view Spec, const Point &P,
                                         const ModelHost &Host,
                                         std::string &Error);

} // namespace passpilot

#endif
