"""Spellings of launches that nvcc takes and clang does not."""

import pytest

from gridlane.frontends.cuda_cpp.launches import with_launches


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("k << <1, 2 >> > (d);", "k <<< 1, 2 >>>  (d);"),
        ("k<T> << <g(1)[0], 2>>>(d);", "k<T> <<< g(1)[0], 2>>>(d);"),
        ("k<<<{1, 2}, f({3}) >> >(d);", "k<<<dim3{1, 2}, f({3}) >>> (d);"),
        ("k<<<1, {2}>>>(d);", "k<<<1, dim3{2}>>>(d);"),
        ('k << <1, f(")>>>(") >> >(d);', 'k <<< 1, f(")>>>(") >>> (d);'),
    ],
)
def test_a_launch(given, made):
    assert with_launches(given) == made


@pytest.mark.parametrize(
    "text",
    [
        'puts("k << <1, 2 >> >(d)");',
        "// k << <1, 2 >> >(d);",
        "/* k << <1,\n 2 >> >(d); */",
        'R"x(k << <1, 2 >> >(d))x";',
        "std::operator<< <char>(out, v); pair<pair<int, pair<int, int>> > (x);",
        "a << <b; c >> >(d);",
        "vector<vector<vector<int>> > (v);",
        "'\"'; k << 1 >> (d);",
    ],
)
def test_no_launch(text):
    assert with_launches(text) == text
