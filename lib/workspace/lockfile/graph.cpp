#include "workspace/lockfile/graph.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "key/fold.hpp"
#include "workspace/yaml_document.hpp"

namespace vx::workspace::lockfile {

namespace {

constexpr std::string_view k_plain = "\x01plain";

// Framed as keys are, in a space of their own (keys.md 20).
constexpr auto k_members = static_cast<key::tag>(0x8030), k_inner = static_cast<key::tag>(0x8033),
               k_outer = static_cast<key::tag>(0x8036);
constexpr auto k_id = static_cast<key::tag>(0x0031), k_record = static_cast<key::tag>(0x0032),
               k_from = static_cast<key::tag>(0x0034), k_to = static_cast<key::tag>(0x0035),
               k_needed = static_cast<key::tag>(0x0037);

constexpr std::uint32_t k_none = UINT32_MAX;

/// Tarjan without recursion: components come in the order in which everything they need is done.
class components {
 public:
  explicit components(const graph& g)
      : g_(g),
        of_(g.nodes.size(), k_none),
        low_(g.nodes.size(), k_none),
        seen_(g.nodes.size(), k_none),
        digests_(g.nodes.size()) {}

  std::vector<digest128> run() {
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (seen_[n] == k_none) visit(n);
    return std::move(digests_);
  }

 private:
  struct frame {
    std::uint32_t node;
    std::size_t next = 0;
  };

  void enter(std::uint32_t n) {
    seen_[n] = low_[n] = counter_++;
    open_.push_back(n);
    path_.push_back({n});
  }

  void visit(std::uint32_t start) {
    enter(start);
    while (!path_.empty()) {
      frame& at = path_.back();
      const std::uint32_t n = at.node;
      const auto& needs = g_.nodes[n].needs;
      if (at.next < needs.size()) {
        const std::uint32_t to = needs[at.next++];
        if (seen_[to] == k_none)
          enter(to);
        else if (of_[to] == k_none)
          low_[n] = std::min(low_[n], seen_[to]);
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[n]);
      if (low_[n] == seen_[n]) close(n);
    }
  }

  void close(std::uint32_t head) {
    std::vector<std::uint32_t> members;
    std::uint32_t n = k_none;
    do {
      n = open_.back();
      open_.pop_back();
      of_[n] = head;
      members.push_back(n);
    } while (n != head);
    const digest128 d = digest(members, head);
    for (const std::uint32_t m : members) digests_[m] = d;
  }

  digest128 digest(std::vector<std::uint32_t>& members, std::uint32_t head) const {
    const auto by_id = [&](std::uint32_t a, std::uint32_t b) { return g_.nodes[a].id < g_.nodes[b].id; };
    std::sort(members.begin(), members.end(), by_id);
    std::vector<std::pair<std::string_view, std::string_view>> inner;
    std::vector<digest128> outer;
    for (const std::uint32_t m : members) {
      for (const std::uint32_t to : g_.nodes[m].needs) {
        if (of_[to] == head)
          inner.emplace_back(g_.nodes[m].id, g_.nodes[to].id);
        else
          outer.push_back(digests_[to]);
      }
    }
    std::sort(inner.begin(), inner.end());
    std::sort(outer.begin(), outer.end());
    outer.erase(std::unique(outer.begin(), outer.end()), outer.end());
    key::digest_sink out;
    out.list(k_members, static_cast<std::uint32_t>(members.size()));
    for (const std::uint32_t m : members) {
      out.item(k_id, g_.nodes[m].id);
      out.item(k_record, g_.nodes[m].record);
    }
    out.list(k_inner, static_cast<std::uint32_t>(inner.size()));
    for (const auto& [from, to] : inner) {
      out.item(k_from, from);
      out.item(k_to, to);
    }
    out.list(k_outer, static_cast<std::uint32_t>(outer.size()));
    for (const digest128& d : outer) out.item(k_needed, d.view());
    return out.finish();
  }

  const graph& g_;
  std::vector<std::uint32_t> of_, low_, seen_;  ///< component head, Tarjan's low link, order of the visit
  std::vector<digest128> digests_;
  std::vector<std::uint32_t> open_;
  std::vector<frame> path_;
  std::uint32_t counter_ = 0;
};

/// Whether YAML might take a plain scalar for a number, a boolean, nothing, a date.
bool ambiguous(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '+' || s[0] == '-' || s[0] == '.' || s == "~") return true;
  std::string low(s);
  for (char& c : low) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
    if (low == word) return true;
  return false;
}

/// Depth is bounded by the YAML reader, size by the absence of aliases.
result<json::value> to_value(const yaml::document& doc, std::uint32_t at) {
  const yaml::node& n = doc.at(at);
  if (n.what == yaml::node::kind::scalar) {
    if (!n.plain || !ambiguous(n.text)) return json::value(n.text);
    json::object plain;
    plain.add(std::string(k_plain), n.text);
    return json::value(std::move(plain));
  }
  if (n.what == yaml::node::kind::sequence) {
    json::array out;
    for (const std::uint32_t i : n.items) {
      VX_TRY_LET(json::value v, to_value(doc, i));
      out.push_back(std::move(v));
    }
    return json::value(std::move(out));
  }
  json::object out;
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i + 1 < n.items.size(); i += 2) {
    const yaml::node& k = doc.at(n.items[i]);
    if (k.what != yaml::node::kind::scalar) return fail(errc::CONFIG, "a key is no text");
    if (!names.insert(k.text).second) return fail(errc::CONFIG, "the key \"" + k.text + "\" comes twice");
    VX_TRY_LET(json::value v, to_value(doc, n.items[i + 1]));
    out.add(k.text, std::move(v));
  }
  return json::value(std::move(out));
}

}  // namespace

std::vector<digest128> component_digests(const graph& g) { return components(g).run(); }

tl::unexpected<failure> not_held(const graph::node& who, std::string_view what) {
  const std::string name = who.id.substr(std::min<std::size_t>(2, who.id.size()));
  return fail(errc::CONFIG, (name.empty() ? "the root" : name.substr(0, name.find('\n'))) + " needs " + std::string(what) +
                                ", which it does not hold");
}

result<json::value> read_yaml(std::string_view text) {
  yaml::document doc;
  if (const std::string error = yaml::read(text, doc); !error.empty()) return fail(errc::CONFIG, error);
  if (doc.aliases) return fail(errc::CONFIG, "it uses YAML aliases");
  if (doc.more) return fail(errc::CONFIG, "it holds more than one YAML document");
  if (doc.root == yaml::k_no_node || doc.at(doc.root).what != yaml::node::kind::mapping)
    return fail(errc::CONFIG, "it is no YAML mapping");
  return to_value(doc, doc.root);
}

std::string text_of(const json::value* v) {
  if (v == nullptr) return {};
  if (v->is_string()) return v->as_string();
  if (!v->is_object() || v->as_object().size() != 1) return {};
  const json::value* plain = v->get(k_plain);
  return plain != nullptr && plain->is_string() ? plain->as_string() : std::string();
}

std::string without(const json::object& from, std::initializer_list<std::string_view> names) {
  json::object out;
  for (const json::member& m : from)
    if (std::find(names.begin(), names.end(), m.name) == names.end()) out.add(m.name, m.val);
  return json::write_canonical(out);
}

std::size_t name_end(std::string_view id) noexcept {
  const std::size_t at = id.rfind('@');
  return at == 0 ? std::string_view::npos : at;
}

}  // namespace vx::workspace::lockfile
