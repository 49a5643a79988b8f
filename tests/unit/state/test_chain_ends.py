"""What is put at an end of a chain stays at that end when elements that had moved away or gone come back."""

from takeback.state.chain import Chain


def _chain() -> Chain:
    return Chain.of([(name, name) for name in ("a", "b", "z")])


def test_an_appended_element_stays_last_when_the_former_last_is_restored():
    chain = _chain()
    last = chain.find("z")
    moved, _ = chain.insert(1, "z", "z")
    appended, _ = moved.insert(3, "m", "m")
    assert appended.put(last).ids() == ("a", "b", "z", "m")


def test_a_prepended_element_stays_first_when_the_former_first_is_restored():
    chain = _chain()
    first = chain.find("a")
    moved, _ = chain.insert(2, "a", "a")
    prepended, _ = moved.insert(0, "m", "m")
    assert prepended.put(first).ids() == ("m", "a", "b", "z")


def test_ends_are_remembered_of_elements_that_are_gone():
    chain = _chain()
    last = chain.find("z")
    appended, _ = chain.drop("z").insert(2, "m", "m")
    assert appended.put(last).ids() == ("a", "b", "z", "m")
    assert chain.drop("a").drop("b").drop("z").reach == chain.reach


def test_an_empty_chain_has_no_remembered_ends():
    assert Chain().reach is None
    assert Chain().insert(0, "a", "a")[0].ids() == ("a",)
