// conformance-forge OUT KEY TASK: writes an artifact whose members are what standard input says and whose sum is right, so that
// only the rules about members can refuse it. A line: KIND MODE MTIME HEXNAME HEXBODY ("-" is empty). Kinds: f file, l link
// (body = target), d directory, h hard link, p fifo, c device, G a file that claims more bytes than follow, o a file in the old
// GNU dialect, s a wrong sum.
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "cache/artifact_sum.hpp"

namespace {

std::string from_hex(const std::string& text) {
  std::string out;
  if (text == "-") return out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

void pad(std::string& tar) { tar.append((512 - tar.size() % 512) % 512, '\0'); }

void header(std::string& tar, const std::string& name, char type, unsigned mode, std::uint64_t size, long long mtime,
            const std::string& target) {
  char b[512] = {};
  std::memcpy(b, name.data(), std::min<std::size_t>(name.size(), 100));
  std::snprintf(b + 100, 8, "%07o", mode);
  std::snprintf(b + 108, 8, "%07o", 0U);
  std::snprintf(b + 116, 8, "%07o", 0U);
  std::snprintf(b + 124, 12, "%011llo", static_cast<unsigned long long>(size));
  std::snprintf(b + 136, 12, "%011llo", static_cast<unsigned long long>(mtime));
  std::memset(b + 148, ' ', 8);
  b[156] = type;
  std::memcpy(b + 157, target.data(), std::min<std::size_t>(target.size(), 100));
  std::memcpy(b + 257,
              "ustar\0"
              "00",
              8);
  std::snprintf(b + 329, 8, "%07o", 0U);
  std::snprintf(b + 337, 8, "%07o", 0U);
  unsigned sum = 0;
  for (const char c : b) sum += static_cast<unsigned char>(c);
  std::snprintf(b + 148, 8, "%06o", sum);
  tar.append(b, sizeof b);
}

std::string pax_record(const std::string& key, const std::string& value) {
  std::size_t n = key.size() + value.size() + 3;
  for (std::size_t digits = std::to_string(n).size(); std::to_string(n + digits).size() != digits;
       digits = std::to_string(n + digits).size()) {
  }
  n += std::to_string(n + std::to_string(n).size()).size();
  return std::to_string(n) + " " + key + "=" + value + "\n";
}

void member(std::string& tar, const std::string& name, char type, unsigned mode, std::uint64_t size, long long mtime,
            const std::string& target, const std::string& body) {
  std::string extra;
  if (name.size() > 100) extra += pax_record("path", name);
  if (target.size() > 100) extra += pax_record("linkpath", target);
  if (!extra.empty()) {
    header(tar, "PaxHeader", 'x', 0644, extra.size(), 0, {});
    tar += extra;
    pad(tar);
  }
  header(tar, name, type, mode, size, mtime, target);
  tar += body;
  pad(tar);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  vx::cache::artifact_sum sum;
  std::string tar;
  const auto fixed = [&](std::string_view name, const std::string& body) {
    member(tar, std::string(name), '0', 0644, body.size(), 0, {}, body);
    if (name == vx::cache::k_member_sum) return;
    sum.member(name, 'f', 0644, {}, body.size());
    sum.body(body);
  };
  fixed(vx::cache::k_member_entry,
        R"({"exec":{"durationNs":1},"format":1,"key":")" + std::string(argv[2]) + R"(","task":")" + argv[3] + "\"}");
  fixed(vx::cache::k_member_log, {});
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string kind, mode_text, time_text, name_hex, body_hex;
    if (!(in >> kind >> mode_text >> time_text >> name_hex >> body_hex)) return 3;
    const auto mode = static_cast<unsigned>(std::stoul(mode_text, nullptr, 8));
    const long long mtime = std::stoll(time_text);
    const std::string name = from_hex(name_hex), body = from_hex(body_hex);
    switch (kind[0]) {
      case 'f':
      case 'G': {
        const std::uint64_t size = kind[0] == 'G' ? body.size() + 100000 : body.size();
        member(tar, name, '0', mode, size, mtime, {}, body);
        sum.member(name, 'f', static_cast<std::uint16_t>(mode), {}, size);
        sum.body(body);
        break;
      }
      case 'l':
        member(tar, name, '2', 0777, 0, 0, body, {});
        sum.member(name, 'l', 0777, body, 0);
        break;
      case 'd':
        member(tar, name + "/", '5', mode, 0, 0, {}, {});
        sum.member(name, 'd', static_cast<std::uint16_t>(mode), {}, 0);
        break;
      case 'o': {
        std::string one;
        member(one, name, '0', mode, body.size(), mtime, {}, body);
        std::memcpy(one.data() + 257, "ustar  ", 8);
        unsigned check = 8 * ' ';
        for (int i = 0; i < 512; ++i)
          check += i >= 148 && i < 156 ? 0U : static_cast<unsigned char>(one[static_cast<std::size_t>(i)]);
        std::snprintf(one.data() + 148, 8, "%06o", check);
        tar += one;
        sum.member(name, 'f', static_cast<std::uint16_t>(mode), {}, body.size());
        sum.body(body);
        break;
      }
      case 's': sum.body("x"); break;
      case 'h': member(tar, name, '1', mode, 0, mtime, body, {}); break;
      case 'p': member(tar, name, '6', mode, 0, mtime, {}, {}); break;
      case 'c': member(tar, name, '3', mode, 0, mtime, {}, {}); break;
      default: return 4;
    }
  }
  fixed(vx::cache::k_member_sum, sum.hex());
  tar.append(1024, '\0');

  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  const std::size_t n = ZSTD_compress2(c, out.data(), out.size(), tar.data(), tar.size());
  ZSTD_freeCCtx(c);
  if (ZSTD_isError(n)) return 5;
  std::FILE* f = std::fopen(argv[1], "wb");
  if (f == nullptr || std::fwrite(out.data(), 1, n, f) != n) return 6;
  return std::fclose(f) == 0 ? 0 : 7;
}
