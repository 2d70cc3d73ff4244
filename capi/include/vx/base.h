/* vx/base.h: status codes, errors, buffers, versions, cancel tokens. C99; self-contained.

   Conventions of every vx header:
   1. A fallible function returns vx_status and takes `vx_error **err` last, which may be NULL. On failure *err (when asked for) is a
      new error the caller frees with vx_error_free(); on success it is NULL. `out` parameters become NULL on entry.
   2. Strings in are NUL-terminated bytes and copied before return; nothing decodes them. Strings out are borrowed from the named
      handle or come in a vx_buf.
   3. Option structs start with `size`; zero means default; unknown non-zero bytes are VX_E_UNSUPPORTED.
   4. A handle is used by one thread at a time unless its comment says otherwise. *_free(NULL) is fine.
   5. Nothing here prints, exits, installs a signal handler, changes the process or outlives its handle. */
#ifndef VX_BASE_H
#define VX_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(VX_STATIC)
#define VX_API
#elif defined(__GNUC__)
#define VX_API __attribute__((visibility("default")))
#else
#define VX_API
#endif

#define VX_VERSION_MAJOR 0
#define VX_VERSION_MINOR 1
#define VX_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* A status code. The width is fixed: an enum's is not ours to choose. Treat unknown values as failure. */
typedef int32_t vx_status;
enum {
  VX_OK = 0,
  VX_E_INTERNAL = 1,         /* a defect in vx */
  VX_E_NO_MEMORY = 2,        /* out of memory */
  VX_E_INVALID = 3,          /* an argument is not acceptable */
  VX_E_NOT_FOUND = 4,        /* the named thing does not exist */
  VX_E_IO = 5,               /* the system refused an operation */
  VX_E_UNSUPPORTED = 6,      /* this build or machine lacks the facility */
  VX_E_CANCELLED = 7,        /* stopped before an answer */
  VX_E_CORRUPT = 8,          /* a document or artifact is not what it claims */
  VX_E_CYCLE = 9,            /* a cycle of tasks */
  VX_E_USAGE = 10,           /* a flag, argument or selection is not taken */
  VX_E_UNKNOWN_COMMAND = 11, /* no such verb */
  VX_E_UNKNOWN_TASK = 12,    /* nothing in scope declares the task */
  VX_E_UNKNOWN_PROJECT = 13, /* no such project */
  VX_E_NO_HISTORY = 14,      /* no recorded run */
  VX_E_AMBIGUOUS = 15,       /* several projects or runs fit */
  VX_E_CONFIG = 16,          /* a config does not load or is refused */
  VX_E_NO_WORKSPACE = 17,    /* no workspace at or above the directory */
  VX_E_CACHE_VERSION = 18,   /* another version's index */
  VX_E_REFUSED = 19,         /* a rule forbids the request */
  VX_E_FS = 20,              /* the file system refused a path */
  VX_E_FDS = 21              /* out of file descriptors */
};

/* "VX_E_IO" for VX_E_IO, "VX_OK" for VX_OK; unknown codes give "VX_E_INTERNAL". Static storage. Any thread. Since 0.1. */
VX_API const char *vx_status_name(vx_status code);

/* "0.1.0". Static storage. Any thread. Since 0.1. */
VX_API const char *vx_version(void);
/* major * 10000 + minor * 100 + patch. Any thread. Since 0.1. */
VX_API uint32_t vx_version_number(void);
/* A JSON object of build facts: {"platform":"linux-x64","keySchema":"vx-key-1",...}. Static storage. Any thread. Since 0.1. */
VX_API const char *vx_features(void);

/* Why a call failed. A value: no thread affinity, immutable. Getters return borrowed strings that live until vx_error_free(). */
typedef struct vx_error vx_error;
VX_API vx_status vx_error_code(const vx_error *error);           /* NULL: VX_OK */
VX_API const char *vx_error_message(const vx_error *error);      /* one line, lower case, no final period; NULL: "" */
VX_API const char *vx_error_path(const vx_error *error);         /* the file at fault, or "" */
VX_API int32_t vx_error_errno(const vx_error *error);            /* 0: no system call failed */
VX_API const char *vx_error_details_json(const vx_error *error); /* a JSON object, or "" */
VX_API void vx_error_free(vx_error *error);                      /* NULL is fine */

/* Bytes owned by libvx. `data` is NUL-terminated beyond `size`. Empty it with vx_buf_dispose(), never with free(). */
typedef struct vx_buf {
  char *data;
  size_t size;
} vx_buf;
#define VX_BUF_INIT { NULL, 0 }
VX_API void vx_buf_dispose(vx_buf *buf); /* NULL and empty are fine; leaves an empty buffer */

/* A stop request. vx_cancel_request() may be called from any thread and from a signal handler: it stores and wakes, nothing else.
   Signals: SIGINT, SIGTERM (polite), SIGKILL (ends a grace period at once). Free after the runs that use it have ended. Since 0.1. */
typedef struct vx_cancel vx_cancel;
VX_API vx_status vx_cancel_new(vx_cancel **out, vx_error **err);
VX_API void vx_cancel_request(vx_cancel *cancel, int32_t signal); /* NULL is fine */
VX_API void vx_cancel_free(vx_cancel *cancel);

#ifdef __cplusplus
}
#endif
#endif
