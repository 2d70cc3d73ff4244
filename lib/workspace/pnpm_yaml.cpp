#include "workspace/pnpm_yaml.hpp"

#include <yaml.h>

#include <cstdint>
#include <unordered_map>

namespace vx::workspace {

namespace {

constexpr std::uint32_t k_no_node = UINT32_MAX;
constexpr std::size_t k_max_depth = 64;

/// Nodes refer to each other by index, so an alias costs nothing however often it is repeated.
struct node {
  enum class kind : std::uint8_t { scalar, sequence, mapping } what = kind::scalar;
  bool plain = false;                          ///< an unquoted scalar: subject to type resolution
  std::string text;
  std::vector<std::uint32_t> items;            ///< mapping: key, value, key, value ...
};

struct document {
  std::vector<node> nodes;
  std::uint32_t root = k_no_node;
  const node& at(std::uint32_t i) const { return nodes[i]; }
};

class event_reader {
 public:
  explicit event_reader(std::string_view text) {
    ok_ = yaml_parser_initialize(&parser_) != 0;
    if (ok_) yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~event_reader() {
    if (ok_) yaml_parser_delete(&parser_);
  }
  event_reader(const event_reader&) = delete;
  event_reader& operator=(const event_reader&) = delete;

  /// Reads the first document; an error text with position, or "".
  std::string read(document& doc) {
    if (!ok_) return "out of memory";
    bool ended = false;
    while (!ended) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) return problem();
      std::string error = take(event, doc, ended);
      yaml_event_delete(&event);
      if (!error.empty()) return error;
    }
    return {};
  }

 private:
  std::string problem() const {
    const std::string where = std::to_string(parser_.problem_mark.line + 1) + ":" + std::to_string(parser_.problem_mark.column + 1);
    return where + ": " + (parser_.problem != nullptr ? parser_.problem : "not YAML");
  }

  std::uint32_t add(document& doc, node n, const yaml_char_t* anchor) {
    const auto id = static_cast<std::uint32_t>(doc.nodes.size());
    doc.nodes.push_back(std::move(n));
    if (anchor != nullptr) anchors_[reinterpret_cast<const char*>(anchor)] = id;
    attach(doc, id);
    return id;
  }
  void attach(document& doc, std::uint32_t id) {
    if (open_.empty()) {
      doc.root = id;
    } else {
      doc.nodes[open_.back()].items.push_back(id);
    }
  }

  std::string take(const yaml_event_t& e, document& doc, bool& ended) {
    switch (e.type) {
      case YAML_SCALAR_EVENT: {
        const auto& s = e.data.scalar;
        node n;
        n.plain = s.style == YAML_PLAIN_SCALAR_STYLE && s.tag == nullptr;
        n.text.assign(reinterpret_cast<const char*>(s.value), s.length);
        add(doc, std::move(n), s.anchor);
        return {};
      }
      case YAML_SEQUENCE_START_EVENT:
        return open(doc, node::kind::sequence, e.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT:
        return open(doc, node::kind::mapping, e.data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        return {};
      case YAML_ALIAS_EVENT: {
        const auto it = anchors_.find(reinterpret_cast<const char*>(e.data.alias.anchor));
        if (it == anchors_.end()) return "an alias names no anchor";
        attach(doc, it->second);
        return {};
      }
      case YAML_DOCUMENT_END_EVENT:
      case YAML_STREAM_END_EVENT:
        ended = true;
        return {};
      default:
        return {};
    }
  }
  std::string open(document& doc, node::kind what, const yaml_char_t* anchor) {
    if (open_.size() >= k_max_depth) return "nested too deeply";
    node n;
    n.what = what;
    open_.push_back(add(doc, std::move(n), anchor));
    return {};
  }

  yaml_parser_t parser_{};
  bool ok_ = false;
  std::vector<std::uint32_t> open_;
  std::unordered_map<std::string, std::uint32_t> anchors_;
};

const node* member(const document& doc, const node& map, std::string_view key) {
  const node* found = nullptr;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const node& k = doc.at(map.items[i]);
    if (k.what == node::kind::scalar && k.text == key) found = &doc.at(map.items[i + 1]);
  }
  return found;
}

bool is_null(const node& n) {
  return n.what == node::kind::scalar && n.plain && (n.text.empty() || n.text == "~" || n.text == "null" || n.text == "Null" || n.text == "NULL");
}

/// Whether a plain scalar means a boolean, a number or nothing rather than text.
bool is_text(const node& n) {
  if (n.what != node::kind::scalar) return false;
  if (!n.plain) return true;
  if (is_null(n)) return false;
  for (const char* word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
    if (n.text == word) return false;
  }
  const std::size_t start = n.text[0] == '-' || n.text[0] == '+' ? 1 : 0;
  bool digits = false;
  for (std::size_t i = start; i < n.text.size(); ++i) {
    const char c = n.text[i];
    if (c >= '0' && c <= '9') {
      digits = true;
    } else if (c != '.') {
      return true;
    }
  }
  return !digits;
}

bool read_catalog(const document& doc, const node& from, std::map<std::string, std::string, std::less<>>& into) {
  if (is_null(from)) return true;
  if (from.what != node::kind::mapping) return false;
  for (std::size_t i = 0; i + 1 < from.items.size(); i += 2) {
    const node &k = doc.at(from.items[i]), &v = doc.at(from.items[i + 1]);
    if (k.what != node::kind::scalar || v.what != node::kind::scalar) return false;
    into[k.text] = v.text;  // `1` or `1.2` are ranges here whatever YAML calls them
  }
  return true;
}

void read_catalogs(const document& doc, const node& root, pnpm_file& out) {
  if (const node* one = member(doc, root, "catalog")) {
    out.catalogs_readable &= read_catalog(doc, *one, out.catalogs["default"]);
  }
  const node* many = member(doc, root, "catalogs");
  if (many == nullptr || is_null(*many)) return;
  if (many->what != node::kind::mapping) {
    out.catalogs_readable = false;
    return;
  }
  for (std::size_t i = 0; i + 1 < many->items.size(); i += 2) {
    const node& k = doc.at(many->items[i]);
    if (k.what != node::kind::scalar || !read_catalog(doc, doc.at(many->items[i + 1]), out.catalogs[k.text])) {
      out.catalogs_readable = false;
    }
  }
}

}  // namespace

result<pnpm_file> parse_pnpm_yaml(std::string_view text, std::string_view file) {
  const std::string name(file);
  document doc;
  event_reader reader(text);
  if (const std::string error = reader.read(doc); !error.empty()) {
    return fail(errc::CONFIG, name + " does not parse: " + error);
  }
  pnpm_file out;
  if (doc.root == k_no_node || is_null(doc.at(doc.root))) return out;
  const node& root = doc.at(doc.root);
  if (root.what != node::kind::mapping) return fail(errc::CONFIG, name + " must be a mapping with a `packages` list");
  if (const node* packages = member(doc, root, "packages"); packages != nullptr && !is_null(*packages)) {
    const std::string shape = name + ": `packages` must be an array of strings";
    if (packages->what != node::kind::sequence) return fail(errc::CONFIG, shape);
    for (const std::uint32_t i : packages->items) {
      if (!is_text(doc.at(i))) return fail(errc::CONFIG, shape + "; quote the entry \"" + doc.at(i).text + "\"");
      out.packages.push_back(doc.at(i).text);
    }
  }
  read_catalogs(doc, root, out);
  return out;
}

}  // namespace vx::workspace
