#include "workspace/schema.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace vx::workspace::schema {
namespace {

bool is_word(std::string_view s) noexcept {
  if (s.empty()) return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == ':' ||
           c == '-' || c == '/' || c == '@' || c >= 0x80;
  });
}

constexpr std::int64_t k_int_max = 2147483647;

}  // namespace

std::string field_path(std::span<const step> steps) {
  std::string out;
  for (const step& s : steps) {
    if (s.is_index) {
      out += '[' + std::to_string(s.index) + ']';
    } else if (is_word(s.name)) {
      if (!out.empty()) out += '.';
      out += s.name;
    } else {
      out += '[';
      json::write_string(out, s.name);
      out += ']';
    }
  }
  return out;
}

std::string show(const json::value& v) {
  std::string out = json::write(v);
  constexpr std::size_t k_shown = 60;
  if (out.size() > k_shown) {
    std::size_t cut = k_shown;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;  // not inside a code point
    out.resize(cut);
    out += "...";
  }
  return out;
}

bool is_blank(std::string_view s) noexcept { return text::trim(s).empty(); }

std::optional<std::int64_t> integral(const json::value& v, std::int64_t low, std::int64_t high) noexcept {
  if (v.is_int()) {
    const std::int64_t i = v.as_int();
    if (i < low || i > high) return std::nullopt;
    return i;
  }
  if (!v.is_number()) return std::nullopt;
  const double d = v.as_double();
  if (!(d >= static_cast<double>(low) && d <= static_cast<double>(high)) || d != std::floor(d)) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

bool checker::refuse(const json::value& v, std::string what) {
  refused_ = refusal{where_, std::move(what), {}, v.at, v.is_string() ? v.as_string() : std::string(), true};
  return false;
}

bool checker::must(const json::value& v, std::string_view what) { return refuse(v, std::string(what) + ", not " + show(v)); }

bool checker::refuse_member(const json::value& parent, std::string_view name, std::string what) {
  where_.push_back({std::string(name), 0, false});
  std::uint32_t at = parent.at;
  if (parent.is_object()) {
    for (const json::member& m : parent.as_object()) {
      if (m.name == name) at = m.at;
    }
  }
  refused_ = refusal{where_, std::move(what), {}, at, {}, true};
  return false;
}

bool checker::missing(std::string_view name, std::string what) {
  where_.push_back({std::string(name), 0, false});
  refused_ = refusal{where_, std::move(what), {}, 0, {}, false};
  return false;
}

bool checker::enter(const json::member& m, const field& f) {
  where_.push_back({m.name, 0, false});
  if (!f.check(*this, m.val, f)) return false;
  where_.pop_back();
  return true;
}

bool checker::unknown_key(const json::member& m, const level& l) {
  std::vector<std::string> accepted;
  for (const field& f : l.fields) accepted.emplace_back(f.name);
  std::sort(accepted.begin(), accepted.end());
  std::string keys;
  for (const std::string& a : accepted) keys += (keys.empty() ? "" : ", ") + a;

  std::string what = "has no key ";
  json::write_string(what, m.name);
  what += text::did_you_mean(m.name, accepted);
  const auto p = std::find_if(l.pointers.begin(), l.pointers.end(), [&](const pointer& x) { return x.key == m.name; });
  if (p != l.pointers.end()) {
    what += ": ";
    what += p->advice;
  }
  what += "; accepted keys: " + keys;
  // The level is named, the key is where the caret stands.
  refused_ = refusal{where_, std::move(what), std::string(l.label), m.at, {}, true};
  refused_->where.push_back({m.name, 0, false});
  refused_->label = where_.empty() ? std::string(l.label) : field_path(where_);
  return false;
}

bool checker::object(const json::value& v, const level& l) {
  if (!v.is_object()) {
    if (v.is_array()) {
      std::vector<std::string> accepted;
      for (const field& f : l.fields) accepted.emplace_back(f.name);
      std::sort(accepted.begin(), accepted.end());
      std::string keys;
      for (const std::string& a : accepted) keys += (keys.empty() ? "" : ", ") + a;
      refuse(v, std::string(l.shape) + ", not an array; accepted keys: " + keys);
    } else {
      must(v, l.shape);
    }
    if (where_.empty()) refused_->label = l.label;
    return false;
  }
  for (const json::member& m : v.as_object()) {
    const auto f = std::find_if(l.fields.begin(), l.fields.end(), [&](const field& x) { return x.name == m.name; });
    if (f == l.fields.end()) return unknown_key(m, l);
    if (!enter(m, *f)) return false;
  }
  return l.after == nullptr || l.after(*this, v);
}

bool is_text(checker& c, const json::value& v, const field& f) {
  return v.is_string() || c.must(v, f.must.empty() ? "must be a string" : f.must);
}

bool is_flag(checker& c, const json::value& v, const field& f) {
  return v.is_bool() || c.must(v, f.must.empty() ? "must be true or false" : f.must);
}

bool is_text_list(checker& c, const json::value& v, const field& f) {
  const std::string_view must = f.must.empty() ? "must be an array of strings" : f.must;
  if (!v.is_array()) return c.must(v, must);
  return c.each(v.as_array(), [&](const json::value& e) { return e.is_string() || c.must(e, "must be a string"); });
}

bool is_schema_link(checker& c, const json::value& v, const field&) { return v.is_string() || c.must(v, "must be a string"); }

bool is_milliseconds(checker& c, const json::value& v, const field&) {
  if (v.is_number() && v.as_double() > static_cast<double>(k_int_max)) {
    return c.refuse(v, "must be at most 2147483647 milliseconds, not " + show(v) +
                           ": a longer timer fires at once instead of never; omit it for no limit");
  }
  return integral(v, 1, k_int_max).has_value() || c.must(v, "must be a positive integer (milliseconds)");
}

bool is_positive_int(checker& c, const json::value& v, const field&) {
  return integral(v, 1, k_int_max).has_value() || c.must(v, "must be a positive integer");
}

bool is_nested(checker& c, const json::value& v, const field& f) { return c.object(v, *f.nested); }

bool check_env_name(checker& c, const json::value& v, std::string_view name, bool shell_word) {
  if (name.empty()) return c.refuse(v, "must be the name of a variable, not an empty string");
  if (name.find('\0') != std::string_view::npos) return c.must(v, "must hold no NUL");
  if (name.find('=') != std::string_view::npos) return c.must(v, "must be a name alone, without `=`");
  if (name.front() == '!' || name.find('*') != std::string_view::npos) {
    return c.must(v, "must be an exact name: wildcards and exclusions are an open set that no key can name");
  }
  if (!shell_word) return true;
  const auto word = [](unsigned char ch, bool first) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (!first && ch >= '0' && ch <= '9');
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!word(static_cast<unsigned char>(name[i]), i == 0)) {
      return c.must(v, "must match [A-Za-z_][A-Za-z0-9_]*: a shell drops other names");
    }
  }
  return true;
}

namespace {
bool env_names(checker& c, const json::value& v, bool shell_word) {
  if (!v.is_array()) return c.must(v, "must be an array of variable names");
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be the name of a variable");
    return check_env_name(c, e, e.as_string(), shell_word);
  });
}
}  // namespace

bool is_env_names(checker& c, const json::value& v, const field&) { return env_names(c, v, false); }
bool is_shell_env_names(checker& c, const json::value& v, const field&) { return env_names(c, v, true); }

namespace {
bool one_of(checker& c, const json::value& v, std::span<const std::string_view> words, std::string_view must) {
  if (v.is_string() && std::find(words.begin(), words.end(), v.as_string()) != words.end()) return true;
  return c.must(v, must);
}
bool is_strategy(checker& c, const json::value& v, const field& f) {
  static constexpr std::string_view k_words[] = {"immutable", "mutable", "unchecked"};
  return one_of(c, v, k_words, f.must);
}
bool is_severity(checker& c, const json::value& v, const field& f) {
  static constexpr std::string_view k_words[] = {"warn", "error"};
  return one_of(c, v, k_words, f.must);
}
constexpr field k_stability_fields[] = {
    {"strategy", is_strategy, "must be \"immutable\", \"mutable\" or \"unchecked\""},
    {"severity", is_severity, "must be \"warn\" or \"error\""},
};
}  // namespace

constinit const level k_stability_level{"inputStability", "must be an object { strategy, severity }", k_stability_fields};

}  // namespace vx::workspace::schema
