#!/usr/bin/env python3
"""Runs the Boost.Test programs of a build directory and sums up their cases.

usage: run_programs.py BUILD_DIR SOURCE_ROOT SECONDS_PER_PROGRAM [--sanitized]

A program that crashes or runs out of time counts as one failed case more, and does not stop the
others. Prints why cases failed or were skipped, then "N passed, N failed, N skipped".
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Programs that look at times and at what the machine has free, except under sanitizers; the others
# run side by side.
ALONE = ("test_mount",)


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
    """Executables called test_*, fuzzers left out; the largest first, which take the longest."""
    found = [p for p in (build / "tests").glob("**/test_*") if p.is_file() and os.access(p, os.X_OK)]
    found = [p for p in found if ".p/" not in str(p) and p.suffix == ""]
    return sorted(found, key=lambda p: p.stat().st_size, reverse=True)


def message_of(element):
    text = " ".join(((element.get("message") or "") + "\n" + (element.text or "")).split())
    return text[:600] or "no message"


def count_cases(report, program, totals, lines):
    """Adds the cases of one JUnit report and returns how many there were."""
    cases = list(xml.parse(report).getroot().iter("testcase"))
    for case in cases:
        name = f"{program}: {case.get('classname', '')}/{case.get('name')}"
        problems = case.findall("failure") + case.findall("error")
        skip = case.find("skipped")
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
    """Boost.Test writes why a case was disabled to the case's system-out."""
    text = " ".join(" ".join([skip.text or ""] + [e.text or "" for e in case.iter("system-out")]).split())
    return text.rpartition("- reason: ")[2] or "no reason given"


def run_with_limit(command, env, output, seconds):
    """Exit status, or None when the time was up; the program's whole process group is ended then."""
    process = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def run_program(program, source_root, build, seconds):
    """Runs it to its end. Returns its counts and what there is to tell."""
    env = dict(os.environ, BLOSCFS_SOURCE_ROOT=str(source_root), BLOSCFS_BUILD_ROOT=str(build))
    totals = Totals()
    lines = []
    with tempfile.TemporaryDirectory(prefix="bloscfs-tests.") as scratch:
        report = Path(scratch) / "report.xml"
        log = Path(scratch) / "output"
        begin = time.monotonic()
        with open(log, "wb") as output:
            status = run_with_limit([str(program), f"--logger=JUNIT,warning,{report}:HRF,error,stdout", "--color_output=no"], env, output, seconds)
        problem = None
        counted = 0
        try:
            counted = count_cases(report, program.name, totals, lines)
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
            lines.append(f"FAILED  {program.name}: {problem}; the end of its output:")
        if totals.failed > 0:
            lines.append(log.read_text(errors="replace")[-6000:])
        lines.append(f"    {counted} cases, {time.monotonic() - begin:.1f} s")
    return totals, lines


def main():
    build, source_root, seconds = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), int(sys.argv[3])
    totals = Totals()
    programs = test_programs(build)
    sanitized = "--sanitized" in sys.argv[4:]
    alone = [p for p in programs if p.name in ALONE and not sanitized]
    together = [p for p in programs if p not in alone]
    # One more than there are processors: tests often wait for the programs that they have started.
    for group, at_once in ((together, (os.cpu_count() or 1) + 1), (alone, 1)):
        with ThreadPoolExecutor(at_once) as pool:
            work = lambda program: run_program(program, source_root, build, seconds)
            for program, (counts, lines) in zip(group, pool.map(work, group)):
                totals.add(counts)
                print("\n".join([f"--- {program.name}"] + lines), flush=True)
    print(totals)
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
