// Artifacts written byte by byte, as hostile as asked.
#pragma once

#include <zstd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cache/artifact.hpp"
#include "cache/artifact_sum.hpp"
#include "fixture.hpp"

namespace vx::cache::test {

/// One tar header block, as hostile as asked.
struct raw_member {
  std::string name;
  char type = '0';
  std::string body;
  std::string target;
  unsigned mode = 0644;
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);
  std::uint64_t claimed = UINT64_MAX;  ///< size in the header, when it is to differ
  std::vector<std::pair<std::string, std::string>> pax;
  bool bad_checksum = false, raw_names = true;
};

inline std::string block(const raw_member& m, const std::string& name, char type, std::uint64_t size) {
  std::string b(512, '\0');
  std::memcpy(b.data(), name.data(), std::min<std::size_t>(100, name.size()));
  std::snprintf(b.data() + 100, 8, "%07o", m.mode);
  std::snprintf(b.data() + 108, 8, "%07o", 0U);
  std::snprintf(b.data() + 116, 8, "%07o", 0U);
  std::snprintf(b.data() + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  std::snprintf(b.data() + 136, 12, "%011o", 0U);
  b[156] = type;
  std::memcpy(b.data() + 157, m.target.data(), std::min<std::size_t>(100, m.target.size()));
  std::memcpy(b.data() + 257, m.magic.data(), m.magic.size());
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(b[i]);
  std::snprintf(b.data() + 148, 7, "%06o", m.bad_checksum ? sum + 1 : sum);
  return b;
}

inline std::string padded(std::string body) {
  body.resize((body.size() + 511) / 512 * 512, '\0');
  return body;
}

inline std::string tar_of(const raw_member& m) {
  std::string out;
  if (!m.pax.empty()) {
    std::string records;
    auto pax = m.pax;
    if (m.raw_names) pax.insert(pax.begin(), {"hdrcharset", "BINARY"});
    for (const auto& [k, v] : pax) {
      std::size_t length = k.size() + v.size() + 3;
      length += std::to_string(length + std::to_string(length).size()).size();
      records += std::to_string(length) + " " + k + "=" + v + "\n";
    }
    raw_member x;
    out += block(x, "pax", 'x', records.size()) + padded(records);
  }
  out += block(m, m.name, m.type, m.claimed != UINT64_MAX ? m.claimed : m.body.size());
  return out + padded(m.body);
}

inline std::string frame_of(std::string_view tar, bool checksum = true) {
  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress2(c, out.data(), out.size(), tar.data(), tar.size()));
  ZSTD_freeCCtx(c);
  return out;
}

inline const digest128 k_key = key_of(1);

/// A tar that is right in everything but what `members` do: document, log, members, a sum that fits, two end blocks.
inline std::string wrap(const std::vector<raw_member>& members, const std::string& after = {},
                        const std::string& document = {}) {
  raw_member doc, log, sum;
  doc.name = ".vx/entry.json";
  doc.body = document.empty() ? entry_document(k_key, "p#build", {}) : document;
  log.name = ".vx/log";
  artifact_sum s;
  for (const raw_member* m : {&doc, &log}) {
    s.member(m->name, 'f', 0644, {}, m->body.size());
    s.body(m->body);
  }
  std::string tar = tar_of(doc) + tar_of(log);
  for (const raw_member& m : members) {
    tar += tar_of(m);
    std::string name = m.name, target = m.target;
    for (const auto& [k, v] : m.pax) {
      if (k == "path") name = v.c_str();
      if (k == "linkpath") target = v.c_str();
    }
    if (name.ends_with('/')) name.pop_back();
    const char kind = m.type == '2' ? 'l' : m.type == '5' ? 'd' : 'f';
    s.member(name, kind, static_cast<std::uint16_t>(m.mode & 0777), target, m.body.size());
    s.body(m.body);
  }
  sum.name = ".vx/sum";
  sum.body = s.hex();
  return tar + tar_of(sum) + after + std::string(1024, '\0');
}

inline raw_member file(const std::string& name, const std::string& body = "x") {
  raw_member m;
  m.name = name;
  m.body = body;
  return m;
}
inline raw_member special(const std::string& name, char type, const std::string& target = {}, unsigned mode = 0777) {
  raw_member m;
  m.name = name;
  m.type = type;
  m.target = target;
  m.mode = mode;
  return m;
}
inline raw_member with_pax(raw_member m, std::vector<std::pair<std::string, std::string>> pax) {
  m.pax = std::move(pax);
  return m;
}

/// What must never be accepted under outputs "dist/**", "!dist/keep/**" and "out" with a nested project dist/nested.
struct hostile {
  const char* name;
  std::vector<raw_member> members;
};
inline std::vector<hostile> hostile_archives() {
  raw_member setuid = file("project/dist/a");
  setuid.mode = 04755;
  raw_member past_end = file("project/dist/a");
  past_end.claimed = 1 << 20;
  raw_member old_dialect = file("project/dist/a");
  old_dialect.magic = std::string(8, '\0');
  raw_member gnu = file("project/dist/a");
  gnu.magic = std::string("ustar  \0", 8);
  raw_member checksum = file("project/dist/a");
  checksum.bad_checksum = true;
  raw_member hidden = file(std::string("project/dist/a\0hidden", 21));
  return {
      {"parent", {file("project/../x")}},
      {"parent below", {file("project/dist/../../x")}},
      {"absolute", {file("/x")}},
      {"absolute below the prefix", {file("project//x")}},
      {"no prefix", {file("x")}},
      {"fixed place", {file(".vx/other")}},
      {"escaping link", {special("project/dist/a", '2', "../../../x")}},
      {"absolute link", {special("project/dist/a", '2', "/etc")}},
      {"link into .git", {special("project/dist/a", '2', "../../.git")}},
      {"below a link", {special("project/dist/a", '2', ".."), file("project/dist/a/x")}},
      {"below a link, not adjacent",
       {special("project/dist/a", '2', ".."), file("project/dist/a-b"), file("project/dist/a/x")}},
      {"hard link", {file("project/dist/a"), special("project/dist/b", '1', "project/dist/a", 0644)}},
      {"fifo", {special("project/dist/a", '6')}},
      {"character device", {special("project/dist/a", '3')}},
      {"block device", {special("project/dist/a", '4')}},
      {"contiguous file", {special("project/dist/a", '7')}},
      {"gnu sparse", {special("project/dist/a", 'S')}},
      {"gnu long name", {special("project/dist/a", 'L')}},
      {"global header", {special("project/dist/a", 'g')}},
      {"setuid", {setuid}},
      {"equal names", {file("project/dist/a"), file("project/dist/a")}},
      {"file then directory", {file("project/dist/a"), special("project/dist/a/", '5', "", 0755)}},
      {"file then below it", {file("project/dist/a"), file("project/dist/a/b")}},
      {"order", {file("project/dist/b"), file("project/dist/a")}},
      {"spaces out of order", {file("workspace/gen/a"), file("project/dist/a")}},
      {"NUL in a header name", {hidden}},
      {"NUL in a pax name", {with_pax(file("x"), {{"path", std::string("project/dist/a\0b", 16)}})}},
      {"NUL in a pax link", {with_pax(special("project/dist/a", '2'), {{"linkpath", std::string("a\0b", 3)}})}},
      {"5,000 bytes", {with_pax(file("x"), {{"path", "project/dist/" + std::string(5000, 'a')}})}},
      {"a long path of short names",
       {with_pax(file("x"), {{"path", "project/dist" +
                                          [] {
                                            std::string s;
                                            for (int i = 0; i < 600; ++i) s += "/aaaaaaa";
                                            return s;
                                          }()}})}},
      {"a component of 256 bytes", {with_pax(file("x"), {{"path", "project/dist/" + std::string(256, 'a')}})}},
      {".GIT", {file("project/dist/.GIT/x")}},
      {".Vx", {file("project/dist/.Vx")}},
      {"undeclared", {file("project/src/a")}},
      {"taken back", {file("project/dist/keep/a")}},
      {"nested project", {file("project/dist/nested/a")}},
      {"node_modules unnamed", {file("project/dist/node_modules/a")}},
      {"undeclared workspace", {file("workspace/dist/a")}},
      {"past the end", {past_end}},
      {"old dialect", {old_dialect}},
      {"gnu dialect", {gnu}},
      {"checksum", {checksum}},
      {"character set", {with_pax(file("project/dist/a"), {{"hdrcharset", "ISO-IR 10646 2000 UTF-8"}})}},
      {"a name to be converted", {[&] {
         raw_member m = with_pax(file("x"), {{"path", "project/dist/a"}});
         m.raw_names = false;
         return m;
       }()}},
      {"pax sparse", {with_pax(file("project/dist/a"), {{"GNU.sparse.major", "1"}})}},
      {"pax size", {with_pax(file("project/dist/a"), {{"size", "512"}})}},
      {"file with a slash", {with_pax(file("x"), {{"path", "project/dist/a/"}})}},
      {"link with content", {[] {
         raw_member m = special("project/dist/a", '2', "b");
         m.body = "x";
         return m;
       }()}},
      {"file with a target", {special("project/dist/a", '0', "b", 0644)}},
  };
}

}  // namespace vx::cache::test
