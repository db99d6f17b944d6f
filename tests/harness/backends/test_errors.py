"""What is wrong on the way to a bucket is said in one line, without secrets."""

from __future__ import annotations

import pytest

from harness.backends.errors import translate_errors
from harness.core.errors import StoreUnreachableError


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
def test_a_server_that_does_not_answer_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "http://key:secret@localhost:9")
    expected = pytest.raises(StoreUnreachableError, match=r"s3://bucket/a: .* at http://localhost:9 ")
    with expected as caught, translate_errors("s3://bucket/a"):
        raise ConnectionRefusedError("no")
    assert "secret" not in str(caught.value)
