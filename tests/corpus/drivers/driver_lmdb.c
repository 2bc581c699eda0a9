// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include <unistd.h>
#include "gen.h"
#include "lmdb.h"
#define CHECK(x) do { int code_ = (x); if (code_) { printf("%s: %s\n", #x, mdb_strerror(code_)); return 1; } } while (0)
int main(void) {
  char folder[] = "/tmp/passpilot-lmdb-XXXXXX", path[80]; MDB_env *env; MDB_txn *txn; MDB_dbi main_db, dup; MDB_cursor *cursor; MDB_val k, v; MDB_stat st; gen_rng r; int i, round; uint64_t H = 0; long n = 0;
  if (!mkdtemp(folder)) return 2;
  gen_seed(&r, 30); CHECK(mdb_env_create(&env)); mdb_env_set_mapsize(env, 64u << 20); mdb_env_set_maxdbs(env, 4); CHECK(mdb_env_open(env, folder, MDB_NOSYNC | MDB_NOTLS, 0600));
  CHECK(mdb_txn_begin(env, 0, 0, &txn)); CHECK(mdb_dbi_open(txn, "main", MDB_CREATE, &main_db)); CHECK(mdb_dbi_open(txn, "dup", MDB_CREATE | MDB_DUPSORT, &dup)); CHECK(mdb_txn_commit(txn));
  for (round = 0; round < 8; round++) {
    CHECK(mdb_txn_begin(env, 0, 0, &txn));
    for (i = 0; i < 4000; i++) { char key[80], value[4000]; gen_word(gen_below(&r, 20000), key); sprintf(key + strlen(key), "%u", gen_below(&r, 50)); memset(value, 'a' + i % 26, sizeof value); k.mv_size = strlen(key); k.mv_data = key; v.mv_data = value; v.mv_size = i % 40 ? 5 + gen_below(&r, 200) : 3000;
      if (i % 5 == 0) { int code = mdb_del(txn, main_db, &k, 0); if (code && code != MDB_NOTFOUND) return 3; } else CHECK(mdb_put(txn, main_db, &k, &v, 0));
      v.mv_size = 4 + (size_t)i % 9; k.mv_size = 3; { int code = mdb_put(txn, dup, &k, &v, MDB_NODUPDATA); if (code && code != MDB_KEYEXIST) return 4; } }
    if (round == 3) mdb_txn_abort(txn); else CHECK(mdb_txn_commit(txn));
  }
  CHECK(mdb_txn_begin(env, 0, MDB_RDONLY, &txn)); CHECK(mdb_cursor_open(txn, main_db, &cursor));
  while (!mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) { n++; H = gen_hash(k.mv_data, k.mv_size, gen_hash(v.mv_data, v.mv_size, H)); }
  mdb_cursor_close(cursor); CHECK(mdb_stat(txn, main_db, &st)); printf("main %ld %zu depth %u hash %016llx\n", n, st.ms_entries, st.ms_depth, (unsigned long long)H);
  CHECK(mdb_cursor_open(txn, dup, &cursor)); n = 0; for (i = MDB_LAST; !mdb_cursor_get(cursor, &k, &v, (MDB_cursor_op)i); i = MDB_PREV) n++; k.mv_size = 2; k.mv_data = "qu"; printf("dup %ld range %d\n", n, mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE)); mdb_cursor_close(cursor); mdb_txn_abort(txn);
  mdb_env_close(env); sprintf(path, "%s/data.mdb", folder); unlink(path); sprintf(path, "%s/lock.mdb", folder); unlink(path); rmdir(folder);
  return 0;
}
