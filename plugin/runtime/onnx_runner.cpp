// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX model through onnxruntime's C API: one thread, no interpreter,
// input values created once over buffers that stay.

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
    for (Port &P : Ports)
      A.call<Api::ReleaseValue, void>(P.Value);
    A.call<Api::ReleaseValue, void>(Result.Value);
    A.call<Api::ReleaseSession, void>(Session);
    A.call<Api::ReleaseMemoryInfo, void>(Memory);
  }

  bool open(std::string_view Model);
  bool bindInputs(const std::vector<TensorSpec> &Offered,
                  const OnnxOptions &Options);
  bool chooseOutput(const OnnxOptions &Options);
  void bindMask(const std::vector<TensorSpec> &Offered);
  bool evaluate(const void *const *In, void *Out) override;
  bool Mismatch = false;

private:
  /// One input of the model: a buffer of our own, filled from our inputs
  /// [First, First + Count) before each run.
  struct Port {
    std::string Name;
    int Type = 0;
    std::vector<int64_t> Shape;
    std::vector<uint64_t> Buffer;
    size_t First = 0, Count = 0;
    std::vector<size_t> Elements; ///< of each of them
    bool Same = false;            ///< one input, of the port's own type
    onnx::Value *Value = nullptr;
  };

  const Api &A;
  const Domain TheDomain;
  std::optional<size_t> MaskInput; ///< of our inputs; for logits of a Choice
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
  std::vector<Port> Ports;
  std::vector<const char *> PortNames;
  std::vector<const onnx::Value *> PortValues;
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
  bool makeValue(Port &P);
  void fill(Port &P, const void *const *In);
  bool run();
  bool describeResult();
  size_t wanted() const {
    return Means == Meaning::Logits ? static_cast<size_t>(TheDomain.Count) : 1;
  }
  bool decide(const int64_t *Mask, void *Out);
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
    if (!makeValue(P))
      return false;
  }
  for (const auto &M : Options.Map)
    if (std::none_of(Ports.begin(), Ports.end(),
                     [&](const Port &P) { return P.Name == M.first; }))
      return refuse("map=" + M.first +
                    ": expected the name of a model input, got none of them");
  for (Port &P : Ports) {
    PortNames.push_back(P.Name.c_str());
    PortValues.push_back(P.Value);
  }
  return true;
}

bool OnnxRunner::fit(Port &P, const TensorSpec &Spec) {
  const TypePair *T = findOnnx(P.Type);
  std::vector<int64_t> Closed = P.Shape;
  if (!T || T->Ours != Spec.Type || !closeShape(Closed, Spec.elements()))
    return refuse("input '" + P.Name + "': expected " + numpyName(Spec.Type) +
                  shapeText(Spec.Shape) + " as the compiler offers, " + "got " +
                  (T ? numpyName(T->Ours) : "another type") +
                  shapeText(P.Shape) +
                  " in the model; export the model with the compiler's spec, "
                  "or use map=" +
                  P.Name + ":...");
  P.Shape = Closed;
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
  std::vector<int64_t> Closed = P.Shape;
  if (!closeShape(Closed, N))
    return refuse("input '" + P.Name + "': expected " + shapeText(P.Shape) +
                  " as the model has, got " + std::to_string(N) +
                  " elements from map=" + P.Name);
  P.Shape = Closed;
  return true;
}

bool OnnxRunner::makeValue(Port &P) {
  size_t N = 1;
  for (int64_t D : P.Shape)
    N *= static_cast<size_t>(D);
  size_t Bytes = N * scalarSize(findOnnx(P.Type)->Ours);
  P.Buffer.assign((Bytes + 7) / 8, 0);
  return ok(A.call<Api::CreateTensorWithDataAsOrtValue>(
      static_cast<const onnx::MemoryInfo *>(Memory),
      static_cast<void *>(P.Buffer.data()), Bytes,
      static_cast<const int64_t *>(P.Shape.data()), P.Shape.size(), P.Type,
      &P.Value));
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

bool OnnxRunner::evaluate(const void *const *In, void *Out) {
  for (Port &P : Ports)
    fill(P, In);
  if (!run())
    return false;
  return decide(
      MaskInput ? static_cast<const int64_t *>(In[*MaskInput]) : nullptr, Out);
}

void OnnxRunner::fill(Port &P, const void *const *In) {
  if (P.Same) {
    std::memcpy(P.Buffer.data(), In[P.First], Inputs[P.First].bytes());
    return;
  }
  size_t At = 0;
  for (size_t I = P.First; I < P.First + P.Count; ++I)
    for (size_t J = 0, E = P.Elements[I - P.First]; J < E; ++J)
      store(P.Buffer.data(), P.Type, At++, In[I], Inputs[I].Type, J);
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

bool OnnxRunner::decide(const int64_t *Mask, void *Out) {
  const size_t N = Result.Count, Want = wanted();
  auto Value = [&](size_t I) { return load(Result.Data, Result.Type, I); };
  for (size_t I = 0; I < N; ++I)
    if (std::isnan(Value(I))) {
      Error = "output '" + OutputName + "': expected numbers, got NaN";
      return false;
    }
  if (N != Want) {
    Error = "output '" + OutputName + "': expected " + std::to_string(Want) +
            (Want == 1 ? " element" : " elements, one per choice") + ", got " +
            std::to_string(N);
    return false;
  }
  Advice A{0};
  if (Means == Meaning::Logits) {
    size_t Best = N; // the first of the largest, among the legal
    for (size_t I = 0; I < N; ++I)
      if ((!Mask || Mask[I]) && (Best == N || Value(I) > Value(Best)))
        Best = I;
    A.Integer = static_cast<int64_t>(Best);
  } else if (Means == Meaning::Probability) {
    A.Integer = Value(0) >= Threshold;
  } else if (!decision(Value(0), A)) {
    return false;
  }
  std::memcpy(Out, &A, sizeof A);
  return true;
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
