// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks questions like LLVM's interactive inliner, without a compilation between
// them; prints the nanoseconds per question.
//
// usage: opt QUESTIONS ... -inliner-interactive-channel-base=BASE ...

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { Features = 38 };

static const char *option(int Count, char **Arguments, const char *Name) {
  for (int I = 1; I < Count; ++I)
    if (!strncmp(Arguments[I], Name, strlen(Name)))
      return Arguments[I] + strlen(Name);
  exit(2);
}

static double now(void) {
  struct timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return T.tv_sec * 1e9 + T.tv_nsec;
}

static int opened(const char *Base, const char *End, int Mode) {
  char Name[4096];
  snprintf(Name, sizeof Name, "%s.%s", Base, End);
  return open(Name, Mode);
}

int main(int Count, char **Arguments) {
  const char *Base =
      option(Count, Arguments, "-inliner-interactive-channel-base=");
  const long Questions = strtol(option(Count, Arguments, "QUESTIONS="), 0, 10);
  const int In = opened(Base, "in", O_RDONLY);
  const int Out = opened(Base, "out", O_WRONLY);
  char Message[1024];
  int64_t Answer, Tensors[Features] = {0};
  // The header, with LLVM's names, comes from a file.
  const int Header = open(option(Count, Arguments, "HEADER="), O_RDONLY);
  char Line[8192];
  const ssize_t Size = read(Header, Line, sizeof Line);
  if (write(Out, Line, Size) != Size)
    return 1;
  const double Start = now();
  for (long I = 0; I < Questions; ++I) {
    const int At = sprintf(Message, "{\"observation\":%ld}\n", I);
    memcpy(Message + At, Tensors, sizeof Tensors);
    Message[At + sizeof Tensors] = '\n';
    const ssize_t Whole = At + sizeof Tensors + 1;
    if (write(Out, Message, Whole) != Whole ||
        read(In, &Answer, sizeof Answer) != sizeof Answer)
      return 1;
  }
  printf("%.0f\n", (now() - Start) / Questions);
}
