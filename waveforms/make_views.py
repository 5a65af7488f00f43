#!/usr/bin/python3
"""Writes the GTKWave views (*.gtkw) in this folder.

A view is text made from two things: signals.txt, which lists the signals of a trace, and the layouts below. It names no
trace file and no folder, so `gtkwave TRACE.fst waveforms/esp_packet.gtkw` works with any trace of the engine. Names of
values (channel states, owners) come from the FST file itself; a VCD shows numbers there.

  make_views.py                 writes the views
  make_views.py --signals TRACE takes the signal list from a trace (.fst or .vcd) first
  make_views.py --check [TRACE] changes nothing; fails when a view is stale, or names a signal that TRACE does not have
"""
import argparse
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent

# GTKWave's display flags (analyzer.h); only their sum is written.
HEX, DEC, BIN, RIGHT = 0x2, 0x4, 0x8, 0x20
BLANK, STEP, STRETCH = 0x200, 0x8000, 0x20000
GROUP_BEGIN, GROUP_END, CLOSED = 0x800000, 0x1000000, 0x400000
ENUM = 0x100000000  # names from the enum tables of an FST file

# How a signal is drawn, by the last part of its name.
SHOW = {
    "state": BIN | RIGHT | ENUM,
    "owner": BIN | RIGHT | ENUM,
    "write": BIN | RIGHT | ENUM,
    "CDPR": HEX | RIGHT,
    "address": HEX | RIGHT,
    "error": HEX | RIGHT,
    "descriptor_number": DEC | RIGHT,
    "bytes": DEC | RIGHT,
    "fetch_fifo_level": DEC | RIGHT,
    "in_fifo_bytes": DEC | RIGHT | STEP,
    "out_fifo_bytes": DEC | RIGHT | STEP,
}
RED, ORANGE, YELLOW, GREEN, BLUE, INDIGO, VIOLET = range(1, 8)
COLOR = {"cpu": YELLOW, "irq": RED, "bus": VIOLET, "aesu": ORANGE, "deu": ORANGE}  # by scope; the rest stays green


def units(*signals):
    return [("AES unit", [f"sec.aesu.{s}" for s in signals]), ("DES unit", [f"sec.deu.{s}" for s in signals])]


# view -> (comment, groups of signals). A group with a title starting with '-' is closed when the view opens.
VIEWS = {
    "esp_packet": (
        "Where one ESP packet spends its time: processor, interrupt, channel, unit, bus, from top to bottom",
        [
            ("Processor", ["cpu.state", "sec.irq.line0", "sec.irq.line1"]),
            ("Channels", [f"sec.channel{n}.{s}" for n in range(4) for s in ("state", "descriptor_number")]),
            *units("owner", "busy", "in_fifo_bytes", "out_fifo_bytes"),
            ("Bus", ["sec.bus.owner", "sec.bus.write", "sec.bus.address", "sec.bus.bytes"]),
        ],
    ),
    # All channels: which of them work depends on the run (the driver deals them out to keys in turn).
    "two_channels": (
        "Channels beside each other: which one waits for the unit, which one for the bus",
        [
            *((f"Channel {n}", [f"sec.channel{n}.{s}" for s in ("state", "fetch_fifo_level")]) for n in range(4)),
            *units("owner", "busy"),
            ("Bus", ["sec.bus.owner", "sec.bus.write", "sec.bus.bytes"]),
            ("Interrupts", ["sec.irq.line0", "sec.irq.line1", "cpu.state"]),
            *((f"-Channel {n} descriptors", [f"sec.channel{n}.{s}" for s in ("CDPR", "descriptor_number", "error")])
              for n in range(4)),
        ],
    ),
}


def trace_signals(path):
    """{dotted name: width} of a trace."""
    if str(path).endswith(".fst"):
        source = subprocess.Popen(["fst2vcd", "-f", str(path)], stdout=subprocess.PIPE, text=True)
        lines = source.stdout
    else:
        source, lines = None, open(path, encoding="ascii")
    signals, scopes = {}, []
    with lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["$scope"]:
                scopes.append(words[2])
            elif words[:1] == ["$upscope"]:
                scopes.pop()
            elif words[:1] == ["$var"]:
                signals[".".join(scopes + [words[4]])] = int(words[2])
            elif words[:1] == ["$enddefinitions"]:
                break
    if source:
        source.kill()  # only the declarations were wanted
        source.wait()
    if not signals:
        sys.exit(f"{path}: no signals found; give an FST or VCD file that secsim --trace wrote")
    return signals


def read_signals():
    signals = {}
    for line in (FOLDER / "signals.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, width = line.split()
            signals[name] = int(width)
    return signals


def signals_text(signals):
    head = "# Signals of a trace and their widths in bits. Written by make_views.py --signals TRACE.\n"
    return head + "".join(f"{name} {width}\n" for name, width in signals.items())


def view_text(view, signals):
    comment, groups = VIEWS[view]
    out = [
        "[*] Written by waveforms/make_views.py. Do not edit: change the layout there and run it again.",
        f"[*] {comment}.",
        "[size] 1580 940",
        "[pos] -1 -1",
        "[sst_width] 28",
        "[signals_width] 300",
        "[sst_expanded] 0",
    ]
    for title, names in groups:
        closed = title.startswith("-")
        title = title.lstrip("-")
        out += [f"@{GROUP_BEGIN | BLANK | (CLOSED if closed else 0):x}", f"-{title}"]
        for name in names:
            if name not in signals:
                sys.exit(f"make_views.py: view {view} shows {name}, which signals.txt does not list")
            scope, last = name.split(".")[-2:]
            flags = SHOW.get(last, BIN | RIGHT)
            out.append(f"@{flags:x}")
            if scope in COLOR:
                out.append(f"[color] {COLOR[scope]}")
            label = name.removeprefix("sec.").replace(".", " ")  # of a label with dots only the last part is shown
            width = signals[name]
            out.append(f"+{{{label}}} {name}" + (f"[{width - 1}:0]" if width > 1 else ""))
            if flags & STEP:  # a curve needs height: the following empty row is joined to it
                out += [f"@{STRETCH:x}", "-"]
        out += [f"@{GROUP_END | BLANK | (CLOSED if closed else 0):x}", f"-{title}"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description="writes the GTKWave views of this folder")
    parser.add_argument("--signals", metavar="TRACE", help="take the signal list from this trace")
    parser.add_argument("--check", nargs="?", const="", metavar="TRACE", help="only compare, also with this trace")
    options = parser.parse_args()

    if options.signals:
        (FOLDER / "signals.txt").write_text(signals_text(trace_signals(options.signals)))
    signals = read_signals()
    bad = []
    if options.check:
        present = trace_signals(options.check)
        bad += [f"{name} ({width} bits) is not in {options.check}" for name, width in signals.items()
                if present.get(name) != width]
        bad += [f"{name} is missing in signals.txt: run make_views.py --signals" for name in present if name not in signals]
    for view in VIEWS:
        path, text = FOLDER / f"{view}.gtkw", view_text(view, signals)
        if options.check is None:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            bad.append(f"{path.name} is stale: run make_views.py")
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
