#include "key/builder.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::key {
namespace {

/// What the store's row of a component can hold; also the longest identity.
constexpr std::size_t k_text_max = 255;

using enum component_kind;

std::string shown(component_kind kind, std::string_view name) {
  std::string out(component_kind_name(kind));
  return name.empty() ? out : out + " " + text::escape(name, true);
}

bool known(component_kind kind) noexcept { return kind >= platform && kind <= file; }

bool takes_no_name(component_kind kind) noexcept {
  return kind == platform || kind == package || kind == config || kind == forward;
}

bool may_be_absent(component_kind kind) noexcept { return kind == package || kind == env || kind == file; }

/// Sorts by name; false, with the name, when two items of one name differ.
template <class T, class Name, class Same>
bool one_answer(std::vector<T>& items, Name name, Same same, std::string& twice) {
  std::stable_sort(items.begin(), items.end(), [&](const T& a, const T& b) { return name(a) < name(b); });
  const auto clash =
      std::adjacent_find(items.begin(), items.end(), [&](const T& a, const T& b) { return name(a) == name(b) && !same(a, b); });
  if (clash == items.end()) return true;
  twice = name(*clash);
  return false;
}

}  // namespace

status builder::check_order(component_kind kind) {
  if (key_) return fail(errc::INVALID, "the key is finished: nothing can be added to it");
  if (!known(kind)) return fail(errc::INVALID, "there is no kind " + std::to_string(static_cast<unsigned>(kind)) + " to add");
  if (kind < last_) {
    return fail(errc::INVALID, std::string(component_kind_name(kind)) + " comes before " +
                                   std::string(component_kind_name(last_)) + " in a key; add the kinds in their order");
  }
  return {};
}

status builder::check_name(component_kind kind, std::string_view name) const {
  if (takes_no_name(kind)) {
    if (!name.empty()) return fail(errc::INVALID, shown(kind, name) + ": this kind has no name, and the key would not hold it");
    return {};
  }
  if (name.empty()) return fail(errc::INVALID, std::string(component_kind_name(kind)) + " needs a name");
  if (kind == env && name.find('=') != std::string_view::npos)
    return fail(errc::INVALID, shown(kind, name) + ": a variable's name holds no =");
  return {};
}

status builder::add(component_kind kind, std::string_view name, std::optional<std::string_view> value) {
  VX_TRY(check_order(kind));
  VX_TRY(check_name(kind, name));
  if (list_ && (*list_ != kind || list_left_ == 0)) {
    return fail(errc::INVALID,
                shown(kind, name) + (*list_ != kind ? " is not of the list that is open" : " is more than the list announced"));
  }
  if (!value && !may_be_absent(kind)) return fail(errc::INVALID, shown(kind, name) + " needs a value");
  if (value && value->size() > 0xffffffffu) return fail(errc::INVALID, shown(kind, name) + " has 4 GiB or more");
  const bool identity = kind == platform || kind == package || kind == file;
  if (value && identity && (value->empty() || value->size() > k_text_max)) {
    return fail(errc::INVALID, shown(kind, name) + ": the value must have 1 to 255 bytes");
  }
  VX_TRY(put(kind, name, value));
  last_ = kind;
  if (list_) --list_left_;
  return {};
}

status builder::put(component_kind kind, std::string_view name, std::optional<std::string_view> value) {
  const std::string text(value.value_or(std::string_view()));
  const auto once = [&](bool before) -> status {
    if (before) return fail(errc::INVALID, std::string(component_kind_name(kind)) + " is in the key already");
    return {};
  };
  switch (kind) {
    case platform:
      VX_TRY(once(platform_.has_value()));
      platform_ = text;
      break;
    case workspace: root_files_.emplace_back(name, text); break;
    case package:
      VX_TRY(once(std::exchange(package_told_, true)));
      if (value) manifest_ = text;
      break;
    case config:
      VX_TRY(once(config_.has_value()));
      config_ = xxh3_128(text);
      break;
    case forward: forward_.push_back(text); break;
    case env: env_.push_back({std::string(name), value ? std::optional<std::string>(text) : std::nullopt}); break;
    case runtime:
    case ws_runtime:
      (kind == runtime ? runtime_ : ws_runtime_).push_back({std::string(name), std::string(text::trim(text)), {}});
      break;
    case upstream: {
      digest128 k;
      if (text.size() != k.raw.size()) return fail(errc::INVALID, shown(kind, name) + ": a key has 16 bytes");
      std::memcpy(k.raw.data(), text.data(), k.raw.size());
      upstream_.emplace_back(k, name);
      break;
    }
    case host: host_.push_back({std::string(name), text}); break;
    case file: files_.emplace_back(name, text); break;
    case format: break;  // check_order() refused it
  }
  return {};
}

status builder::begin_list(component_kind kind, std::uint32_t count) {
  VX_TRY(check_order(kind));
  if (list_) return fail(errc::INVALID, "a list is open already: end it first");
  list_ = kind;
  list_left_ = count;
  last_ = kind;
  return {};
}

status builder::end_list() {
  if (!list_) return fail(errc::INVALID, "no list is open");
  if (list_left_ != 0) {
    return fail(errc::INVALID, "the list of " + std::string(component_kind_name(*list_)) + " lacks " +
                                   std::to_string(list_left_) + " of the items it announced");
  }
  list_.reset();
  return {};
}

status builder::settle() {
  std::string twice;
  const auto refuse = [&](component_kind kind) {
    return fail(errc::INVALID, shown(kind, twice) + " was added twice, with different values");
  };
  const auto env_name = [](const env_item& e) { return e.name; };
  if (!one_answer(
          env_, env_name, [](const env_item& a, const env_item& b) { return a.value == b.value; }, twice))
    return refuse(env);
  const auto command = [](const probe_item& p) { return p.command; };
  const auto same_output = [](const probe_item& a, const probe_item& b) { return a.out == b.out; };
  if (!one_answer(runtime_, command, same_output, twice)) return refuse(runtime);
  if (!one_answer(ws_runtime_, command, same_output, twice)) return refuse(ws_runtime);
  const auto path = [](const auto& f) { return f.first; };
  if (!one_answer(
          files_, path, [](const auto& a, const auto& b) { return a.second == b.second; }, twice))
    return refuse(file);
  files_.erase(std::unique(files_.begin(), files_.end()), files_.end());
  return {};
}

task_material builder::material(std::vector<input_item>& inputs) const {
  task_material m;
  m.task_id = subject_;
  m.portable = !platform_;
  m.platform = platform_ ? std::string_view(*platform_) : std::string_view();
  m.workspace = fold_fingerprint(root_files_);
  m.manifest = manifest_;
  m.config = config_.value_or(xxh3_128({}));
  m.forward = forward_;
  m.env = env_;
  m.runtime = runtime_;
  m.ws_runtime = ws_runtime_;
  for (const auto& [k, name] : upstream_) m.upstream.push_back(k);
  m.host = host_;
  inputs.reserve(files_.size());
  for (const auto& [path, identity] : files_) inputs.push_back({path, identity});
  m.inputs = inputs;
  return m;
}

result<digest128> builder::finish() {
  if (key_) return *key_;
  if (list_) return fail(errc::INVALID, "a list is open: end it before the key is finished");
  VX_TRY(settle());
  std::vector<input_item> inputs;
  digest_sink sink;
  fold_as(schema_, material(inputs), sink);
  key_ = sink.finish();
  return *key_;
}

std::vector<component> builder::explain(const digest128& salt) const {
  std::vector<input_item> inputs;
  const task_material m = material(inputs);
  explain_sink sink(salt, upstream_);
  fold_as(schema_, m, sink);
  return sink.take();
}

void builder::drop_material() {
  root_files_ = {};
  forward_ = {};
  env_ = {};
  runtime_ = ws_runtime_ = {};
  upstream_ = {};
  host_ = {};
  files_ = {};
}

}  // namespace vx::key
