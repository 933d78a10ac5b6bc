"""Requests without a model, with the real server: processes, files, patches, verdicts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from conftest import World
from toolgate import CallFailed, InvalidParams, NoSuchProcess, Process, Refused, Session


@pytest_asyncio.fixture
async def session(world: World) -> AsyncIterator[Session]:
    async with world.client() as client:
        yield await client.start_session(cwd=world.work, sandbox="workspace-write", approval="never")


async def until(process: Process, text: str) -> str:
    """Reads the output of a process until it contains a text, and returns it."""
    seen = ""
    async for piece in process:
        seen += piece.text
        if text in seen:
            return seen
    raise AssertionError(f"it ended before it wrote {text!r}: {seen!r}")


async def test_a_process_has_a_terminal(session: Session) -> None:
    process = await session.start_process(
        "trap 'echo interrupted; exit 3' INT; stty size; read name; echo hello $name; stty size; "
        "echo ready; while true; do sleep 0.05; done",
        tty=(24, 80),
    )
    assert "24 80" in await until(process, "24 80")
    await process.resize(30, 100)
    await process.write("you\n")
    assert "hello you" in (seen := await until(process, "ready")) and "30 100" in seen
    await process.signal("INT")
    await until(process, "interrupted")
    assert await process.wait() == 3


async def test_a_process_reads_and_its_streams_are_told_apart(session: Session) -> None:
    process = await session.start_process("cat; echo oops >&2; exit 7", stdin=True)
    assert await process.communicate("typed\n") == (b"typed\n", b"oops\n")
    assert process.exit_code == 7


async def test_nothing_that_a_process_writes_is_lost(session: Session) -> None:
    process = await session.start_process(argv=["seq", "1", "200000"])
    written, _ = await process.communicate()
    assert written.split() == [str(number).encode() for number in range(1, 200001)]
    other = await session.start_process("printf '\\377\\000x'")
    assert (await other.communicate())[0] == b"\xff\x00x"


async def test_a_process_is_killed(session: Session) -> None:
    process = await session.start_process("sleep 60")
    await process.kill()
    assert await process.wait() in (137, 143)
    with pytest.raises(NoSuchProcess):
        await Process(session, 4242).read()


async def test_files_are_written_read_listed_and_searched(session: Session) -> None:
    assert (await session.write_file("deep/er/a.txt", "first\nSecond\n")).created
    again = await session.write_file("deep/er/a.txt", "one\nTwo\n")
    assert not again.created and again.size == 8
    with pytest.raises(CallFailed):
        await session.write_file("deep/er/a.txt", "three", new=True)
    await session.write_file("b.bin", b"\xff\x00")
    part = await session.read_file("deep/er/a.txt", length=4)
    assert (part.text, part.size, part.next) == ("one\n", 8, 4)
    assert (await session.read_file("deep/er/a.txt", offset=4)).text == "Two\n"
    assert (await session.read_file("b.bin")).data == b"\xff\x00"
    listing = await session.list_dir(depth=3)
    assert ("deep/er/a.txt", "file", 8) in {(each.path, each.kind, each.size) for each in listing.entries}
    assert listing.complete
    found = await session.search("two", ignore_case=True, glob="*.txt")
    assert [(hit.line, hit.text) for hit in found.hits] == [(2, "Two")] and found.complete
    # Not below /tmp, which is private to the session.
    with pytest.raises(Refused):
        await session.write_file("/var/toolgate-client-test.txt", "no")


async def test_a_patch_is_applied_once_or_not_at_all(session: Session, world: World) -> None:
    (world.work / "a.txt").write_text("one\ntwo\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** Add File: b.txt\n+new\n*** End Patch\n"
    first = await session.apply_patch(patch, key="p")
    assert {(each.kind, each.path) for each in first.changes} == {("M", "a.txt"), ("A", "b.txt")}
    assert (world.work / "a.txt").read_text() == "one\nthree\n"
    again = await session.apply_patch(patch, key="p")
    assert (again.changes, again.text) == (first.changes, first.text)
    with pytest.raises(CallFailed):
        await session.apply_patch(patch.replace("three", "four"))
    assert (world.work / "a.txt").read_text() == "one\nthree\n"


async def test_verdicts_are_explained_and_nothing_is_done(session: Session, world: World) -> None:
    explained = await session.explain("rm -rf /")
    assert explained["verdict"] != "allow" and explained["why"]
    assert (await session.explain("ls"))["verdict"] == "allow"
    # A word is never split or expanded: `;` is an argument of `echo` here, and a separator in a script.
    words, script = await session.explain(["echo", "; rm -rf /"]), await session.explain("echo ; rm -rf /")
    assert words["verdict"] == "allow" and script["verdict"] != "allow"
    assert [each["command"] for each in words["commands"]][1:] == ["echo '; rm -rf /'"]
    with pytest.raises(ValueError, match="no words"):
        await session.explain([])
    (world.work / "a.txt").write_text("one\n")
    reads = await session.explain(tool="read_file", arguments={"path": "a.txt"})
    assert reads["verdict"] == "allow"


@pytest.mark.parametrize("data", ["x" * (8 << 20), "é\n" * (3 << 20), b"x" * (7 << 20), "\x01" * (2 << 20), "x" * (17 << 20)])
async def test_a_file_that_is_too_long_is_an_error_that_says_what_to_do(session: Session, data: str | bytes) -> None:
    message = r"^`big` is too long for `write_file`: the limit is 8388608 bytes of JSON, and this is \d+; write it in parts, and join them"
    with pytest.raises(InvalidParams, match=message):
        await session.write_file("big", data)


async def test_the_limit_on_files_is_that_of_the_server(session: Session) -> None:
    frame = len('{"path":"big","new":false,"text":""}')
    longest = "x" * ((8 << 20) - frame)
    assert (await session.write_file("big", longest)).size == len(longest)
    with pytest.raises(InvalidParams, match=r"too long for `write_file`.* and this is 8388609;"):
        await session.write_file("big", longest + "x")
    with pytest.raises(InvalidParams, match=r"the arguments are 8388609 bytes long"):
        await session.request("fs/write", {"path": "big", "new": False, "text": longest + "x"})
