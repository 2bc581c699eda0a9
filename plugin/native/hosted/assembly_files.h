// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef PASSPILOT_HOSTED_ASSEMBLY_FILES_H
#define PASSPILOT_HOSTED_ASSEMBLY_FILES_H

namespace passpilot {

/// From now on, assembly in modules reads no files: `.include` and `.incbin`
/// are errors. Holds for the whole process; call it before the first
/// compilation.
void refuseAssemblyFiles();

} // namespace passpilot

#endif
