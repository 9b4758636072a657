// `trainwire import`: our file on standard output, what was assumed on standard error, status 2 for what is refused.
#include "tests/cli/command.h"
#include "tests/test.h"

TEST_CASE("import writes a topology that a scenario can use") {
  const TestFolder folder("import");
  std::ofstream(folder.path / "m.txt") << "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV4\t0-1\nGPU1\tNV4\tX\t0-1\n";
  const Said said = trainwire_says(folder, "import nvidia-smi-topo m.txt --gpu rtx-3090");
  CHECK(said.status == 0);
  CHECK_THAT(said.out, contains("pairs:"));
  CHECK_THAT(said.err, contains("assumed: PCIe links"));
  CHECK(trainwire_says(folder, "import nvidia-smi-topo m.txt --gpu rtx-3090 -q -o out").status == 0);
  CHECK(slurp(folder.path / "out" / "m.yaml") == said.out);
  std::ofstream(folder.path / "x.yaml")
      << "model: gpt-tiny\ntopology: {import: nvidia-smi-topo, file: m.txt, gpu: rtx-3090}\nstrategy: {data: 2}\n"
         "training: {sequence: 32, global_batch: 4}\n";
  CHECK(trainwire_says(folder, "explain x.yaml -o e").status == 0);
}

TEST_CASE("import refuses what it cannot read") {
  const TestFolder folder("import-bad");
  std::ofstream(folder.path / "m.txt") << "nothing\n";
  CHECK(trainwire_says(folder, "import nvidia-smi-topo m.txt").status == 2);
  CHECK_THAT(trainwire_says(folder, "import nvidia-smi-topo m.txt").err, contains("m.txt:1: has no line"));
  CHECK_THAT(trainwire_says(folder, "import nvidia-smi m.txt").err, contains("nvidia-smi-topo"));
  CHECK(trainwire_says(folder, "import nccl-topo absent.xml").status == 2);
}
