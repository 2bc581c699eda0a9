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

void DecisionLog::escaped(std::string_view Text) {
  static const char Hex[] = "0123456789abcdef";
  size_t Start = 0;
  for (size_t I = 0; I < Text.size(); ++I) {
    unsigned char C = Text[I];
    // Bytes from 0x7f on are escaped as Latin-1: LLVM names need not be UTF-8.
    if (C >= 0x20 && C < 0x7f && C != '"' && C != '\\')
      continue;
    write(Text.substr(Start, I - Start));
    const char Escape[] = {'\\', 'u', '0', '0', Hex[C >> 4], Hex[C & 15]};
    write({Escape, sizeof Escape});
    Start = I + 1;
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
