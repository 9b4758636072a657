// What tables of published steps leave between the lines: which machine and which framework a source used.
#pragma once
#include <string>

namespace trainwire {

struct Publisher {
  std::string machine;    // a file of topologies/machines; empty: there is none
  std::string framework;  // as scenarios name it
  bool overlap = true;    // gradient reduction overlaps the backward pass
};

// `machine` and `framework` are what the table itself says, where it has such columns.
Publisher publisher_of(const std::string& source, const std::string& gpu, const std::string& machine,
                       const std::string& framework);

// "fsdp2(8)", "zero1 (distributed optimizer)", … as scenarios name it.
std::string sharding_of(const std::string& published, int data_degree);

bool is_transformer(const std::string& model);  // of the GPT and Llama kind

}  // namespace trainwire
