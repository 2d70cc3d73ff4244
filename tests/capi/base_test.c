/* vx/base.h: status names, errors, buffers, versions, cancel tokens, and NULL everywhere. */
#include <signal.h>
#include <stdlib.h>

#include "check.h"

static void names_and_versions(void) {
  static const struct {
    vx_status code;
    const char *name;
  } rows[] = {
      {VX_OK, "VX_OK"},
      {VX_E_INTERNAL, "VX_E_INTERNAL"},
      {VX_E_NO_MEMORY, "VX_E_NO_MEMORY"},
      {VX_E_INVALID, "VX_E_INVALID"},
      {VX_E_NOT_FOUND, "VX_E_NOT_FOUND"},
      {VX_E_IO, "VX_E_IO"},
      {VX_E_UNSUPPORTED, "VX_E_UNSUPPORTED"},
      {VX_E_CANCELLED, "VX_E_CANCELLED"},
      {VX_E_CORRUPT, "VX_E_CORRUPT"},
      {VX_E_CYCLE, "VX_E_CYCLE"},
      {VX_E_USAGE, "VX_E_USAGE"},
      {VX_E_UNKNOWN_COMMAND, "VX_E_UNKNOWN_COMMAND"},
      {VX_E_UNKNOWN_TASK, "VX_E_UNKNOWN_TASK"},
      {VX_E_UNKNOWN_PROJECT, "VX_E_UNKNOWN_PROJECT"},
      {VX_E_NO_HISTORY, "VX_E_NO_HISTORY"},
      {VX_E_AMBIGUOUS, "VX_E_AMBIGUOUS"},
      {VX_E_CONFIG, "VX_E_CONFIG"},
      {VX_E_NO_WORKSPACE, "VX_E_NO_WORKSPACE"},
      {VX_E_CACHE_VERSION, "VX_E_CACHE_VERSION"},
      {VX_E_REFUSED, "VX_E_REFUSED"},
      {VX_E_FS, "VX_E_FS"},
      {VX_E_FDS, "VX_E_FDS"},
      {-1, "VX_E_INTERNAL"},
      {22, "VX_E_INTERNAL"},
      {INT32_MAX, "VX_E_INTERNAL"},
  };
  size_t i;
  char text[64];
  for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) CHECK(strcmp(vx_status_name(rows[i].code), rows[i].name) == 0);
  CHECK(sizeof(vx_status) == 4);
  snprintf(text, sizeof text, "%d.%d.%d", VX_VERSION_MAJOR, VX_VERSION_MINOR, VX_VERSION_PATCH);
  CHECK(strcmp(vx_version(), text) == 0);
  CHECK(vx_version_number() == VX_VERSION_MAJOR * 10000 + VX_VERSION_MINOR * 100 + VX_VERSION_PATCH);
  CHECK(vx_features()[0] == '{');
  CHECK(strstr(vx_features(), "\"platform\":\"") != NULL);
}

static void nothing_everywhere(void) {
  vx_buf empty = VX_BUF_INIT;
  CHECK(vx_error_code(NULL) == VX_OK);
  CHECK(strcmp(vx_error_message(NULL), "") == 0);
  CHECK(strcmp(vx_error_path(NULL), "") == 0);
  CHECK(strcmp(vx_error_details_json(NULL), "") == 0);
  CHECK(vx_error_errno(NULL) == 0);
  vx_error_free(NULL);
  vx_buf_dispose(NULL);
  vx_buf_dispose(&empty);
  vx_buf_dispose(&empty);
  CHECK(empty.data == NULL && empty.size == 0);
  vx_cancel_request(NULL, SIGINT);
  vx_cancel_free(NULL);
  CHECK_FAILS(vx_cancel_new(NULL, &err_), VX_E_INVALID);
  CHECK(vx_cancel_new(NULL, NULL) == VX_E_INVALID);
}

static void cancel_tokens(void) {
  vx_cancel *cancel = NULL;
  CHECK_OK(vx_cancel_new(&cancel, &err_));
  CHECK(cancel != NULL);
  vx_cancel_request(cancel, SIGINT);
  vx_cancel_request(cancel, SIGKILL);
  vx_cancel_request(cancel, 12345);
  vx_cancel_free(cancel);
  CHECK(vx_cancel_new(&cancel, NULL) == VX_OK);
  vx_cancel_free(cancel);
}

int main(void) {
  names_and_versions();
  nothing_everywhere();
  cancel_tokens();
  return failed_checks == 0 ? 0 : 1;
}
