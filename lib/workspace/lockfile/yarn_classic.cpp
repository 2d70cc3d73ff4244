// yarn.lock of yarn 1: entries by pattern, in a format of its own. It knows no workspaces: what a project asks is in its
// package.json.
#include <set>

#include "base/text.hpp"
#include "workspace/lockfile/graph.hpp"

namespace vx::workspace::lockfile {

namespace {

struct word_list {
  std::vector<std::string> words;
  bool opens = false;  ///< ends in ':': a block follows
};

/// Words of one line, quoted (as JSON) or bare, with commas between patterns.
result<word_list> words_of(std::string_view line) {
  word_list out;
  while (!line.empty()) {
    if (line[0] == ' ' || line[0] == ',') {
      line.remove_prefix(1);
    } else if (line == ":") {
      out.opens = true;
      return out;
    } else if (line[0] == '"') {
      std::size_t end = 1;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (end >= line.size()) return fail(errc::CONFIG, "a quote is not closed");
      const auto value = json::parse(line.substr(0, end + 1));
      if (!value || !value->is_string()) return fail(errc::CONFIG, "a quoted text is broken");
      out.words.push_back(value->as_string());
      line.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(line.find_first_of(" ,"), line.size());
      std::string_view word = line.substr(0, end);
      line.remove_prefix(end);
      if (line.empty() && word.ends_with(':')) {
        word.remove_suffix(1);
        out.opens = true;
      }
      out.words.emplace_back(word);
    }
  }
  return out;
}

class reader {
 public:
  explicit reader(const std::vector<member>& members) : members_(members) {}

  result<graph> run(std::string_view text) {
    bool known = false;
    std::size_t number = 0;
    for (std::string_view line : text::split(text, '\n')) {
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      known = known || line == "# yarn lockfile v1";
      const std::string_view rest = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      if (rest.empty() || rest[0] == '#') continue;
      if (const status taken = take(line.size() - rest.size(), rest); !taken)
        return fail(errc::CONFIG, "line " + std::to_string(number) + ": " + taken.error().message);
    }
    if (!known) return fail(errc::UNSUPPORTED, "its version is not known");
    for (const auto& [at, name, range] : asked_) VX_TRY(edge(at, name, range, true));
    for (const member& m : members_) VX_TRY(importer(m));
    return std::move(g_);
  }

 private:
  status take(std::size_t indent, std::string_view line) {
    VX_TRY_LET(const word_list w, words_of(line));
    if (indent == 0) {
      if (!w.opens || w.words.empty()) return fail(errc::CONFIG, "an entry was expected");
      std::string id = "p:";
      for (const std::string& p : w.words) id += p + "\n";
      const std::uint32_t at = g_.add(id, id);
      for (const std::string& p : w.words) {
        if (!by_pattern_.emplace(p, at).second) return fail(errc::CONFIG, p + " comes twice");
        by_name_.emplace(p.substr(0, p.find('@', 1)), at);
      }
      block_.clear();
      return {};
    }
    if (g_.nodes.empty()) return fail(errc::CONFIG, "an entry was expected");
    g_.nodes.back().record += std::string(line) + "\n";
    if (indent == 2) {
      block_ = w.opens && w.words.size() == 1 ? w.words[0] : std::string();
      return w.opens || w.words.size() == 2 ? status{} : fail(errc::CONFIG, "a name and a value were expected");
    }
    if (indent != 4 || block_.empty() || w.words.size() != 2) return fail(errc::CONFIG, "it is not understood");
    if (block_ == "dependencies" || block_ == "optionalDependencies")
      asked_.push_back({static_cast<std::uint32_t>(g_.nodes.size() - 1), w.words[0], w.words[1]});
    return {};
  }

  status importer(const member& m) {
    std::string record;
    for (std::size_t kind = 0; kind < m.deps.size(); ++kind)
      for (const auto& [name, range] : m.deps[kind]) record += std::to_string(kind) + " " + name + "@" + range + "\n";
    const std::uint32_t at = importer_of(m);
    g_.nodes[at].record = std::move(record);
    for (const auto& kind : m.deps)
      for (const auto& [name, range] : kind) VX_TRY(edge(at, name, range, false));
    return {};
  }

  std::uint32_t importer_of(const member& m) {
    const auto [it, fresh] = g_.importers.try_emplace(m.dir, 0);
    if (fresh) it->second = g_.add("i:" + m.dir, {});
    return it->second;
  }

  status edge(std::uint32_t at, const std::string& name, const std::string& range, bool must) {
    if (const auto found = by_pattern_.find(name + "@" + range); found != by_pattern_.end()) {
      g_.nodes[at].needs.push_back(found->second);
      return {};
    }
    // A workspace project, or a pattern that `resolutions` lead elsewhere: to one of this name.
    bool any = false;
    for (const member& m : members_) {
      if (m.name != name) continue;
      g_.nodes[at].needs.push_back(importer_of(m));
      any = true;
    }
    const auto [from, to] = by_name_.equal_range(name);
    for (auto it = from; it != to; ++it, any = true) g_.nodes[at].needs.push_back(it->second);
    if (any || !must) return {};  // what a manifest asks and no install has resolved is in the record
    return not_held(g_.nodes[at], name + "@" + range);
  }

  struct request {
    std::uint32_t node;
    std::string name, range;
  };
  const std::vector<member>& members_;
  graph g_;
  std::string block_;
  std::unordered_map<std::string, std::uint32_t> by_pattern_;
  std::unordered_multimap<std::string, std::uint32_t> by_name_;
  std::vector<request> asked_;
};

}  // namespace

result<graph> read_yarn_classic(std::string_view text, const std::vector<member>& members) { return reader(members).run(text); }

}  // namespace vx::workspace::lockfile
