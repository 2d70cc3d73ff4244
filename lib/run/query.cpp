#include "run/query.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "run/cache_report.hpp"
#include "run/info.hpp"
#include "run/last.hpp"
#include "run/plan.hpp"
#include "run/request.hpp"
#include "run/show.hpp"
#include "run/why.hpp"

namespace vx::run {
namespace {

using host_ptr = std::shared_ptr<const host>;

/// The fields of a request. Each is asked for once by its name; what nobody asked for is refused at the end.
class fields {
 public:
  explicit fields(const json::value& request) : request_(request), names_{"query"} {}

  std::optional<std::string> text(const char* name) {
    const json::value* v = find(name);
    if (v == nullptr) return std::nullopt;
    if (v->is_string()) return v->as_string();
    refuse(name, "must be a string");
    return std::nullopt;
  }
  bool flag(const char* name) {
    const json::value* v = find(name);
    if (v == nullptr) return false;
    if (v->is_bool()) return v->as_bool();
    refuse(name, "must be a boolean");
    return false;
  }
  std::optional<std::uint64_t> count(const char* name, std::int64_t least, std::int64_t most) {
    const json::value* v = find(name);
    if (v == nullptr) return std::nullopt;
    if (v->is_int() && v->as_int() >= least && v->as_int() <= most) return static_cast<std::uint64_t>(v->as_int());
    refuse(name, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  std::vector<std::string> texts(const char* name, const char* of) {
    std::vector<std::string> out;
    const json::value* v = find(name);
    if (v == nullptr) return out;
    if (!v->is_array() ||
        !std::all_of(v->as_array().begin(), v->as_array().end(), [](const json::value& i) { return i.is_string(); })) {
      refuse(name, std::string("must be an array of ") + of);
      return out;
    }
    for (const json::value& item : v->as_array()) out.push_back(item.as_string());
    return out;
  }

  status done() const {
    for (const json::member& m : request_.as_object()) {
      if (std::find(names_.begin(), names_.end(), m.name) != names_.end()) continue;
      return fail(errc::USAGE, "request has no field " + text::escape(m.name) + text::did_you_mean(m.name, names_));
    }
    return wrong_.empty() ? status{} : status(fail(errc::USAGE, wrong_));
  }

 private:
  const json::value* find(const char* name) {
    names_.emplace_back(name);
    return request_.get(name);
  }
  void refuse(const char* name, const std::string& why) {
    if (wrong_.empty()) wrong_ = std::string("request field ") + name + " " + why;
  }

  const json::value& request_;
  std::vector<std::string> names_;
  std::string wrong_;
};

result<json::value> ask_plan(host_ptr h, const json::value& request, const cancel_token* cancel) {
  VX_TRY_LET(run_request run, parse_run_request(request, {"query"}));
  return plan(std::move(h), std::move(run), cancel);
}

result<json::value> ask_show(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  show_request q;
  const std::optional<std::string> target = f.text("target");
  q.has_target = target.has_value();
  q.target = target.value_or(std::string());
  q.filters = f.texts("filter", "filters");
  VX_TRY(f.done());
  return show(std::move(h), q, cancel);
}

result<json::value> ask_list_tasks(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  const std::vector<std::string> filters = f.texts("filter", "filters");
  VX_TRY(f.done());
  return list_tasks(std::move(h), filters, cancel);
}

result<json::value> ask_why(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  why_request q;
  q.task = f.text("task").value_or(std::string());
  q.run = f.text("run");
  q.cache_dir = f.text("cacheDir");
  VX_TRY(f.done());
  if (q.task.empty()) return fail(errc::USAGE, "why needs a task: `build` or `shop#build`");
  return why(std::move(h), q, cancel);
}

result<json::value> ask_last(host_ptr h, const json::value& request, const cancel_token* cancel) {
  constexpr std::int64_t k_list_most = 100'000;
  fields f(request);
  last_request q;
  q.run = f.text("run");
  q.list = f.count("list", 1, k_list_most);
  q.failed = f.flag("failed");
  q.log = f.text("log");
  q.cache_dir = f.text("cacheDir");
  VX_TRY(f.done());
  return last(std::move(h), q, cancel);
}

result<json::value> ask_info(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  const std::optional<std::string> cache_dir = f.text("cacheDir");
  VX_TRY(f.done());
  return info(std::move(h), cache_dir, cancel);
}

result<json::value> ask_cache_stats(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  const std::optional<std::string> cache_dir = f.text("cacheDir");
  VX_TRY(f.done());
  return cache_stats(std::move(h), cache_dir, cancel);
}

result<json::value> ask_prune_cache(host_ptr h, const json::value& request, const cancel_token* cancel) {
  fields f(request);
  prune_request q;
  q.older_than = f.text("olderThan");
  q.max_size = f.text("maxSize");
  q.dry_run = f.flag("dryRun");
  if (const auto wait = f.count("waitMs", 0, 2147483647)) q.wait_ms = static_cast<std::uint32_t>(*wait);
  q.cache_dir = f.text("cacheDir");
  VX_TRY(f.done());
  return prune_cache(std::move(h), q, cancel);
}

struct question {
  const char* name;
  result<json::value> (*ask)(host_ptr, const json::value&, const cancel_token*);
};
constexpr std::array<question, 8> k_questions{{
    {"cache-stats", ask_cache_stats},
    {"info", ask_info},
    {"last", ask_last},
    {"list-tasks", ask_list_tasks},
    {"plan", ask_plan},
    {"prune-cache", ask_prune_cache},
    {"show", ask_show},
    {"why", ask_why},
}};

}  // namespace

result<json::value> answer_query(std::shared_ptr<const host> h, const json::value& request, const cancel_token* cancel) {
  std::vector<std::string> known;
  for (const question& q : k_questions) known.emplace_back(q.name);
  const json::value* name = request.get("query");
  if (name == nullptr || !name->is_string())
    return fail(errc::USAGE, "request needs the field query: " + text::list_some(known, known.size()));
  for (const question& q : k_questions)
    if (name->as_string() == q.name) return q.ask(std::move(h), request, cancel);
  return fail(errc::USAGE,
              "there is no query " + text::escape(name->as_string(), true) + text::did_you_mean(name->as_string(), known));
}

}  // namespace vx::run
