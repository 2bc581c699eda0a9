// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header of LLVM's plugins, which has moved.

#pragma once

#include "version.h"
#if PASSPILOT_LLVM_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
