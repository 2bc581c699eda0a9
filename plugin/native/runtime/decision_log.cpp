// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "decision_log.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <unistd.h>

namespace passpilot {

DecisionLog::DecisionLog(int FD, const std::vector<TensorSpec> &Features)
    : File(fdopen(FD, "wb")) {
  if (!File) {
    fail();
    ::close(FD);
    return;
  }
  std::setvbuf(File.get(), nullptr, _IOFBF, 1 << 18);
  write("{\"features\":[");
  for (size_t I = 0; I < Features.size(); ++I) {
    const TensorSpec &S = Features[I];
    write(I ? ",{\"name\":" : "{\"name\":");
    quoted(S.Name);
    write(",\"type\":\"");
    write(llvmName(S.Type));
    write("\",\"port\":0,\"shape\":[");
    for (size_t D = 0; D < S.Shape.size(); ++D) {
      write(D ? "," : "");
      number(static_cast<uint64_t>(S.Shape[D]));
    }
    write("]}");
  }
  write("]}\n");
}

void DecisionLog::observation(uint64_t Ordinal, const DecisionPlace &Place) {
  if (NextContext) {
    write("{\"context\":");
    quoted(*NextContext);
    write("}\n");
    NextContext.reset();
  }
  write("{\"observation\":");
  number(Ordinal);
  if (Place.ofCall()) {
    write(",\"caller\":");
    quoted(Place.Caller);
    write(",\"callee\":");
    quoted(Place.Callee);
  }
  if (!Place.Register.empty()) {
    write(",\"register\":");
    quoted(Place.Register);
  }
  if (!Place.Registers.empty()) {
    write(",\"registers\":");
    quoted(Place.Registers);
  }
  if (!Place.File.empty()) {
    write(",\"location\":\"");
    escaped(Place.File);
    write(":");
    number(Place.Line);
    write(":");
    number(Place.Column);
    write("\"");
  }
  write("}\n");
}

bool DecisionLog::flush() {
  if (File && std::fflush(File.get()) != 0)
    fail();
  return !Failed;
}

bool DecisionLog::close() {
  if (File && std::fclose(File.release()) != 0)
    fail();
  return !Failed;
}

void DecisionLog::write(std::string_view Text) {
  if (!Failed &&
      std::fwrite(Text.data(), 1, Text.size(), File.get()) != Text.size())
    fail();
}

void DecisionLog::quoted(std::string_view Text) {
  write("\"");
  escaped(Text);
  write("\"");
}

/// The length of the UTF-8 sequence at the beginning of \p Text; 0 if there is
/// none.
static size_t sequenceLength(std::string_view Text) {
  const unsigned char First = Text[0];
  const size_t Length = First < 0x80   ? 1
                        : First < 0xe0 ? 2
                        : First < 0xf0 ? 3
                                       : 4;
  if (Length == 1)
    return 1;
  uint32_t Point = First & (0x7f >> Length);
  for (const char C : Text.substr(1, Length - 1)) {
    if ((C & 0xc0) != 0x80)
      return 0;
    Point = Point << 6 | (C & 0x3f);
  }
  const uint32_t Least[] = {0x80, 0x800, 0x10000};
  const bool IsSurrogate = Point >= 0xd800 && Point < 0xe000;
  return First < 0xc2 || First > 0xf4 || Text.size() < Length ||
                 Point < Least[Length - 2] || Point > 0x10ffff || IsSurrogate
             ? 0
             : Length;
}

/// LLVM's names need not be UTF-8. Other bytes are escaped as Python's
/// surrogate escapes, which its JSON reader makes of them again.
void DecisionLog::escaped(std::string_view Text) {
  static const char Hex[] = "0123456789abcdef";
  size_t Start = 0;
  for (size_t I = 0; I < Text.size();) {
    const unsigned char C = Text[I];
    const size_t Length = sequenceLength(Text.substr(I));
    if (Length && C >= 0x20 && C != 0x7f && C != '"' && C != '\\') {
      I += Length;
      continue;
    }
    write(Text.substr(Start, I - Start));
    const char *Page = Length ? "00" : "dc";
    const char Escape[] = {'\\',    'u',         Page[0],
                           Page[1], Hex[C >> 4], Hex[C & 15]};
    write({Escape, sizeof Escape});
    Start = ++I;
  }
  write(Text.substr(Start));
}

void DecisionLog::number(uint64_t N) {
  char Text[20];
  char *End = std::to_chars(Text, Text + sizeof Text, N).ptr;
  write({Text, static_cast<size_t>(End - Text)});
}

void DecisionLog::fail() {
  Failed = true;
  Error = std::strerror(errno);
}

} // namespace passpilot
