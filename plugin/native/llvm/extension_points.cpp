// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's extension points, named as in opt's flags
// -passes-ep-*.

#include "user_pass.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

using namespace llvm;

namespace passpilot {

namespace {

/// How to register at one point: PassBuilder's member function and the level.
struct ExtensionPoint {
  const char *Name;
  PassLevel Level;
  /// Parses the text once to check it, then registers it.
  std::function<Error(UserPasses &, PassBuilder &, PlacedPipeline &)> Register;
};

template <typename PassManagerT, typename CallbackT>
ExtensionPoint point(const char *Name, PassLevel Level,
                     void (PassBuilder::*Register)(const CallbackT &)) {
  return {Name, Level,
          [Register](UserPasses &Passes, PassBuilder &PB,
                     PlacedPipeline &P) -> Error {
            PassManagerT Trial;
            if (Error E = Passes.parse(PB, Trial, P.Text))
              return E;
            (PB.*Register)([&](PassManagerT &PM, auto...) {
              if (P.Parsing || Passes.nested())
                return;
              const SaveAndRestore Guard(P.Parsing, true);
              P.Unreached = false;
              PassManagerT Placed;
              cantFail(Passes.parse(PB, Placed, P.Text));
              addGated(PM, std::move(Placed), Passes.gate(), &P.Held);
            });
            return Error::success();
          }};
}

const std::vector<ExtensionPoint> &points() {
#define POINT(Level, Name, Callback)                                           \
  point<Level##PassManager>(Name, PassLevel::Level,                            \
                            &PassBuilder::register##Callback##EPCallback)
  static const std::vector<ExtensionPoint> All = {
      POINT(Module, "pipeline-start", PipelineStart),
      POINT(Module, "pipeline-early-simplification",
            PipelineEarlySimplification),
      POINT(Function, "peephole", Peephole),
      POINT(CGSCC, "cgscc-optimizer-late", CGSCCOptimizerLate),
      POINT(Loop, "late-loop-optimizations", LateLoopOptimizations),
      POINT(Loop, "loop-optimizer-end", LoopOptimizerEnd),
      POINT(Function, "scalar-optimizer-late", ScalarOptimizerLate),
      POINT(Module, "optimizer-early", OptimizerEarly),
      POINT(Function, "vectorizer-start", VectorizerStart),
      POINT(Function, "vectorizer-end", VectorizerEnd),
      POINT(Module, "optimizer-last", OptimizerLast),
      POINT(Module, "full-link-time-optimization-early",
            FullLinkTimeOptimizationEarly),
      POINT(Module, "full-link-time-optimization-last",
            FullLinkTimeOptimizationLast)};
#undef POINT
  return All;
}

} // namespace

Error UserPasses::at(PassBuilder &PB, const std::string &Point,
                     const std::string &Text) {
  for (const ExtensionPoint &P : points()) {
    if (P.Name != Point)
      continue;
    PlacedAt.push_back({Point, Text});
    return P.Register(*this, PB, PlacedAt.back());
  }
  std::vector<std::string> Names;
  for (const ExtensionPoint &P : points())
    Names.push_back(P.Name);
  const auto Near = min_element(Names, [&](auto &A, auto &B) {
    return StringRef(Point).edit_distance(A) <
           StringRef(Point).edit_distance(B);
  });
  return createStringError("expected a point among " + join(Names, ", ") +
                           ", got '" + Point + "'" +
                           (StringRef(Point).edit_distance(*Near) < 4
                                ? "; did you mean '" + *Near + "'?"
                                : ""));
}

std::vector<std::string>
UserPasses::pointsWhere(bool PlacedPipeline::*What) const {
  std::vector<std::string> Names;
  for (const PlacedPipeline &P : PlacedAt)
    if (P.*What)
      Names.push_back(P.Point);
  return Names;
}

std::vector<std::pair<std::string, PassLevel>> extensionPoints() {
  std::vector<std::pair<std::string, PassLevel>> Names;
  for (const ExtensionPoint &P : points())
    Names.emplace_back(P.Name, P.Level);
  return Names;
}

} // namespace passpilot
