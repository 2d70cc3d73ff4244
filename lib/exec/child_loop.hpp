// The poll loop that looks after one started task until its outcome is known. One thread, no locks; one-shot tasks and servers
// share it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "exec/child_process.hpp"
#include "exec/mask.hpp"
#include "exec/process.hpp"
#include "exec/reap.hpp"

namespace vx::exec {

struct loop_options {
  std::int64_t start_ns = 0;
  std::uint32_t timeout_ms = 0;  ///< 0 = none; no longer counts once `tap` has answered true
  std::uint32_t notice_ms = 0;   ///< 0 = none; likewise
  std::function<void()> on_notice;
  std::function<bool(int, std::string_view)> tap;  ///< output before masking, until it answers true
  std::function<void()> on_end;                    ///< the process itself has ended; its output may still come
  const cancel_token* stop = nullptr;              ///< the owner's own wish to end it, apart from the run's cancel
};

class child_loop {
 public:
  child_loop(child_process child, const spawn_spec& spec, const output_fn& output, process_table& table,
             const cancel_token& cancel, loop_options options);
  /// Returns when the process has ended and its output is drained or cut, or, after a stop, when its group is gone.
  spawn_result run();

 private:
  enum class phase : std::uint8_t {
    running,   ///< nobody wants it to end
    stopping,  ///< asked politely; SIGKILL at grace_at_
    killed,    ///< SIGKILL is out; given up at grace_at_
  };
  struct pipe_end {
    unique_fd fd;
    int stream;
  };

  void wait_for_something();
  std::int64_t next_deadline() const;
  void on_exit();
  bool still_runs();
  void on_requests();
  void on_deadlines();
  bool finished();
  void begin_stop(int sig);
  void escalate();
  void signal_group(int sig);
  void read_pipe(pipe_end& pipe);
  void deliver(int stream, std::string_view bytes);
  void drain_now();
  void say_cut();
  spawn_result conclude();
  void collect();
  void fill_status(int status);

  child_process child_;
  const spawn_spec& spec_;
  const output_fn& output_;
  process_table& table_;
  const cancel_token& cancel_;
  loop_options options_;

  output_masker masker_;
  std::array<pipe_end, 2> pipes_;
  std::unique_ptr<char[]> buffer_;  ///< one read; not zeroed: most commands print a line or two
  spawn_result result_;
  std::optional<reaped> collected_;
  phase phase_ = phase::running;
  std::int64_t now_;  ///< mono_ns() after the last poll
  std::int64_t timeout_at_ = 0, notice_at_ = 0, grace_at_ = 0, drain_until_ = 0, group_check_at_ = 0;  ///< 0 = none
  bool ended_ = false;        ///< the leader has; it is collected after the last signal, so that its number stays ours
  bool group_empty_ = false;  ///< nobody else was left when it ended: never signalled again
  bool group_gone_ = false;
  bool cancel_seen_ = false, stop_seen_ = false;
  char last_byte_ = '\n';
};

}  // namespace vx::exec
