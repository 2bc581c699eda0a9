/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Lets any compiler ask a passpilot runner for advice on its decisions.
 *
 *   passpilot_runner *r = passpilot_runner_create("onnx:m.onnx", &point, NULL);
 *   int64_t *size = passpilot_runner_input(r, "size");    once
 *   *size = 12;                                           for each decision
 *   if (passpilot_runner_evaluate(r, &advice) != 0)
 *     fail(passpilot_last_error());
 *   passpilot_runner_destroy(r);                          once
 *
 * Runner specs are the same as on passpilot's command line. The schemes
 * default, const, random, onnx and aot need no Python. All others, such as
 * python, pipe, grpc and replay, use the process's Python, or start once the
 * Python that passpilot is installed in.
 *
 * Errors: after an error, a function that returns a pointer returns null, and
 * one that returns an int returns nonzero; passpilot_last_error() then gives
 * the reason on one line. No function ends the process or throws.
 *
 * Versions: libpasspilot_c.so.1 runs every program that was compiled with an
 * older header of version 1. Only passpilot_options gets members, at its end.
 *
 * Memory: functions copy the texts and arrays passed to them. Buffers from a
 * runner belong to it, never move, and are freed with it.
 *
 * Threads: all functions may be called from all threads. Runners are
 * independent of each other. One runner serves one thread at a time, from
 * writing its inputs until evaluation. A thread that holds Python's GIL must
 * release it before a call.
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

/* The kind of advice. Every answer is checked: a runner's answer outside the
 * domain is an error, never an advice. */
enum passpilot_domain_kind {
  PASSPILOT_FLAG = 0,   /* 0 or 1 */
  PASSPILOT_CHOICE = 1, /* a column below `count` that the mask allows */
  PASSPILOT_NUMBER = 2  /* finite, `low` to `high` */
};

typedef struct passpilot_domain {
  uint32_t kind; /* an enum passpilot_domain_kind */
  int64_t count; /* of a choice: the number of columns, at least 1 */
  /* Of a choice: the name of the feature int64[1,count] or int64[count] whose
   * nonzero elements mark the legal columns. Null means "mask". If there is no
   * such feature, it is added. */
  const char *mask;
  double low, high; /* of a number: both finite */
} passpilot_domain;

/* A kind of decision that the compiler makes repeatedly. */
typedef struct passpilot_point {
  const char *name; /* shown in messages, sent to servers */
  const passpilot_feature *features;
  size_t feature_count;
  const char *advice; /* the name of the advice; null: "advice" */
  passpilot_domain domain;
} passpilot_point;

/* An advice: `integer` for a flag or a choice, `number` for a number. */
typedef union passpilot_advice {
  int64_t integer;
  double number;
} passpilot_advice;

typedef struct passpilot_options {
  /* sizeof(passpilot_options), by which the library knows the header's version:
   * members that an older header lacks have their defaults. */
  size_t size;
  double timeout; /* seconds to wait for another process at most */
  /* Not 0: if the runner fails, warn and take the default decision. A dead peer
   * is not asked again. */
  int default_on_error;
  const char *log; /* the file of a decision log; null: none */
  /* Python files that register schemes, separated by ':'; they run first.
   * Null: none. */
  const char *load;
  /* Called with each warning, on the thread that has called passpilot. Null:
   * warnings go to stderr. */
  void (*warn)(void *data, const char *text);
  void *warn_data;
} passpilot_options;

#define PASSPILOT_OPTIONS_INIT                                                 \
  {sizeof(passpilot_options), 10.0, 0, NULL, NULL, NULL, NULL}

/* A decision's place, for messages and the log. Null and 0: unknown. */
typedef struct passpilot_place {
  const char *caller; /* set for a call, with `callee` */
  const char *callee;
  const char *file;
  uint32_t line;
  uint32_t column;
} passpilot_place;

typedef struct passpilot_runner passpilot_runner;

/* Makes the runner that `spec` names, for decisions of `point`. Null after an
 * error, such as a model that needs a feature that the point lacks. Null
 * options mean PASSPILOT_OPTIONS_INIT. Inputs are 0, the mask allows all. */
PASSPILOT_API passpilot_runner *
passpilot_runner_create(const char *spec, const passpilot_point *point,
                        const passpilot_options *options);

/* The buffer of the feature `name`, aligned to 8 bytes. Write it before each
 * decision; passpilot never clears it. Null after an error: the point has no
 * such feature. */
PASSPILOT_API void *passpilot_runner_input(passpilot_runner *runner,
                                           const char *name);

/* The buffer of the mask; null, without an error, unless it is a choice. */
PASSPILOT_API int64_t *passpilot_runner_mask(passpilot_runner *runner);

/* The buffer of the compiler's own decision. Write it before each decision: the
 * runner "default" answers it, others may read it. It starts as 0. */
PASSPILOT_API passpilot_advice *
passpilot_runner_default(passpilot_runner *runner);

/* Whether the runner or the log reads the feature `name`, or "ADVICE_default"
 * for the compiler's own decision. Features that neither reads need not be
 * computed. */
PASSPILOT_API int passpilot_runner_reads(passpilot_runner *runner,
                                         const char *name);

/* Asks for advice on the decision that the inputs describe. 0: `*answer` is
 * legal. Not 0: `*answer` is unchanged; you may ask about the next decision,
 * but the runner of a dead peer gives the same error again. */
PASSPILOT_API int passpilot_runner_evaluate(passpilot_runner *runner,
                                            passpilot_advice *answer);

/* Sets the context of the next decisions, such as a function's name. If the
 * runner fails here, the next decision reports it. */
PASSPILOT_API void passpilot_runner_switch_context(passpilot_runner *runner,
                                                   const char *name);

/* Sets the place of the next decisions; null: unknown. */
PASSPILOT_API void passpilot_runner_set_place(passpilot_runner *runner,
                                              const passpilot_place *place);

/* The number of decisions that the default took because the runner failed. */
PASSPILOT_API uint64_t
passpilot_runner_fallbacks(const passpilot_runner *runner);

/* Ends the runner's work: tells its peer, and puts the log in place. If `keep`
 * is 0 it drops the log, as for a failed compilation. Afterwards the runner
 * cannot evaluate; its buffers stay. A second call does nothing. */
PASSPILOT_API int passpilot_runner_close(passpilot_runner *runner, int keep);

/* Frees the runner. If it is still open, closes it and drops its log. Null is
 * allowed. */
PASSPILOT_API void passpilot_runner_destroy(passpilot_runner *runner);

/* This thread's last error, "" if there was none. Valid until this thread's
 * next call. */
PASSPILOT_API const char *passpilot_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
