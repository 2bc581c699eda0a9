// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source of the bits of x86-64: Intel's and AMD's manuals on `cpuid`.

#include "processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <fstream>
#include <sstream>
#include <utility>
#endif

namespace passpilot {

#if defined(__x86_64__)

namespace {

enum Register { EAX, EBX, ECX, EDX };
/// Which registers the operating system must save for a feature.
enum State { Any, Wide, Wider, Tiles };

struct Bit {
  const char *Name;
  unsigned Leaf, Part;
  Register R;
  unsigned Place;
  State Saved = Any;
};

const unsigned Extended = 0x80000001, Capacities = 0x80000008;

const Bit Bits[] = {
    {"cx8", 1, 0, EDX, 8},
    {"cmov", 1, 0, EDX, 15},
    {"mmx", 1, 0, EDX, 23},
    {"fxsr", 1, 0, EDX, 24},
    {"sse", 1, 0, EDX, 25},
    {"sse2", 1, 0, EDX, 26},
    {"sse3", 1, 0, ECX, 0},
    {"pclmul", 1, 0, ECX, 1},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12, Wide},
    {"cx16", 1, 0, ECX, 13},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"crc32", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"aes", 1, 0, ECX, 25},
    {"xsave", 1, 0, ECX, 26, Wide},
    {"avx", 1, 0, ECX, 28, Wide},
    {"f16c", 1, 0, ECX, 29, Wide},
    {"rdrnd", 1, 0, ECX, 30},
    {"fsgsbase", 7, 0, EBX, 0},
    {"sgx", 7, 0, EBX, 2},
    {"bmi", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5, Wide},
    {"bmi2", 7, 0, EBX, 8},
    {"invpcid", 7, 0, EBX, 10},
    {"rtm", 7, 0, EBX, 11},
    {"avx512f", 7, 0, EBX, 16, Wider},
    {"avx512dq", 7, 0, EBX, 17, Wider},
    {"rdseed", 7, 0, EBX, 18},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21, Wider},
    {"clflushopt", 7, 0, EBX, 23},
    {"clwb", 7, 0, EBX, 24},
    {"avx512cd", 7, 0, EBX, 28, Wider},
    {"sha", 7, 0, EBX, 29},
    {"avx512bw", 7, 0, EBX, 30, Wider},
    {"avx512vl", 7, 0, EBX, 31, Wider},
    {"avx512vbmi", 7, 0, ECX, 1, Wider},
    {"pku", 7, 0, ECX, 4},
    {"waitpkg", 7, 0, ECX, 5},
    {"avx512vbmi2", 7, 0, ECX, 6, Wider},
    {"shstk", 7, 0, ECX, 7},
    {"gfni", 7, 0, ECX, 8},
    {"vaes", 7, 0, ECX, 9, Wide},
    {"vpclmulqdq", 7, 0, ECX, 10, Wide},
    {"avx512vnni", 7, 0, ECX, 11, Wider},
    {"avx512bitalg", 7, 0, ECX, 12, Wider},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Wider},
    {"rdpid", 7, 0, ECX, 22},
    {"kl", 7, 0, ECX, 23},
    {"cldemote", 7, 0, ECX, 25},
    {"movdiri", 7, 0, ECX, 27},
    {"movdir64b", 7, 0, ECX, 28},
    {"enqcmd", 7, 0, ECX, 29},
    {"uintr", 7, 0, EDX, 5},
    {"avx512vp2intersect", 7, 0, EDX, 8, Wider},
    {"serialize", 7, 0, EDX, 14},
    {"tsxldtrk", 7, 0, EDX, 16},
    {"pconfig", 7, 0, EDX, 18},
    {"amx-bf16", 7, 0, EDX, 22, Tiles},
    {"avx512fp16", 7, 0, EDX, 23, Wider},
    {"amx-tile", 7, 0, EDX, 24, Tiles},
    {"amx-int8", 7, 0, EDX, 25, Tiles},
    {"sha512", 7, 1, EAX, 0},
    {"sm3", 7, 1, EAX, 1},
    {"sm4", 7, 1, EAX, 2},
    {"raoint", 7, 1, EAX, 3},
    {"avxvnni", 7, 1, EAX, 4, Wide},
    {"avx512bf16", 7, 1, EAX, 5, Wider},
    {"cmpccxadd", 7, 1, EAX, 7},
    {"amx-fp16", 7, 1, EAX, 21, Tiles},
    {"hreset", 7, 1, EAX, 22},
    {"avxifma", 7, 1, EAX, 23, Wide},
    {"movrs", 7, 1, EAX, 31},
    {"avxvnniint8", 7, 1, EDX, 4, Wide},
    {"avxneconvert", 7, 1, EDX, 5, Wide},
    {"amx-complex", 7, 1, EDX, 8, Tiles},
    {"avxvnniint16", 7, 1, EDX, 10, Wide},
    {"prefetchi", 7, 1, EDX, 14},
    {"usermsr", 7, 1, EDX, 15},
    {"avx10.1", 7, 1, EDX, 19},
    {"egpr", 7, 1, EDX, 21},
    {"push2pop2", 7, 1, EDX, 21},
    {"ppx", 7, 1, EDX, 21},
    {"ndd", 7, 1, EDX, 21},
    {"ccmp", 7, 1, EDX, 21},
    {"nf", 7, 1, EDX, 21},
    {"cf", 7, 1, EDX, 21},
    {"zu", 7, 1, EDX, 21},
    {"xsaveopt", 0xd, 1, EAX, 0, Wide},
    {"xsavec", 0xd, 1, EAX, 1, Wide},
    {"xsaves", 0xd, 1, EAX, 3, Wide},
    {"ptwrite", 0x14, 0, EBX, 4},
    {"widekl", 0x19, 0, EBX, 2},
    {"amx-fp8", 0x1e, 1, EAX, 4, Tiles},
    {"amx-tf32", 0x1e, 1, EAX, 6, Tiles},
    {"amx-avx512", 0x1e, 1, EAX, 7, Tiles},
    {"amx-movrs", 0x1e, 1, EAX, 8, Tiles},
    {"avx10.2", 0x24, 0, EBX, 1},
    {"sahf", Extended, 0, ECX, 0},
    {"lzcnt", Extended, 0, ECX, 5},
    {"sse4a", Extended, 0, ECX, 6},
    {"prfchw", Extended, 0, ECX, 8},
    {"xop", Extended, 0, ECX, 11, Wide},
    {"lwp", Extended, 0, ECX, 15},
    {"fma4", Extended, 0, ECX, 16, Wide},
    {"tbm", Extended, 0, ECX, 21},
    {"mwaitx", Extended, 0, ECX, 29},
    {"64bit", Extended, 0, EDX, 29},
    {"clzero", Capacities, 0, EBX, 0},
    {"rdpru", Capacities, 0, EBX, 4},
    {"wbnoinvd", Capacities, 0, EBX, 9},
};

/// Whether bit \p Place of register \p R of the given cpuid leaf is set.
bool isSet(unsigned Leaf, unsigned Part, Register R, unsigned Place) {
  unsigned Registers[4] = {};
  return __get_cpuid_count(Leaf, Part, &Registers[EAX], &Registers[EBX],
                           &Registers[ECX], &Registers[EDX]) &&
         (Registers[R] >> Place & 1);
}

/// A bit for each kind of registers that the operating system saves.
unsigned savedKinds() {
  unsigned Low = 0, High = 0;
  if (isSet(1, 0, ECX, 27)) // xgetbv is available
    __asm__("xgetbv" : "=a"(Low), "=d"(High) : "c"(0));
  return Low;
}

bool saves(unsigned Kinds, State S) {
  const unsigned Needed[] = {0, 0x6, 0xe6, 3 << 17};
  return (Kinds & Needed[S]) == Needed[S] &&
         (S != Wide || isSet(1, 0, ECX, 28));
}

} // namespace

std::vector<std::string> processorFeatures() {
  std::vector<std::string> Found;
  const unsigned Kinds = savedKinds();
  for (const Bit &B : Bits)
    if (saves(Kinds, B.Saved) && isSet(B.Leaf, B.Part, B.R, B.Place))
      Found.push_back(B.Name);
  return Found;
}

#else

/// Translates Linux's names, some of which differ from LLVM's.
std::vector<std::string> processorFeatures() {
  const std::pair<const char *, const char *> Others[] = {
      {"asimd", "neon"},  {"fp", "fp-armv8"},     {"crc32", "crc"},
      {"atomics", "lse"}, {"asimddp", "dotprod"}, {"asimdhp", "fullfp16"},
      {"sha512", "sha3"}, {"pmull", "aes"},       {"asimdrdm", "rdm"},
      {"sha1", "sha2"},   {"lrcpc", "rcpc"}};
  std::vector<std::string> Found;
  std::ifstream File("/proc/cpuinfo");
  for (std::string Line; Found.empty() && std::getline(File, Line);) {
    if (Line.rfind("Features", 0) != 0)
      continue;
    std::istringstream Words(Line.substr(Line.find(':') + 1));
    for (std::string Word; Words >> Word;) {
      for (const auto &[Theirs, LLVMs] : Others)
        if (Word == Theirs)
          Word = LLVMs;
      Found.push_back(Word);
    }
  }
  return Found;
}

#endif

} // namespace passpilot
