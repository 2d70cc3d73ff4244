#include "exec/mask.hpp"

#include <doctest/doctest.h>

#include <random>

using vx::exec::mask;
using vx::exec::mask_stream;

TEST_CASE("secret names are told by their parts") {
  for (const char* name : {"TOKEN", "NPM_TOKEN", "GH_TOKEN_2", "MY_SECRET", "API_KEY", "SSH_KEY_DATA", "DB_PASSWORD",
                           "PGPASSWD", "CREDENTIALS", "AWS_SECRET_ACCESS_KEY", "npm_config__authToken", "KEYBOARD",
                           "GIT_CONFIG_KEY_X", "GIT_CONFIG_KEY_", "XGIT_CONFIG_KEY_0"}) {
    CAPTURE(name);
    CHECK(vx::exec::is_secret_name(name));
  }
  for (const char* name : {"", "PATH", "HOME", "TOKEN_FILE", "KEY_PATH", "SECRET_DIR", "GIT_CONFIG_KEY_0", "GIT_CONFIG_KEY_12",
                           "PASS", "TOKE", "GOOGLE_APPLICATION_CREDENTIALS_FILE"}) {
    CAPTURE(name);
    CHECK_FALSE(vx::exec::is_secret_name(name));
  }
}

TEST_CASE("whole texts are masked") {
  struct row {
    std::vector<std::string> values;
    const char* text;
    const char* masked;
  };
  for (const row& r : {
           row{{}, "abcdef", "abcdef"},
           row{{"short"}, "short", "short"},
           row{{"abcdef"}, "xabcdefy abcde", "x***y abcde"},
           row{{"abcdef"}, "abcdefabcdef", "******"},
           row{{"abcdef", "abcdefghij"}, "abcdefghij abcdefgh", "*** ***gh"},
           row{{"abcdef", "cdefgh"}, "abcdefgh", "***"},  // overlapping values leave no edge
           row{{"abcdef", "cdefgh"}, "cdefgh-abcdef", "***-***"},
           row{{"aaaaaa"}, "aaaaaaaaaa", "***"},
           row{{"aabaabaab"}, "aabaabaabaab", "***"},
           row{{"abcabd"}, "abcabcabd", "abc***"},  // a failed start that holds the real one
           row{{"line one\nline two\nx"}, "line two", "***"},
           row{{"line one\r\n  line two"}, "[line one][line two]", "[***][***]"},
           row{{"line one\nline two"}, "line one\nline two", "***"},
           row{{"it's secret"}, "'it'\\''s secret'", "'***'"},
           row{{"it's secret"}, "it's secret", "***"},
           row{{"        "}, "a        b", "a        b"},  // blanks are no secret
           row{{std::string("nul\0value", 9)}, "nul", "nul"},
           row{{"caf\xC3\xA9!!"}, "caf\xC3\xA9!!", "***"},
       }) {
    CAPTURE(r.text);
    CHECK(mask(r.values).apply(r.text) == r.masked);
  }
}

TEST_CASE("the environment supplies values by rule and by name, and more can be added") {
  vx::environment env;
  env.set("API_TOKEN", "tok-123456");
  env.set("TOKEN_FILE", "/run/secrets/token");
  env.set("PLAIN", "plain-value");
  env.set("CHOSEN", "chosen-value");
  env.set("TINY_KEY", "12345");
  const mask m = mask::of(env, {"CHOSEN", "ABSENT"});
  CHECK(m.apply("tok-123456 /run/secrets/token plain-value chosen-value 12345") ==
        "*** /run/secrets/token plain-value *** 12345");
  CHECK(m.with({"plain-value"}).apply("tok-123456 plain-value") == "*** ***");
  CHECK(mask::of({}, {}).empty());
}

TEST_CASE("a secret is found wherever the chunks are cut") {
  const mask m({"abcdef", "defghijkl", "zzabcdefzz", "it's-a-secret"});
  const std::string text = "00abcdefghijkl11zzabcdefzz22it'\\''s-a-secret33defghijk";
  const std::string expected = m.apply(text);
  CHECK(expected.find("def") == expected.rfind("def"));  // only the unfinished one at the end
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      mask_stream s(m);
      std::string out = s.push(text.substr(0, a));
      out += s.push(text.substr(a, b - a));
      out += s.push(text.substr(b));
      out += s.release();
      CHECK_FALSE(s.holding());
      REQUIRE(out == expected);
    }
  }
  mask_stream bytewise(m);
  std::string out;
  for (const char c : text) out += bytewise.push({&c, 1});
  CHECK(out + bytewise.release() == expected);
}

TEST_CASE("only a tail that could begin a value is held back") {
  const mask m({"secret-value"});
  mask_stream s(m);
  CHECK(s.push("hello") == "hello");
  CHECK_FALSE(s.holding());
  CHECK(s.push(" sec") == " ");
  CHECK(s.holding());
  CHECK(s.push("ond") == "second");
  CHECK(s.push("secret-") == "");
  CHECK(s.release() == "secret-");
  CHECK(s.push("value") == "value");  // what was released is decided
}

TEST_CASE("random texts agree with a search that knows the whole text") {
  std::mt19937 random(7);
  const auto letters = [&](std::size_t n) {
    std::string s;
    for (std::size_t i = 0; i < n; ++i) s += static_cast<char>('a' + random() % 2);
    return s;
  };
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> values;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) values.push_back(letters(6 + random() % 4));
    const std::string text = letters(80);
    std::vector<bool> covered(text.size(), false);
    std::vector<bool> joined(text.size(), false);  // byte i belongs to the same secret as byte i-1
    for (const std::string& v : values) {
      for (std::size_t at = text.find(v); at != std::string::npos; at = text.find(v, at + 1)) {
        for (std::size_t i = at; i < at + v.size(); ++i) {
          covered[i] = true;
          if (i > at) joined[i] = true;
        }
      }
    }
    std::string expected;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!covered[i]) {
        expected += text[i];
      } else if (!joined[i]) {
        expected += "***";
      }
    }
    const mask m(values);
    mask_stream s(m);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + random() % 9;
      out += s.push(std::string_view(text).substr(at, n));
      at += n;
    }
    REQUIRE(out + s.release() == expected);
  }
}

TEST_CASE("held output of one stream does not wait for the other") {
  const mask m({"secret-value"});
  vx::exec::output_masker both(&m);
  std::string out, err;
  const vx::exec::output_fn sink = [&](int stream, std::string_view bytes) { (stream == 2 ? err : out) += bytes; };
  both.push(1, "a sec", 1'000, sink);
  both.push(2, "b secret-", 2'000, sink);
  CHECK(out == "a ");
  CHECK(err == "b ");
  CHECK(both.release_at() == 1'000 + vx::exec::k_mask_idle_ns);
  both.release_idle(1'000 + vx::exec::k_mask_idle_ns, sink);
  CHECK(out == "a sec");
  CHECK(err == "b ");
  both.push(2, "value!", 3'000, sink);
  CHECK(err == "b ***!");
  CHECK(both.release_at() == 0);
  both.push(2, "secret", 4'000, sink);
  both.finish(sink);
  CHECK(err == "b ***!secret");
}

TEST_CASE("without secrets chunks pass as they are, uncopied") {
  vx::exec::output_masker none(nullptr);
  const std::string chunk = "secret-value";
  const char* seen = nullptr;
  none.push(1, chunk, 0, [&](int, std::string_view bytes) { seen = bytes.data(); });
  CHECK(seen == chunk.data());
}
