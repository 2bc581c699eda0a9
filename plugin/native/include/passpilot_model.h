/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Models and Python functions compiled by `passpilot aot`, for C and C++.
 *
 * The object or shared library defines one constant of type passpilot_model,
 * named passpilot_policy unless --symbol says otherwise. It needs only the C
 * library.
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

/* Increases with every change of the declarations below. */
#define PASSPILOT_MODEL_ABI 2

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
  uint64_t offset; /* of an output: bytes from the output block's begin */
  /* The features that fill an input, in order, joined by commas; empty or null
   * if the model does not name them. */
  const char *columns;
} passpilot_tensor;

/* Reads one pointer per input, in the order of the model's inputs, and writes
 * the output block. Returns 0 on success; otherwise the output is undefined. 1:
 * an index was out of range. 2 and more: a Python function failed; line status
 * - 2 of the text passpilot_failures, a symbol of the shared library, says
 * where and why. */
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
  const char *hash;     /* of the model's file: SHA-256 in hexadecimal */
  const char *triple;   /* the target, as LLVM writes it */
  const char *cpu;
  const char *features; /* required of the processor: "avx,avx2,fma" */
  /* Makes a context; null if memory runs out. */
  void *(*create)(void);
  passpilot_evaluate evaluate;
  /* Sets the context of the next evaluations, such as a module's name. Models
   * are stateless, so nothing changes. */
  void (*switch_context)(void *context, const char *name);
  void (*destroy)(void *context);
} passpilot_model;

extern const passpilot_model passpilot_policy;

#ifdef __cplusplus
}
#endif

#endif
