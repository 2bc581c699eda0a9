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
static std::string Latest; ///< for the threads that generate code from parts
static thread_local std::string Expected;
static thread_local std::optional<Option::Settings> ExpectedSettings;
static thread_local std::optional<OptionHold> Adding;

void beginUnit(const Module &M) {
  Expected = M.getSourceFileName();
  ExpectedSettings = Option::settings();
  std::lock_guard<std::mutex> Lock(Mutex);
  Latest = Expected;
}

void forgetUnit() {
  Expected.clear();
  ExpectedSettings.reset();
}

Option::Settings unitSettings() {
  return ExpectedSettings ? *ExpectedSettings : Option::settings();
}

void decideUnit(const Module &M, const UnitDecisions *Unit) {
  Expected = M.getSourceFileName(); // a pass may have compiled another module
  std::lock_guard<std::mutex> Lock(Mutex);
  if (!Unit || Unit->Options.empty()) {
    Decided.erase(Expected);
    return;
  }
  Decided[Expected] = Unit->Options;
  noteOptions();
}

static OptionTexts optionsFor(const std::string &Source) {
  OptionTexts Texts;
  if (advised("advised-outliner"))
    Texts.push_back(OutlinesAll);
  for (const std::string &Text : policy().options())
    Texts.push_back(Text);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (const auto Found = Decided.find(Source.empty() ? Latest : Source);
      Found != Decided.end())
    Texts.insert(Texts.end(), Found->second.begin(), Found->second.end());
  return Texts;
}

OptionTexts optionsOf(const Module &M) {
  return optionsFor(M.getSourceFileName());
}

OptionTexts beginPassConfig() {
  const GivenUpGIL Given;
  Adding.reset();
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
