// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "gc.h"
#include "native_runner.h"
#include "pass_question.h"
#include "py_failure.h"
#include "py_runner.h"
#include "python_error.h"
#include "tensor_view.h"
#include "view.h"

#include "../llvm/points.h"

#include <algorithm>

namespace passpilot {

namespace {

CustomFeature pythonFeature(PyAdvisor &A, const TensorSpec &Spec,
                            const nb::object &Fill) {
  const size_t I = A.Fills.size();
  A.Fills.push_back(Fill);
  return {Spec, [&A, I](void *) {
            return guarded(A, FailureKind::Feature, [&] {
              A.Fills[I]();
              return true;
            });
          }};
}

CustomFeature nativeFeature(PyAdvisor &A, const TensorSpec &Spec,
                            const nb::object &Fill) {
  const auto &Native = nb::cast<const NativeFeature &>(Fill);
  FeatureFiller &Filler = A.fillerOf(Native);
  auto Write = [&A, &Filler, I = Native.Index, Name = Spec.Name](void *Buffer) {
    const std::string Wrong = Filler.fill(*A.Session, I, Buffer);
    if (!Wrong.empty())
      A.Session->noteFailure(FailureKind::Feature,
                             "feature '" + Name + "': " + Wrong);
    return Wrong.empty();
  };
  return {Spec, Write, /*ReadsOthers=*/false};
}

void create(PyAdvisor *Self, const Point &Asked, nb::object Native,
            const std::vector<TensorSpec> &Inputs,
            const std::vector<std::pair<TensorSpec, nb::object>> &Custom,
            bool DefaultOnError, double Limit, bool Logged) {
  auto *A = new (Self) PyAdvisor;
  A->Point = Asked;
  const Point &P = A->Point;
  std::shared_ptr<Runner> R;
  if (Native.is_none())
    R = makePyRunner(*A, Inputs, P.Decision);
  else
    R = nb::cast<NativeRunner &>(Native).Impl;
  std::vector<CustomFeature> Features;
  Features.reserve(Custom.size());
  for (const auto &[Spec, Fill] : Custom)
    Features.push_back(nb::isinstance<NativeFeature>(Fill)
                           ? nativeFeature(*A, Spec, Fill)
                           : pythonFeature(*A, Spec, Fill));
  A->Session = std::make_unique<Session>(P, std::move(R), std::move(Features),
                                         DefaultOnError, Logged);
  A->Session->Limit = Limit;
}

nb::dict countsOf(PyAdvisor &A) {
  const Counts &C = A.Session->Counts;
  nb::dict D;
  D["asked"] = C.Asked;
  D["accepted"] = C.Accepted;
  D["agreed"] = C.Agreed;
  D["compared"] = C.Compared;
  D["fallbacks"] = C.Fallbacks;
  D["not_askable"] = C.NotAskable;
  D["budget_hits"] = C.BudgetHits;
  D["ask_seconds"] = C.AskSeconds;
  D["default_seconds"] = C.DefaultSeconds;
  return D;
}

nb::dict viewsOf(PyAdvisor &A, bool Writable) {
  nb::dict D;
  const auto &Block = A.Session->block();
  for (size_t I = 0; I < Block->specs().size(); ++I)
    D[Block->specs()[I].Name.c_str()] = viewOf(Block, I, Writable);
  return D;
}

/// Computes a native feature that is not bound.
void compute(PyAdvisor &A, const NativeFeature &F, const std::string &Name,
             const nb::ndarray<nb::c_contig, nb::device::cpu> &Out) {
  if (!A.Session->current())
    raiseError("StaleViewError", "obs[" + Name +
                                     "]: expected to be read within a "
                                     "decision, got a read outside");
  const std::string Wrong = A.fillerOf(F).fill(*A.Session, F.Index, Out.data());
  if (!Wrong.empty())
    raiseError("FeatureError", "feature '" + Name + "': " + Wrong);
}

nb::object frame(PyAdvisor &A) {
  std::vector<std::string> Names;
  for (const TensorSpec &S : A.Session->runner().inputs())
    if (std::find(Names.begin(), Names.end(), S.Name) == Names.end())
      Names.push_back(S.Name);
  return frameOf(A.Session->block(), Names.size());
}

nb::object defaultDecision(PyAdvisor &A) {
  if (!A.Session->current())
    raiseError("StaleViewError",
               "obs.default(): expected to be called within a decision, got a "
               "call outside");
  const Advice D = A.Session->defaultAdvice();
  if (A.Session->failure().Kind == FailureKind::Default) {
    PyErr_SetObject(A.Exception.type().ptr(), A.Exception.ptr());
    throw nb::python_error();
  }
  return pythonAdvice(A, D);
}

nb::object currentSite(nb::object Owner) {
  auto &A = nb::cast<PyAdvisor &>(Owner);
  if (!A.Session->current())
    raiseError("StaleViewError", "obs.site: expected to be read within a "
                                 "decision, got a read outside");
  if (A.Locate.is_valid())
    return passSiteOf(A);
  return siteMakers().at(A.Point.Name)(Owner, A);
}

void bindHookedPoint(nb::module_ &M) {
  nb::class_<PointLimit>(M, "PointLimit")
      .def_ro("option", &PointLimit::Option)
      .def_ro("value", &PointLimit::Value)
      .def_ro("help", &PointLimit::Help)
      .def_ro("default", &PointLimit::Default)
      .def_ro("whole", &PointLimit::Whole);
  nb::class_<HookedPoint>(M, "HookedPoint")
      .def_ro("name", &HookedPoint::Name)
      .def_ro("function", &HookedPoint::Function,
              "Our function that reaches the point: optimize or emit.")
      .def_ro("question", &HookedPoint::Question)
      .def_prop_ro(
          "limit",
          [](const HookedPoint &P) {
            return P.Limit.Option ? &P.Limit : nullptr;
          },
          nb::rv_policy::reference);
  M.def(
      "emit_passes",
      [] {
        std::vector<std::pair<std::string, std::string>> All;
        for (const EmitPass &P : emitPasses())
          All.emplace_back(P.Point, P.Text);
        return All;
      },
      "The points of passes that run when code generation begins, with the "
      "pipeline text of each pass.");
  M.def(
      "hooked_points",
      [] {
        std::vector<const HookedPoint *> All;
        for (const HookedPoint &P : hookedPoints())
          All.push_back(&P);
        return All;
      },
      nb::rv_policy::reference, "LLVM's decision points.");
}

bool closeLog(PyAdvisor &A) {
  A.Session->setLog(nullptr);
  const bool Good = !A.Log || A.Log->close();
  const std::string Error = A.Log ? A.Log->error() : "";
  A.Log.reset();
  if (!Good)
    raiseError("LogError", Error);
  return Good;
}

void bindState(nb::class_<PyAdvisor> &C) {
  C.def("views", &viewsOf, nb::arg("writable"),
        nb::sig("def views(self, writable: bool) -> dict[str, "
                "NDArray[numpy.integer | "
                "numpy.floating]]"),
        "Returns numpy views of all tensors, by name.")
      .def("frame", &frame, nb::sig("def frame(self) -> NDArray[numpy.uint8]"),
           "The runner's inputs as one block of bytes.")
      .def(
          "open_log",
          [](PyAdvisor &A, int FD) {
            A.Log = std::make_unique<DecisionLog>(FD, A.Session->logSpecs());
            A.Session->setLog(A.Log.get());
          },
          nb::arg("fd"),
          "Starts a decision log on a descriptor and takes ownership of it.")
      .def("close_log", &closeLog)
      .def("default", &defaultDecision,
           nb::sig("def default(self) -> bool | int | float"),
           "LLVM's own decision for the current question.")
      .def("compute", &compute, nb::arg("feature"), nb::arg("name"),
           nb::arg("out"),
           nb::sig("def compute(self, feature: NativeFeature, name: str, "
                   "out: NDArray[numpy.integer | numpy.floating]) -> None"),
           "Computes a native feature for the current question into an array "
           "of its spec.")
      .def(
          "describe_rest", [](PyAdvisor &A) { A.Session->describeRest(); },
          "Computes the features that the runner did not declare; nothing "
          "between decisions.")
      .def_prop_ro(
          "ordinal", [](PyAdvisor &A) { return A.Session->ordinal(); },
          "The number of the current question, or of the last.")
      .def_prop_ro("counts", &countsOf,
                   nb::sig("def counts(self) -> dict[str, float]"))
      .def_prop_ro("failure",
                   [](PyAdvisor &A) {
                     return failureOf(A.Session->failure(), A.Exception);
                   })
      .def_prop_ro("first_fallback",
                   [](PyAdvisor &A) {
                     return failureOf(A.Session->firstFallback(),
                                      A.FallbackException);
                   })
      .def_prop_ro("unused",
                   [](PyAdvisor &A) { return A.Session->runner().unused(); });
}

} // namespace

void bindAdvisor(nb::module_ &M) {
  nb::class_<PyAdvisor> C(M, "Advisor", nb::type_slots(GCSlots<PyAdvisor>),
                          nb::is_weak_referenceable());
  C.def("__init__", &create, nb::arg("point"), nb::arg("native").none(),
        nb::arg("inputs"), nb::arg("custom"), nb::arg("default_on_error"),
        nb::arg("limit"), nb::arg("logged"),
        nb::sig("def __init__(self, point: PointSpec, "
                "native: NativeRunner | None, inputs: Sequence[TensorSpec], "
                "custom: Sequence[tuple[TensorSpec, "
                "collections.abc.Callable[[], None] | NativeFeature]], "
                "default_on_error: bool, limit: float, logged: bool) -> None"))
      .def(
          "set_python",
          [](PyAdvisor &A, nb::object Evaluate, nb::object SwitchContext,
             nb::object EvaluateBatch, bool AnyContext) {
            A.Evaluate = std::move(Evaluate);
            A.SwitchContext = std::move(SwitchContext);
            A.EvaluateBatch = std::move(EvaluateBatch);
            A.Batches = A.EvaluateBatch.is_none() ? Batching::None
                        : AnyContext              ? Batching::Any
                                                  : Batching::OneContext;
          },
          nb::arg("evaluate"), nb::arg("switch_context"),
          nb::arg("evaluate_batch").none(), nb::arg("any_context"),
          nb::sig("def set_python(self, evaluate: collections.abc.Callable[[], "
                  "object], switch_context: "
                  "collections.abc.Callable[[str], object], evaluate_batch: "
                  "collections.abc.Callable[[bytes, int], Sequence[object]] | "
                  "None, any_context: bool) -> None"),
          "Sets the functions of a Python runner that is bound to the views.");
  bindState(C);
  bindPassQuestion(C);
  M.def("current_site", &currentSite, nb::arg("advisor"),
        nb::sig("def current_site(advisor: Advisor) -> object"));
  bindHookedPoint(M);
}

} // namespace passpilot
