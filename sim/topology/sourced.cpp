// Numbers with their origin.
#include "sim/topology/sourced.h"

namespace trainwire {
namespace {

const char* const form = "Write {value: …, datasheet: \"…\"} (or measured, or assumed)";

// The mapping under `key`, or nullptr after a problem was noted.
const Value* sourced_mapping(Reader& parent, const std::string& key) {
  const Value* value = parent.raw(key);
  if (!value) {
    parent.fail(key, "is missing", form);
  } else if (value->kind != Value::Kind::map) {
    parent.fail(key, "needs its source", form);
    value = nullptr;
  }
  return value;
}

template <class T>
void read_origin(Reader& reader, Sourced<T>& number) {
  int origins = 0;
  const auto take = [&](const char* key, Origin origin) {
    if (!reader.has(key)) return;
    number.source = reader.require_text(key);
    number.origin = origin;
    ++origins;
  };
  take("datasheet", Origin::datasheet);
  take("measured", Origin::calibrated);
  take("calibrated", Origin::calibrated);
  take("assumed", Origin::assumed);
  if (origins == 0) reader.fail("", "needs its source", form);
  if (origins > 1) reader.fail("", "has several origins", "Keep one of datasheet, measured, assumed");
  reader.finish();
}

}  // namespace

template <class Q>
Sourced<Q> require_quantity(Reader& parent, const std::string& key) {
  Sourced<Q> result;
  const Value* value = sourced_mapping(parent, key);
  if (!value) return result;
  Reader reader(*value, parent.path(key), parent.problems());
  result.value = reader.require_quantity<Q>("value");
  read_origin(reader, result);
  return result;
}

template <class Q>
Sourced<Q> optional_quantity(Reader& parent, const std::string& key) {
  if (!parent.has(key)) return {};
  return require_quantity<Q>(parent, key);
}

template Sourced<Bytes> require_quantity(Reader&, const std::string&);
template Sourced<Seconds> require_quantity(Reader&, const std::string&);
template Sourced<Bandwidth> require_quantity(Reader&, const std::string&);
template Sourced<FlopRate> require_quantity(Reader&, const std::string&);
template Sourced<Bytes> optional_quantity(Reader&, const std::string&);
template Sourced<Seconds> optional_quantity(Reader&, const std::string&);
template Sourced<Bandwidth> optional_quantity(Reader&, const std::string&);
template Sourced<FlopRate> optional_quantity(Reader&, const std::string&);

Sourced<double> optional_number(Reader& parent, const std::string& key, const Sourced<double>& fallback, double min,
                                double max) {
  if (!parent.has(key)) return fallback;
  Sourced<double> result = fallback;
  const Value* value = sourced_mapping(parent, key);
  if (!value) return result;
  Reader reader(*value, parent.path(key), parent.problems());
  if (!reader.has("value")) reader.fail("value", "is missing");
  result.value = reader.number("value", fallback.value, min, max);
  read_origin(reader, result);
  return result;
}

Link read_link_fields(Reader& reader, LinkClass kind) {
  Link link;
  link.kind = kind;
  link.bandwidth = require_quantity<Bandwidth>(reader, "bandwidth");
  link.latency = require_quantity<Seconds>(reader, "latency");
  link.efficiency =
      optional_number(reader, "efficiency", {1.0, Origin::assumed, "not given: the whole rate"}, 0.01, 1.0);
  return link;
}

Link read_link(Reader& parent, const std::string& key, LinkClass kind) {
  Link link;
  link.kind = kind;
  const Value* value = parent.raw(key);
  if (!value || value->kind != Value::Kind::map) {
    parent.fail(key, value ? "must be a mapping" : "is missing", "Give its bandwidth, latency and efficiency");
    return link;
  }
  Reader reader(*value, parent.path(key), parent.problems());
  link = read_link_fields(reader, kind);
  reader.finish();
  return link;
}

}  // namespace trainwire
