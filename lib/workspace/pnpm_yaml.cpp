#include "workspace/pnpm_yaml.hpp"

#include <cstdint>

#include "workspace/yaml_document.hpp"

namespace vx::workspace {

namespace {

using yaml::document;
using yaml::node;

const node* member(const document& doc, const node& map, std::string_view key) {
  const node* found = nullptr;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const node& k = doc.at(map.items[i]);
    if (k.what == node::kind::scalar && k.text == key) found = &doc.at(map.items[i + 1]);
  }
  return found;
}

bool is_null(const node& n) {
  return n.what == node::kind::scalar && n.plain &&
         (n.text.empty() || n.text == "~" || n.text == "null" || n.text == "Null" || n.text == "NULL");
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
  if (const std::string error = yaml::read(text, doc); !error.empty()) {
    return fail(errc::CONFIG, name + " does not parse: " + error);
  }
  pnpm_file out;
  if (doc.root == yaml::k_no_node || is_null(doc.at(doc.root))) return out;
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
