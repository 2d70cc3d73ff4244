// A task's output on its way out: masked across chunk borders, per stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exec/mask.hpp"

namespace vx::run {

class output_pump {
 public:
  using sink_fn = std::function<void(int stream, std::string_view bytes)>;
  output_pump(const exec::mask& m, sink_fn sink) : plain_(m.empty()), out_(m), err_(m), sink_(std::move(sink)) {}

  void push(int stream, std::string_view bytes) {
    if (plain_) {
      sink_(stream, bytes);
      return;
    }
    const std::string shown = (stream == 2 ? err_ : out_).push(bytes);
    if (!shown.empty()) sink_(stream, shown);
  }
  /// The held tails, at the end and when nothing has arrived for a while.
  void finish() {
    if (plain_) return;
    if (const std::string tail = out_.release(); !tail.empty()) sink_(1, tail);
    if (const std::string tail = err_.release(); !tail.empty()) sink_(2, tail);
  }

 private:
  bool plain_;
  exec::mask_stream out_, err_;
  sink_fn sink_;
};

}  // namespace vx::run
