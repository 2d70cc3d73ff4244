#include "base/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

using namespace vx;
using namespace std::string_literals;
using json::parse_options;

namespace {

const parse_options k_jsonc{.comments = true};

std::string round(std::string_view text, const parse_options& options = {}) {
  const auto parsed = json::parse(text, options);
  return parsed ? json::write(*parsed) : "refused: " + parsed.error().message;
}

}  // namespace

TEST_CASE("documents read back as they were meant") {
  struct row {
    const char *in, *out;
  };
  for (const row& r : {row{"null", "null"},
                       {" true ", "true"},
                       {"false\n", "false"},
                       {"0", "0"},
                       {"-0", "0"},
                       {"-0.0", "0"},
                       {"1", "1"},
                       {"-12", "-12"},
                       {"9223372036854775807", "9223372036854775807"},
                       {"-9223372036854775808", "-9223372036854775808"},
                       {"9223372036854775808", "9223372036854775808"},
                       {"18446744073709551616", "18446744073709551616"},
                       {"1e5", "100000"},
                       {"1E+2", "100"},
                       {"1.0", "1"},
                       {"0.1", "0.1"},
                       {"1.5e-7", "1.5e-7"},
                       {"1e-10", "1e-10"},
                       {"123.456", "123.456"},
                       {"1e21", "1000000000000000000000"},
                       {"\"\"", "\"\""},
                       {"\"a\\n\\u0041\\\"\"", "\"a\\nA\\\"\""},
                       {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
                       {"\"\\/\"", "\"/\""},
                       {"\"\\u0000\"", "\"\\u0000\""},
                       {"[]", "[]"},
                       {"{}", "{}"},
                       {"[1,[2,{}],\"x\"]", "[1,[2,{}],\"x\"]"},
                       {"{\"b\":1,\"a\":{\"c\":null}}", "{\"b\":1,\"a\":{\"c\":null}}"},
                       {"\r\n[\t1 ,\r\n2 ]\r\n", "[1,2]"}}) {
    CAPTURE(r.in);
    CHECK(round(r.in) == r.out);
    CHECK(round(r.in, k_jsonc) == r.out);
  }
}

TEST_CASE("numbers keep their type and exact value") {
  CHECK(json::parse("9007199254740993")->as_int() == 9007199254740993);
  CHECK(json::parse("9223372036854775808")->type() == json::type::number);
  CHECK(json::parse("1.0")->type() == json::type::number);
  CHECK(json::parse("1")->type() == json::type::integer);
  CHECK(json::parse("0.1")->as_double() == 0.1);
  CHECK(json::parse("2.2250738585072014e-308")->as_double() == 2.2250738585072014e-308);
  for (const char* zero : {"0e40", "0E-400", "-0e5", "0.0", "1e-999", "-1e-400"}) {
    CAPTURE(zero);
    CHECK(json::parse(zero)->as_double() == 0.0);
  }
  CHECK(json::parse("0.30000000000000004")->as_double() == 0.1 + 0.2);
  CHECK(json::parse("123456789012345678901234567890")->as_double() == 123456789012345678901234567890.0);
  CHECK(json::parse("5e-324")->as_double() == std::numeric_limits<double>::denorm_min());
  CHECK(json::parse("1.7976931348623157e308")->as_double() == std::numeric_limits<double>::max());
}

TEST_CASE("what is no JSON is refused at its place") {
  struct row {
    std::string in;
    std::uint32_t offset;
    const char* message;
  };
  for (const row& r : {row{"", 0, "empty"},
                       {"   ", 3, "empty"},
                       {"nul", 0, "value"},
                       {"[1,]", 3, "value"},
                       {"[1 2]", 3, "',' or ']'"},
                       {"{\"a\" 1}", 5, "':'"},
                       {"{a:1}", 1, "member name"},
                       {"{'a':1}", 1, "member name"},
                       {"{\"a\":1,}", 7, "member name"},
                       {"{\"a\":1 \"b\":2}", 7, "',' or '}'"},
                       {"[1] x", 4, "after the end"},
                       {"1 2", 2, "after the end"},
                       {"\"abc", 0, "without an end"},
                       {"\"a\\x\"", 2, "escape"},
                       {"\"\\u12g4\"", 1, "hexadecimal"},
                       {"\"a\nb\"", 2, "control"},
                       {"1e999", 0, "beyond"},
                       {"[1, -1e400]", 4, "beyond"},
                       {"1e99999999999999999999", 0, "beyond"},
                       {"1.", 2, "decimal point"},
                       {"1e", 2, "exponent"},
                       {"+1", 0, "value"},
                       {".5", 0, "value"},
                       {"01", 1, "after the end"},
                       {"NaN", 0, "value"},
                       {"Infinity", 0, "value"},
                       {"// c\n1", 0, "value"},
                       {"[1/*x*/]", 2, "',' or ']'"},
                       {"\xef\xbb\xbf{}", 0, "value"},
                       {"\"\xff\"", 1, "UTF-8"},
                       {"\"\xc3\"", 1, "UTF-8"},
                       {"\"\xed\xa0\x80\"", 1, "UTF-8"},
                       {"[1]\0[2]"s, 3, "NUL"},
                       {"[1\0]"s, 2, "',' or ']'"},
                       {"\"\\ud800\"", 1, "surrogate"},
                       {"\"\\udc00\"", 0, "surrogate"},
                       {"[ \"\\udfff x\"]", 2, "surrogate"},
                       {"\"\\ud800\\ud800\"", 1, "surrogate"},
                       {"\"\\ud800a\"", 1, "surrogate"},
                       {"{\"\\udc00\":1}", 1, "surrogate"},
                       {"{", 1, "member name"},
                       {"[", 1, "value"},
                       {"{\"a\":", 5, "value"}}) {
    CAPTURE(r.in);
    const auto parsed = json::parse(r.in);
    REQUIRE_FALSE(parsed);
    CAPTURE(parsed.error().message);
    CHECK(parsed.error().offset == r.offset);
    CHECK(parsed.error().message.find(r.message) != std::string::npos);
  }
}

TEST_CASE("JSONC adds comments, trailing commas and a byte-order mark, nothing else") {
  CHECK(round("\xef\xbb\xbf{\"a\":1}", k_jsonc) == "{\"a\":1}");
  CHECK(round("// one\r\n{ /* two */ \"a\" /*3*/ : /*4*/ 1, // five\r\n\"b\": [1,2,], }\n// six", k_jsonc) ==
        "{\"a\":1,\"b\":[1,2]}");
  CHECK(round("{\"a\":\"// no comment /* */\"}", k_jsonc) == "{\"a\":\"// no comment /* */\"}");
  CHECK(round("[1] // end without newline", k_jsonc) == "[1]");
  CHECK(json::parse("[,1]", k_jsonc).error().offset == 1);
  for (const auto& bad :
       {"[,]"s, "{,}"s, "[1,,]"s, "{a:1}"s, "['a']"s, "/* open"s, "[1] / 2"s, "# c\n1"s, "\xef\xbb\xbf\xef\xbb\xbf{}"s}) {
    CAPTURE(bad);
    CHECK_FALSE(json::parse(bad, k_jsonc));
  }
}

TEST_CASE("every value and name knows where it stands") {
  const std::string text =
      "\xef\xbb\xbf// head: \"x\", 1\r\n"
      "{ /* , : */ \"a\" : [ 10, \"s\\\"q\", null,\n  true, -1.5, {} ],\n"
      "  \"b\\u0041\": { \"c\": /* \"no\" */ \"v\" },\n}\n";
  const auto parsed = json::parse(text, k_jsonc);
  REQUIRE(parsed);
  const auto here = [&](const json::value& v) { return text.substr(v.at); };
  CHECK(here(*parsed).starts_with("{ /*"));
  const json::value& a = *parsed->get("a");
  CHECK(here(a).starts_with("[ 10"));
  const char* starts[] = {"10,", "\"s\\\"q\"", "null", "true", "-1.5", "{}"};
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(here(a.as_array()[i]).starts_with(starts[i]));
  }
  CHECK(here(*parsed->get("bA")).starts_with("{ \"c\""));
  CHECK(here(*parsed->get("bA")->get("c")).starts_with("\"v\""));
  const auto names = parsed->as_object();
  CHECK(text.substr(names.begin()->at).starts_with("\"a\""));
  CHECK(text.substr((names.begin() + 1)->at).starts_with("\"b\\u0041\""));
}

TEST_CASE("a repeated member name is refused with both positions") {
  const std::string text = "{\n  \"a\": 1,\n  \"b\": {\"x\": 1, \"x\": 2},\n  \"a\": 3\n}";
  const auto inner = json::parse(text);
  REQUIRE_FALSE(inner);
  CHECK(inner.error().message == "duplicate key \"x\" (first at 3:9)");
  CHECK(text.substr(inner.error().offset).starts_with("\"x\": 2"));
  const std::string outer_text = "{\n  \"a\": 1,\n  \"a\": 3\n}";
  const auto outer = json::parse(outer_text, k_jsonc);
  REQUIRE_FALSE(outer);
  CHECK(outer.error().message == "duplicate key \"a\" (first at 2:3)");
  const json::position at = json::locate(outer_text, outer.error().offset);
  CHECK(at.line == 3);
  CHECK(at.column == 3);
  CHECK_FALSE(json::parse("{\"a\":1,\"\\u0061\":2}"));  // equal once decoded
}

TEST_CASE("the earliest repetition is the one reported, among many members") {
  std::string text = "{";
  for (int i = 0; i < 500; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  text += "\"k7\":1,\"k3\":1}";
  const auto parsed = json::parse(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message.starts_with("duplicate key \"k7\""));
}

TEST_CASE("where duplicates are tolerated the last value wins at the first place") {
  CHECK(round("{\"a\":1,\"b\":2,\"a\":3,\"c\":4,\"a\":5}", {.refuse_duplicates = false}) == "{\"a\":5,\"b\":2,\"c\":4}");
}

TEST_CASE("nesting is capped, at the exact level") {
  const auto nested = [](int n, char open, char close) { return std::string(n, open) + std::string(n, close); };
  CHECK(json::parse(nested(512, '[', ']')));
  const auto deep = json::parse(nested(513, '[', ']'));
  REQUIRE_FALSE(deep);
  CHECK(deep.error().message.find("512") != std::string::npos);
  CHECK(deep.error().offset == 512);
  std::string objects;
  for (int i = 0; i < 513; ++i) objects += "{\"a\":";
  CHECK_FALSE(json::parse(objects + "1" + std::string(513, '}')));
  CHECK_FALSE(json::parse(nested(1'000'000, '[', ']')));
  CHECK(json::parse(nested(3, '[', ']'), {.max_depth = 3}));
  CHECK_FALSE(json::parse(nested(4, '[', ']'), {.max_depth = 3}));
}

TEST_CASE("positions count lines and bytes from one") {
  struct row {
    const char* text;
    std::uint32_t offset, line, column;
  };
  for (const row& r : {row{"", 0, 1, 1},
                       {"abc", 2, 1, 3},
                       {"a\nb", 2, 2, 1},
                       {"a\r\nb", 3, 2, 1},
                       {"\n\n", 2, 3, 1},
                       {"ab", 99, 1, 3},
                       {"\xc3\xa9x", 2, 1, 3},
                       {"\xef\xbb\xbfx", 3, 1, 1},
                       {"\xef\xbb\xbf\nx", 4, 2, 1}}) {
    CAPTURE(r.text);
    CHECK(json::locate(r.text, r.offset).line == r.line);
    CHECK(json::locate(r.text, r.offset).column == r.column);
  }
}

TEST_CASE("the canonical form sorts names by bytes and escapes the least") {
  struct row {
    const char *in, *out;
  };
  for (const row& r : {row{"{ \"b\" : 1, \"a\" : [ 2, 1 ] }", "{\"a\":[2,1],\"b\":1}"},
                       {"{\"aa\":1,\"a\":2,\"B\":3,\"\\u00e9\":4}", "{\"B\":3,\"a\":2,\"aa\":1,\"\xc3\xa9\":4}"},
                       {"\"\\n\\t\\u001f\\\"\\\\\\/\\u007f\"", "\"\\u000a\\u0009\\u001f\\\"\\\\/\x7f\""},
                       {"-0", "0"},
                       {"-0.0", "0"},
                       {"1e2", "100"},
                       {"1.50", "1.5"},
                       {"{\"x\":{\"z\":1,\"y\":2}}", "{\"x\":{\"y\":2,\"z\":1}}"},
                       {"[1.0,1]", "[1,1]"},
                       {"0.000001", "1e-6"},
                       {"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""}}) {
    CAPTURE(r.in);
    CHECK(json::write_canonical(*json::parse(r.in)) == r.out);
  }
  // The config of golden vector 1, members shuffled.
  const auto config = json::parse(
      R"({"exec":{"command":"true"},"cache":{"outputs":{"files":["dist/**"]},"inputs":{"files":["src/**"],"env":["API","MODE"]}}})");
  CHECK(
      json::write_canonical(*config) ==
      R"({"cache":{"inputs":{"env":["API","MODE"],"files":["src/**"]},"outputs":{"files":["dist/**"]}},"exec":{"command":"true"}})");
}

TEST_CASE("written numbers read back equal") {
  for (const double d : {0.1, 1.0 / 3, 1e300, -1e-300, 123456789.125, 5e-324, 1.7976931348623157e308, 4503599627370497.5}) {
    CAPTURE(d);
    CHECK(json::parse(json::write(json::value(d)))->as_double() == d);
  }
  CHECK(json::write(json::value(std::nan(""))) == "null");
  CHECK(json::write(json::value(std::numeric_limits<double>::infinity())) == "null");
}

TEST_CASE("strings that are no UTF-8 are spelled so that the document stays valid") {
  CHECK(json::write(json::value("a\xff\n")) == "\"a\\\\xff\\n\"");
  CHECK(json::parse(json::write(json::value("\xed\xa0\x80")))->as_string() == "\\xed\\xa0\\x80");
}

TEST_CASE("the pretty form indents by two") {
  CHECK(json::write_pretty(*json::parse("{\"a\":[1,{}],\"b\":{\"c\":[]}}")) ==
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}");
  CHECK(json::write_pretty(json::value(1)) == "1");
}

TEST_CASE("objects keep order, replace, append and erase") {
  json::object o;
  o.set("b", 1);
  o.set("a", 2);
  o.set("b", 3);
  o.add("c", json::value(nullptr));
  CHECK(json::write(json::value(o)) == "{\"b\":3,\"a\":2,\"c\":null}");
  CHECK(o.erase("b"));
  CHECK_FALSE(o.erase("b"));
  CHECK(o.find("b") == nullptr);
  CHECK(o.find("a")->as_int() == 2);
  CHECK(json::value(1).get("a") == nullptr);
}

TEST_CASE("equality looks through member order and number spelling, not through types") {
  const auto same = [](const char* a, const char* b) { return json::equal(*json::parse(a), *json::parse(b)); };
  CHECK(same("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1.0}"));
  CHECK_FALSE(same("[1,2]", "[2,1]"));
  CHECK_FALSE(same("{\"a\":1}", "{\"a\":2}"));
  CHECK_FALSE(same("{\"a\":1}", "{\"b\":1}"));
  CHECK_FALSE(same("1", "\"1\""));
  CHECK_FALSE(same("null", "false"));
  CHECK_FALSE(same("9007199254740993", "9007199254740992"));
}
