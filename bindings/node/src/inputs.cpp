#include "job.hpp"
#include "modules.hpp"

namespace vx::node {
namespace {

/// globCompile(globs)
Napi::Value glob_compile(const Napi::CallbackInfo& info) {
  string_list globs(info[0]);
  vx_glob* out = nullptr;
  vx_error* error = nullptr;
  check(vx_glob_compile(globs.get(), &out, &error), error);
  return wrap(info.Env(), std::shared_ptr<vx_glob>(out, vx_glob_free));
}

Napi::Value glob_match(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), vx_glob_match(unwrap<vx_glob>(info[0]).get(), bytes_of(info[1]).c_str()) != 0);
}

/// inputsOpen(root, environment, cache)
Napi::Value open(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [root = bytes_of(info[0]), env = environment_list(info[1]),
                 cache = unwrap_optional<vx_cache>(info[2])]() mutable -> answer {
                  vx_inputs_options options = VX_INPUTS_OPTIONS_INIT;
                  options.envp = env.get();
                  options.cache = cache.get();
                  vx_inputs* out = nullptr;
                  vx_error* error = nullptr;
                  check(vx_inputs_open(root.c_str(), &options, &out, &error), error);
                  return [inputs = std::shared_ptr<vx_inputs>(out, vx_inputs_free)](Napi::Env e) { return wrap(e, inputs); };
                });
}

Napi::Value uses_git(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), vx_inputs_uses_git(unwrap<vx_inputs>(info[0]).get()) != 0);
}

Napi::Value notice(const Napi::CallbackInfo& info) {
  return utf8(info.Env(), vx_inputs_notice(unwrap<vx_inputs>(info[0]).get()));
}

struct request {
  optional_bytes project_dir;
  string_list files, workspace_files, nested, outputs, workspace_outputs, paths;

  explicit request(const Napi::Object& o)
      : project_dir(o.Get("projectDir")),
        files(o.Get("files")),
        workspace_files(o.Get("workspaceFiles")),
        nested(o.Get("nested")),
        outputs(o.Get("outputs")),
        workspace_outputs(o.Get("workspaceOutputs")),
        paths(o.Get("paths")) {}

  vx_inputs_request fill() {
    vx_inputs_request r = VX_INPUTS_REQUEST_INIT;
    r.project_dir = project_dir.get();
    r.files = files.get();
    r.workspace_files = workspace_files.get();
    r.nested = nested.get();
    r.outputs = outputs.get();
    r.workspace_outputs = workspace_outputs.get();
    r.paths = paths.get();
    return r;
  }
};

/// inputsResolve(inputs, {...})
Napi::Value resolve(const Napi::CallbackInfo& info) {
  return submit(
      info.Env(), [inputs = unwrap<vx_inputs>(info[0]), asked = request(info[1].As<Napi::Object>())]() mutable -> answer {
        const vx_inputs_request r = asked.fill();
        vx_selection* out = nullptr;
        vx_error* error = nullptr;
        check(vx_inputs_resolve(inputs.get(), &r, &out, &error), error);
        return [selection = std::shared_ptr<vx_selection>(out, vx_selection_free)](Napi::Env e) { return wrap(e, selection); };
      });
}

Napi::Value selection_count(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(vx_selection_count(unwrap<vx_selection>(info[0]).get())));
}

/// selectionFiles(selection, asBuffers): a flat list of path, identity | null, mode
Napi::Value selection_files(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto selection = unwrap<vx_selection>(info[0]);
  const bool raw = info[1].ToBoolean();
  auto out = Napi::Array::New(env);
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < vx_selection_count(selection.get()); ++i) {
    const char* identity = vx_selection_identity(selection.get(), i);
    out.Set(at++, name_value(env, vx_selection_path(selection.get(), i), raw));
    out.Set(at++, identity == nullptr ? env.Null() : utf8(env, identity));
    out.Set(at++, vx_selection_mode(selection.get(), i));
  }
  return out;
}

Napi::Value mark(const Napi::CallbackInfo& info) { return Napi::BigInt::New(info.Env(), vx_inputs_mark()); }

/// inputsChangedSince(inputs, selection, mark, flags, asBuffer): a promise of the path, or null
Napi::Value changed_since(const Napi::CallbackInfo& info) {
  bool lossless = false;
  return submit(info.Env(),
                [inputs = unwrap<vx_inputs>(info[0]), selection = unwrap<vx_selection>(info[1]),
                 mark = info[2].As<Napi::BigInt>().Int64Value(&lossless), flags = info[3].As<Napi::Number>().Uint32Value(),
                 raw = info[4].ToBoolean().Value()]() -> answer {
                  buffer changed;
                  vx_error* error = nullptr;
                  check(vx_inputs_changed_since(inputs.get(), selection.get(), mark, flags, &changed.raw, &error), error);
                  const bool any = changed.raw.data != nullptr;
                  return [any, raw, path = changed.text()](Napi::Env e) {
                    return any ? name_value(e, path.c_str(), raw) : e.Null();
                  };
                });
}

Napi::Value invalidate(const Napi::CallbackInfo& info) {
  string_list paths(info[1]);
  vx_error* error = nullptr;
  check(vx_inputs_invalidate(unwrap<vx_inputs>(info[0]).get(), paths.get(), &error), error);
  return info.Env().Undefined();
}

Napi::Value close(const Napi::CallbackInfo& info) {
  holder_of<vx_inputs>(info[0]).handle.reset();
  return info.Env().Undefined();
}

}  // namespace

void add_inputs(Napi::Env env, Napi::Object exports) {
  add_function<glob_compile>(env, exports, "globCompile");
  add_function<glob_match>(env, exports, "globMatch");
  add_function<open>(env, exports, "inputsOpen");
  add_function<uses_git>(env, exports, "inputsUsesGit");
  add_function<notice>(env, exports, "inputsNotice");
  add_function<resolve>(env, exports, "inputsResolve");
  add_function<selection_count>(env, exports, "selectionCount");
  add_function<selection_files>(env, exports, "selectionFiles");
  add_function<mark>(env, exports, "inputsMark");
  add_function<changed_since>(env, exports, "inputsChangedSince");
  add_function<invalidate>(env, exports, "inputsInvalidate");
  add_function<close>(env, exports, "inputsClose");
}

}  // namespace vx::node
