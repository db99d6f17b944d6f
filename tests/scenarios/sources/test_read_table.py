"""Tables from files, and what is said about bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from scenarios.sources.columns import MEND_MISSING as MEND
from scenarios.sources.read_table import read_table


def csv(folder: Path, text: str | bytes) -> str:
    file = folder / "t.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


def npz(folder: Path, **members: object) -> str:
    np.savez(folder / "t.npz", **members)  # type: ignore[arg-type]
    return str(folder / "t.npz")


def test_the_last_column_is_the_target(tmp_path: Path) -> None:
    X, y = read_table(csv(tmp_path, "a,b,c\n1,2,3\n4,5,6\n"))
    assert X.tolist() == [[1, 2], [4, 5]]
    assert y.tolist() == [3, 6]


def test_or_the_one_that_is_named(tmp_path: Path) -> None:
    X, y = read_table(csv(tmp_path, "a,b,c\n1,2,3\n4,5,6\n"), "b")
    assert X.tolist() == [[1, 3], [4, 6]]
    assert y.tolist() == [2, 5]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4e0\r\n",  # as spreadsheets write it
        b'"a","b\n"\n1,2\n3,4',
        b'"a", b\n 1 , 2\n"3",4',
        b"\n\na,b\n1,2\n , \n3,4\n\n",
    ],
)
def test_forms_of_csv(tmp_path: Path, text: bytes) -> None:
    file = csv(tmp_path, text)
    for target, values, others in [("a", [1, 3], [[2], [4]]), ("b", [2, 4], [[1], [3]])]:
        X, y = read_table(file, target)
        assert X.tolist() == others
        assert y.tolist() == values


def test_text_is_one_hot_in_sorted_order(tmp_path: Path) -> None:
    X, y = read_table(
        csv(tmp_path, "size,colour,ok,y\n1,red,true,5\n2, blue,FALSE,6\n3,red ,True,7\n4,green,false,8\n")
    )
    assert X.tolist() == [[1, 0, 0, 1, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1], [4, 0, 1, 0, 0]]
    assert y.tolist() == [5, 6, 7, 8]


@given(rows=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 9)), min_size=8))
@settings(max_examples=40, deadline=None)
def test_one_hot_columns_as_pandas_has_them(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]]
) -> None:
    frame = pd.DataFrame(rows, columns=["p", "q", "y"])
    file = tmp_path_factory.mktemp("hot") / "t.csv"
    frame.to_csv(file, index=False)
    X, y = read_table(str(file))
    assert (pd.get_dummies(frame[["p", "q"]]).to_numpy(dtype=float) == X).all()
    assert (frame.y == y).all()


def test_categories_have_a_limit_in_bytes(tmp_path: Path) -> None:
    """A row of two bytes a cell is 400 bytes in each of many one-hot columns."""
    lines = [",".join([f"{chr(65 + i % 50)}"] * 400 + ["1"]) for i in range(1700)]
    file = csv(tmp_path, ",".join(f"x{j}" for j in range(401)) + "\n" + "\n".join(lines))
    with pytest.raises(
        ValueError, match=r"^file must make inputs of at most 256 MB, got 259 MB: 1700 rows × 20000 col"
    ):
        read_table(file)


@given(rows=arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(2, 4)), elements=st.floats(-1e300, 1e300)))
@settings(max_examples=40, deadline=None)
def test_csv_keeps_every_bit(tmp_path_factory: pytest.TempPathFactory, rows: np.ndarray) -> None:
    lines = [",".join(f"x{j}" for j in range(rows.shape[1])), *(",".join(map(repr, row)) for row in rows.tolist())]
    X, y = read_table(csv(tmp_path_factory.mktemp("bits"), "\n".join(lines)))
    assert (np.column_stack([X, y]) == rows).all()


def test_npz(tmp_path: Path) -> None:
    X, y = read_table(npz(tmp_path, X=np.arange(6).reshape(3, 2), y=np.array([1, 2, 3], dtype=np.int8), other=1))
    assert X.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert y.tolist() == [1, 2, 3]
    assert X.dtype == y.dtype == np.float64


def test_one_input_in_an_npz_may_be_a_vector(tmp_path: Path) -> None:
    assert read_table(npz(tmp_path, X=np.arange(3), y=np.arange(3)))[0].shape == (3, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file must have a line of column names and rows of numbers, got the empty file FILE"),
        ("a,b\n", "file must have rows below its header, got none in FILE"),
        ("1,2\n3,4\n", "file must begin with a line of column names, got numbers in line 1 of FILE"),
        ("a\n1\n", "file must have two columns or more .*, got only 'a' in FILE"),
        (
            "a;b\n1;2\n",
            r"file must have two columns or more \(in a .csv file, between commas\), got only 'a;b' in FILE",
        ),
        (
            ",a,b\n0,1,2\n1,3,4\n",
            "file must have a name for every column, got none for column 1 of FILE: name it or leave it out; "
            r"pandas writes its index so, unless you say to_csv\(…, index=False\)",
        ),
        (
            "a,b, \n1,2,3\n",
            "file must have a name for every column, got none for column 3 of FILE: name it or leave it out; "
            r"pandas writes its index so, unless you say to_csv\(…, index=False\)",
        ),
        ("a,b,a\n1,2,3\n", "file must have different column names, got 'a' more than once in FILE"),
        ("a,b\n1,2\n3\n", "file must have 2 cells in every line, as in its header, got 1 at line 3 of FILE"),
        ("a,b\n1,2,3\n", "file must have 2 cells in every line, as in its header, got 3 at line 2 of FILE"),
        (
            "a,b\n1,2\n\n3,red\n",
            "file must hold finite numbers in a column of numbers, got 'red' in column 'b' at line 4 of FILE",
        ),
        (
            "a,b\nred,2\n7,3\n",
            "file must have text in every cell of a column of text, got '7' in column 'a' at line 3 of FILE",
        ),
        ("a,b\n1,-inf\n", "file must hold finite numbers .*, got '-inf' in column 'b' at line 2 of FILE"),
        ("a,b\n1_000,2\n", "file must hold finite numbers .*, got '1_000' in column 'a' at line 2 of FILE"),
        ('a,b\n"1,000",2\n', "file must hold finite numbers .*, got '1,000' in column 'a' at line 2 of FILE"),
        ("a,b\nnan,2\n", f"file must have no missing values, got 'nan' in column 'a' at line 2 of FILE: {MEND}"),
        ("a,b\n1,\n", f"file must have no missing values, got '' in column 'b' at line 2 of FILE: {MEND}"),
        ("a,b\nred,1\nN/A,2\n", f"file must have no missing values, got 'N/A' in column 'a' at line 3 of FILE: {MEND}"),
        ("a,b\n1,2\n?,2\n", rf"file must have no missing values, got '\?' in column 'a' at line 3 of FILE: {MEND}"),
        (
            "a,b\n2020-01-31,2\n2020-02-01T10:00,2\n",
            r"file must have numbers, text or booleans .*, got dates \('2020-01-31'\) in column 'a' of FILE: .*",
        ),
        (
            "a,b\nred,2\nblue,2\n",
            "file must have categories that repeat in a column of text, "
            "got 2 different ones in 2 rows of column 'a' of FILE: .*",
        ),
        (
            "a,b\n" + "".join(f"c{i % 51},2\n" for i in range(200)),
            "file must have at most 50 categories in a column of text, got 51 in column 'a' of FILE: leave .*",
        ),
        ("a,b\n1,red\n2,red\n", "target must be a column of numbers, got text such as 'red' in column 'b' of FILE"),
        (b"a,b\n1,\xff\n", "file must be comma-separated UTF-8 text, got 'utf-8' codec .* of FILE"),
        (f"a,b\n1,{'9' * 200_000}\n", r"file must be comma-separated UTF-8 text, got field larger .* of FILE"),
    ],
)
def test_bad_csv(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = csv(tmp_path, text)
    with pytest.raises(ValueError, match=f"^{message.replace('FILE', file)}$"):
        read_table(file)


def test_no_such_column(tmp_path: Path) -> None:
    file = csv(tmp_path, "mass,price\n1,2\n")
    with pytest.raises(
        ValueError, match=r"^target must be a column of .*t\.csv \(mass, price\), got 'Prize' \(did you"
    ):
        read_table(file, "Prize")
    wide = csv(tmp_path, ",".join(f"x{i}" for i in range(40)) + "\n")
    with pytest.raises(ValueError, match=r"x11, …\), got 'z'$"):
        read_table(wide, "z")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"X": [1.0]}, "file must have arrays X and y, got no y in FILE"),
        ({"x": [1.0]}, "file must have arrays X and y, got no X and no y in FILE"),
        ({"X": [1.0, np.nan], "y": [1, 2]}, "file must hold a table of numbers: X must be finite, got nan at .* FILE"),
        ({"X": [["a"]], "y": [1]}, "file must hold a table of numbers: X must be an array of real numbers.* FILE"),
        ({"X": [[1.0]], "y": [1, 2]}, r"file must hold a table of numbers: y must be of shape \(1,\), .* in FILE"),
        (
            {"X": np.array([{}], dtype=object), "y": [1]},
            "file must hold arrays of numbers as np.savez writes them, got FILE",
        ),
    ],
)
def test_bad_npz(tmp_path: Path, members: dict[str, object], message: str) -> None:
    file = npz(tmp_path, **members)
    with pytest.raises(ValueError, match=f"^{message.replace('FILE', file)}$"):
        read_table(file)


@pytest.mark.parametrize("keep", [0, 1, 10, 100, 300])
def test_damaged_npz(tmp_path: Path, keep: int) -> None:
    file = Path(npz(tmp_path, X=np.zeros((9, 2)), y=np.zeros(9)))
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"^file must hold arrays of numbers as np.savez writes them, got .*t\.npz$"):
        read_table(str(file))


def test_other_things_named_npz(tmp_path: Path) -> None:
    file = tmp_path / "t.npz"
    for content in (b"a,b\n1,2\n", b"\x80\x04N.", bytes(100)):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"^file must hold arrays of numbers as np.savez writes them"):
            read_table(str(file))
    with file.open("wb") as binary:
        np.save(binary, np.zeros(3))
    with pytest.raises(ValueError, match=r"^file must hold arrays of numbers as np.savez writes them"):
        read_table(str(file))


def test_every_flipped_byte_of_an_npz_is_seen_or_harmless(tmp_path: Path) -> None:
    file = Path(npz(tmp_path, X=np.arange(4.0), y=np.arange(4.0)))
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            X, y = read_table(str(file))
            outcome = "right" if X[:, 0].tolist() == y.tolist() == [0, 1, 2, 3] else "wrong"
        except ValueError as error:
            outcome = str(error)
        assert outcome == "right" or outcome.startswith("file must "), place


def test_a_target_for_an_npz(tmp_path: Path) -> None:
    file = npz(tmp_path, X=[1.0], y=[1.0])
    with pytest.raises(
        ValueError, match=r"^target must be left out for .*t\.npz \(its array y is the target\), got 'y'$"
    ):
        read_table(file, "y")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("nowhere.csv", r"file must be the path of an existing file, got 'nowhere.csv' \(looked for /.*nowhere.csv\)"),
        ("table.xlsx", "file must be the path of a .csv, .npz, .parquet, .arrow or .feather file, got 'table.xlsx'"),
        (3, "file must be the path of a .csv, .npz, .parquet, .arrow or .feather file, got 3"),
    ],
)
def test_no_such_file(file: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        read_table(file)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(ValueError, match=r"^file must be the path of an existing file"):
        read_table(str(tmp_path / "t.csv"))
