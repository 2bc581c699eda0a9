// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runner.h"

#include "hash.h"

#include <cstring>

namespace passpilot {

const void *const *Runner::offset(const void *const *In, size_t Bytes) {
  Shifted.resize(Inputs.size());
  for (size_t I = 0; I < Inputs.size(); ++I)
    Shifted[I] = shifted(In[I], Bytes);
  return Shifted.data();
}

bool Runner::evaluateBatch(const void *const *In, size_t Stride, size_t Count,
                           Advice *Out) {
  for (size_t I = 0; I < Count; ++I)
    if (!evaluate(offset(In, Stride * I), &Out[I]))
      return false;
  return true;
}

namespace {

class ConstRunner final : public Runner {
public:
  ConstRunner(TensorSpec Output, Advice Value)
      : Runner({}, std::move(Output)), Value(Value) {}
  bool evaluate(const void *const *, void *Out) override {
    std::memcpy(Out, &Value, sizeof Value);
    return true;
  }

private:
  const Advice Value;
};

class DefaultRunner final : public Runner {
public:
  DefaultRunner(TensorSpec Output, TensorSpec Default)
      : Runner({std::move(Default)}, std::move(Output)) {}
  bool evaluate(const void *const *In, void *Out) override {
    std::memcpy(Out, In[0], Output.bytes());
    return true;
  }
};

uint64_t splitmix64(uint64_t X) {
  X += 0x9e3779b97f4a7c15u;
  X = (X ^ (X >> 30)) * 0xbf58476d1ce4e5b9u;
  X = (X ^ (X >> 27)) * 0x94d049bb133111ebu;
  return X ^ (X >> 31);
}

class RandomRunner final : public Runner {
public:
  RandomRunner(TensorSpec Output, const Domain &D, const TensorSpec *Mask,
               uint64_t Seed)
      : Runner(Mask ? std::vector<TensorSpec>{*Mask}
                    : std::vector<TensorSpec>{},
               std::move(Output)),
        D(D), Seed(Seed) {
    RandomRunner::switchContext("");
  }
  bool evaluate(const void *const *In, void *Out) override {
    const uint64_t X = splitmix64(Key + (*Ordinal)++);
    Advice A{0};
    switch (D.Kind) {
    case DomainKind::Flag:
      A.Integer = X >> 63;
      break;
    case DomainKind::Choice:
      A.Integer = legal(static_cast<const int64_t *>(In[0]), X >> 32);
      break;
    case DomainKind::Number:
      A.Number = D.Low +
                 static_cast<double>(X >> 32) * ((D.High - D.Low) / UINT32_MAX);
    }
    std::memcpy(Out, &A, sizeof A);
    return true;
  }
  void switchContext(std::string_view Name) override {
    Key = splitmix64(Seed ^ fnv1a64(Name));
    Ordinal = &Ordinals[std::string(Name)];
  }

private:
  const Domain D;
  const uint64_t Seed;
  /// Picks a legal column by the upper 32 bits of \p X.
  int64_t legal(const int64_t *Mask, uint64_t X) const {
    if (D.Count <= 64)
      return legalOf64(Mask, X);
    uint64_t Legal = 0;
    for (int64_t I = 0; I < D.Count; ++I)
      Legal += Mask[I] != 0;
    uint64_t Left = X * Legal >> 32;
    for (int64_t I = 0; I < D.Count; ++I)
      if (Mask[I] && Left-- == 0)
        return I;
    return 0;
  }
  /// The same without a branch per column.
  int64_t legalOf64(const int64_t *Mask, uint64_t X) const {
    uint64_t Legal = 0;
    for (int64_t I = 0; I < D.Count; ++I)
      Legal |= static_cast<uint64_t>(Mask[I] != 0) << I;
    if (!Legal)
      return 0;
    for (uint64_t Left = X * __builtin_popcountll(Legal) >> 32; Left; --Left)
      Legal &= Legal - 1;
    return __builtin_ctzll(Legal);
  }
  uint64_t Key = 0;
  uint64_t *Ordinal = nullptr; // points into Ordinals, whose nodes do not move
  std::unordered_map<std::string, uint64_t> Ordinals;
};

class FunctionRunner final : public Runner {
public:
  FunctionRunner(std::vector<TensorSpec> Inputs, TensorSpec Output,
                 passpilot_evaluate Evaluate, void *Context)
      : Runner(std::move(Inputs), std::move(Output)), Evaluate(Evaluate),
        Context(Context) {}
  bool evaluate(const void *const *In, void *Out) override {
    int Status = Evaluate(Context, In, Out);
    if (Status == 0)
      return true;
    Error = "native function: expected status 0, got " + std::to_string(Status);
    return false;
  }

private:
  const passpilot_evaluate Evaluate;
  void *const Context;
};

} // namespace

std::unique_ptr<Runner> makeConstRunner(TensorSpec Output, Advice Value) {
  return std::make_unique<ConstRunner>(std::move(Output), Value);
}

std::unique_ptr<Runner> makeDefaultRunner(TensorSpec Output,
                                          TensorSpec Default) {
  return std::make_unique<DefaultRunner>(std::move(Output), std::move(Default));
}

std::unique_ptr<Runner> makeRandomRunner(TensorSpec Output, const Domain &D,
                                         const TensorSpec *Mask,
                                         uint64_t Seed) {
  return std::make_unique<RandomRunner>(std::move(Output), D, Mask, Seed);
}

std::unique_ptr<Runner> makeFunctionRunner(std::vector<TensorSpec> Inputs,
                                           TensorSpec Output,
                                           passpilot_evaluate Evaluate,
                                           void *Context) {
  return std::make_unique<FunctionRunner>(std::move(Inputs), std::move(Output),
                                          Evaluate, Context);
}

} // namespace passpilot
