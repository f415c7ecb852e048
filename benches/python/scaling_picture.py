"""The picture of the scaling curves: docs/images/scaling.png."""

import importlib
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).resolve().parent.parent.parent / "docs" / "images" / "scaling.png"

STYLES = {
    "auto": ("#0072b2", "o", "arborshap"),
    "traversal": ("#888888", "^", "arborshap, the paper's walk"),
    "woodelf": ("#009e73", "D", "woodelf"),
    "shap": ("#d55e00", "v", "shap"),
}
LABELS = {
    "depth": "largest depth of XGBoost's trees",
    "leaves": "leaves per tree of LightGBM",
    "features": "features of a random forest\nwhose trees have no limit",
}
NO_LIMIT_AT = 20
"""Where trees without a limit stand on the axis of depths."""


def draw(found: dict[str, Any], path: Path = PICTURE) -> None:
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(2, 4, figsize=(14.5, 7), layout="constrained")
    for ax, (what, points) in zip(axes.flat, found["sweeps"].items(), strict=False):
        panel(ax, what, points)
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds")
    axes[0, 0].set_title(line(found["base"]["rows"], "XGBoost, depth 6"), fontsize=10, loc="left")
    axes[1, 0].set_title(line(found["base"]["depth"], "deeper and deeper trees"), fontsize=10, loc="left")
    legend(axes.flat[-1], {p["engine"] for points in found["sweeps"].values() for p in points})
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def line(base: dict[str, int], what: str) -> str:
    """Describe what the panels of a line have in common."""
    return f"{what}; {base['rows']:,} rows, {base['background rows']:,} background rows, {base['trees']} trees"


def panel(ax: Any, what: str, points: list[dict[str, Any]]) -> None:
    for engine, (colour, marker, _) in STYLES.items():
        mine = [p for p in points if p["engine"] == engine and "seconds" in p]
        ax.plot([at(what, p) for p in mine], [p["seconds"] for p in mine], color=colour, linewidth=1.6, zorder=2)
        for p in mine:
            fill = "white" if p.get("scaled") else colour
            ax.plot(at(what, p), p["seconds"], marker, color=colour, markerfacecolor=fill, markersize=6, zorder=3)
            if p.get("wrong"):
                ax.plot(at(what, p), p["seconds"], "x", color="black", markersize=8, zorder=4)
    places = sorted({at(what, p) for p in points})
    if what in ("rows", "background rows", "trees"):
        ax.set_xscale("log")
    else:
        if what in ("leaves", "features"):
            ax.set_xscale("log", base=2)
        ax.set_xticks(places, [name(what, place) for place in places])
        ax.minorticks_off()
    if what == "threads":
        ax.set_ylim(bottom=0)
        ax.margins(x=0.2)
    else:
        ax.set_yscale("log")
    ax.set_xlabel(LABELS.get(what, what))
    ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)


def at(what: str, point: dict[str, Any]) -> int:
    return NO_LIMIT_AT if what == "depth" and point["at"] == 0 else int(point["at"])


def name(what: str, place: int) -> str:
    return "no\nlimit" if what == "depth" and place == NO_LIMIT_AT else str(place)


def legend(ax: Any, engines: set[str]) -> None:
    lines = importlib.import_module("matplotlib.lines")
    handles = [
        lines.Line2D([], [], color=colour, marker=marker, label=label)
        for engine, (colour, marker, label) in STYLES.items()
        if engine in engines
    ]
    grey = {"color": "#444444", "linestyle": "none"}
    handles += [
        lines.Line2D([], [], marker="o", label="timed as a whole", **grey),
        lines.Line2D(
            [], [], marker="o", markerfacecolor="white", label="timed on fewer rows or\ntrees, and scaled up", **grey
        ),
        lines.Line2D([], [], marker="x", label="values are wrong", **grey),
    ]
    ax.set_axis_off()
    ax.legend(handles=handles, loc="center", frameon=False, fontsize=11, labelspacing=0.9)
