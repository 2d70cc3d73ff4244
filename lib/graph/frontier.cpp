#include "graph/frontier.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vx::graph::detail {

namespace {

constexpr std::uint32_t k_unset = 0xFFFFFFFFU;

}  // namespace

frontier::frontier(const catalog& c, std::string name, bool pattern)
    : c_(c), name_(std::move(name)), pattern_(pattern), held_(c.projects.size(), held::unknown), stamp_(c.projects.size(), 0) {}

bool frontier::matches(std::string_view task) const noexcept {
  return pattern_ ? text::star_match(name_, task) : task == name_;
}

bool frontier::is_holder(std::uint32_t project) {
  held& h = held_[project];
  if (h == held::unknown) {
    const catalog_project& p = c_.projects[project];
    const bool yes =
        pattern_ ? std::any_of(p.tasks.begin(), p.tasks.end(), [this](const catalog_task& t) { return matches(t.name); })
                 : p.find(name_) != nullptr;
    h = yes ? held::yes : held::no;
  }
  return h == held::yes;
}

bool frontier::declared_anywhere() {
  if (!declared_) {
    declared_ = false;
    for (std::uint32_t p = 0; p < c_.projects.size() && !*declared_; ++p) declared_ = is_holder(p);
  }
  return *declared_;
}

void frontier::add(std::uint32_t project, std::vector<std::uint32_t>& to) {
  if (stamp_[project] == epoch_) return;
  stamp_[project] = epoch_;
  to.push_back(project);
}

std::vector<std::uint32_t> frontier::holders(std::uint32_t project) {
  std::vector<std::uint32_t> lacking;
  for (const std::uint32_t d : c_.projects[project].order) {
    if (d == project || is_holder(d)) continue;
    resolve(d);
    lacking.push_back(set_of_[d]);
  }
  ++epoch_;
  stamp_[project] = epoch_;  // never an edge to itself
  std::vector<std::uint32_t> out;
  for (const std::uint32_t d : c_.projects[project].order) {
    if (is_holder(d)) add(d, out);
  }
  for (const std::uint32_t set : lacking) {
    for (const std::uint32_t p : sets_[set]) add(p, out);
  }
  return out;
}

void frontier::enter(std::uint32_t project, std::vector<frame>& frames) {
  index_[project] = low_[project] = ++counter_;
  open_.push_back(project);
  frames.push_back({project, 0});
}

/// Strongly connected groups of packages that lack the task, deepest first; explicit stack.
void frontier::resolve(std::uint32_t start) {
  if (set_of_.empty()) {
    set_of_.assign(c_.projects.size(), k_unset);
    index_.assign(c_.projects.size(), 0);
    low_.assign(c_.projects.size(), 0);
  }
  if (set_of_[start] != k_unset) return;
  std::vector<frame> frames;
  enter(start, frames);
  while (!frames.empty()) {
    frame& top = frames.back();
    const std::uint32_t at = top.project;
    const std::vector<std::uint32_t>& order = c_.projects[at].order;
    if (top.next < order.size()) {
      const std::uint32_t to = order[top.next++];
      if (is_holder(to) || set_of_[to] != k_unset) continue;
      if (index_[to] == 0)
        enter(to, frames);
      else
        low_[at] = std::min(low_[at], index_[to]);
      continue;
    }
    if (low_[at] == index_[at]) close_group(at);
    frames.pop_back();
    if (!frames.empty()) low_[frames.back().project] = std::min(low_[frames.back().project], low_[at]);
  }
}

void frontier::close_group(std::uint32_t head) {
  ++epoch_;
  std::vector<std::uint32_t> set;
  const auto first = std::find(open_.rbegin(), open_.rend(), head).base() - 1;
  std::uint32_t only = k_unset;  // the single set this group merely passes on
  bool passes_on = true;
  for (auto m = first; m != open_.end(); ++m) {
    for (const std::uint32_t d : c_.projects[*m].order) {
      if (is_holder(d)) {
        passes_on = false;
        add(d, set);
      } else if (const std::uint32_t below = set_of_[d]; below != k_unset) {
        passes_on = passes_on && (only == k_unset || only == below);
        only = below;
        for (const std::uint32_t p : sets_[below]) add(p, set);
      }
    }
  }
  std::uint32_t id = only;
  if (!passes_on || only == k_unset) {
    id = static_cast<std::uint32_t>(sets_.size());
    sets_.push_back(std::move(set));
  }
  for (auto m = first; m != open_.end(); ++m) set_of_[*m] = id;
  open_.erase(first, open_.end());
}

}  // namespace vx::graph::detail
