// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plugin for GCC: a passpilot runner decides which functions to inline,
// before GCC's own inliners run.
//
// Build it with `make`, and compile with the two flags
//   -fplugin=./advised_inline.so
//   -fplugin-arg-advised_inline-runner=onnx:model.onnx
//
// A policy may leave a function to GCC, forbid to inline it, or lift GCC's
// limits on its size. A function that GCC cannot inline stays a call, so that
// no answer makes wrong code.

#include "gcc-plugin.h"

#include "plugin-version.h"

#include "context.h"
#include "tree.h"

#include "gimple.h"

#include "cgraph.h"

#include "stringpool.h"

#include "attribs.h"
#include "basic-block.h"
#include "diagnostic.h"
#include "gimple-iterator.h"
#include "tree-pass.h"

#include <cstring>
#include <passpilot.h>

int plugin_is_GPL_compatible;

namespace {

const int64_t One[] = {1};
const passpilot_feature Features[] = {
    {"statements", One, 1, PASSPILOT_INT64},
    {"basic_blocks", One, 1, PASSPILOT_INT64},
    {"callers", One, 1, PASSPILOT_INT64},
    {"arguments", One, 1, PASSPILOT_INT64},
};
enum Decision { AsGCCDecides, Call, Inline, Decisions };
const char *const Names[Decisions] = {"as GCC decides", "call", "inline"};
const passpilot_point Point = {"gcc-inline",
                               Features,
                               sizeof Features / sizeof *Features,
                               "decision",
                               {PASSPILOT_CHOICE, Decisions, nullptr, 0, 0}};

passpilot_runner *Runner;

[[noreturn]] void fail() {
  fatal_error(UNKNOWN_LOCATION, "passpilot: %s", passpilot_last_error());
}

void warn(void *, const char *Text) {
  warning_at(UNKNOWN_LOCATION, 0, "passpilot: %s", Text);
}

void set(const char *Name, int64_t Value) {
  *static_cast<int64_t *>(passpilot_runner_input(Runner, Name)) = Value;
}

void describe(cgraph_node *Node) {
  function *F = DECL_STRUCT_FUNCTION(Node->decl);
  int64_t Statements = 0, Callers = 0, Arguments = 0;
  basic_block Block;
  FOR_EACH_BB_FN(Block, F)
  for (auto I = gsi_start_bb(Block); !gsi_end_p(I); gsi_next(&I))
    Statements += !is_gimple_debug(gsi_stmt(I));
  for (cgraph_edge *E = Node->callers; E; E = E->next_caller)
    ++Callers;
  for (tree A = DECL_ARGUMENTS(Node->decl); A; A = DECL_CHAIN(A))
    ++Arguments;
  set("statements", Statements);
  set("basic_blocks", n_basic_blocks_for_fn(F) - NUM_FIXED_BLOCKS);
  set("callers", Callers);
  set("arguments", Arguments);
}

void decide(cgraph_node *Node) {
  tree Function = Node->decl;
  passpilot_place Place = {};
  Place.file = DECL_SOURCE_FILE(Function);
  Place.line = DECL_SOURCE_LINE(Function);
  Place.column = DECL_SOURCE_COLUMN(Function);
  passpilot_runner_switch_context(
      Runner, IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(Function)));
  passpilot_runner_set_place(Runner, &Place);
  describe(Node);
  passpilot_advice Advice;
  if (passpilot_runner_evaluate(Runner, &Advice) != 0)
    fail();
  if (Advice.integer == Inline)
    DECL_DISREGARD_INLINE_LIMITS(Function) = 1;
  if (Advice.integer == Call)
    DECL_UNINLINABLE(Function) = 1;
  inform(DECL_SOURCE_LOCATION(Function), "passpilot: %qD: %s", Function,
         Names[Advice.integer]);
}

/// Whether the user's attributes already decide.
bool isDecided(tree Function) {
  return lookup_attribute("always_inline", DECL_ATTRIBUTES(Function)) ||
         DECL_UNINLINABLE(Function);
}

const pass_data PassData = {SIMPLE_IPA_PASS,
                            "advised_inline",
                            OPTGROUP_INLINE,
                            TV_NONE,
                            PROP_ssa,
                            0,
                            0,
                            0,
                            0};

class AdvisedInline : public simple_ipa_opt_pass {
public:
  explicit AdvisedInline(gcc::context *C) : simple_ipa_opt_pass(PassData, C) {}
  unsigned execute(function *) override {
    cgraph_node *Node;
    FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(Node)
    if (Node->callers && !isDecided(Node->decl))
      decide(Node);
    return 0;
  }
};

void finish(void *, void *) {
  if (passpilot_runner_close(Runner, !seen_error()) != 0)
    fail();
  passpilot_runner_destroy(Runner);
}

} // namespace

int plugin_init(plugin_name_args *Info, plugin_gcc_version *Version) {
  if (!plugin_default_version_check(Version, &gcc_version))
    fatal_error(UNKNOWN_LOCATION, "%s: expected GCC %s, got %s",
                Info->base_name, gcc_version.basever, Version->basever);
  const char *Spec = "default";
  passpilot_options Options = PASSPILOT_OPTIONS_INIT;
  Options.warn = warn;
  for (int I = 0; I < Info->argc; ++I) {
    const plugin_argument &A = Info->argv[I];
    if (!std::strcmp(A.key, "runner"))
      Spec = A.value;
    else if (!std::strcmp(A.key, "log"))
      Options.log = A.value;
    else
      fatal_error(UNKNOWN_LOCATION, "%s: expected %qs or %qs, got %qs",
                  Info->base_name, "runner", "log", A.key);
  }
  Runner = passpilot_runner_create(Spec, &Point, &Options);
  if (!Runner)
    fail();
  register_pass_info Place = {new AdvisedInline(g), "build_ssa_passes", 1,
                              PASS_POS_INSERT_AFTER};
  register_callback(Info->base_name, PLUGIN_PASS_MANAGER_SETUP, nullptr,
                    &Place);
  register_callback(Info->base_name, PLUGIN_FINISH, finish, nullptr);
  return 0;
}
