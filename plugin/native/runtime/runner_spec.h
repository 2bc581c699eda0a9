// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runner specs that name a runner without an interpreter. runners/spec.py and
// runners/native.py own the grammar and the error messages for specs that break
// it.

#pragma once

#include "runner.h"

namespace passpilot {

/// What model runners need to know about the machine.
struct ModelHost {
  std::string OnnxLibrary;           ///< path; empty: not installed
  std::vector<std::string> Features; ///< of the processor, by LLVM's names
  std::string Plugin = {}; ///< the plugin's folder, to find records of policies
};

/// Makes the runner for \p P that \p Spec names. Returns null with \p Error set
/// if its model is at fault. Returns null without an error for every other
/// spec: Python makes all other runners and reports malformed specs.
std::unique_ptr<Runner> makeNativeRunner(std::string_view Spec, const Point &P,
                                         const ModelHost &Host,
                                         std::string &Error);

} // namespace passpilot
