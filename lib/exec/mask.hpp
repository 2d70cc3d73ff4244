// Secret masking (run.md 17, cache.md 17): which values are secrets, and a streaming replacer that works across chunk borders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"

namespace vx::exec {

/// Output chunks in arrival order; stream 1 or 2. Called on the thread that runs the task.
using output_fn = std::function<void(int stream, std::string_view bytes)>;

/// True for names whose value is masked by rule: TOKEN, SECRET, KEY, PASSWORD, PASSWD, CREDENTIAL inside; not *_FILE, *_PATH,
/// *_DIR, not GIT_CONFIG_KEY_<n>. Letter case is ignored: hiding too much is the harmless error.
bool is_secret_name(std::string_view name) noexcept;

/// The set of values to hide. Immutable after construction; shareable.
class mask {
 public:
  mask() = default;
  /// Values under 6 bytes are left alone; multi-line values also by line; values with ' also in their shell-quoted spelling.
  explicit mask(std::vector<std::string> values);
  static mask of(const environment& env, const std::vector<std::string>& extra_names);
  /// This set and more values (a task's own `define`).
  mask with(std::vector<std::string> more) const;
  bool empty() const noexcept { return values_.empty(); }
  std::string apply(std::string_view whole) const;
  const std::vector<std::string>& values() const noexcept { return values_; }

 private:
  friend class mask_stream;
  struct automaton;
  std::vector<std::string> values_;  ///< longest first
  std::shared_ptr<const automaton> automaton_;
};

/// One stream of one task. push() returns what may be shown now; a tail that could begin a secret is held back. Overlapping
/// values are hidden together, as one `***`. The mask must outlive the stream.
class mask_stream {
 public:
  explicit mask_stream(const vx::exec::mask& m) : mask_(m) {}
  std::string push(std::string_view chunk);
  std::string release();  ///< the held tail: after 25 ms of silence, and at the end
  bool holding() const noexcept { return !held_.empty(); }

 private:
  /// Bytes [begin, end) of the text at hand are hidden; `shown` once their `***` is out.
  struct hidden {
    std::size_t begin, end;
    bool shown;
  };
  void hide(std::size_t begin, std::size_t end);
  void emit(std::string_view text, std::size_t cut, std::string& out);

  const vx::exec::mask& mask_;
  std::string held_;  ///< as many bytes as the automaton's state is deep
  std::uint32_t state_ = 0;
  std::vector<hidden> hidden_;
};

inline constexpr std::int64_t k_mask_idle_ns = 25'000'000;

/// Both streams of one task, for the owner of a poll loop. A null or empty mask passes chunks through untouched.
class output_masker {
 public:
  explicit output_masker(const vx::exec::mask* m);
  void push(int stream, std::string_view bytes, std::int64_t now_ns, const output_fn& sink);
  /// When release_idle() has something to do, on mono_ns()'s clock; 0 = nothing is held.
  std::int64_t release_at() const noexcept;
  void release_idle(std::int64_t now_ns, const output_fn& sink);
  void finish(const output_fn& sink);  ///< releases everything

 private:
  struct lane {
    mask_stream stream;
    std::int64_t last_ns;
  };
  std::vector<lane> lanes_;  ///< empty: no secrets
};

}  // namespace vx::exec
