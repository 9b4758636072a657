// Laws of `include` and of --set.
#include "sim/config/value.h"
#include "tests/config/files.h"
#include "tests/test.h"

using namespace trainwire;

TEST_CASE("the including file overrides what it includes key by key, and each value keeps its own file") {
  const TestFolder folder("include");
  folder.write("base.yaml", "a: 1\nb: {x: 1, y: 2}\nc: 3\n");
  const auto top = folder.write("top.yaml", "include: base.yaml\nb: {y: 20}\nd: 4\n");
  Problems problems;
  const Value value = read_file(top, problems);
  REQUIRE(problems.empty());
  CHECK(value.find("include") == nullptr);
  CHECK(value.find("a")->scalar == "1");
  CHECK(value.find("b")->find("x")->scalar == "1");
  CHECK(value.find("b")->find("y")->scalar == "20");
  CHECK(value.find("b")->find("y")->where.line == 2);
  CHECK(value.find("d")->scalar == "4");
  CHECK_THAT(value.find("c")->where.file, contains("base.yaml"));
  CHECK_THAT(value.find("d")->where.file, contains("top.yaml"));
}

TEST_CASE("of several included files the later one wins, and names are relative to the file that includes") {
  const TestFolder folder("several");
  std::filesystem::create_directories(folder.path / "sub");
  folder.write("sub/inner.yaml", "a: inner\nz: 1\n");
  folder.write("sub/outer.yaml", "include: inner.yaml\nb: outer\n");
  folder.write("other.yaml", "a: other\n");
  Problems problems;
  const Value value = read_file(folder.write("top.yaml", "include: [sub/outer.yaml, other.yaml]\n"), problems);
  REQUIRE(problems.empty());
  CHECK(value.find("a")->scalar == "other");
  CHECK(value.find("b")->scalar == "outer");
  CHECK(value.find("z")->scalar == "1");
}

TEST_CASE("a cycle of includes is refused with the circle and the line") {
  const TestFolder folder("cycle");
  folder.write("a.yaml", "x: 1\ninclude: b.yaml\n");
  folder.write("b.yaml", "include: a.yaml\n");
  const auto self = folder.write("self.yaml", "include: self.yaml\n");
  Problems problems;
  read_file(folder.path / "a.yaml", problems);
  CHECK_THAT(all_text(problems), contains("b.yaml:1: include") && contains("a.yaml -> b.yaml -> a.yaml"));
  Problems own;
  read_file(self, own);
  CHECK_THAT(all_text(own), contains("self.yaml -> self.yaml"));
}

TEST_CASE("the same file included twice on different ways is no cycle") {
  const TestFolder folder("diamond");
  folder.write("base.yaml", "x: 1\n");
  folder.write("a.yaml", "include: base.yaml\n");
  folder.write("b.yaml", "include: base.yaml\n");
  Problems problems;
  const Value value = read_file(folder.write("top.yaml", "include: [a.yaml, b.yaml]\n"), problems);
  CHECK(problems.empty());
  CHECK(value.find("x")->scalar == "1");
}

TEST_CASE("an include that is not there or not a mapping is refused at its line") {
  const TestFolder folder("absent");
  folder.write("list.yaml", "- 1\n");
  Problems problems;
  read_file(folder.write("top.yaml", "a: 1\ninclude: [none.yaml, list.yaml]\n"), problems);
  CHECK_THAT(all_text(problems), contains("top.yaml:2: include") && contains("there is no such file"));
  CHECK_THAT(all_text(problems), contains("must hold a mapping"));
}

TEST_CASE("--set changes what is there and adds what is not") {
  Problems problems;
  Value root = read_text("a: {b: 1}\n", "t", problems);
  apply_override(root, "a.b=2", problems);
  apply_override(root, "a.c=[1, 2]", problems);
  apply_override(root, "x.y.z=25 MiB", problems);
  REQUIRE(problems.empty());
  CHECK(root.find("a")->find("b")->scalar == "2");
  CHECK(root.find("a")->find("b")->where.file == "--set");
  CHECK(root.find("a")->find("c")->items.size() == 2);
  CHECK(root.find("x")->find("y")->find("z")->scalar == "25 MiB");
}

TEST_CASE("a --set that cannot be applied says so") {
  for (const std::string text : {"", "a", "=1", "a..b=1", ".a=1", "a.b.c=1", "l.0=1"}) {
    Problems problems;
    Value root = read_text("a: {b: 1}\nl: [1]\n", "t", problems);
    apply_override(root, text, problems);
    CAPTURE(text);
    REQUIRE_FALSE(problems.empty());
    CHECK_THAT(all_text(problems), contains("--set"));
  }
}
