// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "stock_policy.h"

#include "../llvm/llvm_options.h"

#include "llvm/Support/WithColor.h"

using namespace llvm;

namespace passpilot {

/// Returns null if there is no policy, or if it is wrong, with errors in \p
/// Told.
const PolicyRecord *StockPolicy::record(Messages &Told) const {
  return Spec.empty() ? nullptr : policyOf(Spec, Told);
}

/// Returns null as record() does.
const PolicyRecipe *StockPolicy::recipe(Messages &Told) const {
  const PolicyRecord *P = record(Told);
  std::string Wrong;
  const PolicyRecipe *R = P ? P->recipe(Spec, Wrong) : nullptr;
  if (!Wrong.empty())
    Told.push_back({"error", Wrong});
  return R;
}

const PolicyRecipe *StockPolicy::recipe() const {
  Messages Ignored; // check() reports them
  return recipe(Ignored);
}

Error StockPolicy::check() const {
  Messages Told;
  const PolicyRecipe *R = recipe(Told);
  for (const Message &M : Told)
    if (M.isError())
      return createStringError(M.Text);
  for (const Message &M : Told)
    WithColor::warning() << M.Text << "\n";
  if (!R)
    return Error::success();
  for (const std::string &Each : R->Options)
    if (!setUnlessGiven(Each))
      return createStringError(who() + ": expected an option of LLVM's, got '" +
                               Each + "'; make the policy for this LLVM");
  return Error::success();
}

std::string StockPolicy::runner(StringRef Point) const {
  const PolicyRecipe *R = recipe();
  if (!R)
    return "";
  const auto Found = R->Runners.find(Point.str());
  if (Found == R->Runners.end())
    return "";
  return namesPolicy(Spec) ? Spec : Found->second; // a folder is no runner
}

std::vector<std::string> StockPolicy::points() const {
  std::vector<std::string> Points;
  if (const PolicyRecipe *R = recipe())
    for (const auto &[Point, Runner] : R->Runners)
      Points.push_back(Point);
  return Points;
}

std::string StockPolicy::pipeline() const {
  const PolicyRecipe *R = recipe();
  return R ? R->Pipeline : "";
}

std::string StockPolicy::who() const {
  Messages Ignored;
  const PolicyRecord *P = record(Ignored);
  return P ? P->who() : "";
}

std::string StockPolicy::refusal(const Module &M) const {
  Messages Ignored;
  const PolicyRecord *P = record(Ignored);
  return P ? P->refusal(M.getTargetTriple().str()) : "";
}

} // namespace passpilot
