"""Two changes, then the first is taken back and the second stays."""

from takeback import open_memory, oracle, read_candidate

harness = open_memory()
entries = []
for mutation in (
    [{"op_type": "set_config", "target": "verbose", "value": True}],
    [{"op_type": "set_prompt", "target": "planner", "value": "Plan in three steps."}],
):
    candidate = oracle(read_candidate({"mutation": mutation}).mutation)
    applied = harness.apply(candidate)
    entries.append(applied.entry.id)
    print(f"applied {mutation[0]['op_type']} {mutation[0]['target']} ({applied.verdict.grade})")

harness.undo(entries[0])
print(f"after undoing the first: {harness.state.write()}")
