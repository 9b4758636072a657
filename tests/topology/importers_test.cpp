// What importers make of other tools' files: the wiring is the file's, what it leaves out is marked, the rest is
// refused.
#include <algorithm>
#include <fstream>
#include <random>

#include "sim/config/text_file.h"
#include "sim/topology/importers.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

struct Outcome {
  std::optional<Imported> imported;
  std::string messages;
};

Outcome import_text(const std::string& kind, const std::string& text, const std::string& gpu = "") {
  Problems problems;
  Outcome outcome{
      nullptr != find_importer(kind) ? find_importer(kind)->read(text, "host.txt", gpu, problems) : std::nullopt, ""};
  for (const auto& problem : problems.all()) outcome.messages += to_text(problem) + "\n";
  return outcome;
}

Topology imported_topology(const std::string& kind, const std::string& text, const std::string& gpu = "") {
  const Outcome outcome = import_text(kind, text, gpu);
  INFO(outcome.messages);
  REQUIRE(outcome.imported);
  INFO(outcome.imported->yaml);
  return topology_of(outcome.imported->yaml);
}

double bandwidth(const Topology& t, DeviceId a, DeviceId b) {
  double least = 1e300;
  for (const LinkId l : t.route(a, b).links)
    least = std::min(least, t.links[static_cast<std::size_t>(l)].bandwidth.value.value);
  return least;
}

// Two sockets; on the first two GPUs and a port under one switch, on the second a GPU alone; NVLinks: 0-1 twice.
const std::string xml =
    "<system version=\"1\">\n"
    " <cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" modelid=\"85\">\n"
    "  <pci busid=\"0:1\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">\n"
    "   <pci busid=\"0:2\" class=\"0x030200\" device=\"0x1db5\" link_speed=\"8 GT/s\" link_width=\"16\">\n"
    "    <gpu dev=\"1\" sm=\"70\"><nvlink target=\"0:3\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>\n"
    "   <pci busid=\"0:3\" class=\"0x030200\" device=\"0x1db5\" link_speed=\"8 GT/s\" link_width=\"16\">\n"
    "    <gpu dev=\"0\" sm=\"70\"><nvlink target=\"0:2\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>\n"
    "   <pci busid=\"0:4\" class=\"0x020700\" link_speed=\"8 GT/s\" link_width=\"16\">\n"
    "    <nic><net name=\"ib0\" dev=\"0\" speed=\"100000\"/></nic></pci>\n"
    "  </pci>\n"
    " </cpu>\n"
    " <cpu numaid=\"1\">\n"
    "  <pci busid=\"1:2\" class=\"0x030200\" device=\"0x1db5\" link_speed=\"8 GT/s\" link_width=\"8\">\n"
    "   <gpu dev=\"2\" sm=\"70\"/></pci>\n"
    " </cpu>\n"
    "</system>\n";

const std::string matrix =
    "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tSYS\tPIX\t0-7\t0\n"
    "GPU1\tNV4\t X \tSYS\tPXB\t0-7\t0\n"
    "GPU2\tSYS\tSYS\t X \tSYS\t8-15\t1\n"
    "NIC0\tPIX\tPXB\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X = Self\n";

}  // namespace

TEST_CASE("an NCCL topology becomes the host that it describes") {
  const Topology t = imported_topology("nccl-topo", xml);
  REQUIRE(t.devices.size() == 3);
  CHECK(t.nics_per_node() == 1);
  CHECK(t.spec(0).name == "v100-sxm2-32gb");
  CHECK(bandwidth(t, 0, 1) == Approx(2 * 25e9));
  // PCIe 3.0: 8 GT/s, 128b/130b; of the unequal links the narrowest counts, and the file says so.
  CHECK(bandwidth(t, 0, 2) <= 8e9 * 8 / 8 * 128 / 130 * 1.001);
  CHECK_THAT(import_text("nccl-topo", xml).imported->yaml, contains("differ"));
  CHECK_THAT(import_text("nccl-topo", xml).imported->yaml, contains("value: 100 Gb/s, datasheet"));
  CHECK(t.route(0, 2).links.size() == 4);  // to the switch, to the socket, to the other one, down
}

TEST_CASE("a matrix of nvidia-smi becomes the host that it describes") {
  const Topology t = imported_topology("nvidia-smi-topo", matrix, "rtx-3090");
  REQUIRE(t.devices.size() == 3);
  CHECK(bandwidth(t, 0, 1) == Approx(4 * 14.0625e9));
  CHECK(t.route(0, 2).links.size() >= 3);
  // The port is under GPU0's switch, one further switch away from GPU1, on another socket than GPU2.
  CHECK(t.nearest_nic(0) == 0);
  CHECK_THAT(import_text("nvidia-smi-topo", matrix).imported->yaml, contains("[[gpu0, nic0], gpu1]"));
}

TEST_CASE("NVLinks of every pair at once mean NVSwitches, few mean cables") {
  const auto all = [](int gpus, int links) {
    std::string text;
    for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
    text += "\tCPU Affinity\n";
    for (int a = 0; a < gpus; ++a) {
      text += "GPU" + std::to_string(a);
      for (int b = 0; b < gpus; ++b) text += a == b ? "\t X " : "\tNV" + std::to_string(links);
      text += "\t0-7\n";
    }
    return text;
  };
  const Topology switched = imported_topology("nvidia-smi-topo", all(8, 12));
  CHECK(switched.spec(0).name == "a100-sxm-80gb");
  CHECK(switched.route(0, 7).links.size() == 2);  // up, down
  CHECK(bandwidth(switched, 0, 7) == Approx(300e9));
  const Topology cables = imported_topology("nvidia-smi-topo", all(4, 4), "a100-sxm-80gb");
  CHECK(cables.route(0, 3).links.size() == 1);
  CHECK(bandwidth(cables, 0, 3) == Approx(100e9));
}

TEST_CASE("what is no such file is refused with its line and a reason") {
  struct Row {
    const char* kind;
    std::string text, expected;
  };
  std::string deep, many = "<system>";
  for (int i = 0; i < 100; ++i) deep += "<pci>";
  for (int i = 0; i < 30000; ++i) many += "<cpu/>";
  const std::string no_row = matrix.substr(0, matrix.find("GPU2\tSYS"));
  std::string merged = matrix;
  merged.replace(merged.find("\tNV4\t X "), 6, "\tNV4  ");
  std::string asymmetric = matrix;
  asymmetric.replace(asymmetric.find("NV4"), 3, "NV2");
  const std::vector<Row> rows{
      {"nccl-topo", xml.substr(0, 700), "host.txt:13: is no sound XML"},
      {"nccl-topo", "", "host.txt:1: is no sound XML"},
      {"nccl-topo", "<!DOCTYPE x [<!ENTITY a \"b\">]>\n<system/>", "host.txt:1: has a document type"},
      {"nccl-topo", deep, "nested deeper"},
      {"nccl-topo", many, "elements"},
      {"nccl-topo", "<html><body/></html>", "host.txt:1: begins with <html>"},
      {"nccl-topo", "<graphs version=\"1\"/>", "NCCL_GRAPH_DUMP_FILE"},
      {"nccl-topo", "\n<system><cpu><pci class=\"0x020000\"/></cpu></system>", "host.txt:2: names no GPU"},
      {"nccl-topo", "<system><cpu>\n<pci class=\"0x030200\" link_speed=\"fast\" link_width=\"16\"/></cpu></system>",
       "host.txt:2: pci.link_speed = fast"},
      {"nvidia-smi-topo", no_row, "host.txt:1: GPU2: has a column but no row"},
      {"nvidia-smi-topo", "hello\nworld\n", "no line of column names"},
      {"nvidia-smi-topo", matrix.substr(matrix.find("GPU0\t X")), "no line of column names"},
      {"nvidia-smi-topo", asymmetric, "is not the same in both directions"},
      {"nvidia-smi-topo", "\tGPU0\tGPU1\n\nGPU0\tX\tPIX\n", "has a column but no row"},
      {"nvidia-smi-topo", "\tGPU0\tGPU1\nGPU0\tX\nGPU1\tPIX\tX\n", "host.txt:2: GPU0: has 1 entries for 2 columns"},
      {"nvidia-smi-topo", "\tGPU0\tGPU1\nGPU0\tX\tFOO\nGPU1\tPIX\tX\n", "host.txt:2: GPU0 to GPU1 = FOO"},
      {"nvidia-smi-topo", "\tGPU0\tGPU2\nGPU0\tX\tPIX\nGPU2\tPIX\tX\n", "host.txt:1: GPU2: stands where GPU1 should"},
      {"nvidia-smi-topo", "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tPIX\tSYS\nGPU1\tPIX\tX\tPIX\nGPU2\tSYS\tPIX\tX\n",
       "contradicts itself"},
  };
  for (const Row& row : rows) {
    const Outcome outcome = import_text(row.kind, row.text);
    INFO(row.expected);
    CHECK_FALSE(outcome.imported);
    CHECK_THAT(outcome.messages, contains(row.expected));
  }
  CHECK_THAT(import_text("nccl-topo", xml, "h101").messages, contains("the importer knows no such GPU"));
}

TEST_CASE("a topology can be imported in place, and changed") {
  const auto file = std::filesystem::temp_directory_path() / "trainwire-import-test.xml";
  std::ofstream(file) << xml;
  const Topology t = topology_of("{import: nccl-topo, file: " + file.string() +
                                 ", nodes: 4, fabric: {kind: leaf-spine, "
                                 "hosts_per_leaf: 2, oversubscription: 2}}");
  CHECK(t.devices.size() == 12);
  CHECK(t.route(0, 11).links.size() >= 4);
  std::filesystem::remove(file);
  CHECK_THAT(messages_of("{import: nccl-topo, file: absent.xml}"), contains("there is no such file"));
  CHECK_THAT(messages_of("{import: nccl-top, file: absent.xml}"), contains("nccl-topo"));
}

TEST_CASE("whatever is in a file, importing ends with a topology or with a problem") {
  // The mutations are libFuzzer's simple ones; tests/fuzz runs the real one.
  std::mt19937 random(20260101);
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (const auto& [kind, seed] : {std::pair{"nccl-topo", xml}, std::pair{"nvidia-smi-topo", matrix}}) {
    for (int round = 0; round < 3000; ++round) {
      std::string text = seed;
      for (std::size_t n = 1 + pick(6); n > 0 && !text.empty(); --n) {
        const std::size_t at = pick(text.size());
        const std::size_t length = std::min(text.size() - at, 1 + pick(40));
        switch (pick(5)) {
          case 0:
            text[at] = static_cast<char>(pick(256));
            break;
          case 1:
            text.erase(at, length);
            break;
          case 2:
            text.insert(at, text.substr(pick(text.size()), length));
            break;
          case 3:
            text[at] = "0123456789X\t \n<>\"/"[pick(18)];
            break;
          default:
            text.resize(at);
            break;
        }
      }
      const Outcome outcome = import_text(kind, text);
      CHECK((outcome.imported.has_value() != !outcome.messages.empty()));
      if (!outcome.imported || round % 16 != 0) continue;
      INFO(outcome.imported->yaml);
      Problems problems;
      topology_of(outcome.imported->yaml, problems);
      for (const auto& problem : problems.all()) FAIL_CHECK(to_text(problem));
    }
  }
}

TEST_CASE("files of real machines are imported, or refused for a reason") {
  const std::filesystem::path samples = std::filesystem::path(TRAINWIRE_SOURCE_DIR) / ".." / "shared" / "samples";
  std::error_code error;
  if (!std::filesystem::is_directory(samples / "nccl_topo", error)) {
    WARN("SKIPPED: no ../shared/samples beside the checkout: importers were not tried on files of real machines");
    return;
  }
  int imported = 0, refused = 0;
  for (const auto& [kind, folder] :
       {std::pair{"nccl-topo", "nccl_topo"}, std::pair{"nvidia-smi-topo", "nvidia_smi_topo"}})
    for (const auto& entry : std::filesystem::directory_iterator(samples / folder)) {
      Problems problems;
      const auto result = import_topology(*find_importer(kind), entry.path(), "", problems);
      INFO(entry.path().string());
      if (!result) {
        REQUIRE_FALSE(problems.all().empty());
        CHECK(problems.all()[0].where.line > 0);
        ++refused;
        continue;
      }
      INFO(result->yaml);
      CHECK(topology_of(result->yaml).devices.size() >= 1);
      ++imported;
    }
  CHECK(imported >= 20);
  CHECK(refused >= 5);  // cut off, without GPUs, or not a topology
}
