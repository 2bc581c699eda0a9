// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

namespace passpilot {

/// From now on, assembly in modules reads no files: `.include` and `.incbin`
/// are errors. Holds for the whole process; call it before the first
/// compilation.
void refuseAssemblyFiles();

} // namespace passpilot
