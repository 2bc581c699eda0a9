// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes.h"

#include "host.h"
#include "options.h"
#include "pipeline.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"

#include <mutex>

using namespace llvm;

namespace passpilot {

namespace {

/// Reports an error of text that LLVM is parsing.
void refuseErrors(const Messages &Told) {
  for (const Message &M : Told)
    if (M.isError())
      refuse(M.Text);
}

const LLVMCalls &calls() {
  Messages Told;
  const auto *Calls = python<LLVMCalls>(Told);
  refuseErrors(Told);
  return *Calls;
}

/// The names of LLVM's passes and analyses, and what its grammar means by
/// itself.
bool isLLVMs(StringRef Name) {
  static const StringSet<> Names = [] {
    StringSet<> All;
    std::string Text;
    raw_string_ostream OS(Text);
    PassBuilder().printPassNames(OS);
    SmallVector<StringRef> Lines;
    StringRef(Text).split(Lines, '\n');
    for (StringRef Line : Lines)
      if (Line.consume_front("  "))
        All.insert(Line.split('<').first);
    for (const char *Word : {"module", "cgscc", "function", "loop", "loop-mssa",
                             "machine-function", "coro-cond", "repeat",
                             "devirt", "require", "invalidate"})
      All.insert(Word);
    return All;
  }();
  const StringRef Plain = Name.split('<').first;
  return Names.contains(Plain) || Plain == "default" ||
         Plain.starts_with("thinlto") || Plain.starts_with("lto") ||
         Plain.starts_with("fatlto");
}

/// Whether \p Name can be that of a pass in Python: kebab-case.
bool isKebab(StringRef Name) {
  return !Name.empty() && all_of(Name, [](char C) {
    return isLower(C) || isDigit(C) || C == '-';
  }) && isLower(Name.front());
}

/// What the tool's pipeline text begins with, where it has one.
std::string firstElement() {
  for (const char *Name : {"passes", "lto-newpm-passes"}) {
    auto *O = static_cast<cl::opt<std::string> *>(
        cl::getRegisteredOptions().lookup(Name));
    if (O && O->getNumOccurrences())
      return StringRef(*O)
          .take_until([](char C) { return StringRef(",()").contains(C); })
          .str();
  }
  return "";
}

/// Loads the user's files once, however many pipelines there are.
void loadFiles() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    const std::string Files = filesToLoad();
    if (Files.empty())
      return;
    Messages Told;
    calls().Load(&Told, Files.c_str());
    refuseErrors(Told);
  });
}

} // namespace

StockPasses &StockPasses::registerWith(PassBuilder &PB) {
  auto &S = *new StockPasses;
  loadFiles();
  S.Passes.First = firstElement();
  S.Passes.Resolve = [&S](StringRef Element) { S.find(Element); };
  S.Passes.OnFailure = [&S] { S.fail(); };
  S.Passes.registerWith(PB);
  S.place(PB);
  return S;
}

/// Adds the pass in Python that \p Element names, if it does.
void StockPasses::find(StringRef Element) {
  const StringRef Name = Element.split('{').first;
  if (isLLVMs(Name) || !isKebab(Name))
    return;
  Messages Told;
  calls().Find(&Told, address(), Element.str().c_str());
  refuseErrors(Told);
  Used |= !Passes.empty();
}

void StockPasses::place(PassBuilder &PB) {
  for (const auto &[Point, Text] : textsAt())
    if (Error E = Passes.at(PB, Point, Text))
      refuse("-passpilot-at=" + Point + ": " + toString(std::move(E)));
}

void StockPasses::begin(Module &Begun) {
  M = &Begun;
  if (Used)
    advise();
}

void StockPasses::advise() {
  for (const auto &[Point, Runner] : passPoints()) {
    Messages Told;
    AdvisorOptions O;
    if (advisorOptions(Point, *M, O, Told))
      calls().Advise(&Told, address(), Point.c_str(), Runner.c_str(),
                     O.Log.c_str(), O.OnError.c_str(), O.Timeout);
    tell(M->getContext(), Told);
  }
}

void StockPasses::fail() {
  Messages Told;
  calls().Explain(&Told, address());
  tell(M->getContext(), Told);
}

void StockPasses::end(bool Good, Messages &Told) {
  for (const std::string &Point : Passes.unreached())
    Told.push_back({"warning", "-passpilot-at=" + Point +
                                   ": the pipeline has no such point"});
  if (Used)
    calls().EndPasses(&Told, address(), Good, statsWanted());
  M = nullptr;
}

} // namespace passpilot
