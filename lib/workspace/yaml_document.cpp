#include "workspace/yaml_document.hpp"

#include <yaml.h>

#include <unordered_map>

namespace vx::workspace::yaml {

namespace {

constexpr std::size_t k_max_depth = 64;

class event_reader {
 public:
  explicit event_reader(std::string_view text) {
    ok_ = yaml_parser_initialize(&parser_) != 0;
    if (ok_) yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~event_reader() {
    if (ok_) yaml_parser_delete(&parser_);
  }
  event_reader(const event_reader&) = delete;
  event_reader& operator=(const event_reader&) = delete;

  std::string read(document& doc) {
    if (!ok_) return "out of memory";
    bool ended = false;
    while (!ended) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) return problem();
      std::string error = take(event, doc, ended);
      yaml_event_delete(&event);
      if (!error.empty()) return error;
    }
    doc.more = another();
    return {};
  }

 private:
  /// What does not parse counts as something that follows.
  bool another() {
    yaml_event_t event;
    if (parser_.stream_end_produced != 0) return false;
    if (yaml_parser_parse(&parser_, &event) == 0) return true;
    const bool end = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    return !end;
  }

  std::string problem() const {
    const std::string where =
        std::to_string(parser_.problem_mark.line + 1) + ":" + std::to_string(parser_.problem_mark.column + 1);
    return where + ": " + (parser_.problem != nullptr ? parser_.problem : "not YAML");
  }

  std::uint32_t add(document& doc, node n, const yaml_char_t* anchor) {
    const auto id = static_cast<std::uint32_t>(doc.nodes.size());
    doc.nodes.push_back(std::move(n));
    if (anchor != nullptr) anchors_[reinterpret_cast<const char*>(anchor)] = id;
    attach(doc, id);
    return id;
  }
  void attach(document& doc, std::uint32_t id) {
    if (open_.empty()) {
      doc.root = id;
    } else {
      doc.nodes[open_.back()].items.push_back(id);
    }
  }

  std::string take(const yaml_event_t& e, document& doc, bool& ended) {
    switch (e.type) {
      case YAML_SCALAR_EVENT: {
        const auto& s = e.data.scalar;
        node n;
        n.plain = s.style == YAML_PLAIN_SCALAR_STYLE && s.tag == nullptr;
        n.text.assign(reinterpret_cast<const char*>(s.value), s.length);
        add(doc, std::move(n), s.anchor);
        return {};
      }
      case YAML_SEQUENCE_START_EVENT: return open(doc, node::kind::sequence, e.data.sequence_start.anchor);
      case YAML_MAPPING_START_EVENT: return open(doc, node::kind::mapping, e.data.mapping_start.anchor);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: open_.pop_back(); return {};
      case YAML_ALIAS_EVENT: {
        const auto it = anchors_.find(reinterpret_cast<const char*>(e.data.alias.anchor));
        if (it == anchors_.end()) return "an alias names no anchor";
        attach(doc, it->second);
        doc.aliases = true;
        return {};
      }
      case YAML_DOCUMENT_END_EVENT:
      case YAML_STREAM_END_EVENT: ended = true; return {};
      default: return {};
    }
  }
  std::string open(document& doc, node::kind what, const yaml_char_t* anchor) {
    if (open_.size() >= k_max_depth) return "nested too deeply";
    node n;
    n.what = what;
    open_.push_back(add(doc, std::move(n), anchor));
    return {};
  }

  yaml_parser_t parser_{};
  bool ok_ = false;
  std::vector<std::uint32_t> open_;
  std::unordered_map<std::string, std::uint32_t> anchors_;
};

}  // namespace

std::string read(std::string_view text, document& doc) { return event_reader(text).read(doc); }

}  // namespace vx::workspace::yaml
