// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX model through onnxruntime's C API, on one thread and without an
// interpreter. For each batch size, input values are created once, over buffers
// that stay.

#include "model_runner.h"
#include "onnx_tensor.h"
#include "text.h"

#include <algorithm>
#include <filesystem>
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
    releaseBatches();
    A.call<Api::ReleaseSession, void>(Session);
    A.call<Api::ReleaseMemoryInfo, void>(Memory);
  }

  /// \p Folder has the files that the model names, as for external data.
  bool open(std::string_view Model, const std::string &Folder);
  bool bind(const std::vector<TensorSpec> &Offered,
            const ModelOptions &Options);
  bool evaluate(const void *const *In, void *Out) override {
    return evaluateBatch(In, /*Stride=*/0, 1, static_cast<Advice *>(Out));
  }
  bool evaluateBatch(const void *const *In, size_t Stride, size_t Count,
                     Advice *Out) override;
  Batching batching() const override {
    return TakesSeveral ? Batching::Any : Batching::None;
  }

private:
  /// One batch size: values over the ports' buffers, and the answer.
  struct Batch {
    std::vector<onnx::Value *> Inputs;
    onnx::Value *Result = nullptr;
    void *Data = nullptr;
    int Type = 0;
    size_t Count = 0;
    bool Reusable = true;
  };
  static constexpr size_t LargestBatch = 64;
  static constexpr size_t Large = 4096; ///< bytes from which copying is avoided

  const Api &A;
  onnx::Session *Session = nullptr;
  onnx::MemoryInfo *Memory = nullptr;
  std::vector<const char *> PortNames;
  std::vector<Batch> Batches; ///< by size: one question, two, ...
  /// Whether the first dimension of every input and of the output is open.
  bool TakesSeveral = false;

  bool ok(onnx::Status *S) { return A.ok(S, Error); }
  template <Api::Place GetCount, Api::Place GetName, Api::Place GetInfo>
  bool describeAll(std::vector<ModelTensor> &Tensors);
  template <Api::Place GetName> bool name(size_t I, std::string &Name);
  template <Api::Place GetInfo>
  bool describe(size_t I, int &Type, std::vector<int64_t> &Shape);
  bool readColumns(std::vector<ModelTensor> &Inputs);
  Batch *batchOf(size_t Count);
  bool makeValues(Batch &B, size_t Count);
  onnx::Value *makeValue(Port &P, void *Data, size_t Count);
  bool readInPlace(Batch &B, size_t I, const void *Data);
  void releaseBatches();
  bool evaluateTogether(const void *const *In, size_t Stride, size_t Count,
                        Advice *Out);
  bool run(Batch &B);
  bool describeResult(Batch &B);
};

bool OnnxRunner::open(std::string_view Model, const std::string &Place) {
  Folder = Place;
  onnx::SessionOptions *Options = nullptr;
  if (!ok(A.call<Api::CreateSessionOptions>(&Options)))
    return false;
  const int AllOptimizations = 99;
  bool Good =
      ok(A.call<Api::SetIntraOpNumThreads>(Options, 1)) &&
      ok(A.call<Api::SetInterOpNumThreads>(Options, 1)) &&
      ok(A.call<Api::SetGraphOptimizationLevel>(Options, AllOptimizations)) &&
      ok(A.call<Api::AddSessionConfigEntry>(
          Options, "session.model_external_initializers_file_folder_path",
          Folder.c_str())) &&
      ok(A.call<Api::CreateSessionFromArray>(
          A.env(), static_cast<const void *>(Model.data()), Model.size(),
          static_cast<const onnx::SessionOptions *>(Options), &Session)) &&
      ok(A.call<Api::CreateCpuMemoryInfo>(CpuArena, CpuMemory, &Memory));
  A.call<Api::ReleaseSessionOptions, void>(Options);
  return Good;
}

template <Api::Place GetName>
bool OnnxRunner::name(size_t I, std::string &Name) {
  onnx::Allocator *Alloc = nullptr; // the default one; must not be released
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

/// Reads from the model's metadata which features its inputs are made of.
bool OnnxRunner::readColumns(std::vector<ModelTensor> &Inputs) {
  onnx::Allocator *Alloc = nullptr; // the default one; must not be released
  onnx::ModelMetadata *Metadata = nullptr;
  bool Good = ok(A.call<Api::GetAllocatorWithDefaultOptions>(&Alloc)) &&
              ok(A.call<Api::SessionGetModelMetadata>(
                  static_cast<const onnx::Session *>(Session), &Metadata));
  auto Read = [&](const std::string &Key) {
    char *Text = nullptr; // stays null if the model lacks the key
    Good = Good && ok(A.call<Api::ModelMetadataLookupCustomMetadataMap>(
                       static_cast<const onnx::ModelMetadata *>(Metadata),
                       Alloc, Key.c_str(), &Text));
    const std::string Value = Text ? Text : "";
    if (Text)
      Good &= ok(A.call<Api::AllocatorFree>(Alloc, static_cast<void *>(Text)));
    return Value;
  };
  for (ModelTensor &T : Inputs)
    T.Columns = split(Read("passpilot/columns/" + T.Name));
  CustomFeatures = Read("passpilot/custom-features");
  MadeFor = Read("passpilot/point");
  if (Metadata)
    A.call<Api::ReleaseModelMetadata, void>(Metadata);
  return Good;
}

bool OnnxRunner::bind(const std::vector<TensorSpec> &Offered,
                      const ModelOptions &Options) {
  std::vector<ModelTensor> Wanted, Known;
  if (!describeAll<Api::SessionGetInputCount, Api::SessionGetInputName,
                   Api::SessionGetInputTypeInfo>(Wanted) ||
      !describeAll<Api::SessionGetOutputCount, Api::SessionGetOutputName,
                   Api::SessionGetOutputTypeInfo>(Known) ||
      !readColumns(Wanted) || !bindInputs(Wanted, Offered, Options) ||
      !chooseOutput(Known, Offered, Options))
    return false;
  auto IsOpen = [](const ModelTensor &T) {
    return !T.Shape.empty() && T.Shape[0] < 0;
  };
  TakesSeveral = IsOpen(Known[Chosen]);
  for (size_t I = 0; I < Ports.size(); ++I) {
    PortNames.push_back(Ports[I].Name.c_str());
    TakesSeveral &= IsOpen(Wanted[I]) && Ports[I].Shape[0] == 1;
  }
  return true;
}

/// The values for a batch of \p Count questions; null on failure.
OnnxRunner::Batch *OnnxRunner::batchOf(size_t Count) {
  if (Count > Batches.size()) {
    releaseBatches(); // the buffers are about to move
    for (Port &P : Ports)
      P.Buffer.assign((P.bytes() * Count + 7) / 8, 0);
    Batches.resize(Count);
  }
  Batch &B = Batches[Count - 1];
  return B.Inputs.size() == Ports.size() || makeValues(B, Count) ? &B : nullptr;
}

bool OnnxRunner::makeValues(Batch &B, size_t Count) {
  for (size_t I = B.Inputs.size(); I < Ports.size(); ++I) {
    onnx::Value *Value = makeValue(Ports[I], Ports[I].Buffer.data(), Count);
    if (!Value)
      return false;
    B.Inputs.push_back(Value);
  }
  return true;
}

/// The input value for the \p Count questions at \p Data; null on failure.
onnx::Value *OnnxRunner::makeValue(Port &P, void *Data, size_t Count) {
  std::vector<int64_t> Shape = P.Shape;
  if (Count > 1)
    Shape[0] = static_cast<int64_t>(Count);
  onnx::Value *Value = nullptr;
  return ok(A.call<Api::CreateTensorWithDataAsOrtValue>(
             static_cast<const onnx::MemoryInfo *>(Memory), Data,
             P.bytes() * Count, static_cast<const int64_t *>(Shape.data()),
             Shape.size(), P.Type, &Value))
             ? Value
             : nullptr;
}

/// Lets the model read a question's large tensor at \p Data without a copy. The
/// address rarely changes between runs.
bool OnnxRunner::readInPlace(Batch &B, size_t I, const void *Data) {
  Port &P = Ports[I];
  if (P.InPlace == Data)
    return true;
  onnx::Value *Value = makeValue(P, const_cast<void *>(Data), 1);
  if (!Value)
    return false;
  A.call<Api::ReleaseValue, void>(B.Inputs[I]);
  B.Inputs[I] = Value;
  P.InPlace = Data;
  return true;
}

void OnnxRunner::releaseBatches() {
  for (Batch &B : Batches) {
    for (onnx::Value *V : B.Inputs)
      A.call<Api::ReleaseValue, void>(V);
    A.call<Api::ReleaseValue, void>(B.Result);
  }
  Batches.clear();
  for (Port &P : Ports)
    P.InPlace = nullptr;
}

bool OnnxRunner::evaluateBatch(const void *const *In, size_t Stride,
                               size_t Count, Advice *Out) {
  if (Count > 1 && !TakesSeveral)
    return Runner::evaluateBatch(In, Stride, Count, Out);
  if (Count <= LargestBatch)
    return evaluateTogether(In, Stride, Count, Out);
  for (size_t Row = 0; Row < Count; Row += LargestBatch)
    if (!evaluateTogether(offset(In, Stride * Row), Stride,
                          std::min(LargestBatch, Count - Row), Out + Row))
      return false;
  return true;
}

bool OnnxRunner::evaluateTogether(const void *const *In, size_t Stride,
                                  size_t Count, Advice *Out) {
  Batch *B = batchOf(Count);
  if (!B)
    return false;
  for (size_t I = 0; I < Ports.size(); ++I) {
    Port &P = Ports[I];
    if (Count == 1 && P.Same && P.bytes() >= Large) {
      if (!readInPlace(*B, I, In[P.First]))
        return false;
    } else {
      for (size_t Row = 0; Row < Count; ++Row)
        fill(P, In, Stride * Row, Row);
    }
  }
  if (!run(*B))
    return false;
  if (B->Count != wanted() * Count) {
    Error = "output '" + OutputName + "': expected " + wantedText() +
            (Count == 1 ? "" : ", for each of " + std::to_string(Count)) +
            ", got " + std::to_string(B->Count);
    return false;
  }
  for (size_t Row = 0; Row < Count; ++Row) {
    const void *Mask =
        MaskInput ? shifted(In[*MaskInput], Stride * Row) : nullptr;
    if (!decide(B->Data, B->Type, Row, static_cast<const int64_t *>(Mask),
                Out[Row]))
      return false;
  }
  return true;
}

/// Runs the model into the value of the previous run. A model whose output
/// changes its shape cannot do that and gets a new value each time.
bool OnnxRunner::run(Batch &B) {
  const char *Name = OutputName.c_str();
  const void *NoOptions = nullptr;
  auto Run = [&] {
    return ok(A.call<Api::Run>(Session, NoOptions, PortNames.data(),
                               B.Inputs.data(), B.Inputs.size(), &Name,
                               size_t(1), &B.Result));
  };
  if (B.Result && B.Reusable) {
    if (Run())
      return true;
    B.Reusable = false;
  }
  if (B.Result)
    A.call<Api::ReleaseValue, void>(B.Result);
  B.Result = nullptr; // onnxruntime allocates it
  return Run() && describeResult(B);
}

bool OnnxRunner::describeResult(Batch &B) {
  onnx::TensorInfo *Info = nullptr;
  const onnx::Value *Value = B.Result;
  bool Good = ok(A.call<Api::GetTensorTypeAndShape>(Value, &Info)) &&
              ok(A.call<Api::GetTensorElementType>(
                  static_cast<const onnx::TensorInfo *>(Info), &B.Type)) &&
              ok(A.call<Api::GetTensorShapeElementCount>(
                  static_cast<const onnx::TensorInfo *>(Info), &B.Count)) &&
              ok(A.call<Api::GetTensorMutableData>(B.Result, &B.Data));
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
  const std::string Folder = std::filesystem::path(Path).parent_path();
  const bool Opened = R->open(Model, Folder.empty() ? "." : Folder);
  if (Opened && R->bind(Offered, Options)) {
    R->nameWarning(Path);
    return R;
  }
  Mismatch = R->mismatch();
  const char *Wrong = "expected an ONNX model that onnxruntime loads, got: ";
  const bool IsLibrary = Model.substr(0, 4) == "\x7f"
                                               "ELF";
  Error =
      "model " + Path + ": " + (Opened ? "" : Wrong) + R->error() +
      (IsLibrary ? "; aot:" + Path + " runs what passpilot aot has made" : "");
  return nullptr;
}

} // namespace passpilot
