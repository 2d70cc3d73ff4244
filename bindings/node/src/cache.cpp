#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "job.hpp"
#include "modules.hpp"

namespace vx::node {
namespace {

using cache_ptr = std::shared_ptr<vx_cache>;
using entry_ptr = std::shared_ptr<vx_entry>;

std::int64_t integer(const Napi::Value& v) { return given(v) ? v.As<Napi::Number>().Int64Value() : 0; }

/// cacheOpen(dir | null, root | null, environment, readOnly)
Napi::Value open(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [dir = optional_bytes(info[0]), root = optional_bytes(info[1]), env = environment_list(info[2]),
                 read_only = info[3].ToBoolean().Value()]() mutable -> answer {
                  vx_cache_options options = VX_CACHE_OPTIONS_INIT;
                  options.flags = read_only ? VX_CACHE_READ_ONLY : 0;
                  options.root = root.get();
                  options.envp = env.get();
                  vx_cache* out = nullptr;
                  vx_error* error = nullptr;
                  check(vx_cache_open(dir.get(), &options, &out, &error), error);
                  return [cache = cache_ptr(out, vx_cache_free)](Napi::Env e) { return wrap(e, cache); };
                });
}

Napi::Value dir(const Napi::CallbackInfo& info) {
  return name_value(info.Env(), vx_cache_dir(unwrap<vx_cache>(info[0]).get()), info[1].ToBoolean());
}

Napi::Value access(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), vx_cache_access(unwrap<vx_cache>(info[0]).get()));
}

Napi::Value salt(const Napi::CallbackInfo& info) {
  return Napi::Buffer<char>::Copy(info.Env(), static_cast<const char*>(vx_cache_salt(unwrap<vx_cache>(info[0]).get())), 16);
}

Napi::Value notices(const Napi::CallbackInfo& info) {
  buffer lines;
  vx_error* error = nullptr;
  check(vx_cache_notices(unwrap<vx_cache>(info[0]).get(), &lines.raw, &error), error);
  return utf8(info.Env(), lines.text());
}

/// The last handle writes what was collected, so it goes on a thread of the pool.
Napi::Value close(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [gone = std::move(holder_of<vx_cache>(info[0]).handle)]() mutable -> answer {
    gone.reset();
    return [](Napi::Env e) { return e.Undefined(); };
  });
}

/// {root, projectDir, files, workspaceFiles, nested}
struct declaration {
  std::string root;
  optional_bytes project_dir;
  string_list files, workspace_files, nested;

  explicit declaration(const Napi::Value& v) : declaration(v.As<Napi::Object>()) {}
  explicit declaration(const Napi::Object& o)
      : root(bytes_of(o.Get("root"))),
        project_dir(o.Get("projectDir")),
        files(o.Get("files")),
        workspace_files(o.Get("workspaceFiles")),
        nested(o.Get("nested")) {}

  vx_outputs fill() {
    vx_outputs out = VX_OUTPUTS_INIT;
    out.root = root.c_str();
    out.project_dir = project_dir.get();
    out.files = files.get();
    out.workspace_files = workspace_files.get();
    out.nested = nested.get();
    return out;
  }
};

std::shared_ptr<declaration> optional_declaration(const Napi::Value& v) {
  return given(v) ? std::make_shared<declaration>(v) : nullptr;
}

answer nothing() {
  return [](Napi::Env e) { return e.Undefined(); };
}
answer boolean(bool b) {
  return [b](Napi::Env e) { return Napi::Boolean::New(e, b); };
}
answer document(const buffer& json) {
  return [text = json.text()](Napi::Env e) { return utf8(e, text); };
}

/// outputsClean(outputs)
Napi::Value outputs_clean(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [outputs = declaration(info[0])]() mutable -> answer {
    const vx_outputs o = outputs.fill();
    vx_error* error = nullptr;
    check(vx_outputs_clean(&o, &error), error);
    return nothing();
  });
}

/// cacheLookup(cache, key, subject | null, outputs | null): a promise of an entry or null
Napi::Value lookup(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [cache = unwrap<vx_cache>(info[0]), key = digest_of(info[1]), subject = optional_bytes(info[2]),
                 outputs = optional_declaration(info[3])]() -> answer {
                  vx_outputs o;
                  if (outputs) o = outputs->fill();
                  vx_entry* out = nullptr;
                  vx_error* error = nullptr;
                  check(vx_cache_lookup(cache.get(), &key, subject.get(), outputs ? &o : nullptr, &out, &error), error);
                  return
                      [entry = entry_ptr(out, vx_cache_entry_free)](Napi::Env e) { return entry ? wrap(e, entry) : e.Null(); };
                });
}

/// cacheLookupMany(cache, keys): a promise of a list of entries and nulls
Napi::Value lookup_many(const Napi::CallbackInfo& info) {
  const auto list = info[1].As<Napi::Array>();
  std::vector<vx_digest> keys;
  keys.reserve(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) keys.push_back(digest_of(list.Get(i)));
  return submit(info.Env(), [cache = unwrap<vx_cache>(info[0]), keys = std::move(keys)]() -> answer {
    std::vector<vx_entry*> found(keys.size());
    vx_error* error = nullptr;
    check(vx_cache_lookup_many(cache.get(), keys.data(), keys.size(), found.data(), &error), error);
    std::vector<entry_ptr> entries;
    entries.reserve(found.size());
    for (vx_entry* one : found) entries.emplace_back(one, vx_cache_entry_free);
    return [entries = std::move(entries)](Napi::Env e) {
      auto out = Napi::Array::New(e, entries.size());
      for (std::uint32_t i = 0; i < entries.size(); ++i) out.Set(i, entries[i] ? wrap(e, entries[i]) : e.Null());
      return out;
    };
  });
}

Napi::Value has(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [cache = unwrap<vx_cache>(info[0]), key = digest_of(info[1])]() -> answer {
    return boolean(vx_cache_has(cache.get(), &key) != 0);
  });
}

struct save_request {
  cache_ptr cache;
  vx_digest key;
  declaration outputs;
  std::shared_ptr<vx_key> components;
  optional_bytes subject, command;
  std::string out, err;
  std::int64_t duration_ns, cpu_ns, peak_rss_bytes;

  explicit save_request(const Napi::CallbackInfo& info) : save_request(info, info[2].As<Napi::Object>()) {}
  save_request(const Napi::CallbackInfo& info, const Napi::Object& o)
      : cache(unwrap<vx_cache>(info[0])),
        key(digest_of(info[1])),
        outputs(o.Get("outputs")),
        components(unwrap_optional<vx_key>(o.Get("components"))),
        subject(o.Get("subject")),
        command(o.Get("command")),
        out(given(o.Get("stdout")) ? bytes_of(o.Get("stdout")) : std::string()),
        err(given(o.Get("stderr")) ? bytes_of(o.Get("stderr")) : std::string()),
        duration_ns(integer(o.Get("durationNs"))),
        cpu_ns(integer(o.Get("cpuNs"))),
        peak_rss_bytes(integer(o.Get("peakRssBytes"))) {}

  answer perform() {
    const vx_outputs declared = outputs.fill();
    vx_save s = VX_SAVE_INIT;
    s.outputs = &declared;
    s.components = components.get();
    s.subject = subject.get();
    s.command = command.get();
    s.out = out.data();
    s.out_size = out.size();
    s.err = err.data();
    s.err_size = err.size();
    s.duration_ns = duration_ns;
    s.cpu_ns = cpu_ns;
    s.peak_rss_bytes = peak_rss_bytes;
    vx_error* error = nullptr;
    check(vx_cache_save(cache.get(), &key, &s, &error), error);
    return nothing();
  }
};

/// cacheSave(cache, key, {outputs, components, subject, command, stdout, stderr, durationNs, cpuNs, peakRssBytes})
Napi::Value save(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [request = save_request(info)]() mutable { return request.perform(); });
}

/// cacheRestore(entry, outputs): a promise of whether the tree equals the entry
Napi::Value restore(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [entry = unwrap<vx_entry>(info[0]), outputs = declaration(info[1])]() mutable -> answer {
    const vx_outputs o = outputs.fill();
    std::int32_t restored = 0;
    vx_error* error = nullptr;
    check(vx_cache_restore(entry.get(), &o, &restored, &error), error);
    return boolean(restored != 0);
  });
}

Napi::Value is_current(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [entry = unwrap<vx_entry>(info[0]), outputs = declaration(info[1])]() mutable -> answer {
    const vx_outputs o = outputs.fill();
    std::int32_t current = 0;
    vx_error* error = nullptr;
    check(vx_cache_is_current(entry.get(), &o, &current, &error), error);
    return boolean(current != 0);
  });
}

Napi::Value explain(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [cache = unwrap<vx_cache>(info[0]), key = unwrap<vx_key>(info[1])]() -> answer {
    buffer json;
    vx_error* error = nullptr;
    check(vx_cache_explain(cache.get(), key.get(), &json.raw, &error), error);
    return document(json);
  });
}

/// cachePrune(cache, olderThanNs | null, maxBytes | null, dryRun)
Napi::Value prune(const Napi::CallbackInfo& info) {
  vx_prune policy = VX_PRUNE_INIT;
  policy.older_than_ns = integer(info[1]);
  policy.max_bytes = static_cast<std::uint64_t>(integer(info[2]));
  policy.flags = info[3].ToBoolean() ? VX_PRUNE_DRY_RUN : 0;
  return submit(info.Env(), [cache = unwrap<vx_cache>(info[0]), policy]() -> answer {
    buffer json;
    vx_error* error = nullptr;
    check(vx_cache_prune(cache.get(), &policy, &json.raw, &error), error);
    return document(json);
  });
}

Napi::Value stats(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [cache = unwrap<vx_cache>(info[0])]() -> answer {
    buffer json;
    vx_error* error = nullptr;
    check(vx_cache_stats(cache.get(), &json.raw, &error), error);
    return document(json);
  });
}

/// A file for one artifact on its way out or in.
class artifact_file {
 public:
  artifact_file(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0)
      throw failure{errno == EMFILE ? "VX_E_FDS" : "VX_E_IO", std::string("cannot open the artifact: ") + std::strerror(errno),
                    path, "", errno};
  }
  artifact_file(const artifact_file&) = delete;
  artifact_file& operator=(const artifact_file&) = delete;
  ~artifact_file() { ::close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// cacheExport(cache, key, path): a file that is not there yet
Napi::Value export_file(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [cache = unwrap<vx_cache>(info[0]), key = digest_of(info[1]), path = bytes_of(info[2])]() -> answer {
                  const artifact_file to(path, O_WRONLY | O_CREAT | O_EXCL);
                  vx_error* error = nullptr;
                  const vx_status done = vx_cache_export(cache.get(), &key, to.fd(), &error);
                  if (done != VX_OK) ::unlink(path.c_str());
                  check(done, error);
                  return nothing();
                });
}

/// cacheImport(cache, key, path, subject | null, outputs)
Napi::Value import_file(const Napi::CallbackInfo& info) {
  return submit(info.Env(),
                [cache = unwrap<vx_cache>(info[0]), key = digest_of(info[1]), path = bytes_of(info[2]),
                 subject = optional_bytes(info[3]), outputs = declaration(info[4])]() mutable -> answer {
                  const artifact_file from(path, O_RDONLY);
                  const vx_outputs o = outputs.fill();
                  vx_error* error = nullptr;
                  check(vx_cache_import(cache.get(), &key, from.fd(), subject.get(), &o, &error), error);
                  return nothing();
                });
}

/// entryOutputs(entry, asBuffers): a flat list of path, space, mode, size
Napi::Value entry_outputs(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto entry = unwrap<vx_entry>(info[0]);
  auto out = Napi::Array::New(env);
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < vx_cache_entry_outputs(entry.get()); ++i) {
    out.Set(at++, name_value(env, vx_cache_entry_output_path(entry.get(), i), info[1].ToBoolean()));
    out.Set(at++, vx_cache_entry_output_space(entry.get(), i));
    out.Set(at++, vx_cache_entry_output_mode(entry.get(), i));
    out.Set(at++, static_cast<double>(vx_cache_entry_output_size(entry.get(), i)));
  }
  return out;
}

Napi::Value entry_stats(const Napi::CallbackInfo& info) {
  buffer json;
  vx_error* error = nullptr;
  check(vx_cache_entry_stats(unwrap<vx_entry>(info[0]).get(), &json.raw, &error), error);
  return utf8(info.Env(), json.text());
}

struct log_piece {
  std::int32_t stream;
  std::string bytes;
  std::size_t dropped;
};

/// entryLog(entry): a promise of a flat list of stream, Buffer | number of bytes that were not kept
Napi::Value entry_log(const Napi::CallbackInfo& info) {
  return submit(info.Env(), [entry = unwrap<vx_entry>(info[0])]() -> answer {
    std::vector<log_piece> pieces;
    const auto each = [](void* data, std::int32_t stream, const void* bytes, std::size_t size) noexcept -> vx_status {
      try {
        const bool gap = bytes == nullptr;
        static_cast<std::vector<log_piece>*>(data)->push_back(
            {stream, gap ? "" : std::string(static_cast<const char*>(bytes), size), gap ? size : 0});
      } catch (const std::bad_alloc&) {
        return VX_E_NO_MEMORY;
      }
      return VX_OK;
    };
    vx_error* error = nullptr;
    check(vx_cache_entry_log(entry.get(), each, &pieces, &error), error);
    return [pieces = std::move(pieces)](Napi::Env e) {
      auto out = Napi::Array::New(e, pieces.size() * 2);
      std::uint32_t at = 0;
      for (const log_piece& p : pieces) {
        out.Set(at++, p.stream);
        if (p.stream == 0)
          out.Set(at++, static_cast<double>(p.dropped));
        else
          out.Set(at++, Napi::Buffer<char>::Copy(e, p.bytes.data(), p.bytes.size()));
      }
      return out;
    };
  });
}

}  // namespace

void add_cache(Napi::Env env, Napi::Object exports) {
  add_function<open>(env, exports, "cacheOpen");
  add_function<dir>(env, exports, "cacheDir");
  add_function<access>(env, exports, "cacheAccess");
  add_function<salt>(env, exports, "cacheSalt");
  add_function<notices>(env, exports, "cacheNotices");
  add_function<close>(env, exports, "cacheClose");
  add_function<outputs_clean>(env, exports, "outputsClean");
  add_function<lookup>(env, exports, "cacheLookup");
  add_function<lookup_many>(env, exports, "cacheLookupMany");
  add_function<has>(env, exports, "cacheHas");
  add_function<save>(env, exports, "cacheSave");
  add_function<restore>(env, exports, "cacheRestore");
  add_function<is_current>(env, exports, "cacheIsCurrent");
  add_function<explain>(env, exports, "cacheExplain");
  add_function<prune>(env, exports, "cachePrune");
  add_function<stats>(env, exports, "cacheStats");
  add_function<export_file>(env, exports, "cacheExport");
  add_function<import_file>(env, exports, "cacheImport");
  add_function<entry_outputs>(env, exports, "entryOutputs");
  add_function<entry_stats>(env, exports, "entryStats");
  add_function<entry_log>(env, exports, "entryLog");
}

}  // namespace vx::node
