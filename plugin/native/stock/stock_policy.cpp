// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "stock_policy.h"

#include "../llvm/option_gate.h"
#include "../runtime/text.h"

using namespace llvm;

namespace passpilot {

StockPolicy::StockPolicy(std::string Text) : Spec(std::move(Text)) {
  std::string Wrong;
  if (!Spec.empty())
    Record = policyOf(Spec, Report);
  if (Record)
    Recipe = Record->recipe(Spec, Wrong);
  if (!Wrong.empty())
    Report.push_back({"error", Wrong});
}

Error StockPolicy::check() const {
  for (const Message &M : Report)
    if (M.isError())
      return createStringError(shown(M.Text));
  for (const Message &M : Report)
    printWarning(M.Text);
  if (!Recipe)
    return Error::success();
  std::vector<std::string> All = Recipe->Options;
  for (const auto &[Target, Option] : Recipe->TargetOptions)
    All.push_back(Option);
  if (!All.empty())
    noteOptions();
  for (const std::string &Option : All)
    if (!hasOption(Option))
      return createStringError(who() + ": expected an option of LLVM's, got '" +
                               Option + "'; make the policy for this LLVM");
  return Error::success();
}

std::string StockPolicy::runner(StringRef Point) const {
  if (!Recipe)
    return "";
  const auto Found = Recipe->Runners.find(Point.str());
  if (Found == Recipe->Runners.end())
    return "";
  return namesPolicy(Spec) ? Spec : Found->second; // a folder is no runner
}

std::vector<std::string> StockPolicy::points() const {
  std::vector<std::string> Points;
  if (Recipe)
    for (const auto &[Point, Runner] : Recipe->Runners)
      Points.push_back(Point);
  return Points;
}

} // namespace passpilot
