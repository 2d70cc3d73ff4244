#include "workspace/overlap.hpp"

#include <deque>
#include <unordered_map>

#include "base/json.hpp"
#include "base/path.hpp"
#include "glob/glob.hpp"
#include "workspace/head_index.hpp"

namespace vx::workspace {
namespace {

/// One list of globs, compiled once however many tasks write it.
struct compiled_list {
  std::vector<glob::pattern> positives, negatives;
};

/// Outputs of one task, or inputs of tasks that declare the same list in one space.
struct claim {
  std::uint32_t project = 0;
  bool workspace = false;  ///< root-relative globs
  const compiled_list* globs = nullptr;
  std::vector<std::uint32_t> nodes;
};

using pattern_list = std::vector<glob::pattern>;

class overlap_check {
 public:
  overlap_check(const workspace& ws, const graph::task_graph& g)
      : ws_(ws), g_(g), local_outs_(ws.projects.size()), local_ins_(ws.projects.size()) {
    for (std::uint32_t i = 0; i < ws.projects.size(); ++i) by_dir_.emplace(ws.projects[i].dir, i);
    for (std::uint32_t n = 0; n < g.nodes.size(); ++n) collect(n);
  }

  status run() {
    VX_TRY(exclusive());
    if (ws_.settings.upfront_keys) VX_TRY(upfront());
    return {};
  }

 private:
  // --- collecting
  // ---------------------------------------------------------------------------------------------------------------
  const task_config* task_of(std::uint32_t node) const {
    const graph::task_node& n = g_.nodes[node];
    const auto& config = ws_.projects[n.project].config;
    if (config == nullptr) return nullptr;  // only the implicit build, which owns nothing and is exempt as a reader
    const std::string_view name = std::string_view(n.id).substr(ws_.projects[n.project].name.size() + 1);
    const auto it = std::lower_bound(config->tasks.begin(), config->tasks.end(), name,
                                     [](const task_config& t, std::string_view s) { return t.name < s; });
    return it != config->tasks.end() && it->name == name ? &*it : nullptr;
  }

  const compiled_list* compile(const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& s : list) {
      text += s;
      text += '\0';
    }
    if (const auto it = compiled_.find(text); it != compiled_.end()) return it->second;
    const compiled_list* made = nullptr;
    if (auto m = glob::matcher::compile(list)) {
      lists_.push_back({m->positives(), m->negatives()});
      made = &lists_.back();
    }
    compiled_.emplace(std::move(text), made);
    return made;
  }

  std::uint32_t add(std::uint32_t node, bool in_workspace, const compiled_list* globs) {
    claims_.push_back({g_.nodes[node].project, in_workspace, globs, {node}});
    return static_cast<std::uint32_t>(claims_.size() - 1);
  }

  void collect(std::uint32_t node) {
    const task_config* t = task_of(node);
    if (t == nullptr || !t->cacheable()) return;
    const std::uint32_t project = g_.nodes[node].project;
    const auto take = [&](const std::vector<std::string>& list, bool in_workspace, auto&& put) {
      if (list.empty()) return;
      if (const compiled_list* globs = compile(list)) put(in_workspace, globs);
    };
    const auto output = [&](bool in_workspace, const compiled_list* globs) {
      (in_workspace ? shared_outs_ : local_outs_[project]).push_back(add(node, in_workspace, globs));
    };
    const auto input = [&](bool in_workspace, const compiled_list* globs) {
      // Readers with one list are one claim: what one of them meets, all do.
      auto& list = in_workspace ? shared_ins_ : local_ins_[project];
      auto [it, fresh] = readers_.try_emplace({in_workspace ? k_nowhere : project, globs}, 0);
      if (!fresh) {
        claims_[it->second].nodes.push_back(node);
        return;
      }
      it->second = add(node, in_workspace, globs);
      list.push_back(it->second);
    };
    take(t->output_files, false, output);
    take(t->output_workspace_files, true, output);
    if (!ws_.settings.upfront_keys) return;
    take(t->input_files, false, input);
    take(t->input_workspace_files, true, input);
  }

  // --- spaces
  // -------------------------------------------------------------------------------------------------------------------
  const std::string& dir_of(const claim& c) const { return ws_.projects[c.project].dir; }
  glob::pattern at_root(const claim& c, const glob::pattern& p) const { return c.workspace ? p : glob::rebase(dir_of(c), p); }

  /// Some entry of `by` takes all of `p` back. Both claims in one project's space, or both seen from the root.
  bool takes_back(const claim& by, const glob::pattern& p, bool rooted) const {
    return std::any_of(by.globs->negatives.begin(), by.globs->negatives.end(),
                       [&](const glob::pattern& n) { return glob::covers(rooted ? at_root(by, n) : n, p); });
  }

  /// The deepest project that holds a root-relative path.
  std::uint32_t owner_of(std::string_view at) const {
    while (true) {
      if (const auto it = by_dir_.find(at); it != by_dir_.end()) return it->second;
      if (at.empty()) return k_nowhere;
      at = path::parent(at);
    }
  }

  /// Can a root-relative pattern reach what `project` owns? False when its head lies outside, or in a project nested below.
  bool lands_in(const glob::pattern& p, std::uint32_t project) const {
    const std::string& dir = ws_.projects[project].dir;
    if (path::is_within(dir, p.prefix)) return true;
    return path::is_within(p.prefix, dir) && owner_of(p.prefix) == project;
  }

  /// Projects that a root-relative pattern may reach: those below its head, and the one that holds its head.
  template <class F>
  bool each_project_near(const glob::pattern& p, F&& body) {
    if (dirs_.empty()) {
      for (std::uint32_t i = 0; i < ws_.projects.size(); ++i) dirs_.emplace_back(ws_.projects[i].dir + "/", i);
      std::sort(dirs_.begin(), dirs_.end());
    }
    const std::uint32_t holder = p.prefix.empty() ? k_nowhere : owner_of(p.prefix);
    if (holder != k_nowhere && ws_.projects[holder].dir != p.prefix && !body(holder)) return false;
    const std::string below = p.prefix.empty() ? std::string() : p.prefix + "/";
    auto it = std::lower_bound(dirs_.begin(), dirs_.end(), std::pair<std::string, std::uint32_t>(below, 0));
    for (; it != dirs_.end() && it->first.starts_with(below); ++it) {
      if (!body(it->second)) return false;
    }
    return true;
  }

  std::vector<indexed_pattern> items(std::initializer_list<const std::vector<std::uint32_t>*> lists) const {
    std::vector<indexed_pattern> out;
    for (const auto* list : lists) {
      for (const std::uint32_t c : *list) {
        for (const glob::pattern& p : claims_[c].globs->positives) out.push_back({&p, c});
      }
    }
    return out;
  }

  // --- one path, one task
  // -------------------------------------------------------------------------------------------------------
  status exclusive() {
    status out;
    const auto same_space = [&](const indexed_pattern& a, const indexed_pattern& b) {
      out = owners(claims_[a.owner], *a.p, *a.p, claims_[b.owner], *b.p, *b.p, false);
      return out.has_value();
    };
    for (const auto& list : local_outs_) {
      if (list.size() > 1 && !join_patterns(items({&list}), same_space)) return out;
    }
    if (shared_outs_.size() > 1 && !join_patterns(items({&shared_outs_}), same_space)) return out;
    for (const std::uint32_t c : shared_outs_) {
      for (const glob::pattern& p : claims_[c].globs->positives) {
        const bool fine = each_project_near(p, [&](std::uint32_t project) {
          for (const std::uint32_t other : local_outs_[project]) {
            for (const glob::pattern& q : claims_[other].globs->positives) {
              if (!lands_in(p, project)) continue;
              out = owners(claims_[c], p, p, claims_[other], q, at_root(claims_[other], q), true);
              if (!out) return false;
            }
          }
          return true;
        });
        if (!fine) return out;
      }
    }
    return out;
  }

  /// `pa` and `pb` are the patterns in a common space, `a_text` and `b_text` as declared.
  status owners(const claim& a, const glob::pattern& a_text, const glob::pattern& pa, const claim& b,
                const glob::pattern& b_text, const glob::pattern& pb, bool rooted) {
    const std::uint32_t x = a.nodes.front();
    const std::uint32_t y = b.nodes.front();
    if (x == y || !glob::provably_overlap(pa, pb) || takes_back(a, pb, rooted) || takes_back(b, pa, rooted)) return {};
    const bool ordered = reaches(x, y) || reaches(y, x);
    if (ordered && !ws_.settings.exclusive_outputs && additive_is_possible(a, pa, b, pb, x, y)) return {};
    std::string message = "outputs \"" + a_text.text + "\" of " + g_.nodes[x].id + " and \"" + b_text.text + "\" of " +
                          g_.nodes[y].id +
                          " hold the same path, so each task would delete files of the other: give each a directory of its own";
    if (ordered && ws_.settings.exclusive_outputs)
      message += ", or set rules.exclusiveOutputs to false in the workspace config";
    return refuse(std::move(message), x, y);
  }

  /// With the rule off a dependant adds to its dependency's outputs; a root-relative glob must then start inside the
  /// dependency's project.
  bool additive_is_possible(const claim& a, const glob::pattern& pa, const claim& b, const glob::pattern& pb, std::uint32_t x,
                            std::uint32_t y) {
    const claim& dependency = reaches(x, y) ? b : a;
    const auto inside = [&](const claim& c, const glob::pattern& p) {
      return !c.workspace || path::is_within(p.prefix, dir_of(dependency));
    };
    return inside(a, pa) && inside(b, pb);
  }

  bool reaches(std::uint32_t from, std::uint32_t to) {
    auto it = closures_.find(from);
    if (it == closures_.end()) it = closures_.emplace(from, g_.edges.closure({&from, 1})).first;
    return it->second[to];
  }

  // --- keys known before the run
  // ------------------------------------------------------------------------------------------------
  status upfront() {
    status out;
    const auto same_space = [&](const indexed_pattern& a, const indexed_pattern& b) {
      const bool first_reads = is_reader(a.owner);
      if (first_reads == is_reader(b.owner)) return true;
      const indexed_pattern& in = first_reads ? a : b;
      const indexed_pattern& made = first_reads ? b : a;
      out = keyed(claims_[in.owner], *in.p, *in.p, claims_[made.owner], *made.p, *made.p, false);
      return out.has_value();
    };
    mark_readers();
    for (std::size_t p = 0; p < local_outs_.size(); ++p) {
      if (local_outs_[p].empty() || local_ins_[p].empty()) continue;
      if (local_outs_[p].size() == 1 && only_own(local_outs_[p].front(), local_ins_[p])) continue;
      if (!join_patterns(items({&local_ins_[p], &local_outs_[p]}), same_space)) return out;
    }
    if (!shared_ins_.empty() && !shared_outs_.empty() && !join_patterns(items({&shared_ins_, &shared_outs_}), same_space))
      return out;
    VX_TRY(across(shared_ins_, local_outs_, true));
    return across(shared_outs_, local_ins_, false);
  }

  /// Root-relative claims against the project-relative ones they may reach; `shared_reads` says which side reads.
  status across(const std::vector<std::uint32_t>& shared, const std::vector<std::vector<std::uint32_t>>& local,
                bool shared_reads) {
    status out;
    for (const std::uint32_t c : shared) {
      for (const glob::pattern& p : claims_[c].globs->positives) {
        const bool fine = each_project_near(p, [&](std::uint32_t project) {
          if (local[project].empty() || !lands_in(p, project)) return true;
          for (const std::uint32_t other : local[project]) {
            for (const glob::pattern& q : claims_[other].globs->positives) {
              const glob::pattern seen = at_root(claims_[other], q);
              out = shared_reads ? keyed(claims_[c], p, p, claims_[other], q, seen, true)
                                 : keyed(claims_[other], q, seen, claims_[c], p, p, true);
              if (!out) return false;
            }
          }
          return true;
        });
        if (!fine) return out;
      }
    }
    return out;
  }

  /// The usual project: one task with outputs, and nobody but itself could read them.
  bool only_own(std::uint32_t writer, const std::vector<std::uint32_t>& readers) const {
    return readers.size() == 1 && claims_[readers.front()].nodes == claims_[writer].nodes;
  }

  void mark_readers() {
    reader_.assign(claims_.size(), false);
    for (const auto& list : local_ins_) {
      for (const std::uint32_t c : list) reader_[c] = true;
    }
    for (const std::uint32_t c : shared_ins_) reader_[c] = true;
  }
  bool is_reader(std::uint32_t c) const { return reader_[c]; }

  status keyed(const claim& reader, const glob::pattern& in_text, const glob::pattern& in, const claim& writer,
               const glob::pattern& out_text, const glob::pattern& made, bool rooted) {
    const std::uint32_t w = writer.nodes.front();
    const auto other = std::find_if(reader.nodes.begin(), reader.nodes.end(), [&](std::uint32_t n) { return n != w; });
    if (other == reader.nodes.end()) return {};  // its own outputs are subtracted from its inputs
    if (!glob::may_meet(in, made) || takes_back(reader, made, rooted) || takes_back(writer, in, rooted) || never_input(made))
      return {};
    const bool local = !reader.workspace && !writer.workspace;
    std::string back = "!" + (local ? out_text.text : made.text);
    std::string where = reader.workspace ? "workspaceFiles" : "files";
    if (!reader.workspace && writer.workspace)
      back = "!" + std::string(path::is_within(made.prefix, dir_of(reader)) && !made.prefix.empty()
                                   ? path::relative_to(made.text, dir_of(reader))
                                   : "**");
    return refuse("input \"" + in_text.text + "\" of " + g_.nodes[*other].id + " can match output \"" + out_text.text +
                      "\" of " + g_.nodes[w].id + ", so its key would depend on whether that task ran first: add \"" + back +
                      "\" to cache.inputs." + where + ", or set rules.upfrontKeys to false in the workspace config",
                  *other, w);
  }

  /// Outputs that no candidate set ever holds (config.md 12).
  static bool never_input(const glob::pattern& made) {
    return made.text.ends_with(".tsbuildinfo") || made.text.ends_with(".bun-build") ||
           path::base_name(made.text) == "vx-lock.json";
  }

  status refuse(std::string message, std::uint32_t a, std::uint32_t b) const {
    failure f{errc::CONFIG, 0, std::move(message), {}, {}};
    json::object o;
    o.add("tasks", json::array{json::value(g_.nodes[a].id), json::value(g_.nodes[b].id)});
    f.details = json::write(json::value(std::move(o)));
    return fail(std::move(f));
  }

  struct reader_key {
    std::uint32_t project;
    const compiled_list* globs;
    bool operator==(const reader_key&) const = default;
  };
  struct reader_hash {
    std::size_t operator()(const reader_key& k) const noexcept { return std::hash<const void*>{}(k.globs) * 31 + k.project; }
  };
  static constexpr std::uint32_t k_nowhere = UINT32_MAX;

  const workspace& ws_;
  const graph::task_graph& g_;
  std::deque<compiled_list> lists_;
  std::unordered_map<std::string, const compiled_list*> compiled_;
  std::unordered_map<std::string_view, std::uint32_t> by_dir_;
  std::vector<std::pair<std::string, std::uint32_t>> dirs_;  ///< "<dir>/" and project, sorted
  std::vector<claim> claims_;
  std::vector<std::vector<std::uint32_t>> local_outs_, local_ins_;  ///< claims by project
  std::vector<std::uint32_t> shared_outs_, shared_ins_;
  std::unordered_map<reader_key, std::uint32_t, reader_hash> readers_;
  std::vector<bool> reader_;
  std::unordered_map<std::uint32_t, std::vector<bool>> closures_;
};

}  // namespace

status check_overlaps(const workspace& ws, const graph::task_graph& g, const graph::catalog&) {
  return overlap_check(ws, g).run();
}

}  // namespace vx::workspace
