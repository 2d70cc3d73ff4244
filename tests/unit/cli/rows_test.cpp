#include "cli/rows.hpp"

#include <doctest/doctest.h>

#include "cli/text.hpp"

using namespace vx::cli;

namespace {

const palette k_plain(false);

task_start shop(bool persistent = false) {
  task_start s;
  s.id = "shop#build";
  s.command = "node build.mjs";
  s.persistent = persistent;
  return s;
}

task_end ended(task_status status, double ms = 1370) {
  task_end e;
  e.id = "shop#build";
  e.status = status;
  e.duration_ms = ms;
  e.started = ms > 0;
  e.hash = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
  return e;
}

std::string row_of(const task_end& e, bool persistent = false) { return task_row(shop(persistent), e, k_plain); }

}  // namespace

TEST_CASE("a row is glyph, time, status, cache word and id in fixed columns") {
  CHECK(row_of(ended(task_status::success)) == " ⏺\uFE0E   1.37s success miss     shop#build");
  task_end e = ended(task_status::success);
  e.no_cache = true;
  CHECK(row_of(e) == " ⏺\uFE0E   1.37s success no-cache shop#build");
  CHECK(row_of(ended(task_status::hit_local, 4)) == " ⇢     4ms success local    shop#build");
  CHECK(row_of(ended(task_status::hit_remote, 4)) == " ⇣     4ms success remote   shop#build");
  e = ended(task_status::hit_local, 0);
  e.restored = false;
  CHECK(row_of(e) == " ►     0ms success up-to-date shop#build");
  CHECK(row_of(ended(task_status::failed, 999.6)) == " ◼\uFE0E   1.00s failed  miss     shop#build");
  CHECK(row_of(ended(task_status::success), true) == " ▸   1.37s running          shop#build");
}

TEST_CASE("skipped and aborted rows say why or how far") {
  task_end e = ended(task_status::skipped, 0);
  CHECK(row_of(e) == " ⊘     0ms skipped          shop#build");
  e.blocked_by = "util#build";
  CHECK(row_of(e) == " ⊘     0ms skipped          shop#build • blocked by util#build");
  CHECK(row_of(ended(task_status::aborted, 1200)) == " ✗   1.20s aborted          shop#build");
  CHECK(row_of(ended(task_status::aborted, 0)) == " ◌         not run          shop#build");
}

TEST_CASE("ids of rows with different glyphs and durations start in one column") {
  const auto column = [](const std::string& row) { return display_width(row.substr(0, row.find("shop#"))); };
  const std::size_t wanted = column(row_of(ended(task_status::success)));
  for (const task_status status :
       {task_status::hit_local, task_status::hit_remote, task_status::failed, task_status::skipped}) {
    for (const double ms : {0.0, 4.0, 999.6, 59999.0}) CHECK(column(row_of(ended(status, ms))) == wanted);
  }
  CHECK(column(row_of(ended(task_status::aborted, 0))) == wanted);
}

TEST_CASE("names that are not UTF-8 are escaped in rows") {
  task_start s = shop();
  s.id = "sh\xffop#build";
  CHECK(task_row(s, ended(task_status::success), k_plain).ends_with("sh\\xffop#build"));
}

TEST_CASE("failure labels name the cause") {
  task_end e = ended(task_status::failed);
  const auto label = [&](int code) {
    e.exit_code = code;
    return failure_label(e);
  };
  CHECK(label(2) == "failed (exit 2)");
  CHECK(label(128) == "failed (exit 128)");
  CHECK(label(137) == "failed (exit 137, 128 + SIGKILL)");
  CHECK(label(139) == "failed (exit 139, 128 + SIGSEGV)");
  CHECK(label(190) == "failed (exit 190, 128 + signal 62)");
  e.timed_out = true;
  CHECK(label(143) == "failed (timed out, exit 143)");
  e.not_ready = "timeout";
  CHECK(label(143) == "failed (never ready: timed out, exit 143)");
  e.timed_out = false;
  e.not_ready = "exited";
  CHECK(label(3) == "failed (never ready: exited, exit 3)");
  e.not_ready.clear();
  e.violations = 2;
  CHECK(label(1) == "failed (exit 1, 2 sandbox violations)");
}

TEST_CASE("frame outcomes carry the key of hits and the blocker of skips") {
  CHECK(frame_outcome(ended(task_status::success), false) == "success");
  CHECK(frame_outcome(ended(task_status::success), true) == "running");
  CHECK(frame_outcome(ended(task_status::hit_local), false) == "restored-local • 0a1b2c3d");
  CHECK(frame_outcome(ended(task_status::hit_remote), false) == "restored-remote • 0a1b2c3d");
  task_end e = ended(task_status::hit_remote);
  e.restored = false;
  CHECK(frame_outcome(e, false) == "up-to-date • 0a1b2c3d");
  e = ended(task_status::skipped);
  CHECK(frame_outcome(e, false) == "skipped");
  e.blocked_by = "a#b";
  CHECK(frame_outcome(e, false) == "skipped (blocked by a#b)");
}

TEST_CASE("rules are sixty columns wide") {
  CHECK(section_rule("OUTPUT", k_plain) == "├─ OUTPUT ──────────────────────────────────────────────────");
  CHECK(display_width(section_rule("OUTPUT", k_plain)) == 60);
  CHECK(display_width(section_rule("SANDBOX VIOLATIONS (2)", k_plain)) == 60);
}

TEST_CASE("flaky and retried tasks say so behind the row") {
  task_end e = ended(task_status::failed);
  e.flaky = task_end::flaky_counts{3, 0};
  CHECK(row_of(e).ends_with("shop#build  flaky - passed 3× before"));
  e = ended(task_status::success);
  e.attempts = 3;
  CHECK(row_of(e).ends_with("shop#build  3 attempts"));
  e.flaky = task_end::flaky_counts{0, 2};
  CHECK(row_of(e).ends_with("shop#build  flaky - failed 2× before · 3 attempts"));
}

TEST_CASE("the hash line is outcome, id and whole key") {
  CHECK(hash_line(shop(), ended(task_status::hit_local)) == "restored-local shop#build 0a1b2c3d4e5f60718293a4b5c6d7e8f9");
  task_end e = ended(task_status::skipped);
  e.hash.clear();
  CHECK(hash_line(shop(), e) == "skipped shop#build -");
}

TEST_CASE("with colour the text is the same once escapes are taken out") {
  const palette colours(true);
  for (const task_status status :
       {task_status::success, task_status::hit_local, task_status::failed, task_status::skipped, task_status::aborted}) {
    const std::string coloured = task_row(shop(), ended(status), colours);
    std::string plain;
    escape_stripper().feed(coloured, plain);
    CHECK(coloured != plain);
    CHECK(plain == row_of(ended(status)));
  }
}
