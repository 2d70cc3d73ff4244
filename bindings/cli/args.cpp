#include "cli/args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/text.hpp"

namespace vx::cli {
namespace {

constexpr std::uint64_t k_integer_max = std::uint64_t{1} << 53;
constexpr std::uint64_t k_timer_max = 2'147'483'647;

/// Plain decimal: no sign, fraction, exponent or space, nothing above 2^53.
std::optional<std::uint64_t> plain_integer(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || error != std::errc() || end != text.data() + text.size() || out > k_integer_max) return std::nullopt;
  return out;
}

std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    out.emplace_back(words.substr(0, bar));
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return out;
}

/// What is wrong with a value, or an empty string.
std::string fault_in(const flag_spec& flag, const std::string& value) {
  const auto got = [&](std::string_view wanted) {
    return fmt::format("{} needs {}, got \"{}\"", flag.name, wanted, printable(value));
  };
  switch (flag.value) {
    case form::count: return plain_integer(value) ? "" : got("a whole number from 0");
    case form::positive: return plain_integer(value).value_or(0) > 0 ? "" : got("a whole number from 1");
    case form::milliseconds: {
      const auto n = plain_integer(value);
      if (!n || *n == 0) return got("a positive integer of milliseconds");
      return *n > k_timer_max ? got("at most 2147483647 milliseconds") : "";
    }
    case form::share: {
      std::string_view digits = value;
      if (digits.ends_with('%')) digits.remove_suffix(1);
      return plain_integer(digits).value_or(0) > 0 ? "" : got("a positive integer or a share of the cores");
    }
    case form::label: {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos) return got("key=value");
      return equals == 0 ? got("a key before \"=\"") : "";
    }
    case form::word: {
      const std::vector<std::string> words = split_words(flag.words);
      if (std::find(words.begin(), words.end(), value) != words.end()) return "";
      const std::string near = closest(value, words);
      return got(join(words, ", ")) + (near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
    }
    case form::text:
    case form::path:
    case form::list: return "";
  }
  return "";
}

class parser {
 public:
  parser(const verb_spec& verb, std::vector<std::string> words) : words_(std::move(words)) { out_.verb = &verb; }

  std::variant<command_line, usage_error> run() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word == "--help" || word == "-h") {
        out_.help = true;
        continue;
      }
      if (word.starts_with('-')) {
        if (auto error = flag(word)) return *error;
      } else if (auto error = operand(word)) {
        return *error;
      }
    }
    return std::move(out_);
  }

 private:
  std::optional<usage_error> operand(const std::string& word) {
    if (word.empty()) return usage_error{out_.verb->name == "run" ? "an empty task name" : "an empty name"};
    out_.operands.push_back(word);
    if (out_.operands.size() > out_.verb->max_operands) return usage_error{fmt::format("unexpected word: {}", printable(word))};
    return std::nullopt;
  }

  std::optional<usage_error> flag(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const flag_spec* spec = find_flag(*out_.verb, name);
    if (spec == nullptr) return unknown(name);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    switch (spec->arity) {
      case takes::nothing: return bare(*spec, value);
      case takes::optional:
        if (value && value->empty() && spec->empty_is_bare) value.reset();
        break;
      case takes::value:
        if (!value) {
          if (at_ + 1 >= words_.size()) return usage_error{fmt::format("{} needs a value", name)};
          value = words_[++at_];
          if (spec->value == form::path && value->starts_with('-')) {
            return usage_error{
                fmt::format("{} needs a value, got \"{}\" (write {}={} if it is meant)", name, *value, name, *value)};
          }
        }
        break;
    }
    if (value && value->empty()) return usage_error{fmt::format("{} needs a value", name)};
    if (value) {
      if (std::string fault = fault_in(*spec, *value); !fault.empty()) return usage_error{std::move(fault)};
    }
    out_.flags.push_back({spec, std::move(value)});
    return std::nullopt;
  }

  std::optional<usage_error> bare(const flag_spec& spec, const std::optional<std::string>& value) {
    if (value && *value != "true" && *value != "false") {
      return usage_error{fmt::format("{} takes no value, got \"{}\"", spec.name, printable(*value))};
    }
    if (value.value_or("true") == "true") out_.flags.push_back({&spec, std::nullopt});
    return std::nullopt;
  }

  usage_error unknown(const std::string& name) const {
    std::string hint;
    if (name == "--json" && find_flag(*out_.verb, "--format") != nullptr) {
      hint = "--format json";
    } else if (hint = closest(name, flag_names(*out_.verb)); hint.empty()) {
      // A longer slip is forgiven when the beginning agrees: `--retries` for `--retry`.
      std::vector<std::string> similar;
      for (std::string& candidate : flag_names(*out_.verb)) {
        if (candidate.substr(0, 5) == name.substr(0, 5)) similar.push_back(std::move(candidate));
      }
      hint = closest(name, similar, 3);
    }
    return usage_error{
        fmt::format("unknown flag: {}{}", printable(name), hint.empty() ? "" : fmt::format(" (did you mean {}?)", hint))};
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  command_line out_;
};

std::optional<usage_error> conflict_of_last(const command_line& line) {
  const bool list = line.has("--list"), failed = line.has("--failed"), log = line.has("--log"), run = !line.operands.empty();
  if (log && list) return usage_error{"--log shows one task's output, so it cannot go with --list"};
  if (log && failed) return usage_error{"--log takes a run id after the task, so it cannot go with --failed"};
  if (list && run) return usage_error{fmt::format("--list cannot go with a run id: {}", printable(line.operands.front()))};
  if (failed && run) return usage_error{fmt::format("--failed cannot go with a run id: {}", printable(line.operands.front()))};
  return std::nullopt;
}

std::optional<usage_error> conflict_of_cache(const command_line& line) {
  if (line.operands.empty()) return usage_error{"missing word: `vx cache stats` or `vx cache prune`"};
  const std::string& word = line.operands.front();
  if (word == "prune") {
    if (line.has("--older-than") || line.has("--max-size")) return std::nullopt;
    return usage_error{"prune needs a bound: --older-than, --max-size or both"};
  }
  if (word != "stats") {
    return usage_error{fmt::format(
        "there is no `vx cache {}`: figures are `vx cache stats`, removing is `vx cache prune`, runs are `vx last --list`",
        printable(word))};
  }
  for (const std::string_view flag : {"--older-than", "--max-size", "--dry-run"}) {
    if (line.has(flag)) return usage_error{fmt::format("{} is for prune; stats takes --format and --cache-dir", flag)};
  }
  return std::nullopt;
}

/// `--list 20` means `--list=20`: a run id has no place beside it.
void take_list_count(command_line& line) {
  if (line.verb->name != "last" || !line.has("--list") || line.value("--list") || line.operands.empty()) return;
  if (plain_integer(line.operands.front()).value_or(0) == 0) return;
  for (given_flag& f : line.flags) {
    if (f.spec->name == "--list") f.value = line.operands.front();
  }
  line.operands.erase(line.operands.begin());
}

/// Combinations that exclude each other.
std::optional<usage_error> conflict(const command_line& line) {
  if (line.verb->name == "last") return conflict_of_last(line);
  if (line.verb->name == "cache") return conflict_of_cache(line);
  if (line.verb->name == "why" && line.operands.empty())
    return usage_error{"missing task name: `vx why build` or `vx why shop#build`"};
  if (line.verb->name != "run") return std::nullopt;
  if (line.has("--dry") && line.has("--summarize")) return usage_error{"--dry runs nothing, so it cannot go with --summarize"};
  if (line.has("--dry") && line.value("--format") == "json") return usage_error{"--format json is for runs; say --dry=json"};
  return std::nullopt;
}

}  // namespace

bool command_line::has(std::string_view flag) const {
  return std::any_of(flags.begin(), flags.end(), [&](const given_flag& f) { return f.spec->name == flag; });
}

std::optional<std::string> command_line::value(std::string_view flag) const {
  std::optional<std::string> out;
  for (const given_flag& f : flags) {
    if (f.spec->name == flag && f.value) out = f.value;
  }
  return out;
}

std::vector<std::string> command_line::values(std::string_view flag) const {
  std::vector<std::string> out;
  for (const given_flag& f : flags) {
    if (f.spec->name == flag && f.value) out.push_back(*f.value);
  }
  return out;
}

bool asks_json(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == "--format=json" || words[i] == "--dry=json" || words[i] == "--dry-run=json") return true;
    if (words[i] == "--format" && i + 1 < words.size() && words[i + 1] == "json") return true;
  }
  return false;
}

std::variant<command_line, usage_error> parse_verb(const verb_spec& verb, const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  auto translated = translate(verb, std::vector<std::string>(words.begin(), dashes));
  if (auto* error = std::get_if<usage_error>(&translated)) return *error;
  auto parsed = parser(verb, std::move(std::get<std::vector<std::string>>(translated))).run();
  auto* line = std::get_if<command_line>(&parsed);
  if (line == nullptr || line->help) return parsed;
  if (dashes != words.end()) {
    line->forwarded.assign(dashes + 1, words.end());
    if (!verb.forwards && !line->forwarded.empty()) return usage_error{"takes no arguments after --"};
  }
  take_list_count(*line);
  if (auto error = conflict(*line)) return *error;
  return parsed;
}

}  // namespace vx::cli
