"""The loop whose time skips: waits cost nothing, bytes and threads are never overtaken."""

import asyncio

from benchmarks.outage.skipping import EPOCH, SkippedClock, SkippingLoop, run


def test_waits_end_at_their_moment_and_in_their_order():
    woken = []

    async def waits(seconds):
        await asyncio.sleep(seconds)
        woken.append((seconds, asyncio.get_running_loop().time()))

    async def main():
        await asyncio.gather(waits(900), waits(0.25), waits(30))

    run(main())
    assert woken == [(0.25, 0.25), (30, 30.0), (900, 900.0)]


def test_timeouts_skip_too():
    async def main():
        try:
            async with asyncio.timeout(600):
                await asyncio.Event().wait()
        except TimeoutError:
            return asyncio.get_running_loop().time()

    assert run(main()) == 600


def test_bytes_on_loopback_arrive_before_time_goes_on():
    async def main():
        async def echo(reader, writer):
            while data := await reader.read(100):
                writer.write(data)
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(60):
            for number in range(200):
                writer.write(b"%3d" % number)
                assert await reader.readexactly(3) == b"%3d" % number
        writer.close()
        await writer.wait_closed()
        server.close()

    run(main())


def test_a_thread_holds_time():
    async def main():
        loop = asyncio.get_running_loop()
        late = asyncio.create_task(asyncio.sleep(5))
        got = await loop.run_in_executor(None, lambda: sum(range(300_000)))
        at = loop.time()
        await late
        return got, at

    assert run(main()) == (sum(range(300_000)), 0.0)


def test_refused_connections_are_kept():
    async def main():
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        loop.watch(port)
        for _ in range(2):
            await asyncio.sleep(1.5)
            try:
                await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                continue
        return loop.dialled

    assert run(main()) == [1.5, 3.0]


def test_the_wall_clock_skips_with_the_loop():
    async def main():
        clock = SkippedClock(asyncio.get_running_loop())
        await clock.sleep(90)
        return clock.now(), clock.wall()

    assert run(main()) == (90.0, EPOCH + 90)
