#include "workspace/filter.hpp"

#include "base/path.hpp"
#include "base/text.hpp"
#include "git/git.hpp"

namespace vx::workspace {

namespace {

tl::unexpected<failure> refuse(const filter& f, const std::string& why) {
  return fail(errc::USAGE, "the filter \"" + text::escape(f.raw, true) + "\" is not taken: " + why);
}

/// Whether brackets at the end belong to a path: after an unbraced `./path` they are a character class.
bool ends_in_path(std::string_view text) noexcept {
  if (text.starts_with("...")) text.remove_prefix(3);
  if (text.starts_with('^')) text.remove_prefix(1);
  return text.starts_with("./");
}

status set_path(filter& f, std::string_view where) {
  f.what = filter::subject::path;
  if (where.starts_with('/'))
    return refuse(f, "a path is relative to the workspace root; write ./" + std::string(where.substr(1)));
  std::string clean;
  if (!path::normalize_within(where, clean)) return refuse(f, "it leads out of the workspace; paths are relative to its root");
  f.text = clean == "." ? "" : clean;
  while (f.text.ends_with('/')) f.text.pop_back();
  return {};
}

status set_subject(filter& f, std::string_view x) {
  if (x == "//") {
    f.what = filter::subject::root;
  } else if (x == "." || x.starts_with("./")) {
    return set_path(f, x);
  } else if (x.starts_with('{')) {
    if (!x.ends_with('}')) return refuse(f, "braces hold a whole path; write ./" + std::string(x));
    if (x.size() == 2) return refuse(f, "the braces are empty");
    return set_path(f, x.substr(1, x.size() - 2));
  } else if (x.starts_with("tag:")) {
    if (x.size() == 4) return refuse(f, "the tag is empty");
    f.what = filter::subject::tag;
    f.text = x.substr(4);
  } else if (x.starts_with("../") || x == ".." || x.starts_with('/')) {
    return refuse(f, "paths are relative to the workspace root and stay in it; write ./dir");
  } else if (x.find_first_of("^[]!") != std::string_view::npos || x.find("...") != std::string_view::npos) {
    return refuse(f, "write X, X..., ...X, X^..., ...^X, [ref], X[ref], X...[ref] or ...[ref], with ! in front to exclude");
  } else {
    f.what = filter::subject::name;
    f.text = x;
  }
  return {};
}

}  // namespace

result<filter> parse_filter(std::string_view raw) {
  filter f;
  f.raw = raw;
  std::string_view x = raw;
  if (text::trim(x).empty()) return refuse(f, "it is empty");
  if (x.find('\0') != std::string_view::npos) return refuse(f, "it holds a NUL byte");
  if (x.starts_with('!')) {
    f.exclude = true;
    x.remove_prefix(1);
    if (x.empty()) return refuse(f, "nothing follows the !");
  }
  if (x.ends_with(']') && !ends_in_path(x)) {
    const auto open = x.rfind('[');
    if (open == std::string_view::npos) return refuse(f, "the ] has no [");
    f.ref = std::string(x.substr(open + 1, x.size() - open - 2));
    VX_TRY(git::check_ref(*f.ref));
    x = x.substr(0, open);
  }
  if (x.starts_with("...")) {
    f.dependents = true;
    x.remove_prefix(3);
    if (x.starts_with('^')) {
      f.without_self = true;
      x.remove_prefix(1);
    }
  }
  if (x.ends_with("...") && x != "...") {
    f.dependencies = true;
    x.remove_suffix(3);
    if (x.ends_with('^')) {
      f.without_self = true;
      x.remove_suffix(1);
    }
  }
  if (x.empty() || x == "...") {
    if (f.ref && !f.dependencies && !f.without_self && x.empty()) return f;
    return refuse(f, "it names no project; write a name, ./dir, {dir} or tag:name where the X of X... stands");
  }
  if (f.ref && (f.dependents || f.without_self)) {
    return refuse(f, "with a [ref] only X[ref], X...[ref] and ...[ref] are understood");
  }
  VX_TRY(set_subject(f, x));
  return f;
}

}  // namespace vx::workspace
