#include "cache/artifact.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>

#include "cache/artifact_sum.hpp"
#include "cache/row_blobs.hpp"
#include "fixture.hpp"

using namespace vx;
using namespace vx::cache;
using namespace vx::cache::test;

namespace {

/// One tar header block, as hostile as asked.
struct raw_member {
  std::string name;
  char type = '0';
  std::string body;
  std::string target;
  unsigned mode = 0644;
  std::string magic = std::string("ustar\0" "00", 8);
  std::uint64_t claimed = UINT64_MAX;      ///< size in the header, when it is to differ
  std::vector<std::pair<std::string, std::string>> pax;
  bool bad_checksum = false, raw_names = true;
};

std::string block(const raw_member& m, const std::string& name, char type, std::uint64_t size) {
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

std::string padded(std::string body) {
  body.resize((body.size() + 511) / 512 * 512, '\0');
  return body;
}

std::string tar_of(const raw_member& m) {
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

std::string frame_of(std::string_view tar, bool checksum = true) {
  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress2(c, out.data(), out.size(), tar.data(), tar.size()));
  ZSTD_freeCCtx(c);
  return out;
}

const digest128 k_key = key_of(1);

/// A tar that is right in everything but what `members` do: document, log, members, a sum that fits, two end blocks.
std::string wrap(const std::vector<raw_member>& members, const std::string& after = {}, const std::string& document = {}) {
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

raw_member file(const std::string& name, const std::string& body = "x") {
  raw_member m;
  m.name = name;
  m.body = body;
  return m;
}
raw_member special(const std::string& name, char type, const std::string& target = {}, unsigned mode = 0777) {
  raw_member m;
  m.name = name;
  m.type = type;
  m.target = target;
  m.mode = mode;
  return m;
}

result<artifact_contents> read(const std::string& tar, const output_scope* scope) {
  artifact_expectations e;
  e.key = k_key;
  e.scope = scope;
  return scan_artifact(frame_of(tar), e);
}

std::string pack(const std::vector<output_row>& rows, const std::vector<std::string>& bodies, std::string_view log = {}) {
  const int fd = ::memfd_create("artifact", MFD_CLOEXEC);
  pack_request q;
  q.key = k_key;
  q.task_id = "p#build";
  q.stats.duration_ns = 12;
  q.stats.cpu_ns = 34;
  q.log = log;
  q.rows = &rows;
  q.body = [&](std::size_t i, const std::function<status(std::string_view)>& put) { return put(bodies[i]); };
  codec tools;
  const auto n = pack_artifact(fd, q, tools);
  REQUIRE_MESSAGE(n, n.error().message);
  std::string out(*n, '\0');
  REQUIRE(::pread(fd, out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()));
  ::close(fd);
  return out;
}

output_row row(char kind, const std::string& path, std::uint64_t size = 0, std::uint16_t mode = 0644) {
  output_row r;
  r.kind = kind;
  r.path = path;
  r.size = size;
  r.mode = kind == 'l' ? 0777 : mode;
  return r;
}

struct body_sink final : member_sink {
  std::map<std::string, std::string> bodies;
  std::string at;
  status begin(const output_row& r) override {
    at = r.path;
    return {};
  }
  status data(std::string_view b) override {
    bodies[at] += b;
    return {};
  }
  status end() override { return {}; }
};

}  // namespace

TEST_CASE("an artifact reads back with names of any bytes, modes, times, links and empty directories") {
  const auto scope = make_scope("/ws", "p", {"**"}, {"gen/**"});
  std::vector<output_row> rows;
  std::vector<std::string> bodies;
  const std::string long_name = "d/" + std::string(200, 'n') + "/" + std::string(250, 'm');
  for (const std::string& name : {std::string("a\xff\xfe b\n"), std::string("back\\slash"), std::string("caf\xc3\xa9"), long_name, std::string("z=1\n")}) {
    rows.push_back(row('f', name, name.size(), static_cast<std::uint16_t>(rows.size() * 0111)));
  }
  const fs::timestamp times[] = {{0, 0}, {-315'619'200, 1}, {10'413'792'000, 999'999'999}, {1'700'000'000, 120'000'000}, {-1, 999'999'999}};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].mtime = times[i];
  rows.push_back(row('l', "link\xff"));
  rows.back().target = "../p/\xfe";
  rows.push_back(row('d', "empty", 0, 0));
  std::sort(rows.begin(), rows.end(), row_before);
  output_row w = row('d', "gen/x", 0, 0700);
  w.space = space::workspace;
  rows.push_back(w);
  for (const output_row& r : rows) bodies.push_back(r.kind == 'f' ? r.path : "");

  const std::string log("\x01\x02\0\0\0o\0", 7);
  const std::string bytes = pack(rows, bodies, log);
  artifact_expectations e;
  e.key = k_key;
  e.scope = &scope;
  body_sink sink;
  const auto back = scan_artifact(bytes, e, &sink);
  REQUIRE_MESSAGE(back, back.error().message);
  CHECK(same_rows(back->rows, rows));
  CHECK(back->log == log);
  CHECK(back->task == "p#build");
  CHECK(back->stats.duration_ns == 12);
  CHECK(back->stats.cpu_ns == 34);
  for (const output_row& r : rows) {
    if (r.kind == 'f') CHECK(sink.bodies[r.path] == r.path);
  }
}

TEST_CASE("an artifact beyond the one-call size streams both ways and declares no size") {
  std::string big(9 << 20, '\0');
  std::uint64_t x = 88172645463325252ULL;
  for (std::size_t i = 0; i < big.size(); i += 8) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    std::memcpy(big.data() + i, &x, 8);
  }
  const std::string bytes = pack({row('f', "dist/big", big.size())}, {big});
  CHECK(ZSTD_getFrameContentSize(bytes.data(), bytes.size()) == ZSTD_CONTENTSIZE_UNKNOWN);
  artifact_expectations e;
  e.key = k_key;
  body_sink sink;
  REQUIRE(scan_artifact(bytes, e, &sink));
  CHECK(sink.bodies["dist/big"] == big);
  CHECK_FALSE(scan_artifact(bytes + "x", e));
  CHECK_FALSE(scan_artifact(bytes.substr(0, bytes.size() - 1), e));
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  CHECK_FALSE(scan_artifact(flipped, e));
}

TEST_CASE("a flipped bit anywhere is refused, or changed nothing; a cut or a tail is always refused") {
  const std::string bytes = pack({row('f', "dist/a", 5), row('l', "dist/l")}, {"hello", ""}, std::string("\x01\x01\0\0\0x", 6));
  artifact_expectations e;
  e.key = k_key;
  // A link without a target is refused at packing time by the plan; here it makes the artifact bad from the start.
  CHECK_FALSE(scan_artifact(bytes, e));
  output_row l = row('l', "dist/l");
  l.target = "a";
  const std::string good = pack({row('f', "dist/a", 5), l}, {"hello", ""}, std::string("\x01\x01\0\0\0x", 6));
  body_sink want_sink;
  const auto want = scan_artifact(good, e, &want_sink);
  REQUIRE(want);
  std::size_t spellings = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      body_sink sink;
      const auto got = scan_artifact(bad, e, &sink);
      if (!got) continue;
      // zstd has more than one spelling for some matches: the same content, then.
      ++spellings;
      CHECK(same_rows(got->rows, want->rows));
      CHECK(got->log == want->log);
      CHECK(sink.bodies == want_sink.bodies);
    }
    CHECK_FALSE(scan_artifact(good.substr(0, i), e));
  }
  CHECK(spellings * 20 < good.size() * 3);
  CHECK_FALSE(scan_artifact(good + std::string(1, '\0'), e));
  CHECK_FALSE(scan_artifact(good + good, e));
}

TEST_CASE("a flipped byte of the tar is refused by the sum even when the frame around it is whole") {
  const std::string tar = wrap({file("project/dist/a", "hello"), special("project/dist/l", '2', "a")});
  const auto scope = make_scope("/ws", "p", {"dist/**"});
  REQUIRE_MESSAGE(read(tar, &scope), read(tar, &scope).error().message);
  const auto rows = read(tar, &scope)->rows;
  for (std::size_t i = 0; i < tar.size(); ++i) {
    std::string bad = tar;
    bad[i] = static_cast<char>(bad[i] ^ 0x01);
    const auto got = read(bad, &scope);
    // Padding and ignored header fields carry nothing; whatever is accepted says exactly the same.
    if (got) CHECK(same_rows(got->rows, rows));
  }
}

TEST_CASE("hostile archives are refused, each for its own reason") {
  const auto scope = make_scope("/ws", "p", {"dist/**", "!dist/keep/**", "out"}, {}, {"dist/nested"});
  struct hostile {
    const char* name;
    std::vector<raw_member> members;
  };
  auto with_pax = [](raw_member m, std::vector<std::pair<std::string, std::string>> pax) {
    m.pax = std::move(pax);
    return m;
  };
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
  const hostile table[] = {
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
      {"below a link, not adjacent", {special("project/dist/a", '2', ".."), file("project/dist/a-b"), file("project/dist/a/x")}},
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
      {"a long path of short names", {with_pax(file("x"), {{"path", "project/dist" + [] {
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
  for (const hostile& h : table) {
    const auto got = read(wrap(h.members), &scope);
    CHECK_MESSAGE(!got, h.name);
    if (!got) CHECK_MESSAGE(got.error().code == errc::CORRUPT, h.name);
    // One bad member at the end spoils everything before it.
    std::vector<raw_member> late = h.members;
    late.insert(late.begin(), file("project/dist/0"));
    CHECK_MESSAGE(!read(wrap(late), &scope), h.name);
  }
  // The same bench, nothing hostile: accepted.
  const auto sound = read(wrap({file("project/dist/a"), special("project/dist/d/", '5', "", 0555),
                                with_pax(file("x"), {{"path", "project/dist/p"}}), special("project/out", '2', "dist/a")}),
                          &scope);
  CHECK_MESSAGE(sound, sound.error().message);
}

TEST_CASE("structure around the members is checked: document, key, log, sum, ends and frames") {
  const auto scope = make_scope("/ws", "p", {"dist/**"});
  const std::string good = wrap({file("project/dist/a")});
  artifact_expectations e;
  e.key = k_key;
  e.scope = &scope;
  REQUIRE(scan_artifact(frame_of(good), e));

  SUBCASE("another key") {
    e.key = key_of(2);
    CHECK_FALSE(scan_artifact(frame_of(good), e));
  }
  SUBCASE("documents") {
    const std::string k = "\"key\":\"" + k_key.hex() + "\",\"task\":\"p#build\"";
    const auto accepts = [&](const std::string& doc) { return scan_artifact(frame_of(wrap({}, {}, doc)), e).has_value(); };
    CHECK(accepts("{\"format\":1," + k + "}"));
    CHECK(accepts("{\"format\":1,\"later\":[1]," + k + ",\"exec\":{\"durationNs\":1,\"more\":{}}}"));
    CHECK_FALSE(accepts("{\"format\":2," + k + "}"));
    CHECK_FALSE(accepts("{" + k + "}"));
    CHECK_FALSE(accepts("{\"format\":1,\"task\":\"p#build\"}"));
    CHECK_FALSE(accepts("{\"format\":1," + k + ",\"exec\":{\"durationNs\":-1}}"));
    CHECK_FALSE(accepts("{\"format\":1," + k + ",\"exec\":{\"durationNs\":1.5}}"));
    CHECK_FALSE(accepts("{\"format\":1," + k + ",\"exec\":{\"cpuNs\":99999999999999999999}}"));
    CHECK_FALSE(accepts("{\"format\":1," + k + ",\"pad\":\"" + std::string(70'000, 'x') + "\"}"));
    CHECK_FALSE(accepts("[]"));
    CHECK_FALSE(accepts("x"));
  }
  SUBCASE("a member after the sum") { CHECK_FALSE(scan_artifact(frame_of(wrap({file("project/dist/a")}, tar_of(file("project/dist/b")))), e)); }
  SUBCASE("no end blocks") { CHECK_FALSE(scan_artifact(frame_of(good.substr(0, good.size() - 1024)), e)); }
  SUBCASE("one end block") { CHECK_FALSE(scan_artifact(frame_of(good.substr(0, good.size() - 512)), e)); }
  SUBCASE("data after the end") {
    CHECK_FALSE(scan_artifact(frame_of(good + "x"), e));
    CHECK_FALSE(scan_artifact(frame_of(good + std::string(512, '\0')), e));
    CHECK_FALSE(scan_artifact(frame_of(good + tar_of(file("project/dist/z"))), e));
  }
  SUBCASE("frames") {
    const std::string frame = frame_of(good);
    CHECK_FALSE(scan_artifact(frame_of(good, false), e));
    CHECK_FALSE(scan_artifact(frame + frame_of(""), e));
    CHECK_FALSE(scan_artifact(frame_of(good.substr(0, 512)) + frame_of(good.substr(512)), e));
    const std::string skippable("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
    CHECK_FALSE(scan_artifact(skippable + frame, e));
    CHECK_FALSE(scan_artifact(frame + skippable, e));
    CHECK_FALSE(scan_artifact("", e));
    CHECK_FALSE(scan_artifact(good, e));
  }
  SUBCASE("a wrong sum") {
    std::string bad = good;
    const std::size_t at = bad.find(".vx/sum") + 512;
    bad[at] = bad[at] == 'a' ? 'b' : 'a';
    CHECK_FALSE(scan_artifact(frame_of(bad), e));
  }
  SUBCASE("no sum") {
    raw_member doc = file(".vx/entry.json", entry_document(k_key, "p#build", {}));
    CHECK_FALSE(scan_artifact(frame_of(tar_of(doc) + tar_of(file(".vx/log", "")) + std::string(1024, '\0')), e));
  }
}

TEST_CASE("gigabytes of zeros in a small body are refused without the memory they ask for") {
  artifact_expectations e;
  e.key = k_key;
  e.tar_limit = 64 << 20;
  raw_member doc = file(".vx/entry.json", entry_document(k_key, "p#build", {}));
  raw_member bomb = file("project/dist/a", "");
  bomb.claimed = 200 << 20;
  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
  const std::string head = tar_of(doc) + tar_of(file(".vx/log", "")) + tar_of(bomb);
  const std::string zeros(1 << 20, '\0');
  std::string body, out(ZSTD_CStreamOutSize(), '\0');
  const auto push = [&](std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t left = 1;
    do {
      ZSTD_outBuffer o{out.data(), out.size(), 0};
      left = ZSTD_compressStream2(c, &o, &in, how);
      body.append(out.data(), o.pos);
    } while (how == ZSTD_e_end ? left != 0 : in.pos < in.size);
  };
  push(head, ZSTD_e_continue);
  for (int i = 0; i < 200; ++i) push(zeros, ZSTD_e_continue);
  push({}, ZSTD_e_end);
  ZSTD_freeCCtx(c);
  CHECK(body.size() < 100'000);
  const auto got = scan_artifact(body, e);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::CORRUPT);
}

TEST_CASE("the container of format 1 is pinned to the byte") {
  // The tar inside, not the frame: zstd may compress the same bytes differently.
  const std::string bytes = pack({row('f', "dist/a", 5), row('d', "dist/d", 0, 0700)}, {"hello", ""});
  std::string tar(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  REQUIRE(ZSTD_decompress(tar.data(), tar.size(), bytes.data(), bytes.size()) == tar.size());
  CHECK(tar.find("{\"exec\":{\"cpuNs\":34,\"durationNs\":12},\"format\":1,\"key\":\"" + k_key.hex() + "\",\"task\":\"p#build\"}") != std::string::npos);
  artifact_sum s;
  const std::string doc = "{\"exec\":{\"cpuNs\":34,\"durationNs\":12},\"format\":1,\"key\":\"" + k_key.hex() + "\",\"task\":\"p#build\"}";
  s.member(".vx/entry.json", 'f', 0644, {}, doc.size());
  s.body(doc);
  s.member(".vx/log", 'f', 0644, {}, 0);
  s.member("project/dist/a", 'f', 0644, {}, 5);
  s.body("hello");
  s.member("project/dist/d", 'd', 0700, {}, 0);
  CHECK(tar.find(s.hex()) != std::string::npos);
  CHECK(s.hex() == "c51715ede7f593bb22f0117b4b15b6f1");
  CHECK(tar.size() % 512 == 0);
  CHECK(tar.substr(tar.size() - 1024) == std::string(1024, '\0'));
}
