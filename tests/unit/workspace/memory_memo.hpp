// An evaluation memo in memory, for tests of the loader.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workspace/config_loader.hpp"

namespace vx::test {

class memory_memo : public workspace::eval_memo {
 public:
  std::vector<row> load(const std::vector<std::string>& paths) override {
    std::vector<row> out;
    ++loads;
    for (const std::string& p : paths) {
      if (const auto it = rows.find(p); it != rows.end()) out.push_back(it->second);
    }
    return out;
  }
  void store(std::vector<row> fresh) override {
    stored += fresh.size();
    for (row& r : fresh) rows[r.path] = r;
  }
  std::optional<std::string> blob(std::string_view) override { return std::nullopt; }
  void store_blob(std::string, std::string) override {}

  std::map<std::string, row> rows;
  std::size_t stored = 0, loads = 0;
};

}  // namespace vx::test
