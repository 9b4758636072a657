"""Fits the handful of numbers of a GPU file to published kernel times: matrix products and causal attention.

  python3 reports/fit_kernels.py ../shared/measurements/kernels h100_sxm [a100_sxm …]

Prints the numbers for topologies/gpu/*.yaml and the errors on the third of the rows that no fit saw. The formulas are
those of sim/cost/gpu_product.cpp and gpu_attention.cpp; sim/cost/README.md explains them. Same input, same output.
"""
import csv
import gzip
import pathlib
import sys
import zlib

import numpy as np

# peak fp16/bf16 FLOP/s, peak fp8, bytes/s, multiprocessors: the datasheets' numbers, as in topologies/gpu
GPUS = {
    "a100_sxm": (312e12, 0, 2039e9, 108),
    "h100_sxm": (989.4e12, 1978.9e12, 3352e9, 132),
    "h200_sxm": (989.4e12, 1978.9e12, 4800e9, 132),
    "b200_sxm": (2250e12, 4500e12, 8000e9, 148),
    "gb200": (2500e12, 5000e12, 8000e9, 152),
    "l40s": (362e12, 733e12, 864e9, 142),
}
TILES = np.array([(256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (256, 64), (64, 256), (64, 64), (64, 32),
                  (32, 64), (128, 32), (16, 64), (64, 16), (16, 128), (128, 16)], float)
SPLITS = np.array([1, 2, 3, 4, 6, 8, 16], float)
OVERLAP_POWER, PARTIAL_SUMS, SETTLES = 4.5, 2.5, 2e-3  # shared by all GPUs
ATTENTION_ROWS, ATTENTION_POWER = 128, 1.5
SEED = 1
FIT_ROWS = 2000

PRODUCT = ["launch", "efficiency", "memory", "fill", "tile", "wave_loss", "sustained_loss"]
PRODUCT_START = [2.7e-6, 0.9, 0.8, 150, 2500, 0.3, 0.08]
ATTENTION = ["launch", "efficiency", "channels", "fill", "memory"]
ATTENTION_START = [8e-6, 0.7, 30, 40, 0.6]


def overlapped(a, b, power):
    longer, shorter = np.maximum(a, b), np.minimum(a, b)
    return longer * (1 + (shorter / longer) ** power) ** (1 / power)


def product_seconds(numbers, rows, peak, bandwidth, sms, element):
    launch, efficiency, memory, fill, tile, wave_loss, sustained_loss = numbers
    m, n, k = (rows[:, i][:, None, None] for i in range(3))
    tm, tn, split = TILES[:, 0][None, :, None], TILES[:, 1][None, :, None], SPLITS[None, None, :]
    rate = peak * efficiency / sms
    blocks = np.ceil(m / tm) * np.ceil(n / tn) * split
    depth = np.ceil(k / split)
    block_s = 2 * ((tm * tn + tile) * depth + tm * tn * fill) / rate
    waves = blocks / sms
    waves = wave_loss * np.ceil(waves) + (1 - wave_loss) * np.maximum(1, waves)
    moved = element * (m * k + n * k) + 2 * m * n + np.where(split > 1, PARTIAL_SUMS * 8 * m * n * split, 0)
    seconds = overlapped(waves * block_s, moved / (bandwidth * memory), OVERLAP_POWER).min((1, 2))
    return launch + seconds * (1 + sustained_loss * seconds / (seconds + SETTLES))


def attention_seconds(numbers, rows, peak, bandwidth, sms):
    launch, efficiency, channels, fill, memory = numbers
    batch, sequence, heads, kv_heads, dim = rows.T[:5]
    rate = peak * efficiency / sms
    blocks = np.ceil(sequence / ATTENTION_ROWS)
    columns = np.where(sequence < ATTENTION_ROWS, np.ceil(sequence / 32) * 32,
                       blocks * (blocks + 1) / 2 * ATTENTION_ROWS) + blocks * fill
    longest = np.minimum(sequence, blocks * ATTENTION_ROWS) + fill
    column_s = 4 * ATTENTION_ROWS * (dim + channels) / rate
    balanced = batch * heads * columns * column_s / sms
    compute = np.maximum(balanced, longest * column_s) + 0.5 * np.minimum(balanced, longest * column_s)
    moved = 4 * batch * sequence * dim * (heads + kv_heads)
    return launch + overlapped(compute, moved / (bandwidth * memory), ATTENTION_POWER)


def read(path, columns):
    """Rows by dtype: numbers of the columns, seconds last."""
    with gzip.open(path, "rt") as file:
        found = {}
        for row in csv.DictReader(file):
            found.setdefault(row["dtype"], []).append([float(row[c]) for c in columns] +
                                                      [float(row["latency_ms"]) * 1e-3])
    return {dtype: np.array(rows) for dtype, rows in found.items()}


def kept_back(rows):
    """A third of the rows, by a hash of what is computed: never seen by a fit."""
    return np.array([zlib.crc32(f"{SEED}:{','.join(str(int(x)) for x in row[:-1])}".encode()) % 3 == 0 for row in rows])


def minimise(f, start, steps):
    """Nelder and Mead 1965, in the logarithms of the numbers, restarted twice."""
    x = np.log(np.array(start, float))
    for _ in range(3):
        points = [x] + [x + 0.3 * row for row in np.eye(len(x))]
        values = [f(p) for p in points]
        for _ in range(steps):
            order = np.argsort(values)
            points, values = [points[i] for i in order], [values[i] for i in order]
            centre = np.mean(points[:-1], 0)
            tried = 2 * centre - points[-1]
            value = f(tried)
            if value < values[0]:
                further = 3 * centre - 2 * points[-1]
                at_further = f(further)
                points[-1], values[-1] = (further, at_further) if at_further < value else (tried, value)
            elif value < values[-2]:
                points[-1], values[-1] = tried, value
            else:
                nearer = 0.5 * (centre + (points[-1] if value >= values[-1] else tried))
                at_nearer = f(nearer)
                if at_nearer < min(value, values[-1]):
                    points[-1], values[-1] = nearer, at_nearer
                else:
                    points = [points[0]] + [0.5 * (points[0] + p) for p in points[1:]]
                    values = [values[0]] + [f(p) for p in points[1:]]
        x = points[int(np.argmin(values))]
    return np.exp(x)


def fit(rows, predict, start, weights, shares, steps):
    """Least weighted mean of |predicted / measured - 1|; `shares` are the numbers that must stay in (0, 1]."""
    chosen = np.random.default_rng(SEED).permutation(len(rows))[:FIT_ROWS]
    sample = rows[chosen]
    w = weights(sample)

    def loss(logs):
        numbers = np.exp(np.clip(logs, -40, 40))
        error = np.abs(predict(numbers, sample) / sample[:, -1] - 1)
        return (w * error).sum() / w.sum() + 10 * sum(max(0.0, numbers[i] - 1) for i in shares)

    return minimise(loss, start, steps)


def errors(predicted, rows, classes):
    error = predicted / rows[:, -1] - 1
    for name, chosen in classes:
        e = error[chosen]
        if len(e):
            print(f"    {name:22} {len(e):6} rows  MAPE {100 * np.abs(e).mean():5.1f} %  p95 "
                  f"{100 * np.percentile(np.abs(e), 95):5.1f} %  bias {100 * e.mean():+5.1f} %")


def fit_products(folder, gpu):
    peak16, peak8, bandwidth, sms = GPUS[gpu]
    tables = read(folder / f"gemm_{gpu}.csv.gz", ["m", "n", "k"])
    rows = tables["bfloat16"]
    back = kept_back(rows)

    def weights(sample):
        work = sample[:, 0] * sample[:, 1] * sample[:, 2]
        return np.where(work > 1e11, 4, np.where(work > 1e9, 2, 0.5))

    def predict(numbers, sample):
        return product_seconds(numbers, sample, peak16, bandwidth, sms, 2)

    numbers = fit(rows[~back], predict, PRODUCT_START, weights, [1, 2, 5], 400)
    print(f"{gpu}: " + ", ".join(f"{name} {value:.4g}" for name, value in zip(PRODUCT, numbers)), flush=True)
    report_products("bf16", predict(numbers, rows[back]), rows[back])
    if peak8 and "fp8" in tables:
        rows = tables["fp8"]
        back = kept_back(rows)

        def predict8(efficiency, sample):
            scaled = np.array([*numbers[:1], efficiency[0], *numbers[2:]])
            return product_seconds(scaled, sample, peak8, bandwidth, sms, 1)

        large = rows[rows[:, 0] * rows[:, 1] * rows[:, 2] > 1e11]
        efficiency = fit(large[~kept_back(large)], predict8, [numbers[1]], weights, [0], 40)
        print(f"{gpu}: fp8 efficiency {efficiency[0]:.4g}")
        report_products("fp8", predict8(efficiency, rows[back]), rows[back])


def report_products(name, predicted, rows):
    work = rows[:, 0] * rows[:, 1] * rows[:, 2]
    errors(predicted, rows, [(f"{name} m n k > 1e11", work > 1e11), (f"{name} m n k > 1e9", work > 1e9),
                             (f"{name} below", work <= 1e9)])


def fit_attention(folder, gpu):
    peak, _, bandwidth, sms = GPUS[gpu]
    rows = read(folder / f"attention_{gpu}.csv.gz", ["batch", "sequence", "heads", "kv_heads", "head_dim"])["bfloat16"]
    back = kept_back(rows)

    def predict(numbers, sample):
        return attention_seconds(numbers, sample, peak, bandwidth, sms)

    numbers = fit(rows[~back], predict, ATTENTION_START, lambda sample: np.ones(len(sample)), [1, 4], 300)
    print(f"{gpu}: attention " + ", ".join(f"{name} {value:.4g}" for name, value in zip(ATTENTION, numbers)), flush=True)
    errors(predict(numbers, rows[back]), rows[back],
           [("attention", rows[back][:, 1] > 0), ("attention, S >= 1024", rows[back][:, 1] >= 1024)])


def main():
    if len(sys.argv) < 3 or any(g not in GPUS for g in sys.argv[2:]):
        print(__doc__, "Known GPUs:", ", ".join(GPUS), file=sys.stderr)
        return 2
    for gpu in sys.argv[2:]:
        fit_products(pathlib.Path(sys.argv[1]), gpu)
        fit_attention(pathlib.Path(sys.argv[1]), gpu)
    return 0


if __name__ == "__main__":
    sys.exit(main())
