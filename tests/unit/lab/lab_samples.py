"""Small real inputs for the report: outcomes task by task whose totals are those the paper prints."""

from takeback_lab.published import load_paper

PAPER = load_paper()
FAMILIES = {
    "config": "Configuration",
    "tools": "Tools",
    "middleware": "Middleware",
    "listeners": "Listeners",
    "resources": "Resources",
    "multi-surface": "Multi-Surface",
}
NATURAL_NAMES = {**{key: key.capitalize() for key in FAMILIES}, "multi-surface": "Multi-Surface"}


def natural():
    """600 tasks with the outcomes and strata of the paper's family table."""
    tasks = []
    for family, name in NATURAL_NAMES.items():
        admissible, inadequate, _, *strata = PAPER.row(f"families.{name}")
        kinds = [("admissible", None)] * admissible + [("inadequate", None)] * inadequate
        for stratum, count in zip(("S0", "S1", "residual"), strata, strict=True):
            kinds += [("defective", stratum)] * count
        for number, (outcome, stratum) in enumerate(kinds):
            tasks.append({"id": f"{family}-{number:03}", "family": family, "outcome": outcome, "stratum": stratum})
    return {"model": "gpt-oss-120b", "tasks": tasks}


def defective():
    return [task for task in natural()["tasks"] if task["outcome"] == "defective"]


def factorial():
    """197 tasks whose rescue by cell, stratum and budget has the paper's totals."""
    by_stratum = {s: [t for t in defective() if t["stratum"] == s] for s in ("S0", "S1", "residual")}
    tasks = []
    for stratum, members in by_stratum.items():
        for index, task in enumerate(members):
            turns = dict.fromkeys(("D0L0", "D1L0", "D0L1", "D1L1"))
            if stratum == "S0":
                steps = (24, 35, 37, 38)
                turns["D1L0"] = next((b for b, reached in enumerate(steps, 1) if index < reached), None)
                turns["D0L1"] = 1 + index % 2 if index >= 10 else None
                turns["D1L1"] = 1 + index % 3 if index >= 14 else None
            elif stratum == "S1":
                turns["D0L1"] = 1 + index % 2 if index != 0 else None
                turns["D1L1"] = 1 + index % 4 if not 1 <= index <= 10 else None
            tasks.append({"id": task["id"], "family": task["family"], "stratum": stratum, "turns": turns})
    gate = [
        {"cell": "D1L0", "stratum": "S0", "rejected": 21, "responses": 144},
        {"cell": "D1L0", "stratum": "S1", "rejected": 253, "responses": 523},
    ]
    bank = {"tasks": 600, "admissible": 281, "defective": 197, "inadequate": 122}
    return {"model": "gpt-oss-120b", "budget": 4, "bank": bank, "tasks": tasks, "gate": gate}


def conventional():
    """The same tasks, none of them rescued but by regeneration."""
    cells = ("genericL0", "rawL0", "typedL0", "prescriptiveL0", "noneL0")
    tasks = [
        {**task, "turns": {cell: 2 if cell == "noneL0" and at < 6 else None for cell in cells}}
        for at, task in enumerate(factorial()["tasks"])
    ]
    return {"model": "gpt-oss-120b", "budget": 4, "tasks": tasks}


def fresh():
    """300 tasks under four suites; Q20 has the paper's family table, the others its totals."""
    suites = []
    for suite in ("Q2", "Q5", "Q10", "Q20", "Q10-narrow"):
        k = {part: PAPER.k(f"fresh.{suite}.{part}") for part in ("dev", "false_positive", "gap")}
        tasks = []
        for family, name in FAMILIES.items():
            for number in range(50):
                index = len(tasks)
                if suite == "Q20":
                    dev = number < PAPER.k(f"fresh_families.{name}.dev")
                    good = number < PAPER.k(f"fresh_families.{name}.hidden")
                else:
                    dev = index < k["dev"]
                    good = k["false_positive"] <= index < k["dev"] + k["gap"]
                share = 100 if good else (index * 7) % 80
                passes = "".join("1" if (state * 37 + index) % 100 < share else "0" for state in range(100))
                tasks.append(
                    {
                        "id": f"{family}-{number}",
                        "family": family,
                        "dev": dev,
                        "hidden": passes,
                        "calls": 1 if dev else 4,
                        "tokens": 1000 + index,
                        "latency_s": 4.0 + index / 100,
                    }
                )
        suites.append({"name": suite, "tasks": tasks})
    return {"model": "gpt-oss-120b", "budget": 4, "threshold": 0.85, "suites": suites}


def oracle():
    tasks = [
        {"id": t["id"], "family": t["family"], "L0": t["stratum"] == "S0", "L1": t["stratum"] != "residual"}
        for t in defective()
    ]
    rows = [
        {"id": t["id"], "family": t["family"], "passes": "1" * 10 + ("1" * 40 if t["L1"] else "10-0" * 10)}
        for t in tasks[::4] + [t for t in tasks if not t["L1"]]
    ]
    return {
        "population": "197 failures",
        "tasks": tasks,
        "matrix": {"splits": ["dev"] * 10 + ["iid"] * 20 + ["ood"] * 20, "rows": rows},
    }


def sensitivity():
    both = {"dev": {"Q2": "11", "Q20": "10"}, "hidden": "1" * 95 + "0" * 5}
    row = {"id": "ctl_001", "defect": "missing capture", "diverse": both, "rare": both}
    return {"population": "1 defective candidate", "apart": True, "candidates": [row]}


def stability():
    tasks = [{"id": t["id"], "strata": [t["stratum"]] * 3} for t in defective()]
    tasks[0]["strata"] = ["S0", "S1", "S0"]
    return {"population": "197 failures", "seeds": [1000, 2000, 3000], "tasks": tasks}


def controlled():
    wins = {"none": 4, "generic": 104, "raw-trace": 101, "typed": 114, "prescriptive": 117}
    return {
        "model": "gpt-oss-120b",
        "budget": 4,
        "candidates": [
            {
                "id": f"c{i}",
                "defect": "missing capture",
                "turns": {m: 1 + i % 4 if i < k else None for m, k in wins.items()},
            }
            for i in range(120)
        ],
    }


def audit():
    return {"population": "300 mutations", "incomplete": [300, 300], "complete": [0, 300], "nondeterminism": [0, 300]}


def snapshots():
    """The measurements of docs: selective undo by libraries a user could pick."""
    rows = [
        ("full snapshot", (0, 300), (0, 300), (0, 69), 1162.0, 7.0),
        ("effect-scoped snapshot", (300, 300), (240, 300), (0, 69), 63.0, 0.6),
        ("jsonpatch", (300, 300), (300, 300), (0, 69), 85.0, 21.0),
        ("deepdiff", (300, 300), (300, 300), (0, 69), 248.0, 66.0),
        ("dictdiffer", (300, 300), (300, 300), (0, 69), 189.0, 12.0),
        ("ZODB", (300, 300), (202, 300), None, 440.0, 238.0),
        ("SQLite session", (300, 300), (300, 300), (6, 69), 104.0, 56.0),
        ("pygit2", (300, 300), (300, 300), (0, 69), 743.0, 1204.0),
        ("takeback", (300, 300), (300, 300), (69, 69), 44.0, 0.5),
    ]
    keys = ("name", "different", "same", "front")
    methods = [
        {**dict(zip(keys, row, strict=False)), "bytes": spread(row[4]), "latency_us": spread(row[5])} for row in rows
    ]
    return {"population": "300 tasks", "methods": methods, "entry": {"slots": 200.0, "disk": 1200.0}}


def spread(value):
    return {"mean": value, "median": value * 0.9, "lower": value * 0.5, "upper": value * 1.5}


ALL = {
    "contract-audit": audit,
    "controlled": controlled,
    "conventional": conventional,
    "factorial": factorial,
    "fresh": fresh,
    "natural": natural,
    "oracle": oracle,
    "snapshots": snapshots,
    "sensitivity": sensitivity,
    "stability": stability,
}
