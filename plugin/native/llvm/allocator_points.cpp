// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "allocator_points.h"

namespace passpilot {

static constexpr ScalarType Integer = ScalarType::Int64;
static constexpr ScalarType Float = ScalarType::Float;

static TensorSpec columns(const char *Name, ScalarType Type = Integer,
                          int64_t Count = AllocatorColumns) {
  return {Name, Type, {1, Count}};
}

static TensorSpec scalar(const char *Name, ScalarType Type = Integer) {
  return {Name, Type, {1}};
}

/// A point whose answer is one of \p Count columns, or of its first tensor's.
static Point choice(const char *Name, const std::string &Answer,
                    std::vector<TensorSpec> Features) {
  Domain D;
  D.Kind = DomainKind::Choice;
  D.Count = Features.front().Shape.back();
  D.Mask = Features.front().Name;
  return {Name,
          std::move(Features),
          {Answer + "_default", Integer, {1}},
          {Answer, Integer, {1}},
          D};
}

const Point &orderPoint() {
  static const Point P =
      choice("ra-order", "range_to_allocate",
             {columns("mask"), columns("size"), columns("weight", Float),
              columns("is_local"), columns("is_hinted"), columns("is_split"),
              columns("has_waited"), columns("class_size"),
              columns("instructions"), columns("priority"), scalar("waiting")});
  return P;
}

const Point &actionPoint() {
  static const Point P =
      choice("ra-action", "allocator_action",
             {columns("mask", Integer, AllocatorActions), scalar("size"),
              scalar("weight", Float), scalar("is_local"), scalar("is_hinted"),
              scalar("generation"), scalar("has_waited"), scalar("evictions"),
              scalar("class_size"), scalar("instructions"),
              scalar("spill_cost", Float), scalar("free_registers"),
              scalar("free_hint"), scalar("evictable_registers"),
              scalar("cheapest_eviction", Float), scalar("splits"),
              scalar("split_gain", Float)});
  return P;
}

const Point &colourPoint() {
  static const Point P =
      choice("ra-colour", "register_to_take",
             {columns("mask"), columns("is_free"), columns("is_hint"),
              columns("is_wanted"), columns("is_callee_saved"),
              columns("is_in_use"), columns("encoding_cost"),
              columns("interferences"), columns("max_weight", Float),
              columns("broken_hints"), scalar("evicting"), scalar("size"),
              scalar("weight", Float), scalar("class_size")});
  return P;
}

const Point &splitPoint() {
  static const Point P =
      choice("ra-split", "region_to_split",
             {columns("mask"), columns("kind"), columns("gain", Float),
              columns("work", Float), columns("copy_cost", Float),
              columns("copies"), columns("instructions"), columns("blocks"),
              columns("loop_depth"), columns("has_free_register"),
              columns("defines"), scalar("size"), scalar("weight", Float),
              scalar("spill_cost", Float), scalar("generation")});
  return P;
}

} // namespace passpilot
