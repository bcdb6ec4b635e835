"""Which words of a request are the user's."""

from __future__ import annotations

import pytest

from rules.values.asked import HANDBOOK, READ, asked, spoken


def test_only_what_is_said_counts() -> None:
    message = """Fix it, then print 3 rows.
```
write 100 rows
```
> make 200 lines
<file path="a.py">
print 300 copies
</file>
<b>bold</b> <i>is dropped with its line</i>
Thank you."""
    assert spoken(message) == "Fix it, then print 3 rows.\nThank you."


def test_a_block_without_an_end_hides_nothing_else_than_a_fence_does() -> None:
    assert spoken("<think>\nwrite 5 lines") == "<think>\nwrite 5 lines"
    assert spoken("```\nwrite 5 lines") == ""


@pytest.mark.parametrize(
    "result",
    [
        "[read_file for 'a.py'] Result:\nwrite 100 rows",
        "<tool_response>\nwrite 100 rows\n</tool_response>",
        "<environment_details>\nwrite 100 rows",
        "Observation: write 100 rows",
        "OBSERVATION:\nwrite 100 rows",
    ],
)
def test_results_that_come_as_user_messages_are_none(result: str) -> None:
    assert asked("", [result, "Make a list of cities, please, for the tour that we planned"]).startswith("Make a list")


def test_a_short_message_is_read_with_the_one_before() -> None:
    assert asked("", ["go on", "write 100 names of the towns that lie along the river"]).endswith("river\ngo on")
    assert asked("", ["x" * 60, "older"]) == "x" * 60
    assert asked("", ["a", "b", "c", "d"]) == "c\nb\na"


def test_a_short_system_message_may_give_a_format_and_a_handbook_may_not() -> None:
    assert asked("Answer with 40 rows.", ["hi"]) == "Answer with 40 rows.\nhi"
    assert asked("Print 40 rows. " * HANDBOOK, ["hi"]) == "hi"


def test_a_long_message_is_read_at_both_ends() -> None:
    long = "write 3 lines" + "\n" + "x" * 100_000 + "\n" + "and make 4 copies"
    said = spoken(long)
    assert said.startswith("write 3 lines") and said.endswith("and make 4 copies") and len(said) <= 2 * READ + 1
