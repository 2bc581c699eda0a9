// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "permitted.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

namespace passpilot {

namespace {

constexpr std::string_view ValueCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";

constexpr std::string_view Options[] = {
    "apply-ext-tsp-for-size",
    "disable-lsr",
    "disable-machine-licm",
    "disable-tail-duplicate",
    "enable-linkonceodr-outlining",
    "enable-local-reassign",
    "enable-machine-outliner",
    "enable-misched",
    "enable-shrink-wrap",
    "greedy-regclass-priority-trumps-globalness",
    "greedy-reverse-local-assignment",
    "join-globalcopies",
    "join-splitedges",
    "lsr-drop-solution",
    "machine-outliner-reruns",
    "machine-sink-split",
    "min-jump-table-entries",
    "move-small-constants",
    "optsize-jump-table-density",
    "outliner-benefit-threshold",
    "pre-RA-sched",
    "regalloc-csr-first-time-cost",
    "regalloc-eviction-max-interference-cutoff",
    "riscv-disable-cost-per-use",
    "split-spill-mode",
    "tail-merge-size",
    "tail-merge-threshold",
    "unwind",
    "unwind-share",
    "write-wasm-ifs",
};

// Not here: what prints, instruments, changes what a program does (iroutliner),
// reads or writes files, or is a whole pipeline: default<O2> would apply the
// file again.
constexpr std::string_view Passes[] = {
    // Of modules.
    "always-inline",
    "called-value-propagation",
    "constmerge",
    "deadargelim",
    "elim-avail-extern",
    "globaldce",
    "globalopt",
    "hotcoldsplit",
    "inferattrs",
    "inliner-wrapper",
    "inliner-wrapper-no-mandatory-first",
    "ipsccp",
    "mergefunc",
    "module-inline",
    "partial-inliner",
    "recompute-globalsaa",
    "rel-lookup-table-converter",
    "rpo-function-attrs",
    "scc-oz-module-inliner",
    "strip-dead-debug-info",
    "strip-dead-prototypes",
    "strip-nonlinetable-debuginfo",
    // Of SCCs of the call graph.
    "argpromotion",
    "function-attrs",
    "inline",
    // Of functions.
    "adce",
    "aggressive-instcombine",
    "alignment-from-assumptions",
    "assume-simplify",
    "bdce",
    "break-crit-edges",
    "callsite-splitting",
    "chr",
    "consthoist",
    "constraint-elimination",
    "correlated-propagation",
    "dce",
    "dfa-jump-threading",
    "div-rem-pairs",
    "drop-unnecessary-assumes",
    "dse",
    "early-cse",
    "flatten-cfg",
    "float2int",
    "gvn",
    "gvn-hoist",
    "gvn-sink",
    "infer-alignment",
    "instcombine",
    "instsimplify",
    "irce",
    "jump-table-to-switch",
    "jump-threading",
    "lcssa",
    "libcalls-shrinkwrap",
    "load-store-vectorizer",
    "loop-data-prefetch",
    "loop-distribute",
    "loop-fusion",
    "loop-load-elim",
    "loop-simplify",
    "loop-sink",
    "loop-unroll",
    "loop-vectorize",
    "loop-versioning",
    "lower-constant-intrinsics",
    "lower-expect",
    "mem2reg",
    "memcpyopt",
    "mergeicmps",
    "mergereturn",
    "mldst-motion",
    "nary-reassociate",
    "newgvn",
    "partially-inline-libcalls",
    "reassociate",
    "sccp",
    "separate-const-offset-from-gep",
    "simplifycfg",
    "sink",
    "slp-vectorizer",
    "slsr",
    "speculative-execution",
    "sroa",
    "tailcallelim",
    "unreachableblockelim",
    "vector-combine",
    // Of loops.
    "indvars",
    "licm",
    "lnicm",
    "loop-bound-split",
    "loop-deletion",
    "loop-flatten",
    "loop-idiom",
    "loop-instsimplify",
    "loop-interchange",
    "loop-reduce",
    "loop-rotate",
    "loop-simplifycfg",
    "loop-unroll-and-jam",
    "loop-unroll-full",
    "loop-versioning-licm",
    "simple-loop-unswitch",
    // Ours.
    "advised-distribute",
    "advised-function-pipeline",
    "advised-outline",
    "advised-outliner",
    "advised-pipeline",
    "advised-size",
    "advised-slp",
    "advised-unroll",
    "advised-vectorize",
    "estimate-profile",
};

template <size_t N>
bool contains(const std::string_view (&Names)[N], std::string_view Name) {
  return std::find(std::begin(Names), std::end(Names), Name) != std::end(Names);
}

struct UserPasses {
  std::mutex Mutex;
  std::set<std::string, std::less<>> Names;
};

UserPasses &userPasses() {
  static UserPasses All;
  return All;
}

bool isUserPass(std::string_view Name) {
  UserPasses &All = userPasses();
  std::lock_guard<std::mutex> Lock(All.Mutex);
  return All.Names.count(Name) != 0;
}

/// Whether \p Name makes a pass manager of the passes in parentheses.
bool nests(std::string_view Name) {
  return Name == "module" || Name == "cgscc" || Name == "function" ||
         Name == "loop" || Name == "loop-mssa";
}

} // namespace

std::vector<std::string_view> permittedOptions() {
  return {std::begin(Options), std::end(Options)};
}

std::vector<std::string_view> permittedPasses() {
  return {std::begin(Passes), std::end(Passes)};
}

void permitPass(std::string Name) {
  UserPasses &All = userPasses();
  std::lock_guard<std::mutex> Lock(All.Mutex);
  All.Names.insert(std::move(Name));
}

bool isUnwindMode(std::string_view Text) {
  static constexpr std::string_view Modes[] = {
      "full", "faults", "shared", "linked", "calls", "exceptions", "none"};
  return contains(Modes, Text);
}

bool isPermittedOption(std::string_view Text) {
  const size_t Sign = Text.find('=');
  const bool Plain = Sign == std::string_view::npos;
  return contains(Options, Text.substr(0, Sign)) &&
         (Plain || (Sign + 1 < Text.size() &&
                    Text.find_first_not_of(ValueCharacters, Sign + 1) ==
                        std::string_view::npos));
}

bool isTooDeep(std::string_view Pipeline) {
  unsigned Depth = 1;
  for (const char C : Pipeline)
    if (C == '(' && ++Depth > MostLevels)
      return true;
    else if (C == ')' && Depth > 0)
      --Depth;
  return false;
}

std::vector<std::string> otherPasses(std::string_view Pipeline) {
  std::vector<std::string> Others;
  if (isTooDeep(Pipeline))
    Others.emplace_back(TooDeep);
  while (!Pipeline.empty()) {
    const size_t End = std::min(Pipeline.find_first_of(",()"), Pipeline.size());
    const std::string_view Element = Pipeline.substr(0, End);
    Pipeline.remove_prefix(std::min(End + 1, Pipeline.size()));
    const std::string_view Name =
        Element.substr(0, Element.find_first_of("<{"));
    if (!Element.empty() && !nests(Name) && !contains(Passes, Name) &&
        !isUserPass(Name))
      Others.emplace_back(Name.empty() ? Element : Name);
  }
  return Others;
}

} // namespace passpilot
