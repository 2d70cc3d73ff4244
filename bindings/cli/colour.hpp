// Colours. A palette is a value handed to every renderer; without colour each call returns its text unchanged.
#pragma once

#include <string>
#include <string_view>

namespace vx::cli {

class palette {
 public:
  explicit palette(bool on) noexcept : on_(on) {}
  bool on() const noexcept { return on_; }

  std::string green(std::string_view text) const { return paint("38;2;87;199;133", text); }
  std::string red(std::string_view text) const { return paint("38;2;240;91;91", text); }
  std::string yellow(std::string_view text) const { return paint("38;2;230;190;80", text); }
  std::string cyan(std::string_view text) const { return paint("38;2;86;194;214", text); }
  std::string blue(std::string_view text) const { return paint("38;2;110;160;250", text); }
  std::string pink(std::string_view text) const { return paint("38;2;236;130;190", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string bold(std::string_view text) const { return paint("1", text); }

  /// `<project>#<task>`: the project in a hue of its own that never changes, the task in pink.
  std::string id(std::string_view id) const;

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  bool on_;
};

/// 0..359, from a 128-bit hash of the name: the same on every machine.
unsigned hue_of(std::string_view name);

/// NO_COLOR non-empty: off. FORCE_COLOR "0" or "false": off, any other value: on. Else whether stdout is a terminal.
bool colour_wanted(const char* no_color, const char* force_color, bool stdout_is_tty);

}  // namespace vx::cli
