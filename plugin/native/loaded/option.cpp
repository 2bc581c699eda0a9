// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "option.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

using namespace llvm;

namespace passpilot {

cl::OptionCategory &optionCategory() {
  static cl::OptionCategory Category("passpilot", "Who advises the compiler");
  return Category;
}

/// Converts "size-budget" to "SIZE_BUDGET".
static std::string inCapitals(StringRef Name) {
  std::string Text = Name.upper();
  std::replace(Text.begin(), Text.end(), '-', '_');
  return Text;
}

static std::vector<Option *> &registered() {
  static std::vector<Option *> All;
  return All;
}

Option::Option(StringRef Name, const char *Value, const Twine &Help)
    : Flag(("passpilot-" + Name).str()), Help(Help.str()),
      Variable("PASSPILOT_" + inCapitals(Name)),
      Given(StringRef(Flag), cl::value_desc(Value), cl::desc(this->Help),
            cl::cat(optionCategory()), cl::callback([](const std::string &) {
              if (OnFlag)
                OnFlag();
            })),
      Index(registered().size()) {
  registered().push_back(this);
}

const std::vector<Option *> &Option::all() { return registered(); }

static std::mutex Mutex;
static Option::Settings OfProcess;
static thread_local std::optional<Option::Settings> InUse;

void Option::setAll(Settings All) {
  std::lock_guard<std::mutex> Lock(Mutex);
  OfProcess = std::move(All);
}

Option::Settings Option::settings() {
  if (InUse)
    return *InUse;
  std::lock_guard<std::mutex> Lock(Mutex);
  return OfProcess;
}

SettingsInUse::SettingsInUse(Option::Settings S)
    : Before(std::exchange(InUse, std::move(S))) {}

SettingsInUse::~SettingsInUse() { InUse = std::move(Before); }

Option::Values Option::set() const {
  const Settings All = settings();
  return All ? (*All)[Index] : Values();
}

Option::Values Option::values() const {
  if (Values Mine = set(); !Mine.empty())
    return Mine;
  if (!Given.empty())
    return {Given.begin(), Given.end()};
  SmallVector<StringRef> Parts;
  const std::string Text = variable();
  StringRef(Text).split(Parts, ';', -1, /*KeepEmpty=*/false);
  return {Parts.begin(), Parts.end()};
}

std::string Option::last() const {
  if (Values Mine = set(); !Mine.empty())
    return Mine.back();
  if (!Given.empty())
    return Given[Given.size() - 1];
  return variable();
}

std::string Option::variable() const {
  const char *Text =
      TheOptionStyle.HasVariables ? std::getenv(Variable.c_str()) : nullptr;
  return Text ? Text : "";
}

Error Option::checkVariables() {
  for (char **V = environ; TheOptionStyle.HasVariables && V && *V; ++V) {
    const StringRef Name = StringRef(*V).split('=').first;
    if (!Name.starts_with("PASSPILOT_") ||
        any_of(all(), [&](Option *O) { return O->Variable == Name; }))
      continue;
    const unsigned Most = Name.size() < 16 ? 1 : 2;
    for (const Option *O : all())
      if (Name.edit_distance(O->Variable, /*AllowReplacements=*/true, 2) <=
          Most)
        return createStringError("variable " + Name +
                                 ": expected the name of an option, got "
                                 "another; did you mean '" +
                                 O->Variable + "'?");
  }
  return Error::success();
}

std::string Option::name() const {
  return !set().empty()  ? shortName().str()
         : Given.empty() ? Variable
                         : TheOptionStyle.Dashes + Flag;
}

Error Option::number(double Least, double &Value) const {
  const std::string Text = last();
  double Number = 0;
  if (Text.empty())
    return Error::success();
  if (to_float(Text, Number) && std::isfinite(Number) && Number >= Least) {
    Value = Number;
    return Error::success();
  }
  return createStringError(name() + ": expected a number" +
                           (Least > 0 ? " above 0" : " of 0 or more") +
                           ", got '" + Text + "'");
}

} // namespace passpilot
