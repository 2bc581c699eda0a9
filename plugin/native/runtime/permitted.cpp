// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "permitted.h"

#include "text.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

namespace passpilot {

namespace {

constexpr std::string_view ValueCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";

constexpr std::string_view YesOrNo = "true or false";
constexpr std::string_view Number = "a number";

/// An option, and the values that LLVM takes, in the words of a message.
struct PermittedOption {
  std::string_view Name, Values;
};

constexpr PermittedOption Options[] = {
    {"apply-ext-tsp-for-size", YesOrNo},
    {"disable-lsr", YesOrNo},
    {"disable-machine-licm", YesOrNo},
    {"disable-tail-duplicate", YesOrNo},
    {"enable-linkonceodr-outlining", YesOrNo},
    {"enable-local-reassign", YesOrNo},
    {"enable-machine-outliner",
     "always, optimistic-pgo, conservative-pgo or never"},
    {"enable-misched", YesOrNo},
    {"enable-shrink-wrap", YesOrNo},
    {"greedy-regclass-priority-trumps-globalness", YesOrNo},
    {"greedy-reverse-local-assignment", YesOrNo},
    {"join-globalcopies", YesOrNo},
    {"join-splitedges", YesOrNo},
    {"lsr-drop-solution", YesOrNo},
    {"machine-outliner-reruns", Number},
    {"machine-sink-split", YesOrNo},
    {"min-jump-table-entries", Number},
    {"move-small-constants", YesOrNo},
    {"optsize-jump-table-density", Number},
    {"outliner-benefit-threshold", Number},
    {"pre-RA-sched", "vliw-td, list-ilp, list-hybrid, source, list-burr, "
                     "linearize, fast or default"},
    {"regalloc-csr-first-time-cost", Number},
    {"regalloc-eviction-max-interference-cutoff", Number},
    {"riscv-disable-cost-per-use", YesOrNo},
    {"split-spill-mode", "default, size or speed"},
    {"tail-merge-size", Number},
    {"tail-merge-threshold", Number},
    {"unwind", ExpectedUnwind},
    {"unwind-share", Number},
    {"write-wasm-ifs", YesOrNo},
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
    "advised-hotness",
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

const PermittedOption *optionOf(std::string_view Name) {
  const auto *Found =
      std::find_if(std::begin(Options), std::end(Options),
                   [&](const PermittedOption &O) { return O.Name == Name; });
  return Found == std::end(Options) ? nullptr : Found;
}

/// Whether \p Value is one of "a, b or c".
bool isWordOf(std::string_view Words, std::string_view Value) {
  while (!Words.empty()) {
    std::string_view Word = take(Words, ' ');
    if (!Word.empty() && Word.back() == ',')
      Word.remove_suffix(1);
    if (Word == Value && Word != "or")
      return true;
  }
  return false;
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
  std::vector<std::string_view> Names;
  Names.reserve(std::size(Options));
  for (const PermittedOption &O : Options)
    Names.push_back(O.Name);
  return Names;
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

std::string expectedValue(std::string_view Text) {
  const size_t Sign = Text.find('=');
  const bool Plain = Sign == std::string_view::npos;
  const PermittedOption *O = optionOf(Text.substr(0, Sign));
  if (!O)
    return "";
  const std::string_view Value = Plain ? "" : Text.substr(Sign + 1);
  const bool Flag =
      O->Values == YesOrNo || O->Name == "enable-machine-outliner";
  static constexpr std::string_view Bools[] = {"true",  "TRUE",  "True",  "1",
                                               "false", "FALSE", "False", "0"};
  const bool Good = Plain                  ? Flag
                    : O->Values == YesOrNo ? contains(Bools, Value)
                    : O->Values == Number  ? number<unsigned>(Value).has_value()
                                           : isWordOf(O->Values, Value);
  return Good ? "" : std::string(O->Name) + "=" + std::string(O->Values);
}

bool isPermittedOption(std::string_view Text) {
  const size_t Sign = Text.find('=');
  const bool Plain = Sign == std::string_view::npos;
  return optionOf(Text.substr(0, Sign)) &&
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
