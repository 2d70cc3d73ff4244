#include "cli/verbs.hpp"

#include <array>
#include <utility>

namespace vx::cli {
namespace {

constexpr flag_spec k_filter{
    "--filter", "", takes::value, form::text, "PATTERN", "", true, false, "projects by name, path, tag or graph; repeatable"};
constexpr flag_spec k_affected{
    "--affected", "", takes::optional, form::text, "BASE", "", false, true, "what a change since BASE reaches"};
constexpr flag_spec k_format{
    "--format", "", takes::value, form::word, "pretty|json", "pretty|json", false, false, "json: one document on stdout"};

constexpr std::array k_run_flags{
    k_filter,
    flag_spec{"--all", "", takes::nothing, form::text, "", "", false, false, "every project that declares the task"},
    k_affected,
    flag_spec{"--exclude-dependencies", "--only", takes::optional, form::list, "A,B", "", false, false,
              "run without dependencies, or without those named"},
    flag_spec{"--concurrency", "", takes::value, form::share, "N|N%", "", false, false,
              "tasks at a time (default: usable CPUs)"},
    flag_spec{"--no-cache", "", takes::nothing, form::text, "", "", false, false, "read and write no cache, clean no outputs"},
    flag_spec{"--force", "", takes::nothing, form::text, "", "", false, false, "run everything, then save"},
    flag_spec{"--cache", "", takes::value, form::text, "SPEC", "", false, false,
              "cache axes, for example local:r or local:rw,remote:r"},
    flag_spec{"--cache-dir", "", takes::value, form::path, "DIR", "", false, false, "the whole store, relative to here"},
    flag_spec{"--retry", "", takes::value, form::count, "N", "", false, false, "extra attempts after a failure"},
    flag_spec{"--continue", "", takes::optional, form::word, "never|deps-ok|always", "never|deps-ok|always", false, false,
              "what runs after a failure (default deps-ok; bare: always)"},
    flag_spec{"--timeout", "", takes::value, form::milliseconds, "MS", "", false, false, "for tasks that set none"},
    flag_spec{"--output-logs", "", takes::value, form::word, "MODE", "full|errors-only|hash-only|none", false, false,
              "full, errors-only, hash-only or none"},
    flag_spec{"--verbosity", "", takes::value, form::count, "N", "", false, false, "1: a table of all tasks above the footer"},
    flag_spec{"--dry", "", takes::optional, form::word, "text|json", "text|json", false, false, "show the plan, run nothing"},
    k_format,
    flag_spec{"--summarize", "", takes::optional, form::text, "PATH", "", false, true,
              "write the summary document (default .vx/runs/<id>.json)"},
    flag_spec{"--tag", "", takes::value, form::label, "K=V", "", true, false, "label this run; repeatable"},
};

constexpr std::array k_show_flags{k_filter, k_format};

constexpr flag_spec k_store{
    "--cache-dir", "", takes::value, form::path, "DIR", "", false, false, "another store, relative to here; it must exist"};

constexpr std::array k_why_flags{
    flag_spec{"--run", "", takes::value, form::text, "RUNID", "", false, false,
              "that run, not the newest; a unique prefix will do"},
    k_format,
    k_store,
};

constexpr std::array k_last_flags{
    flag_spec{"--list", "", takes::optional, form::positive, "N", "", false, false,
              "the newest N runs, a line each (default 10)"},
    flag_spec{"--failed", "", takes::nothing, form::text, "", "", false, false,
              "the newest failed run; with --list only failed ones"},
    flag_spec{"--log", "", takes::value, form::text, "TASK", "", false, false, "what that task printed"},
    k_format,
    k_store,
};

constexpr std::array k_info_flags{k_format, k_store};

constexpr std::array k_cache_flags{
    flag_spec{"--older-than", "", takes::value, form::text, "D", "", false, false,
              "prune: entries unused for longer, for example 30d or 12h"},
    flag_spec{"--max-size", "", takes::value, form::text, "S", "", false, false,
              "prune: then the least recently used, until the store is at most S, for example 10G"},
    flag_spec{"--dry-run", "", takes::nothing, form::text, "", "", false, false, "prune: say what would go, remove nothing"},
    k_format,
    k_store,
};

constexpr std::string_view k_run_details =
    "Names\n"
    "  build             the task of the project you are in, or of every selected one\n"
    "  shop#build        that task of that project, whatever is selected\n"
    "  //#build          the root project's task\n"
    "\n"
    "Filters\n"
    "  shop, @acme/*     by name          ./apps, {apps/**}   by directory\n"
    "  tag:web           by tag           shop...  ...shop    with dependencies, with dependents\n"
    "  [main]            changed          !shop               excluded\n"
    "\n"
    "Everything after the first -- goes to the requested tasks' commands.\n"
    "\n"
    "Exit code: 0 all passed; 1 something failed, was skipped or was refused; 130, 143, 129 stopped by a signal.\n";

constexpr std::string_view k_show_details =
    "  vx show                 all projects\n"
    "  vx show shop            one project and its tasks\n"
    "  vx show shop#build      one task\n"
    "  vx show build           that task wherever it is declared\n";

constexpr std::string_view k_why_details =
    "  vx why build            of the project you are in, or of the only one that ran it\n"
    "  vx why shop#build       why its newest recorded run executed, or was served\n"
    "  vx why shop#build --run 01b2c3d4\n"
    "\n"
    "It compares recorded runs: no config is evaluated, nothing is hashed.\n";

constexpr std::string_view k_last_details =
    "  vx last                 the newest run\n"
    "  vx last 01b2c3d4        that run; a unique prefix will do\n"
    "  vx last --list 20       the newest 20\n"
    "  vx last --failed        the newest failed run\n"
    "  vx last --log shop#test [RUNID]\n"
    "                          what that task printed\n";

constexpr std::string_view k_cache_details =
    "  vx cache stats                       what the store holds, by project\n"
    "  vx cache prune --older-than 30d      what nobody used for 30 days goes\n"
    "  vx cache prune --max-size 5G         the least recently used go, until 5 GB are left\n"
    "\n"
    "Prune waits for a run of this workspace to end. Runs prune by `cacheRetention` of vx.workspace by themselves.\n";

constexpr std::size_t k_many = static_cast<std::size_t>(-1);

constexpr std::array<verb_spec, 8> k_verbs{{
    {"run", "run [OPTIONS] [TASK | PKG#TASK ...] [-- args...]", "run tasks, in order, cached", k_run_flags, k_many, true,
     k_run_details},
    {"show", "show [PROJECT[#TASK] | TASK] [--filter F] [--format pretty|json]", "projects and their resolved tasks",
     k_show_flags, 1, false, k_show_details},
    {"why", "why (TASK | PKG#TASK) [--run RUNID] [--format pretty|json] [--cache-dir P]",
     "why a task ran, or was served from cache", k_why_flags, 1, false, k_why_details},
    {"last", "last [RUNID] [--list[=N]] [--failed] [--log TASK] [--format pretty|json] [--cache-dir P]",
     "recorded runs and what their tasks printed", k_last_flags, 1, false, k_last_details},
    {"info", "info [--format pretty|json] [--cache-dir P]", "what vx found and uses here", k_info_flags, 0, false, ""},
    {"cache",
     "cache prune [--older-than D] [--max-size S] [--dry-run] [--format pretty|json] [--cache-dir P]\n"
     "  vx cache stats [--format pretty|json] [--cache-dir P]",
     "the store: figures, and removing what is not used", k_cache_flags, 1, false, k_cache_details},
    {"help", "help [VERB]", "this text, or a verb's", {}, 1, false, ""},
    {"version", "version", "the version", {}, 0, false, ""},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> k_pointers{{
    {"stats", "use `vx cache stats`"},
    {"history", "use `vx last --list`"},
    {"prune", "use `vx cache prune`"},
    {"run-many", "use `vx run TASK --all`"},
    {"affected", "use `vx run TASK --affected`"},
    {"graph", "use `vx run TASK --dry`"},
    {"ls", "use `vx show`"},
    {"query", "use `vx show`"},
    {"docs", "use `vx help`"},
    {"upgrade", "use the package manager that installed vx"},
    {"reset", "nothing to reset: there is no daemon, and `vx run --force` runs everything again"},
    {"daemon", "there is no daemon"},
    {"login", "remote caches are set in vx.workspace under `remoteCache`, with tokens in environment variables"},
    {"logout", "remote caches are set in vx.workspace under `remoteCache`, with tokens in environment variables"},
    {"link", "remote caches are set in vx.workspace under `remoteCache`"},
    {"unlink", "remote caches are set in vx.workspace under `remoteCache`"},
}};

}  // namespace

std::span<const verb_spec> verbs() { return k_verbs; }

const verb_spec* find_verb(std::string_view name) {
  for (const verb_spec& verb : k_verbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

const flag_spec* find_flag(const verb_spec& verb, std::string_view name) {
  for (const flag_spec& flag : verb.flags) {
    if (flag.name == name || (!flag.alias.empty() && flag.alias == name)) return &flag;
  }
  return nullptr;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> out;
  for (const verb_spec& verb : k_verbs) out.emplace_back(verb.name);
  return out;
}

std::vector<std::string> flag_names(const verb_spec& verb) {
  std::vector<std::string> out;
  for (const flag_spec& flag : verb.flags) {
    out.emplace_back(flag.name);
    if (!flag.alias.empty()) out.emplace_back(flag.alias);
  }
  out.emplace_back("--help");
  return out;
}

std::string_view pointer_for(std::string_view word) {
  for (const auto& [name, text] : k_pointers) {
    if (name == word) return text;
  }
  return {};
}

}  // namespace vx::cli
