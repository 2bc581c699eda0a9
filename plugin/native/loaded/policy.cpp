// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "policy.h"

#include "python.h"

#include <map>
#include <mutex>

namespace passpilot {

namespace {

struct PreparedPolicy {
  std::optional<PolicyRecord> Record;
  Messages Failure; ///< reported to every caller
};

/// Lets Python prepare the policy; adds its warnings to \p Report.
PreparedPolicy prepared(const std::string &Policy, Messages &Report) {
  PreparedPolicy P;
  Messages Answer;
  if (const auto *Calls = python<AdvisorCalls>(Answer))
    Calls->Prepare(&Answer, Policy.c_str());
  for (Message &M : Answer) {
    if (M.Kind == "policy")
      P.Record = PolicyRecord::parse(M.Text);
    else
      (M.isError() ? P.Failure : Report).push_back(std::move(M));
  }
  if (!P.Record && P.Failure.empty())
    P.Failure.push_back({"error", "policy " + Policy +
                                      ": expected its record from Python, got "
                                      "none; install passpilot again"});
  return P;
}

} // namespace

const PolicyRecord *policyOf(const std::string &Spec, Messages &Report) {
  static std::mutex Mutex;
  static std::map<std::string, PreparedPolicy> All;
  const std::string Policy = Spec.substr(0, Spec.find('?'));
  GivenUpGIL Given; // the owner of the lock may be in Python
  std::lock_guard<std::mutex> Lock(Mutex);
  const auto [Found, New] = All.try_emplace(Policy);
  PreparedPolicy &P = Found->second;
  if (New) {
    P.Record = PolicyRecord::find(Policy, pluginFolder());
    if (!P.Record)
      P = prepared(Policy, Report);
  }
  if (!P.Record)
    Report.insert(Report.end(), P.Failure.begin(), P.Failure.end());
  return P.Record ? &*P.Record : nullptr;
}

} // namespace passpilot
