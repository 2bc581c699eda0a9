// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gen_json.h"
#include "cJSON.h"
#include "cJSON_Utils.h"
int main(void) {
  size_t n, i; char *s = malloc(3u << 20), *out; cJSON *v, *copy, *patch;
  n = gen_json(s, 1u << 20, 27);
  if (!(v = cJSON_Parse(s))) return 1;
  for (i = 0; i < 2; i++) { out = i ? cJSON_Print(v) : cJSON_PrintUnformatted(v); printf("%zu -> %zu hash %016llx\n", n, strlen(out), (unsigned long long)gen_hash(out, strlen(out), 0)); free(out); }
  copy = cJSON_Duplicate(v, 1); printf("equal %d size %d\n", cJSON_Compare(v, copy, 1), cJSON_GetArraySize(v));
  for (i = 0; i < 60; i++) { cJSON *o = cJSON_CreateObject(); cJSON_AddNumberToObject(o, "n", (double)i / 4); cJSON_AddStringToObject(o, "s/~", "x"); cJSON_AddItemToObject(o, "l", cJSON_CreateIntArray((int[]){1, 2, (int)i}, 3)); cJSON_ReplaceItemInArray(copy, (int)(i * 7), o); }
  cJSON_DeleteItemFromArray(copy, 3);
  patch = cJSONUtils_GeneratePatchesCaseSensitive(v, copy); out = cJSON_PrintUnformatted(patch);
  printf("patch %d hash %016llx\n", cJSON_GetArraySize(patch), (unsigned long long)gen_hash(out, strlen(out), 0)); free(out);
  printf("applied %d equal %d\n", cJSONUtils_ApplyPatchesCaseSensitive(v, patch), cJSON_Compare(v, copy, 1));
  { cJSON *p = cJSONUtils_GetPointer(v, "/7/l/2"); printf("pointer %d\n", p ? p->valueint : -1); }
  cJSONUtils_SortObject(v); cJSON_Minify(s); printf("minified %zu\n", strlen(s));
  cJSON_Delete(v); cJSON_Delete(copy); cJSON_Delete(patch);
  { static const char *bad[] = {"[1,2", "{\"a\" 1}", "[\"\\ud800\"]", "nul", "{\"a\":1,}"}; for (i = 0; i < 5; i++) printf("%d", cJSON_Parse(bad[i]) != 0); printf("\n"); }
  return 0;
}
