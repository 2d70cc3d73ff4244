#include "exec/verdict.hpp"

#include <doctest/doctest.h>

#include "support/temp_dir.hpp"
#include "task_fixture.hpp"

using namespace vx::test;

TEST_CASE("the verdict names what was not there or could not be run") {
  temp_dir ws;
  ws.mkdir("p/dir");
  ws.write("p/node_modules/.bin/.keep", "");
  ws.write("p/plain.sh", "echo hi\n", 0644);
  ws.write("p/no-interp.sh", "#!/no/such/interp -x\necho hi\n", 0755);
  ws.write("p/crlf.sh", "#!/bin/sh\r\necho hi\r\n", 0755);
  ws.write("p/env-missing.sh", "#!/usr/bin/env no-such-runtime\n", 0755);
  ws.write("p/env-split.sh", "#!/usr/bin/env -S no-such-runtime --flag\n", 0755);
  ws.write("p/no-shebang", "echo hi\n", 0755);
  ws.write("p/binary", std::string("\x7f\0ELF", 5), 0755);
  ws.write("bin/not-exec", "#!/bin/sh\n", 0644);
  ws.write("bin/bad-interp", "#!/no/such/interp\n", 0755);
  struct row {
    std::string command;
    int code;
    std::string says;
  };
  const std::string bins = ws / "p/node_modules/.bin" + " and " + (ws / "node_modules/.bin") + " were searched first";
  for (const row& r : {
           row{"tsc -b", 127, "\"tsc\" is not on the task's PATH; " + bins},
           row{"exec tsc -b", 127, "\"tsc\" is not on the task's PATH"},
           row{"FOO=1 tsc -b", 127, "\"tsc\" is not on the task's PATH"},
           row{"echo hi && tsc -b 2>&1", 127, "\"tsc\" is not on the task's PATH"},
           row{"'my tool' x", 127, "\"my tool\" is not on"},
           row{"./gone.sh", 127, "./gone.sh does not exist"},
           row{"exec ./no-interp.sh", 127, "the interpreter /no/such/interp of ./no-interp.sh does not exist"},
           row{"./crlf.sh", 127, "the #! line of ./crlf.sh ends in CRLF"},
           row{"./crlf.sh", 126, "the #! line of ./crlf.sh ends in CRLF"},
           row{"./env-missing.sh", 127, "./env-missing.sh needs \"no-such-runtime\", which is not on the task's PATH"},
           row{"./env-split.sh", 127, "./env-split.sh needs \"no-such-runtime\""},
           row{"bad-interp", 127, "the interpreter /no/such/interp of " + (ws / "bin/bad-interp") + " does not exist"},
           row{"./dir", 126, "./dir is a directory"},
           row{"./plain.sh", 126, "./plain.sh is not executable (chmod +x " + (ws / "p/plain.sh") + ")"},
           row{"not-exec", 126, (ws / "bin/not-exec") + " is not executable"},
           row{"./no-shebang", 126, "./no-shebang has no #! line"},
           row{"./binary", 126, ""},
           row{"sh -c 'exit 127'", 127, ""},
           row{"$TOOL x", 127, ""},
           row{"if x; then y; fi", 127, ""},
           row{"tsc", 1, ""},
           row{"tsc", 0, ""},
           row{"tsc", 128, ""},
           row{"tsc", 137, "exit 137 is 128 + SIGKILL: out of memory"},
           row{"tsc", 159, "exit 159 is 128 + SIGSYS: a system call forbidden by seccomp"},
           row{"tsc", 255, ""},
       }) {
    CAPTURE(r.command);
    vx::exec::spawn_spec spec;
    spec.command = r.command;
    spec.cwd = ws / "p";
    spec.env = {"PATH=" + (ws / "p/node_modules/.bin") + ":" + (ws / "bin") + ":/usr/bin:/bin",
                "VX_RUN_WORKSPACE=" + ws.path()};
    const std::string line = vx::exec::verdict_line(spec, r.code, 0);
    CAPTURE(line);
    CHECK(line.find(r.says) == 0);
    if (r.says.empty()) CHECK(line == "");
  }
}

TEST_CASE("a bin directory that PATH cannot hold is named") {
  vx::exec::spawn_spec spec;
  spec.command = "tsc";
  spec.cwd = "/w/odd:name";
  spec.env = {"PATH=/w/node_modules/.bin", "VX_RUN_WORKSPACE=/w"};
  CHECK(vx::exec::verdict_line(spec, 127, 0) ==
        "\"tsc\" is not on the task's PATH; /w/odd:name/node_modules/.bin and /w/node_modules/.bin were searched first, but "
        "/w/odd:name/node_modules/.bin is left out because its path holds ':'");
  spec.cwd = "/w";
  CHECK(vx::exec::verdict_line(spec, 127, 0) == "\"tsc\" is not on the task's PATH; /w/node_modules/.bin was searched first");
}

TEST_CASE("real commands get their verdict") {
  temp_dir dir;
  dir.write("crlf.sh", "#!/bin/sh\r\n", 0755);
  dir.write("plain.sh", "#!/bin/sh\n", 0644);
  for (const auto& [command, code, says] : {std::tuple{"no-such-tool-anywhere", 127, "\"no-such-tool-anywhere\" is not on"},
                                            {"./crlf.sh", 127, "the #! line of ./crlf.sh"},
                                            {"./plain.sh", 126, "./plain.sh is not executable"},
                                            {"./gone", 127, "./gone does not exist"}}) {
    task t(vx::exec::prepare_command(command));
    t.spec.cwd = dir.path();
    const auto r = t.run();
    CAPTURE(r.note);
    CHECK(r.exit_code == code);
    CHECK(r.note.find(says) == 0);
  }
}
