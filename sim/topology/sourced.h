// Reads numbers about hardware: `{value: 450 GB/s, datasheet: "where it stands"}`. A number without origin is a
// problem.
#pragma once
#include <string>

#include "sim/config/reader.h"
#include "sim/topology/topology.h"

namespace trainwire {

// The origin is one of the keys datasheet, measured (also: calibrated) or assumed; its text is the source.
template <class Q>
Sourced<Q> require_quantity(Reader& parent, const std::string& key);
// Q{} where the key is absent.
template <class Q>
Sourced<Q> optional_quantity(Reader& parent, const std::string& key);
Sourced<double> optional_number(Reader& parent, const std::string& key, const Sourced<double>& fallback, double min,
                                double max);

// `{bandwidth: …, latency: …, efficiency: …}` under `key`; efficiency is 1 where it is absent.
Link read_link(Reader& parent, const std::string& key, LinkClass kind);
// The same three keys straight in the reader's own mapping.
Link read_link_fields(Reader& reader, LinkClass kind);

}  // namespace trainwire
