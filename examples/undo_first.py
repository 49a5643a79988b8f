"""Two changes, then the first is taken back and the second stays."""

from takeback import Applied, NoInverse, open_memory, oracle, read_candidate

MUTATIONS = (
    {"op_type": "set_config", "target": "verbose", "value": True},
    {"op_type": "set_prompt", "target": "planner", "value": "Plan in three steps."},
)

with open_memory() as harness:
    made: list[Applied] = []
    for operation in MUTATIONS:
        candidate = oracle(read_candidate({"mutation": [operation]}).mutation)
        if isinstance(candidate, NoInverse):
            raise SystemExit(str(candidate))
        applied = harness.apply(candidate)
        if not isinstance(applied, Applied):
            raise SystemExit(applied.message)
        made.append(applied)
        print(f"applied {operation['op_type']} {operation['target']} ({applied.verdict.grade})")

    harness.undo(made[0])
    print(f"after undoing the first: {harness.state.write()}")
