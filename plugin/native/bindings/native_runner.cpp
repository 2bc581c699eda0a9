// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "native_runner.h"

#include "core.h"
#include "interpreter.h"
#include "py_advisor.h"
#include "python_error.h"
#include "tensor_view.h"

#include "../llvm/host_features.h"
#include "../runtime/decision_file.h"
#include "../runtime/point.h"

namespace passpilot {

namespace {

std::unique_ptr<NativeRunner> wrap(std::unique_ptr<Runner> R) {
  auto N = std::make_unique<NativeRunner>();
  N->Impl = std::move(R);
  return N;
}

/// An InputMap as Python gives it.
using MapRow = std::tuple<std::string, std::vector<std::string>, bool>;

ModelOptions optionsOf(const std::string &OutputName, const std::string &As,
                       std::optional<double> Threshold,
                       const std::vector<MapRow> &Map) {
  ModelOptions O{OutputName, As, Threshold, {}};
  for (const auto &[Input, Features, All] : Map)
    O.Map.push_back({Input, Features, All});
  return O;
}

/// Wraps the runner that \p Make makes, or raises its error.
template <typename Function>
std::unique_ptr<NativeRunner> model(const Function &Make) {
  std::string Error;
  bool Mismatch = false;
  auto R = Make(Error, Mismatch);
  if (!R)
    raiseError(Mismatch ? "SpecMismatchError" : "ModelError", Error);
  return wrap(std::move(R));
}

std::unique_ptr<NativeRunner>
onnx(const std::string &Path, nb::bytes Model, const std::string &Library,
     const std::vector<TensorSpec> &Offered, const TensorSpec &Output,
     const Domain &D, const std::string &OutputName, const std::string &As,
     std::optional<double> Threshold, const std::vector<MapRow> &Map) {
  return model([&](std::string &Error, bool &Mismatch) {
    return makeOnnxRunner(Path, {Model.c_str(), Model.size()}, Offered, Output,
                          D, optionsOf(OutputName, As, Threshold, Map), Library,
                          Error, Mismatch);
  });
}

std::unique_ptr<NativeRunner>
aot(const std::string &Path, const std::vector<TensorSpec> &Offered,
    const TensorSpec &Output, const Domain &D, const std::string &OutputName,
    const std::string &As, std::optional<double> Threshold,
    const std::vector<MapRow> &Map) {
  return model([&](std::string &Error, bool &Mismatch) {
    return makeAotRunner(Path, hostFeatures(), Offered, Output, D,
                         optionsOf(OutputName, As, Threshold, Map), Error,
                         Mismatch);
  });
}

/// Reserves a runner for one call: the runner has one set of buffers, and a
/// model runs without the GIL.
class Reserved {
public:
  explicit Reserved(NativeRunner &N) : R(*N.Impl) {
    if (!R.reserve())
      raiseError("RunnerError",
                 "native runner: expected one thread at a time, got another "
                 "while it was in use; make a runner for each");
  }
  ~Reserved() { R.release(); }
  Reserved(const Reserved &) = delete;

private:
  Runner &R;
};

/// The offset of each of \p Inputs in a frame of \p Size bytes, which has the
/// layout of a TensorBlock of the distinct inputs.
std::vector<size_t> offsetsOf(const std::vector<TensorSpec> &Inputs,
                              size_t Size) {
  std::vector<TensorSpec> Distinct;
  std::vector<size_t> Place;
  for (const TensorSpec &S : Inputs) {
    size_t I = 0;
    while (I < Distinct.size() && Distinct[I].Name != S.Name)
      ++I;
    if (I == Distinct.size())
      Distinct.push_back(S);
    Place.push_back(I);
  }
  TensorBlock Layout(Distinct);
  if (Size != Layout.bytes())
    throw nb::value_error(
        "frame: expected the size of the runner's inputs, got another");
  for (size_t &I : Place)
    I = Layout.offset(I);
  return Place;
}

void bind(NativeRunner &N,
          nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig> Frame) {
  Reserved Mine(N);
  const std::vector<size_t> Offsets = offsetsOf(N.Impl->inputs(), Frame.size());
  N.Inputs.clear();
  for (size_t O : Offsets)
    N.Inputs.push_back(Frame.data() + O);
  N.Frame = nb::cast(Frame);
}

nb::object evaluate(NativeRunner &N) {
  Reserved Mine(N);
  if (N.Inputs.size() != N.Impl->inputs().size())
    raiseError("RunnerError",
               "native runner: expected bind() before evaluate(), got none");
  Advice Answer{0};
  bool Good;
  {
    ReleasedGIL NoGIL;
    Good = N.Impl->evaluate(N.Inputs.data(), &Answer);
  }
  if (!Good)
    raiseError("ModelError", N.Impl->error());
  return adviceOf(N.Impl->output(), Answer);
}

/// Answers several questions; each row of \p Frames is one question.
nb::list
evaluateBatch(NativeRunner &N,
              nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig> Frames) {
  Reserved Mine(N);
  const size_t Count = Frames.shape(0), Stride = Frames.shape(1);
  const std::vector<size_t> Offsets = offsetsOf(N.Impl->inputs(), Stride);
  std::vector<const void *> Firsts;
  Firsts.reserve(Offsets.size());
  for (size_t O : Offsets)
    Firsts.push_back(Frames.data() + O);
  std::vector<Advice> Answers(Count);
  bool Good = true;
  if (Count) {
    ReleasedGIL NoGIL;
    Good = N.Impl->evaluateBatch(Firsts.data(), Stride, Count, Answers.data());
  }
  if (!Good)
    raiseError("ModelError", N.Impl->error());
  nb::list L;
  for (const Advice &A : Answers)
    L.append(adviceOf(N.Impl->output(), A));
  return L;
}

} // namespace

static void bindSchemes(nb::class_<NativeRunner> &C) {
  C.def_static(
       "constant",
       [](const TensorSpec &Output, double Value) {
         Advice A;
         if (Output.Type == ScalarType::Double)
           A.Number = Value;
         else
           A.Integer = static_cast<int64_t>(Value);
         return wrap(makeConstRunner(Output, A));
       },
       nb::arg("output"), nb::arg("value"))
      .def_static(
          "default",
          [](const TensorSpec &Output, const TensorSpec &Default) {
            return wrap(makeDefaultRunner(Output, Default));
          },
          nb::arg("output"), nb::arg("default"))
      .def_static(
          "random",
          [](const TensorSpec &Output, const Domain &D, const TensorSpec *Mask,
             uint64_t Seed) {
            return wrap(makeRandomRunner(Output, D, Mask, Seed));
          },
          nb::arg("output"), nb::arg("domain"), nb::arg("mask").none(),
          nb::arg("seed"))
      .def_static(
          "function",
          [](const std::vector<TensorSpec> &Inputs, const TensorSpec &Output,
             uintptr_t Evaluate, uintptr_t Context) {
            return wrap(makeFunctionRunner(
                Inputs, Output, reinterpret_cast<passpilot_evaluate>(Evaluate),
                reinterpret_cast<void *>(Context)));
          },
          nb::arg("inputs"), nb::arg("output"), nb::arg("evaluate"),
          nb::arg("context"))
      .def_static("onnx", &onnx, nb::arg("path"), nb::arg("model"),
                  nb::arg("library"), nb::arg("offered"), nb::arg("output"),
                  nb::arg("domain"), nb::arg("output_name"), nb::arg("as_"),
                  nb::arg("threshold"), nb::arg("map"))
      .def_static("aot", &aot, nb::arg("path"), nb::arg("offered"),
                  nb::arg("output"), nb::arg("domain"), nb::arg("output_name"),
                  nb::arg("as_"), nb::arg("threshold"), nb::arg("map"))
      .def_static(
          "score",
          [](NativeRunner &Scorer, const std::vector<TensorSpec> &Offered,
             const TensorSpec &Output, const Domain &D) {
            return wrap(makeScoreRunner(Scorer.Impl, Offered, Output, D));
          },
          nb::arg("scorer"), nb::arg("offered"), nb::arg("output"),
          nb::arg("domain"));
}

/// The decisions of a unit, as Python's reader takes them.
static nb::tuple decisionsOf(const UnitDecisions &U) {
  nb::list Inline, Functions;
  for (const auto &[Call, Decisions] : U.Inline)
    for (const auto &[Number, D] : Decisions)
      Inline.append(
          nb::make_tuple(Call.first, Call.second, Number, D.Yes, D.Bytes));
  for (const auto &[Name, D] : U.Functions)
    Functions.append(nb::make_tuple(Name, D.Words));
  return nb::make_tuple(U.Name, Inline, U.Pipeline, U.Options, Functions,
                        U.Searched);
}

static void bindDecisions(nb::module_ &M, nb::class_<NativeRunner> &C) {
  C.def_static(
      "decisions",
      [](const std::string &Path, const TensorSpec &Output,
         const TensorSpec &Default) {
        std::string Error;
        auto R = makeDecisionsRunner(Path, Output, Default, Error);
        if (!R)
          raiseError("InputError", Error);
        return wrap(std::move(R));
      },
      nb::arg("path"), nb::arg("output"), nb::arg("default"));
  M.def(
      "read_decisions",
      [](const std::string &Path) {
        std::string Error;
        const auto File = DecisionFile::read(Path, Error);
        if (!File)
          raiseError("InputError", Error);
        nb::list Units;
        for (const UnitDecisions &U : File->units())
          Units.append(decisionsOf(U));
        return Units;
      },
      nb::arg("path"),
      nb::sig("def read_decisions(path: str) -> list[tuple[str, "
              "list[tuple[str, str, int, bool, int]], str, list[str], "
              "list[tuple[str, list[str]]], list[str]]]"),
      "The units of a decision file: their names, decisions about calls, "
      "pipelines, options, decisions about functions, and hashes.");
  M.def(
      "decided_options",
      [](const std::string &Path, const std::string &Source) {
        std::string Error;
        const auto File = DecisionFile::read(Path, Error);
        if (!File)
          raiseError("InputError", Error);
        const UnitDecisions *Unit = File->find(Source);
        return Unit ? Unit->Options : std::vector<std::string>();
      },
      nb::arg("path"), nb::arg("source"),
      "The options of code generation, as NAME or NAME=VALUE, that a decision "
      "file has for the module that was made of `source`.");
}

void bindRunner(nb::module_ &M) {
  nb::class_<NativeRunner> C(M, "NativeRunner");
  bindSchemes(C);
  bindDecisions(M, C);
  C.def_prop_ro("inputs", [](NativeRunner &N) { return N.Impl->inputs(); })
      .def_prop_ro("output", [](NativeRunner &N) { return N.Impl->output(); })
      .def_prop_ro("warning", [](NativeRunner &N) { return N.Impl->warning(); })
      .def("bind", &bind, nb::arg("frame"))
      .def("evaluate", &evaluate, nb::sig("def evaluate(self) -> int | float"))
      .def("evaluate_batch", &evaluateBatch, nb::arg("frames"),
           nb::sig("def evaluate_batch(self, frames: NDArray[numpy.uint8]) -> "
                   "list[int | float]"))
      .def(
          "switch_context",
          [](NativeRunner &N, const std::string &Name) {
            Reserved Mine(N);
            N.Impl->switchContext(Name);
          },
          nb::arg("name"));
}

} // namespace passpilot
