/* integrity DATABASE: what SQLite says of it; status 0 when that is "ok". */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  sqlite3 *db = NULL;
  sqlite3_stmt *ask = NULL;
  int ok = 0;
  if (argc == 2 && sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &ask, NULL) == SQLITE_OK) {
    while (sqlite3_step(ask) == SQLITE_ROW) {
      const char *said = (const char *)sqlite3_column_text(ask, 0);
      ok = said != NULL && strcmp(said, "ok") == 0;
      printf("%s\n", said);
    }
  }
  if (!ok) printf("%s\n", sqlite3_errmsg(db));
  sqlite3_finalize(ask);
  sqlite3_close(db);
  return ok ? 0 : 1;
}
