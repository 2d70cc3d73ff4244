#include "git/settings.hpp"

#include <doctest/doctest.h>

#include "git_fixture.hpp"

using namespace vx;
using test::git_fixture;

namespace {

git::repository find(const git_fixture& f, const git::program& git) {
  auto repo = git::find_repository(git, f.root());
  REQUIRE((repo && *repo));
  return **repo;
}

}  // namespace

TEST_CASE("config files parse as git reads them") {
  const char* text =
      "; comment\n[core]\n\tautocrlf = input # c\n\tbare\n[Remote \"or\\\"ig\"]\n url = \"a;b\" c \\\n "
      "d\\t\n[a.B]\nx=1\n[core] filemode=false\n"
      "[s]\nq = \"  in  \"  \nempty =\n";
  std::vector<std::string> seen;
  REQUIRE(git::parse_config(text, [&](const git::config_variable& v) {
    seen.push_back(v.section + "|" + v.subsection + "|" + v.name + "|" + v.value.value_or("<none>"));
  }));
  CHECK(seen == std::vector<std::string>{"core||autocrlf|input", "core||bare|<none>", "remote|or\"ig|url|a;b c  d\t", "a|b|x|1",
                                         "core||filemode|false", "s||q|  in  ", "s||empty|"});
  for (const char* bad :
       {"[core\n", "x = 1\n", "[a]\nx \"y\"\n", "[a]\nx = \"open\n", "[a]\nx = \\q\n", "[a \"b\n\"]\n", "[a]\n= 1\n"}) {
    CAPTURE(bad);
    CHECK(!git::parse_config(bad, [](const git::config_variable&) {}));
  }
}

TEST_CASE("settings read from the files are those git tells") {
  struct row {
    const char* script;
    bool converts_all, file_mode;
  };
  const row rows[] = {
      {"true", false, true},
      {"git config core.autocrlf true", true, true},
      {"git config core.autocrlf input", true, true},
      {"git config core.autocrlf INPUT", true, true},
      {"git config core.autocrlf false", false, true},
      {"git config core.autocrlf 1", true, true},
      {"git config core.autocrlf 0", false, true},
      {"git config --global core.autocrlf true", true, true},
      {"git config --global core.autocrlf true; git config core.autocrlf no", false, true},
      {"git config core.fileMode false", false, false},
      {"printf '[core]\\n\\tautocrlf = true\\n' >.git/more; git config include.path more", true, true},
      {"printf '[core]\\n\\tautocrlf = true\\n' >$HOME/more; git config --global include.path more; git config core.fileMode "
       "off",
       true, false},
      {"git config extensions.worktreeConfig true; git config --worktree core.autocrlf true", true, true},
      {"printf '[core]\\n\\tautocrlf = true\\n' >.git/config.worktree", false, true},
      {"git config attr.tree HEAD", true, true},
      {"mkdir -p $HOME/.config/git; printf '[core]\\n\\tautocrlf = true\\n' >$HOME/.config/git/config", true, true},
  };
  for (const row& r : rows) {
    CAPTURE(r.script);
    git_fixture f;
    f.sh(r.script);
    const git::program git = f.program();
    const git::repository repo = find(f, git);
    auto direct = git::read_settings(git, repo);
    auto asked = git::ask_settings(git, repo);
    REQUIRE(direct);
    REQUIRE(asked);
    CHECK(direct->converts_all == r.converts_all);
    CHECK(direct->file_mode == r.file_mode);
    CHECK(asked->converts_all == r.converts_all);
    CHECK(asked->file_mode == r.file_mode);
  }
}

TEST_CASE("attribute sources outside the tree are found") {
  git_fixture f;
  const git::program git = f.program();
  const auto sources = [&](const std::string& dir) {
    auto repo = git::find_repository(git, dir);
    auto set = git::read_settings(git, **repo);
    std::vector<std::string> out;
    for (const std::string& s : git::outside_attribute_sources(**repo, *set)) {
      if (s.starts_with("/etc/")) continue;
      out.push_back(s);
    }
    return out;
  };
  f.sh("mkdir -p ws/p");
  CHECK(sources(f.root()).empty());
  f.sh("echo '* text' >.git/info/attributes");
  CHECK(sources(f.root()) == std::vector<std::string>{f.root() + "/.git/info/attributes"});
  f.sh("rm .git/info/attributes; mkdir -p $HOME/.config/git; echo '* text' >$HOME/.config/git/attributes");
  CHECK(sources(f.root()) == std::vector<std::string>{f.home.path() + "/.config/git/attributes"});
  f.sh("echo '* text' >$HOME/attrs; git config core.attributesFile '~/attrs'");
  CHECK(sources(f.root()) == std::vector<std::string>{f.home.path() + "/attrs"});
  f.sh(
      "git config --unset core.attributesFile; rm $HOME/.config/git/attributes; echo '* text' >.gitattributes; echo '* text' "
      ">ws/.gitattributes");
  CHECK(sources(f.root() + "/ws/p") == std::vector<std::string>{f.root() + "/.gitattributes", f.root() + "/ws/.gitattributes"});
  CHECK(sources(f.root()).empty());
}

TEST_CASE("every converting attribute is reported, whatever its state") {
  git_fixture f;
  f.sh(
      "cat >.gitattributes <<'X'\n*.t text\n*.auto text=auto\n*.bin -text\n*.e eol=crlf\n*.i ident\n*.l filter=lfs\n*.w "
      "working-tree-encoding=UTF-16\n"
      "*.c crlf\n*.d diff=x\nX\n");
  const git::program git = f.program();
  auto got = git::attribute_carriers(
      git, f.root(), {"a.t", "a.auto", "a.bin", "a.e", "a.i", "a.l", "a.w", "a.c", "a.d", "a.plain", "new\nline.t"});
  REQUIRE(got);
  CHECK(*got == std::vector<bool>{true, true, false, true, true, true, true, true, false, false, true});
}
