// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "unit_options.h"

#include "../loaded/python.h"
#include "flags.h"

#include <map>
#include <mutex>

using namespace llvm;

namespace passpilot {

static std::mutex Mutex;
/// By source file: the parts into which a linker splits a module have its name.
static std::map<std::string, OptionTexts> Decided;
/// A unit's source file and triple.
struct Unit {
  std::string Source, Triple;

  explicit Unit(const Module &M)
      : Source(M.getSourceFileName()), Triple(M.getTargetTriple().str()) {}
  Unit() = default;
};

static Unit Latest; ///< for the threads that generate code from parts
static thread_local Unit Expected;
static thread_local std::optional<Option::Settings> ExpectedSettings;
static thread_local std::optional<OptionHold> Adding;

void beginUnit(const Module &M) {
  Expected = Unit(M);
  ExpectedSettings = Option::settings();
  std::lock_guard<std::mutex> Lock(Mutex);
  Latest = Expected;
}

void forgetUnit() {
  Expected = Unit();
  ExpectedSettings.reset();
}

Option::Settings unitSettings() {
  return ExpectedSettings ? *ExpectedSettings : Option::settings();
}

void decideUnit(const Module &M, const UnitDecisions *Decisions) {
  Expected = Unit(M); // a pass may have compiled another module
  std::lock_guard<std::mutex> Lock(Mutex);
  if (!Decisions || Decisions->Options.empty()) {
    Decided.erase(Expected.Source);
    return;
  }
  Decided[Expected.Source] = Decisions->Options;
  noteOptions();
}

static OptionTexts optionsFor(const Unit &Asked) {
  OptionTexts Texts;
  if (advised("advised-outliner"))
    Texts.push_back(OutlinesAll);
  std::unique_lock<std::mutex> Lock(Mutex);
  Unit Known = Asked.Source.empty() ? Latest : Asked;
  if (!Asked.Triple.empty())
    Known.Triple = Asked.Triple;
  Lock.unlock(); // reading a policy may take Python
  for (const std::string &Text : policy().options(Known.Triple))
    Texts.push_back(Text);
  Lock.lock();
  if (const auto Found = Decided.find(Known.Source); Found != Decided.end())
    Texts.insert(Texts.end(), Found->second.begin(), Found->second.end());
  return Texts;
}

OptionTexts optionsOf(const Module &M) { return optionsFor(Unit(M)); }

OptionTexts beginPassConfig(const std::string &Triple) {
  const GivenUpGIL Given;
  Adding.reset();
  Expected.Triple = Triple;
  OptionTexts Texts = optionsFor(Expected);
  if (!OptionHold::addsPasses()) // as our own compiler in a pass does
    Adding.emplace(OptionReader::PassConfig, Texts);
  return Texts;
}

UnitHold::UnitHold(OptionReader Reader, const OptionTexts &Options) {
  const GivenUpGIL Given;
  Adding.reset();
  Hold.emplace(Reader, Options);
}

UnitHold::~UnitHold() {
  const GivenUpGIL Given;
  Adding.reset();
  Hold.reset();
}

} // namespace passpilot
