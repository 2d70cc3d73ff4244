#include "cli/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_read.hpp"
#include "cli/text.hpp"
#include "cli/verbs.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_listed = 12;

std::string listed(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), k_listed); ++i) shown.push_back(printable(names[i]));
  std::string out = join(shown, ", ");
  if (names.size() > k_listed) out += fmt::format(" and {} more", names.size() - k_listed);
  return out;
}

std::vector<std::string> all_tasks(const known_tasks& known) {
  std::vector<std::string> out;
  for (const known_project& project : known.projects) out.insert(out.end(), project.tasks.begin(), project.tasks.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The command that runs a task somebody typed as a verb.
std::string run_command_for(const std::string& task, const std::vector<std::string>& words, const known_tasks& known) {
  if (words.size() == 2 && known.has_project(words[1])) return fmt::format("vx run {} --filter {}", task, printable(words[1]));
  const auto here = std::find_if(known.projects.begin(), known.projects.end(),
                                 [&](const known_project& p) { return p.name == known.current; });
  const bool declared_here =
      here != known.projects.end() && std::find(here->tasks.begin(), here->tasks.end(), task) != here->tasks.end();
  return fmt::format("vx run {}{}", printable(task), declared_here ? "" : " --all");
}

}  // namespace

bool known_tasks::declares(std::string_view task) const {
  return std::any_of(projects.begin(), projects.end(), [&](const known_project& project) {
    return std::find(project.tasks.begin(), project.tasks.end(), task) != project.tasks.end();
  });
}

bool known_tasks::has_project(std::string_view name) const {
  return std::any_of(projects.begin(), projects.end(), [&](const known_project& project) { return project.name == name; });
}

std::optional<known_tasks> read_known_tasks(std::string_view json) {
  rapidjson::Document root;
  root.Parse(json.data(), json.size());
  if (root.HasParseError() || !root.IsObject()) return std::nullopt;
  known_tasks out;
  out.current = read_text(root, "current");
  const json_value* projects = read_member(root, "projects");
  if (projects == nullptr || !projects->IsArray()) return std::nullopt;
  for (const auto& project : projects->GetArray()) {
    known_project one{read_text(project, "name"), {}};
    if (const json_value* tasks = read_member(project, "tasks"); tasks != nullptr && tasks->IsArray()) {
      for (const auto& task : tasks->GetArray()) one.tasks.push_back(read_text(task, "name"));
    }
    out.projects.push_back(std::move(one));
  }
  return out;
}

std::string missing_name_text(const known_tasks& known) {
  for (const known_project& project : known.projects) {
    if (project.name == known.current && !project.tasks.empty()) {
      return fmt::format("missing task name; {} has {}", printable(project.name), listed(project.tasks));
    }
  }
  const std::vector<std::string> tasks = all_tasks(known);
  if (tasks.empty()) return "missing task name, and no project declares a task: add one to a vx.config file";
  return fmt::format("missing task name; there are {}", listed(tasks));
}

std::string unknown_verb_text(const std::vector<std::string>& words, const known_tasks& known) {
  const std::string& word = words.front();
  const std::string shown = printable(word);
  if (const std::size_t hash = word.find('#'); hash != std::string::npos && hash > 0) {
    return fmt::format("{} is a task, not a verb: type `vx run {}`", shown, shown);
  }
  if (known.declares(word))
    return fmt::format("{} is a task, not a verb: type `{}`", shown, run_command_for(word, words, known));
  // A verb wins over an equally near task.
  const std::string verb = closest(word, verb_names());
  const std::string task = closest(word, all_tasks(known));
  const bool prefer_task = !task.empty() && (verb.empty() || edit_distance(word, task, 3) < edit_distance(word, verb, 3));
  if (prefer_task) return fmt::format("unknown verb: {} (did you mean `{}`?)", shown, run_command_for(task, words, known));
  return fmt::format("unknown verb: {}{}", shown, verb.empty() ? "" : fmt::format(" (did you mean `vx {}`?)", verb));
}

}  // namespace vx::cli
