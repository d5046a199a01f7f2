"""The progress display of a run."""

from __future__ import annotations

import errno
import io
import re
import time

import pytest

from evener.cli.progress import Display, line
from evener.engine.timeline import Progress
from evener.kernels.compile_clock import compiling


class TestProgress:
    REPORT = Progress("bfs", 3, "top-down", 1234, 2.0, edges_per_second=5e8, fraction=0.25)

    def test_the_text_of_a_line(self):
        expected = "bfs: superstep 3, top-down, 1,234 vertices active, 500 M edges/s, 2 s, about 6 s left"
        assert line(self.REPORT) == expected
        assert line(Progress("wcc", 1, "", 5, 0.5)) == "wcc: superstep 1, 5 vertices active, 500 ms"

    def test_plain_lines_are_printed_at_intervals(self):
        stream = io.StringIO()
        with Display(stream, every=0) as shown:
            shown.stage("reading")
            shown.superstep(self.REPORT)
        assert stream.getvalue().startswith("bfs: superstep 3")
        with Display(stream := io.StringIO(), every=60) as shown:
            shown.superstep(self.REPORT)
        assert stream.getvalue() == ""

    def test_a_terminal_gets_a_live_line(self, monkeypatch):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        with Display(stream) as shown:
            shown.stage("reading x.txt")
            shown._live.refresh()
            shown.superstep(self.REPORT)
            shown._live.refresh()
        assert "reading x.txt" in stream.getvalue()
        assert "superstep 3" in stream.getvalue()
        assert stream.getvalue().endswith("\x1b[2K") or "\x1b[?25h" in stream.getvalue()

    @pytest.mark.parametrize("name", ["[red]", "[/]", "[link=x]a", "{0}", "%s", "a\\[b]", "tab\t"])
    def test_a_live_line_shows_file_names_unchanged(self, monkeypatch, name):
        """Rich would read brackets as markup, and raise an error for a closing tag."""
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        with Display(stream) as shown:
            shown.stage(f"reading {name}.txt")
            shown._live.refresh()
        assert f"reading {name}.txt".replace("\t", "\\t") in stream.getvalue()

    def test_a_live_line_shows_that_kernels_are_compiled(self, monkeypatch):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        with Display(stream) as shown:
            shown.stage("reading rmat:8")
            shown._live.refresh()
            assert "preparing" not in stream.getvalue()
            with compiling():
                self.redraw_until(shown, stream, r"reading rmat:8; preparing kernels, \d+ s so far")
            for _ in range(2):  # the first redraw still shows the compile time since the last redraw
                shown._live.refresh()
            seen = len(stream.getvalue())
            shown._live.refresh()
            assert "reading rmat:8" in stream.getvalue()[seen:]
            assert "preparing" not in stream.getvalue()[seen:]
            with compiling():
                shown.superstep(Progress("betweenness", 12345, "paths pulled", 10**9, 1.0, 1e11, 0.5))
                self.redraw_until(shown, stream, r"paths pulled, .*…; preparing kernels, \d+ s so far")

    @staticmethod
    def redraw_until(shown, stream, pattern):
        """Redraw until the line matches. The caller must be in `compiling`."""
        until = time.monotonic() + 60
        while not re.search(pattern, stream.getvalue()):
            assert time.monotonic() < until
            shown._live.refresh()

    @pytest.mark.parametrize("columns", [80, 40])
    @pytest.mark.parametrize("compiling", [False, True])
    def test_a_live_line_stays_one_line(self, monkeypatch, columns, compiling):
        """The cursor moves up only once, at the end, from the empty line below."""
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(columns))
        if compiling:
            monkeypatch.setattr("evener.cli.progress._compile_seconds", time.monotonic)
            monkeypatch.setattr("evener.cli.progress._LONG", 0.0)
        with Display(stream) as shown:
            shown.superstep(Progress("betweenness", 12345, "paths pulled", 10**9, 1.0, 1e11, 0.5))
            shown._live.refresh()
        assert "superstep 12345" in stream.getvalue()
        assert ("preparing kernels" in stream.getvalue()) == (compiling and columns == 80)
        assert "…" in stream.getvalue()
        assert stream.getvalue().count("\x1b[1A") == 1

    def test_lines_are_plain_without_a_terminal(self):
        with Display(stream := io.StringIO(), every=0) as shown:
            shown.superstep(self.REPORT)
        assert stream.getvalue() == f"{line(self.REPORT)}\n"

    def test_a_full_standard_error_stops_no_run(self, monkeypatch):
        def fail():
            raise OSError(errno.ENOSPC, "no space left on device")

        stream = io.StringIO()
        monkeypatch.setattr(stream, "flush", fail)
        with Display(stream, every=0) as shown:
            shown.superstep(self.REPORT)
