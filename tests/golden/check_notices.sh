#!/usr/bin/env bash
# tools/check can fail: in a copy of the tree's skeleton each planted fault must be reported, and nothing without one.
#
# usage: check_notices.sh SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fresh() {
  rm -rf "${work:?}/tree"
  mkdir -p "$work"/tree/{tools,docs/decisions,hw/core,driver/talitos}
  cp "$1/tools/check" "$work/tree/tools/check"
  printf '# Map\n\n[A page](page.md) and [a decision](decisions/0001-one.md).\n' >"$work/tree/docs/README.md"
  printf '# Page\n\nOne sentence.\nAnother `a. B`.\n' >"$work/tree/docs/page.md"
  printf '# 1: One\n\n## Context\n\n## Choice\n\n## Consequences\n' >"$work/tree/docs/decisions/0001-one.md"
  echo '#include "hw/regs/bits.h"' >"$work/tree/driver/talitos/a.cpp"
}
failed=0
# expect TEXT: the checks fail and say so.
expect() {
  local out
  if out=$("$work/tree/tools/check" layers docs 2>&1) || ! grep -qF -- "$1" <<<"$out"; then
    echo "not noticed: $1"$'\n'"$out"
    failed=1
  fi
}
fresh "$1"
out=$("$work/tree/tools/check" layers docs 2>&1) || { echo "failed without a fault:"$'\n'"$out"; failed=1; }
echo '#include "hw/core/engine.h"' >>"$work/tree/driver/talitos/a.cpp"
expect "layers: the driver knows hw/regs only"
fresh "$1"
echo '  #  include <systemc>' >"$work/tree/hw/core/a.h"
expect "hw/core/a.h:1"
fresh "$1"
echo '[gone](gone.md)' >>"$work/tree/docs/page.md"
expect "links to gone.md"
fresh "$1"
echo '# Lonely' >"$work/tree/docs/lonely.md"
expect "no page links to docs/lonely.md"
fresh "$1"
mkdir "$work/tree/docs/howto"
printf '# How\n\nOne thing. Another thing.\n' >"$work/tree/docs/howto/how.md"
echo '[how](howto/how.md)' >>"$work/tree/docs/README.md"
expect "docs/howto/how.md:3 has more than one sentence"
fresh "$1"
echo '# 2: Two' >"$work/tree/docs/decisions/0002-two.md"
echo '[two](decisions/0002-two.md)' >>"$work/tree/docs/README.md"
expect "0002-two.md has no section Choice"
exit $failed
