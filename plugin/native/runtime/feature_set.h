// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features that the core computes without Python. The user asks for them by
// name, as for custom features.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace passpilot {

class Session;

/// Computes the features of one set for one session. Its scratch memory lives
/// as long as the session, so that a decision allocates nothing of its own.
class FeatureFiller {
public:
  virtual ~FeatureFiller() = default;
  /// Writes feature \p I of the set, for the session's current question, into
  /// all of \p Buffer. Returns what is wrong, empty if nothing is.
  virtual std::string fill(const Session &S, size_t I, void *Buffer) = 0;
};

/// Threads: immutable, or protected by a lock of its own: all advisors share
/// it.
class FeatureSet {
public:
  virtual ~FeatureSet() = default;
  virtual std::unique_ptr<FeatureFiller> filler() const = 0;
};

} // namespace passpilot
