// Who a repository is (cache.md 2.2) and where its HEAD stands.
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/bytes.hpp"
#include "base/path.hpp"
#include "base/text.hpp"
#include "git/git.hpp"
#include "git/settings.hpp"

namespace vx::git {
namespace {

std::string sha256_hex(std::string_view data) {
  sha256_ctx ctx;
  sha256_init(&ctx);
  sha256_update(&ctx, data.size(), reinterpret_cast<const std::uint8_t*>(data.data()));
  std::array<std::byte, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&ctx, digest.size(), reinterpret_cast<std::uint8_t*>(digest.data()));
  return to_hex(digest);
}

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool is_default_port(std::string_view scheme, std::string_view port) noexcept {
  return (scheme.ends_with("ssh") && port == "22") || (scheme == "git" && port == "9418") ||
         (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
}

/// host[:port] and path, joined in one form.
std::string reduced(std::string_view host, std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with(".git")) path.remove_suffix(4);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (host.empty() || path.empty()) return {};
  return lowered(std::string(host) + "/" + std::string(path));
}

using remotes = std::vector<std::pair<std::string, std::string>>;  // name, reduced URL; in the order of the config

/// The named remotes in order of preference, else the first one.
std::string preferred(const remotes& all) {
  for (const std::string_view name : {"origin", "upstream", "base"}) {
    for (const auto& [have, url] : all) {
      if (have == name && !url.empty()) return url;
    }
  }
  for (const auto& [have, url] : all) {
    if (!url.empty()) return url;
  }
  return {};
}

void add_remote(remotes& all, std::string name, std::string_view url) {
  for (const auto& r : all) {
    if (r.first == name) return;  // a further URL of the same remote
  }
  all.emplace_back(std::move(name), reduce_remote_url(url));
}

/// The remotes as the common directory's config names them; nullopt: git must say.
std::optional<remotes> read_remotes(const repository& repo) {
  auto text = fs::read_file_at(fs::k_cwd, repo.common_dir + "/config", std::size_t{16} << 20);
  if (!text) return std::nullopt;
  remotes all;
  bool plain = true;
  const bool parsed = parse_config(*text, [&](const config_variable& v) {
    if (v.section == "include" || v.section == "includeif" || v.section == "url") plain = false;
    if (v.section != "remote" || v.name != "url" || !v.value) return;
    const auto odd = [](char c) {
      return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '%';
    };
    if (std::any_of(v.value->begin(), v.value->end(), odd)) plain = false;
    add_remote(all, v.subsection, *v.value);
  });
  if (!parsed || !plain) return std::nullopt;
  return all;
}

remotes ask_remotes(const program& git, const std::string& dir) {
  remotes all;
  auto got = git.run(dir, {"remote", "-v"});
  if (!got || got->exit_code != 0) return all;
  for (std::string_view line : text::split(got->out, '\n')) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || !line.ends_with(" (fetch)")) continue;
    add_remote(all, std::string(line.substr(0, tab)), line.substr(tab + 1, line.size() - tab - 1 - 8));
  }
  return all;
}

/// The first root commit in sorted order; "" for a shallow clone and before the first commit.
std::string root_commit(const program& git, const repository& repo) {
  if (fs::exists_at(fs::k_cwd, repo.common_dir + "/shallow")) return {};
  auto got = git.run(asked_dir(repo), {"rev-list", "--max-parents=0", "HEAD"});
  if (!got || got->exit_code != 0) return {};
  std::string first;
  for (const std::string_view line : text::split(got->out, '\n')) {
    if (!line.empty() && (first.empty() || line < first)) first = line;
  }
  return first;
}

bool is_object_id(std::string_view s) noexcept {
  return (s.size() == 40 || s.size() == 64) &&
         std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<std::string> read_line(const std::string& file) {
  auto text = fs::read_file_at(fs::k_cwd, file, std::size_t{1} << 20);
  if (!text) return std::nullopt;
  return std::string(text::trim(*text));
}

/// The value of a ref in packed-refs; "" when it is not listed, nullopt when the file can't be read.
std::optional<std::string> packed_ref(const repository& repo, std::string_view ref) {
  auto text = fs::read_file_at(fs::k_cwd, repo.common_dir + "/packed-refs", std::size_t{256} << 20);
  if (!text) return text.error().sys == ENOENT ? std::optional<std::string>("") : std::nullopt;
  const std::string wanted = " " + std::string(ref) + "\n";
  for (std::size_t at = text->find(wanted); at != std::string::npos; at = text->find(wanted, at + 1)) {
    const std::size_t line = at == 0 ? 0 : text->rfind('\n', at - 1) + 1;
    const std::string_view id = std::string_view(*text).substr(line, at - line);
    if (is_object_id(id)) return std::string(id);
  }
  return "";
}

head_info ask_head(const program& git, const std::string& root) {
  head_info out;
  auto got = git.run(root, {"rev-parse", "HEAD", "--abbrev-ref", "HEAD"});
  if (!got || got->exit_code != 0) return out;
  const std::vector<std::string_view> lines = text::split(got->out, '\n');
  if (!lines.empty() && is_object_id(lines[0])) out.commit = lines[0];
  if (lines.size() > 1 && !lines[1].empty() && lines[1] != "HEAD") out.branch = lines[1];
  return out;
}

/// nullopt: a form only git reads (a table of refs, links, a symbolic ref to a symbolic ref).
std::optional<head_info> read_plain_head(const repository& repo) {
  const std::optional<std::string> head = read_line(repo.git_dir + "/HEAD");
  if (!head) return std::nullopt;
  head_info out;
  if (is_object_id(*head)) {
    out.commit = *head;
    return out;
  }
  constexpr std::string_view k_ref = "ref: ", k_branch = "refs/heads/";
  if (!head->starts_with(k_ref)) return std::nullopt;
  const std::string ref(text::trim(std::string_view(*head).substr(k_ref.size())));
  if (!ref.starts_with(k_branch) || ref == "refs/heads/.invalid") return std::nullopt;
  out.branch = ref.substr(k_branch.size());
  if (const std::optional<std::string> loose = read_line(repo.common_dir + "/" + ref)) {
    if (!is_object_id(*loose)) return std::nullopt;
    out.commit = *loose;
    return out;
  }
  const std::optional<std::string> packed = packed_ref(repo, ref);
  if (!packed) return std::nullopt;
  if (!packed->empty()) out.commit = *packed;
  return out;
}

std::string remembered_root_commit(const program& git, const repository& repo, root_memo* memo) {
  const std::optional<head_info> head = memo != nullptr ? read_plain_head(repo) : std::nullopt;
  if (!head || !head->commit || fs::exists_at(fs::k_cwd, repo.common_dir + "/shallow")) return root_commit(git, repo);
  if (memo->commit == *head->commit && is_object_id(memo->root)) return memo->root;
  std::string root = root_commit(git, repo);
  *memo = {*head->commit, root, !root.empty()};
  return root;
}

}  // namespace

std::string reduce_remote_url(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string_view::npos) {  // [user@]host:path, or a local path
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos || colon == 0 || url.find('/') < colon) return {};
    std::string_view host = url.substr(0, colon);
    if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
    return reduced(host, url.substr(colon + 1));
  }
  const std::string scheme = lowered(url.substr(0, scheme_end));
  if (scheme != "ssh" && scheme != "git+ssh" && scheme != "ssh+git" && scheme != "git" && scheme != "http" && scheme != "https")
    return {};
  std::string_view rest = url.substr(scheme_end + 3);
  std::string_view authority = rest.substr(0, rest.find('/'));
  const std::string_view path = rest.substr(authority.size());
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  if (has_port && (colon + 1 == authority.size() || is_default_port(scheme, authority.substr(colon + 1)))) {
    authority = authority.substr(0, colon);
  }
  return reduced(authority, path);
}

std::string repo_id(const environment& env, const std::string& root, root_memo* memo) {
  const std::optional<program> git = program::find(env);
  if (!git) return {};
  auto found = find_repository(*git, root);
  if (!found || !*found) return {};
  const repository& repo = **found;
  std::optional<remotes> all = read_remotes(repo);
  if (!all) all = ask_remotes(*git, root);
  std::string identity = preferred(*all);
  if (identity.empty()) identity = remembered_root_commit(*git, repo, memo);
  if (identity.empty()) {
    auto real = fs::real_path(repo.common_dir);
    identity = real ? *real : repo.common_dir;
  }
  std::string inside = repo.prefix;
  if (inside.ends_with('/')) inside.pop_back();
  return sha256_hex("vx-repo-1\n" + identity + "\n" + inside).substr(0, 16);
}

head_info read_head(const environment& env, const std::string& root) {
  const std::optional<program> git = program::find(env);
  if (!git) return {};
  auto found = find_repository(*git, root);
  if (!found || !*found) return {};
  if (std::optional<head_info> plain = read_plain_head(**found)) return *plain;
  return ask_head(*git, root);
}

}  // namespace vx::git
