// The verbs that ask one question and print its answer: show, why, last, info, cache.
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <utility>

#include "cli/answer.hpp"
#include "cli/answer_text.hpp"
#include "cli/colour.hpp"
#include "cli/commands.hpp"
#include "cli/library.hpp"
#include "cli/request.hpp"
#include "cli/show_text.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"

namespace vx::cli {
namespace {

/// How long a prune waits in silence.
constexpr std::uint32_t k_quiet_wait_ms = 1000;

palette stdout_palette() {
  return palette(colour_wanted(std::getenv("NO_COLOR"), std::getenv("FORCE_COLOR"), ::isatty(STDOUT_FILENO) == 1));
}

std::string home_dir() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home);
}

using render_fn = std::function<std::optional<answer_view>(std::string_view answer)>;

int print_answer(const invocation& call, std::string_view verb, std::string_view answer, const render_fn& render) {
  const std::optional<answer_view> view = render(answer);
  if (!view) return refuse(call, verb, {"VX_E_INTERNAL", "the library's answer is not what this verb prints", "", ""});
  for (const std::string& notice : view->notices) write_all(STDERR_FILENO, "[vx] " + printable(notice) + "\n");
  write_all(STDOUT_FILENO, call.json ? view->document + "\n" : view->text);
  return 0;
}

/// A workspace, a cancel token that signals reach, and one question after another.
class asker {
 public:
  std::optional<refusal> open() {
    auto cwd = working_directory();
    if (auto* why = std::get_if<refusal>(&cwd)) return *why;
    auto cancel = new_cancel();
    if (auto* why = std::get_if<refusal>(&cancel)) return *why;
    cancel_ = std::move(std::get<cancel_handle>(cancel));
    guard_.emplace(cancel_.get());
    auto opened = open_workspace(std::get<std::string>(cwd));
    if (auto* why = std::get_if<refusal>(&opened)) return *why;
    workspace_ = std::move(std::get<workspace_handle>(opened));
    return std::nullopt;
  }
  std::optional<refusal> ask(const std::string& request, buffer& answer) {
    vx_error* error = nullptr;
    if (vx_workspace_query(workspace_.get(), request.c_str(), cancel_.get(), answer.out(), &error) == VX_OK)
      return std::nullopt;
    return to_refusal(error);
  }

 private:
  cancel_handle cancel_;
  std::optional<signal_guard> guard_;
  workspace_handle workspace_;
};

int answer_query(const invocation& call, std::string_view verb, const std::string& request, const render_fn& render) {
  asker who;
  if (const auto why = who.open()) return refuse(call, verb, *why);
  buffer answer;
  const auto why = who.ask(request, answer);
  const int code = why ? refuse(call, verb, *why) : print_answer(call, verb, answer.text(), render);
  if (const int signal = signal_guard::received(); signal != 0) end_by_signal(signal);
  return code;
}

std::optional<answer_view> render_show(std::string_view answer) {
  auto view = read_show(answer);
  if (!view) return std::nullopt;
  return answer_view{std::move(view->text), std::move(view->document), std::move(view->notices)};
}

/// Says that it waits once a second has passed, and waits on.
int prune_command(const invocation& call, const command_line& line) {
  asker who;
  if (const auto why = who.open()) return refuse(call, "cache", *why);
  buffer answer;
  auto why = who.ask(prune_cache_request(line, k_quiet_wait_ms), answer);
  buffer later;
  const bool busy = why && why->details_json == "{\"busy\":true}";
  if (busy) {
    write_all(STDERR_FILENO, "[vx] " + printable(why->message) + ": waiting for it to finish\n");
    why = who.ask(prune_cache_request(line, std::nullopt), later);
  }
  const int code = why ? refuse(call, "cache", *why) : print_answer(call, "cache", (busy ? later : answer).text(), read_prune);
  if (const int signal = signal_guard::received(); signal != 0) end_by_signal(signal);
  return code;
}

}  // namespace

int show_command(const invocation& call, const command_line& line) {
  return answer_query(call, "show", show_request(line), render_show);
}

int why_command(const invocation& call, const command_line& line) {
  return answer_query(call, "why", why_request(line),
                      [](std::string_view answer) { return read_why(answer, stdout_palette()); });
}

int last_command(const invocation& call, const command_line& line) {
  return answer_query(call, "last", last_request(line),
                      [](std::string_view answer) { return read_last(answer, stdout_palette()); });
}

int info_command(const invocation& call, const command_line& line) {
  return answer_query(call, "info", info_request(line), [](std::string_view answer) { return read_info(answer, home_dir()); });
}

int cache_command(const invocation& call, const command_line& line) {
  if (line.operands.front() == "prune") return prune_command(call, line);
  return answer_query(call, "cache", cache_stats_request(line),
                      [](std::string_view answer) { return read_cache_stats(answer, home_dir()); });
}

}  // namespace vx::cli
