"""One core's work on one core, and the caller's own number of threads afterwards."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from onepath.numerics.precision import in_double
from onepath.numerics.threads import one_thread


def blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def two():
    with one_thread():  # loads what it knows
        pass
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.usefixtures("two")
def test_inside_there_is_one_thread_and_outside_what_was():
    assert blas() == {2}
    with one_thread():
        assert blas() == {1}
        with one_thread():
            assert blas() == {1}
        assert blas() == {1}
    assert blas() == {2}
    assert in_double(blas)() == {1}
    with pytest.raises(ZeroDivisionError):
        in_double(lambda: 1 / 0)()
    assert blas() == {2}


@pytest.mark.usefixtures("two")
def test_of_calls_in_several_threads_the_last_one_out_restores():
    one, other = one_thread(), one_thread()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert blas() == {1}
    other.__exit__(None, None, None)
    assert blas() == {2}
