// The engine of config validation: objects are described by tables of fields, a checker walks a value along them and keeps the
// first refusal with its place. What the fields are is in project_schema.cpp and workspace_schema.cpp. Internal to workspace/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace vx::workspace::schema {

/// One step into a config: a member name or an array index.
struct step {
  std::string name;
  std::size_t index = 0;
  bool is_index = false;
};

/// "tasks.build.cache.inputs.files[0]"; names that are no plain words are bracketed and quoted.
std::string field_path(std::span<const step> steps);

struct refusal {
  std::vector<step> where;
  std::string what;          ///< what stands after the field path
  std::string label;         ///< shown in place of the path when `where` is a whole document
  std::uint32_t offset = 0;  ///< of the refused key or value, in a JSON text
  std::string quoted;        ///< refused string value, for finding it in a JavaScript text
  bool located = true;       ///< false: something is missing, so there is no place to show
};

class checker;
struct field;
using rule = bool (*)(checker&, const json::value&, const field&);
struct level;

/// A row: the accepted key, how its value is checked, and the sentence that follows the path when it is refused.
struct field {
  std::string_view name;
  rule check;
  std::string_view must = {};
  const level* nested = nullptr;
};

/// A key of another tool and where its meaning lives here.
struct pointer {
  std::string_view key, advice;
};

struct level {
  std::string_view label;  ///< how a document without a path is called
  std::string_view shape;  ///< "must be an object with a `command` string"
  std::span<const field> fields;
  std::span<const pointer> pointers = {};
  bool (*after)(checker&, const json::value&) = nullptr;  ///< required fields and combinations
};

class checker {
 public:
  struct context {
    std::string_view file;  ///< root-relative
    std::string_view dir;   ///< its directory, "" = root
    bool has_package_name = false;
    std::string task;  ///< name of the task being checked
  };
  explicit checker(context c) : ctx(std::move(c)) {}

  context ctx;

  /// Refuses the value at hand: "<path> <what>, not <value>". Always false, so that rules can return it.
  bool must(const json::value& v, std::string_view what);
  /// Refuses with the text as it is.
  bool refuse(const json::value& v, std::string what);
  bool refuse_member(const json::value& parent, std::string_view name, std::string what);
  bool missing(std::string_view name, std::string what);

  bool enter(const json::member& m, const field& f);  ///< checks a member one step deeper
  bool object(const json::value& v, const level& l);  ///< every key, then `after`
  template <class F>
  bool each(const json::array& a, F&& body) {  ///< body(element) one step deeper
    for (std::size_t i = 0; i < a.size(); ++i) {
      where_.push_back({{}, i, true});
      if (!body(a[i])) return false;
      where_.pop_back();
    }
    return true;
  }
  template <class F>
  bool inside(std::string_view name, F&& body) {  ///< body() one member deeper
    where_.push_back({std::string(name), 0, false});
    if (!body()) return false;
    where_.pop_back();
    return true;
  }
  std::string here() const { return field_path(where_); }
  const std::optional<refusal>& refused() const noexcept { return refused_; }

 private:
  bool unknown_key(const json::member& m, const level& l);
  std::vector<step> where_;
  std::optional<refusal> refused_;
};

// Rules that several tables use.
bool is_text(checker&, const json::value&, const field&);
bool is_flag(checker&, const json::value&, const field&);
bool is_text_list(checker&, const json::value&, const field&);
bool is_schema_link(checker&, const json::value&, const field&);
bool is_milliseconds(checker&, const json::value&, const field&);  ///< 1 to 2147483647
bool is_positive_int(checker&, const json::value&, const field&);
bool is_nested(checker&, const json::value&, const field&);     ///< the object of field::nested
bool is_env_names(checker&, const json::value&, const field&);  ///< non-empty, no '=', no NUL, no wildcard
bool is_shell_env_names(checker&, const json::value&, const field&);
extern const level k_stability_level;
extern const level k_sandbox_level;

bool check_env_name(checker& c, const json::value& v, std::string_view name, bool shell_word);

/// A number without a fraction in [low, high], whatever its spelling.
std::optional<std::int64_t> integral(const json::value& v, std::int64_t low, std::int64_t high) noexcept;
/// A value for a message, cut at 60 bytes.
std::string show(const json::value& v);
bool is_blank(std::string_view s) noexcept;

/// The failure of a refusal: position, one-line message and details with a source frame (config.md 8).
failure to_failure(const refusal& r, std::string_view file, std::string_view text);
/// A failure at a known place of a text. `field` may be empty.
failure located_failure(std::string_view file, std::string_view text, std::uint32_t line, std::uint32_t column,
                        std::string_view field, std::string_view message);
/// A failure of a whole file.
failure file_failure(std::string_view file, std::string_view message);

}  // namespace vx::workspace::schema
