// The table of exec.sandbox (config.md 6.6): shape only; what it means is the sandbox's business.
#include <algorithm>

#include "base/text.hpp"
#include "workspace/schema.hpp"

namespace vx::workspace::schema {
namespace {

bool is_grants(checker& c, const json::value& v, const field& f) {
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a string");
    if (is_blank(e.as_string())) return c.refuse(e, "must not be empty");
    return e.as_string().find('\0') == std::string::npos || c.refuse(e, "must not hold a NUL byte");
  });
}

bool host_word(std::string_view s) noexcept {
  if (s.empty() || s.front() == '-' || s.back() == '-') return false;
  return std::all_of(s.begin(), s.end(), [](unsigned char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '_';
  });
}

/// Why a host pattern is refused; empty = fine. `deny` may also name every host.
std::string host_fault(std::string_view pattern, bool deny) {
  if (pattern.find("://") != std::string_view::npos) return "has a scheme: write the host alone";
  if (pattern.find('/') != std::string_view::npos) return "has a path: write the host alone";
  std::string_view host = pattern;
  if (const std::size_t colon = pattern.find(':'); colon != std::string_view::npos) {
    const auto port = text::parse_uint(pattern.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return "has no valid port: write a number from 1 to 65535 after the colon";
    host = pattern.substr(0, colon);
  }
  if (host == "*") return deny ? "" : "names every host: write `network: true`, or the hosts";
  if (host == "localhost") return {};
  const bool wild = host.starts_with("*.");
  const auto words = text::split(wild ? host.substr(2) : host, '.');
  if (!std::all_of(words.begin(), words.end(), host_word)) return "is no host name";
  if (words.size() < 2) return wild ? "names a whole top-level domain" : "is no full host name: it has no dot";
  return {};
}

bool host_patterns(checker& c, const json::value& v, bool deny, std::string_view must) {
  if (!v.is_array()) return c.must(v, must);
  return c.each(v.as_array(), [&](const json::value& e) {
    if (!e.is_string()) return c.must(e, "must be a host pattern");
    const std::string fault = host_fault(e.as_string(), deny);
    return fault.empty() || c.refuse(e, show(e) + " " + fault);
  });
}

bool is_allowed_hosts(checker& c, const json::value& v, const field& f) {
  return (v.is_bool() && v.as_bool()) || host_patterns(c, v, false, f.must);
}
bool is_denied_hosts(checker& c, const json::value& v, const field& f) { return host_patterns(c, v, true, f.must); }

bool is_sockets(checker& c, const json::value& v, const field& f) { return (v.is_bool() && v.as_bool()) || is_grants(c, v, f); }

bool is_ports(checker& c, const json::value& v, const field& f) {
  if (v.is_bool()) return true;
  if (!v.is_array()) return c.must(v, f.must);
  return c.each(v.as_array(), [&](const json::value& e) {
    return integral(e, 1, 65535).has_value() || c.must(e, "must be a port from 1 to 65535");
  });
}

constexpr std::string_view k_paths = "must be an array of paths or globs";
constexpr std::string_view k_names = "must be an array of names";
constexpr field k_allow_fields[] = {
    {"read", is_grants, k_paths},
    {"write", is_grants, k_paths},
    {"network", is_allowed_hosts, "must be true or an array of host patterns"},
    {"systemInfo", is_grants, k_names},
    {"machLookup", is_grants, k_names},
    {"unixSockets", is_sockets, "must be true or an array of paths"},
    {"localBinding", is_ports, "must be true, false or an array of ports"},
    {"pty", is_flag},
    {"gitConfig", is_flag},
};
constexpr level k_allow_level{"allow", "must be an object", k_allow_fields};
constexpr field k_deny_fields[] = {{"network", is_denied_hosts, "must be an array of host patterns"}};
constexpr level k_deny_level{"deny", "must be an object { network }", k_deny_fields};
constexpr field k_ignore_fields[] = {
    {"read", is_grants, k_paths},
    {"write", is_grants, k_paths},
    {"systemInfo", is_grants, k_names},
    {"network", is_denied_hosts, "must be an array of host patterns"},
};
constexpr level k_ignore_level{"ignore", "must be an object { read, write, systemInfo, network }", k_ignore_fields};
constexpr field k_sandbox_fields[] = {
    {"allow", is_nested, {}, &k_allow_level},   {"deny", is_nested, {}, &k_deny_level},
    {"ignore", is_nested, {}, &k_ignore_level}, {"weakerWhenNested", is_flag},
    {"weakerNetworkIsolation", is_flag},
};

}  // namespace

constinit const level k_sandbox_level{"sandbox", "must be an object: write `{}` for the strict baseline", k_sandbox_fields};

}  // namespace vx::workspace::schema
