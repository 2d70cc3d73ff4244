#include <doctest/doctest.h>

#include "exec/process.hpp"
#include "support/temp_dir.hpp"

using vx::exec::append_arguments;
using vx::exec::prepare_command;

TEST_CASE("a plain command replaces the shell") {
  struct row {
    const char* command;
    const char* prepared;
  };
  for (const row& r : {
           row{"tsc -b", "exec tsc -b"},
           row{"  tsc -b  ", "  exec tsc -b  "},
           row{"./scripts/run.sh a b", "exec ./scripts/run.sh a b"},
           row{"node -e 'a; b && c > d | e'", "exec node -e 'a; b && c > d | e'"},
           row{"node -e \"a; (b) $HOME `x`\"", "exec node -e \"a; (b) $HOME `x`\""},
           row{"node \"$(cat 'a;b' | \"wc\" -l)\" x", "exec node \"$(cat 'a;b' | \"wc\" -l)\" x"},
           row{"'my tool' --x", "exec 'my tool' --x"},
           row{"my\\ tool --x", "exec my\\ tool --x"},
           row{"tool a\\;b", "exec tool a\\;b"},
           row{"tool *.ts ${X:-d} $Y", "exec tool *.ts ${X:-d} $Y"},
           row{"tool a=b", "exec tool a=b"},
           row{"tool a#b", "exec tool a#b"},
           row{"tool x # note", "exec tool x # note"},
           row{"# first\ntool x", "# first\nexec tool x"},
           row{"tool x\n\n", "exec tool x\n\n"},
           row{"\n tool x", "\n exec tool x"},
           row{"1=2", "exec 1=2"},  // no valid name: a command word
           row{"'A'=b", "exec 'A'=b"},
       }) {
    CAPTURE(r.command);
    CHECK(prepare_command(r.command) == r.prepared);
  }
}

TEST_CASE("the shell is kept where exec would change the meaning") {
  for (const char* command : {
           "",
           "   ",
           "# only a note",
           "cd dist",
           "echo hi",
           "true",
           ": x",
           ". ./env",
           "test -f x",
           "[ -f x ]",
           "[[ -f x ]]",
           "exec tool",
           "time tool",
           "! tool",
           "{ tool; }",
           "if tool; then x; fi",
           "while tool",
           "A=1 tool",
           "A+=1 tool",
           "PATH=$PATH:x tool",
           "A='x y' tool",
           "a; b",
           "a & b",
           "a && b",
           "a || b",
           "a | b",
           "(a)",
           "a > out",
           "a < in",
           "a 2>&1",
           "a\nb",
           "a \\\n  b",
           "$TOOL x",
           "\"$TOOL\" x",
           "~/bin/x y",
           "to*l x",
           "`which x` y",
           "$(which x) y",
           "'open",
           "\"open",
           "tool \"$(open",
           "'cd' x",
           "\\cd x",
           "-x y",
           "eval tool",
           "source x",
           "command x",
           "kill 1",
           "printf x",
           "set -e",
           "trap x INT",
           "wait",
           "exit 3",
           "function x",
           "a;",
           "a &",
           "tool $(a)",
           "tool <(a)",
           "'' x",
       }) {
    CAPTURE(command);
    CHECK(prepare_command(command) == command);
  }
}

TEST_CASE("forwarded arguments go where the command line ends") {
  using args = std::vector<std::string>;
  struct row {
    const char* command;
    args forwarded;
    const char* expected;
  };
  for (const row& r : {
           row{"tool", {}, "tool"},
           row{"tool", {"--watch", "a b"}, "tool --watch 'a b'"},
           row{"tool", {"it's", ""}, "tool 'it'\\''s' ''"},
           row{"tool   \n\n", {"x"}, "tool x   \n\n"},
           row{"a\nb", {"x"}, "a\nb x"},
           row{"tool # note", {"x"}, "tool x # note"},
           row{"tool a#b", {"x"}, "tool a#b x"},
           row{"tool '# no note'", {"x"}, "tool '# no note' x"},
           row{"tool \"a # b\" # c 'd", {"x"}, "tool \"a # b\" x # c 'd"},
           row{"tool $#", {"x"}, "tool $# x"},
           row{"tool ${#a}", {"x"}, "tool ${#a} x"},
           row{"tool\n# last note", {"x"}, "tool x\n# last note"},
           row{"cat <<EOF\nbody # b\nEOF\n", {"x"}, "cat <<EOF x\nbody # b\nEOF\n"},
           row{"cat <<EOF", {"x"}, "cat <<EOF x"},
           row{"cat <<'E F' # c\nbody\nE F", {"x"}, "cat <<'E F' x # c\nbody\nE F"},
           row{"cat <<-EOF | sort\n\tbody\n\tEOF\n", {"x"}, "cat <<-EOF | sort x\n\tbody\n\tEOF\n"},
           row{"cat <<A <<B\n1\nA\n2\nB\n", {"x"}, "cat <<A <<B x\n1\nA\n2\nB\n"},
           row{"cat <<A\n1\nA\ntool", {"x"}, "cat <<A\n1\nA\ntool x"},
           row{"cat <<< word", {"x"}, "cat <<< word x"},
           row{"tool $((1 << 2))\nmore", {"x"}, "tool $((1 << 2))\nmore x"},
           row{"tool \"$(echo \"x # y\")\"", {"x"}, "tool \"$(echo \"x # y\")\" x"},
           row{"a && b", {"x"}, "a && b x"},
           row{"tool \\\n", {"x"}, "tool x \\\n"},
           row{"tool `echo a # b`", {"x"}, "tool `echo a # b` x"},
       }) {
    CAPTURE(r.command);
    CHECK(append_arguments(r.command, r.forwarded) == r.expected);
  }
}

TEST_CASE("the shell comes from the runner's PATH, never from a package's bin directory or a relative entry") {
  vx::test::temp_dir dir;
  for (const char* place : {"node_modules/.bin/sh", "bin/sh", "proj/node_modules/.bin/sh"})
    dir.write(place, "#!/bin/false\n", 0755);
  vx::environment env;
  env.set("PATH", "node_modules/.bin::.:" + (dir / "node_modules/.bin") + ":" + (dir / "proj/node_modules/.bin//") + ":" +
                      (dir / "bin"));
  const auto shell = vx::exec::find_shell(env);
  REQUIRE(shell.has_value());
  CHECK(*shell == dir / "bin/sh");

  env.set("PATH", dir / "node_modules/.bin");
  const auto none = vx::exec::find_shell(env);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message.find("no sh on PATH") == 0);

  env.unset("PATH");
  CHECK(vx::exec::find_shell(env).has_value());
}
