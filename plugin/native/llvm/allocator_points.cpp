// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocator_points.h"

namespace passpilot {

/// A point whose answer is a column of its first feature, the mask.
static Point choice(const char *Name, const std::string &Answer,
                    std::vector<TensorSpec> Features) {
  Domain D;
  D.Kind = DomainKind::Choice;
  D.Count = Features.front().Shape.back();
  D.Mask = Features.front().Name;
  return {Name,
          std::move(Features),
          {Answer + "_default", ScalarType::Int64, {1}},
          {Answer, ScalarType::Int64, {1}},
          D};
}

/// A tensor of shape [1], or [1, columns] at a choice among columns.
static TensorSpec spec(const char *Name, ScalarType Type, int64_t Columns) {
  return Columns == 1 ? TensorSpec{Name, Type, {1}}
                      : TensorSpec{Name, Type, {1, Columns}};
}

#define PASSPILOT_SPEC(Name, Text, Type, Columns)                              \
  spec(#Text, ScalarType::Type, Columns),

const Point &orderPoint() {
  static const Point P = choice("ra-order", "range_to_allocate",
                                {PASSPILOT_ORDER_FEATURES(PASSPILOT_SPEC)});
  return P;
}

const Point &actionPoint() {
  static const Point P = choice("ra-action", "allocator_action",
                                {PASSPILOT_ACTION_FEATURES(PASSPILOT_SPEC)});
  return P;
}

const Point &colourPoint() {
  static const Point P = choice("ra-colour", "register_to_take",
                                {PASSPILOT_COLOUR_FEATURES(PASSPILOT_SPEC)});
  return P;
}

const Point &splitPoint() {
  static const Point P = choice("ra-split", "region_to_split",
                                {PASSPILOT_SPLIT_FEATURES(PASSPILOT_SPEC)});
  return P;
}

const Point &schedulePoint() {
  static const Point P = choice("schedule", "instruction_to_place",
                                {PASSPILOT_SCHEDULE_FEATURES(PASSPILOT_SPEC)});
  return P;
}

} // namespace passpilot
