#include "run/memo.hpp"

#include <utility>

namespace vx::run {

std::vector<workspace::eval_memo::row> index_memo::load(const std::vector<std::string>& paths) {
  std::vector<row> out;
  if (!read_) return out;
  for (cache::index::config_eval& e : index_.config_evals(paths))
    out.push_back({std::move(e.path), std::move(e.trace), std::move(e.json)});
  return out;
}

void index_memo::store(std::vector<row> rows) {
  if (!write_) return;
  std::vector<cache::index::config_eval> out;
  out.reserve(rows.size());
  for (row& r : rows) out.push_back({std::move(r.path), std::move(r.trace), std::move(r.json)});
  index_.put_config_evals(std::move(out));
}

std::optional<std::string> index_memo::blob(std::string_view name) { return read_ ? index_.meta(name) : std::nullopt; }

void index_memo::store_blob(std::string name, std::string value) {
  if (write_) index_.put_meta(std::move(name), std::move(value));
}

}  // namespace vx::run
