#include "inputs/inputs.hpp"
#include "inputs/stamps.hpp"

#include <cstring>

#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "internal.hpp"

namespace vx::capi {

/// The facts and what they read while they live; they go first.
struct inputs_state {
  std::string root;
  environment env;
  std::shared_ptr<cache_state> cache;
  std::string notice;
  std::unique_ptr<inputs::facts> facts;
  ~inputs_state() {
    if (facts) facts->flush_memos();
  }
};

}  // namespace vx::capi

struct vx_inputs {
  std::shared_ptr<vx::capi::inputs_state> state;
};

struct vx_glob {
  vx::glob::matcher matcher;
};

struct vx_selection {
  std::shared_ptr<vx::capi::inputs_state> state;
  vx::inputs::selector selector;  ///< of the globs; exact paths need none
  vx::inputs::facts::description described;
  std::vector<std::string> paths, identities;  ///< NUL-terminated, for the getters
};

static_assert(offsetof(vx_inputs_options, envp) == 8 && offsetof(vx_inputs_request, project_dir) == 8);

namespace {

using vx::errc;
using vx::fail;
using vx::capi::guard;
using vx::glob::side;

vx::result<std::unique_ptr<vx_inputs>> open(const char* root, const vx_inputs_options& o) {
  auto state = std::make_shared<vx::capi::inputs_state>();
  VX_TRY_LET(state->root, vx::capi::real_root(root));
  state->env = o.envp == nullptr ? vx::environment::of_process() : vx::environment::of_pairs(o.envp);
  if (o.cache != nullptr) state->cache = o.cache->state;
  vx::inputs::start_request start;
  start.root = state->root;
  start.env = &state->env;
  if (state->cache != nullptr && state->cache->root == state->root) start.memo = state->cache->index.get();
  state->facts = vx::inputs::facts::start(start);
  VX_TRY(state->facts->wait());
  for (const std::string& line : state->facts->notices()) state->notice += (state->notice.empty() ? "" : "; ") + line;
  return std::make_unique<vx_inputs>(vx_inputs{std::move(state)});
}

vx::result<vx::inputs::selector> read_selector(const vx_inputs_request& q) {
  vx::inputs::selector s;
  VX_TRY_LET(s.project_dir, vx::capi::read_dir(q.project_dir, "project_dir"));
  s.file_entries = vx::capi::read_list(q.files);
  VX_TRY_LET(s.files, vx::capi::compile(s.file_entries, side::input, "files"));
  s.workspace_entries = vx::capi::read_list(q.workspace_files);
  s.has_workspace_files = !s.workspace_entries.empty();
  VX_TRY_LET(s.workspace_files, vx::capi::compile(s.workspace_entries, side::input, "workspace_files"));
  VX_TRY_LET(s.own_outputs, vx::capi::compile(vx::capi::read_list(q.outputs), side::output, "outputs"));
  VX_TRY_LET(s.own_workspace_outputs,
             vx::capi::compile(vx::capi::read_list(q.workspace_outputs), side::output, "workspace_outputs"));
  VX_TRY_LET(s.nested, vx::capi::read_nested(q.nested));
  return s;
}

vx::result<std::vector<std::string>> read_paths(const char* const* paths) {
  std::vector<std::string> out = vx::capi::read_list(paths);
  for (const std::string& p : out) {
    const bool absolute = p.starts_with('/') && vx::path::normalize(p) == p;
    if (!absolute && !vx::is_rel_path(p)) {
      return fail(errc::INVALID,
                  vx::text::escape(p, true) + " is neither a root-relative nor an absolute path without . and ..");
    }
  }
  return out;
}

vx::result<std::unique_ptr<vx_selection>> resolve(const vx_inputs& inputs, const vx_inputs_request& q) {
  auto out = std::make_unique<vx_selection>();
  out->state = inputs.state;
  if (q.paths != nullptr) {
    for (const auto* list : {q.files, q.workspace_files, q.nested, q.outputs, q.workspace_outputs}) {
      if (list != nullptr) return fail(errc::INVALID, "vx_inputs_request has both paths and globs");
    }
    VX_TRY_LET(std::vector<std::string> paths, read_paths(q.paths));
    VX_TRY_LET(out->described, inputs.state->facts->describe_paths(std::move(paths)));
  } else {
    VX_TRY_LET(out->selector, read_selector(q));
    VX_TRY_LET(out->described, inputs.state->facts->describe(out->selector));
  }
  inputs.state->facts->flush_memos();
  for (const vx::key::input_item& i : out->described.files.items) {
    out->paths.emplace_back(i.path);
    out->identities.emplace_back(i.identity);
  }
  return out;
}

}  // namespace

extern "C" {

vx_status vx_glob_compile(const char* const* globs, vx_glob** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (globs == nullptr || out == nullptr) return fail(errc::INVALID, globs == nullptr ? "globs is NULL" : "out is NULL");
    VX_TRY_LET(vx::glob::matcher m, vx::capi::compile(vx::capi::read_list(globs), side::input, "globs"));
    *out = new vx_glob{std::move(m)};
    return {};
  });
}

int32_t vx_glob_match(const vx_glob* glob, const char* path) {
  return glob != nullptr && path != nullptr && glob->matcher.match(path) ? 1 : 0;
}

void vx_glob_free(vx_glob* glob) { delete glob; }

vx_status vx_inputs_open(const char* root, const vx_inputs_options* options, vx_inputs** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (root == nullptr || out == nullptr) return fail(errc::INVALID, root == nullptr ? "root is NULL" : "out is NULL");
    VX_TRY_LET(const vx_inputs_options o, vx::capi::read_options(options, "vx_inputs_options"));
    VX_TRY(vx::capi::no_flags(o.flags, "vx_inputs_options"));
    VX_TRY_LET(std::unique_ptr<vx_inputs> inputs, open(root, o));
    *out = inputs.release();
    return {};
  });
}

void vx_inputs_free(vx_inputs* inputs) { delete inputs; }

int32_t vx_inputs_uses_git(const vx_inputs* inputs) { return inputs != nullptr && inputs->state->facts->uses_git() ? 1 : 0; }

const char* vx_inputs_notice(const vx_inputs* inputs) { return inputs == nullptr ? "" : inputs->state->notice.c_str(); }

vx_status vx_inputs_resolve(vx_inputs* inputs, const vx_inputs_request* request, vx_selection** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return guard(err, [&]() -> vx::status {
    if (inputs == nullptr || out == nullptr) return fail(errc::INVALID, inputs == nullptr ? "inputs is NULL" : "out is NULL");
    if (request == nullptr) return fail(errc::INVALID, "request is NULL");
    VX_TRY_LET(const vx_inputs_request q, vx::capi::read_options(request, "vx_inputs_request"));
    VX_TRY(vx::capi::no_flags(q.flags, "vx_inputs_request"));
    VX_TRY_LET(std::unique_ptr<vx_selection> selection, resolve(*inputs, q));
    *out = selection.release();
    return {};
  });
}

void vx_selection_free(vx_selection* selection) { delete selection; }

size_t vx_selection_count(const vx_selection* selection) { return selection == nullptr ? 0 : selection->paths.size(); }

const char* vx_selection_path(const vx_selection* selection, size_t index) {
  return index < vx_selection_count(selection) ? selection->paths[index].c_str() : nullptr;
}

const char* vx_selection_identity(const vx_selection* selection, size_t index) {
  if (index >= vx_selection_count(selection) || selection->identities[index].empty()) return nullptr;
  return selection->identities[index].c_str();
}

int32_t vx_selection_mode(const vx_selection* selection, size_t index) {
  const char* identity = vx_selection_identity(selection, index);
  if (identity == nullptr) return 0;
  if (std::strncmp(identity, "120000:", 7) == 0) return 0120000;
  return std::strncmp(identity, "100755:", 7) == 0 ? 0100755 : 0100644;
}

vx_status vx_key_add_selection(vx_key* key, const vx_selection* selection, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (key == nullptr || selection == nullptr)
      return fail(errc::INVALID, key == nullptr ? "key is NULL" : "selection is NULL");
    for (const vx::key::input_item& i : selection->described.files.items) {
      VX_TRY(key->builder.add(vx::key::component_kind::file, i.path,
                              i.identity.empty() ? std::nullopt : std::optional<std::string_view>(i.identity)));
    }
    return {};
  });
}

int64_t vx_inputs_mark(void) { return vx::inputs::stamp_clock_ns(); }

vx_status vx_inputs_changed_since(vx_inputs* inputs, const vx_selection* selection, int64_t mark, uint32_t flags,
                                  vx_buf* changed, vx_error** err) {
  if (changed != nullptr) *changed = vx_buf VX_BUF_INIT;
  return guard(err, [&]() -> vx::status {
    if (inputs == nullptr || selection == nullptr)
      return fail(errc::INVALID, inputs == nullptr ? "inputs is NULL" : "selection is NULL");
    if (changed == nullptr) return fail(errc::INVALID, "changed is NULL");
    if (inputs->state != selection->state) return fail(errc::INVALID, "the selection was made by other inputs");
    if ((flags & ~VX_INPUTS_BY_BYTES) != 0) return fail(errc::UNSUPPORTED, "flags has a bit this library does not know");
    if (selection->described.files.incomplete) {
      vx::capi::fill(changed, std::string(selection->described.files.unstable));
      return {};
    }
    using vx::inputs::facts;
    facts::description since = selection->described;
    since.described_ns = mark;
    const auto how = (flags & VX_INPUTS_BY_BYTES) != 0 ? facts::strictness::mutable_ : facts::strictness::immutable;
    if (std::optional<std::string> moved = inputs->state->facts->moved(selection->selector, since, how))
      vx::capi::fill(changed, std::move(*moved));
    return {};
  });
}

vx_status vx_inputs_invalidate(vx_inputs* inputs, const char* const* paths, vx_error** err) {
  return guard(err, [&]() -> vx::status {
    if (inputs == nullptr) return fail(errc::INVALID, "inputs is NULL");
    if (paths == nullptr) {
      inputs->state->facts->forget_workspace();
      return {};
    }
    VX_TRY_LET(const std::vector<std::string> list, read_paths(paths));
    inputs->state->facts->forget_paths(list);
    return {};
  });
}

}  // extern "C"
