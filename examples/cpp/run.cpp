// Runs tasks of a workspace and shows them as they go: the observer of vx/workspace.h from C++.
//
//   usage: run <directory> <task>...
//
// Handles are held by unique_ptr, errors become exceptions at one place, and output is written as it comes, each line with its task.
// Calls of the observer never overlap, so it needs no lock.
#include <vx/vx.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

template <auto Free>
struct deleter {
  template <class T>
  void operator()(T* p) const noexcept {
    Free(p);
  }
};
using workspace = std::unique_ptr<vx_workspace, deleter<vx_workspace_free>>;
using run = std::unique_ptr<vx_run, deleter<vx_run_free>>;
using cancel = std::unique_ptr<vx_cancel, deleter<vx_cancel_free>>;

/// Turns a failed status into an exception that says what vx said. By reference: the call that gives `rc` sets `err`, and arguments have
/// no order.
void check(vx_status rc, vx_error*& err) {
  if (rc == VX_OK) return;
  const std::string text = std::string(vx_status_name(rc)) + ": " + vx_error_message(err);
  vx_error_free(err);
  err = nullptr;
  throw std::runtime_error(text);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// The value of a top-level member of a record. Records are made by libvx, one line each; a program with a JSON library would use it.
std::string_view member(std::string_view record, std::string_view name) {
  const std::string key = quoted(name) + ":";
  const std::size_t at = record.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = record.substr(at + key.size());
  if (!rest.starts_with('"')) return rest.substr(0, rest.find_first_of(",}"));
  return rest.substr(1, rest.find('"', 1) - 1);
}

struct console {
  std::map<std::string, std::string, std::less<>> names;  // by index
  std::map<std::uint32_t, std::string> unfinished;        // the last line of each task, while it has no end

  void record(std::string_view json) {
    const std::string_view kind = member(json, "kind");
    const std::string id(member(json, "taskId"));
    if (kind == "task.start") names[std::string(member(json, "index"))] = id;
    if (kind == "task.end") std::printf("%s: %s\n", id.c_str(), std::string(member(json, "status")).c_str());
  }
  void text(std::uint32_t task, std::string_view bytes) {
    std::string& line = unfinished[task].append(bytes);
    for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
      std::printf("%s | %s\n", names[std::to_string(task)].c_str(), line.substr(0, end).c_str());
      line.erase(0, end + 1);
    }
  }
};

vx_cancel* stop_request = nullptr;
void on_signal(int signal) { vx_cancel_request(stop_request, signal); }  // this call is made for signal handlers

int run_tasks(const char* directory, const std::string& request) {
  vx_error* err = nullptr;
  vx_workspace* opened = nullptr;
  check(vx_workspace_open(directory, nullptr, &opened, &err), err);
  const workspace ws(opened);
  vx_cancel* token = nullptr;
  check(vx_cancel_new(&token, &err), err);
  const cancel stop(token);
  stop_request = token;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  console show;
  vx_observer observer = VX_OBSERVER_INIT;
  observer.user_data = &show;
  observer.event = [](void* self, const char* json, size_t size) { static_cast<console*>(self)->record({json, size}); };
  observer.output = [](void* self, uint32_t task, int32_t, const void* data, size_t size, uint32_t) {
    static_cast<console*>(self)->text(task, {static_cast<const char*>(data), size});
  };
  vx_run* started = nullptr;
  check(vx_run_start(ws.get(), request.c_str(), &observer, token, &started, &err), err);
  const run going(started);
  check(vx_run_wait(going.get(), nullptr, &err), err);
  return vx_run_exit_code(going.get());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run <directory> <task>...\n");
    return 2;
  }
  std::string tasks;
  for (int i = 2; i < argc; ++i) tasks += (i > 2 ? "," : "") + quoted(argv[i]);
  try {
    return run_tasks(argv[1], "{\"all\":true,\"tasks\":[" + tasks + "]}");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "run: %s\n", e.what());
    return 2;
  }
}
