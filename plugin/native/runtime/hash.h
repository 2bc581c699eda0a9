// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

#include <cstdint>
#include <string_view>

namespace passpilot {

/// The 64-bit FNV-1a hash, which Python computes, too.
inline uint64_t fnv1a64(std::string_view Text) {
  uint64_t Hash = 0xcbf29ce484222325u;
  for (const unsigned char C : Text)
    Hash = (Hash ^ C) * 0x100000001b3u;
  return Hash;
}

} // namespace passpilot
