/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * passpilot for any compiler: asks a runner for advice on each decision.
 *
 *   passpilot_runner *r = passpilot_runner_create("onnx:m.onnx", &point, NULL);
 *   int64_t *size = passpilot_runner_input(r, "size");    once
 *   *size = 12;                                           for each decision
 *   if (passpilot_runner_evaluate(r, &advice) != 0)
 *     fail(passpilot_last_error());
 *   passpilot_runner_destroy(r);                          once
 *
 * Runner specs are those of every command of passpilot's. The schemes default,
 * const, random, onnx and aot need no Python; all others, such as python, pipe,
 * grpc and replay, start the one of passpilot's packages in this process, once,
 * or use the one that the process has.
 *
 * Errors: what returns a pointer returns null, what returns an int returns
 * nonzero; passpilot_last_error() then tells why, on one line. No call ends the
 * process, and none throws.
 *
 * Memory: texts and arrays that are passed in are copied. What a runner gives
 * out belongs to it, stays at the same address, and ends with it.
 *
 * Threads: all functions may be called from all threads. Runners are
 * independent of each other; one runner serves one thread at a time: whoever
 * writes its inputs and evaluates has it for himself meanwhile. A thread that
 * holds Python's GIL lets go of it first.
 */

#ifndef PASSPILOT_H
#define PASSPILOT_H

#include <stddef.h>
#include <stdint.h>

#include "passpilot_model.h" /* enum passpilot_type */

#if defined(__GNUC__)
#define PASSPILOT_API __attribute__((visibility("default")))
#else
#define PASSPILOT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor that the compiler offers: dense and row-major. */
typedef struct passpilot_feature {
  const char *name;     /* without control characters */
  const int64_t *shape; /* of `rank` dimensions, each at least 1 */
  uint32_t rank;        /* 0 to 32 */
  uint32_t type;        /* an enum passpilot_type, but not PASSPILOT_BOOL */
} passpilot_feature;

/* What an advice is. Every answer is checked: a runner's answer outside the
 * domain is an error, never an advice. */
enum passpilot_domain_kind {
  PASSPILOT_FLAG = 0,   /* 0 or 1 */
  PASSPILOT_CHOICE = 1, /* one of `count` that the mask allows */
  PASSPILOT_NUMBER = 2  /* finite, `low` to `high` */
};

typedef struct passpilot_domain {
  uint32_t kind; /* an enum passpilot_domain_kind */
  int64_t count; /* of a choice: how many there are, at least 1 */
  /* Of a choice: the feature int64[1,count], or int64[count], that tells which
   * are legal (not 0). Null stands for "mask". One that is not among the
   * features is added to them. */
  const char *mask;
  double low, high; /* of a number: both finite */
} passpilot_domain;

/* A decision that the compiler takes again and again. */
typedef struct passpilot_point {
  const char *name; /* in messages, and for servers */
  const passpilot_feature *features;
  size_t feature_count;
  const char *advice; /* the name of the advice; null: "advice" */
  passpilot_domain domain;
} passpilot_point;

/* An advice: an integer of a flag or a choice, a number of a number. */
typedef union passpilot_advice {
  int64_t integer;
  double number;
} passpilot_advice;

typedef struct passpilot_options {
  size_t size;    /* sizeof(passpilot_options) */
  double timeout; /* seconds that a wait for another process may take */
  /* Not 0: where the runner fails, the default decides, and a warning tells. A
   * peer that is dead is not asked again. */
  int default_on_error;
  const char *log; /* the file of a decision log; null: none */
  /* Python files, separated by ':', to be run first: they register schemes.
   * Null: none. */
  const char *load;
  /* Called with each warning, by the thread that a call is made from. Null:
   * warnings go to stderr. */
  void (*warn)(void *data, const char *text);
  void *warn_data;
} passpilot_options;

#define PASSPILOT_OPTIONS_INIT                                                 \
  {sizeof(passpilot_options), 10.0, 0, NULL, NULL, NULL, NULL}

/* Where a decision is, in messages and in the log. Null and 0: unknown. */
typedef struct passpilot_place {
  const char *caller; /* of a call, with `callee` */
  const char *callee;
  const char *file;
  uint32_t line;
  uint32_t column;
} passpilot_place;

typedef struct passpilot_runner passpilot_runner;

/* The runner that `spec` names, for decisions of `point`; null after an error,
 * such as a model that wants what the point does not offer. Null options are
 * PASSPILOT_OPTIONS_INIT. All inputs are 0, the mask allows all. */
PASSPILOT_API passpilot_runner *
passpilot_runner_create(const char *spec, const passpilot_point *point,
                        const passpilot_options *options);

/* The buffer of the feature `name`, aligned to 8 bytes, to be written before
 * each decision; nobody clears it. Null after an error: there is no such
 * feature. */
PASSPILOT_API void *passpilot_runner_input(passpilot_runner *runner,
                                           const char *name);

/* The buffer of the mask; null, without an error, if it is no choice. */
PASSPILOT_API int64_t *passpilot_runner_mask(passpilot_runner *runner);

/* The compiler's own decision, to be written before each decision: what the
 * runner "default" answers, and others may ask for. 0 until it is written. */
PASSPILOT_API passpilot_advice *
passpilot_runner_default(passpilot_runner *runner);

/* Whether anybody reads the feature `name`, or "ADVICE_default" for the
 * compiler's own decision: the runner or the log. What nobody reads need not be
 * computed. */
PASSPILOT_API int passpilot_runner_reads(passpilot_runner *runner,
                                         const char *name);

/* Advice on the decision that the inputs describe. 0: `*answer` is legal. Not
 * 0: `*answer` is as it was; the next decision may be asked for, where a dead
 * peer's runner gives the same error again. */
PASSPILOT_API int passpilot_runner_evaluate(passpilot_runner *runner,
                                            passpilot_advice *answer);

/* The decisions that follow belong to `name`, such as a function. A runner that
 * fails at this fails at the next decision. */
PASSPILOT_API void passpilot_runner_switch_context(passpilot_runner *runner,
                                                   const char *name);

/* Where the decisions that follow are; null: nowhere. */
PASSPILOT_API void passpilot_runner_set_place(passpilot_runner *runner,
                                              const passpilot_place *place);

/* How many decisions were left to the default, because the runner failed. */
PASSPILOT_API uint64_t
passpilot_runner_fallbacks(const passpilot_runner *runner);

/* Ends the runner's work: peers are told, and the log appears under its name.
 * `keep` 0 drops the log, as for a compilation that has failed. Nothing may be
 * asked for afterwards; the buffers stay. A second time does nothing. */
PASSPILOT_API int passpilot_runner_close(passpilot_runner *runner, int keep);

/* Closes it without its log, unless it was closed before, and frees it. Null is
 * allowed. */
PASSPILOT_API void passpilot_runner_destroy(passpilot_runner *runner);

/* The last error of this thread, "" if there was none. Valid until the next
 * call from this thread. */
PASSPILOT_API const char *passpilot_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
