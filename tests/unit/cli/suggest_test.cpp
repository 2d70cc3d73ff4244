#include "cli/suggest.hpp"

#include <doctest/doctest.h>

using namespace vx::cli;

namespace {
const known_tasks k_root{{{"cart", {"build", "test"}}, {"shop", {"build", "dev"}}}, ""};
const known_tasks k_cart{{{"cart", {"build", "test"}}, {"shop", {"build", "dev"}}}, "cart"};
}  // namespace

TEST_CASE("a verb that is nearly a task or a verb is answered with the command to type") {
  CHECK(unknown_verb_text({"biuld"}, k_cart) == "unknown verb: biuld (did you mean `vx run build`?)");
  CHECK(unknown_verb_text({"biuld"}, k_root) == "unknown verb: biuld (did you mean `vx run build --all`?)");
  CHECK(unknown_verb_text({"shwo"}, k_root) == "unknown verb: shwo (did you mean `vx show`?)");
  CHECK(unknown_verb_text({"zzzz"}, k_root) == "unknown verb: zzzz");
  CHECK(unknown_verb_text({"ru"}, {}) == "unknown verb: ru (did you mean `vx run`?)");
}

TEST_CASE("a task typed as a verb is answered with its command") {
  CHECK(unknown_verb_text({"build"}, k_root) == "build is a task, not a verb: type `vx run build --all`");
  CHECK(unknown_verb_text({"build"}, k_cart) == "build is a task, not a verb: type `vx run build`");
  CHECK(unknown_verb_text({"dev"}, k_cart) == "dev is a task, not a verb: type `vx run dev --all`");
  CHECK(unknown_verb_text({"build", "shop"}, k_cart) == "build is a task, not a verb: type `vx run build --filter shop`");
  CHECK(unknown_verb_text({"shop#build"}, k_root) == "shop#build is a task, not a verb: type `vx run shop#build`");
}

TEST_CASE("a missing name lists what is here, else what there is") {
  CHECK(missing_name_text(k_cart) == "missing task name; cart has build, test");
  CHECK(missing_name_text(k_root) == "missing task name; there are build, dev, test");
  CHECK(missing_name_text({}) == "missing task name, and no project declares a task: add one to a vx.config file");
  known_tasks many{{{"p", {}}}, "p"};
  for (int i = 10; i < 25; ++i) many.projects[0].tasks.push_back("t" + std::to_string(i));
  CHECK(missing_name_text(many).ends_with("t20, t21 and 3 more"));
}

TEST_CASE("the list of tasks is read from the query's answer") {
  const auto known = read_known_tasks(R"({"projects":[{"name":"a","tasks":[{"id":"a#b","name":"b"}]}],"current":"a"})");
  REQUIRE(known);
  CHECK(known->current == "a");
  CHECK(known->declares("b"));
  CHECK_FALSE(known->declares("a"));
  CHECK_FALSE(read_known_tasks("{}"));
}
