// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <stdio.h>
#include "gen.h"
#include "sqlite3.h"
static uint64_t H; static long rows;
static int cb(void *u, int n, char **v, char **c) { int i; (void)u; (void)c; rows++; for (i = 0; i < n; i++) H = gen_hash(v[i] ? v[i] : "~", v[i] ? strlen(v[i]) + 1 : 2, H); return 0; }
static const char *sql[] = {
 "CREATE TABLE a(id INTEGER PRIMARY KEY, k INT, t TEXT, r REAL)",
 "WITH RECURSIVE s(i,x) AS (VALUES(1,12345) UNION ALL SELECT i+1,(x*1103515245+12345)%2147483648 FROM s WHERE i<120000) INSERT INTO a SELECT i, x%5000, printf('w%x-%d',x,i%97), x/7.0 FROM s",
 "CREATE INDEX ak ON a(k)", "CREATE INDEX at ON a(t)",
 "CREATE TABLE b(k INT PRIMARY KEY, n TEXT) WITHOUT ROWID",
 "INSERT INTO b SELECT DISTINCT k, 'name'||k FROM a WHERE k%3=0",
 "SELECT count(*), sum(k), round(avg(r),3) FROM a",
 "SELECT b.n, count(*), min(a.t), max(a.r) FROM a JOIN b USING(k) GROUP BY b.n HAVING count(*)>8 ORDER BY 2 DESC, 1 LIMIT 500",
 "SELECT k, row_number() OVER (PARTITION BY k%50 ORDER BY r, id) rn, sum(k) OVER (ORDER BY id ROWS 10 PRECEDING) FROM a WHERE id<30000",
 "UPDATE a SET t = replace(upper(t),'W','q'), r = r*1.5 WHERE k BETWEEN 100 AND 1500",
 "DELETE FROM a WHERE id%11=3",
 "SELECT count(*) FROM a WHERE t LIKE '%7f%' OR t GLOB 'q*9'",
 "SELECT substr(t,1,3) p, count(*) FROM a GROUP BY p ORDER BY 2 DESC, 1 LIMIT 50",
 "WITH RECURSIVE x(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM x WHERE i<250) SELECT count(*), sum(p.i*q.i % 7) FROM x p, x q WHERE (p.i*q.i)%13 IN (1,5,8)",
 "CREATE VIRTUAL TABLE f USING fts5(body)",
 "INSERT INTO f SELECT group_concat(t,' ') FROM a GROUP BY id/20",
 "SELECT count(*) FROM f WHERE f MATCH 'q1* OR w2*'",
 "SELECT json_extract(json_group_array(json_object('k',k,'t',t)),'$[17].t') FROM a WHERE k<400",
 "PRAGMA integrity_check", NULL };
int main(void) {
  sqlite3 *db; char *e = 0; int i, rep;
  for (rep = 0; rep < 2; rep++) {
    if (sqlite3_open(":memory:", &db)) return 1;
    for (i = 0; sql[i]; i++) { H = 0; rows = 0; if (sqlite3_exec(db, sql[i], cb, 0, &e)) { printf("error %s in %d\n", e, i); return 2; }
      printf("%d rows %ld hash %016llx\n", i, rows, (unsigned long long)H); }
    sqlite3_close(db);
  }
  return 0;
}
