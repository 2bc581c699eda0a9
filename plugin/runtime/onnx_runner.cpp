// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX model through onnxruntime's C API: one thread, no interpreter,
// input values created once over buffers that stay.

#include "model_runner.h"
#include "onnx_tensor.h"

#include <vector>

namespace passpilot {

using onnx::Api;
using onnx::findOnnx;

namespace {

const int CpuArena = 1, CpuMemory = 0; // OrtArenaAllocator, OrtMemTypeDefault

class OnnxRunner final : public ModelRunner {
public:
  OnnxRunner(const Api &A, TensorSpec Output, const Domain &D)
      : ModelRunner(std::move(Output), D), A(A) {}
  ~OnnxRunner() override {
    for (onnx::Value *V : PortValues)
      A.call<Api::ReleaseValue, void>(V);
    A.call<Api::ReleaseValue, void>(Result.Value);
    A.call<Api::ReleaseSession, void>(Session);
    A.call<Api::ReleaseMemoryInfo, void>(Memory);
  }

  bool open(std::string_view Model);
  bool bind(const std::vector<TensorSpec> &Offered,
            const ModelOptions &Options);
  bool evaluate(const void *const *In, void *Out) override;

private:
  const Api &A;
  onnx::Session *Session = nullptr;
  onnx::MemoryInfo *Memory = nullptr;
  /// What the model answered last.
  struct {
    onnx::Value *Value = nullptr;
    void *Data = nullptr;
    int Type = 0;
    size_t Count = 0;
    bool Reusable = true;
  } Result;
  std::vector<const char *> PortNames;
  std::vector<onnx::Value *> PortValues;

  bool ok(onnx::Status *S) { return A.ok(S, Error); }
  template <Api::Place GetCount, Api::Place GetName, Api::Place GetInfo>
  bool describeAll(std::vector<ModelTensor> &Tensors);
  template <Api::Place GetName> bool name(size_t I, std::string &Name);
  template <Api::Place GetInfo>
  bool describe(size_t I, int &Type, std::vector<int64_t> &Shape);
  bool makeValue(Port &P);
  bool run();
  bool describeResult();
};

bool OnnxRunner::open(std::string_view Model) {
  onnx::SessionOptions *Options = nullptr;
  if (!ok(A.call<Api::CreateSessionOptions>(&Options)))
    return false;
  const int AllOptimizations = 99;
  bool Good =
      ok(A.call<Api::SetIntraOpNumThreads>(Options, 1)) &&
      ok(A.call<Api::SetInterOpNumThreads>(Options, 1)) &&
      ok(A.call<Api::SetGraphOptimizationLevel>(Options, AllOptimizations)) &&
      ok(A.call<Api::CreateSessionFromArray>(
          A.env(), static_cast<const void *>(Model.data()), Model.size(),
          static_cast<const onnx::SessionOptions *>(Options), &Session)) &&
      ok(A.call<Api::CreateCpuMemoryInfo>(CpuArena, CpuMemory, &Memory));
  A.call<Api::ReleaseSessionOptions, void>(Options);
  return Good;
}

template <Api::Place GetName>
bool OnnxRunner::name(size_t I, std::string &Name) {
  onnx::Allocator *Alloc = nullptr; // the default one: not ours to release
  char *Text = nullptr;
  if (!ok(A.call<Api::GetAllocatorWithDefaultOptions>(&Alloc)) ||
      !ok(A.call<GetName>(static_cast<const onnx::Session *>(Session), I, Alloc,
                          &Text)))
    return false;
  Name = Text;
  return ok(A.call<Api::AllocatorFree>(Alloc, static_cast<void *>(Text)));
}

template <Api::Place GetInfo>
bool OnnxRunner::describe(size_t I, int &Type, std::vector<int64_t> &Shape) {
  onnx::TypeInfo *Info = nullptr;
  if (!ok(A.call<GetInfo>(static_cast<const onnx::Session *>(Session), I,
                          &Info)))
    return false;
  const onnx::TensorInfo *Tensor = nullptr; // owned by Info; null: not a tensor
  size_t Rank = 0;
  bool Good = ok(A.call<Api::CastTypeInfoToTensorInfo>(
      static_cast<const onnx::TypeInfo *>(Info), &Tensor));
  if (Good && Tensor) {
    Good = ok(A.call<Api::GetTensorElementType>(Tensor, &Type)) &&
           ok(A.call<Api::GetDimensionsCount>(Tensor, &Rank));
    Shape.resize(Good ? Rank : 0);
    Good = Good && ok(A.call<Api::GetDimensions>(Tensor, Shape.data(), Rank));
  }
  A.call<Api::ReleaseTypeInfo, void>(Info);
  return Good;
}

template <Api::Place GetCount, Api::Place GetName, Api::Place GetInfo>
bool OnnxRunner::describeAll(std::vector<ModelTensor> &Tensors) {
  size_t N = 0;
  if (!ok(A.call<GetCount>(static_cast<const onnx::Session *>(Session), &N)))
    return false;
  Tensors.resize(N);
  for (size_t I = 0; I < N; ++I)
    if (!name<GetName>(I, Tensors[I].Name) ||
        !describe<GetInfo>(I, Tensors[I].Type, Tensors[I].Shape))
      return false;
  return true;
}

bool OnnxRunner::bind(const std::vector<TensorSpec> &Offered,
                      const ModelOptions &Options) {
  std::vector<ModelTensor> Wanted, Known;
  if (!describeAll<Api::SessionGetInputCount, Api::SessionGetInputName,
                   Api::SessionGetInputTypeInfo>(Wanted) ||
      !describeAll<Api::SessionGetOutputCount, Api::SessionGetOutputName,
                   Api::SessionGetOutputTypeInfo>(Known) ||
      !bindInputs(Wanted, Offered, Options))
    return false;
  for (Port &P : Ports) {
    if (!makeValue(P))
      return false;
    PortNames.push_back(P.Name.c_str());
  }
  return chooseOutput(Known, Offered, Options);
}

bool OnnxRunner::makeValue(Port &P) {
  P.Buffer.assign((P.bytes() + 7) / 8, 0);
  onnx::Value *Value = nullptr;
  if (!ok(A.call<Api::CreateTensorWithDataAsOrtValue>(
          static_cast<const onnx::MemoryInfo *>(Memory),
          static_cast<void *>(P.Buffer.data()), P.bytes(),
          static_cast<const int64_t *>(P.Shape.data()), P.Shape.size(), P.Type,
          &Value)))
    return false;
  PortValues.push_back(Value);
  return true;
}

bool OnnxRunner::evaluate(const void *const *In, void *Out) {
  for (Port &P : Ports)
    fill(P, In, /*Offset=*/0, /*Row=*/0);
  if (!run())
    return false;
  if (Result.Count != wanted()) {
    Error = "output '" + OutputName + "': expected " + wantedText() + ", got " +
            std::to_string(Result.Count);
    return false;
  }
  return decide(Result.Data, Result.Type, 0,
                MaskInput ? static_cast<const int64_t *>(In[*MaskInput])
                          : nullptr,
                *static_cast<Advice *>(Out));
}

/// Runs the model into the value that the run before made. A model whose output
/// changes its shape cannot do that: it gets a new value each time.
bool OnnxRunner::run() {
  const char *Name = OutputName.c_str();
  const void *NoOptions = nullptr;
  auto Run = [&] {
    return ok(A.call<Api::Run>(Session, NoOptions, PortNames.data(),
                               PortValues.data(), PortValues.size(), &Name,
                               size_t(1), &Result.Value));
  };
  if (Result.Value && Result.Reusable) {
    if (Run())
      return true;
    Result.Reusable = false;
  }
  if (Result.Value)
    A.call<Api::ReleaseValue, void>(Result.Value);
  Result.Value = nullptr; // onnxruntime makes it
  return Run() && describeResult();
}

bool OnnxRunner::describeResult() {
  onnx::TensorInfo *Info = nullptr;
  const onnx::Value *Value = Result.Value;
  bool Good =
      ok(A.call<Api::GetTensorTypeAndShape>(Value, &Info)) &&
      ok(A.call<Api::GetTensorElementType>(
          static_cast<const onnx::TensorInfo *>(Info), &Result.Type)) &&
      ok(A.call<Api::GetTensorShapeElementCount>(
          static_cast<const onnx::TensorInfo *>(Info), &Result.Count)) &&
      ok(A.call<Api::GetTensorMutableData>(Result.Value, &Result.Data));
  if (Info)
    A.call<Api::ReleaseTensorTypeAndShapeInfo, void>(Info);
  return Good;
}

} // namespace

std::unique_ptr<Runner>
makeOnnxRunner(const std::string &Path, std::string_view Model,
               const std::vector<TensorSpec> &Offered, TensorSpec Output,
               const Domain &D, const ModelOptions &Options,
               const std::string &Library, std::string &Error, bool &Mismatch) {
  Mismatch = false;
  const Api *A = Api::load(Library, Error);
  if (!A)
    return nullptr;
  auto R = std::make_unique<OnnxRunner>(*A, std::move(Output), D);
  if (R->open(Model) && R->bind(Offered, Options))
    return R;
  Mismatch = R->mismatch();
  Error = "model " + Path + ": " + R->error();
  return nullptr;
}

} // namespace passpilot
