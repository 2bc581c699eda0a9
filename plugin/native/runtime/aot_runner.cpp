// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks a model that `passpilot aot` compiled to a shared library; needs no
// interpreter.

#include "../include/passpilot_model.h"
#include "input_file.h"
#include "model_runner.h"
#include "onnx_tensor.h"
#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

namespace passpilot {

namespace {

const char *const Symbol = "passpilot_policy";
const char *const CustomSymbol = "passpilot_custom_features";
const char *const FailuresSymbol = "passpilot_failures";

/// Why \p File is no shared library for this process; empty if it is one. A
/// truncated file would crash the loader.
std::string complaint(std::ifstream File) {
  auto ReadHeader = [](std::ifstream &In, Elf64_Ehdr &H) {
    return static_cast<bool>(In.read(reinterpret_cast<char *>(&H), sizeof H)) &&
           std::equal(H.e_ident, H.e_ident + SELFMAG, ELFMAG);
  };
  std::ifstream Self("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr Header{}, Own{};
  if (!ReadHeader(File, Header) || Header.e_type != ET_DYN)
    return "no shared library; `passpilot aot` makes one of a model";
  if (ReadHeader(Self, Own) &&
      (Header.e_machine != Own.e_machine ||
       Header.e_ident[EI_CLASS] != Own.e_ident[EI_CLASS]))
    return "one for another architecture";
  // The linker writes the section headers last.
  const uint64_t End =
      Header.e_shoff + uint64_t(Header.e_shnum) * Header.e_shentsize;
  File.seekg(0, std::ios::end);
  if (!Header.e_shoff || static_cast<uint64_t>(File.tellg()) < End)
    return "a file that is cut off";
  return "";
}

/// The descriptor of an in-memory copy of the file at \p Path, or -1 with \p
/// Why set. If a read fails, the copy is incomplete and complaint() refuses it.
int copyOf(const std::string &Path, std::string &Why) {
  const int From = openInput(Path, Why, MostBytes);
  if (From < 0)
    return -1;
  const int To = memfd_create("passpilot-model", MFD_CLOEXEC);
  if (To < 0)
    Why = std::strerror(errno);
  const size_t AtOnce = 1 << 30;
  while (To >= 0 && sendfile(To, From, nullptr, AtOnce) > 0)
    ;
  close(From);
  return To;
}

/// The first of the comma-separated \p Needed that is not among \p Had.
std::string missingFrom(const std::vector<std::string> &Had,
                        const char *Needed) {
  for (const std::string &F : split(Needed))
    if (std::find(Had.begin(), Had.end(), F) == Had.end())
      return F;
  return "";
}

std::vector<ModelTensor> tensorsOf(const passpilot_tensor *T, uint32_t Count) {
  std::vector<ModelTensor> Tensors;
  for (; Count; --Count, ++T)
    Tensors.push_back({T->name,
                       static_cast<int>(T->type),
                       {T->shape, T->shape + T->rank},
                       split(T->columns ? T->columns : "")});
  return Tensors;
}

class AotRunner final : public ModelRunner {
public:
  using ModelRunner::ModelRunner;
  ~AotRunner() override {
    if (Context)
      Model->destroy(Context);
    if (Library)
      dlclose(Library);
    if (File >= 0)
      close(File);
  }

  bool open(const std::string &Path, const std::vector<std::string> &Features);
  bool bind(const std::vector<TensorSpec> &Offered,
            const ModelOptions &Options);
  bool evaluate(const void *const *In, void *Out) override;

private:
  bool convertAndEvaluate(const void *const *In, void *Out);

  /// A copy of the file, open as long as the library is. The loader reuses a
  /// loaded library if the name or inode matches; the copy has a new name and
  /// inode, so models are never mixed up, nor changed while in use.
  int File = -1;
  void *Library = nullptr;
  const passpilot_model *Model = nullptr;
  void *Context = nullptr;
  const char *Failures = ""; ///< a line for each status from FirstFailure on
  std::vector<const void *> Pointers; ///< one per input of the model
  bool InPlace = false;         ///< inputs and answer are the compiler's own
  std::vector<uint64_t> Block;  ///< of the model's outputs
  const char *Answer = nullptr; ///< points into Block

  std::string failure(int Status) const;
  bool fail(std::string Text) {
    Error = std::move(Text);
    return false;
  }
};

bool AotRunner::open(const std::string &Path,
                     const std::vector<std::string> &Features) {
  const std::string Expected = "expected a model of 'passpilot aot', got ";
  std::string Why;
  File = copyOf(Path, Why);
  if (File < 0)
    return fail(Expected + Why);
  const std::string Name = "/proc/self/fd/" + std::to_string(File);
  if (std::string Wrong = complaint(std::ifstream(Name, std::ios::binary));
      !Wrong.empty())
    return fail(Expected + Wrong);
  Library = dlopen(Name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!Library) {
    const std::string Said = dlerror();
    const bool IsNamed = Said.rfind(Name + ": ", 0) == 0;
    return fail(Expected + "a file that cannot be loaded: " +
                Said.substr(IsNamed ? Name.size() + 2 : 0));
  }
  Model = static_cast<const passpilot_model *>(dlsym(Library, Symbol));
  if (!Model)
    return fail(Expected + "a shared library without the symbol " + Symbol);
  if (const void *Text = dlsym(Library, CustomSymbol))
    CustomFeatures = static_cast<const char *>(Text);
  if (const void *Text = dlsym(Library, FailuresSymbol))
    Failures = static_cast<const char *>(Text);
  Folder = std::filesystem::path(Path).parent_path();
  if (Model->abi != PASSPILOT_MODEL_ABI)
    return fail("expected version " + std::to_string(PASSPILOT_MODEL_ABI) +
                " of the model ABI, got " + std::to_string(Model->abi) +
                "; compile the model again");
  if (std::string F = missingFrom(Features, Model->features); !F.empty())
    return fail("expected a model for this processor, got one for " +
                std::string(Model->cpu) + ", which needs " + F +
                "; compile it with another -mcpu");
  Context = Model->create();
  return Context || fail("expected memory for the model's context, got none");
}

/// What a status other than 0 means.
std::string AotRunner::failure(int Status) const {
  const int FirstFailure = 2;
  std::istringstream Lines(Failures);
  std::string Line;
  for (int I = FirstFailure; std::getline(Lines, Line); ++I)
    if (I == Status)
      return Line;
  return "expected indices within their ranges, got status " +
         std::to_string(Status);
}

bool AotRunner::bind(const std::vector<TensorSpec> &Offered,
                     const ModelOptions &Options) {
  if (!bindInputs(tensorsOf(Model->inputs, Model->input_count), Offered,
                  Options) ||
      !chooseOutput(tensorsOf(Model->outputs, Model->output_count), Offered,
                    Options))
    return false;
  for (Port &P : Ports) {
    P.Buffer.assign(P.Same ? 0 : (P.bytes() + 7) / 8, 0);
    Pointers.push_back(P.Buffer.data());
  }
  InPlace = isAdvice(static_cast<int>(Model->outputs[Chosen].type)) &&
            std::all_of(Ports.begin(), Ports.end(),
                        [](const Port &P) { return P.Same; });
  Block.assign(Model->output_size / sizeof(uint64_t), 0);
  Answer = reinterpret_cast<const char *>(Block.data()) +
           Model->outputs[Chosen].offset;
  return true;
}

/// The short way of a model that needs no conversion; errors go the long way.
bool AotRunner::evaluate(const void *const *In, void *Out) {
  if (InPlace && Model->evaluate(Context, In, Block.data()) == 0) {
    Advice A;
    std::memcpy(&A, Answer, sizeof A);
    if (TheDomain.inRange(A)) {
      std::memcpy(Out, &A, sizeof A);
      return true;
    }
  }
  return convertAndEvaluate(In, Out);
}

bool AotRunner::convertAndEvaluate(const void *const *In, void *Out) {
  for (size_t I = 0; I < Ports.size(); ++I)
    if (Ports[I].Same)
      Pointers[I] = In[Ports[I].First];
    else
      fill(Ports[I], In, /*Offset=*/0, /*Row=*/0);
  if (int Status = Model->evaluate(Context, Pointers.data(), Block.data()))
    return fail(failure(Status));
  return decide(Answer, static_cast<int>(Model->outputs[Chosen].type), 0,
                MaskInput ? static_cast<const int64_t *>(In[*MaskInput])
                          : nullptr,
                *static_cast<Advice *>(Out));
}

} // namespace

std::unique_ptr<Runner> makeAotRunner(const std::string &Path,
                                      const std::vector<std::string> &Features,
                                      const std::vector<TensorSpec> &Offered,
                                      TensorSpec Output, const Domain &D,
                                      const ModelOptions &Options,
                                      std::string &Error, bool &Mismatch) {
  auto R = std::make_unique<AotRunner>(std::move(Output), D);
  if (R->open(Path, Features) && R->bind(Offered, Options)) {
    R->nameWarning(Path);
    return R;
  }
  Mismatch = R->mismatch();
  Error = "model " + Path + ": " + R->error();
  return nullptr;
}

} // namespace passpilot
