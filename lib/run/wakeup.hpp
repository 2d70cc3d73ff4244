// Lets a thread sleep in poll() until another thread has something for it.
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace vx::run {

class wakeup {
 public:
  static result<wakeup> make();
  void raise() noexcept;
  void clear() noexcept;
  int fd() const noexcept { return read_.get(); }

 private:
  unique_fd read_, write_;
};

}  // namespace vx::run
