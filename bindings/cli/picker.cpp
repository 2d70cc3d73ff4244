#include "cli/picker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "cli/json_read.hpp"
#include "cli/text.hpp"

namespace vx::cli {
std::vector<choice> read_choices(std::string_view json) {
  std::vector<choice> here, others;
  rapidjson::Document root;
  root.Parse(json.data(), json.size());
  if (root.HasParseError()) return here;
  const json_value* projects = read_member(root, "projects");
  if (projects == nullptr || !projects->IsArray()) return here;
  const std::string current = read_text(root, "current");
  for (const auto& project : projects->GetArray()) {
    const json_value* tasks = read_member(project, "tasks");
    if (tasks == nullptr || !tasks->IsArray()) continue;
    std::vector<choice>& to = !current.empty() && read_text(project, "name") == current ? here : others;
    for (const auto& task : tasks->GetArray()) to.push_back({read_text(task, "id"), read_text(task, "description")});
  }
  std::move(others.begin(), others.end(), std::back_inserter(here));
  return here;
}

std::string menu_text(const std::vector<choice>& choices) {
  const std::size_t digits = std::to_string(choices.size()).size();
  std::size_t widest = 0;
  for (const choice& c : choices) widest = std::max(widest, display_width(printable(c.id)));
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::string id = printable(choices[i].id);
    out += fmt::format("{}  {}\n", pad_left(std::to_string(i + 1), digits + 2),
                       choices[i].description.empty() ? id : pad_right(id, widest) + "  " + printable(choices[i].description));
  }
  return out;
}

std::optional<std::size_t> chosen(std::string_view line, std::size_t count) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return std::nullopt;
  line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size() || number == 0 || number > count) return std::nullopt;
  return number - 1;
}

}  // namespace vx::cli
