// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile of a program, which says function by function what is optimized
// for size. Unlike LLVM's own use of profiles, it needs no equal code: only the
// functions' names count, at any level.

#pragma once

#include "user_pass.h"

namespace passpilot {

/// Lets the pipelines of \p PB follow the profile \p Path, which is
/// llvm-profdata's or a sample profile such as AutoFDO's. Cold functions get
/// `optsize` and, but for x86, `minsize`; hot ones, and what inlines them, get
/// `nooutline`. Behind the gate of \p Passes, which is registered with \p PB.
/// The result says whether a pipeline has taken the profile up.
llvm::Expected<std::shared_ptr<const bool>>
registerProfile(const UserPasses &Passes, llvm::PassBuilder &PB,
                const std::string &Path);

/// The warning about a profile that no pipeline has taken up.
inline constexpr const char *UnusedProfile =
    "the pipeline has no start at which a profile is read; use default<LEVEL>";

} // namespace passpilot
