// Section `training` of a scenario file.
#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

constexpr Named<Precision> precisions[] = {{"fp32", Precision::fp32},
                                           {"tf32", Precision::tf32},
                                           {"fp16", Precision::fp16},
                                           {"bf16", Precision::bf16},
                                           {"fp8", Precision::fp8, false}};
constexpr Named<OptimizerKind> optimizers[] = {{"sgd", OptimizerKind::sgd},
                                               {"momentum", OptimizerKind::momentum},
                                               {"adam", OptimizerKind::adam},
                                               {"adamw", OptimizerKind::adamw}};
constexpr Named<Recompute> recomputes[] = {
    {"none", Recompute::none}, {"selective", Recompute::selective, false}, {"full", Recompute::full, false}};
constexpr Named<DType> grad_dtypes[] = {{"fp32", DType::fp32}, {"bf16", DType::bf16}, {"fp16", DType::fp16}};

}  // namespace

Training read_training(const Value& section, Problems& problems) {
  Training t;
  Reader reader(section, "training", problems);
  t.sequence = reader.integer("sequence", 0, 1, 100'000'000);
  t.micro_batch = reader.integer("micro_batch", 1, 1, 1'000'000);
  t.global_batch = reader.integer("global_batch", 64, 1, 1'000'000'000);
  t.precision = read_name<Precision>(reader, "precision", precisions, t.precision);
  t.optimizer = read_name<OptimizerKind>(reader, "optimizer", optimizers, t.optimizer);
  t.recompute = read_name<Recompute>(reader, "recompute", recomputes, t.recompute);
  t.grad_dtype = read_name<DType>(reader, "grad_dtype", grad_dtypes, t.grad_dtype);
  t.learning_rate = reader.number("learning_rate", t.learning_rate, 0, 1e6);
  t.steps = static_cast<int>(reader.integer("steps", t.steps, 1, 1'000'000));
  t.seed = reader.integer("seed", t.seed, 0);
  reader.finish();
  return t;
}

}  // namespace trainwire
