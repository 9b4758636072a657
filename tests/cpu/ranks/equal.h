// Equality with one rank: what every test of a strategy on several ranks asserts.
#pragma once
#include <string>
#include <vector>

#include "backend/cpu/execute.h"
#include "tests/cpu/ranks/ranks.h"
#include "tests/scenarios.h"

namespace trainwire::testing {

// What a test changes of a scenario; applied to the one of several ranks and to the one it is compared with.
struct Variant {
  const char* name;
  void (*apply)(Scenario&);
};

// Three steps; MPI_COMM_NULL: on this rank alone.
cpu::Result train(MPI_Comm, const Scenario&);
// On rank 0: losses and parameters agree to 1e-5.
void check_same(const cpu::Result& shared, const cpu::Result& alone);

// Trains 3 steps on one rank and with each combination, on as many of the ranks as it needs; combinations that need
// more than there are are left out. Losses and parameters agree to 1e-5.
void check_equal(const std::string& model, const std::vector<Degrees>& combinations, const Variant& variant,
                 std::int64_t global_batch = 16);

}  // namespace trainwire::testing
