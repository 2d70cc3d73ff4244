// The second sink of the fold: what a key was made of, for people.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "key/fold.hpp"

namespace vx::key {

namespace {

constexpr std::array<std::string_view, 12> k_kind_names = {"format", "platform", "workspace",  "package",  "config", "forward",
                                                           "env",    "runtime",  "ws-runtime", "upstream", "host",   "file"};

digest128 to_digest(std::string_view raw) noexcept {
  digest128 d;
  if (raw.size() == d.raw.size()) std::memcpy(d.raw.data(), raw.data(), raw.size());
  return d;
}

}  // namespace

std::string_view component_kind_name(component_kind k) noexcept {
  const auto i = static_cast<std::size_t>(k);
  return i >= 1 && i <= k_kind_names.size() ? k_kind_names[i - 1] : std::string_view("unknown");
}

struct explain_sink::impl {
  digest128 salt;
  std::unordered_map<digest128, std::string, digest128_hash> upstream_names;
  std::vector<component> out;
  std::string pending;  ///< the name, until its value arrives
  std::string probe;    ///< framed stdout item, until stderr arrives
  component_kind probes = component_kind::runtime;
  std::uint32_t arguments = 0;

  void add(component_kind kind, std::string name, std::string digest) {
    out.push_back({kind, std::move(name), std::move(digest)});
  }

  static void frame(byte_writer& w, tag t, std::string_view value) {
    w.u16(static_cast<std::uint16_t>(t));
    w.text32(value);
  }
  static std::string framed(tag t, std::string_view value) {
    byte_writer w;
    frame(w, t, value);
    return w.take();
  }
  std::string salted(std::string_view items) const { return xxh3_128(std::string(salt.view()) + std::string(items)).hex(); }

  void item(tag t, std::string_view value);
};

void explain_sink::impl::item(tag t, std::string_view value) {
  using enum component_kind;
  switch (t) {
    case tag::schema: return add(format, "schema", std::string(value));
    case tag::platform: return add(platform, "platform", std::string(value));
    case tag::portable: return add(platform, "platform", "portable");
    case tag::workspace: return add(workspace, "fingerprint", to_hex(as_bytes(value)));
    case tag::manifest: return add(package, "package.json", std::string(value));
    case tag::no_manifest: return add(package, "package.json", "absent");
    case tag::config: return add(config, "task config", to_hex(as_bytes(value)));
    case tag::argument: return add(forward, std::to_string(++arguments), salted(framed(t, value)));
    case tag::env_value: return add(env, std::move(pending), salted(framed(t, value)));
    case tag::env_unset: return add(env, std::move(pending), "unset");
    case tag::probe_stdout: probe = framed(t, value); return;
    case tag::probe_stderr: return add(probes, std::move(pending), salted(probe + framed(t, value)));
    case tag::upstream_key: {
      const digest128 k = to_digest(value);
      const auto known = upstream_names.find(k);
      return add(upstream, known == upstream_names.end() ? k.hex() : known->second, k.hex());
    }
    case tag::host_value: return add(host, std::move(pending), salted(framed(t, value)));
    case tag::input_identity: return add(file, std::move(pending), std::string(value));
    case tag::input_absent: return add(file, std::move(pending), "absent");
    case tag::env_name:
    case tag::probe_command:
    case tag::host_name:
    case tag::input_path: pending.assign(value); return;
    default: return;  // the task names the entry; other folds are not explained
  }
}

explain_sink::explain_sink(digest128 salt, std::vector<std::pair<digest128, std::string>> upstream_names)
    : impl_(std::make_unique<impl>()) {
  impl_->salt = salt;
  std::sort(upstream_names.begin(), upstream_names.end());
  for (auto& [k, name] : upstream_names) impl_->upstream_names.emplace(k, std::move(name));
}

explain_sink::~explain_sink() = default;

void explain_sink::list(tag t, std::uint32_t) {
  if (t == tag::runtime) impl_->probes = component_kind::runtime;
  if (t == tag::ws_runtime) impl_->probes = component_kind::ws_runtime;
}

void explain_sink::item(tag t, std::string_view value) { impl_->item(t, value); }

std::vector<component> explain_sink::take() {
  std::vector<component> out = std::exchange(impl_->out, {});
  std::stable_sort(out.begin(), out.end(),
                   [](const component& a, const component& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); });
  return out;
}

}  // namespace vx::key
