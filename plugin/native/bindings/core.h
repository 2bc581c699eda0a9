// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that bind each class; core.cpp calls them.

#pragma once

#include "nanobind_all.h"

namespace passpilot {

void bindFailure(nb::module_ &M);
void bindPlace(nb::module_ &M);
void bindPoint(nb::module_ &M);
void bindPasses(nb::module_ &M);
void bindModule(nb::module_ &M);
void bindRunner(nb::module_ &M);
void bindPolicy(nb::module_ &M);
void bindCallSite(nb::module_ &M);
void bindLiveRange(nb::module_ &M);
void bindSchedule(nb::module_ &M);
void bindAdvisor(nb::module_ &M);
void bindType(nb::module_ &M);
void bindMetadata(nb::module_ &M);
void bindValue(nb::module_ &M);
void bindGlobal(nb::module_ &M);
void bindFunction(nb::module_ &M);
void bindBlock(nb::module_ &M);
void bindInstruction(nb::module_ &M);
void bindCall(nb::module_ &M);
void bindLoop(nb::module_ &M);
void bindLoopKnowledge(nb::module_ &M);
void bindBuilder(nb::module_ &M);
void bindIR2Vec(nb::module_ &M);
void bindNativeFeature(nb::module_ &M);
void bindObjectFile(nb::module_ &M);
void bindCompileOptions(nb::module_ &M);
void bindLLVM(nb::module_ &M);

} // namespace passpilot
