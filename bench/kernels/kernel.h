// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a kernel for python -m bench.measure.passes.vectorize: setup()
// fills its data, kernel() works on them, check() adds up the results, and
// repeat() runs the kernel often enough to be measured. The data are no static
// variables, so that the compiler cannot know what repeat() does with them.

#define HOT __attribute__((noinline))
#define SHOWN __attribute__((visibility("default")))

SHOWN void setup(void);
SHOWN double check(void);
SHOWN void repeat(long times);
void kernel(void);

/// A number of 0 to 255 that looks random.
static inline float number(int i) {
  const unsigned x = (unsigned)i * 2654435761u;
  return (float)((x ^ x >> 15) >> 8 & 255);
}

void repeat(long times) {
  for (long i = 0; i < times; i++) {
    kernel();
    __asm__ volatile("" ::: "memory");
  }
}
