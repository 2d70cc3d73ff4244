#include "cli/foreign.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

enum class action : std::uint8_t {
  replace,    ///< by `text`; a value is passed on
  bare,       ///< by `text` alone; `=false` drops it
  drop,       ///< says what is the rule here anyway
  names,      ///< a comma list of task names
  filters,    ///< a comma list of project patterns
  excludes,   ///< a comma list of project patterns to leave out
  only_head,  ///< `HEAD` is dropped, anything else refused
  parallel,   ///< a number becomes --concurrency
  refuse,     ///< with `text`
};

struct rule {
  std::string_view name;
  action act;
  takes arity;
  std::string_view text;
};

constexpr std::string_view k_remote = "remote caches are set in vx.workspace under `remoteCache`; `--cache` chooses the axes";
constexpr std::string_view k_display = "the display is chosen with `--output-logs`";
constexpr std::string_view k_daemonless = "there is no daemon";
constexpr std::string_view k_cloudless = "there is no cloud service to switch";

constexpr rule k_rules[] = {
    {"-F", action::replace, takes::value, "--filter"},
    {"--exclude-task-dependencies", action::bare, takes::nothing, "--exclude-dependencies"},
    {"--ignore-depends-on", action::bare, takes::nothing, "--exclude-dependencies"},
    {"-t", action::names, takes::value, ""},
    {"--target", action::names, takes::value, ""},
    {"--targets", action::names, takes::value, ""},
    {"-p", action::filters, takes::value, ""},
    {"--projects", action::filters, takes::value, ""},
    {"--exclude", action::excludes, takes::value, ""},
    {"--base", action::replace, takes::value, "--affected="},
    {"--head", action::only_head, takes::value, "`--affected=<ref>` compares with the working tree"},
    {"-r", action::bare, takes::nothing, "--all"},
    {"--recursive", action::bare, takes::nothing, "--all"},
    {"-w", action::bare, takes::nothing, "--filter=//"},
    {"--workspace-root", action::bare, takes::nothing, "--filter=//"},
    {"--fail-if-no-match", action::drop, takes::nothing, ""},
    {"--dry-run", action::replace, takes::optional, "--dry"},
    {"--parallel", action::parallel, takes::value, "use `--concurrency N`"},
    {"--max-parallel", action::replace, takes::value, "--concurrency"},
    {"--concurrency-limit", action::replace, takes::value, "--concurrency"},
    {"--skip-nx-cache", action::bare, takes::nothing, "--force"},
    {"--nx-bail", action::bare, takes::nothing, "--continue=never"},
    {"--skip-remote-cache", action::bare, takes::nothing, "--cache=local:rw,remote:"},
    {"--scope", action::refuse, takes::value, "use `--filter`"},
    {"--since", action::refuse, takes::value, "use `--affected=<ref>`"},
    {"--uncommitted", action::refuse, takes::nothing, "use `--affected=HEAD`"},
    {"--untracked", action::refuse, takes::nothing, "use `--affected=HEAD`"},
    {"-c", action::refuse, takes::value, "declare a task per configuration"},
    {"--configuration", action::refuse, takes::value, "declare a task per configuration"},
    {"--color", action::refuse, takes::nothing, "set FORCE_COLOR=1"},
    {"--no-color", action::refuse, takes::nothing, "set NO_COLOR=1"},
    {"--heap", action::refuse, takes::nothing, "vx records no heap profile"},
    {"--trace", action::refuse, takes::nothing, "use `--summarize` for a record of the run"},
    {"--anon-profile", action::refuse, takes::nothing, "use `--summarize` for a record of the run"},
    {"--login", action::refuse, takes::value, k_remote},
    {"--token", action::refuse, takes::value, k_remote},
    {"--team", action::refuse, takes::value, k_remote},
    {"--api", action::refuse, takes::value, k_remote},
    {"--remote-only", action::refuse, takes::nothing, k_remote},
    {"--remote-cache-read-only", action::refuse, takes::nothing, k_remote},
    {"--remote-cache-timeout", action::refuse, takes::value, k_remote},
    {"--cwd", action::refuse, takes::value, "change directory first"},
    {"--env-mode", action::refuse, takes::value, "tasks see a fixed list and `exec.env.passThrough`, always"},
    {"--global-deps", action::refuse, takes::value, "declare `cache.inputs.workspaceFiles`"},
    {"--log-file", action::refuse, takes::value, "use `--summarize`"},
    {"--daemon", action::refuse, takes::nothing, k_daemonless},
    {"--no-daemon", action::refuse, takes::nothing, k_daemonless},
    {"--ui", action::refuse, takes::value, k_display},
    {"--log-order", action::refuse, takes::value, k_display},
    {"--log-prefix", action::refuse, takes::value, k_display},
    {"--output-style", action::refuse, takes::value, k_display},
    {"--tui", action::refuse, takes::nothing, k_display},
    {"--tui-auto-exit", action::refuse, takes::nothing, k_display},
    {"--verbose", action::refuse, takes::nothing, "use `--verbosity 1`"},
    {"--files", action::refuse, takes::value, "use `--affected`"},
    {"--batch", action::refuse, takes::nothing, "every task is one command"},
    {"--dte", action::refuse, takes::nothing, k_cloudless},
    {"--use-agents", action::refuse, takes::nothing, k_cloudless},
    {"--no-cloud", action::refuse, takes::nothing, k_cloudless},
    {"--nx-ignore-cycles", action::refuse, takes::nothing, "a cycle of tasks is always refused"},
    {"--skip-sync", action::refuse, takes::nothing, "there are no sync generators"},
    {"--runner", action::refuse, takes::value, "there is one runner"},
    {"--single-package", action::refuse, takes::nothing, "a package without members is found by itself"},
    {"--cache-workers", action::refuse, takes::value, "use `--concurrency`"},
    {"--preflight", action::refuse, takes::nothing, k_remote},
    {"--framework-inference", action::refuse, takes::nothing, "declare variables in `cache.inputs.env`"},
    {"--root-turbo-json", action::refuse, takes::value, "configuration is in vx.config and vx.workspace files"},
    {"--no-update-notifier", action::refuse, takes::nothing, "vx never looks for updates"},
    {"--last-details", action::refuse, takes::nothing, "use `vx last`"},
};

const rule* find_rule(std::string_view name) {
  for (const rule& r : k_rules) {
    if (r.name == name) return &r;
  }
  static constexpr rule k_otel{"--experimental-otel", action::refuse, takes::value, "telemetry is not configured by flags"};
  return name.starts_with("--experimental-otel-") ? &k_otel : nullptr;
}

/// `--outputLogs` means `--output-logs`.
std::string kebab(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) {
      out += '-';
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789%") == std::string_view::npos;
}

std::string filter_of(std::string_view pattern, bool exclude) {
  bool negated = exclude;
  if (!exclude && pattern.starts_with('!')) {
    negated = true;
    pattern.remove_prefix(1);
  }
  std::string value(pattern);
  if (pattern.starts_with("name:")) value = pattern.substr(5);
  if (pattern.starts_with("directory:")) value = "./" + std::string(pattern.substr(10));
  return "--filter=" + std::string(negated ? "!" : "") + value;
}

/// One pass over the words.
class translator {
 public:
  translator(const verb_spec& verb, const std::vector<std::string>& words) : verb_(verb), words_(words) {}

  std::variant<std::vector<std::string>, usage_error> run() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      if (auto error = word(words_[at_])) return *error;
    }
    return std::move(out_);
  }

 private:
  std::optional<usage_error> word(const std::string& raw) {
    if (raw.size() < 2 || raw[0] != '-') return keep(raw);
    const std::size_t equals = raw.find('=');
    std::string name = raw.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = raw.substr(equals + 1);
    if (name.starts_with("--") && find_flag(verb_, name) == nullptr) name = kebab(name);
    if (const flag_spec* flag = find_flag(verb_, name)) return own(*flag, name, value);
    const rule* r = verb_.flags.empty() ? nullptr : find_rule(name);
    if (r == nullptr) return keep(value ? name + "=" + *value : name);
    return apply(*r, name, value);
  }

  std::optional<usage_error> own(const flag_spec& flag, const std::string& name, std::optional<std::string> value) {
    if (value && flag.name == "--continue" && *value == "dependencies-successful") value = "deps-ok";
    if (value && flag.name == "--output-logs" && *value == "new-only")
      return refuse(name + "=new-only", "use `--output-logs=errors-only`");
    if (value) return keep(name + "=" + *value);
    keep(name);
    // A value that looks like a flag is still this flag's value.
    if (flag.arity == takes::value && at_ + 1 < words_.size()) {
      const std::string& next = words_[++at_];
      if (flag.name == "--output-logs" && next == "new-only")
        return refuse(name + " new-only", "use `--output-logs errors-only`");
      keep(next);
    }
    return std::nullopt;
  }

  std::optional<usage_error> apply(const rule& r, const std::string& name, std::optional<std::string> value) {
    if (r.act == action::refuse) return refuse(name, r.text);
    if (r.act == action::parallel) return parallel(name, value);
    if (r.act == action::bare || r.act == action::drop) {
      if (value && *value != "true" && *value != "false")
        return usage_error{fmt::format("{} takes no value, got \"{}\"", name, *value)};
      if (r.act == action::bare && value.value_or("true") == "true") keep(std::string(r.text));
      return std::nullopt;
    }
    if (r.arity == takes::optional) {
      if (value && *value == "false") return std::nullopt;
      return keep(value && *value != "true" ? fmt::format("{}={}", r.text, *value) : std::string(r.text));
    }
    if (!value) {
      if (at_ + 1 >= words_.size()) return usage_error{name + " needs a value"};
      value = words_[++at_];
    }
    if (value->empty()) return usage_error{name + " needs a value"};
    return with_value(r, name, *value);
  }

  std::optional<usage_error> with_value(const rule& r, const std::string& name, const std::string& value) {
    switch (r.act) {
      case action::names:
        for (std::string& task : split(value)) keep(std::move(task));
        return std::nullopt;
      case action::filters:
        if (value[0] == '!') keep("--filter=*");
        for (const std::string& pattern : split(value)) keep(filter_of(pattern, false));
        return std::nullopt;
      case action::excludes:
        for (const std::string& pattern : split(value)) keep(filter_of(pattern, true));
        return std::nullopt;
      case action::only_head: return value == "HEAD" ? std::nullopt : refuse(name + " " + value, r.text);
      default: return keep(std::string(r.text) + (r.text.ends_with('=') ? "" : "=") + value);
    }
  }

  std::optional<usage_error> parallel(const std::string& name, std::optional<std::string> value) {
    if (!value && at_ + 1 < words_.size() && is_number(words_[at_ + 1])) value = words_[++at_];
    if (value && *value == "false") return keep("--concurrency=1");
    if (!value || !is_number(*value)) return refuse(name, "use `--concurrency N`");
    return keep("--concurrency=" + *value);
  }

  std::optional<usage_error> keep(std::string word) {
    out_.push_back(std::move(word));
    return std::nullopt;
  }

  static std::optional<usage_error> refuse(const std::string& what, std::string_view advice) {
    return usage_error{fmt::format("{} is not a vx flag: {}", what, advice)};
  }

  const verb_spec& verb_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  std::vector<std::string> out_;
};

}  // namespace

std::variant<std::vector<std::string>, usage_error> translate(const verb_spec& verb, const std::vector<std::string>& words) {
  return translator(verb, words).run();
}

}  // namespace vx::cli
