// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's extension points, named as in opt's flags
// -passes-ep-*.

#include "user_pass.h"

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
              P.Reached = true;
              cantFail(Passes.parse(PB, PM, P.Text));
            });
            return Error::success();
          }};
}

const std::vector<ExtensionPoint> &points() {
  using PB = PassBuilder;
  static const std::vector<ExtensionPoint> All = {
      point<ModulePassManager>("pipeline-start", PassLevel::Module,
                               &PB::registerPipelineStartEPCallback),
      point<ModulePassManager>(
          "pipeline-early-simplification", PassLevel::Module,
          &PB::registerPipelineEarlySimplificationEPCallback),
      point<FunctionPassManager>("peephole", PassLevel::Function,
                                 &PB::registerPeepholeEPCallback),
      point<CGSCCPassManager>("cgscc-optimizer-late", PassLevel::CGSCC,
                              &PB::registerCGSCCOptimizerLateEPCallback),
      point<LoopPassManager>("late-loop-optimizations", PassLevel::Loop,
                             &PB::registerLateLoopOptimizationsEPCallback),
      point<LoopPassManager>("loop-optimizer-end", PassLevel::Loop,
                             &PB::registerLoopOptimizerEndEPCallback),
      point<FunctionPassManager>("scalar-optimizer-late", PassLevel::Function,
                                 &PB::registerScalarOptimizerLateEPCallback),
      point<ModulePassManager>("optimizer-early", PassLevel::Module,
                               &PB::registerOptimizerEarlyEPCallback),
      point<FunctionPassManager>("vectorizer-start", PassLevel::Function,
                                 &PB::registerVectorizerStartEPCallback),
      point<FunctionPassManager>("vectorizer-end", PassLevel::Function,
                                 &PB::registerVectorizerEndEPCallback),
      point<ModulePassManager>("optimizer-last", PassLevel::Module,
                               &PB::registerOptimizerLastEPCallback),
      point<ModulePassManager>(
          "full-link-time-optimization-early", PassLevel::Module,
          &PB::registerFullLinkTimeOptimizationEarlyEPCallback),
      point<ModulePassManager>(
          "full-link-time-optimization-last", PassLevel::Module,
          &PB::registerFullLinkTimeOptimizationLastEPCallback)};
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
  return createStringError("expected an extension point of LLVM's, got '" +
                           Point + "'");
}

std::vector<std::string> UserPasses::unreached() const {
  std::vector<std::string> Names;
  for (const PlacedPipeline &P : PlacedAt)
    if (!P.Reached)
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
