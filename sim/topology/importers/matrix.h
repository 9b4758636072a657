// The text of `nvidia-smi topo -m` as a matrix of relations.
#pragma once
#include <string_view>

#include "sim/topology/importers/host.h"

namespace trainwire {

struct Relation {
  enum class Kind { self, nvlink, pix, pxb, phb, node, sys, unknown } kind = Kind::unknown;
  int links = 0;  // NVLinks
};
std::string_view to_text(Relation::Kind);

struct TopoMatrix {
  std::string file;
  std::vector<std::string> names;  // "GPU0" …, then ports as they are called: by column
  std::vector<int> number;         // of the GPU among GPUs, of the port among ports
  std::vector<std::string> numa;   // by column, "" where it is not said
  std::vector<int> line;           // of its row, 0: it has none
  std::vector<Relation> relations;

  bool is_gpu(std::size_t i) const { return names[i].starts_with("GPU"); }
  const Relation& at(std::size_t a, std::size_t b) const { return relations[a * names.size() + b]; }
  Where where(std::size_t i) const { return {file, line[i]}; }
};

// Every GPU needs its row; ports may lack theirs (what they are to each other is then unknown).
std::optional<TopoMatrix> read_topo_matrix(const std::string& text, const std::string& file, Problems& problems);

}  // namespace trainwire
