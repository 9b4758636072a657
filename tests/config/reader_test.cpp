// Laws of checked reading: a problem names place, key and value; unknown keys are problems.
#include "sim/config/reader.h"

#include "tests/config/files.h"
#include "tests/test.h"

using namespace trainwire;

namespace {
Value yaml(const std::string& text) {
  Problems problems;
  Value value = read_text(text, "x.yaml", problems);
  REQUIRE(problems.empty());
  return value;
}
}  // namespace

TEST_CASE("a problem reads file:line: key = value: problem. fix.") {
  CHECK(to_text(Problem{{"x.yaml", 6}, "strategy.tensor", "12", "must divide 32", "Try 8"}) ==
        "x.yaml:6: strategy.tensor = 12: must divide 32. Try 8.");
  CHECK(to_text(Problem{{"x.yaml", 0}, "", "", "is binary", ""}) == "x.yaml: is binary.");
  CHECK(to_text(Problem{{"x.yaml", 2}, "model", "", "is missing", ""}) == "x.yaml:2: model: is missing.");
}

TEST_CASE("all problems are thrown at once, one a line") {
  Problems problems;
  problems.throw_if_any();
  problems.add({{"x", 1}, "a", "", "is missing", ""});
  problems.add({{"x", 2}, "b", "", "is missing", ""});
  CHECK_THROWS_WITH(problems.throw_if_any(), "x:1: a: is missing.\nx:2: b: is missing.");
}

TEST_CASE("values that fit are returned, absent ones fall back, and nothing is reported") {
  const Value value = yaml("i: 12\nd: 0.5\nt: word\nf: true\nq: 25 MiB\nl: [1, 2]\nw: [a, b]\nc: two\n");
  Problems problems;
  Reader reader(value, "top", problems);
  CHECK(reader.integer("i", 1, 1) == 12);
  CHECK(reader.number("d", 0, 0, 1) == 0.5);
  CHECK(reader.text("t", "") == "word");
  CHECK(reader.flag("f", false));
  CHECK(reader.quantity<Bytes>("q", Bytes(1)).value == Approx(25.0 * 1024 * 1024));
  CHECK(reader.integers("l", 0) == std::vector<std::int64_t>{1, 2});
  CHECK(reader.texts("w") == std::vector<std::string>{"a", "b"});
  CHECK(reader.choice("c", {"one", "two"}, "one") == "two");
  CHECK(reader.integer("absent", 7, 1) == 7);
  CHECK(reader.choice("absent2", {"one", "two"}, "one") == "one");
  CHECK(reader.quantity<Seconds>("absent3", Seconds(3)).value == 3);
  reader.finish();
  CHECK(problems.empty());
}

TEST_CASE("each wrong value is one problem at its line") {
  struct Row {
    std::string text, expected;
  };
  const Row rows[] = {{"i: 0", "x.yaml:1: top.i = 0: must be a positive whole number."},
                      {"i: -3", "x.yaml:1: top.i = -3: must be a positive whole number."},
                      {"i: 1.5", "x.yaml:1: top.i = 1.5: must be a positive whole number."},
                      {"i: '12'", "not text in quotes"},
                      {"i: 99999999999999999999", "must be a positive whole number"},
                      {"i: [1]", "x.yaml:1: top.i = [1]: must be a positive whole number."},
                      {"i:", "top.i = null: must be a positive whole number."},
                      {"d: 1.5", "x.yaml:1: top.d = 1.5: must be a number from 0 to 1."},
                      {"d: nan", "must be a number from 0 to 1"},
                      {"f: maybe", "top.f = maybe: must be true or false."},
                      {"q: 25", "top.q = 25: has no unit. Example: 25 MiB."},
                      {"q: 0 B", "top.q = 0 B: must be more than zero."},
                      {"q: -1 MiB", "top.q = -1 MiB: must be more than zero."},
                      {"q: 25 MiB/s", "must be a number with a unit"},
                      {"c: tow", "top.c = tow: must be one of one, two. Did you mean two?"},
                      {"c: {a: 1}", "must be one of one, two"},
                      {"t: [a]", "top.t = [a]: must be a text."},
                      {"l: 3", "top.l = 3: must be a list of whole numbers."},
                      {"l: [1, x]", "top.l = x: must be a whole number of at least 0."}};
  for (const Row& row : rows) {
    const Value value = yaml(row.text);
    Problems problems;
    Reader reader(value, "top", problems);
    reader.integer("i", 1, 1);
    reader.number("d", 0, 0, 1);
    reader.flag("f", false);
    reader.quantity<Bytes>("q", Bytes(1));
    reader.choice("c", {"one", "two"}, "one");
    reader.text("t", "");
    reader.integers("l", 0);
    reader.finish();
    CAPTURE(row.text);
    CHECK(problems.all().size() == 1);
    CHECK_THAT(all_text(problems), contains(row.expected));
  }
}

TEST_CASE("what is required and absent is a problem at the mapping") {
  const Value value = yaml("\n\nother: 1\n");
  Problems problems;
  Reader reader(value, "top", problems);
  reader.require_text("name");
  reader.require_integer("layers", 1);
  reader.require_quantity<Bandwidth>("bandwidth");
  CHECK(problems.all().size() == 3);
  CHECK_THAT(all_text(problems), contains("x.yaml:3: top.name: is missing"));
  CHECK_THAT(all_text(problems), contains("top.layers: is missing. It must be a positive whole number."));
  CHECK_THAT(all_text(problems), contains("top.bandwidth: is missing. Example: bandwidth: 450 GB/s."));
}

TEST_CASE("a key that nobody asked for is a problem with the nearest known one") {
  const Value value = yaml("sequenec: 12\nwholly_other: 1\n");
  Problems problems;
  Reader reader(value, "training", problems);
  reader.integer("sequence", 1, 1);
  reader.integer("steps", 1, 1);
  reader.finish();
  CHECK_THAT(all_text(problems),
             contains("x.yaml:1: training.sequenec = 12: is not a known key. Did you mean sequence?"));
  CHECK_THAT(all_text(problems),
             contains("x.yaml:2: training.wholly_other = 1: is not a known key. Known: sequence, steps."));
}

TEST_CASE("a bare value is short for a mapping with one key") {
  const Value value = yaml("tensor: 8\npipeline: {degree: 2}\n");
  Problems problems;
  Reader reader(value, "", problems);
  const Value tensor = reader.map_or_shorthand("tensor", "degree");
  const Value pipeline = reader.map_or_shorthand("pipeline", "degree");
  const Value absent = reader.map_or_shorthand("data", "degree");
  CHECK(Reader(tensor, "tensor", problems).integer("degree", 1, 1) == 8);
  CHECK(Reader(pipeline, "pipeline", problems).integer("degree", 1, 1) == 2);
  CHECK(Reader(absent, "data", problems).integer("degree", 5, 1) == 5);
  CHECK(problems.empty());
}

TEST_CASE("something else than a mapping is one problem, not one for every key") {
  const Value value = yaml("[1, 2]");
  Problems problems;
  Reader reader(value, "training", problems);
  reader.integer("a", 1, 1);
  reader.finish();
  CHECK(problems.all().size() == 1);
  CHECK_THAT(all_text(problems), contains("training = [1, 2]: must be a mapping"));
}

TEST_CASE("names are near by edits, swaps and pieces, never by chance") {
  const std::vector<std::string> known{"dgx-a100", "dgx-h100", "gpt2-124m", "llama-3-8b", "llama-3-70b"};
  CHECK(nearest("llama3-8b", known).at(0) == "llama-3-8b");
  CHECK(nearest("lalma-3-8b", known).at(0) == "llama-3-8b");
  CHECK(nearest("h100", known).at(0) == "dgx-h100");
  CHECK(nearest("LLAMA-3-70B", known).at(0) == "llama-3-70b");
  CHECK(nearest("zzzzzz", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest("llama", known).size() == 2);
}
