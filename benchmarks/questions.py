"""What query-side training learns from: each source of questions, how many questions, how many epochs; on judged sets.

    python benchmarks/questions.py SHARED WORK [--sets npm docker git] [--plot FOLDER]

WORK is the --work folder of benchmarks/quality.py, whose workspaces are trained in. Prints nDCG@10 of the hybrid and of
the dense search, and the difference from the untrained ones; with --plot also draws the curves as SVG
(matplotlib)."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ALL = ("opening", "link", "sentence", "anchor", "heading", "related")
SOURCES = (*ALL, "opening=1,link=1,sentence=1", ",".join(f"{name}=1" for name in ALL))
Points = list[tuple[float, float]]
EPOCHS = (1, 3, 6, 12, 25)
QUESTIONS = (250, 500, 1000, 2000, 4000, 8000)


def structformer(*arguments: object) -> str:
    """Run a command and give its output; of one that failed nothing, and its message goes to the terminal."""
    command = [sys.executable, "-m", "structformer", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def trained(workspace: Path, name: str, *options: object) -> bool:
    """Whether a model of that name could be trained, over an earlier one."""
    return bool(structformer("train", "--side", "query", "--force", "--name", name, "-w", workspace, *options))


def scores(shared: Path, name: str, workspace: Path, models: list[str]) -> dict[str, tuple[float, float]]:
    """By model: nDCG@10 of its hybrid and of its dense search."""
    folder = shared / "eval" / name
    pipelines = [part for model in models for part in ("--pipeline", f"hybrid:{model}", "--pipeline", f"dense:{model}")]
    judged = ("--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.tsv")
    found: dict[str, Any] = json.loads(structformer("evaluate", *judged, *pipelines, "--json", "-w", workspace))
    values = {row["pipeline"]: row["scores"]["nDCG@10"] for row in found["results"][0]["rows"]}
    return {model: (values[f"hybrid:{model}"], values[f"dense:{model}"]) for model in models}


def show(title: str, found: dict[str, tuple[float, float]]) -> None:
    """Print one set's rows."""
    base = found["base"]
    print(f"\n{title}\n\n| | hybrid | | dense | |\n|---|---|---|---|---|")
    for model, (hybrid, dense) in found.items():
        print(f"| {model} | {hybrid:.3f} | {hybrid - base[0]:+.3f} | {dense:.3f} | {dense - base[1]:+.3f} |")


def draw(curves: dict[str, Points], what: str, path: Path) -> None:
    """Draw what training adds to the hybrid, by the number of epochs or of questions."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "structformer", "svg.fonttype": "none", "font.family": "sans-serif"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6))
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    places = sorted({place for points in curves.values() for place, _ in points})
    axes.set_xticks(places, [f"{place:,.0f}" for place in places])
    axes.minorticks_off()
    axes.set_xlabel(f"{what} drawn" if what == "questions" else "epochs over the questions")
    axes.set_ylabel("added to the hybrid's nDCG@10")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", default=["npm", "docker", "git"])
    parser.add_argument("--epochs", nargs="+", type=int, default=list(EPOCHS))
    parser.add_argument("--questions", nargs="+", type=int, default=list(QUESTIONS))
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    curves: dict[str, dict[str, Points]] = {"epochs": {}, "questions": {}}
    for name in arguments.sets:
        workspace = arguments.work / name / "ws"
        if not workspace.is_dir():
            parser.error(f"no workspace {workspace}: run benchmarks/quality.py with --work {arguments.work}")
        models = ["base"]
        for mix in SOURCES:
            model = "-".join(part.partition("=")[0] for part in mix.split(","))
            if trained(workspace, model, "--task-mix", mix):
                models.append(model)
        show(f"{name}: sources", scores(arguments.shared, name, workspace, models))
        for what, values, option in (
            ("epochs", arguments.epochs, "--epochs"),
            ("questions", arguments.questions, "--set"),
        ):
            models = ["base"]
            for value in values:
                chosen = f"questions={value}" if option == "--set" else value
                if trained(workspace, f"{what}-{value}", option, chosen):
                    models.append(f"{what}-{value}")
            found = scores(arguments.shared, name, workspace, models)
            show(f"{name}: {what}", found)
            curves[what][name] = [
                (float(model.rpartition("-")[2]), hybrid - found["base"][0])
                for model, (hybrid, _) in found.items()
                if model != "base"
            ]
    if arguments.plot:
        arguments.plot.mkdir(parents=True, exist_ok=True)
        for what, its in curves.items():
            draw(its, what, arguments.plot / f"query-side-{what}.svg")


if __name__ == "__main__":
    main()
