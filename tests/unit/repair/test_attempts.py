"""What a reply falls short of is told by the kind of mistake, not by its words."""

from __future__ import annotations

from takeback.repair.attempt import build_attempt


def test_a_value_with_a_field_called_op_type_is_no_unknown_operation() -> None:
    mutation = [{"op_type": "set_config", "target": "a", "value": {"op_type": 10**30}}]
    rejected = build_attempt({"mutation": mutation}).rejected
    assert rejected is not None
    assert rejected.shortfall == "wrong_shape"
    assert "value.op_type: found a whole number of 31 digits" in rejected.detail


def test_an_operation_of_another_stage_is_out_of_the_language() -> None:
    rejected = build_attempt({"mutation": [{"op_type": "delete_config", "target": "a"}]}).rejected
    assert rejected is not None
    assert rejected.shortfall == "out_of_language"
