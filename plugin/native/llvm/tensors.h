// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the features of a point whose columns are an enumeration.

#pragma once

#include "../runtime/session.h"

#include <cstring>

namespace passpilot {

/// Writes the features of a session's point; sets all to 0 first.
template <typename Feature> class Tensors {
public:
  explicit Tensors(Session &S) : S(S) {
    for (size_t I = 0; I < S.point().Features.size(); ++I)
      std::memset(S.feature(I), 0, S.point().Features[I].bytes());
  }
  void set(Feature F, int64_t Value, size_t Column = 0) {
    data<int64_t>(F)[Column] = Value;
  }
  void setFloat(Feature F, double Value, size_t Column = 0) {
    data<float>(F)[Column] = static_cast<float>(Value);
  }
  /// Whether the feature is read; others may be left out.
  bool reads(Feature F) const { return S.reads(static_cast<size_t>(F)); }

private:
  Session &S;
  template <typename T> T *data(Feature F) {
    return static_cast<T *>(S.feature(static_cast<size_t>(F)));
  }
};

} // namespace passpilot
