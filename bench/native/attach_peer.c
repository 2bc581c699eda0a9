// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A minimal agent for LLVM's interactive inliner: always answers 0, no checks.
//
// usage: attach_peer BASE BYTES        BYTES is the size of all tensors

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char Data[1 << 16];
static size_t Begin, End;

static int fill(int Fd) {
  memmove(Data, Data + Begin, End - Begin);
  End -= Begin;
  Begin = 0;
  ssize_t Got = read(Fd, Data + End, sizeof Data - End);
  End += Got > 0 ? Got : 0;
  return Got > 0;
}

int main(int Count, char **Arguments) {
  char Name[4096];
  if (Count != 3)
    return 2;
  const size_t Bytes = strtoul(Arguments[2], NULL, 10);
  const long long Answer = 0;
  snprintf(Name, sizeof Name, "%s.in", Arguments[1]);
  const int In = open(Name, O_WRONLY);
  snprintf(Name, sizeof Name, "%s.out", Arguments[1]);
  const int Out = open(Name, O_RDONLY);
  for (;;) {
    char *Line = Data + Begin;
    char *Newline = memchr(Line, '\n', End - Begin);
    const int Asks = Newline && !strncmp(Line, "{\"observation\"", 14);
    const size_t Size =
        Newline ? Newline + 1 - Line + (Asks ? Bytes + 1 : 0) : 0;
    if (!Size || End - Begin < Size) {
      if (!fill(Out))
        return 0;
      continue;
    }
    Begin += Size;
    if (Asks && write(In, &Answer, sizeof Answer) != sizeof Answer)
      return 1;
  }
}
