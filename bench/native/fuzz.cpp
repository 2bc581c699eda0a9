// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The readers in C++ for LLVM's fuzzer library, one of which PASSPILOT_READER
// names. bench/sweeps/fuzz.py builds this file with the sources of the runtime.

#include "runtime/decision_file.h"
#include "runtime/model_runner.h"
#include "runtime/onnx_tensor.h"
#include "runtime/permitted.h"
#include "runtime/policy_record.h"
#include "runtime/runner_spec.h"
#include "runtime/text.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace passpilot;

namespace {

const Point Inline{"inline",
                   {{"a", ScalarType::Int64, {1}},
                    {"b", ScalarType::Float, {1, 3}},
                    {"mask", ScalarType::Int64, {1, 33}}},
                   {"default", ScalarType::Int64, {1}},
                   {"advice", ScalarType::Int64, {1}},
                   {DomainKind::Flag}};

/// Ends the process, as the fuzzer expects of a mistake.
void require(bool Holds, const char *What) {
  if (Holds)
    return;
  std::fprintf(stderr, "%s\n", What);
  std::abort();
}

/// A nameless file with the bytes.
std::string fileOf(std::string_view Data) {
  static const int File = memfd_create("input", MFD_CLOEXEC);
  require(ftruncate(File, 0) == 0 &&
              pwrite(File, Data.data(), Data.size(), 0) ==
                  static_cast<ssize_t>(Data.size()),
          "no memory for the input");
  return "/proc/self/fd/" + std::to_string(File);
}

void readDecisions(std::string_view Data) {
  std::string Error;
  const std::string Path = fileOf(Data);
  const auto File = DecisionFile::read(Path, Error);
  require(File || !Error.empty(), "a refusal without a reason");
  const auto R =
      makeDecisionsRunner(Path, Inline.Decision, Inline.Default, Error);
  require(!R == !File, "two verdicts");
  if (!File)
    return;
  for (const UnitDecisions &U : File->units()) {
    File->find(U.Name + "x");
    for (const std::string &Option : U.Options)
      require(isPermittedOption(Option), "an option that is not permitted");
    require(otherPasses(U.Pipeline).empty(), "a pass that is not permitted");
    U.function("main");
    R->begin(U.Name);
    (void)R->unused();
  }
}

void readRecord(std::string_view Data) {
  const std::string_view Query = take(Data, '\0');
  const auto P = PolicyRecord::parse(Data);
  if (!P)
    return;
  std::string Error;
  for (const PolicyRecipe &R : P->Recipes)
    for (const std::string &Option : R.Options)
      require(isPermittedOption(Option), "an option that is not permitted");
  if (!P->recipe(Query, Error))
    require(!Error.empty(), "a refusal without a reason");
  Error.clear();
  if (P->runner(Query, "inline", Error).empty())
    require(!Error.empty(), "a refusal without a reason");
  (void)P->refusal(Query);
}

/// Reads a runner spec. Files are not opened: another fuzzer has their bytes.
void readSpec(std::string_view Data) {
  for (const char *Scheme : {"decisions:", "aot:", "@"})
    if (Data.substr(0, std::strlen(Scheme)) == Scheme)
      return;
  Point P = Inline;
  std::string Error;
  for (const DomainKind Kind :
       {DomainKind::Flag, DomainKind::Choice, DomainKind::Number}) {
    P.Domain = {Kind, 33, "mask", 0, 9};
    const auto R = makeNativeRunner(Data, P, {}, Error);
    if (!R)
      continue;
    const int64_t In[33] = {1};
    const void *Inputs[] = {In, In, In};
    Advice A{0};
    if (R->inputs().size() < 2)
      require(R->evaluate(Inputs, &A) || !R->error().empty(), "no reason");
  }
}

void readPipeline(std::string_view Data) {
  (void)isPermittedOption(Data);
  for (const std::string_view Name : otherPasses(Data))
    require(!Name.empty(), "a pass without a name");
}

/// Shows a text without what a terminal could obey.
void readText(std::string_view Data) {
  for (const char C : shown(Data))
    require(C == '\n' || !(static_cast<unsigned char>(C) < 0x20 || C == 0x7F),
            "a control character");
}

class Model final : public ModelRunner {
public:
  using ModelRunner::ModelRunner;
  bool evaluate(const void *const *In, void *Out) override {
    for (Port &P : Ports) {
      P.Buffer.assign((P.bytes() + 7) / 8, 0);
      fill(P, In, 0, 0);
    }
    const std::vector<double> Data(64, 0.5);
    return decide(Data.data(), onnx::Double, 0,
                  MaskInput ? static_cast<const int64_t *>(In[*MaskInput])
                            : nullptr,
                  *static_cast<Advice *>(Out));
  }
  bool bind(const std::vector<ModelTensor> &Wanted,
            const std::vector<ModelTensor> &Known, const ModelOptions &O) {
    std::vector<TensorSpec> Offered = Inline.Features;
    Offered.push_back(Inline.Default);
    return bindInputs(Wanted, Offered, O) && chooseOutput(Known, Offered, O);
  }
};

/// Reads lines of "NAME TYPE COLUMNS DIMENSION...", a model's tensors; the last
/// is its output.
void readTensors(std::string_view Data) {
  std::vector<ModelTensor> Tensors;
  while (!Data.empty() && Tensors.size() < 100) {
    std::string_view Line = take(Data, '\n');
    ModelTensor &T = Tensors.emplace_back();
    T.Name = take(Line, ' ');
    T.Type = number<int>(take(Line, ' ')).value_or(0);
    T.Columns = split(take(Line, ' '));
    while (!Line.empty())
      T.Shape.push_back(number<int64_t>(take(Line, ' ')).value_or(-1));
  }
  if (Tensors.empty())
    return;
  const std::vector<ModelTensor> Known{Tensors.back()};
  Tensors.pop_back();
  for (const DomainKind Kind :
       {DomainKind::Flag, DomainKind::Choice, DomainKind::Number}) {
    Model M(Inline.Decision, {Kind, 33, "mask", 0, 9});
    if (!M.bind(Tensors, Known, {})) {
      require(!M.error().empty(), "a refusal without a reason");
      continue;
    }
    const std::vector<int64_t> In(33, 1);
    const std::vector<const void *> Inputs(M.inputs().size(), In.data());
    Advice A{0};
    require(M.evaluate(Inputs.data(), &A) || !M.error().empty(), "no reason");
  }
}

struct Reader {
  const char *Name;
  void (*Read)(std::string_view);
};

constexpr Reader Readers[] = {
    {"decisions", readDecisions}, {"record", readRecord},
    {"spec", readSpec},           {"pipeline", readPipeline},
    {"text", readText},           {"tensors", readTensors},
};

void (*chosen())(std::string_view) {
  const char *Name = std::getenv("PASSPILOT_READER");
  for (const Reader &R : Readers)
    if (Name && std::string_view(Name) == R.Name)
      return R.Read;
  require(false, "PASSPILOT_READER names no reader");
  return nullptr;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  static const auto Read = chosen();
  Read({reinterpret_cast<const char *>(Data), Size});
  return 0;
}
