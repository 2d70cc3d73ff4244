#include "exec/mask.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"

namespace vx::exec {
namespace {

constexpr std::size_t k_shortest = 6;
constexpr std::string_view k_stars = "***";

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return name.ends_with(e); });
}

bool is_blank(std::string_view value) { return text::trim(value).empty(); }

/// How a value looks inside single quotes, where each ' becomes '\''.
std::string quoted_spelling(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

void add_spellings(std::string_view value, std::vector<std::string>& out) {
  // A blank value would hide every indentation.
  if (value.size() < k_shortest || is_blank(value)) return;
  out.emplace_back(value);
  if (value.find('\'') != std::string_view::npos) out.push_back(quoted_spelling(value));
}

}  // namespace

bool is_secret_name(std::string_view name) noexcept {
  // Compared in upper case without allocating: names longer than the buffer keep their tail, which holds the endings.
  std::array<char, 256> buffer{};
  const std::size_t n = std::min(name.size(), buffer.size());
  for (std::size_t i = 0; i < n; ++i) {
    buffer[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[name.size() - n + i])));
  }
  const std::string_view upper(buffer.data(), n);
  if (ends_with_any(upper, {"_FILE", "_PATH", "_DIR"})) return false;
  constexpr std::string_view k_git = "GIT_CONFIG_KEY_";
  if (upper.starts_with(k_git) && upper.size() > k_git.size() &&
      upper.find_first_not_of("0123456789", k_git.size()) == std::string_view::npos) {
    return false;
  }
  for (const std::string_view part : {"TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL"}) {
    if (upper.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// Aho-Corasick. The state is the longest suffix of the text read so far that begins a value, so `depth` bytes are undecided
/// and everything before them is final. Children are sibling lists: values are long chains with hardly a fork.
struct mask::automaton {
  struct node {
    std::uint32_t child = 0, sibling = 0;  // 0 = none: the root is nobody's child
    std::uint32_t fail = 0;
    std::uint32_t depth = 0;
    std::uint32_t match = 0;  // length of the longest value that ends here, 0 = none
    unsigned char byte = 0;
  };
  std::vector<node> nodes{1};
  std::array<std::uint32_t, 256> first{};  // the root's children

  explicit automaton(const std::vector<std::string>& values) {
    for (const std::string& value : values) add(value);
    link();
  }

  std::uint32_t child_of(std::uint32_t state, unsigned char byte) const noexcept {
    if (state == 0) return first[byte];
    for (std::uint32_t c = nodes[state].child; c != 0; c = nodes[c].sibling) {
      if (nodes[c].byte == byte) return c;
    }
    return 0;
  }

  std::uint32_t step(std::uint32_t state, unsigned char byte) const noexcept {
    for (;;) {
      const std::uint32_t next = child_of(state, byte);
      if (next != 0 || state == 0) return next;
      state = nodes[state].fail;
    }
  }

 private:
  void add(std::string_view value) {
    std::uint32_t state = 0;
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      std::uint32_t next = child_of(state, byte);
      if (next == 0) {
        next = static_cast<std::uint32_t>(nodes.size());
        node fresh;
        fresh.sibling = state == 0 ? 0 : nodes[state].child;
        fresh.depth = nodes[state].depth + 1;
        fresh.byte = byte;
        nodes.push_back(fresh);
        if (state == 0) {
          first[byte] = next;
        } else {
          nodes[state].child = next;
        }
      }
      state = next;
    }
    nodes[state].match = nodes[state].depth;
  }

  /// Fail links by levels: a node's link is shallower, so it is complete when it is needed.
  void link() {
    std::vector<std::uint32_t> queue;
    for (const std::uint32_t c : first) {
      if (c != 0) queue.push_back(c);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t state = queue[i];
      for (std::uint32_t c = nodes[state].child; c != 0; c = nodes[c].sibling) {
        nodes[c].fail = step(nodes[state].fail, nodes[c].byte);
        if (nodes[c].match == 0) nodes[c].match = nodes[nodes[c].fail].match;
        queue.push_back(c);
      }
    }
  }
};

mask::mask(std::vector<std::string> values) {
  for (const std::string& value : values) {
    add_spellings(value, values_);
    if (value.find('\n') == std::string::npos) continue;
    for (const std::string_view line : text::split(value, '\n')) add_spellings(text::trim(line), values_);
  }
  std::sort(values_.begin(), values_.end(),
            [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  if (!values_.empty()) automaton_ = std::make_shared<const automaton>(values_);
}

mask mask::of(const environment& env, const std::vector<std::string>& extra_names) {
  std::vector<std::string> values;
  for (const auto& [name, value] : env.vars()) {
    if (value.size() < k_shortest) continue;
    if (is_secret_name(name) || std::find(extra_names.begin(), extra_names.end(), name) != extra_names.end()) {
      values.push_back(value);
    }
  }
  return mask(std::move(values));
}

mask mask::with(std::vector<std::string> more) const {
  more.insert(more.end(), values_.begin(), values_.end());
  return mask(std::move(more));
}

std::string mask::apply(std::string_view whole) const {
  if (empty()) return std::string(whole);
  mask_stream stream(*this);
  std::string out = stream.push(whole);
  out += stream.release();
  return out;
}

void mask_stream::hide(std::size_t begin, std::size_t end) {
  bool shown = false;
  while (!hidden_.empty() && hidden_.back().end > begin) {  // ends only grow, so overlaps are at the back
    begin = std::min(begin, hidden_.back().begin);
    shown = shown || hidden_.back().shown;
    hidden_.pop_back();
  }
  hidden_.push_back({begin, end, shown});
}

/// Appends text[0, cut) with the hidden parts replaced and makes the rest's offsets relative to `cut`.
void mask_stream::emit(std::string_view text, std::size_t cut, std::string& out) {
  std::size_t at = 0, kept = 0;
  for (hidden part : hidden_) {
    if (part.begin < cut) {
      out.append(text.substr(at, part.begin - at));
      if (!part.shown) out += k_stars;
      part.shown = true;
      at = std::min(part.end, cut);
    }
    if (part.end <= cut) continue;
    hidden_[kept++] = {std::max(part.begin, cut) - cut, part.end - cut, part.shown};
  }
  hidden_.resize(kept);
  out.append(text.substr(at, cut - at));
}

std::string mask_stream::push(std::string_view chunk) {
  if (mask_.empty()) return std::string(chunk);
  const mask::automaton& machine = *mask_.automaton_;
  std::string joined;
  std::string_view text = chunk;
  std::size_t at = held_.size();
  if (at != 0) {
    joined = std::move(held_);
    joined += chunk;
    text = joined;
  }
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (state_ == 0 && machine.first[byte] == 0) continue;
    state_ = machine.step(state_, byte);
    if (const std::uint32_t length = machine.nodes[state_].match; length != 0) hide(at + 1 - length, at + 1);
  }
  const std::size_t decided = text.size() - machine.nodes[state_].depth;
  std::string out;
  out.reserve(decided);
  emit(text, decided, out);
  held_ = std::string(text.substr(decided));
  return out;
}

std::string mask_stream::release() {
  std::string out;
  emit(held_, held_.size(), out);
  held_.clear();
  hidden_.clear();
  state_ = 0;
  return out;
}

output_masker::output_masker(const vx::exec::mask* m) {
  if (m == nullptr || m->empty()) return;
  lanes_.reserve(2);
  lanes_.push_back({mask_stream(*m), 0});
  lanes_.push_back({mask_stream(*m), 0});
}

void output_masker::push(int stream, std::string_view bytes, std::int64_t now_ns, const output_fn& sink) {
  if (lanes_.empty()) {
    sink(stream, bytes);
    return;
  }
  lane& one = lanes_[stream == 2 ? 1 : 0];
  one.last_ns = now_ns;
  const std::string shown = one.stream.push(bytes);
  if (!shown.empty()) sink(stream, shown);
}

std::int64_t output_masker::release_at() const noexcept {
  std::int64_t first = 0;
  for (const lane& one : lanes_) {
    if (one.stream.holding() && (first == 0 || one.last_ns + k_mask_idle_ns < first)) first = one.last_ns + k_mask_idle_ns;
  }
  return first;
}

void output_masker::release_idle(std::int64_t now_ns, const output_fn& sink) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lane& one = lanes_[i];
    if (!one.stream.holding() || one.last_ns + k_mask_idle_ns > now_ns) continue;
    const std::string shown = one.stream.release();
    if (!shown.empty()) sink(static_cast<int>(i) + 1, shown);
  }
}

void output_masker::finish(const output_fn& sink) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::string shown = lanes_[i].stream.release();
    if (!shown.empty()) sink(static_cast<int>(i) + 1, shown);
  }
}

}  // namespace vx::exec
