/* vx/key.h: keys that explain themselves, and the digests under them. A key is folded from typed, named, length-prefixed items in a
   canonical order; the same walk that hashes them can also tell what each item was. */
#ifndef VX_KEY_H
#define VX_KEY_H

#include "vx/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A key or digest: 16 bytes (XXH3-128, canonical order). A value: copy it, compare it with memcmp(). It separates honest inputs and
   resists no attacker. */
typedef struct vx_digest {
  uint8_t bytes[16];
} vx_digest;
/* Room for the text of a digest: 32 lower-case hexadecimal digits and NUL. */
#define VX_DIGEST_TEXT 33

/* Writes the text of a digest. `text` has VX_DIGEST_TEXT bytes. NULL arguments: nothing, or "". Any thread. Since 0.1. */
VX_API void vx_digest_hex(const vx_digest *digest, char *text);
/* Reads 32 hexadecimal digits of either case. Any thread. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_digest_parse(const char *text, vx_digest *out, vx_error **err);
/* The digest of `size` bytes. `data` may be NULL when size is 0. Any thread. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_digest_bytes(const void *data, size_t size, vx_digest *out, vx_error **err);
/* The digest of a file's bytes, read once; links are followed. Any thread. Fails with: INVALID, IO (vx_error_errno() tells absence), FDS,
   CORRUPT (it changed while it was read). Since 0.1. */
VX_API vx_status vx_digest_file(const char *path, vx_digest *out, vx_error **err);

/* Room for the text of a git object id: 40 hexadecimal digits (SHA-1) or 64 (SHA-256), and NUL. */
#define VX_GIT_ID_TEXT 65
/* The id git gives to a blob of these bytes: what `git hash-object` prints. `bits` is 160 (SHA-1) or 256 (SHA-256); `text` has
   VX_GIT_ID_TEXT bytes. Any thread. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_git_blob_id(const void *data, size_t size, int32_t bits, char *text, vx_error **err);

/* What an item of a key is. Items are added in the order of these numbers; within a kind any order will do, except where it says
   "order counts". `name` is NULL where there is none. A NULL value is "absent", which differs from an empty one and from not adding it. */
typedef int32_t vx_key_kind;
enum {
  VX_KEY_FORMAT = 1,     /* the schema of vx_key_options; vx_key_components() tells it, nobody adds it */
  VX_KEY_PLATFORM = 2,   /* -, text ("linux-x64"). Once. Left out: the key is the same on every platform */
  VX_KEY_WORKSPACE = 3,  /* a file's name, its bytes: what everything depends on (lock files). Order counts */
  VX_KEY_PACKAGE = 4,    /* -, the identity of the work's manifest, or NULL. Once */
  VX_KEY_CONFIG = 5,     /* -, text that says what is done; its digest is folded. Once */
  VX_KEY_FORWARD = 6,    /* -, an argument. Order counts */
  VX_KEY_ENV = 7,        /* a variable, its value; NULL: unset */
  VX_KEY_RUNTIME = 8,    /* a command, what it printed (white space at both ends is left out): a tool's version */
  VX_KEY_WS_RUNTIME = 9, /* the same, asked at the root */
  VX_KEY_UPSTREAM = 10,  /* what it is the key of, its 16 bytes: other keys this one builds on */
  VX_KEY_HOST = 11,      /* any name, any value. A name may have several values */
  VX_KEY_FILE = 12       /* a path, an identity (the text of a blob id, as vx/inputs.h gives it); NULL: absent */
};
/* "env" for VX_KEY_ENV; "unknown" for a number that is none. Static storage. Any thread. Since 0.1. */
VX_API const char *vx_key_kind_name(vx_key_kind kind);

/* A key under construction, then finished. One thread at a time. */
typedef struct vx_key vx_key;

/* vx_key_options.flags: keep what was added after vx_key_finish(), for vx_key_components(), vx_key_diff() and vx_cache_save(). */
#define VX_KEY_EXPLAIN 1u

typedef struct vx_key_options {
  uint32_t size;       /* sizeof(vx_key_options) as the caller compiled it */
  uint32_t flags;      /* VX_KEY_* */
  const char *schema;  /* required: your derivation and its version, "mytool-1"; at most 255 bytes; names that begin with "vx-" are taken */
  const char *subject; /* what the key is of, "project#task"; in the key, and what vx_cache_explain() looks for. NULL: "" */
  const void *salt;    /* 16 bytes that go into the digests of values (not into the key), vx_cache_salt(); NULL: zeros. Two explanations
                          compare when their salts are equal */
} vx_key_options;
#define VX_KEY_OPTIONS_INIT { sizeof(vx_key_options), 0, NULL, NULL, NULL }

/* Starts a key. Fails with: INVALID, UNSUPPORTED, NO_MEMORY. Free with vx_key_free(). Since 0.1. */
VX_API vx_status vx_key_new(const vx_key_options *options, vx_key **out, vx_error **err);
VX_API void vx_key_free(vx_key *key); /* NULL is fine */

/* Adds one item; everything is copied. Fails with INVALID: a kind out of order, a name where none belongs or none where one does, a value
   that the kind does not take, an item of 4 GiB, a key that is finished; the key is then as it was. Since 0.1. */
VX_API vx_status vx_key_add(vx_key *key, vx_key_kind kind, const char *name, const void *value, size_t size, vx_error **err);
/* vx_key_add() of a NUL-terminated value; NULL: absent. Since 0.1. */
VX_API vx_status vx_key_add_text(vx_key *key, vx_key_kind kind, const char *name, const char *value, vx_error **err);
/* Announces that the next `count` items are of `kind`; vx_key_end() fails with INVALID when another number has come, so that a lost item is
   an error and not another key. Optional; not nested. Since 0.1. */
VX_API vx_status vx_key_begin(vx_key *key, vx_key_kind kind, uint32_t count, vx_error **err);
VX_API vx_status vx_key_end(vx_key *key, vx_error **err);

/* The key of what was added. Nothing can be added after it; asking again gives the same. Fails with INVALID: a list is open, or a
   variable, command or file was added twice with different values. Since 0.1. */
VX_API vx_status vx_key_finish(vx_key *key, vx_digest *out, vx_error **err);

/* Receives one component. `name` and `digest` are valid during the call. The digest of a value (forward, env, runtime, host) is salted,
   "unset" when absent; others are the identity, key or digest itself. Return VX_OK to go on; anything else stops and is returned. */
typedef vx_status (*vx_component_fn)(void *user_data, vx_key_kind kind, const char *name, const char *digest);
/* Tells every component of a finished key made with VX_KEY_EXPLAIN, sorted by kind, then name, on the calling thread, before it returns.
   Fails with: INVALID, and whatever the callback returns. Since 0.1. */
VX_API vx_status vx_key_components(const vx_key *key, vx_component_fn each, void *user_data, vx_error **err);

/* What moved from `before` to `after`, both finished and made with VX_KEY_EXPLAIN and one salt:
     {"entries": [{"kind": "file", "name": "a.h", "change": "changed|added|removed", "before": "..."|null, "after": "..."|null}],
      "unchangedCount": 12}
   ordered by kind, then name; digests of values show their first 8 digits. Bytes of names that are not UTF-8 are written \xNN. Dispose the
   buffer. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_key_diff(const vx_key *before, const vx_key *after, vx_buf *json, vx_error **err);

#ifdef __cplusplus
}
#endif
#endif
