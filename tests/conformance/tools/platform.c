/* conformance-platform ROOT PLATFORM [run]: plans (or runs) a#build as on another platform and prints the document. Only the library's host
   options can say so; no environment variable does. */
#include <stdio.h>
#include <string.h>

#include "vx/vx.h"

static int failed(vx_error *err) {
  fprintf(stderr, "%s\n", vx_error_message(err));
  vx_error_free(err);
  return 1;
}

int main(int argc, char **argv) {
  vx_workspace_options options = VX_WORKSPACE_OPTIONS_INIT;
  vx_workspace *ws = NULL;
  vx_run *run = NULL;
  vx_error *err = NULL;
  vx_buf out = VX_BUF_INIT;
  if (argc < 3) return 2;
  options.platform = argv[2];
  if (vx_workspace_open(argv[1], &options, &ws, &err) != VX_OK) return failed(err);
  if (argc > 3) {
    if (vx_run_start(ws, "{\"tasks\": [\"a#build\"]}", NULL, NULL, &run, &err) != VX_OK) return failed(err);
    if (vx_run_wait(run, &out, &err) != VX_OK) return failed(err);
    vx_run_free(run);
  } else if (vx_workspace_query(ws, "{\"query\": \"plan\", \"tasks\": [\"a#build\"]}", NULL, &out, &err) != VX_OK) {
    return failed(err);
  }
  fwrite(out.data, 1, out.size, stdout);
  vx_buf_dispose(&out);
  vx_workspace_free(ws);
  return 0;
}
