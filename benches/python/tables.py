"""Recorded results as Markdown."""

import textwrap
from typing import Any


def wrapped(text: str) -> str:
    """Wrap a text, or an item of a list, into lines that fit a page."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def figures(value: float) -> str:
    """Format a number with two significant figures."""
    whole = float(f"{value:.2g}")
    decimals = 0 if whole >= 10 else 1 if whole >= 1 else 2
    return f"{whole:,.{decimals}f}"


def seconds(value: float) -> str:
    if value < 0.000995:
        return f"{figures(1e6 * value)} us"
    if value < 0.0995:
        return f"{figures(1e3 * value)} ms"
    return f"{figures(value)} s"


def ratio(value: float) -> str:
    return f"{figures(value)} x"


def peer_names(found: dict[str, Any]) -> list[str]:
    """List every peer that took part, in order of appearance."""
    return list(dict.fromkeys(name for case in found["cases"] for name in case["entries"] if name != "arborshap"))


def best_peer(case: dict[str, Any]) -> tuple[str, float] | None:
    timed = [(n, e["seconds"]) for n, e in case["entries"].items() if n != "arborshap" and "seconds" in e]
    return min(timed, key=lambda pair: pair[1], default=None)


def is_lost(case: dict[str, Any]) -> bool:
    """Whether a peer is faster than arborshap."""
    best = best_peer(case)
    return best is not None and best[1] < case["entries"]["arborshap"]["seconds"]


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    if "problem" in found:
        return str(found["problem"])
    marks = (" EXT" if "extrapolated" in found else "") + (" (wrong values)" if "wrong" in found else "")
    return seconds(found["seconds"]) + marks


def peers_table(found: dict[str, Any]) -> str:
    """Make one row per case; the last column is below 1 if a peer is faster."""
    main = [name for name in peer_names(found) if name in ("shap", "shapiq", "woodelf")]
    lines = [
        f"| rows x background | arborshap | {' | '.join(main)} | others | speed-up over the best peer |",
        "|---|--:|" + "--:|" * len(main) + "---|--:|",
    ]
    for case in found["cases"]:
        entries = case["entries"]
        others = ", ".join(f"{n} {cell(e)}" for n, e in entries.items() if n not in ("arborshap", *main))
        best = best_peer(case)
        factor = "" if best is None else f"{ratio(best[1] / entries['arborshap']['seconds'])} ({best[0]})"
        cells = [f"**{cell(entries['arborshap'])}**", *(cell(entries.get(name)) for name in main), others, factor]
        lines.append(f"| {case['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def memory_table(found: dict[str, Any]) -> str:
    """Make one row per case whose memory was measured; empty if none was."""
    measured = [case for case in found["cases"] if case.get("bytes_beyond") is not None]
    if not measured:
        return ""
    lines = ["| rows x background | extra memory |", "|---|--:|"]
    lines += [f"| {case['name']} | {case['bytes_beyond'] / 2**20:,.0f} MB |" for case in measured]
    return "\n".join(lines)


def hd_table(hd: dict[str, Any]) -> str:
    """Make one row per depth, beside the published time."""
    lines = [
        "| depth | leaves per tree | arborshap, this machine | WoodelfHD, as published | extra memory |",
        "|--:|--:|--:|--:|--:|",
    ]
    for job in hd["jobs"]:
        beyond = "" if job["bytes_beyond"] is None else f"{job['bytes_beyond'] / 2**20:,.0f} MB"
        times = f"**{seconds(job['seconds'])}** | {seconds(job['published'])}"
        lines.append(f"| {job['depth']} | {job['leaves']:,} | {times} | {beyond} |")
    return "\n".join(lines)


UNITS = {
    "rows": "{} rows",
    "background rows": "{} background rows",
    "trees": "{} trees",
    "depth": "depth {}",
    "leaves": "{} leaves per tree",
    "features": "unlimited trees on {} features",
}


def place(what: str, at: int) -> str:
    """Name a place on the axis of a scaling curve."""
    return "trees without a limit of depth" if what == "depth" and at == 0 else UNITS[what].format(f"{at:,}")


def scaling_notes(scaling: dict[str, Any], about_peers: str) -> str:
    """Say how peers were timed, where their curves end and why, and how large the trees of the deep models are."""
    sweeps = scaling["sweeps"]
    notes = [about_peers.replace("\n", " ")]
    if wrong := named(sweeps, "wrong"):
        notes.append(f"A cross marks values that are wrong: {wrong}.")
    ends = [
        f"{p['engine']} {p['problem']} for {place(what, p['at'])}"
        for what, points in sweeps.items()
        for p in points
        if "problem" in p
    ]
    if ends:
        notes.append(f"Curves end where a peer cannot go on with even a tenth of the trees: {'; '.join(ends)}.")
    notes += [
        f"XGBoost's trees without a limit have {p['leaves']:,} leaves on average, and paths of up to {p['deepest']} "
        "splits."
        for p in sweeps.get("depth", [])
        if p["at"] == 0 and "leaves" in p
    ]
    return wrapped(" ".join(notes))


def named(sweeps: dict[str, list[dict[str, Any]]], mark: str) -> str:
    """List the points that have a mark."""
    found = [f"{p['engine']}, {place(what, p['at'])}" for what, points in sweeps.items() for p in points if mark in p]
    return "; ".join(found)


def extras_table(found: dict[str, Any]) -> str:
    extras = found["extras"]
    lines = []
    if "one row" in extras:
        times = extras["one row"]["seconds"]
        others = ", ".join(f"{name} {seconds(t)}" for name, t in times.items() if name != "arborshap")
        lines.append(
            f"- One row per call, explainer ready (A, m = 100), median: **{seconds(times['arborshap'])}**; {others}."
        )
    for name, rows in (("tables ready, A", "A, 100k rows"), ("tables ready, B", "B, 10k rows")):
        if name in extras:
            parts = [
                f"{seconds(t['explain'])} against {seconds(t['predict'])}, **{t['multiple']:.1f} times** "
                f"({threads(count)})"
                for count, t in extras[name].items()
                if count.isdigit()
            ]
            lines.append(
                f"- Explaining with tables ready, compared with XGBoost's own `inplace_predict` ({rows}): "
                f"{'; '.join(parts)}."
            )
    if "traversal" in extras:
        times = extras["traversal"]["microseconds"]
        shap = times["shap"]["1"]
        parts = [
            f"{name} " + ", ".join(f"**{t:.3f} us** ({threads(count)})" for count, t in times[name].items())
            for name in ("averaged", "every pair")
        ]
        lines.append(
            f"- The paper's traversal, per (row, background row, tree) of A: {'; '.join(parts)}; shap {shap:.2f} us "
            f"(1 thread), {ratio(shap / times['averaged']['1'])} slower."
        )
    return "\n".join(map(wrapped, lines))


def threads(count: str) -> str:
    return f"{count} thread" + ("" if count == "1" else "s")


def large_table(large: dict[str, Any]) -> str:
    head = "| rows | background | features | seconds | pairs per second | extra memory |"
    lines = [head, "|--:|--:|--:|--:|--:|--:|"]
    for job in large["jobs"]:
        beyond = "" if job["bytes_beyond"] is None else f"{job['bytes_beyond'] / 2**20:,.0f} MB"
        lines.append(
            f"| {job['n']:,} | {job['m']:,} | {job['features']} | {job['seconds']:.1f} "
            f"| {job['pairs_per_second']:.1e} | {beyond} |"
        )
    return "\n".join(lines)


def goals_table(found: dict[str, Any], large: dict[str, Any] | None) -> str:
    """Make the table of goals and measurements."""
    lines = ["| case | goal | measured | |", "|---|---|--:|---|"]

    def add(case: str, goal: str, measured: str, reached: bool) -> None:
        lines.append(f"| {case} | {goal} | {measured} | {'reached' if reached else '**missed**'} |")

    for case in found["cases"]:
        ours = case["entries"]["arborshap"]["seconds"]
        for peer, factor in case["goals"].items():
            best = best_peer(case)
            name, theirs = best if peer == "best" and best else (peer, case["entries"][peer].get("seconds"))
            if theirs is not None:
                add(case["name"], f"{factor:,.0f} times {name}", ratio(theirs / ours), theirs / ours >= factor)
        if (beyond := case.get("bytes_beyond")) is not None:
            add(case["name"], "under 1 GB beyond input and output", f"{beyond / 1e9:.2f} GB", beyond < 1e9)
    extras = found["extras"]
    one = extras["one row"]
    add("one row", f"under {seconds(one['goal_seconds'])}", seconds(one["seconds"]["arborshap"]),
        one["seconds"]["arborshap"] < one["goal_seconds"])  # fmt: skip
    cores = str(found["machine"]["cores"])
    for name in ("tables ready, A", "tables ready, B"):
        multiple, goal = extras[name][cores]["multiple"], extras[name]["goal"]
        add(name, f"at most {goal} times `inplace_predict`", ratio(multiple), multiple <= goal)
    walk = extras["traversal"]["microseconds"]["averaged"]["1"]
    goal = extras["traversal"]["goal_microseconds"]
    add("traversal, 1 thread", f"at most {goal} us", f"{walk:.3f} us", walk <= goal)
    for job in [] if large is None else large["jobs"]:
        if goal := job["goal_seconds"]:
            size = f"{job['n']:,} x {job['m']:,}, {job['features']} features"
            add(size, f"under {goal:.0f} s", seconds(job["seconds"]), job["seconds"] < goal)
            if beyond := job["bytes_beyond"]:
                add(size, "under 1 GB beyond input and output", f"{beyond / 1e9:.2f} GB", beyond < 1e9)
    return "\n".join(lines)
