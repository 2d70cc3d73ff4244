#include "run/recorded_names.hpp"

#include <algorithm>
#include <optional>

#include "base/fs.hpp"
#include "base/json.hpp"
#include "base/near_names.hpp"
#include "base/path.hpp"
#include "base/text.hpp"

namespace vx::run {
namespace {

constexpr std::size_t k_listed = 12;
constexpr std::size_t k_manifest_max = std::size_t{16} << 20;

std::string package_name(const std::string& dir) {
  const result<std::string> raw = fs::read_file_at(fs::k_cwd, path::join(dir, "package.json"), k_manifest_max);
  if (!raw) return {};
  const auto parsed = json::parse(*raw);
  const json::value* name = parsed ? parsed->get("name") : nullptr;
  return name != nullptr && name->is_string() ? name->as_string() : std::string();
}

std::string id_of(const recorded_task& t) { return t.first + "#" + t.second; }

tl::unexpected<failure> ambiguous(std::string message, const std::vector<std::string>& candidates) {
  json::array list;
  for (const std::string& c : candidates) list.emplace_back(c);
  json::object details;
  details.add("candidates", std::move(list));
  failure f{errc::AMBIGUOUS, 0, std::move(message), {}, json::write(json::value(std::move(details)))};
  return fail(std::move(f));
}

tl::unexpected<failure> never_ran(const std::vector<recorded_task>& all, const std::string& word) {
  std::vector<std::string> names;
  const bool pair = word.find('#') != std::string::npos;
  for (const recorded_task& t : all) names.push_back(pair ? id_of(t) : t.second);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string hint = text::did_you_mean_some(word, names);
  return fail(errc::NO_HISTORY,
              "no run of " + text::escape(word, true) + " is recorded" +
                  (hint.empty() ? "; recorded are " + text::escape(text::list_some(names, k_listed), true) : hint));
}

/// The recorded project a written name means.
std::optional<std::string> project_of(const std::vector<recorded_task>& all, const std::string& written,
                                      const std::vector<std::string>& around) {
  const std::string name = written == "//" && !around.empty() ? around.back() : written;
  std::optional<std::string> scoped;
  bool several = false;
  for (const recorded_task& t : all) {
    if (t.first == name) return name;
    const std::size_t slash = t.first.find('/');
    if (!t.first.starts_with('@') || slash == std::string::npos || std::string_view(t.first).substr(slash + 1) != name)
      continue;
    several = several || (scoped && *scoped != t.first);
    scoped = t.first;
  }
  return several ? std::nullopt : scoped;
}

}  // namespace

std::vector<std::string> names_around(const host& h) {
  std::vector<std::string> out;
  std::string at = path::is_within(h.cwd, h.root) ? h.cwd : h.root;
  for (;;) {
    std::string name = package_name(at);
    out.push_back(!name.empty()  ? std::move(name)
                  : at == h.root ? std::string("//")
                                 : std::string(path::relative_to(at, h.root)));
    if (at == h.root) return out;
    at = std::string(path::parent(at));
  }
}

result<recorded_task> find_recorded(const std::vector<recorded_task>& all, const std::string& word,
                                    const std::vector<std::string>& around) {
  if (all.empty()) return fail(errc::NO_HISTORY, "no run is recorded in this workspace: `vx run` records one");
  if (const std::size_t hash = word.find('#'); hash != std::string::npos) {
    const std::optional<std::string> project = project_of(all, word.substr(0, hash), around);
    const std::string task = word.substr(hash + 1);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const recorded_task& t) { return project && t.first == *project && t.second == task; });
    return found == all.end() ? result<recorded_task>(never_ran(all, word)) : result<recorded_task>(*found);
  }
  std::vector<recorded_task> fitting;
  for (const recorded_task& t : all)
    if (t.second == word) fitting.push_back(t);
  if (fitting.empty()) return never_ran(all, word);
  if (fitting.size() == 1) return fitting.front();
  for (const std::string& near : around)
    for (const recorded_task& t : fitting)
      if (t.first == near) return t;
  std::vector<std::string> candidates;
  for (const recorded_task& t : fitting) candidates.push_back(id_of(t));
  return ambiguous(
      text::escape(word, true) + " ran in several projects: " + text::escape(text::list_some(candidates, k_listed), true),
      candidates);
}

result<recorded_task> find_recorded(cache::history_reader& history, const std::string& word,
                                    const std::vector<std::string>& around) {
  constexpr std::size_t k_recent = 50, k_all = std::size_t{1} << 30;
  if (const std::size_t hash = word.find('#'); hash != std::string::npos) {
    recorded_task exact{word.substr(0, hash), word.substr(hash + 1)};
    if (history.has_run(exact.first, exact.second)) return exact;
  }
  result<recorded_task> found = find_recorded(history.recorded_tasks(k_recent), word, around);
  if (found || found.error().code != errc::NO_HISTORY) return found;
  return find_recorded(history.recorded_tasks(k_all), word, around);
}

result<run_id> find_run(cache::index& index, const std::string& prefix) {
  const std::vector<std::string> found = index.find_runs(prefix);
  if (found.empty())
    return fail(errc::NO_HISTORY, "no recorded run has the id " + text::escape(prefix, true) + ": see `vx last --list`");
  if (found.size() > 1)
    return ambiguous("the run id " + text::escape(prefix, true) + " fits several runs: " + text::list_some(found, k_listed),
                     found);
  run_id id{};
  if (!parse_run_id(found.front(), id))
    return fail(errc::CORRUPT, "the run id " + found.front() + " in the history is damaged");
  return id;
}

}  // namespace vx::run
