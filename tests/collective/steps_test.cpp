// The step lists, carried out on real arrays.
#include <numeric>
#include <random>

#include "sim/collective/collective.h"
#include "tests/test.h"

using namespace trainwire;
using Arrays = std::vector<std::vector<double>>;

namespace {

// Carries the steps out: messages of a round leave before any of them arrives.
void run(const StepList& list, Reduction reduction, Arrays& arrays) {
  const auto elements = static_cast<std::int64_t>(arrays[0].size());
  std::size_t next = 0;
  for (int round = 0; round < list.rounds; ++round) {
    const Arrays before = arrays;
    for (; next < list.steps.size() && list.steps[next].round == round; ++next) {
      const Step& step = list.steps[next];
      const auto [first, count] = chunk_range(elements, list.chunks, step.chunk);
      for (std::int64_t e = first; e < first + count; ++e) {
        const auto i = static_cast<std::size_t>(e);
        const double sent = before[static_cast<std::size_t>(step.from)][i];
        double& kept = arrays[static_cast<std::size_t>(step.to)][i];
        kept = !step.reduce ? sent : reduction == Reduction::sum ? kept + sent : std::max(kept, sent);
      }
    }
  }
  CHECK(next == list.steps.size());
}

// Whole numbers, so that sums are exact in any order.
Arrays random_arrays(int members, std::int64_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> value(-1000, 1000);
  Arrays arrays(static_cast<std::size_t>(members), std::vector<double>(static_cast<std::size_t>(elements)));
  for (auto& array : arrays)
    for (auto& x : array) x = value(random);
  return arrays;
}

std::vector<double> combined(const Arrays& arrays, Reduction reduction) {
  std::vector<double> result = arrays[0];
  for (std::size_t m = 1; m < arrays.size(); ++m)
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = reduction == Reduction::sum ? result[i] + arrays[m][i] : std::max(result[i], arrays[m][i]);
  return result;
}

const CollectiveAlgorithm& algorithm(const std::string& name) {
  for (const auto& row : algorithms())
    if (name == row.name) return row;
  throw std::logic_error("no algorithm " + name);
}

constexpr std::int64_t sizes[] = {1, 3, 16, 17, 101, 1023};

}  // namespace

TEST_CASE("chunks cover the buffer without gap, differ by one element at most, the longer ones first") {
  for (const std::int64_t elements : {0, 1, 5, 16, 17, 1000003})
    for (int chunks = 1; chunks <= 17; ++chunks) {
      std::int64_t next = 0;
      for (int c = 0; c < chunks; ++c) {
        const auto [first, count] = chunk_range(elements, chunks, c);
        CHECK(first == next);
        CHECK(count == elements / chunks + (c < elements % chunks ? 1 : 0));
        next += count;
      }
      CHECK(next == elements);
    }
}

TEST_CASE("every all-reduce leaves every member with the reduction of all, sum and maximum, 1 to 17 members") {
  for (const auto& row : algorithms()) {
    if (!row.applies(OpKind::all_reduce)) continue;
    for (int n = 1; n <= 17; ++n)
      for (const std::int64_t elements : sizes)
        for (const Reduction reduction : {Reduction::sum, Reduction::max}) {
          const unsigned seed = static_cast<unsigned>(n * 10000 + elements);
          CAPTURE(row.name, n, elements, seed);
          Arrays arrays = random_arrays(n, elements, seed);
          const auto expected = combined(arrays, reduction);
          run(row.steps(OpKind::all_reduce, n), reduction, arrays);
          for (const auto& array : arrays) REQUIRE(array == expected);
        }
  }
}

TEST_CASE("a reduce-scatter leaves the reduction's chunk i at member i") {
  for (int n = 1; n <= 17; ++n)
    for (const std::int64_t elements : sizes) {
      const unsigned seed = static_cast<unsigned>(n * 10000 + elements);
      CAPTURE(n, elements, seed);
      Arrays arrays = random_arrays(n, elements, seed);
      const auto expected = combined(arrays, Reduction::sum);
      const StepList list = algorithm("ring").steps(OpKind::reduce_scatter, n);
      run(list, Reduction::sum, arrays);
      for (int m = 0; m < n; ++m) {
        const auto [first, count] = chunk_range(elements, list.chunks, m);
        for (auto e = static_cast<std::size_t>(first); e < static_cast<std::size_t>(first + count); ++e)
          REQUIRE(arrays[static_cast<std::size_t>(m)][e] == expected[e]);
      }
    }
}

TEST_CASE("an all-gather gives every member chunk i of member i") {
  for (int n = 1; n <= 17; ++n)
    for (const std::int64_t elements : sizes) {
      const unsigned seed = static_cast<unsigned>(n * 10000 + elements);
      CAPTURE(n, elements, seed);
      Arrays arrays = random_arrays(n, elements, seed);
      std::vector<double> expected(static_cast<std::size_t>(elements));
      const StepList list = algorithm("ring").steps(OpKind::all_gather, n);
      for (int m = 0; m < n; ++m) {
        const auto [first, count] = chunk_range(elements, list.chunks, m);
        for (auto e = static_cast<std::size_t>(first); e < static_cast<std::size_t>(first + count); ++e)
          expected[e] = arrays[static_cast<std::size_t>(m)][e];
      }
      run(list, Reduction::sum, arrays);
      for (const auto& array : arrays) REQUIRE(array == expected);
    }
}

TEST_CASE("a broadcast gives every member the first one's buffer; a send the second one") {
  for (int n = 1; n <= 17; ++n) {
    Arrays arrays = random_arrays(n, 7, static_cast<unsigned>(n));
    const auto expected = arrays[0];
    run(algorithm("direct").steps(OpKind::broadcast, n), Reduction::sum, arrays);
    for (const auto& array : arrays) CHECK(array == expected);
  }
  Arrays pair = random_arrays(2, 5, 1);
  run(algorithm("direct").steps(OpKind::send, 2), Reduction::sum, pair);
  CHECK(pair[0] == pair[1]);
}

TEST_CASE("an all-to-all sends every chunk to the member of its number, once") {
  for (int n = 1; n <= 17; ++n) {
    const StepList list = algorithm("direct").steps(OpKind::all_to_all, n);
    CHECK(list.chunks == n);
    std::vector<int> seen(static_cast<std::size_t>(n * n));
    for (const Step& step : list.steps) {
      CHECK(step.chunk == step.to);
      CHECK(step.from != step.to);
      ++seen[static_cast<std::size_t>(step.from * n + step.to)];
    }
    CHECK(std::accumulate(seen.begin(), seen.end(), 0) == n * (n - 1));
  }
}

TEST_CASE("a ring moves 2(n-1)/n of the buffer out of every member in an all-reduce, half of it in its halves") {
  for (int n = 2; n <= 17; ++n)
    for (const auto& [kind, rounds] : {std::pair{OpKind::all_reduce, 2 * (n - 1)}, std::pair{OpKind::all_gather, n - 1},
                                       std::pair{OpKind::reduce_scatter, n - 1}}) {
      const StepList list = algorithm("ring").steps(kind, n);
      CHECK(list.rounds == rounds);
      std::vector<int> sent(static_cast<std::size_t>(n));
      for (const Step& step : list.steps) {
        CHECK(step.to == (step.from + 1) % n);
        ++sent[static_cast<std::size_t>(step.from)];
      }
      for (const int chunks : sent) CHECK(chunks == rounds);
    }
}

TEST_CASE("halving and doubling takes 2 log2(n) rounds and 2(n-1)/n of the buffer a member where n is a power of two") {
  for (int power = 0; power <= 5; ++power) {
    const int n = 1 << power;
    const StepList list = algorithm("halving-doubling").steps(OpKind::all_reduce, n);
    CHECK(list.rounds == 2 * power);
    CHECK(list.steps.size() == static_cast<std::size_t>(n * 2 * (n - 1)));  // chunks of 1/n
  }
}
