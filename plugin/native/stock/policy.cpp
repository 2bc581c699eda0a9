// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "policy.h"

#include "../llvm/llvm_options.h"
#include "../loaded/policy.h"
#include "flags.h"

#include "llvm/Support/WithColor.h"

using namespace llvm;

namespace passpilot {

namespace {

/// The policy of the options; null if there is none, or if it is wrong, with
/// errors in \p Told.
const PolicyRecord *record(Messages &Told) {
  const std::string Spec = policySpec();
  return Spec.empty() ? nullptr : policyOf(Spec, Told);
}

/// The recipe of the options; null as in record().
const PolicyRecipe *recipe(Messages &Told) {
  const PolicyRecord *P = record(Told);
  std::string Wrong;
  const PolicyRecipe *R = P ? P->recipe(policySpec(), Wrong) : nullptr;
  if (!Wrong.empty())
    Told.push_back({"error", Wrong});
  return R;
}

const PolicyRecipe *recipe() {
  Messages Ignored; // checkPolicy() reports them
  return recipe(Ignored);
}

} // namespace

Error checkPolicy() {
  Messages Told;
  const PolicyRecipe *R = recipe(Told);
  for (const Message &M : Told)
    if (M.isError())
      return createStringError(M.Text);
  for (const Message &M : Told)
    WithColor::warning() << M.Text << "\n";
  for (const std::string &Each : R ? R->Options : std::vector<std::string>())
    if (!setUnlessGiven(Each))
      return createStringError(record(Told)->who() +
                               ": expected an option of LLVM's, got '" + Each +
                               "'; make the policy for this LLVM");
  return Error::success();
}

void preparePolicy() { consumeError(checkPolicy()); }

std::string policyRunner(StringRef Point) {
  const PolicyRecipe *R = recipe();
  if (!R)
    return "";
  const auto Found = R->Runners.find(Point.str());
  if (Found == R->Runners.end())
    return "";
  const std::string Spec = policySpec();
  return namesPolicy(Spec) ? Spec : Found->second; // a folder is no runner
}

std::vector<std::string> policyPoints() {
  std::vector<std::string> Points;
  if (const PolicyRecipe *R = recipe())
    for (const auto &[Point, Runner] : R->Runners)
      Points.push_back(Point);
  return Points;
}

std::string policyPipeline() {
  const PolicyRecipe *R = recipe();
  return R ? R->Pipeline : "";
}

std::string policyName() {
  Messages Ignored;
  const PolicyRecord *P = record(Ignored);
  return P ? P->who() : "";
}

std::string policyRefusal(const Module &M) {
  Messages Ignored;
  const PolicyRecord *P = record(Ignored);
  return P ? P->refusal(M.getTargetTriple().str()) : "";
}

} // namespace passpilot
