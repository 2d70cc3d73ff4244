#include "run/stability.hpp"

#include <algorithm>
#include <map>

#include "base/mutation.hpp"
#include "base/path.hpp"

namespace vx::run {
namespace {

// Above this many writers with undeclared reach, every transitive dependant counts as reached: the walk below is one per writer
// project, and a graph of tens of thousands of uncached tasks gains nothing from early keys anyway.
constexpr std::size_t k_max_walks = 512;

class judge {
 public:
  explicit judge(const prepared& p) : p_(p), n_(p.graph.edges.size()) {
    out_.stable.assign(n_, true);
    out_.tier_allowed.assign(n_, true);
    out_.shares_outputs.assign(n_, false);
    out_.adds_to.resize(n_);
    out_.added_by.resize(n_);
    out_.late_probes.assign(n_, false);
  }

  stability run() {
    undeclared_writers();
    root_writers();
    workspace_outputs();
    same_project_outputs();
    ignore_file_writers();
    unfolded_upstreams();
    probes_behind_uncached();
    propagate();
    return std::move(out_);
  }

 private:
  const workspace::task_config& config(std::uint32_t node) const { return *p_.tasks[node].config; }
  std::uint32_t project(std::uint32_t node) const { return p_.graph.nodes[node].project; }

  template <class Visit>
  void for_dependants(std::uint32_t seed, std::vector<std::uint32_t>& mark, std::uint32_t stamp, Visit visit) const {
    std::vector<std::uint32_t> stack{seed};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      for (const std::uint32_t up : p_.graph.edges.dependents(at)) {
        if (mark[up] == stamp) continue;
        mark[up] = stamp;
        visit(up);
        stack.push_back(up);
      }
    }
  }

  /// Clause 5: an uncached or persistent command may write anywhere in its project.
  void undeclared_writers() {
    if (mutated("no-write-reach")) return;
    std::map<std::uint32_t, std::vector<std::uint32_t>> writers;
    for (std::uint32_t i = 0; i < n_; ++i)
      if (config(i).has_exec && !config(i).has_cache && !p_.graph.edges.dependents(i).empty()) writers[project(i)].push_back(i);
    const bool coarse = writers.size() > k_max_walks;
    std::vector<std::uint32_t> mark(n_, 0);
    std::uint32_t stamp = 0;
    for (const auto& [owner, nodes] : writers) {
      ++stamp;
      for (const std::uint32_t w : nodes) {
        for_dependants(w, mark, coarse ? 1 : stamp, [&, owner = owner](std::uint32_t reader) {
          const bool same = project(reader) == owner;
          if (coarse || same || !config(reader).input_workspace_files.empty()) out_.stable[reader] = false;
        });
      }
    }
  }

  /// Clause 8: an unsandboxed command in the root project may rewrite a fingerprinted file.
  void root_writers() {
    std::vector<std::uint32_t> mark(n_, 0);
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (!config(i).has_exec || !p_.tasks[i].project->dir.empty()) continue;
      for_dependants(i, mark, 1, [&](std::uint32_t reader) { out_.stable[reader] = false; });
    }
  }

  bool reaches_task(const glob::pattern& written, std::uint32_t node) const {
    const std::string& dir = p_.tasks[node].project->dir;
    if (dir.empty() || written.prefix.empty()) return true;
    if (path::is_within(written.prefix, dir) || path::is_within(dir, written.prefix)) return true;
    if (p_.tasks[node].selector == nullptr || !p_.tasks[node].selector->has_workspace_files) return false;
    for (const glob::pattern& read : p_.tasks[node].selector->workspace_files.positives())
      if (glob::may_meet(read, written)) return true;
    return false;
  }

  /// Clauses 3 and 4, and the tier's exclusions: outputs that land outside their own project.
  void workspace_outputs() {
    if (mutated("no-clause-4")) return;
    std::vector<std::uint32_t> mark(n_, 0);
    std::vector<std::uint32_t> barred;
    std::uint32_t stamp = 0;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (config(i).output_workspace_files.empty() || p_.tasks[i].scope == nullptr) continue;
      for (const glob::pattern& written : p_.tasks[i].scope->workspace_match.positives()) {
        for_dependants(i, mark, ++stamp, [&](std::uint32_t reader) {
          if (reaches_task(written, reader)) out_.stable[reader] = false;
        });
        for (std::uint32_t k = 0; k < n_; ++k)
          if (k != i && !p_.is_group(k) && reaches_task(written, k)) barred.push_back(k);
      }
    }
    bar_with_dependants(barred);
    if (p_.ws().settings.upfront_keys) return;  // clause 3 is refused at graph build while the rule is on
    for (std::uint32_t i = 0; i < n_; ++i)
      if (!config(i).input_workspace_files.empty() && !p_.graph.edges.deps(i).empty()) out_.stable[i] = false;
  }

  void bar_with_dependants(const std::vector<std::uint32_t>& seeds) {
    std::vector<std::uint32_t> mark(n_, 0);
    for (const std::uint32_t s : seeds) {
      if (!out_.tier_allowed[s] && mark[s] == 1) continue;
      out_.tier_allowed[s] = false;
      for_dependants(s, mark, 1, [&](std::uint32_t up) { out_.tier_allowed[up] = false; });
    }
  }

  /// Clauses 1 and 2, only possible with a rule switched off.
  void same_project_outputs() {
    const workspace::workspace_config& rules = p_.ws().settings;
    if (rules.upfront_keys && rules.exclusive_outputs) return;
    std::map<std::uint32_t, std::vector<std::uint32_t>> writers;
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (p_.tasks[i].scope == nullptr || !p_.tasks[i].scope->declares_any()) continue;
      writers[project(i)].push_back(i);
      all.push_back(i);
    }
    for (const auto& [owner, nodes] : writers)
      for (std::uint32_t reader = 0; reader < n_; ++reader)
        for (const std::uint32_t w : nodes)
          if (w != reader && project(reader) == owner && p_.tasks[reader].selector != nullptr && !mutated("no-clause-1") &&
              meets_inputs(w, reader))
            out_.stable[reader] = false;
    shared_outputs(all);
  }

  /// With rules.exclusiveOutputs on, only what is merely possible gets here: what is proven was refused when the graph was
  /// built.
  void shared_outputs(const std::vector<std::uint32_t>& writers) {
    if (mutated("no-clause-2")) return;
    std::vector<std::uint32_t> barred;
    std::vector<std::vector<glob::pattern>> made(n_);
    for (const std::uint32_t w : writers) made[w] = at_root(w);
    for (std::size_t i = 0; i < writers.size(); ++i) {
      for (std::size_t k = i + 1; k < writers.size(); ++k) {
        const std::uint32_t a = writers[i], b = writers[k];
        const bool near =
            project(a) == project(b) || !config(a).output_workspace_files.empty() || !config(b).output_workspace_files.empty();
        if (!near || !meet(made[a], made[b])) continue;
        for (const std::uint32_t w : {a, b}) {
          out_.stable[w] = false;
          barred.push_back(w);
        }
        if (!p_.ws().settings.exclusive_outputs) share(a, b);
      }
    }
    bar_with_dependants(barred);
  }

  /// The one that depends on the other adds to its outputs; without an order neither can be told from the other.
  void share(std::uint32_t a, std::uint32_t b) {
    if (closure_of(b, false)[a]) std::swap(a, b);
    if (closure_of(a, false)[b]) {
      out_.adds_to[a].push_back(b);
      out_.added_by[b].push_back(a);
    } else {
      out_.shares_outputs[a] = out_.shares_outputs[b] = true;
    }
  }

  std::vector<glob::pattern> at_root(std::uint32_t node) const {
    const cache::output_scope& s = *p_.tasks[node].scope;
    std::vector<glob::pattern> out = s.workspace_match.positives();
    for (const glob::pattern& p : s.files_match.positives()) out.push_back(glob::rebase(s.project_dir, p));
    return out;
  }

  static bool meet(const std::vector<glob::pattern>& a, const std::vector<glob::pattern>& b) {
    for (const glob::pattern& x : a)
      for (const glob::pattern& y : b)
        if (glob::may_meet(x, y)) return true;
    return false;
  }

  bool meets_inputs(std::uint32_t writer, std::uint32_t reader) const {
    for (const glob::pattern& w : p_.tasks[writer].scope->files_match.positives())
      for (const glob::pattern& r : p_.tasks[reader].selector->files.positives())
        if (glob::may_meet(w, r)) return true;
    return false;
  }

  /// Clause 9: a written .gitignore or .gitattributes decides which files below it are read, and whether git may be believed.
  void ignore_file_writers() {
    const auto rules = glob::matcher::compile({"**/.gitignore", "**/.gitattributes"});
    if (!rules || mutated("no-clause-9")) return;
    std::vector<std::uint32_t> mark(n_, 0);
    std::uint32_t stamp = 0;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (p_.tasks[i].scope == nullptr) continue;
      for (const std::string& dir : governed_dirs(*p_.tasks[i].scope, *rules)) {
        for_dependants(i, mark, ++stamp, [&](std::uint32_t reader) {
          if (reads_below(dir, reader)) out_.stable[reader] = false;
        });
      }
    }
  }

  /// Root-relative directories below which a rule file of the outputs may decide. One inside an owned tree governs only that
  /// tree.
  static std::vector<std::string> governed_dirs(const cache::output_scope& scope, const glob::matcher& rules) {
    std::vector<std::string> out;
    for (const glob::matcher* m : {&scope.files_match, &scope.workspace_match}) {
      const std::string& base = m == &scope.files_match ? scope.project_dir : std::string();
      for (const glob::pattern& p : m->positives()) {
        if (p.text.ends_with("/**") && p.text.size() == p.prefix.size() + 3) continue;
        const std::string_view name = path::base_name(p.text);
        const bool tree = p.literal && name != ".gitignore" && name != ".gitattributes";
        if (tree || std::none_of(rules.positives().begin(), rules.positives().end(),
                                 [&](const glob::pattern& r) { return glob::may_meet(p, r); }))
          continue;
        out.push_back(path::join(base, p.literal ? path::parent(p.text) : std::string_view(p.prefix)));
      }
    }
    return out;
  }

  bool reads_below(const std::string& dir, std::uint32_t node) const {
    const std::string& own = p_.tasks[node].project->dir;
    if (dir.empty() || path::is_within(own, dir)) return true;
    const inputs::selector* s = p_.tasks[node].selector.get();
    if (s == nullptr) return path::is_within(dir, own);
    if (path::is_within(dir, own) && s->files.may_match_below(path::relative_to(dir, own))) return true;
    return s->has_workspace_files && s->workspace_files.may_match_below(dir);
  }

  /// Clauses 6 and 7: an upstream that the key does not fold may rewrite what this task or its probes read.
  void unfolded_upstreams() {
    if (mutated("no-clause-6") || mutated("no-clause-7")) return;
    std::vector<bool> filtered(n_, false);
    for (const std::uint32_t i : p_.graph.edges.topological_order()) {
      if (p_.graph.folded[i].size() != p_.graph.edges.deps(i).size()) filtered[i] = true;
      for (const std::uint32_t d : p_.graph.edges.deps(i))
        if (filtered[d]) filtered[i] = true;
    }
    std::size_t walks = 0;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (!filtered[i]) continue;
      if (++walks <= k_max_walks && !reached_by_unfolded(i)) continue;
      out_.stable[i] = false;
      out_.late_probes[i] = has_probes(i);
    }
  }

  bool has_probes(std::uint32_t node) const {
    return !config(node).input_runtime.empty() || !config(node).input_workspace_runtime.empty();
  }

  /// Clause 7 again: what an uncached command leaves behind follows from no key, folded or not.
  void probes_behind_uncached() {
    std::vector<bool> behind(n_, false);
    for (const std::uint32_t i : p_.graph.edges.topological_order()) {
      for (const std::uint32_t d : p_.graph.edges.deps(i))
        if (behind[d] || (config(d).has_exec && !config(d).has_cache)) behind[i] = true;
      if (!behind[i] || !has_probes(i)) continue;
      out_.stable[i] = false;
      out_.late_probes[i] = true;
    }
  }

  std::vector<bool> closure_of(std::uint32_t node, bool folded_only) const {
    std::vector<bool> seen(n_, false);
    std::vector<std::uint32_t> stack{node};
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      const auto visit = [&](std::uint32_t d) {
        if (seen[d]) return;
        seen[d] = true;
        stack.push_back(d);
      };
      if (folded_only)
        for (const std::uint32_t d : p_.graph.folded[at]) visit(d);
      else
        for (const std::uint32_t d : p_.graph.edges.deps(at)) visit(d);
    }
    return seen;
  }

  bool reached_by_unfolded(std::uint32_t node) const {
    const workspace::task_config& c = config(node);
    const std::vector<bool> all = closure_of(node, false), folded = closure_of(node, true);
    for (std::uint32_t u = 0; u < n_; ++u) {
      if (!all[u] || folded[u] || !config(u).has_exec) continue;
      if (has_probes(node) || project(u) == project(node) || !c.input_workspace_files.empty() ||
          !config(u).input_workspace_files.empty())
        return true;
    }
    return false;
  }

  /// Clause 10: a key that folds an unstable key is unstable.
  void propagate() {
    for (const std::uint32_t i : p_.graph.edges.topological_order()) {
      if (p_.is_group(i) && !config(i).has_cache) {
        for (const std::uint32_t d : p_.graph.edges.deps(i))
          if (!out_.stable[d]) out_.stable[i] = false;
        continue;
      }
      for (const std::uint32_t d : p_.graph.folded[i])
        if (!out_.stable[d]) out_.stable[i] = false;
    }
  }

  const prepared& p_;
  std::uint32_t n_;
  stability out_;
};

}  // namespace

stability judge_stability(const prepared& p) { return judge(p).run(); }

}  // namespace vx::run
