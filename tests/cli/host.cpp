// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaded before LLVM, it answers for LLVM what processor the machine has: the
// one that the environment names, with all its features.

#include "llvm/TargetParser/Host.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <cstdlib>

llvm::StringRef llvm::sys::getHostCPUName() { return std::getenv("HOST_CPU"); }

llvm::StringMap<bool> llvm::sys::getHostCPUFeatures() {
  SmallVector<StringRef, 64> Names;
  X86::getFeaturesForCPU(getHostCPUName(), Names);
  StringMap<bool> Found;
  for (StringRef Name : Names)
    Found[Name] = true;
  return Found;
}
