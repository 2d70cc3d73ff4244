/* vx/inputs.h: which files a piece of work reads and what they are: a work tree listed once, through git's index where it can be trusted and
   by a walk elsewhere; globs; identities; and the check that a key still tells the truth after the work. */
#ifndef VX_INPUTS_H
#define VX_INPUTS_H

#include "vx/key.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vx_cache; /* vx/cache.h */

/* A list of globs, compiled: `*` within a segment, `**` any depth, `?`, `{a,b}`, leading `!` takes back wherever it stands; a literal is
   itself and the whole tree below. Immutable: any thread. */
typedef struct vx_glob vx_glob;
/* `globs` is NULL-terminated. Fails with: INVALID, CONFIG (the message says what to write instead). Free with vx_glob_free(). Since 0.1. */
VX_API vx_status vx_glob_compile(const char *const *globs, vx_glob **out, vx_error **err);
/* 1 when the list selects the relative, '/'-separated path, else 0, also for NULL. Since 0.1. */
VX_API int32_t vx_glob_match(const vx_glob *glob, const char *path);
VX_API void vx_glob_free(vx_glob *glob); /* NULL is fine */

/* A listed work tree. What it says of a file is what was true when the file was first looked at, until it is told otherwise: open one
   when a run begins and call vx_inputs_invalidate() for what commands wrote. Any thread. */
typedef struct vx_inputs vx_inputs;

typedef struct vx_inputs_options {
  uint32_t size;           /* sizeof(vx_inputs_options) as the caller compiled it */
  uint32_t flags;          /* none yet: 0 */
  const char *const *envp; /* "NAME=value" strings, NULL-terminated, for git; NULL: a copy of the process environment, taken now */
  struct vx_cache *cache;  /* a cache opened with this root remembers hashes by stat (path, size, mtime, ctime, inode); kept alive. NULL: none */
} vx_inputs_options;
#define VX_INPUTS_OPTIONS_INIT { sizeof(vx_inputs_options), 0, NULL, NULL }

/* Lists the work tree at `root` (absolute) and returns when that is done. Without git, a usable git work tree, or with a root that git
   ignores, the tree is walked, honouring .gitignore files; vx_inputs_notice() says so. Fails with: INVALID, UNSUPPORTED, IO, FDS. Free with
   vx_inputs_free(). Since 0.1. */
VX_API vx_status vx_inputs_open(const char *root, const vx_inputs_options *options, vx_inputs **out, vx_error **err);
/* Selections made from it keep what they need: free in any order. */
VX_API void vx_inputs_free(vx_inputs *inputs);
/* 1: git's index answers; 0: a walk did. Since 0.1. */
VX_API int32_t vx_inputs_uses_git(const vx_inputs *inputs);
/* A line for people about how the tree was listed, or "". Borrowed until vx_inputs_free(). Since 0.1. */
VX_API const char *vx_inputs_notice(const vx_inputs *inputs);

/* What to select: a declaration of globs, or exact paths. Lists are NULL-terminated; NULL is an empty one. */
typedef struct vx_inputs_request {
  uint32_t size;                       /* sizeof(vx_inputs_request) as the caller compiled it */
  uint32_t flags;                      /* none yet: 0 */
  const char *project_dir;             /* root-relative; NULL or "": the root */
  const char *const *files;            /* globs below project_dir, over the files git lists (ignored files are none) */
  const char *const *workspace_files;  /* globs below the root */
  const char *const *nested;           /* directories below project_dir, relative to it, that `files` never reaches */
  const char *const *outputs;          /* globs below project_dir of what the work writes: never inputs */
  const char *const *workspace_outputs;
  /* Exact files, instead of everything above: root-relative, or absolute for files outside the root; no links among their directories
     (realpath() them). Ignored files count; one that is not there is selected as absent. For tools that report what they read. */
  const char *const *paths;
} vx_inputs_request;
#define VX_INPUTS_REQUEST_INIT { sizeof(vx_inputs_request), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* Selected files, sorted by path, each once. A value: any thread. It is also the token of vx_inputs_changed_since(). */
typedef struct vx_selection vx_selection;

/* Selects and identifies; hashes what is not known yet. Fails with: INVALID, UNSUPPORTED, CONFIG (a glob; a literal that names an existing
   file that can be no input), IO (a file that cannot be read), FDS. Free with vx_selection_free(). Since 0.1. */
VX_API vx_status vx_inputs_resolve(vx_inputs *inputs, const vx_inputs_request *request, vx_selection **out, vx_error **err);
VX_API void vx_selection_free(vx_selection *selection); /* NULL is fine */
VX_API size_t vx_selection_count(const vx_selection *selection);
/* Getters of file `index`; beyond the count NULL or 0. Strings are borrowed until vx_selection_free(). Since 0.1. */
VX_API const char *vx_selection_path(const vx_selection *selection, size_t index);
/* The text of the git blob id, behind "100755:" for an executable and "120000:" for a link (whose text is hashed); NULL: absent. */
VX_API const char *vx_selection_identity(const vx_selection *selection, size_t index);
/* As git writes modes: 0100644, 0100755, 0120000; 0: absent. */
VX_API int32_t vx_selection_mode(const vx_selection *selection, size_t index);
/* Adds every file to a key as VX_KEY_FILE. Fails as vx_key_add() does. Since 0.1. */
VX_API vx_status vx_key_add_selection(vx_key *key, const vx_selection *selection, vx_error **err);

/* A moment, in wall-clock nanoseconds. Take it immediately before the work starts. Any thread. Since 0.1. */
VX_API int64_t vx_inputs_mark(void);

/* vx_inputs_changed_since() flags: a file written since the mark is judged by its bytes alone. */
#define VX_INPUTS_BY_BYTES 1u
/* The truth check before a save: is what the selection says still what the work read? *changed becomes the path of the first file that was
   written since `mark` (whatever it holds now), is no longer what the selection says, is gone, or was added where a glob selects it (also
   <project_dir>/package.json, for globs), and is left empty (data NULL) when nothing moved. Not to be saved in the first case. A selection
   taken after the work may be asked with a mark taken before it. Dispose the buffer. Fails with: INVALID, UNSUPPORTED. Since 0.1. */
VX_API vx_status vx_inputs_changed_since(vx_inputs *inputs, const vx_selection *selection, int64_t mark, uint32_t flags, vx_buf *changed,
                                         vx_error **err);

/* Forgets what is known of these paths (root-relative, or absolute ones outside the root; NULL-terminated), or of everything when `paths`
   is NULL: they are looked at again when next selected. Selections made before stay as they are. Fails with: INVALID. Since 0.1. */
VX_API vx_status vx_inputs_invalidate(vx_inputs *inputs, const char *const *paths, vx_error **err);

#ifdef __cplusplus
}
#endif
#endif
