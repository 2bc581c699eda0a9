// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "option_gate.h"

#include "../runtime/permitted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

using namespace llvm;

namespace passpilot {

static std::atomic<bool> Sets = false;

bool setsOptions() { return Sets; }
void noteOptions() { Sets = true; }

namespace {

/// One permitted option.
struct GatedOption {
  StringRef Name;
  cl::Option *LLVM;    ///< null if this LLVM has no such option
  unsigned Users = 0;  ///< holds on its value
  unsigned Adders = 0; ///< those whose threads add passes
  std::optional<std::string> Value;
  bool Refused = false; ///< LLVM does not take the value

  /// Whether the user has set it.
  bool isUsers() const { return LLVM && !Users && LLVM->getNumOccurrences(); }

  void set(const std::optional<std::string> &New) {
    Value = New;
    Refused = New && (!LLVM || LLVM->addOccurrence(0, Name, *New));
  }

  void unset() {
    if (LLVM && Value)
      LLVM->reset();
    Value.reset();
    Refused = false;
  }

  std::string text() const { return textOf(Value); }
  std::string textOf(const std::optional<std::string> &Text) const {
    return !Text           ? "no " + Name.str()
           : Text->empty() ? Name.str()
                           : Name.str() + "=" + *Text;
  }
};

struct Gate {
  std::mutex Mutex;
  std::condition_variable Freed;
  std::vector<GatedOption> Options;

  Gate() {
    for (const StringRef Name : permittedOptions())
      Options.push_back(
          {Name, cl::getRegisteredOptions().lookup(Name), 0, 0, {}});
  }
};

Gate &gate() {
  static Gate &Only = *new Gate; // threads may compile while the process ends
  return Only;
}

thread_local OptionHold *Innermost = nullptr;

/// Options that LLVM reads only when it adds the passes.
bool choosesPasses(StringRef Name) {
  return is_contained(
      {"disable-lsr", "disable-machine-licm", "enable-machine-outliner"}, Name);
}

/// The optimizer estimates the cost of a switch by its jump table, and a
/// pipeline may have loop-reduce. All others are read by code generation, and
/// perhaps by a pass's constructor.
bool reads(OptionReader Reader, StringRef Name) {
  switch (Reader) {
  case OptionReader::Optimizer:
    return is_contained({"optsize-jump-table-density", "lsr-drop-solution"},
                        Name);
  case OptionReader::CodeGenerator:
    return !choosesPasses(Name);
  case OptionReader::PassConfig:
    return true;
  }
  return true;
}

std::optional<std::string> valueIn(const OptionTexts &Options, StringRef Name) {
  for (const StringRef Text : Options)
    if (const auto [Known, Value] = Text.split('='); Known == Name)
      return Value.str();
  return std::nullopt;
}

} // namespace

OptionHold::OptionHold(OptionReader Reader, const OptionTexts &Options)
    : AddsPasses(Reader == OptionReader::PassConfig), Outer(Innermost) {
  for (const auto &[I, O] : enumerate(gate().Options))
    if (reads(Reader, O.Name))
      Uses.push_back({I, valueIn(Options, O.Name)});
  if (Outer)
    Outer->release();
  Innermost = this;
  acquire();
}

OptionHold::~OptionHold() {
  if (Innermost != this) { // it is suspended
    for (OptionHold *Inner = Innermost; Inner; Inner = Inner->Outer)
      if (Inner->Outer == this)
        Inner->Outer = Outer;
    return;
  }
  release();
  Innermost = Outer;
  if (Outer)
    Outer->acquire();
}

bool OptionHold::addsPasses() { return Innermost && Innermost->AddsPasses; }

/// A use whose option has another value; null if all have theirs, or can.
const OptionHold::Use *OptionHold::conflict() const {
  const auto Found = find_if(Uses, [](const Use &U) {
    const GatedOption &O = gate().Options[U.Option];
    return O.Users && O.Value != U.Value;
  });
  return Found == Uses.end() ? nullptr : &*Found;
}

/// Waits as long as the code of other modules is generated. Passes are added in
/// milliseconds, but a program may do so for a pass manager that it never runs.
void OptionHold::acquire() {
  Gate &G = gate();
  std::unique_lock<std::mutex> Lock(G.Mutex);
  unsigned Stalls = 0; // not a time: the process may have been stopped
  while (const Use *U = conflict()) {
    const GatedOption &O = G.Options[U->Option];
    Stalls = O.Users == O.Adders ? Stalls : 0;
    if (G.Freed.wait_for(Lock, std::chrono::milliseconds(100)) ==
            std::cv_status::timeout &&
        ++Stalls == 100) {
      Error = "expected " + O.textOf(U->Value) + ", got " + O.text() +
              ", for which another thread has added passes; run its pass "
              "manager, or destroy it";
      return;
    }
  }
  for (Use &U : Uses) {
    GatedOption &O = G.Options[U.Option];
    U.Held = !O.isUsers();
    if (!U.Held)
      continue;
    if (!O.Users++)
      O.set(U.Value);
    O.Adders += AddsPasses;
    if (O.Refused)
      Error = "expected an option of LLVM's, got '" + O.text() + "'";
  }
}

void OptionHold::release() {
  Gate &G = gate();
  std::lock_guard<std::mutex> Lock(G.Mutex);
  for (Use &U : Uses) {
    GatedOption &O = G.Options[U.Option];
    if (!std::exchange(U.Held, false))
      continue;
    O.Adders -= AddsPasses;
    if (!--O.Users)
      O.unset();
  }
  G.Freed.notify_all();
}

bool hasOption(const std::string &Text) {
  return any_of(gate().Options, [&](const GatedOption &O) {
    return O.LLVM && valueIn({Text}, O.Name);
  });
}

std::string lateOption(const OptionTexts &Added, const OptionTexts &Wanted) {
  Gate &G = gate();
  std::lock_guard<std::mutex> Lock(G.Mutex);
  for (const GatedOption &O : G.Options)
    if (const auto Value = valueIn(Wanted, O.Name);
        (choosesPasses(O.Name) || Value == "shared") && !O.isUsers() &&
        Value != valueIn(Added, O.Name))
      return O.textOf(Value);
  return "";
}

} // namespace passpilot
