/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Models compiled by `passpilot aot`, for C and C++.
 *
 * An object, or a shared library, has one constant of type passpilot_model,
 * under the name passpilot_policy unless --symbol gave it another. It needs no
 * library but C's own.
 *
 * Memory: tensors are dense and row-major, aligned as their elements. The
 * caller owns the inputs and the output block; a model only reads its inputs.
 * Threads: contexts are independent; one context serves one thread at a time.
 */

#ifndef PASSPILOT_MODEL_H
#define PASSPILOT_MODEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of what is below. */
#define PASSPILOT_MODEL_ABI 1

/* Element types, numbered as ONNX does. */
enum passpilot_type {
  PASSPILOT_FLOAT = 1,
  PASSPILOT_UINT8 = 2,
  PASSPILOT_INT8 = 3,
  PASSPILOT_UINT16 = 4,
  PASSPILOT_INT16 = 5,
  PASSPILOT_INT32 = 6,
  PASSPILOT_INT64 = 7,
  PASSPILOT_BOOL = 9, /* a byte, 0 or 1 */
  PASSPILOT_DOUBLE = 11,
  PASSPILOT_UINT32 = 12,
  PASSPILOT_UINT64 = 13
};

typedef struct passpilot_tensor {
  const char *name;
  const int64_t *shape; /* of `rank` dimensions */
  uint32_t rank;
  uint32_t type;   /* an enum passpilot_type */
  uint64_t offset; /* of an output: in bytes from the output block's begin */
} passpilot_tensor;

/* Reads one pointer per input, in the order of the model's inputs, and writes
 * the output block. 0 on success; 1 if an index was out of its range, in which
 * case the output means nothing. */
typedef int (*passpilot_evaluate)(void *context, const void *const *inputs,
                                  void *output);

typedef struct passpilot_model {
  uint32_t abi; /* PASSPILOT_MODEL_ABI */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  const passpilot_tensor *inputs;
  const passpilot_tensor *outputs;
  uint64_t output_size; /* of the output block, in bytes; a multiple of 8 */
  const char *hash;     /* of the ONNX file: SHA-256 in hexadecimal */
  const char *triple;   /* what it was compiled for, as LLVM writes it */
  const char *cpu;
  const char *features; /* what it needs of the processor: "avx,avx2,fma" */
  /* A context; null if there is no memory for it. */
  void *(*create)(void);
  passpilot_evaluate evaluate;
  /* What follows belongs to `name`, such as a module; models forget nothing,
   * for they remember nothing. */
  void (*switch_context)(void *context, const char *name);
  void (*destroy)(void *context);
} passpilot_model;

extern const passpilot_model passpilot_policy;

#ifdef __cplusplus
}
#endif

#endif
