// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX model through onnxruntime's C API: one thread, no interpreter,
// input values created once over buffers that stay, per number of questions
// that are asked at once.

#include "onnx_tensor.h"
#include "runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <sstream>

namespace passpilot {

using onnx::Api;
using onnx::closeShape;
using onnx::findOnnx;
using onnx::load;
using onnx::shapeText;
using onnx::store;
using onnx::TypePair;

namespace {

const int CpuArena = 1, CpuMemory = 0; // OrtArenaAllocator, OrtMemTypeDefault

enum class Meaning { Decision, Logits, Probability };

const TensorSpec *find(const std::vector<TensorSpec> &Specs,
                       const std::string &Name) {
  for (const TensorSpec &S : Specs)
    if (S.Name == Name)
      return &S;
  return nullptr;
}

class OnnxRunner final : public Runner {
public:
  OnnxRunner(const Api &A, TensorSpec Output, const Domain &D)
      : Runner({}, std::move(Output)), A(A), TheDomain(D) {}
  ~OnnxRunner() override {
    releaseBatches();
    A.call<Api::ReleaseSession, void>(Session);
    A.call<Api::ReleaseMemoryInfo, void>(Memory);
  }

  bool open(std::string_view Model);
  bool bindInputs(const std::vector<TensorSpec> &Offered,
                  const OnnxOptions &Options);
  bool chooseOutput(const OnnxOptions &Options);
  void bindMask(const std::vector<TensorSpec> &Offered);
  bool evaluate(const void *const *In, void *Out) override {
    return evaluateBatch(In, /*Stride=*/0, 1, static_cast<Advice *>(Out));
  }
  bool evaluateBatch(const void *const *In, size_t Stride, size_t Count,
                     Advice *Out) override;
  bool Mismatch = false;

private:
  /// One input of the model: a buffer of our own, filled from our inputs
  /// [First, First + Count) before each run, for one question after the other.
  struct Port {
    std::string Name;
    int Type = 0;
    std::vector<int64_t> Shape; ///< of one question
    size_t Size = 0;            ///< in elements, of one question
    std::vector<uint64_t> Buffer;
    size_t First = 0, Count = 0;
    std::vector<size_t> Elements; ///< of each of them
    bool Same = false;            ///< one input, of the port's own type
    size_t bytes() const { return Size * scalarSize(findOnnx(Type)->Ours); }
  };

  /// So many questions at once: values over the ports' buffers, and the answer.
  struct Batch {
    std::vector<onnx::Value *> Inputs;
    onnx::Value *Result = nullptr;
    void *Data = nullptr;
    int Type = 0;
    size_t Count = 0;
    bool Reusable = true;
  };
  static constexpr size_t LargestBatch = 64;

  const Api &A;
  const Domain TheDomain;
  std::optional<size_t> MaskInput; ///< of our inputs; for logits of a Choice
  onnx::Session *Session = nullptr;
  onnx::MemoryInfo *Memory = nullptr;
  std::vector<Port> Ports;
  std::vector<const char *> PortNames;
  std::vector<Batch> Batches; ///< of one question, of two, ...
  /// Whether the first dimension of all inputs and of the output is open.
  bool TakesSeveral = true;
  std::string OutputName;
  Meaning Means = Meaning::Decision;
  double Threshold = 0.5;

  bool ok(onnx::Status *S) { return A.ok(S, Error); }
  bool refuse(std::string Text) {
    Error = std::move(Text);
    Mismatch = true;
    return false;
  }
  template <Api::Place GetName> bool name(size_t I, std::string &Name);
  template <Api::Place GetInfo>
  bool describe(size_t I, int &Type, std::vector<int64_t> &Shape);
  bool concatenate(Port &P, const std::vector<std::string> &Names,
                   const std::vector<TensorSpec> &Offered);
  bool fit(Port &P, const TensorSpec &Spec);
  bool close(Port &P, size_t Elements);
  Batch *batchOf(size_t Count);
  bool makeValues(Batch &B, size_t Count);
  void releaseBatches();
  bool evaluateTogether(const void *const *In, size_t Stride, size_t Count,
                        Advice *Out);
  void fill(Port &P, const void *const *In, size_t Offset, size_t Row);
  bool run(Batch &B);
  bool describeResult(Batch &B);
  size_t wanted() const {
    return Means == Meaning::Logits ? static_cast<size_t>(TheDomain.Count) : 1;
  }
  bool decide(const Batch &B, size_t Row, const int64_t *Mask, Advice &Out);
  bool decision(double X, Advice &A);
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

bool OnnxRunner::bindInputs(const std::vector<TensorSpec> &Offered,
                            const OnnxOptions &Options) {
  size_t N = 0;
  if (!ok(A.call<Api::SessionGetInputCount>(
          static_cast<const onnx::Session *>(Session), &N)))
    return false;
  Ports.resize(N);
  for (size_t I = 0; I < N; ++I) {
    Port &P = Ports[I];
    if (!name<Api::SessionGetInputName>(I, P.Name) ||
        !describe<Api::SessionGetInputTypeInfo>(I, P.Type, P.Shape))
      return false;
    auto Mapped =
        std::find_if(Options.Map.begin(), Options.Map.end(),
                     [&](const auto &M) { return M.first == P.Name; });
    if (Mapped != Options.Map.end()) {
      if (!concatenate(P, Mapped->second, Offered))
        return false;
    } else if (const TensorSpec *Spec = find(Offered, P.Name)) {
      if (!fit(P, *Spec))
        return false;
    } else {
      return refuse(
          "input '" + P.Name +
          "': expected a tensor that the compiler offers, got " +
          (findOnnx(P.Type) ? numpyName(findOnnx(P.Type)->Ours) : "a tensor") +
          shapeText(P.Shape) +
          ", which nobody offers; 'passpilot features' lists them, and map=" +
          P.Name + ":a,b concatenates several into one input");
    }
  }
  for (const auto &M : Options.Map)
    if (std::none_of(Ports.begin(), Ports.end(),
                     [&](const Port &P) { return P.Name == M.first; }))
      return refuse("map=" + M.first +
                    ": expected the name of a model input, got none of them");
  for (Port &P : Ports)
    PortNames.push_back(P.Name.c_str());
  return true;
}

/// Gives the port's open dimensions their values for one question.
bool OnnxRunner::close(Port &P, size_t Elements) {
  std::vector<int64_t> Closed = P.Shape;
  if (!closeShape(Closed, Elements))
    return false;
  TakesSeveral &= !P.Shape.empty() && P.Shape[0] < 0 && Closed[0] == 1;
  P.Shape = Closed;
  P.Size = Elements;
  return true;
}

bool OnnxRunner::fit(Port &P, const TensorSpec &Spec) {
  const TypePair *T = findOnnx(P.Type);
  if (!T || T->Ours != Spec.Type || !close(P, Spec.elements()))
    return refuse("input '" + P.Name + "': expected " + numpyName(Spec.Type) +
                  shapeText(Spec.Shape) + " as the compiler offers, " + "got " +
                  (T ? numpyName(T->Ours) : "another type") +
                  shapeText(P.Shape) +
                  " in the model; export the model with the compiler's spec, "
                  "or use map=" +
                  P.Name + ":...");
  P.First = Inputs.size();
  P.Count = 1;
  P.Same = true;
  Inputs.push_back(Spec);
  return true;
}

bool OnnxRunner::concatenate(Port &P, const std::vector<std::string> &Names,
                             const std::vector<TensorSpec> &Offered) {
  if (P.Type != onnx::Float && P.Type != onnx::Double)
    return refuse("input '" + P.Name +
                  "': expected a float or double tensor for map=, got another "
                  "type; only float inputs are concatenated");
  P.First = Inputs.size();
  size_t N = 0;
  for (const std::string &Name : Names) {
    const TensorSpec *Spec = find(Offered, Name);
    if (!Spec)
      return refuse("map=" + P.Name +
                    ": expected names that the compiler offers, got '" + Name +
                    "'; 'passpilot features' lists them");
    N += Spec->elements();
    P.Elements.push_back(Spec->elements());
    Inputs.push_back(*Spec);
  }
  P.Count = Names.size();
  if (!close(P, N))
    return refuse("input '" + P.Name + "': expected " + shapeText(P.Shape) +
                  " as the model has, got " + std::to_string(N) +
                  " elements from map=" + P.Name);
  return true;
}

/// The values for \p Count questions; null on failure.
OnnxRunner::Batch *OnnxRunner::batchOf(size_t Count) {
  if (Count > Batches.size()) {
    releaseBatches(); // the buffers move
    for (Port &P : Ports)
      P.Buffer.assign((P.bytes() * Count + 7) / 8, 0);
    Batches.resize(Count);
  }
  Batch &B = Batches[Count - 1];
  return B.Inputs.size() == Ports.size() || makeValues(B, Count) ? &B : nullptr;
}

bool OnnxRunner::makeValues(Batch &B, size_t Count) {
  for (size_t I = B.Inputs.size(); I < Ports.size(); ++I) {
    Port &P = Ports[I];
    std::vector<int64_t> Shape = P.Shape;
    if (Count > 1)
      Shape[0] = static_cast<int64_t>(Count);
    onnx::Value *Value = nullptr;
    if (!ok(A.call<Api::CreateTensorWithDataAsOrtValue>(
            static_cast<const onnx::MemoryInfo *>(Memory),
            static_cast<void *>(P.Buffer.data()), P.bytes() * Count,
            static_cast<const int64_t *>(Shape.data()), Shape.size(), P.Type,
            &Value)))
      return false;
    B.Inputs.push_back(Value);
  }
  return true;
}

void OnnxRunner::releaseBatches() {
  for (Batch &B : Batches) {
    for (onnx::Value *V : B.Inputs)
      A.call<Api::ReleaseValue, void>(V);
    A.call<Api::ReleaseValue, void>(B.Result);
  }
  Batches.clear();
}

bool OnnxRunner::chooseOutput(const OnnxOptions &Options) {
  size_t N = 0, Chosen = 0;
  if (!ok(A.call<Api::SessionGetOutputCount>(
          static_cast<const onnx::Session *>(Session), &N)))
    return false;
  std::string Names;
  bool Found = N == 1 && Options.OutputName.empty();
  const std::string Wanted =
      Options.OutputName.empty() ? Output.Name : Options.OutputName;
  for (size_t I = 0; I < N; ++I) {
    std::string Name;
    if (!name<Api::SessionGetOutputName>(I, Name))
      return false;
    if (Name == Wanted) {
      Found = true;
      Chosen = I;
    }
    if (I == Chosen)
      OutputName = Name;
    Names += (I ? ", " : "") + Name;
  }
  if (!Found)
    return refuse("output: expected '" + Wanted + "', got " + Names +
                  "; name one by output=");
  int Type = 0;
  std::vector<int64_t> Shape;
  if (!describe<Api::SessionGetOutputTypeInfo>(Chosen, Type, Shape))
    return false;
  if (Type != onnx::Bool && !findOnnx(Type))
    return refuse("output '" + OutputName +
                  "': expected a tensor of numbers, got another type");
  bool IsFloat = Type == onnx::Float || Type == onnx::Double;
  int64_t Last = Shape.empty() ? 1 : Shape.back();
  const bool Guess = Options.As.empty() && IsFloat;
  if (TheDomain.Kind == DomainKind::Number)
    Means = Meaning::Decision;
  else if (Options.As == "logits" || (Guess && Last != 1))
    Means = Meaning::Logits;
  else if (Options.As == "probability" ||
           (Guess && TheDomain.Kind == DomainKind::Flag))
    Means = Meaning::Probability;
  Threshold = Options.Threshold;
  TakesSeveral &= !Shape.empty() && Shape[0] < 0;
  std::vector<int64_t> Closed = Shape;
  const size_t Want = wanted();
  const bool Known =
      std::all_of(Shape.begin(), Shape.end(), [](int64_t D) { return D >= 0; });
  if (Known && !closeShape(Closed, Want))
    return refuse("output '" + OutputName + "': expected " +
                  std::to_string(Want) +
                  (Want == 1 ? " element" : " elements, one per choice") +
                  ", got " + shapeText(Shape) + "; see as=");
  return true;
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
  for (Port &P : Ports)
    for (size_t Row = 0; Row < Count; ++Row)
      fill(P, In, Stride * Row, Row);
  if (!run(*B))
    return false;
  if (const size_t Want = wanted(); B->Count != Want * Count) {
    Error = "output '" + OutputName + "': expected " + std::to_string(Want) +
            (Want == 1 ? " element" : " elements, one per choice") +
            (Count == 1 ? "" : ", for each of " + std::to_string(Count)) +
            ", got " + std::to_string(B->Count);
    return false;
  }
  for (size_t Row = 0; Row < Count; ++Row) {
    const void *Mask = MaskInput ? In[*MaskInput] : nullptr;
    if (!decide(*B, Row,
                Mask ? static_cast<const int64_t *>(shifted(Mask, Stride * Row))
                     : nullptr,
                Out[Row]))
      return false;
  }
  return true;
}

/// Writes the question whose inputs are \p Offset bytes after \p In.
void OnnxRunner::fill(Port &P, const void *const *In, size_t Offset,
                      size_t Row) {
  if (P.Same) {
    std::memcpy(reinterpret_cast<char *>(P.Buffer.data()) + Row * P.bytes(),
                shifted(In[P.First], Offset), P.bytes());
    return;
  }
  size_t At = Row * P.Size;
  for (size_t I = P.First; I < P.First + P.Count; ++I) {
    const void *From = shifted(In[I], Offset);
    for (size_t J = 0, E = P.Elements[I - P.First]; J < E; ++J)
      store(P.Buffer.data(), P.Type, At++, From, Inputs[I].Type, J);
  }
}

/// Runs the model into the value that the run before made. A model whose output
/// changes its shape cannot do that: it gets a new value each time.
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
  B.Result = nullptr; // onnxruntime makes it
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

bool OnnxRunner::decide(const Batch &B, size_t Row, const int64_t *Mask,
                        Advice &Out) {
  const size_t N = wanted();
  auto Value = [&](size_t I) { return load(B.Data, B.Type, Row * N + I); };
  for (size_t I = 0; I < N; ++I)
    if (std::isnan(Value(I))) {
      Error = "output '" + OutputName + "': expected numbers, got NaN";
      return false;
    }
  if (Means == Meaning::Logits) {
    size_t Best = N; // the first of the largest, among the legal
    for (size_t I = 0; I < N; ++I)
      if ((!Mask || Mask[I]) && (Best == N || Value(I) > Value(Best)))
        Best = I;
    Out.Integer = static_cast<int64_t>(Best);
    return true;
  }
  if (Means == Meaning::Probability) {
    Out.Integer = Value(0) >= Threshold;
    return true;
  }
  return decision(Value(0), Out);
}

/// The output as the decision itself; the legality of a number or a column is
/// the caller's to check.
bool OnnxRunner::decision(double X, Advice &A) {
  if (TheDomain.Kind == DomainKind::Number) {
    A.Number = X;
    return true;
  }
  if (X >= 0 && X < static_cast<double>(TheDomain.Count) &&
      X == std::floor(X)) {
    A.Integer = static_cast<int64_t>(X);
    return true;
  }
  std::ostringstream OS;
  OS << "output '" << OutputName << "': expected " << TheDomain.expected()
     << ", got " << X;
  if (TheDomain.Kind == DomainKind::Flag)
    OS << "; as=probability&threshold= makes a decision of a probability";
  Error = OS.str();
  return false;
}

void OnnxRunner::bindMask(const std::vector<TensorSpec> &Offered) {
  if (Means != Meaning::Logits || TheDomain.Kind != DomainKind::Choice)
    return;
  MaskInput = Inputs.size();
  Inputs.push_back(*find(Offered, TheDomain.Mask));
}

} // namespace

std::unique_ptr<Runner> makeOnnxRunner(const std::string &Path,
                                       std::string_view Model,
                                       const std::vector<TensorSpec> &Offered,
                                       TensorSpec Output, const Domain &D,
                                       const OnnxOptions &Options,
                                       std::string &Error, bool &Mismatch) {
  Mismatch = false;
  const Api *A = Api::load(Options.Library, Error);
  if (!A)
    return nullptr;
  auto R = std::make_unique<OnnxRunner>(*A, std::move(Output), D);
  if (R->open(Model) && R->bindInputs(Offered, Options) &&
      R->chooseOutput(Options)) {
    R->bindMask(Offered);
    return R;
  }
  Mismatch = R->Mismatch;
  Error = "model " + Path + ": " + R->error();
  return nullptr;
}

} // namespace passpilot
