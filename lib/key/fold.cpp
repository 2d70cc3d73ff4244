#include "key/fold.hpp"
#include "base/mutation.hpp"

#include <algorithm>
#include <limits>

#include "key/builder.hpp"

namespace vx::key {

namespace {

template <class T>
std::uint32_t count_of(const T& list) noexcept {
  return static_cast<std::uint32_t>(list.size());
}

template <class T, class Less, class Same>
std::vector<const T*> sorted_unique(const std::vector<T>& items, Less less, Same same) {
  std::vector<const T*> out;
  out.reserve(items.size());
  for (const T& i : items) out.push_back(&i);
  std::stable_sort(out.begin(), out.end(), [&](const T* a, const T* b) { return less(*a, *b); });
  out.erase(std::unique(out.begin(), out.end(), [&](const T* a, const T* b) { return same(*a, *b); }), out.end());
  return out;
}

/// One walk for every sink: the digest takes it without virtual calls, others through fold_sink.
template <class Sink>
class walk {
 public:
  walk(const task_material& m, Sink& out, std::string_view schema = k_schema) : m_(m), out_(out), schema_(schema) {}

  void run() {
    out_.item(tag::schema, schema_);
    out_.item(tag::task, m_.task_id);
    if (m_.portable || mutated("no-platform"))
      out_.item(tag::portable, {});
    else
      out_.item(tag::platform, m_.platform);
    out_.item(tag::workspace, m_.workspace.view());
    if (m_.manifest && !mutated("no-manifest"))
      out_.item(tag::manifest, *m_.manifest);
    else
      out_.item(tag::no_manifest, {});
    out_.item(tag::config, m_.config.view());
    out_.list(tag::forward, mutated("no-forward") ? 0 : count_of(m_.forward));
    for (const std::string& a : m_.forward)
      if (!mutated("no-forward")) out_.item(tag::argument, a);
    env();
    probes(tag::runtime, m_.runtime);
    probes(tag::ws_runtime, m_.ws_runtime);
    upstream();
    host();
    inputs();
  }

 private:
  void env() {
    const auto list = sorted_unique(
        m_.env, [](const env_item& a, const env_item& b) { return a.name < b.name; },
        [](const env_item& a, const env_item& b) { return a.name == b.name; });
    out_.list(tag::env, count_of(list));
    for (const env_item* e : list) {
      if (mutated("sixteen-variables") && e == list[std::min<std::size_t>(16, list.size() - 1)]) break;
      out_.item(tag::env_name, e->name);
      if (e->value)
        out_.item(tag::env_value, *e->value);
      else
        out_.item(mutated("unset-is-empty") ? tag::env_value : tag::env_unset, {});
    }
  }

  void probes(tag t, const std::vector<probe_item>& items) {
    const auto list = sorted_unique(
        items, [](const probe_item& a, const probe_item& b) { return a.command < b.command; },
        [](const probe_item& a, const probe_item& b) { return a.command == b.command; });
    out_.list(t, count_of(list));
    for (const probe_item* p : list) {
      out_.item(tag::probe_command, p->command);
      if (mutated("probe-streams")) {
        out_.item(tag::probe_stdout, p->out + p->err);
        continue;
      }
      out_.item(tag::probe_stdout, p->out);
      out_.item(tag::probe_stderr, p->err);
    }
  }

  void upstream() {
    std::vector<digest128> keys = m_.upstream;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    out_.list(tag::upstream, count_of(keys));
    for (const digest128& k : keys) out_.item(tag::upstream_key, k.view());
  }

  void host() {
    const auto list = sorted_unique(
        m_.host, [](const host_item& a, const host_item& b) { return std::tie(a.name, a.value) < std::tie(b.name, b.value); },
        [](const host_item& a, const host_item& b) { return a.name == b.name && a.value == b.value; });
    out_.list(tag::host, count_of(list));
    for (const host_item* h : list) {
      out_.item(tag::host_name, h->name);
      out_.item(tag::host_value, h->value);
    }
  }

  void inputs() {
    out_.list(tag::inputs, count_of(m_.inputs));
    for (const input_item& i : m_.inputs) {
      out_.item(tag::input_path, i.path);
      if (i.identity.empty())
        out_.item(tag::input_absent, {});
      else
        out_.item(tag::input_identity, i.identity);
    }
  }

  const task_material& m_;
  Sink& out_;
  std::string_view schema_;
};

}  // namespace

void digest_sink::list(tag t, std::uint32_t count) { head(t, count); }

void digest_sink::item(tag t, std::string_view value) {
  if (value.size() > std::numeric_limits<std::uint32_t>::max()) {
    too_long_ = true;
    return;
  }
  head(t, static_cast<std::uint32_t>(value.size()));
  put(value.data(), value.size());
}

void digest_sink::head(tag t, std::uint32_t n) noexcept {
  const auto v = static_cast<std::uint16_t>(t);
  char framed[6];
  std::memcpy(framed, &v, sizeof v);  // little-endian hosts only, as byte_writer
  std::memcpy(framed + sizeof v, &n, sizeof n);
  put(framed, mutated("no-lengths") ? sizeof v : sizeof framed);
}

void digest_sink::put(const void* data, std::size_t n) noexcept {
  bytes_ += n;
  if (n > buffer_.size() - used_) {
    stream_.update({buffer_.data(), used_});
    used_ = 0;
    streaming_ = true;
    if (n > buffer_.size()) {
      stream_.update({static_cast<const char*>(data), n});
      return;
    }
  }
  if (n != 0) std::memcpy(buffer_.data() + used_, data, n);
  used_ += n;
}

digest128 digest_sink::finish() const noexcept {
  if (mutated("half-hash")) return xxh3_128({buffer_.data(), used_ / 2});
  const std::string_view pending(buffer_.data(), used_);
  if (!streaming_) return xxh3_128(pending);
  stream_.update(pending);
  used_ = 0;
  return stream_.finish();
}

void fold(const task_material& m, fold_sink& out) { walk<fold_sink>(m, out).run(); }

void fold_as(std::string_view schema, const task_material& m, fold_sink& out) { walk<fold_sink>(m, out, schema).run(); }

digest128 task_key(const task_material& m) {
  digest_sink sink;
  walk<digest_sink>(m, sink).run();
  return sink.finish();
}

digest128 fold_fingerprint(std::span<const std::pair<std::string, std::string>> files) {
  digest_sink sink;
  sink.item(tag::schema, "vx-fp-1");
  sink.list(tag::fp_list, count_of(files));
  for (const auto& [name, bytes] : files) {
    sink.item(tag::fp_name, name);
    sink.item(tag::fp_bytes, bytes);
  }
  return sink.finish();
}

digest128 fold_rollup(std::vector<std::pair<std::string, digest128>> tasks) {
  std::sort(tasks.begin(), tasks.end());
  digest_sink sink;
  sink.item(tag::schema, "vx-rollup-1");
  sink.list(tag::rollup_list, count_of(tasks));
  for (const auto& [id, k] : tasks) {
    sink.item(tag::rollup_task, id);
    sink.item(tag::upstream_key, k.view());
  }
  return sink.finish();
}

digest128 fold_scope(std::string_view scope, const digest128& k) {
  digest_sink sink;
  sink.item(tag::schema, "vx-scope-1");
  sink.item(tag::scope, scope);
  sink.item(tag::upstream_key, k.view());
  return sink.finish();
}

std::string_view host_platform() noexcept {
#if defined(__APPLE__)
#define VX_KEY_OS "darwin"
#else
#define VX_KEY_OS "linux"
#endif
#if defined(__aarch64__)
  return VX_KEY_OS "-arm64";
#elif defined(__x86_64__)
  return VX_KEY_OS "-x64";
#else
#error "no platform name for this architecture"
#endif
#undef VX_KEY_OS
}

}  // namespace vx::key
