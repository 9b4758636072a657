"""One HTML page that needs nothing else: pictures inlined, tables from report.json and comparison.json."""
import base64
from html import escape

from style import byte_text, three_digits, time_text

CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1180px; margin: 2em auto; padding: 0 1.2em; }
h1 { font-size: 1.6em; margin-bottom: .1em; } h2 { font-size: 1.2em; margin-top: 2em; }
p.sub { color: #555; margin-top: 0; } img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .92em; } .wide { overflow-x: auto; }
th, td { padding: .3em .9em .3em 0; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th:first-child, td:first-child, td.text { text-align: left; } td.text { white-space: normal; }
th { font-weight: 600; border-bottom: 2px solid #bbb; } .warning { background: #fff3d6; padding: .5em .8em; }
details { margin-top: 1em; } summary { cursor: pointer; font-weight: 600; }
"""


def table(head, rows, text_columns=()):
    cells = []
    for row in rows:
        columns = (f"<td{' class=text' if i in text_columns else ''}>{escape(str(c))}</td>" for i, c in enumerate(row))
        cells.append(f"<tr>{''.join(columns)}</tr>")
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="wide"><table><tr>{names}</tr>{"".join(cells)}</table></div>'


def picture(path, words):
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{data}">'


def percent(value, digits=1):
    return "" if value is None else f"{value:.{digits}f} %"


def headline(runs, comparison):
    rate = "tokens_per_s" if "tokens_per_s" in runs[0].report else "samples_per_s"
    unit = "tokens/s" if rate == "tokens_per_s" else "samples/s"
    lines = [
        ("step time", lambda r: time_text(r["step_time_s"])),
        (unit, lambda r: f"{r[rate]:,.0f}"),
        (f"{unit} a device", lambda r: f"{r[rate + '_per_gpu']:,.0f}"),
        ("model TFLOP/s a device", lambda r: three_digits(r["model_tflops_per_s_per_gpu"])),
        ("model flops utilisation (MFU)", lambda r: percent(100 * r["mfu"]) if r["mfu"] > 0 else "unknown"),
        ("peak memory a device", lambda r: byte_text(r["memory"]["peak_bytes"])),
        ("ranks", lambda r: r["world_size"]),
    ]
    rows = [[name] + [form(run.report) for run in runs] for name, form in lines]
    head = [""] + [run.title for run in runs]
    if comparison and len(runs) == 2:
        error = comparison.report["step_time"]["error_percent"]
        head.append("error")
        rows = [row + ([f"{error:+.1f} %"] if row[0] == "step time" and error is not None else [""]) for row in rows]
    return table(head, rows)


def comparison_tables(comparison):
    if not comparison:
        return ""
    report = comparison.report

    def rows(parts):
        return [(row["name"], time_text(row["predicted_s"]), time_text(row["measured_s"]),
                 "" if row["error_percent"] is None else f"{row['error_percent']:+.1f} %") for row in parts]

    head = ["", "predicted", "measured", "error"]
    spread = report["operation_error_percent"]
    return (f"<p>{report['operations_compared']:,} operations compared: half of them are predicted within "
            f"{percent(spread['median'])}, nine of ten within {percent(spread['p90'])}.</p>"
            "<h3>By kind of operation, the largest difference first</h3>" + table(head, rows(report["kinds"][:15])) +
            "<h3>Single operations, the largest difference first</h3>" +
            table(["operation", "rank"] + head[1:], [(row["name"], row["rank"]) + line[1:] for row, line in zip(
                report["worst_operations"][:15], rows(report["worst_operations"][:15]))]))


def run_tables(run):
    report = run.report
    parts = ["parameters", "gradients", "optimizer", "activations", "workspace", "peak"]
    memory = [[stage["stage"]] + [byte_text(stage[part]) for part in parts] for stage in report["memory"]["per_stage"]]
    html = "<h3>What the step is bound by (critical path)</h3>" + table(
        ["", "share"], [(row["what"], percent(100 * row["share"])) for row in report["bound_by"][:10]])
    html += "<h3>Memory of a device by stage, at the peak</h3>" + table(["stage"] + parts, memory)
    if report["links"]:
        links = [(row["name"], row["class"], byte_text(row["bytes"]), time_text(row["busy_s"]),
                  percent(100 * row["utilisation"]), row.get("copies", 1)) for row in report["links"][:20]]
        html += "<h3>Links, the most used first</h3>" + table(["link", "class", "bytes", "busy", "use", "alike"], links)
    if report.get("loss"):
        losses = ", ".join(f"{loss:.4f}" for loss in report["loss"])
        html += f"<p>Loss, step by step: {losses}</p>"
    rows = [(row["quantity"], row["value"], row["origin"], row["source"]) for row in report["provenance"]]
    if rows:
        html += ("<details><summary>The numbers that this rests on, and where they come from</summary>" +
                 table(["quantity", "value", "origin", "source"], rows, text_columns=(0, 3)) + "</details>")
    return html


def write(path, runs, comparison, pictures):
    """`pictures`: (file, title, words); those that were drawn."""
    name = runs[0].report["scenario"] if runs else comparison.report["scenario"]
    html = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(name)}</title><style>{CSS}</style>",
            f"<h1>{escape(name)}</h1><p class=sub>trainwire: {' and '.join(run.title for run in runs)}</p>"]
    for run in runs:
        html += [f"<p class=warning>{escape(run.title)}: {escape(text)}</p>" for text in run.report.get("warnings", [])]
    if runs:
        html.append(headline(runs, comparison))
    for file, title, words in pictures:
        html.append(f"<h2>{escape(title)}</h2>{picture(file, words)}")
        if file.name == "comparison.png":
            html.append(comparison_tables(comparison))
    for run in runs:
        html.append(f"<h2>Numbers, {escape(run.title)}</h2>{run_tables(run)}")
    beside = path.with_name(path.name + ".tmp")
    beside.write_text("\n".join(html) + "\n</html>\n", encoding="utf-8")
    beside.replace(path)
