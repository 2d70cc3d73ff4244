// The workspace layer's evaluation memo, kept in the checkout's index.
#pragma once

#include "cache/index.hpp"
#include "workspace/config_loader.hpp"

namespace vx::run {

class index_memo final : public workspace::eval_memo {
 public:
  /// `read`, `write`: the local cache axes gate evaluations (cache.md 19).
  index_memo(cache::index& index, bool read, bool write) : index_(index), read_(read), write_(write) {}
  std::vector<row> load(const std::vector<std::string>& paths) override;
  void store(std::vector<row> rows) override;
  std::optional<std::string> blob(std::string_view name) override;
  void store_blob(std::string name, std::string value) override;

 private:
  cache::index& index_;
  bool read_, write_;
};

}  // namespace vx::run
