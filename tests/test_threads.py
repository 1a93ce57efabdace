"""One core's work on one core, and the caller's own number of threads afterwards; a worker's memory stays with it."""

import os
import platform
import subprocess
import sys

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


FAULTS = """
import resource
import numpy as np
from onepath.numerics.memory import keep_between_calls

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(60_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = faults()
keep_between_calls()
print(first, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of malloc in glibc")
def test_where_memory_is_handed_back_at_once_it_is_kept_between_calls():
    as_in_a_worker = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], env=as_in_a_worker, check=True, capture_output=True, text=True
    )
    before, after = map(int, done.stdout.split())
    assert before > 100 * 60_000 * 8 / 4096 / 2
    assert after < before / 10
