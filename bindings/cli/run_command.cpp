#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "cli/commands.hpp"
#include "cli/heap.hpp"
#include "cli/library.hpp"
#include "cli/plan_text.hpp"
#include "cli/request.hpp"
#include "cli/run_output.hpp"
#include "cli/signals.hpp"
#include "cli/suggest.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

/// Set, and not to "0" or "false".
bool truthy(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return false;
  const std::string_view text(value);
  return !text.empty() && text != "0" && text != "false";
}

/// A word that no task can guess.
std::string random_word() {
  std::random_device source;
  return fmt::format("vx-{:08x}{:08x}", source(), source());
}

output_options options_for(const command_line& line, int out_fd) {
  output_options out;
  out.ci = truthy("CI");
  if (truthy("GITHUB_ACTIONS")) out.fence = random_word();
  out.broad = is_broad(line);
  out.colour = colour_wanted(std::getenv("NO_COLOR"), std::getenv("FORCE_COLOR"), ::isatty(out_fd) != 0);
  out.version = vx_version();
  out.timing = truthy("VX_TIMING");
  const std::string mode = line.value("--output-logs").value_or("");
  if (mode == "full") out.logs = log_mode::full;
  if (mode == "errors-only") out.logs = log_mode::errors_only;
  if (mode == "hash-only") out.logs = log_mode::hash_only;
  if (mode == "none") out.logs = log_mode::none;
  const std::string level = line.value("--verbosity").value_or("0");
  std::from_chars(level.data(), level.data() + level.size(), out.verbosity);
  return out;
}

/// The observer's ends. An exception must not cross the C boundary: a renderer that fails shows nothing more.
struct observed {
  run_output* output;
  std::mutex* lock;
  bool broken = false;

  static void on_event(void* self, const char* json, std::size_t size) noexcept {
    auto& o = *static_cast<observed*>(self);
    const std::lock_guard held(*o.lock);
    if (o.broken) return;
    try {
      o.output->event({json, size});
    } catch (...) {
      o.broken = true;
    }
  }
  static void on_output(void* self, std::uint32_t task, std::int32_t stream, const void* data, std::size_t size,
                        std::uint32_t flags) noexcept {
    auto& o = *static_cast<observed*>(self);
    const std::lock_guard held(*o.lock);
    if (o.broken) return;
    try {
      o.output->output(task, stream, {static_cast<const char*>(data), size}, (flags & VX_OUTPUT_REPLAYED) != 0);
    } catch (...) {
      o.broken = true;
    }
  }
};

refusal missing_name(vx_workspace* workspace) {
  buffer answer;
  known_tasks known;
  vx_error* error = nullptr;
  if (vx_workspace_query(workspace, "{\"query\":\"list-tasks\"}", nullptr, answer.out(), &error) != VX_OK)
    return to_refusal(error);
  if (auto read = read_known_tasks(answer.text())) known = std::move(*read);
  return {"VX_E_USAGE", missing_name_text(known), "", ""};
}

int dry_run(const invocation& call, const command_line& line, vx_workspace* workspace, vx_cancel* cancel) {
  buffer answer;
  vx_error* error = nullptr;
  if (vx_workspace_query(workspace, plan_request(line).c_str(), cancel, answer.out(), &error) != VX_OK) {
    return refuse(call, "run", to_refusal(error));
  }
  const auto view = read_plan(answer.text());
  if (!view) return refuse(call, "run", {"VX_E_INTERNAL", "the library's answer is not a plan", "", ""});
  for (const std::string& notice : view->notices) write_all(STDERR_FILENO, "[vx] " + printable(notice) + "\n");
  write_all(STDOUT_FILENO, line.value("--dry") == "json" ? view->document + "\n" : view->text);
  return view->exit_code;
}

int real_run(const invocation& call, const command_line& line, vx_workspace* workspace, vx_cancel* cancel) {
  const bool json = line.value("--format") == "json";
  // A product has standard output for itself.
  const int out_fd = json ? STDERR_FILENO : STDOUT_FILENO;
  fd_sink sink(out_fd);
  const output_options options = options_for(line, out_fd);
  run_output output(options, sink);
  std::mutex lock;
  observed state{&output, &lock};
  vx_observer observer = VX_OBSERVER_INIT;
  observer.event = &observed::on_event;
  observer.output = &observed::on_output;
  observer.user_data = &state;
  const bool region = !options.ci && ::isatty(out_fd) != 0;
  // The region counts every task, so it must be told of every one.
  if (!region && run_output::ignores_current_hits(options)) observer.flags = VX_OBSERVE_SKIP_CURRENT;

  vx_run* raw = nullptr;
  vx_error* error = nullptr;
  const std::string request = run_request(line, recorded_command(call.words));
  if (vx_run_start(workspace, request.c_str(), &observer, cancel, &raw, &error) != VX_OK) {
    return refuse(call, "run", to_refusal(error));
  }
  run_handle run(raw);
  std::optional<region_ticker> ticker;
  if (region) ticker.emplace(output, sink, lock, options.colour);
  buffer summary;
  const vx_status waited = vx_run_wait(run.get(), json ? summary.out() : nullptr, &error);
  ticker.reset();
  if (waited != VX_OK) return refuse(call, "run", to_refusal(error));
  sink.flush();
  if (json) write_all(STDOUT_FILENO, std::string(summary.text()) + "\n");
  const int code = vx_run_exit_code(run.get());
  if (process_ends_cheaper()) (void)run.release();
  return code;
}

}  // namespace

int run_command(const invocation& call, const command_line& line) {
  prepare_heap();
  const auto cwd = working_directory();
  if (const auto* why = std::get_if<refusal>(&cwd)) return refuse(call, "run", *why);
  auto cancel = new_cancel();
  if (const auto* why = std::get_if<refusal>(&cancel)) return refuse(call, "run", *why);
  vx_cancel* const token = std::get<cancel_handle>(cancel).get();
  const signal_guard guard(token);
  auto opened = open_workspace(std::get<std::string>(cwd));
  if (const auto* why = std::get_if<refusal>(&opened)) return refuse(call, "run", *why);
  vx_workspace* const workspace = std::get<workspace_handle>(opened).get();

  int code = 0;
  if (line.operands.empty()) {
    code = refuse(call, "run", missing_name(workspace));
  } else if (line.has("--dry")) {
    code = dry_run(call, line, workspace, token);
  } else {
    code = real_run(call, line, workspace, token);
  }
  if (const int signal = signal_guard::received(); signal != 0) end_by_signal(signal);
  return code;
}

}  // namespace vx::cli
