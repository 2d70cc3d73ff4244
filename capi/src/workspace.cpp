#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/fs.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "internal.hpp"
#include "key/fold.hpp"
#include "run/query.hpp"
#include "run/run.hpp"
#include "workspace/workspace.hpp"

struct vx_material {
  vx::run::host_seams::pairs* pairs;
};

struct vx_run {
  std::unique_ptr<vx::run::active_run> run;
};

namespace {

using vx::errc;
using vx::fail;

/// The host's callbacks as an observer. Every call is noexcept: a callback that throws ends the process at once, as documented.
class host_observer final : public vx::run::observer {
 public:
  explicit host_observer(const vx_observer& o) : o_(o) {}
  ~host_observer() override {
    if (o_.drop != nullptr) call_drop();
  }
  void event(std::string_view json) override { call_event(json); }
  void output(std::uint32_t task, int stream, std::string_view bytes, bool replayed) override {
    call_output(task, stream, bytes, replayed);
  }
  bool skips_current() const noexcept override { return (o_.flags & VX_OBSERVE_SKIP_CURRENT) != 0; }

 private:
  void call_event(std::string_view json) noexcept {
    if (o_.event != nullptr) o_.event(o_.user_data, json.data(), json.size());
  }
  void call_output(std::uint32_t task, int stream, std::string_view bytes, bool replayed) noexcept {
    if (o_.output != nullptr)
      o_.output(o_.user_data, task, stream, bytes.data(), bytes.size(), replayed ? VX_OUTPUT_REPLAYED : 0u);
  }
  void call_drop() noexcept { o_.drop(o_.user_data); }

  vx_observer o_;
};

/// What a seam was given with it; dropped with the last run that needs it.
class user_data_owner {
 public:
  user_data_owner(void* data, void (*drop)(void*)) noexcept : data_(data), drop_(drop) {}
  ~user_data_owner() {
    if (drop_ != nullptr) call_drop();
  }
  user_data_owner(const user_data_owner&) = delete;
  user_data_owner& operator=(const user_data_owner&) = delete;
  void* get() const noexcept { return data_; }

 private:
  void call_drop() noexcept { drop_(data_); }
  void* data_;
  void (*drop_)(void*);
};

/// Handles are changed by replacing what they share: a run keeps the host it started with.
template <class Change>
vx::status change_seams(vx_workspace* workspace, void* user_data, void (*drop)(void*), Change change) {
  auto owner = std::make_shared<user_data_owner>(user_data, drop);
  if (workspace == nullptr) return fail(errc::INVALID, "workspace is NULL");
  auto next = std::make_shared<vx::run::host>(*workspace->host);
  change(next->seams, std::move(owner));
  workspace->host = std::move(next);
  return {};
}

vx_status call_material(vx_key_material_fn fn, void* user_data, const char* id, vx_material* to) noexcept {
  return fn(user_data, id, to);
}
std::int32_t call_priority(vx_priority_fn fn, void* user_data, const char* id, std::int64_t* to) noexcept {
  return fn(user_data, id, to);
}

vx::result<vx::json::value> parse_request(const char* text) {
  if (text == nullptr) return fail(errc::INVALID, "request is NULL");
  auto parsed = vx::json::parse(text);
  if (!parsed) return fail(errc::USAGE, "request is not JSON: " + parsed.error().message);
  if (!parsed->is_object()) return fail(errc::USAGE, "request must be a JSON object");
  return std::move(*parsed);
}

vx::result<std::shared_ptr<const vx::run::host>> open_host(const char* path, const vx_workspace_options& options) {
  auto host = std::make_shared<vx::run::host>();
  host->env = options.envp == nullptr ? vx::environment::of_process() : vx::environment::of_pairs(options.envp);
  const std::string start = path;
  if (start.empty() || start.front() != '/')
    return fail(errc::INVALID, "path must be absolute: " + vx::text::escape(start, true));
  VX_TRY_LET(host->cwd, vx::fs::real_path(options.cwd != nullptr ? options.cwd : start));
  VX_TRY_LET(const std::string real, vx::fs::real_path(start));
  VX_TRY_LET(host->root, vx::workspace::find_root(real, host->env));
  host->platform = options.platform != nullptr ? std::string(options.platform) : std::string(vx::key::host_platform());
  return std::shared_ptr<const vx::run::host>(std::move(host));
}

}  // namespace

extern "C" {

vx_status vx_workspace_open(const char* path, const vx_workspace_options* options, vx_workspace** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return vx::capi::guard(err, [&]() -> vx::status {
    if (path == nullptr || out == nullptr) return fail(errc::INVALID, path == nullptr ? "path is NULL" : "out is NULL");
    VX_TRY_LET(const vx_workspace_options o, vx::capi::read_options(options, "vx_workspace_options"));
    if (o.flags != 0) return fail(errc::UNSUPPORTED, "vx_workspace_options.flags has a bit this library does not know");
    auto ws = std::make_unique<vx_workspace>();
    VX_TRY_LET(ws->host, open_host(path, o));
    *out = ws.release();
    return {};
  });
}

void vx_workspace_free(vx_workspace* workspace) { delete workspace; }

const char* vx_workspace_root(const vx_workspace* workspace) {
  return workspace == nullptr ? "" : workspace->host->root.c_str();
}

vx_status vx_material_add(vx_material* material, const char* name, const void* value, size_t size, vx_error** err) {
  return vx::capi::guard(err, [&]() -> vx::status {
    if (material == nullptr || name == nullptr || name[0] == '\0' || (value == nullptr && size != 0))
      return fail(errc::INVALID, material == nullptr             ? "material is NULL"
                                 : value == nullptr && size != 0 ? "value is NULL"
                                                                 : "a pair needs a name");
    material->pairs->emplace_back(name, std::string(static_cast<const char*>(value == nullptr ? "" : value), size));
    return {};
  });
}

vx_status vx_workspace_set_key_material(vx_workspace* workspace, vx_key_material_fn fn, void* user_data, void (*drop)(void*),
                                        vx_error** err) {
  return vx::capi::guard(err, [&] {
    return change_seams(workspace, user_data, drop, [fn](vx::run::host_seams& seams, std::shared_ptr<user_data_owner> owner) {
      seams.key_material = nullptr;
      if (fn == nullptr) return;
      seams.key_material = [fn, owner = std::move(owner)](const std::string& id,
                                                          vx::run::host_seams::pairs& add) -> vx::status {
        vx_material to{&add};
        const vx_status rc = call_material(fn, owner->get(), id.c_str(), &to);
        if (rc == VX_OK) return {};
        return fail(errc::REFUSED, std::string("the program's provider answered ") + vx_status_name(rc));
      };
    });
  });
}

vx_status vx_workspace_set_priorities(vx_workspace* workspace, vx_priority_fn fn, void* user_data, void (*drop)(void*),
                                      vx_error** err) {
  return vx::capi::guard(err, [&] {
    return change_seams(workspace, user_data, drop, [fn](vx::run::host_seams& seams, std::shared_ptr<user_data_owner> owner) {
      seams.priority = nullptr;
      if (fn == nullptr) return;
      seams.priority = [fn, owner = std::move(owner)](const std::string& id) -> std::optional<std::int64_t> {
        std::int64_t given = 0;
        return call_priority(fn, owner->get(), id.c_str(), &given) != 0 ? std::optional<std::int64_t>(given) : std::nullopt;
      };
    });
  });
}

vx_status vx_workspace_query(vx_workspace* workspace, const char* request_json, vx_cancel* cancel, vx_buf* response,
                             vx_error** err) {
  if (response != nullptr) *response = vx_buf VX_BUF_INIT;
  return vx::capi::guard(err, [&]() -> vx::status {
    if (workspace == nullptr || response == nullptr)
      return fail(errc::INVALID, workspace == nullptr ? "workspace is NULL" : "response is NULL");
    VX_TRY_LET(const vx::json::value request, parse_request(request_json));
    VX_TRY_LET(const vx::json::value doc,
               vx::run::answer_query(workspace->host, request, cancel == nullptr ? nullptr : cancel->token.get()));
    vx::capi::fill(response, vx::json::write(doc));
    return {};
  });
}

vx_status vx_run_start(vx_workspace* workspace, const char* request_json, const vx_observer* observer, vx_cancel* cancel,
                       vx_run** out, vx_error** err) {
  if (out != nullptr) *out = nullptr;
  return vx::capi::guard(err, [&]() -> vx::status {
    std::unique_ptr<vx::run::observer> who;  // made first: its drop must run whatever fails next
    if (observer != nullptr) {
      vx_observer known{};  // even a struct that is refused below may name a drop
      if (observer->size > 2 * sizeof(std::uint32_t))
        std::memcpy(&known, observer, std::min<std::size_t>(observer->size, sizeof known));
      who = std::make_unique<host_observer>(known);
      VX_TRY_LET(const vx_observer o, vx::capi::read_options(observer, "vx_observer"));
      if ((o.flags & ~VX_OBSERVE_SKIP_CURRENT) != 0)
        return fail(errc::UNSUPPORTED, "vx_observer.flags has a bit this library does not know");
    }
    if (workspace == nullptr || out == nullptr)
      return fail(errc::INVALID, workspace == nullptr ? "workspace is NULL" : "out is NULL");
    VX_TRY_LET(const vx::json::value request, parse_request(request_json));
    VX_TRY_LET(vx::run::run_request run, vx::run::parse_run_request(request));
    auto handle = std::make_unique<vx_run>();
    VX_TRY_LET(handle->run, vx::run::active_run::start(workspace->host, std::move(run), std::move(who),
                                                       cancel == nullptr ? nullptr : cancel->token));
    *out = handle.release();
    return {};
  });
}

vx_status vx_run_wait(vx_run* run, vx_buf* summary, vx_error** err) {
  if (summary != nullptr) *summary = vx_buf VX_BUF_INIT;
  return vx::capi::guard(err, [&]() -> vx::status {
    if (run == nullptr) return fail(errc::INVALID, "run is NULL");
    VX_TRY_LET(std::string doc, run->run->wait(summary != nullptr));
    if (summary != nullptr) vx::capi::fill(summary, std::move(doc));
    return {};
  });
}

int32_t vx_run_exit_code(const vx_run* run) { return run == nullptr ? 1 : run->run->exit_code(); }

void vx_run_cancel(vx_run* run, int32_t signal) {
  if (run != nullptr) run->run->cancel(signal);
}

void vx_run_free(vx_run* run) { delete run; }

}  // extern "C"
