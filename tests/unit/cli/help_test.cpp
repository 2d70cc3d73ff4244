#include "cli/help.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/args.hpp"

using namespace vx::cli;

TEST_CASE("every verb and every flag of the table is in the help, is parsed and is a hint") {
  for (const verb_spec& verb : verbs()) {
    CHECK(general_help().find("vx " + std::string(verb.usage)) != std::string::npos);
    const std::string help = verb_help(verb);
    CHECK(help.find(std::string(verb.summary)) == 0);
    const std::vector<std::string> hints = flag_names(verb);
    for (const flag_spec& flag : verb.flags) {
      CHECK(help.find("  " + std::string(flag.name)) != std::string::npos);
      CHECK(std::find(hints.begin(), hints.end(), flag.name) != hints.end());
      std::vector<std::string> given;  // what the verb can't do without
      if (verb.name == "why") given = {"build"};
      if (verb.name == "cache") given = {"prune", "--max-size=1B"};
      given.emplace_back(flag.name);
      if (flag.arity == takes::value) {
        const bool number = flag.value == form::count || flag.value == form::milliseconds || flag.value == form::share;
        given.emplace_back(flag.words.empty() ? number ? "1" : "a=b" : std::string(flag.words.substr(0, flag.words.find('|'))));
      }
      CHECK(std::holds_alternative<command_line>(parse_verb(verb, given)));
    }
  }
}

TEST_CASE("a word that another runner uses as a verb has an answer") {
  for (const char* word : {"run-many", "affected", "graph", "ls", "query", "reset", "daemon", "login", "logout", "link",
                           "unlink", "docs", "stats", "history", "prune"}) {
    CHECK(!pointer_for(word).empty());
    CHECK(find_verb(word) == nullptr);
  }
  CHECK(pointer_for("build").empty());
}
