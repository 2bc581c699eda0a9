// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lower bound for onnx: runners: a function runner that only runs a model
// through onnxruntime's C API. Its input never changes, so the difference to
// onnx: is the cost of binding, conversion and choice.

#include "onnx_api.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

using namespace passpilot::onnx;

namespace {
struct Floor {
  const Api *A = nullptr;
  Session *S = nullptr;
  Value *X = nullptr, *Y = nullptr;
  std::vector<float> In, Out;
};

bool open(Floor &F, const char *Library, const char *Path, std::string &Error) {
  F.A = Api::load(Library, Error);
  if (!F.A)
    return false;
  std::ifstream File(Path, std::ios::binary);
  const std::string Model((std::istreambuf_iterator<char>(File)), {});
  SessionOptions *Options = nullptr;
  MemoryInfo *Memory = nullptr;
  auto Tensor = [&](std::vector<float> &Data, Value **To) {
    const int64_t Shape[] = {1, static_cast<int64_t>(Data.size())};
    return F.A->ok(
        F.A->call<Api::CreateTensorWithDataAsOrtValue>(
            static_cast<const MemoryInfo *>(Memory),
            static_cast<void *>(Data.data()), Data.size() * sizeof(float),
            static_cast<const int64_t *>(Shape), size_t(2), int(Float), To),
        Error);
  };
  return F.A->ok(F.A->call<Api::CreateSessionOptions>(&Options), Error) &&
         F.A->ok(F.A->call<Api::SetIntraOpNumThreads>(Options, 1), Error) &&
         F.A->ok(F.A->call<Api::SetGraphOptimizationLevel>(Options, 99),
                 Error) &&
         F.A->ok(F.A->call<Api::CreateSessionFromArray>(
                     F.A->env(), static_cast<const void *>(Model.data()),
                     Model.size(), static_cast<const SessionOptions *>(Options),
                     &F.S),
                 Error) &&
         F.A->ok(F.A->call<Api::CreateCpuMemoryInfo>(1, 0, &Memory), Error) &&
         Tensor(F.In, &F.X) && Tensor(F.Out, &F.Y);
}
} // namespace

/// A context for decide(); null after a message if the model cannot be opened.
extern "C" void *floor_open(const char *Library, const char *Model, int Inputs,
                            int Outputs) {
  auto *F = new Floor;
  F->In.assign(Inputs, 1.0f);
  F->Out.assign(Outputs, 0.0f);
  std::string Error;
  if (open(*F, Library, Model, Error))
    return F;
  std::fprintf(stderr, "onnx_floor: %s\n", Error.c_str());
  return nullptr;
}

/// The memory of the model's input.
extern "C" float *floor_input(void *Context) {
  return static_cast<Floor *>(Context)->In.data();
}

extern "C" int floor_decide(void *Context, const void *const *, void *Output) {
  auto &F = *static_cast<Floor *>(Context);
  const char *InName = "x", *OutName = "logits";
  const Value *In = F.X;
  Status *S = F.A->call<Api::Run>(
      F.S, static_cast<const void *>(nullptr),
      static_cast<const char *const *>(&InName),
      static_cast<const Value *const *>(&In), size_t(1),
      static_cast<const char *const *>(&OutName), size_t(1), &F.Y);
  *static_cast<int64_t *>(Output) = 0;
  return S != nullptr;
}
