// Turns the records and output of one run into what a person reads. Holds no terminal: text goes to a sink.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/block.hpp"
#include "cli/colour.hpp"
#include "cli/events.hpp"
#include "cli/footer.hpp"
#include "cli/live_region.hpp"
#include "cli/text.hpp"

namespace vx::cli {

/// Where text goes. `out` carries frames, rows and the footer; `note` carries notices and warnings, whole lines.
class text_sink {
 public:
  virtual ~text_sink() = default;
  virtual void out(std::string_view text) = 0;
  virtual void note(std::string_view line) = 0;
  /// The end of one record: what was written must become visible now.
  virtual void flush() = 0;
};

/// Which tasks show what. `automatic` decides between focused, broad and full when the run starts.
enum class log_mode : std::uint8_t { automatic, full, errors_only, hash_only, none };

struct output_options {
  log_mode logs = log_mode::automatic;
  bool ci = false;     ///< full frames whatever the flow
  bool broad = false;  ///< a selection flag was given
  bool colour = false;
  std::uint64_t verbosity = 0;  ///< from 1: a table of all tasks above the footer
  std::string fence;            ///< on GitHub Actions: a random word that keeps tasks' text from issuing workflow commands
  std::string version;
  bool timing = false;  ///< VX_TIMING: a table of stages on stderr
};

class run_output {
 public:
  run_output(output_options options, text_sink& sink);

  /// Nothing is shown of a hit whose outputs were already in place: the library need not tell of it.
  static bool ignores_current_hits(const output_options& options);

  /// What stands below the text now. False: nothing should.
  bool region(region_state& out) const;

  void event(std::string_view json);
  void output(std::uint32_t task, int stream, std::string_view bytes, bool replayed);

 private:
  static constexpr std::uint32_t k_none = 0xFFFFFFFFu;
  struct task {
    task_start start;
    std::unique_ptr<output_block> block;
    escape_stripper strip[2];
    bool live = false;  ///< its frame is open and streams
    bool ended = false;
    bool serving = false;  ///< a server that got ready: its ending was shown then
    bool held_line_open = false;
  };
  struct running {
    std::uint32_t index = k_none;  ///< k_none: an idle worker
    std::chrono::steady_clock::time_point since;
  };
  enum class view : std::uint8_t { silent, row, frame, hash };

  void on_task_start(task_start start);
  void on_task_end(const task_end& end);
  void on_task_ready(const task_ready& ready);
  void on_task_exit(const task_exit& exit);
  void take_row(std::uint32_t index);
  void leave_row(std::uint32_t index);
  void on_status(const status_line& line);
  void on_run_end(const run_end& end);

  bool shown(const task& t) const;  ///< requested or surfaced
  view view_of(const task& t, const task_end& end) const;
  bool keeps_output(const task& t, bool replayed) const;  ///< some outcome would show it
  bool has_command_line(const task& t, const task_end& end) const;

  void open_live(task& t);
  void close_live(task& t, const task_end& end);
  void write_frame(const task& t, const task_end& end);
  void write_block(const output_block& block);
  void fence(bool open);  ///< before and after text of a task, on GitHub Actions
  void stream(int stream, std::string_view bytes);
  void write_held(task& t, int stream, std::string_view bytes);
  void put(std::string_view text);
  void separate();  ///< an empty line, unless one was just written
  void write_table();

  output_options options_;
  text_sink& sink_;
  palette colours_;
  event_reader reader_;
  run_start start_;
  run_summary summary_;
  std::vector<task> tasks_;  ///< by index
  std::unordered_map<std::string, std::uint32_t> by_id_;
  std::vector<std::pair<std::uint32_t, task_end>> held_;  ///< failures replayed above the footer
  std::vector<std::pair<std::uint32_t, task_end>> table_;
  std::vector<running> rows_;           ///< of the live region
  std::vector<std::uint32_t> rowless_;  ///< running, but every row is taken
  std::vector<std::uint32_t> servers_;
  region_state counts_;
  bool full_ = false;  ///< full frames
  bool focused_ = false;
  bool live_allowed_ = false;  ///< exactly one task was asked for
  std::uint32_t open_frame_ = k_none;
  bool streamed_ = false;  ///< a task has the screen, or had it: the live region is over
  bool started_ = false;   ///< run.start came: there is something to sum up
  bool after_footer_ = false;
  bool at_line_start_ = true;
  bool blank_before_ = true;   ///< the last line written was empty, or nothing was written
  bool escapes_open_ = false;  ///< the text of a task may have left a colour on
};

}  // namespace vx::cli
