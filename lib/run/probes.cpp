#include "run/probes.hpp"

#include <utility>

#include "base/mutation.hpp"
#include "base/path.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "exec/process.hpp"
#include "exec/task_env.hpp"

namespace vx::run {
namespace {

std::string how_it_ended(const subprocess_output& out) {
  const int code = out.exit_code();
  return code > 128 ? "was killed by signal " + std::to_string(code - 128) : "exited with " + std::to_string(code);
}

}  // namespace

result<key::probe_item> probe_runner::run(const std::string& project_dir, const std::string& command,
                                          bool workspace_probe) const {
  VX_TRY_LET(std::string shell, exec::find_shell(host_.env));
  subprocess_options o;
  o.program = shell;
  o.args = {"-c", command};
  o.cwd = path::join(host_.root, project_dir);
  o.env = exec::build_probe_environment(host_.env, host_.root, project_dir, !workspace_probe);
  const std::string what = "runtime probe `" + text::escape(command, true) + "` ";
  auto ended = run_subprocess(o, {}, cancel_);
  if (!ended) {
    if (ended.error().code == errc::CANCELLED) return fail(ended.error());
    return fail(errc::IO, what + "could not start: " + ended.error().message);
  }
  if (!ended->ok() && !mutated("probe-may-fail")) {
    const std::string_view words = text::trim(ended->err);
    const std::string first(words.substr(0, words.find('\n')));
    return fail(errc::REFUSED, what + how_it_ended(*ended) + (first.empty() ? "" : " (" + text::escape(first, true) + ")") +
                                   ": its output is part of the key, so it must succeed");
  }
  if (!text::is_utf8(ended->out) || !text::is_utf8(ended->err))
    return fail(errc::REFUSED, what + "printed bytes that are not UTF-8");
  return key::probe_item{command, std::string(text::trim(ended->out)), std::string(text::trim(ended->err))};
}

result<key::probe_item> probe_runner::ask(const std::string& project_dir, const std::string& command, bool workspace_probe,
                                          std::optional<std::uint32_t> asker) {
  const name n{workspace_probe, workspace_probe ? std::string() : project_dir, command, asker};
  std::promise<result<key::probe_item>> mine;
  std::shared_future<result<key::probe_item>> answer;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(n);
    if (found != known_.end()) {
      answer = found->second;
    } else {
      answer = known_.emplace(n, mine.get_future().share()).first->second;
      first = true;
    }
  }
  if (first) mine.set_value(run(workspace_probe ? std::string() : project_dir, command, workspace_probe));
  return answer.get();
}

}  // namespace vx::run
