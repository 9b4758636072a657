// The kinds of tables, for kinds.cpp alone; and what their readers share.
#pragma once
#include "sim/score/score.h"
#include "sim/topology/topology.h"

namespace trainwire {

bool is_vtrain(const Csv&);  // ground truth of vTrain (MICRO 2024): one model, degrees and milliseconds a row
ScoreTable read_vtrain(const Csv&);
bool is_products(const Csv&);  // aiconfigurator: dtype,m,n,k,latency_ms; the file's name names the GPU
ScoreTable read_products(const Csv&);
bool is_attention(const Csv&);  // aiconfigurator: dtype,batch,sequence,heads,kv_heads,head_dim,latency_ms
ScoreTable read_attention(const Csv&);
bool is_nccl(const Csv&);  // aiconfigurator: op,gpus,message_size,dtype,latency_us; the file's name names the machine
ScoreTable read_nccl(const Csv&);
bool is_steps(const Csv&);  // ours, and what is published elsewhere in the same columns: steps with all their degrees
ScoreTable read_steps(const Csv&);

// A GPU or machine of topologies/ by what publishers call it in file names and columns; "" where there is none.
std::string gpu_file(const std::string& published);
std::string machine_file(const std::string& published);

// Whether a row belongs to the third that no fit has seen: crc32("1:" + numbers joined by commas) divisible by three.
bool kept_back(const std::vector<double>& numbers);

}  // namespace trainwire
