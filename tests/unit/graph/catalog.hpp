// A catalog written in a few lines, as the workspace layer would fill it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "graph/task_graph.hpp"

namespace vx::test {

struct task_spec {
  std::string name;
  std::vector<std::string> deps;
  bool exec = true;
  std::optional<std::vector<std::string>> fold = std::nullopt;
};

inline task_spec group(std::string name, std::vector<std::string> deps) { return {std::move(name), std::move(deps), false}; }

class catalog_builder {
 public:
  /// `order`: package dependencies by name, which may come later. A project without "build" gets the implicit one when asked.
  catalog_builder& project(const std::string& name, std::vector<std::string> order, std::vector<task_spec> tasks,
                           bool implicit_build = false) {
    graph::catalog_project p;
    p.name = name;
    if (implicit_build) {
      graph::catalog_task b;
      b.name = "build";
      b.depends_on = {"^build"};
      b.keyed_group = b.implicit = b.cached = true;
      p.tasks.push_back(b);
    }
    for (task_spec& t : tasks) {
      graph::catalog_task out;
      out.name = t.name;
      out.depends_on = t.deps;
      out.inputs_tasks = t.fold;
      out.has_exec = t.exec;
      out.cached = t.exec;
      p.tasks.push_back(out);
    }
    std::sort(p.tasks.begin(), p.tasks.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    c_.by_name.emplace(name, static_cast<std::uint32_t>(c_.projects.size()));
    c_.projects.push_back(std::move(p));
    orders_.push_back(std::move(order));
    return *this;
  }
  catalog_builder& root(const std::string& name) {
    root_ = name;
    return *this;
  }
  graph::catalog done() {
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      for (const std::string& d : orders_[i]) c_.projects[i].order.push_back(c_.by_name.at(d));
      std::sort(c_.projects[i].order.begin(), c_.projects[i].order.end());
    }
    if (!root_.empty()) {
      c_.root = c_.by_name.at(root_);
      c_.projects[*c_.root].is_root = true;
    }
    return c_;
  }

 private:
  graph::catalog c_;
  std::vector<std::vector<std::string>> orders_;
  std::string root_;
};

inline std::vector<graph::request> asks(const graph::catalog& c, const std::vector<std::string>& ids) {
  std::vector<graph::request> out;
  for (const std::string& id : ids) {
    const std::size_t hash = id.find('#');
    out.push_back({c.by_name.at(id.substr(0, hash)), id.substr(hash + 1)});
  }
  return out;
}

}  // namespace vx::test
