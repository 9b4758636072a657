// Every kind of bad input ends in status 2 with file and line, and leaves no output behind.
#include <random>

#include "tests/cli/command.h"
#include "tests/test.h"

namespace {

const std::string sound =
    "model: {family: transformer, layers: 4, hidden: 64, heads: 4, ffn_hidden: 256, vocab: 512, source: test}\n"
    "topology: {use: dgx-h100, devices: 2}\n"
    "training: {sequence: 64, global_batch: 8}\n";

struct Row {
  const char* what;
  std::string text;      // of x.yaml
  std::string expected;  // a piece of the message
};

// None of the verbs that read a scenario takes this one.
void check_refused(const TestFolder& folder, const std::string& expected, const std::string& options = "") {
  for (const std::string verb : {"simulate", "explain", "execute"}) {
    const Said said = trainwire_says(folder, verb + " x.yaml -o out " + options);
    CAPTURE(verb, said.err);
#ifndef TRAINWIRE_HAS_SIMGRID
    if (verb == "simulate") continue;
#endif
#ifndef TRAINWIRE_HAS_CPU
    if (verb == "execute") continue;
#endif
    CHECK(said.status == 2);
    CHECK(said.out.empty());
    CHECK_THAT(said.err, contains(expected));
    CHECK_FALSE(std::filesystem::exists(folder.path / "out"));
    CHECK_FALSE(std::filesystem::exists(folder.path / "reports"));
  }
}

}  // namespace

TEST_CASE("bad scenarios are refused with file and line, and no output is written") {
  const Row rows[] = {
      {"unknown key", sound + "sedd: 3\n", "x.yaml:4: sedd = 3: is not a known key"},
      {"misspelt key", sound + "strategy:\n  dta: 2\n",
       "x.yaml:5: strategy.dta = 2: is not a known key. Did you mean data?"},
      {"missing key", "topology: dgx-h100\n", "x.yaml:1: model: is missing"},
      {"wrong type", sound + "strategy: {tensor: two}\n",
       "x.yaml:4: strategy.tensor.degree = two: must be a whole number"},
      {"missing unit", sound + "strategy: {data: {bucket: 25}}\n", "x.yaml:4: strategy.data.bucket = 25: has no unit"},
      {"negative size", sound + "strategy: {tensor: -2}\n", "x.yaml:4: strategy.tensor.degree = -2"},
      {"zero size", sound + "strategy: {pipeline: 0}\n", "x.yaml:4: strategy.pipeline.degree = 0"},
      {"zero layers", "model: {family: mlp, inputs: 4, hidden: 4, layers: 0, classes: 2}\ntopology: dgx-h100\n",
       "x.yaml:1: "},
      {"degrees and world size", sound + "strategy: {data: 3}\n", "x.yaml:4: strategy = data 3"},
      {"degree and heads",
       "model: {family: transformer, layers: 4, hidden: 96, heads: 3, head_dim: 32, ffn_hidden: 256, vocab: 512, "
       "source: t}\n"
       "topology: {use: dgx-h100, devices: 2}\ntraining: {sequence: 64}\nstrategy: {tensor: 2}\n",
       "x.yaml:4: strategy.tensor = 2: must divide heads = 3"},
      {"degree and layers", sound + "strategy: {pipeline: 8}\n", "x.yaml:4: strategy.pipeline = 8"},
      {"missing include", sound + "include: none.yaml\n", "x.yaml:4: include = "},
      {"no such model", "model: gpt2-123m\ntopology: dgx-h100\n", "x.yaml:1: model = gpt2-123m"},
      {"near model", "model: gpt2-123m\ntopology: dgx-h100\n", "gpt2-124m"},
      {"no such topology", "model: gpt2-124m\ntopology: dgx-h101\n", "x.yaml:2: topology = dgx-h101"},
      {"near topology", "model: gpt2-124m\ntopology: dgx-h101\n", "dgx-h100"},
      {"malformed YAML", "model: [gpt2-124m\ntopology: dgx-h100\n", "x.yaml:2: not valid YAML"},
      {"malformed config.json", "model: bad/config.json\ntopology: dgx-h100\n", "config.json:3: not valid JSON"},
      {"not connected", "model: gpt2-124m\ntopology: {use: dgx-h100, nodes: 2, fabric: {kind: none}}\n",
       "cannot reach"},
      {"cycle of includes", "include: y.yaml\n", "y.yaml:1: include"},
      {"empty", "", "x.yaml:1: is empty"},
      {"does not go together", sound + "strategy: {data: {sharding: fsdp, shard: 4}}\n",
       "x.yaml:4: strategy.data.shard = 4: is the size of hsdp's groups"},
  };
  const TestFolder folder("cli");
  std::filesystem::create_directories(folder.path / "bad");
  folder.write("bad/config.json", "{\n  \"hidden_size\": 64,\n}\n");
  folder.write("y.yaml", "include: x.yaml\n");
  for (const Row& row : rows) {
    CAPTURE(row.what);
    folder.write("x.yaml", row.text);
    check_refused(folder, row.expected);
  }
}

TEST_CASE("a value from --set is checked like one of the file") {
  const TestFolder folder("set");
  folder.write("x.yaml", sound);
  check_refused(folder, "--set: training.global_batch = 3: must be a multiple of", "--set training.global_batch=3");
  check_refused(folder, "--set: strategy = data 1", "--set strategy.data=1");
  check_refused(folder, "--set: training.sequnce", "--set training.sequnce=3");
  check_refused(folder, "--set: nonsense is not key=value", "--set nonsense");
}

TEST_CASE("files that are no text end at once") {
  const TestFolder folder("huge");
  folder.write("x.yaml", "a: 1\n");
  SECTION("100 MB") {
    std::filesystem::resize_file(folder.path / "x.yaml", 100'000'000);
    check_refused(folder, "x.yaml: is 95 MiB long");
  }
  SECTION("binary") {
    const unsigned seed = 11;
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::string noise(1'000'000, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    folder.write("x.yaml", noise);
    check_refused(folder, "x.yaml: is not a text file");
  }
  SECTION("the command itself") {
    std::filesystem::remove(folder.path / "x.yaml");
    std::filesystem::create_symlink(TRAINWIRE_COMMAND, folder.path / "x.yaml");
    check_refused(folder, "x.yaml: is");
  }
  SECTION("a folder, a device, nothing") {
    CHECK(trainwire_says(folder, "explain .").status == 2);
    CHECK(trainwire_says(folder, "explain /dev/zero").status == 2);
    CHECK(trainwire_says(folder, "explain none.yaml").status == 2);
  }
}

TEST_CASE("an output folder that cannot be written ends the run before its work") {
  const TestFolder folder("output");
  folder.write("x.yaml", sound);
  folder.write("file", "kept");
  for (const std::string verb : {"simulate", "explain", "execute"}) {
    for (const std::string output : {"file", "file/deeper", "/proc/none"}) {
      const Said said = trainwire_says(folder, verb + " x.yaml -o " + output);
      CAPTURE(verb, output, said.err);
      CHECK(said.status == 2);
      CHECK(said.out.empty());
    }
  }
  CHECK_THAT(trainwire_says(folder, "explain x.yaml -o file/deeper").err,
             contains("file/deeper: the output folder cannot be written"));
  CHECK(slurp(folder.path / "file") == "kept");
}
