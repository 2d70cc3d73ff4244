#include "base/clock.hpp"
#include "exec/child_loop.hpp"
#include "exec/process.hpp"

namespace vx::exec {
namespace {

spawn_result not_started(const spawn_spec& spec, const failure& reason) {
  spawn_result out;
  out.exit_code = 127;
  out.spawn_failed = true;
  out.note = spec.secrets != nullptr ? spec.secrets->apply(reason.message) : reason.message;
  return out;
}

spawn_result cancelled_before(const cancel_token& cancel) {
  spawn_result out;
  out.cancelled = true;
  out.exit_code = 128 + cancel.signal();
  return out;
}

}  // namespace

spawn_result run_task(const spawn_spec& spec, const output_fn& output, process_table& table, const cancel_token& cancel) {
  const std::int64_t start = mono_ns();
  spawn_result out;
  if (cancel.requested()) {
    out = cancelled_before(cancel);
  } else if (result<child_process> child = start_child(spec); !child) {
    out = not_started(spec, child.error());
  } else {
    table.add(child->pid);
    loop_options options;
    options.start_ns = start;
    options.timeout_ms = spec.timeout_ms;
    return child_loop(std::move(*child), spec, output, table, cancel, std::move(options)).run();
  }
  out.start_ns = start;
  out.end_ns = mono_ns();
  return out;
}

}  // namespace vx::exec
