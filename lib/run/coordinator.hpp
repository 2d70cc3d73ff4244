// Drives the scheduler: performs its actions on the lanes and feeds back what ended (run.md 5, 6). One thread, the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "run/state.hpp"

namespace vx::run {

/// Servers that are still up when the graph is done.
struct held_server {
  std::uint32_t node;
  std::unique_ptr<exec::server> process;
};

class coordinator {
 public:
  explicit coordinator(run_state& s);
  ~coordinator();
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;

  /// Runs the graph to its end; every scheduled node has an outcome afterwards and no child but ready servers is left.
  status run();
  /// Blocks until one of the kept servers ends or the run is cancelled; stops the others. True when the hold ended in a
  /// failure.
  bool hold();
  /// Requested servers and the servers they depend on, when the request asked to hold and nothing failed.
  std::vector<std::uint32_t> kept() const;
  void stop_servers();
  /// A server that was ready has died with a failure.
  bool server_died() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vx::run
