// Laws of reading files: both languages give the same tree with the same lines; hostile files are refused.
#include "sim/config/value.h"

#include <random>

#include "tests/config/files.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.scalar != b.scalar || a.items.size() != b.items.size()) return false;
  if (a.fields.size() != b.fields.size() || a.where.line != b.where.line) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    if (a.fields[i].first != b.fields[i].first || !same(a.fields[i].second, b.fields[i].second)) return false;
  }
  return true;
}

std::string repeat(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string refusal(const std::string& text, const std::string& name = "bad.yaml") {
  const TestFolder folder("value");
  Problems problems;
  const Value value = read_file(folder.write(name, text), problems);
  CHECK(value.kind == Value::Kind::null);
  REQUIRE_FALSE(problems.empty());
  return all_text(problems);
}

}  // namespace

TEST_CASE("a JSON text read as JSON and as YAML gives the same values on the same lines") {
  const std::string text =
      "{\n  \"a\": 12,\n  \"b\": [1.5, \"x\",\n    true],\n  \"c\": {\n    \"d\": null,\n    \"e\": -3e-5\n  }\n}\n";
  const TestFolder folder("same");
  Problems problems;
  const Value json = read_file(folder.write("x.json", text), problems);
  const Value yaml = read_file(folder.write("x.yaml", text), problems);
  CHECK(problems.empty());
  CHECK(same(json, yaml));
  CHECK(json.find("a")->where.line == 2);
  CHECK(json.find("b")->items[2].where.line == 4);
  CHECK(json.find("c")->find("e")->scalar == "-3e-5");
  CHECK(json.find("c")->find("e")->where.line == 7);
  CHECK(json.find("b")->items[1].quoted);
  CHECK_FALSE(json.find("a")->quoted);
}

TEST_CASE("a value of a mapping stands where its key stands") {
  Problems problems;
  const Value value = read_text("a:\n  b:\n    c: 1\nd:\n  - x\n  - y\n", "t", problems);
  CHECK(value.find("a")->where.line == 1);
  CHECK(value.find("a")->find("b")->where.line == 2);
  CHECK(value.find("a")->find("b")->find("c")->where.line == 3);
  CHECK(value.find("d")->items[1].where.line == 6);
}

TEST_CASE("quotes make a text, and null has several spellings") {
  Problems problems;
  const Value value = read_text("a: '12'\nb: ~\nc:\nd: null\ne: 'null'\n", "t", problems);
  CHECK(value.find("a")->quoted);
  CHECK(value.find("b")->kind == Value::Kind::null);
  CHECK(value.find("c")->kind == Value::Kind::null);
  CHECK(value.find("d")->kind == Value::Kind::null);
  CHECK(value.find("e")->kind == Value::Kind::scalar);
}

TEST_CASE("malformed text is refused at its line") {
  CHECK_THAT(refusal("a: 1\nb: [1, 2\nc: 3\n"), contains("bad.yaml:3: not valid YAML"));
  CHECK_THAT(refusal("a: 1\n b: 2\n"), contains("bad.yaml:2: not valid YAML"));
  CHECK_THAT(refusal("a: \"x\nb: 2\n"), contains("bad.yaml:2: not valid YAML"));
  CHECK_THAT(refusal("a: *nowhere\n"), contains("bad.yaml:1: not valid YAML"));
  CHECK_THAT(refusal("{\n \"a\": 1,\n}\n", "bad.json"), contains("bad.json:3: not valid JSON"));
  CHECK_THAT(refusal("{\n \"a\": 1\n", "bad.json"), contains("not valid JSON"));
  CHECK_THAT(refusal("", "bad.json"), contains("bad.json:1: not valid JSON"));
  CHECK_THAT(refusal("a: 1\n---\nb: 2\n"), contains("more than one YAML document"));
}

TEST_CASE("a key given twice is refused with both lines") {
  CHECK_THAT(refusal("a: 1\nb: 2\na: 3\n"), contains("bad.yaml:3: a = 3: is given twice, first in line 1"));
  CHECK_THAT(refusal("{\"a\": 1,\n\"a\": 2}", "bad.json"),
             contains("bad.json:2: a = 2: is given twice, first in line 1"));
}

TEST_CASE("binary files are refused") {
  CHECK_THAT(refusal(std::string("a: \0b", 5)), contains("is not a text file"));
  CHECK_THAT(refusal("a: \xFF\xFE"), contains("is not a text file"));
  const unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::string noise(100000, ' ');
  for (char& c : noise) c = static_cast<char>(random());
  CHECK_THAT(refusal(noise), contains("is not a text file"));
  CHECK_THAT(refusal(noise, "bad.json"), contains("is not a text file"));
}

TEST_CASE("a file over the limit is refused unread") {
  const TestFolder folder("large");
  const auto file = folder.write("large.yaml", "a: 1\n");
  std::filesystem::resize_file(file, 100'000'000);
  Problems problems;
  CHECK(read_file(file, problems).kind == Value::Kind::null);
  CHECK_THAT(all_text(problems), contains("is 95 MiB long, files over 2 MiB are not read"));
}

TEST_CASE("deep nesting is refused in both languages") {
  CHECK_THAT(refusal(repeat("[", 500) + repeat("]", 500)), contains("nested deeper than 64"));
  CHECK_THAT(refusal(repeat("- ", 5000) + "x"), contains("nested deeper than 64"));
  CHECK_THAT(refusal(repeat("[", 100000), "bad.json"), contains("nested deeper than 64"));
  CHECK_THAT(refusal(repeat("{\"a\":", 100000), "bad.json"), contains("nested deeper than 64"));
}

TEST_CASE("brackets that never close are refused") {
  CHECK_THAT(refusal(repeat("[", 100000)), contains("bad.yaml:1:"));
  CHECK_THAT(refusal(repeat("{", 100000)), contains("bad.yaml:1:"));
}

TEST_CASE("exactly 64 levels are read") {
  Problems problems;
  read_text(repeat("[", 64) + repeat("]", 64), "t", problems);
  CHECK(problems.empty());
}

TEST_CASE("aliases cannot stand for billions of values, nor contain themselves") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + last + repeat(", " + last, 9) + "]\n";
  }
  CHECK_THAT(refusal(bomb), contains("values once aliases are expanded"));
  CHECK_THAT(refusal("a: &a [*a]\n"), contains("refers to itself"));
}

TEST_CASE("an alias is the value it stands for") {
  Problems problems;
  const Value value = read_text("a: &x {b: 1}\nc: *x\n", "t", problems);
  CHECK(problems.empty());
  CHECK(value.find("c")->find("b")->scalar == "1");
}

TEST_CASE("missing files and folders are refused by name") {
  const TestFolder folder("missing");
  Problems problems;
  read_file(folder.path / "none.yaml", problems);
  read_file(folder.path, problems);
  CHECK_THAT(all_text(problems), contains("none.yaml: there is no such file") && contains("is a folder, not a file"));
}

TEST_CASE("text() of a value is one line of at most 60 characters") {
  Problems problems;
  const Value value =
      read_text("a: {b: [1, 2], c: x}\nlong: \"" + repeat("\xC3\xA9", 200) + "\"\nlines: \"x\\ny\"\n", "t", problems);
  CHECK(value.find("a")->text() == "{b: [1, 2], c: x}");
  CHECK(value.find("long")->text().size() <= 60);
  CHECK(value.find("long")->text().size() % 2 == 1);  // whole two-byte characters and three dots
  CHECK(value.find("lines")->text() == "x y");
}
