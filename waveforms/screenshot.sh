#!/bin/sh
# A picture of a trace as GTKWave shows it, without a display.
#   waveforms/screenshot.sh TRACE VIEW PNG [FROM_PS TO_PS]
# Without times the whole trace is shown. Needs the packages gtkwave, xvfb and xauth.
set -eu
if [ $# -ne 3 ] && [ $# -ne 5 ]; then
  echo "usage: $0 TRACE VIEW PNG [FROM_PS TO_PS]" >&2
  exit 2
fi
for file in "$1" "$2"; do
  [ -r "$file" ] || { echo "$0: cannot read $file" >&2; exit 2; }
done
for tool in gtkwave xvfb-run; do
  command -v "$tool" >/dev/null || { echo "$0: $tool not found; install the packages gtkwave, xvfb and xauth" >&2; exit 2; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
zoom='gtkwave::/Time/Zoom/Zoom_Full'
[ $# -eq 3 ] || zoom="gtkwave::setZoomRangeTimes $4 $5"
# The window must have been drawn before it is zoomed, and again before it is grabbed.
cat >"$scratch/shot.tcl" <<TCL
gtkwave::/Time/Zoom/Zoom_Full
after 1000
$zoom
after 1000
gtkwave::/File/Grab_To_File {$scratch/shot.png}
puts "traces [gtkwave::getTotalNumTraces] of [gtkwave::getMinTime]..[gtkwave::getMaxTime] ps"
exit
TCL
timeout 60 xvfb-run -a -s "-screen 0 1600x1000x24" \
  gtkwave -f "$1" -a "$2" -S "$scratch/shot.tcl" >"$scratch/log" 2>&1 || true
if ! grep -q '^traces [1-9]' "$scratch/log" || [ ! -s "$scratch/shot.png" ]; then
  echo "$0: GTKWave showed nothing:" >&2
  cat "$scratch/log" >&2
  exit 1
fi
grep '^traces' "$scratch/log"
mv "$scratch/shot.png" "$3"
