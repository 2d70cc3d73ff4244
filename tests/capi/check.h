/* Checks for C tests: every failed one is printed, the first makes the program fail. */
#ifndef VX_TEST_CHECK_H
#define VX_TEST_CHECK_H

#include <stdio.h>
#include <string.h>

#include "vx/vx.h"

extern int failed_checks;

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);    \
      ++failed_checks;                                                            \
    }                                                                             \
  } while (0)

/* The call failed with `code`, and the error says so in one line. Frees it. */
#define CHECK_FAILS(call, code)                                    \
  do {                                                             \
    vx_error *err_ = NULL;                                         \
    const vx_status got_ = (call);                                 \
    if (got_ != (code)) fprintf(stderr, "  got %s: %s\n", vx_status_name(got_), vx_error_message(err_)); \
    CHECK(got_ == (code));                                         \
    CHECK(err_ != NULL);                                           \
    CHECK(vx_error_code(err_) == (code));                          \
    CHECK(vx_error_message(err_)[0] != '\0');                      \
    CHECK(strchr(vx_error_message(err_), '\n') == NULL);           \
    vx_error_free(err_);                                           \
  } while (0)

/* The call succeeded and left no error. */
#define CHECK_OK(call)                                             \
  do {                                                             \
    vx_error *err_ = (vx_error *)(void *)&failed_checks;           \
    const vx_status got_ = (call);                                 \
    if (got_ != VX_OK) {                                           \
      fprintf(stderr, "  got %s: %s\n", vx_status_name(got_), vx_error_message(err_)); \
      vx_error_free(err_);                                         \
      err_ = NULL;                                                 \
    }                                                              \
    CHECK(got_ == VX_OK);                                          \
    CHECK(err_ == NULL);                                           \
  } while (0)

/* A workspace of two projects in a new directory; its path, to be freed with remove_workspace(). */
char *make_workspace(void);
void remove_workspace(char *path);
/* The file `name` below `dir` with this text. */
void write_file(const char *dir, const char *name, const char *text);

#endif
