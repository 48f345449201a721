import pytest

from atoll.rules.policy.variables import Variable, Wildcard, keys_of, resolved, tokens

ANY, ONE = Wildcard.ANY, Wildcard.ONE


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", ()),
        ("plain", ("plain",)),
        ("a*b?c", ("a", ANY, "b", ONE, "c")),
        ("a**b", ("a", ANY, "b")),
        ("??", (ONE, ONE)),
        ("${aws:UserName}", (Variable("aws:username", None),)),
        ("x/${a:b}/y", ("x/", Variable("a:b", None), "/y")),
        ("${a:b, 'none'}", (Variable("a:b", "none"),)),
        ("${a:b,''}", (Variable("a:b", ""),)),
        ("${*}", ("*",)),
        ("a${?}b${$}c", ("a?b$c",)),
        ("${*}*", ("*", ANY)),
        ("${", ("${",)),
        ("${unclosed", ("${unclosed",)),
        ("$5", ("$5",)),
        ("${aws:PrincipalTag/Cost Center}", (Variable("aws:principaltag/cost center", None),)),
        ("${ a:b , 'c' }", (Variable("a:b", "c"),)),
        ("${}", ("${}",)),
    ],
)
def test_how_a_text_is_cut(text, cut):
    assert tokens(text, variables=True, wildcards=True) == cut


def test_without_variables_only_the_wildcards_count():
    assert tokens("${a:*}", variables=False, wildcards=True) == ("${a:", ANY, "}")


def test_without_wildcards_a_star_is_text():
    assert tokens("a*${?}?", variables=True, wildcards=False) == ("a*??",)


def test_values_take_the_place_of_variables():
    cut = tokens("a/${k}/*", variables=True, wildcards=True)
    assert resolved(cut, {"k": "v*"}) == ("a/", "v*", "/", ANY)
    assert resolved(cut, {}) is None


def test_a_value_beats_the_default():
    cut = tokens("${k, 'd'}", variables=True, wildcards=True)
    assert resolved(cut, {"k": "v"}) == ("v",)
    assert resolved(cut, {}) == ("d",)


def test_several_values_resolve_to_nothing():
    assert resolved(tokens("${k}", variables=True, wildcards=True), {"k": ("a", "b")}) is None


def test_the_keys_that_a_text_asks_for():
    assert list(keys_of(tokens("${a:B}/${c:d, 'x'}/${*}", variables=True, wildcards=False))) == ["a:b", "c:d"]
