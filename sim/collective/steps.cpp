// The step lists.
#include "sim/collective/steps.h"

#include <bit>

namespace trainwire {

ChunkRange chunk_range(std::int64_t elements, int chunks, int chunk) {
  const std::int64_t base = elements / chunks, longer = elements % chunks;
  return {chunk * base + (chunk < longer ? chunk : longer), base + (chunk < longer ? 1 : 0)};
}

StepList ring_steps(OpKind kind, int members) {
  const int n = members;
  StepList list{n, 0, {}};
  const auto round = [&](int offset, bool reduce) {
    for (int m = 0; m < n; ++m) list.steps.push_back({list.rounds, m, (m + 1) % n, ((m - offset) % n + n) % n, reduce});
    ++list.rounds;
  };
  // A chunk starts just after its owner, is added to at every member and ends at its owner …
  if (kind != OpKind::all_gather)
    for (int r = 0; r < n - 1; ++r) round(r + 1, true);
  // … from where it goes once around.
  if (kind != OpKind::reduce_scatter)
    for (int r = 0; r < n - 1; ++r) round(r, false);
  return list;
}

StepList direct_steps(OpKind kind, int members) {
  StepList list{kind == OpKind::all_to_all ? members : 1, members > 1 ? 1 : 0, {}};
  if (kind == OpKind::all_to_all) {
    for (int from = 0; from < members; ++from)
      for (int distance = 1; distance < members; ++distance) {
        const int to = (from + distance) % members;
        list.steps.push_back({0, from, to, to, false});
      }
  } else if (kind == OpKind::permute) {
    for (int from = 0; from < members && members > 1; ++from)
      list.steps.push_back({0, from, (from + 1) % members, 0, false});
  } else {
    for (int to = 1; to < members; ++to) list.steps.push_back({0, 0, to, 0, false});
  }
  return list;
}

StepList halving_doubling_steps(OpKind, int members) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
  StepList list{power, 0, {}};
  // Chunks [first, first + count) of every member m < active go to partner(m).
  const auto round = [&](int active, auto partner, auto first, int count, bool reduce) {
    for (int m = 0; m < active; ++m)
      for (int c = 0; c < count; ++c) list.steps.push_back({list.rounds, m, partner(m), first(m) + c, reduce});
    ++list.rounds;
  };
  const int extra = members - power;
  const auto zero = [](int) { return 0; };
  if (extra > 0) {
    for (int m = 0; m < extra; ++m)
      for (int c = 0; c < power; ++c) list.steps.push_back({list.rounds, power + m, m, c, true});
    ++list.rounds;
  }
  // Halving: a member keeps the half of its range that its own bit selects, sends the other; afterwards it owns chunk
  // m.
  for (int half = power / 2; half >= 1; half /= 2)
    round(
        power, [=](int m) { return m ^ half; }, [=](int m) { return (m ^ half) / half * half; }, half, true);
  for (int have = 1; have < power; have *= 2)
    round(
        power, [=](int m) { return m ^ have; }, [=](int m) { return m / have * have; }, have, false);
  if (extra > 0)
    round(
        extra, [=](int m) { return power + m; }, zero, power, false);
  return list;
}

}  // namespace trainwire
