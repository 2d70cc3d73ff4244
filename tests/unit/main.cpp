// One doctest main for every unit executable. A test that needs a child process re-executes itself through tests/support.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "support/child.hpp"

int main(int argc, char** argv) {
  if (const auto code = vx::test::run_child_if_asked(argc, argv)) return *code;
  doctest::Context context(argc, argv);
  return context.run();
}
