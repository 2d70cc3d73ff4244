// Opens temporary workspaces for the tests of discovery, loading and selection.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"
#include "workspace/selection.hpp"
#include "workspace/workspace.hpp"

namespace vx::test {

/// Keeps blobs; evaluations are not remembered.
class blob_memo : public workspace::eval_memo {
 public:
  std::vector<row> load(const std::vector<std::string>&) override { return {}; }
  void store(std::vector<row>) override {}
  std::optional<std::string> blob(std::string_view name) override {
    ++reads[std::string(name)];
    const auto it = blobs.find(std::string(name));
    return it == blobs.end() ? std::nullopt : std::optional<std::string>(it->second);
  }
  void store_blob(std::string name, std::string value) override {
    ++writes[name];
    blobs[std::move(name)] = std::move(value);
  }
  std::map<std::string, std::string> blobs;
  std::map<std::string, int> reads, writes;
};

inline const environment& test_env() {
  static const environment env = environment::of_process();
  return env;
}

inline result<std::unique_ptr<workspace::loader>> open_at(const std::string& root, workspace::eval_memo* memo = nullptr) {
  workspace::open_request request;
  request.cwd = root;
  request.env = &test_env();
  request.memo = memo;
  return workspace::loader::open(root, request);
}

inline std::vector<std::string> names_of(const workspace::workspace& ws, const std::vector<std::uint32_t>& ids) {
  std::vector<std::string> out;
  for (const std::uint32_t i : ids) out.push_back(ws.projects[i].name);
  return out;
}

inline std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : " ") + s;
  return out;
}

/// "name@dir name@dir ...", or "!CODE message" when opening fails.
inline std::string projects_of(const temp_dir& d) {
  const auto l = open_at(d.path());
  if (!l) return "!" + std::string(status_name(l.error().code)) + " " + l.error().message;
  std::vector<std::string> out;
  for (const workspace::project& p : (*l)->ws().projects) out.push_back(p.name + "@" + p.dir);
  return joined(out);
}

inline std::string notices_of(const temp_dir& d) {
  const auto l = open_at(d.path());
  if (!l) return "!" + l.error().message;
  std::string out;
  for (const std::string& n : (*l)->ws().notices) out += n + "\n";
  return out;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A JSON config whose tasks depend on what is given: task_config("build", {"^build"}).
inline std::string task_json(const std::string& name, const std::vector<std::string>& deps = {}, const std::string& more = "") {
  std::string list;
  for (const std::string& d : deps) list += (list.empty() ? "\"" : ", \"") + d + "\"";
  return "\"" + name + "\": {\"exec\": {\"command\": \"true\"}, \"dependsOn\": [" + list + "]" + more + "}";
}
inline std::string config_json(const std::vector<std::string>& tasks, const std::string& head = "") {
  std::string list;
  for (const std::string& t : tasks) list += (list.empty() ? "" : ", ") + t;
  return "{" + head + "\"tasks\": {" + list + "}}";
}

/// A pnpm workspace of `packages/*` with package edges and configs.
class small_workspace : public temp_dir {
 public:
  small_workspace() { write("pnpm-workspace.yaml", "packages:\n  - packages/*\n"); }
  void package(const std::string& name, const std::vector<std::string>& deps = {}, const std::string& config = "",
               const std::string& field = "dependencies") const {
    const std::string dir = "packages/" + name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
    std::string list;
    for (const std::string& d : deps) list += (list.empty() ? "\"" : ", \"") + d + "\": \"workspace:*\"";
    write(dir + "/package.json", "{\"name\": \"" + name + "\", \"" + field + "\": {" + list + "}}");
    if (!config.empty()) write(dir + "/vx.config.json", config);
  }
};

}  // namespace vx::test
