#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

std::string flag_head(const flag_spec& flag) {
  std::string head(flag.name);
  if (!flag.alias.empty()) head += ", " + std::string(flag.alias);
  if (flag.arity == takes::value) head += fmt::format(" {}", flag.placeholder);
  if (flag.arity == takes::optional) head += fmt::format("[={}]", flag.placeholder);
  return head;
}

}  // namespace

std::string general_help() {
  std::string out =
      "vx runs the tasks of a monorepo in order and never does the same work twice.\n\n"
      "Usage\n";
  for (const verb_spec& verb : verbs()) out += fmt::format("  vx {}\n", verb.usage);
  out += "\nVerbs\n";
  for (const verb_spec& verb : verbs()) out += fmt::format("  {} {}\n", pad_right(verb.name, 10), verb.summary);
  out +=
      "\nExamples\n"
      "  vx run build               the project you are in, and what it depends on\n"
      "  vx run build test --all    every project\n"
      "  vx run test --filter shop  one project\n"
      "  vx run build --all --dry   what would run, and why not\n"
      "\nA verb's flags: vx VERB --help\n";
  return out;
}

std::string verb_help(const verb_spec& verb) {
  std::string out = fmt::format("{}\n\nUsage\n  vx {}\n", verb.summary, verb.usage);
  std::size_t width = 0;
  for (const flag_spec& flag : verb.flags) width = std::max(width, flag_head(flag).size());
  if (!verb.flags.empty()) {
    out += "\nOptions\n";
    for (const flag_spec& flag : verb.flags) out += fmt::format("  {}  {}\n", pad_right(flag_head(flag), width), flag.help);
    out += fmt::format("  {}  {}\n", pad_right("--help, -h", width), "this text");
  }
  if (!verb.details.empty()) out += fmt::format("\n{}", verb.details);
  return out;
}

}  // namespace vx::cli
