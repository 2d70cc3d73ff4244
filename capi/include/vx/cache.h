/* vx/cache.h: a store of finished work: what it printed and the files it made, by key, and the way back into a tree. A result is stored
   whole or not at all, and restored exactly: after a restore the declared outputs are the stored ones and nothing else. */
#ifndef VX_CACHE_H
#define VX_CACHE_H

#include "vx/key.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open store. Locks internally, across threads and processes: any thread. A store that cannot be used is one whose lookups miss and whose
   saves fail, and a line in vx_cache_notices(); nothing here fails because a cache is damaged. */
typedef struct vx_cache vx_cache;

/* vx_cache_options.flags: nothing is created or written, neither the store nor below the root; an absent store is an empty one. */
#define VX_CACHE_READ_ONLY 1u

typedef struct vx_cache_options {
  uint32_t size;           /* sizeof(vx_cache_options) as the caller compiled it */
  uint32_t flags;          /* VX_CACHE_* */
  const char *root;        /* absolute: the tree whose <root>/.vx holds stamps of outputs, hashes and the staging of restores. NULL: none of
                              them; then nothing is ever current */
  const char *const *envp; /* "NAME=value" strings, NULL-terminated; NULL: a copy of the process environment, taken now */
} vx_cache_options;
#define VX_CACHE_OPTIONS_INIT { sizeof(vx_cache_options), 0, NULL, NULL }

/* Opens or makes the store at `dir` (absolute). NULL: the default of options->root: VX_CACHE_DIR, else a directory of this user that all
   clones of the repository share, else <root>/.vx/cache. `options` may be NULL. Fails with: INVALID, UNSUPPORTED, IO (no such root), REFUSED (a
   directory that holds or contains sources), CACHE_VERSION (READ_ONLY, and <root>/.vx is another version's). Free with vx_cache_free(). Since 0.1. */
VX_API vx_status vx_cache_open(const char *dir, const vx_cache_options *options, vx_cache **out, vx_error **err);
/* Entries and inputs made with it keep what they need: free in any order. The last of them writes what was collected (uses, stamps). */
VX_API void vx_cache_free(vx_cache *cache);
/* The store's directory. Borrowed until vx_cache_free(). Since 0.1. */
VX_API const char *vx_cache_dir(const vx_cache *cache);
/* 2: read and written; 1: only read; 0: not usable. Since 0.1. */
VX_API int32_t vx_cache_access(const vx_cache *cache);
/* The 16 bytes to give to vx_key_options.salt, drawn once per store. Borrowed until vx_cache_free(); NULL for NULL. Since 0.1. */
VX_API const void *vx_cache_salt(const vx_cache *cache);
/* Lines for people about the store since the last call, each ended by a newline; often none (size 0). Dispose the buffer. Since 0.1. */
VX_API vx_status vx_cache_notices(vx_cache *cache, vx_buf *lines, vx_error **err);

/* A further place where artifacts are: a server, a table in memory. What a layer does wrong is a miss, never a failure: any other status than VX_OK
   (and an artifact that is not good) gives a line in vx_cache_notices(), the first time of each layer. Calls come on the threads that call
   vx_cache_*, several at once when those do, with no lock held; they must not throw or longjmp. NULL members are skipped. */
typedef struct vx_cache_layer {
  uint32_t size;    /* sizeof(vx_cache_layer) as the caller compiled it */
  uint32_t flags;   /* none yet: 0 */
  const char *name; /* what notices call it; copied; NULL: "of the host" */
  /* *found = 1: it has the artifact. Asked by vx_cache_has(). */
  vx_status (*has)(void *user_data, const vx_digest *key, int32_t *found);
  /* Writes the artifact to fd and sets *found = 1; *found = 0: it has none. What was written is verified before it is taken in. */
  vx_status (*get)(void *user_data, const vx_digest *key, int32_t fd, int32_t *found);
  /* Keeps the `size` bytes that fd yields. */
  vx_status (*put)(void *user_data, const vx_digest *key, int32_t fd, uint64_t size);
} vx_cache_layer;
#define VX_CACHE_LAYER_INIT { sizeof(vx_cache_layer), 0, NULL, NULL, NULL, NULL }
/* Adds a layer behind the store and the layers before it. vx_cache_lookup() with `outputs` asks them in order after a miss, and takes what one gives
   into the store; vx_cache_save() hands each what was stored, before it returns. A store that is only read asks none. `drop` (may be NULL) is
   called exactly once with user_data, when the last handle of the cache goes, and also when this fails. Any thread. Fails with: INVALID,
   UNSUPPORTED. Since 0.1. */
VX_API vx_status vx_cache_add_layer(vx_cache *cache, const vx_cache_layer *layer, void *user_data, void (*drop)(void *user_data), vx_error **err);

/* The files that a piece of work makes and owns. Lists are NULL-terminated; NULL is an empty one. An owned path that is not of the result is
   removed, by vx_outputs_clean() and by a restore: declare nothing that others write. A root that does not exist is IO in every call. */
typedef struct vx_outputs {
  uint32_t size;                     /* sizeof(vx_outputs) as the caller compiled it */
  uint32_t flags;                    /* none yet: 0 */
  const char *root;                  /* absolute. Required */
  const char *project_dir;           /* root-relative; NULL or "": the root */
  const char *const *files;          /* globs below project_dir */
  const char *const *workspace_files; /* globs below the root */
  const char *const *nested;         /* directories below project_dir, relative to it, that `files` never reaches */
} vx_outputs;
#define VX_OUTPUTS_INIT { sizeof(vx_outputs), 0, NULL, NULL, NULL, NULL, NULL }

/* Removes what the declaration owns, before work that will be saved: what an earlier run left is then not taken for its result. Refuses
   links at or above owned paths that lead elsewhere, before anything is removed. Fails with: INVALID, UNSUPPORTED, CONFIG (a glob),
   REFUSED, IO, FDS. Any thread. Since 0.1. */
VX_API vx_status vx_outputs_clean(const vx_outputs *outputs, vx_error **err);

/* A stored result. Immutable: any thread. */
typedef struct vx_entry vx_entry;

/* *out becomes the entry of `key`, or NULL: a miss. `outputs` and `subject` (may be NULL) let an artifact that the store has no row for (a
   new database, a directory carried by a CI cache), and then what a layer gives, be verified against the declaration and taken in. Fails with:
   INVALID, UNSUPPORTED, CONFIG; never for the store's trouble, which is a miss. Free with vx_cache_entry_free(). Since 0.1. */
VX_API vx_status vx_cache_lookup(vx_cache *cache, const vx_digest *key, const char *subject, const vx_outputs *outputs, vx_entry **out, vx_error **err);
/* Looks up `count` keys in one pass: out[i] becomes the entry of keys[i], or NULL. On failure all are NULL. Since 0.1. */
VX_API vx_status vx_cache_lookup_many(vx_cache *cache, const vx_digest *keys, size_t count, vx_entry **out, vx_error **err);
/* 1 when the store has the key (reads a row and a file's size, touches nothing), or a layer says so. NULL: 0. Since 0.1. */
VX_API int32_t vx_cache_has(vx_cache *cache, const vx_digest *key);
VX_API void vx_cache_entry_free(vx_entry *entry); /* NULL is fine */

/* The stored files, sorted. `index` beyond the count: NULL or 0. Paths are relative to project_dir, or to the root when
   vx_cache_entry_output_space() is 1; borrowed until vx_cache_entry_free(). Since 0.1. */
VX_API size_t vx_cache_entry_outputs(const vx_entry *entry);
VX_API const char *vx_cache_entry_output_path(const vx_entry *entry, size_t index);
VX_API int32_t vx_cache_entry_output_space(const vx_entry *entry, size_t index); /* 0: project_dir; 1: the root */
VX_API int32_t vx_cache_entry_output_mode(const vx_entry *entry, size_t index);  /* as stat(2): 0100644, 0120000 a link, 040700 a directory */
VX_API uint64_t vx_cache_entry_output_size(const vx_entry *entry, size_t index); /* bytes of a file */
/* {"key", "subject", "durationNs", "cpuNs"|null, "peakRssBytes"|null, "artifactBytes", "outputBytes", "logBytes", "createdNs", "usedNs"};
   times are wall-clock nanoseconds. Dispose the buffer. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_cache_entry_stats(const vx_entry *entry, vx_buf *json, vx_error **err);

/* Receives a piece of what the work printed, in its order: stream 1 stdout, 2 stderr; 0: `size` bytes of the middle were not kept and `data`
   is NULL. `data` is valid during the call. Return VX_OK to go on; anything else stops and is returned. */
typedef vx_status (*vx_log_fn)(void *user_data, int32_t stream, const void *data, size_t size);
/* Replays what the work printed, on the calling thread, before it returns. Fails with: INVALID, IO, CORRUPT (treat the entry as a miss), and
   whatever the callback returns. Since 0.1. */
VX_API vx_status vx_cache_entry_log(const vx_entry *entry, vx_log_fn each, void *user_data, vx_error **err);

/* Puts the result into the tree: staged, verified, then swapped in. *restored is 1 when the tree now equals the entry, 0 when the artifact is
   gone or damaged (a miss: do the work; the tree is as it was). Fails with: INVALID, UNSUPPORTED, CONFIG, REFUSED (links where outputs
   belong; the tree is as it was), FS (the tree cannot be written), FDS. Files it wrote may be inputs: vx_inputs_invalidate(). Since 0.1. */
VX_API vx_status vx_cache_restore(const vx_entry *entry, const vx_outputs *outputs, int32_t *restored, vx_error **err);
/* 1 when every output is in place, unchanged since a save or restore of this entry below the cache's root, and nothing else is: there is
   nothing to restore. Opens no file. 0 otherwise and when it cannot be told. Fails with: INVALID, UNSUPPORTED, CONFIG. Since 0.1. */
VX_API vx_status vx_cache_is_current(const vx_entry *entry, const vx_outputs *outputs, int32_t *current, vx_error **err);

typedef struct vx_save {
  uint32_t size;             /* sizeof(vx_save) as the caller compiled it */
  uint32_t flags;            /* none yet: 0 */
  const vx_outputs *outputs; /* required: what to store. May own nothing: then success itself is the result */
  const vx_key *components;  /* the finished key, made with VX_KEY_EXPLAIN: what vx_cache_explain() compares later. NULL: nothing */
  const char *subject;       /* what the key is of, "project#task"; NULL: the subject of `components` */
  const char *command;       /* for people; hold no secrets. NULL: none */
  const void *out;           /* what the work printed on stdout, then on stderr; replayed by vx_cache_entry_log(); at most 32 MiB in all */
  size_t out_size;
  const void *err;
  size_t err_size;
  int64_t duration_ns;       /* what it took */
  int64_t cpu_ns;            /* 0: not known */
  int64_t peak_rss_bytes;    /* 0: not known */
} vx_save;
#define VX_SAVE_INIT { sizeof(vx_save), 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 0, 0, 0 }

/* Stores the outputs as they are in the tree, under `key`. Only successful work, whose inputs have not moved (vx_inputs_changed_since()), may
   be saved; an entry of the same key is replaced. When it fails nothing is stored and the work is as good as before: print the message and
   go on. Fails with: INVALID (also a key that is not the one of `components`), UNSUPPORTED, CONFIG, REFUSED (outputs that cannot be stored or are
   still being written, or more than 2 GiB), IO (the store). Since 0.1. */
VX_API vx_status vx_cache_save(vx_cache *cache, const vx_digest *key, const vx_save *save, vx_error **err);

/* Why did `key` miss? Compares it with the newest entry of its subject and gives the document of vx_key_diff() with two members more:
   "found" (false: nothing of this subject is stored, and entries is empty) and "previousKey" (text or null). The key is finished, made with
   VX_KEY_EXPLAIN and this cache's salt. Dispose the buffer. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_cache_explain(vx_cache *cache, const vx_key *key, vx_buf *json, vx_error **err);

/* Writes the artifact of `key` to a descriptor: one zstd frame holding a tar (docs/cache-format.md). Fails with: INVALID, NOT_FOUND, IO.
   Since 0.1. */
VX_API vx_status vx_cache_export(vx_cache *cache, const vx_digest *key, int32_t fd, vx_error **err);
/* Takes an artifact of `key` in from a descriptor: verified whole (key, sum, every name against the declaration) before it is placed.
   `subject` may be NULL. Fails with: INVALID, UNSUPPORTED, CONFIG, CORRUPT (nothing was taken in), IO. Since 0.1. */
VX_API vx_status vx_cache_import(vx_cache *cache, const vx_digest *key, int32_t fd, const char *subject, const vx_outputs *outputs, vx_error **err);

/* vx_prune.flags: tell what would go, remove nothing. */
#define VX_PRUNE_DRY_RUN 1u
typedef struct vx_prune {
  uint32_t size;         /* sizeof(vx_prune) as the caller compiled it */
  uint32_t flags;        /* VX_PRUNE_* */
  int64_t older_than_ns; /* entries unused for longer go; 0: no such rule */
  uint64_t max_bytes;    /* then the least recently used, until the store has at most this; 0: no such rule */
} vx_prune;
#define VX_PRUNE_INIT { sizeof(vx_prune), 0, 0, 0 }
/* Removes by the policy, at least one rule of it: {"dryRun", "evicted", "bytesFreed", "orphans", "orphanBytes"}. Safe beside other users of the
   store. `json` may be NULL. Fails with: INVALID, UNSUPPORTED, IO. Since 0.1. */
VX_API vx_status vx_cache_prune(vx_cache *cache, const vx_prune *policy, vx_buf *json, vx_error **err);
/* {"cacheDir", "entries", "bytes", "oldestUse" (ms)|null, "orphans": {"artifacts", "bytes"}, "projects": [{"project", "entries", "bytes"}], "badFiles"}.
   Reads only. Dispose the buffer. Fails with: INVALID, IO. Since 0.1. */
VX_API vx_status vx_cache_stats(vx_cache *cache, vx_buf *json, vx_error **err);

#ifdef __cplusplus
}
#endif
#endif
