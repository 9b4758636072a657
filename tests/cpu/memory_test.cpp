// Where buffers lie: what may be alive at the same time never shares memory. And which elements a rank holds.
#include <algorithm>
#include <cstdint>
#include <set>

#include "backend/common/random.h"
#include "backend/common/shard.h"
#include "backend/cpu/arena.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

bool overlap(const cpu::Arena& arena, const Program& p, BufferId a, BufferId b) {
  const auto first = [&](BufferId x) { return reinterpret_cast<std::uintptr_t>(arena.at(x)); };
  const auto bytes = [&](BufferId x) { return static_cast<std::uintptr_t>(p.tensor(x).shape.elements()) * 4; };
  return first(a) < first(b) + bytes(b) && first(b) < first(a) + bytes(a);
}

// after[i]: the operations that have certainly ended when i starts, by streams in order and dependencies.
std::vector<std::vector<bool>> ended_before(const Program& p) {
  std::vector<std::vector<bool>> before(p.ops.size(), std::vector<bool>(p.ops.size()));
  std::array<OpId, stream_count> newest;
  newest.fill(-1);
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    std::vector<OpId> direct(p.waits_for(p.ops[i]).begin(), p.waits_for(p.ops[i]).end());
    OpId& last = newest[static_cast<std::size_t>(p.ops[i].stream)];
    if (last >= 0) direct.push_back(last);
    for (const OpId d : direct) {
      before[i][static_cast<std::size_t>(d)] = true;
      for (std::size_t j = 0; j < i; ++j)
        if (before[static_cast<std::size_t>(d)][j]) before[i][j] = true;
    }
    last = static_cast<OpId>(i);
  }
  return before;
}

std::vector<std::vector<std::size_t>> users_of(const Program& p) {
  std::vector<std::vector<std::size_t>> users(p.buffers.size());
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    for (const BufferId b : p.inputs(p.ops[i])) users[static_cast<std::size_t>(b)].push_back(i);
    for (const BufferId b : p.outputs(p.ops[i])) users[static_cast<std::size_t>(b)].push_back(i);
  }
  return users;
}

bool is_view_of(const Program& p, BufferId a, BufferId b) {
  const auto tensor = [&](BufferId x) { return p.buffers[static_cast<std::size_t>(x)].tensor; };
  return p.tensor(a).view_of == tensor(b) || p.tensor(b).view_of == tensor(a);
}

}  // namespace

TEST_CASE("buffers that share memory are never in use at the same time, whatever the streams do") {
  for (const Degrees d : {Degrees{1, 1, 1}, Degrees{2, 1, 1}, Degrees{1, 2, 2}, Degrees{2, 2, 2}}) {
    const Plan plan = build_plan(make_scenario(tiny_gpt(), d, 8));
    for (const Program& p : plan.programs) {
      const cpu::Arena arena(p);
      const auto before = ended_before(p);
      const auto users = users_of(p);
      const auto all_before = [&](BufferId a, BufferId b) {
        for (const std::size_t x : users[static_cast<std::size_t>(a)])
          for (const std::size_t y : users[static_cast<std::size_t>(b)])
            if (!before[y][x]) return false;
        return true;
      };
      int unsafe = 0, shared = 0;
      const auto count = static_cast<BufferId>(p.buffers.size());
      for (BufferId a = 0; a < count; ++a)
        for (BufferId b = a + 1; b < count; ++b) {
          if (!overlap(arena, p, a, b) || is_view_of(p, a, b)) continue;
          ++shared;
          if (!all_before(a, b) && !all_before(b, a)) ++unsafe;
        }
      CAPTURE(d.data, d.tensor, d.pipeline, p.role);
      CHECK(unsafe == 0);
      CHECK(shared > 0);
    }
  }
}

TEST_CASE("one rank's memory with many micro-batches is that with one, plus their inputs and losses") {
  const Plan few = build_plan(make_scenario(tiny_gpt(), {}, 2)), many = build_plan(make_scenario(tiny_gpt(), {}, 32));
  const std::size_t extra = 15 * 3 * 2 * 16 * 4;  // 15 more micro-batches: tokens, targets, room for alignment
  CHECK(cpu::Arena(many.programs[0]).bytes() <= cpu::Arena(few.programs[0]).bytes() + extra);
}

TEST_CASE("the owned parts of all ranks cover every parameter exactly once") {
  for (const Degrees d : {Degrees{1, 1, 1}, Degrees{2, 2, 2}, Degrees{1, 4, 2}, Degrees{4, 1, 2}})
    for (const std::string& model : {tiny_gpt(), tiny_llama()}) {
      const Plan plan = build_plan(make_scenario(model, d));
      std::vector<std::vector<int>> holders;
      for (const ModelParameter& p : plan.parameters)
        holders.emplace_back(static_cast<std::size_t>(p.shape.elements()));
      for (Rank r = 0; r < plan.mesh.size(); ++r)
        for_each_owned_run(plan, r,
                           [&](BufferId, std::int32_t parameter, std::int64_t, std::int64_t global, std::int64_t n) {
                             auto& elements = holders[static_cast<std::size_t>(parameter)];
                             for (std::int64_t i = 0; i < n; ++i) ++elements[static_cast<std::size_t>(global + i)];
                           });
      for (const auto& parameter : holders)
        CHECK(std::all_of(parameter.begin(), parameter.end(), [](int n) { return n == 1; }));
    }
}

TEST_CASE("the random numbers have the mean and variance of a standard normal") {
  double sum = 0, squares = 0;
  constexpr int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = normal(hash(7, 1, i));
    sum += x;
    squares += x * x;
  }
  // Five standard errors: 1/sqrt(n) of the mean, sqrt(2/n) of the variance.
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2.0 / n));
}
