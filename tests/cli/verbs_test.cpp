// The command line itself: help, versions, verbs, exit status, where results go.
#include "tests/cli/command.h"
#include "tests/test.h"

namespace {
const std::string small =
    "model: {family: transformer, layers: 4, hidden: 64, heads: 4, ffn_hidden: 256, vocab: 512, source: test}\n"
    "topology: {use: dgx-h100, devices: 2}\n"
    "training: {sequence: 64, global_batch: 8}\n";
}

TEST_CASE("help and version are results: status 0, on standard output") {
  const TestFolder folder("help");
  for (const std::string arguments : {"--help", "--version", "explain --help", "simulate --help", "execute -h",
                                      "compare --help", "calibrate --help", "plot --help"}) {
    const Said said = trainwire_says(folder, arguments);
    CAPTURE(arguments);
    CHECK(said.status == 0);
    CHECK_FALSE(said.out.empty());
    CHECK(said.err.empty());
    if (arguments.find("elp") != std::string::npos && arguments[0] != '-')
      CHECK_THAT(said.out, contains("Example: trainwire"));
  }
}

TEST_CASE("a wrong command line is bad input and says what would be right") {
  struct Row {
    std::string arguments, expected;
  };
  const Row rows[] = {{"", "which verb?"},
                      {"simulat x.yaml", "simulat is not a verb. Did you mean simulate?"},
                      {"simulate", "simulate takes SCENARIO, but 0 were given"},
                      {"explain a b", "but 2 were given"},
                      {"explain x.yaml --josn", "--json"},
                      {"explain x.yaml -o", "output"},
#ifdef TRAINWIRE_HAS_CPU
                      {"execute x.yaml --backend cuda", "--backend cuda: the CUDA part of trainwire is not installed"},
                      {"calibrate --backend cuda", "--backend cuda: the CUDA part of trainwire is not installed"},
#endif
                      {"execute x.yaml --backend tpu", "must be cpu or cuda"},
                      {"compare a b", "a: "},
                      {"plot nowhere", "nowhere: is not a result folder"},
                      {"sweep x.yaml --vary a=1", "sweep is not supported yet"},
                      {"search x.yaml", "search is not supported yet"},
                      {"import hf-config x", "Known: nccl-topo"}};
  setenv("TRAINWIRE_CUDA_PLUGIN", "/nowhere/libtrainwire_cuda.so", 1);  // also where there is a GPU
  const TestFolder folder("usage");
  folder.write("x.yaml", small);
  for (const Row& row : rows) {
    const Said said = trainwire_says(folder, row.arguments);
    CAPTURE(row.arguments, said.err);
    CHECK(said.status == 2);
    CHECK(said.out.empty());
    CHECK_THAT(said.err, contains(row.expected));
  }
}

TEST_CASE("explain prints the plan and writes only where it is told to") {
  const TestFolder folder("explain");
  folder.write("x.yaml", small);
  const Said said = trainwire_says(folder, "explain x.yaml");
  CHECK(said.status == 0);
  CHECK_THAT(said.out, contains("memory a rank") && contains("stage 0"));
  CHECK_FALSE(std::filesystem::exists(folder.path / "reports"));
  CHECK(trainwire_says(folder, "explain x.yaml -q -o here").err.empty());
  CHECK(std::filesystem::exists(folder.path / "here" / "explain.txt"));
  CHECK_THAT(trainwire_says(folder, "explain x.yaml --ops").out, contains("all_reduce"));
  CHECK(trainwire_says(folder, "explain x.yaml --json").out.front() == '{');
}

#ifdef TRAINWIRE_HAS_SIMGRID
TEST_CASE("simulate writes to reports/runs/<scenario>/simulate unless told otherwise, and --json prints nothing else") {
  const TestFolder folder("simulate");
  folder.write("x.yaml", small);
  const Said said = trainwire_says(folder, "simulate x.yaml");
  CHECK(said.status == 0);
  for (const char* name : {"report.json", "timeline.csv", "trace.json", "links.csv", "memory.csv"}) {
    CAPTURE(name);
    CHECK(std::filesystem::exists(folder.path / "reports/runs/x/simulate" / name));
  }
  const Said json = trainwire_says(folder, "simulate x.yaml --json -q -o other");
  CHECK(json.status == 0);
  CHECK(json.out.front() == '{');
  CHECK(json.err.empty());
  CHECK(std::filesystem::exists(folder.path / "other" / "report.json"));
}

TEST_CASE("a plan that does not fit is predicted, said loudly, and fails only under --strict") {
  const TestFolder folder("strict");
  folder.write(
      "x.yaml",
      "model: llama-3-70b\ntopology: {use: dgx-h100, devices: 1}\ntraining: {sequence: 512, global_batch: 1}\n");
  const Said said = trainwire_says(folder, "simulate x.yaml -q");
  CHECK(said.status == 0);
  CHECK_THAT(said.err, contains("DOES NOT FIT"));
  CHECK(trainwire_says(folder, "simulate x.yaml -q --strict").status == 1);
}
#endif
