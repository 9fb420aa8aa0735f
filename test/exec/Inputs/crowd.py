"""Calls a function for each of some items, several at once, because a process that opens a GPU mostly waits."""
import concurrent.futures
import os


def for_each(function, items, jobs=4):
    """The results in the items' order. The first exception, including sys.exit, ends it."""
    with concurrent.futures.ThreadPoolExecutor(min(jobs, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
