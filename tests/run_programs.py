#!/usr/bin/env python3
"""Runs the Boost.Test programs of a build directory and counts their cases.

A program that crashes or reaches the time limit counts as one more failed case, and does not stop the
others. Prints why cases failed or were skipped, the slowest cases, and "N passed, N failed, N skipped".
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Suites that compare times. They run one at a time after all others have ended, except under
# sanitizers. The others run at the same time.
ALONE = ("test_mount/laziness",)
# Programs that wait more than they compute. Each of their suites runs as a process of its own.
BY_SUITES = ("test_mount", "test_peer", "test_remote", "test_tools", "test_writing")
# Suites that take longer than most. They start first, so that the others do not wait for them at the end.
LONG = ("test_foreign", "test_remote/store_down", "test_writing/turns", "test_mount/mounts", "test_peer/frame_writing",
        "test_peer/peer_creation", "test_tools/stores", "test_tools/b2frame_repair", "test_writing/shares",
        "test_remote/mounted", "test_writing/other_sources", "test_mount/posix_rules",
        "test_remote/object_hosts", "test_writing/listing_memory")
# How many of the slowest cases main() prints at the end.
SLOWEST = 20


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def test_programs(build):
    """Returns the executables called test_*, without fuzzers. The largest ones come first, since they take longest."""
    found = [p for p in (build / "tests").glob("**/test_*") if p.is_file() and os.access(p, os.X_OK)]
    found = [p for p in found if ".p/" not in str(p) and p.suffix == ""]
    return sorted(found, key=lambda p: p.stat().st_size, reverse=True)


def message_of(element):
    text = " ".join(((element.get("message") or "") + "\n" + (element.text or "")).split())
    return text[:600] or "no message"


def count_cases(report, run, totals, lines, times):
    """Adds the cases of a JUnit report to `totals`, and (seconds, name) of those that ran to `times`. Returns
    the number of cases."""
    # The report also has the cases of other suites, as skipped ones.
    cases = [case for case in xml.parse(report).getroot().iter("testcase")
             if run.suite in (None, case.get("classname", "").split(".")[0])]
    for case in cases:
        name = f"{run.program.name}: {case.get('classname', '')}/{case.get('name')}"
        problems = case.findall("failure") + case.findall("error")
        skip = case.find("skipped")
        if skip is None:
            times.append((float(case.get("time", 0)), name))
        if problems:
            totals.failed += 1
            for problem in problems[:5]:
                lines.append(f"FAILED  {name}: {message_of(problem)}")
        elif skip is not None:
            totals.skipped += 1
            lines.append(f"SKIPPED {name}: {skip_reason(case, skip)}")
        else:
            totals.passed += 1
    return len(cases)


def skip_reason(case, skip):
    """Returns why a case was skipped. Boost.Test writes that to the case's system-out."""
    text = " ".join(" ".join([skip.text or ""] + [e.text or "" for e in case.iter("system-out")]).split())
    return text.rpartition("- reason: ")[2] or "no reason given"


def read_text(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def processes_of(session):
    """Yields the ids of a session's processes. Not all of them are in the leader's process group."""
    for process in sorted(int(path.name) for path in Path("/proc").glob("[0-9]*")):
        try:
            if os.getsid(process) == session:
                yield process
        except OSError:
            pass


def where_threads_wait(processes):
    """Describes where each thread waits in the kernel, as far as this process may read that."""
    lines = []
    for process in processes:
        folder = Path("/proc") / str(process)
        waits = Counter()
        for task in folder.glob("task/*"):
            stack = [line.split()[-1].partition("+")[0] for line in read_text(task / "stack").splitlines()]
            waits[" ".join(stack[:8]) or read_text(task / "wchan")] += 1
        lines.append(f"{process} " + read_text(folder / "cmdline").replace("\0", " "))
        lines += [f"  {count} in {where}" for where, count in waits.items()]
    return "\n".join(lines) + "\n"


def end_all(processes):
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_with_limit(command, env, output, seconds):
    """Runs a command. Kills all processes of its session at the time limit. Returns the exit status, or None
    at the limit, and the processor seconds of the command and its children."""
    process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + seconds
    in_time = True
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if in_time else 0)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode if in_time else None, usage.ru_utime + usage.ru_stime
        in_time = time.monotonic() < deadline
        if in_time:
            time.sleep(0.05)
        else:
            processes = list(processes_of(process.pid))
            output.write(where_threads_wait(processes).encode())
            end_all(processes)


class Run:
    """A program, or one of its suites."""

    def __init__(self, program, suite=None):
        self.program = program
        self.suite = suite
        self.name = program.name + ("/" + suite if suite else "")


def suites_of(program):
    """Returns the names of the outermost suites, for --run_test. Those with the most cases come first."""
    listed = subprocess.run([str(program), "--list_content", "--color_output=no"], check=True,
                            capture_output=True, text=True)
    sizes = {}
    for line in (listed.stdout + listed.stderr).splitlines():
        name = line.strip().rstrip("*")
        if line and not line.startswith(" "):
            suite = name
            sizes[suite] = 0
        elif name:
            sizes[suite] += 1
    return sorted(sizes, key=lambda suite: -sizes[suite])


def runs_of(programs, only):
    """Yields the runs of the programs. Each entry of `only` is PROGRAM or PROGRAM/SUITES; an empty list
    means all programs."""
    wanted = dict(entry.partition("/")[::2] for entry in only)
    for program in programs:
        if wanted and program.name not in wanted:
            continue
        if wanted.get(program.name):
            yield from (Run(program, suite) for suite in wanted[program.name].split(","))
        elif program.name in BY_SUITES:
            yield from (Run(program, suite) for suite in suites_of(program))
        else:
            yield Run(program)


def run_program(run, source_root, build, seconds):
    """Runs a program or suite. Returns its counts, the lines to print, and the time of each case."""
    command = [str(run.program), *([f"--run_test={run.suite}"] if run.suite else [])]
    env = dict(os.environ, BLOSCFS_SOURCE_ROOT=str(source_root), BLOSCFS_BUILD_ROOT=str(build))
    totals = Totals()
    lines = []
    times = []
    with tempfile.TemporaryDirectory(prefix="bloscfs-tests.") as scratch:
        report = Path(scratch) / "report.xml"
        log = Path(scratch) / "output"
        begin = time.monotonic()
        with open(log, "wb") as output:
            status, worked = run_with_limit(command + [f"--logger=JUNIT,warning,{report}:HRF,error,stdout", "--color_output=no"],
                                    env, output, seconds)
        problem = None
        counted = 0
        try:
            counted = count_cases(report, run, totals, lines, times)
        except (OSError, xml.ParseError):
            problem = "left no report"
        if status is None:
            problem = f"still running after {seconds} s"
        elif status < 0:
            problem = f"ended by {signal.Signals(-status).name}"
        elif status != 0 and totals.failed == 0:
            problem = f"exit status {status}"
        if problem:
            totals.failed += 1
            lines.append(f"FAILED  {run.name}: {problem}; the end of its output:")
        if totals.failed > 0:
            lines.append(log.read_text(errors="replace")[-6000:])
        lines.append(f"    {counted} cases, {time.monotonic() - begin:.1f} s, {worked:.1f} s of processors")
    return totals, lines, times


def main():
    parser = argparse.ArgumentParser(description="Runs the test programs of a build directory.")
    parser.add_argument("build", type=Path)
    parser.add_argument("source_root", type=Path)
    parser.add_argument("seconds", type=int, help="for each run")
    parser.add_argument("only", nargs="*", metavar="PROGRAM[/SUITE,...]", help="all of them, if none is named")
    parser.add_argument("--sanitized", action="store_true", help="times tell nothing: nothing runs alone")
    arguments = parser.parse_intermixed_args()
    build, source_root = arguments.build.resolve(), arguments.source_root.resolve()
    totals = Totals()
    times = []
    # The sort is stable: runs that are not in LONG keep their order.
    runs = sorted(runs_of(test_programs(build), arguments.only), key=lambda run: run.name not in LONG)
    alone = [run for run in runs if run.name in ALONE and not arguments.sanitized]
    together = [run for run in runs if run not in alone]
    # More runs at once than processors, since tests wait more than half of their time.
    for group, at_once in ((together, (os.cpu_count() or 1) + 2), (alone, 1)):
        with ThreadPoolExecutor(at_once) as pool:
            work = lambda run: run_program(run, source_root, build, arguments.seconds)
            for run, (counts, lines, case_times) in zip(group, pool.map(work, group)):
                totals.add(counts)
                times += case_times
                print("\n".join([f"--- {run.name}"] + lines), flush=True)
    print("--- the slowest cases, seconds")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"{seconds:8.1f}  {name}")
    print(totals)
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
