#include "workspace/evaluator_host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/fs.hpp"
#include "base/path.hpp"
#include "base/quiet_write.hpp"
#include "base/racy.hpp"
#include "base/text.hpp"
#include "workspace/schema.hpp"

namespace vx::workspace {
namespace {

constexpr std::int64_t k_ms = 1'000'000;
constexpr std::int64_t k_start_ns = 30'000 * k_ms;  // until the runtime says hello
constexpr std::uint32_t k_reply_max = std::uint32_t{256} << 20;

void set_nonblocking(const unique_fd& fd) noexcept { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

std::string relative(std::string_view root, std::string_view p) {
  if (path::is_within(p, root)) return std::string(path::relative_to(p, root));
  return std::string(p);
}

std::int64_t number_of(const json::value* v) {
  if (v == nullptr) return 0;
  if (v->is_int()) return v->as_int();
  if (!v->is_string()) return 0;
  // Nanosecond stamps exceed what a JavaScript number holds, so they arrive as text.
  const std::string& s = v->as_string();
  const bool negative = s.starts_with('-');
  std::int64_t n = 0;
  for (const char c : std::string_view(s).substr(negative ? 1 : 0)) {
    if (c < '0' || c > '9' || n > (std::int64_t{1} << 62) / 5) return 0;
    n = n * 10 + (c - '0');
  }
  return negative ? -n : n;
}

std::string text_of(const json::value* v) { return v != nullptr && v->is_string() ? v->as_string() : std::string(); }

bool read_fact(const json::value& v, std::string_view root, evaluation& to) {
  fact f;
  const std::string kind = text_of(v.get("k"));
  f.path = relative(root, text_of(v.get("p")));
  f.size = static_cast<std::uint64_t>(number_of(v.get("s")));
  f.mtime_ns = number_of(v.get("m"));
  f.ctime_ns = number_of(v.get("c"));
  f.ino = static_cast<std::uint64_t>(number_of(v.get("i")));
  f.mode = static_cast<std::uint32_t>(number_of(v.get("n")));
  if (kind == "file") {
    f.what = fact::kind::file;
    std::array<std::byte, 20> raw{};
    if (from_hex(text_of(v.get("h")), raw)) f.value = as_text(raw);
    if (fs::is_racy(fs::timestamp::from_ns(f.ctime_ns), number_of(v.get("t")) * k_ms)) to.racy = true;
  } else if (kind == "absent") {
    f.what = fact::kind::absent;
  } else if (kind == "exists") {
    f.what = fact::kind::exists;
  } else if (kind == "stat") {
    f.what = fact::kind::stat;
    const json::value* follow = v.get("f");
    f.ino = follow != nullptr && follow->is_bool() && follow->as_bool() ? 1 : 0;
  } else if (kind == "link") {
    f.what = fact::kind::link;
    f.value = text_of(v.get("v"));
  } else if (kind == "dir") {
    f.what = fact::kind::dir;
    std::vector<fs::dir_entry> entries;
    const json::value* list = v.get("e");
    if (list == nullptr || !list->is_array()) return false;
    for (const json::value& e : list->as_array()) {
      if (!e.is_array() || e.as_array().size() != 2) return false;
      entries.push_back({text_of(&e.as_array()[0]), static_cast<fs::kind>(number_of(&e.as_array()[1]))});
    }
    f.value = dir_text(std::move(entries));
  } else if (kind == "env" || kind == "env_all") {
    f.what = kind == "env" ? fact::kind::env : fact::kind::env_all;
    f.path = text_of(v.get("p"));
  } else {
    return false;
  }
  to.facts.push_back(std::move(f));
  return true;
}

}  // namespace

result<std::string> find_runtime(const environment& env, std::string_view config) {
  const auto refuse = [&](const std::string& what) {
    return fail(schema::file_failure(
        config, what + ": set VX_NODE to one, write the config as .json or .jsonc, or run a locked workspace with --frozen"));
  };
  if (const std::string* given = env.find("VX_NODE"); given != nullptr && !given->empty()) {
    const std::string found = find_program(env, *given);
    if (found.empty()) return refuse("VX_NODE names " + *given + ", which is no program");
    return found;
  }
  const std::string node = find_program(env, "node");
  if (node.empty()) return refuse("needs a JavaScript runtime, and there is no `node` on PATH");
  return node;
}

std::int64_t evaluator_host::deadline_ns() const {
  constexpr std::uint64_t k_default_ms = 30'000;
  const auto given = text::parse_uint(options_.env->get("VX_CONFIG_WORKER_TIMEOUT_MS"));
  const std::uint64_t ms = given && *given > 0 ? std::min<std::uint64_t>(*given, 2147483647) : k_default_ms;
  return static_cast<std::int64_t>(ms) * k_ms;
}

status evaluator_host::start(std::string_view config) {
  unique_fd requests, replies;
  int e = make_pipe(requests, to_child_);
  if (e == 0) e = make_pipe(from_child_, replies);
  if (e != 0) return fail_sys(e, "cannot make a pipe to", "the config evaluator");
  set_nonblocking(to_child_);
  set_nonblocking(from_child_);
  subprocess_options o;
  o.program = options_.runtime;
  const std::string name(path::base_name(options_.runtime));
  if (name.starts_with("deno")) {
    o.args = {"eval", "--ext=mjs", std::string(k_evaluator_script)};
  } else if (name.starts_with("bun")) {
    o.args = {"-e", std::string(k_evaluator_script)};
  } else {
    o.args = {"--no-warnings",
              "--experimental-vm-modules",
              "--experimental-import-meta-resolve",
              "--input-type=module",
              "-e",
              std::string(k_evaluator_script)};
  }
  o.cwd = options_.root;
  o.stderr_to_host = true;
  o.stdout_to_stderr = true;
  o.pipe_stdout = false;
  o.extra_fds = {{3, requests.get()}, {4, replies.get()}};
  environment env = *options_.env;
  json::object held;
  // An extra certificate file can triple the start of the runtime; configs still see the variable.
  if (const std::string* certs = env.find("NODE_EXTRA_CA_CERTS")) {
    held.add("NODE_EXTRA_CA_CERTS", *certs);
    env.unset("NODE_EXTRA_CA_CERTS");
  }
  o.env = env.to_block();
  auto child = subprocess::start(o);
  if (!child) return fail(schema::file_failure(config, "the JavaScript runtime does not start: " + child.error().message));
  child_.emplace(std::move(*child));
  started_ = true;
  inbox_.clear();
  json::object init;
  init.add("root", options_.root);
  init.add("env", json::value(std::move(held)));
  VX_TRY(send(json::value(std::move(init))));
  wire_end why{};
  auto hello = receive(mono_ns() + k_start_ns, why);
  if (!hello && why == wire_end::cancelled) return fail(errc::CANCELLED, "cancelled");
  if (!hello || hello->get("hello") == nullptr) {
    stop();
    return fail(
        schema::file_failure(config, options_.runtime + " can't evaluate configs: Node 18.19 or later, bun or deno is needed"));
  }
  return {};
}

status evaluator_host::send(const json::value& message) {
  const std::string body = json::write(message);
  byte_writer frame;
  frame.text32(body);
  std::string_view left = frame.str();
  while (!left.empty()) {
    const ssize_t n = quiet_write(to_child_.get(), left);
    if (n > 0) {
      left.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd p[2] = {{to_child_.get(), POLLOUT, 0}, {options_.cancel != nullptr ? options_.cancel->fd() : -1, POLLIN, 0}};
      (void)::poll(p, 2, 1000);
      if (options_.cancel != nullptr && options_.cancel->requested()) return fail(errc::CANCELLED, "cancelled");
      continue;
    }
    return fail_sys(errno, "cannot write to", "the config evaluator");
  }
  return {};
}

bool evaluator_host::read_some(std::int64_t deadline_ns, wire_end& why) {
  while (true) {
    if (options_.cancel != nullptr && options_.cancel->requested()) {
      why = wire_end::cancelled;
      return false;
    }
    const std::int64_t left = deadline_ns - mono_ns();
    if (left <= 0) {
      why = wire_end::expired;
      return false;
    }
    pollfd p[2] = {{from_child_.get(), POLLIN, 0}, {options_.cancel != nullptr ? options_.cancel->fd() : -1, POLLIN, 0}};
    (void)::poll(p, 2, static_cast<int>(std::min<std::int64_t>(left / k_ms + 1, 60'000)));
    if (p[0].revents == 0) continue;
    char buffer[65536];
    const ssize_t n = ::read(from_child_.get(), buffer, sizeof buffer);
    if (n > 0) {
      inbox_.append(buffer, static_cast<std::size_t>(n));
      return true;
    }
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    why = wire_end::closed;
    return false;
  }
}

result<json::value> evaluator_host::receive(std::int64_t deadline_ns, wire_end& why) {
  while (true) {
    if (inbox_.size() >= 4) {
      byte_reader r(inbox_);
      const std::uint32_t size = r.u32();
      if (size > k_reply_max) return fail(errc::CORRUPT, "the config evaluator sent no reply");
      if (r.remaining() >= size) {
        const std::string_view body = r.raw(size);
        json::parse_options lax;
        lax.refuse_duplicates = false;  // written by JSON.stringify
        auto v = json::parse(body, lax);
        inbox_.erase(0, std::size_t{4} + size);
        if (!v) return fail(errc::CORRUPT, "the config evaluator sent no JSON");
        return std::move(*v);
      }
    }
    if (!read_some(deadline_ns, why)) return fail(errc::IO, "the config evaluator is gone");
  }
}

failure evaluator_host::lost(const std::string& file, wire_end why) {
  if (why == wire_end::cancelled) return failure{errc::CANCELLED, 0, "cancelled", {}, {}};
  if (why == wire_end::expired) {
    stop();
    return schema::file_failure(file, "is not evaluated after " + text::format_duration_ns(deadline_ns()) +
                                          " (VX_CONFIG_WORKER_TIMEOUT_MS): the runtime was killed");
  }
  std::string how = "ended";
  if (child_) {
    if (const auto st = child_->wait(); st) {
      how = WIFSIGNALED(*st) ? "was killed by signal " + std::to_string(WTERMSIG(*st))
                             : "ended with exit code " + std::to_string(WEXITSTATUS(*st));
    }
  }
  stop();
  return schema::file_failure(file, "took the JavaScript runtime down: it " + how + " while evaluating this config");
}

failure evaluator_host::refused(const std::string& file, const json::value& error) {
  const std::string at = relative(options_.root, text_of(error.get("file")));
  std::string message = text_of(error.get("message"));
  const std::string& named = at.empty() ? file : at;
  if (named != file) message += " (loading " + file + ")";
  std::string text;
  if (auto raw = fs::read_file_at(fs::k_cwd, path::join(options_.root, named)); raw && !named.starts_with('/'))
    text = std::move(*raw);
  const auto line = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(error.get("line")), 0, 1 << 24));
  const auto column = static_cast<std::uint32_t>(std::clamp<std::int64_t>(number_of(error.get("column")), 1, 1 << 24));
  return schema::located_failure(named, text, line, column, text_of(error.get("field")), message);
}

result<evaluation> evaluator_host::one(const std::string& file) {
  wire_end why{};
  const auto said = [&](const result<json::value>& m, const char* key) { return m && m->get(key) != nullptr; };
  auto begin = receive(mono_ns() + k_start_ns, why);
  if (!said(begin, "begin")) return fail(lost(file, why));
  auto reply = receive(mono_ns() + deadline_ns(), why);
  if (!reply) return fail(lost(file, why));
  if (const json::value* exit = reply->get("exit")) {
    stop();
    return fail(
        schema::file_failure(file, "calls process.exit(" + json::write(*exit) + "): a config must only export its data"));
  }
  evaluation out;
  if (const json::value* facts = reply->get("facts"); facts != nullptr && facts->is_array()) {
    for (const json::value& f : facts->as_array()) {
      if (!read_fact(f, options_.root, out)) out.racy = true;
    }
  }
  if (const json::value* list = reply->get("volatile"); list != nullptr && list->is_array()) {
    for (const json::value& v : list->as_array()) out.volatile_reasons.push_back(text_of(&v));
  }
  if (const json::value* error = reply->get("error")) return fail(refused(file, *error));
  const json::value* data = reply->get("json");
  if (data == nullptr || !data->is_string()) return fail(schema::file_failure(file, "yielded no data"));
  out.json = data->as_string();
  return out;
}

std::vector<result<evaluation>> evaluator_host::evaluate(const std::vector<std::string>& files) {
  std::vector<result<evaluation>> out;
  out.reserve(files.size());
  while (out.size() < files.size()) {
    const std::size_t from = out.size();
    const auto give_up = [&](const failure& f) {
      for (std::size_t i = from; i < files.size(); ++i) {
        failure own = f;
        if (f.code == errc::CONFIG && i != from)
          own = schema::file_failure(files[i], std::string_view(f.message).substr(files[from].size() + 2));
        out.emplace_back(fail(std::move(own)));
      }
    };
    if (!child_) {
      if (const status s = start(files[from]); !s) {
        give_up(s.error());
        return out;
      }
    }
    json::array list;
    for (std::size_t i = from; i < files.size(); ++i) list.emplace_back(path::join(options_.root, files[i]));
    json::object request;
    request.add("files", json::value(std::move(list)));
    if (const status s = send(json::value(std::move(request))); !s) {
      give_up(s.error());
      return out;
    }
    while (child_ && out.size() < files.size()) {
      out.push_back(one(files[out.size()]));
      if (!out.back() && out.back().error().code == errc::CANCELLED) {
        stop();
        while (out.size() < files.size()) out.emplace_back(fail(errc::CANCELLED, "cancelled"));
      }
    }
  }
  return out;
}

void evaluator_host::stop() {
  to_child_.reset();
  from_child_.reset();
  child_.reset();  // kills what is left of its group and reaps it
  inbox_.clear();
}

}  // namespace vx::workspace
