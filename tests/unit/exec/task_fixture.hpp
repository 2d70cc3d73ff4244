// Runs real commands for the tests of this folder.
#pragma once

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <string>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "exec/process.hpp"
#include "support/child.hpp"

namespace vx::test {

/// Asks a condition again and again until it holds; false after ten seconds.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 2);
  }
  return true;
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline bool process_alive(pid_t pid) {
  if (pid <= 1) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  FILE* f = std::fopen(path.c_str(), "r");
  if (f == nullptr) return false;
  char line[512] = {};
  const bool read = std::fgets(line, sizeof line, f) != nullptr;
  std::fclose(f);
  const std::string text(line);
  const std::size_t close = text.rfind(')');
  return read && close != std::string::npos && text[close + 2] != 'Z' && text[close + 2] != 'X';
}

/// `exec <this test> --vx-child <rest>`
inline std::string fixture(const std::string& rest) { return "exec " + text::shell_quote(self_path()) + " --vx-child " + rest; }

/// One task, its table and token, and everything it printed.
struct task {
  exec::spawn_spec spec;
  exec::process_table table;
  cancel_token cancel;
  std::string out, err;
  std::function<void(int, std::string_view)> on_output;

  explicit task(std::string command) {
    spec.shell = "/bin/sh";
    spec.command = std::move(command);
    spec.cwd = "/";
    spec.env = {"PATH=/usr/local/bin:/usr/bin:/bin"};
  }
  exec::spawn_result run() {
    return exec::run_task(
        spec,
        [this](int stream, std::string_view bytes) {
          (stream == 2 ? err : out) += bytes;
          if (on_output) on_output(stream, bytes);
        },
        table, cancel);
  }
};

}  // namespace vx::test
