// A repository and fresh facts over it: what a run would see.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.hpp"
#include "cache/index.hpp"
#include "inputs/inputs.hpp"
#include "unit/git/git_fixture.hpp"

namespace vx::test {

using identities = std::map<std::string, std::string>;  // path -> identity, "" = absent

struct declaration {
  std::string project_dir;
  std::vector<std::string> files = {"**"};
  std::vector<std::string> workspace_files = {};
  std::vector<std::string> outputs = {};
  std::vector<std::string> workspace_outputs = {};
  std::vector<std::string> nested = {};
};

inline inputs::selector make_selector(const declaration& d) {
  inputs::selector s;
  s.project_dir = d.project_dir;
  s.files = *glob::matcher::compile(d.files);
  s.file_entries = d.files;
  s.has_workspace_files = !d.workspace_files.empty();
  s.workspace_files = *glob::matcher::compile(d.workspace_files);
  s.workspace_entries = d.workspace_files;
  s.own_outputs = *glob::matcher::compile(d.outputs);
  s.own_workspace_outputs = *glob::matcher::compile(d.workspace_outputs);
  if (!d.nested.empty()) s.nested = std::make_shared<const std::vector<std::string>>(d.nested);
  return s;
}

inline std::unique_ptr<inputs::facts> start_facts(const std::string& root, const environment& env,
                                                  cache::index* memo = nullptr) {
  inputs::start_request r;
  r.root = root;
  r.env = &env;
  r.memo = memo;
  auto f = inputs::facts::start(r);
  const status ready = f->wait();
  if (!ready) throw std::runtime_error("facts: " + ready.error().message);
  return f;
}

inline identities of(const result<inputs::selected>& got) {
  if (!got) return {{"error", got.error().message}};
  identities out;
  for (const key::input_item& i : got->items) out.emplace(i.path, i.identity);
  return out;
}

inline identities select(inputs::facts& f, const declaration& d) { return of(f.select(make_selector(d))); }

/// Counts reads of file contents through base while it lives. Only one at a time, and no threads of ours may be starting.
class read_counter {
 public:
  read_counter() {
    count() = 0;
    fs::set_fault_hook([](const char* op, const char*) {
      if (std::string_view(op) == "read") ++count();
      return 0;
    });
  }
  ~read_counter() { fs::set_fault_hook(nullptr); }
  int reads() const { return count(); }

 private:
  static std::atomic<int>& count() {
    static std::atomic<int> n{0};
    return n;
  }
};

struct inputs_fixture : git_fixture {
  using git_fixture::git_fixture;
  /// Commits everything once the files are old enough for their index entries to be believed.
  void commit(std::string_view more = "true") const { sh("sleep 0.07; git add -A && git commit -qm x; " + std::string(more)); }
  identities now(const declaration& d = {}, cache::index* memo = nullptr) const {
    auto f = start_facts(root(), env, memo);
    return select(*f, d);
  }
  /// By git's own hashing of the bytes on disk, filters off.
  std::string blob(const std::string& path) const {
    std::string id = sh("git hash-object --no-filters '" + path + "'");
    id.pop_back();
    return id;
  }
};

}  // namespace vx::test
