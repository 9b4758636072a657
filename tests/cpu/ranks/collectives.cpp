// Collectives on real data, by the step lists that the simulator prices.
#include <numeric>

#include "backend/cpu/transfer.h"
#include "tests/cpu/ranks/ranks.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

// A plan of one collective on n tensor ranks: `in` elements read, `out` written, in place where they are equal.
struct OneCollective {
  Scenario scenario;
  Plan plan;

  OneCollective(OpKind kind, Reduction reduction, int n, std::int64_t in, std::int64_t out,
                const std::string& algorithm = "") {
    scenario.collectives.fill(algorithm);
    plan.mesh = DeviceMesh({n, 1, 1, 1, 1}, scenario.strategy.order);
    plan.program_of.assign(static_cast<std::size_t>(n), 0);
    for (int r = 0; r < n; ++r) scenario.placement.push_back(r);
    Program p;
    for (const std::int64_t elements : {in, out}) {
      Tensor t;
      t.name = "x";
      t.shape = t.global = {elements};
      p.tensors.push_back(t);
    }
    p.buffers = {{0, -1}, {1, -1}};
    p.operands = {0, 1};
    Op op;
    op.kind = kind;
    op.reduction = reduction;
    op.stream = Stream::tensor;
    op.inputs = {0, 1};
    op.outputs = {1, 1};
    p.ops = {op};
    plan.programs = {p};
  }

  void run(MPI_Comm comm, void* in, void* out) const {
    const Ranks ranks(comm);
    const std::vector<void*> pointers{in, out};
    const cpu::Transfers transfers(scenario, plan, ranks, pointers);
    cpu::TransferRun transfer;
    transfer.start(transfers.of(0));
    while (!transfer.advance()) {}
  }
};

float value(int rank, std::int64_t i) { return static_cast<float>((rank * 31 + i * 7) % 64 - 32); }  // exact in fp32

const std::vector<int> sizes{2, 3, 4, 5, 8};
const std::vector<std::int64_t> lengths{1, 2, 7, 64, 100003};

// Runs check(n, elements, rank) → number of wrong elements on every member, and adds up.
template <class Run>
void for_each_size(const Run& run) {
  for (const int n : sizes)
    for (const std::int64_t elements : lengths) {
      if (n > world_size()) continue;
      const FirstRanks ranks(n);
      if (!ranks.member()) continue;
      int wrong = run(ranks.comm(), n, elements), total = 0;
      MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, ranks.comm());
      if (world_rank() != 0) continue;
      CAPTURE(n, elements);
      CHECK(total == 0);
    }
}

}  // namespace

TEST_CASE("all_reduce leaves the sum, or the maximum, of all members on each of them") {
  for (const auto& [reduction, algorithm] :
       {std::pair{Reduction::sum, ""}, std::pair{Reduction::max, ""}, std::pair{Reduction::sum, "tree"},
        std::pair{Reduction::sum, "halving-doubling"}, std::pair{Reduction::sum, "nvls"},
        std::pair{Reduction::max, "hierarchical"}})
    for_each_size([&, reduction = reduction, algorithm = algorithm](MPI_Comm comm, int n, std::int64_t elements) {
      std::vector<float> data(static_cast<std::size_t>(elements));
      for (std::int64_t i = 0; i < elements; ++i) data[static_cast<std::size_t>(i)] = value(world_rank(), i);
      OneCollective(OpKind::all_reduce, reduction, n, elements, elements, algorithm)
          .run(comm, data.data(), data.data());
      int wrong = 0;
      for (std::int64_t i = 0; i < elements; ++i) {
        float expected = value(0, i);
        for (int r = 1; r < n; ++r)
          expected = reduction == Reduction::sum ? expected + value(r, i) : std::max(expected, value(r, i));
        wrong += data[static_cast<std::size_t>(i)] != expected ? 1 : 0;
      }
      return wrong;
    });
}

TEST_CASE("all_gather leaves every member's part on each of them") {
  for_each_size([](MPI_Comm comm, int n, std::int64_t elements) {
    std::vector<float> part(static_cast<std::size_t>(elements)), whole(static_cast<std::size_t>(elements * n));
    for (std::int64_t i = 0; i < elements; ++i) part[static_cast<std::size_t>(i)] = value(world_rank(), i);
    OneCollective(OpKind::all_gather, Reduction::sum, n, elements, elements * n).run(comm, part.data(), whole.data());
    int wrong = 0;
    for (int r = 0; r < n; ++r)
      for (std::int64_t i = 0; i < elements; ++i)
        wrong += whole[static_cast<std::size_t>(r * elements + i)] != value(r, i) ? 1 : 0;
    return wrong;
  });
}

TEST_CASE("reduce_scatter leaves a member's part of the sum on it") {
  for_each_size([](MPI_Comm comm, int n, std::int64_t elements) {
    std::vector<float> part(static_cast<std::size_t>(elements)), whole(static_cast<std::size_t>(elements * n));
    for (std::int64_t i = 0; i < elements * n; ++i) whole[static_cast<std::size_t>(i)] = value(world_rank(), i);
    OneCollective(OpKind::reduce_scatter, Reduction::sum, n, elements * n, elements)
        .run(comm, whole.data(), part.data());
    int wrong = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      float expected = 0;
      for (int r = 0; r < n; ++r) expected += value(r, world_rank() * elements + i);
      wrong += part[static_cast<std::size_t>(i)] != expected ? 1 : 0;
    }
    return wrong;
  });
}
