#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/answer.hpp"
#include "cli/answer_text.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::size_t k_roots_shown = 5;
constexpr std::size_t k_changes_shown = 50;

/// What to do about a component of each kind.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> k_advice{{
    {"format", "this version of vx makes keys in another way: everything runs once"},
    {"platform", "another system or processor; `cache.portable: true` shares results between them"},
    {"workspace", "a lockfile or package-manager file at the root changed: it is in every key"},
    {"package", "the project's package.json changed: it is in the key of all its tasks"},
    {"config",
     "the task's configuration changed, in its config or in a file that it imports; `vx show` prints it as it is now"},
    {"forward", "other arguments came after `--`: they are in the keys of the tasks they reach"},
    {"env", "a variable's value changed; if the result does not depend on it, take it out of `cache.inputs.env`"},
    {"runtime",
     "what a command of `cache.inputs.runtime` prints changed: a tool was updated, or the command prints something that "
     "varies"},
    {"ws-runtime",
     "what a command of `cache.inputs.workspaceRuntime` prints changed: a tool was updated, or it prints something that "
     "varies"},
    {"upstream", "a dependency's key changed: see the root cause; `cache.inputs.tasks` says which dependencies count"},
    {"host", "material that the embedding program adds to keys changed"},
    {"file", "an input file changed; if the task does not read it, narrow `cache.inputs.files`"},
}};

std::string id8(const json_value& entry, const char* side) {
  const std::string id = read_text(entry, side);
  // A mode stands before the blob id: "100755:<oid>".
  const std::size_t colon = id.find(':');
  if (colon != std::string::npos && colon + 9 < id.size()) return printable(id.substr(0, colon + 9));
  return printable(id.size() > 16 ? id.substr(0, 8) : id);
}

std::string moved_text(const json_value& entry) {
  const std::string before = id8(entry, "before"), after = id8(entry, "after");
  if (before.empty()) return after;
  if (after.empty()) return before;
  return before == after ? before + " → another" : fmt::format("{} → {}", before, after);
}

rapidjson::SizeType size_of(const json_value* list) { return list == nullptr || !list->IsArray() ? 0 : list->Size(); }

std::string outcome_words(const json_value& run) {
  const std::string status = read_text(run, "status");
  if (status == "cache-hit" || status == "cache-hit-remote")
    return fmt::format("{} · {}", status, read_flag(run, "restored") ? "restored" : "up-to-date");
  return status == "success" || status == "failed" ? status + " · executed" : status;
}

std::string run_line(const json_value& run, bool with_outcome) {
  const std::string hash = read_text(run, "hash");
  return fmt::format("{} · {} · key {}", iso_text(read_whole(run, "startedAt")),
                     with_outcome ? outcome_words(run) : read_text(run, "status"), hash.empty() ? "not recorded" : hash);
}

std::string changes(const json_value& diff) {
  const json_value* entries = read_member(diff, "entries");
  const auto n = size_of(entries);
  if (n == 0) return {};
  std::string out =
      fmt::format("\n  what changed ({}, {} unchanged):\n", count_text(n, "component"), read_whole(diff, "unchangedCount"));
  std::size_t change_width = 0, kind_width = 0, name_width = 0;
  const auto shown = std::min<std::size_t>(n, k_changes_shown);
  for (rapidjson::SizeType i = 0; i < shown; ++i) {
    change_width = std::max(change_width, read_text((*entries)[i], "change").size());
    kind_width = std::max(kind_width, read_text((*entries)[i], "kind").size());
    name_width = std::max(name_width, display_width(printable(read_text((*entries)[i], "name"))));
  }
  for (rapidjson::SizeType i = 0; i < shown; ++i) {
    const json_value& e = (*entries)[i];
    out += fmt::format("    {} {}  {}  {}\n", pad_right(read_text(e, "change"), change_width),
                       pad_right(read_text(e, "kind"), kind_width), pad_right(printable(read_text(e, "name")), name_width),
                       moved_text(e));
  }
  if (n > shown) out += fmt::format("    and {} more\n", n - shown);
  return out;
}

/// `a#x ← b#y ← file path and 2 more`
std::string chain_line(const json_value& root) {
  std::string out;
  for (const std::string& id : read_texts(root, "chain")) out += (out.empty() ? "" : " ← ") + printable(id);
  const json_value* entries = read_member(root, "entries");
  const auto n = size_of(entries);
  if (n == 0) return out + " (what its key was made of is not recorded)";
  out += fmt::format(" ← {} {}", read_text((*entries)[0], "kind"), printable(read_text((*entries)[0], "name")));
  return n == 1 ? out : out + fmt::format(" and {} more", n - 1);
}

std::string root_causes(const json_value& doc) {
  const json_value* roots = read_member(doc, "roots");
  const auto n = size_of(roots);
  if (n == 0) return {};
  std::string out = "\n  root cause:\n";
  for (rapidjson::SizeType i = 0; i < std::min<std::size_t>(n, k_roots_shown); ++i)
    out += fmt::format("    {}\n", chain_line((*roots)[i]));
  if (n > k_roots_shown) out += fmt::format("    and {} more\n", n - k_roots_shown);
  return out;
}

std::string advice(const json_value& diff) {
  const json_value* entries = read_member(diff, "entries");
  std::vector<std::string> kinds;
  for (rapidjson::SizeType i = 0; i < size_of(entries); ++i) {
    std::string kind = read_text((*entries)[i], "kind");
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(std::move(kind));
  }
  if (kinds.empty()) return {};
  std::size_t width = 0;
  for (const std::string& kind : kinds) width = std::max(width, kind.size());
  std::string out = "\n  what to do:\n";
  for (const std::string& kind : kinds) {
    for (const auto& [name, text] : k_advice) {
      if (name == kind) out += fmt::format("    {}  {}\n", pad_right(kind, width), text);
    }
  }
  return out;
}

std::string why_text(const json_value& doc, const palette& colours) {
  static const json_value none;
  const auto part = [&](const json_value& of, const char* name) -> const json_value& {
    const json_value* found = read_member(of, name);
    return found == nullptr ? none : *found;
  };
  const json_value& why = part(doc, "why");
  const json_value& diff = part(doc, "diff");
  const json_value& previous = part(why, "previousRun");
  std::string out = fmt::format("{} — run {}\n", colours.id(printable(read_text(doc, "taskId"))), read_text(doc, "runId"));
  out += fmt::format("  this run   {}\n", run_line(part(why, "thisRun"), true));
  out += fmt::format("  previous   {}\n", previous.IsObject() ? run_line(previous, false) : "none recorded");
  out += fmt::format("  verdict    {}\n", colours.bold(printable(read_text(why, "note"))));
  if (const std::string note = read_text(diff, "note"); !note.empty() && previous.IsObject())
    out += fmt::format("  compared   {}\n", printable(note));
  return out + changes(diff) + root_causes(doc) + advice(diff);
}

}  // namespace

std::optional<answer_view> read_why(std::string_view json, const palette& colours) {
  return read_answer(json, [&](const json_value&, const json_value& doc, answer_view&) { return why_text(doc, colours); });
}

}  // namespace vx::cli
