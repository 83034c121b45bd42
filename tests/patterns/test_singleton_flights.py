"""Many readers at once: one GetItem for all of them, whoever leads, and whatever becomes of the leader."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tablekit import Table
from tablekit._types import Answer
from tests.patterns.flags import counted, found, in_threads, make_flags, row, same_place, stubbed
from tests.support.forking import fork, status
from tests.support.stub import ok


class LoopPort:
    """An asynchronous port that answers each GetItem with the row when it is told to.

    Attributes:
        sent: how many requests came. asked: set by the first. go: lets the answers through.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def send(self, request, table):
        self.sent += 1
        self.asked.set()
        await self.go.wait()
        return Answer({"Item": row()})

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)

    async def wait(self, future):
        return await asyncio.shield(asyncio.wrap_future(future))

    async def gather(self, calls, limit):
        return [await call for call in calls]


def on_loop(flags, port):
    """Let the awaited names of a class send through a port."""
    flags.__table__.binding.aio_port = port
    return flags


def test_r62_sixteen_threads_at_expiry_make_one_get_item(stub):
    """R62: 16 threads that are released at the same moment share one GetItem, and each has a copy of its own."""
    flags, clock = stubbed(stub)

    def slow(_wire):
        time.sleep(0.05)
        return found(names={"L": [{"S": "n"}]})

    stub.always("GetItem", slow)
    for expected in (1, 2):
        seen = in_threads(lambda _: flags.get(), 16)
        assert len(stub.requests) == expected
        assert all(each == seen[0] for each in seen)
        assert len({id(each.names) for each in seen}) == 16
        clock.now += 31
    assert len(stub.clients) <= 1


def test_sixty_four_threads_through_expiry_during_writes(connect):
    """64 threads read through many expiries while another process's writes go on: one GetItem for each expiry, and
    no value older than the time to live and one round trip.
    """
    table, ttl, span = connect(Table("flags")), 0.2, 2.0
    flags = make_flags(table, cache_seconds=ttl, jitter=0.0)
    rival = make_flags(same_place(table), writes_per_minute=10_000)
    rival.ensure()
    written = [(time.monotonic(), 0)]
    sent = counted(table)
    worst, longest, until = [], [], time.monotonic() + span

    def read(_number):
        late = slow = 0.0
        while time.monotonic() < until:
            asked = time.monotonic()
            hits = flags.get().hits
            slow = max(slow, time.monotonic() - asked)
            newer = next((at for at, value in reversed(written) if value == hits + 1), None)
            if newer is not None:
                late = max(late, asked - newer)
            time.sleep(0.001)
        worst.append(late)
        longest.append(slow)

    def write():
        number = 0
        while time.monotonic() < until:
            number += 1
            rival.update(hits=number)
            written.append((time.monotonic(), number))

    writer = threading.Thread(target=write)
    writer.start()
    in_threads(read, 64)
    writer.join()

    assert sent.count("GetItem") <= span / ttl + 2
    # A round trip takes no longer than the longest call, whose thread waited for it.
    assert max(worst) <= ttl + max(longest)
    assert written[-1][1] > 5


def test_tasks_share_one_read(stub):
    """Fifty tasks that ask at once send one request, and a later sync call is served from the same cache."""
    flags, _ = stubbed(stub)

    async def main():
        port = LoopPort()
        on_loop(flags, port)
        tasks = [asyncio.create_task(flags.aio.get()) for _ in range(50)]
        await port.asked.wait()
        port.go.set()
        return port.sent, await asyncio.gather(*tasks)

    sent, seen = asyncio.run(main())

    assert (sent, len({id(each) for each in seen}), seen[0].signup) == (1, 50, True)
    assert (flags.get().cached, stub.requests) == (True, [])


def test_a_cancelled_leader_hands_over(stub):
    """When the task that reads is cancelled, another one reads in its place, and nobody else is cancelled."""
    flags, _ = stubbed(stub)

    async def main():
        port = LoopPort()
        on_loop(flags, port)
        leader = asyncio.create_task(flags.aio.get())
        await port.asked.wait()
        followers = [asyncio.create_task(flags.aio.get()) for _ in range(5)]
        await asyncio.sleep(0.01)
        leader.cancel()
        port.go.set()
        return port, await asyncio.gather(leader, *followers, return_exceptions=True)

    port, (leader, *followers) = asyncio.run(main())

    assert isinstance(leader, asyncio.CancelledError)
    assert [each.signup for each in followers] == [True] * 5
    assert port.sent == 2


def test_a_cancelled_follower_takes_nobody_along(stub):
    """A task that stops waiting leaves the read to those who still wait."""
    flags, _ = stubbed(stub)

    async def main():
        port = LoopPort()
        on_loop(flags, port)
        tasks = [asyncio.create_task(flags.aio.get()) for _ in range(5)]
        await port.asked.wait()
        await asyncio.sleep(0.01)
        tasks[2].cancel()
        port.go.set()
        return port.sent, await asyncio.gather(*tasks, return_exceptions=True)

    sent, results = asyncio.run(main())

    assert sent == 1
    assert sum(isinstance(each, asyncio.CancelledError) for each in results) == 1


def test_a_sync_call_on_the_leaders_own_loop_reads_for_itself(stub):
    """A blocking call in the loop whose task is reading does not wait for that task, which could never go on."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found(revision={"N": "2"}))

    async def main():
        port = LoopPort()
        on_loop(flags, port)
        leader = asyncio.create_task(flags.aio.get())
        await port.asked.wait()
        mine = flags.get()
        port.go.set()
        await leader
        return mine

    assert asyncio.run(main()).version == 2
    assert len(stub.requests) == 1


def test_a_thread_waits_for_a_task_that_reads(stub):
    """A blocking call in another thread takes what the loop's task brings."""
    flags, _ = stubbed(stub)

    async def main():
        port = LoopPort()
        on_loop(flags, port)
        leader = asyncio.create_task(flags.aio.get())
        await port.asked.wait()
        thread = asyncio.create_task(asyncio.to_thread(flags.get))
        await asyncio.sleep(0.05)
        port.go.set()
        return port.sent, await thread, await leader

    sent, of_thread, _ = asyncio.run(main())

    assert (sent, of_thread.signup, stub.requests) == (1, True, [])


def test_a_loop_that_ended_in_the_middle_holds_nobody(stub):
    """A read that a dead event loop left behind is not waited for."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found())
    loop = asyncio.new_event_loop()

    async def begin():
        port = LoopPort()
        on_loop(flags, port)
        task = asyncio.create_task(flags.aio.get())
        await port.asked.wait()
        return task

    task = loop.run_until_complete(begin())

    assert flags.get().signup
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


def test_an_interrupted_reader_leaves_the_way_free(stub):
    """A KeyboardInterrupt in the middle of a read is what it is, and the next reader reads."""
    flags, _ = stubbed(stub)

    def interrupt(_wire):
        raise KeyboardInterrupt

    stub.script("GetItem", interrupt, found())
    with pytest.raises(KeyboardInterrupt):
        flags.get()

    assert flags.get().source == "table"


def test_the_awaited_names_do_what_the_others_do(stub):
    """`aio` has the verbs, over the same cache."""
    flags, _ = stubbed(stub)

    async def main():
        port = LoopPort()
        port.go.set()
        on_loop(flags, port)
        assert (await flags.aio.load()).version == 1
        assert (await flags.aio.get()).cached
        assert (await flags.aio.ensure()).version == 1
        return port.sent

    assert asyncio.run(main()) == 2


def test_a_background_refresh_of_a_task_is_a_task(stub):
    """Within `refresh_before` a task is served at once, and the loop reads beside it."""
    flags, clock = stubbed(stub, refresh_before=10)

    async def main():
        port = LoopPort()
        port.go.set()
        on_loop(flags, port)
        await flags.aio.get()
        clock.now += 21
        old = await flags.aio.get()
        await asyncio.sleep(0.01)
        return old.age, (await flags.aio.get()).age, port.sent

    assert asyncio.run(main()) == (21, 0, 2)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the test is about forks among threads
def test_a_forked_child_reads_for_itself(stub):
    """A child that is forked while another thread reads neither waits for that read nor shares what it writes."""
    flags, clock = stubbed(stub)
    reading, go_on = threading.Event(), threading.Event()

    def slow(_wire):
        reading.set()
        go_on.wait(10)
        return found()

    stub.script("GetItem", found(), slow)
    flags.get()
    clock.now += 31
    reader = threading.Thread(target=flags.get)
    reader.start()
    reading.wait(10)
    stub.script("GetItem", found(revision={"N": "7"}))
    stub.script("UpdateItem", ok({"Attributes": row(revision={"N": "8"})}))

    def child():
        read = flags.get().version
        flags.update(signup=True)
        return 0 if (read, flags.get().version, flags.get().cached) == (7, 8, True) else 1

    ended = fork(child)
    assert status(ended) == 0
    go_on.set()
    reader.join()
    assert flags.get().version == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the test is about forks among threads
def test_the_cache_of_the_parent_serves_the_child_until_it_expires(stub):
    """A fresh value is a fresh value after a fork as well."""
    flags, _ = stubbed(stub)
    stub.script("GetItem", found())
    flags.get()

    assert status(fork(lambda: 0 if flags.get().cached else 1)) == 0
