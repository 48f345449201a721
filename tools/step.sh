#!/bin/sh
# One step of a set-up: named before it runs; when it fails, its last words are shown, and what to do about it.
# usage: tools/step.sh LOG WHAT ADVICE COMMAND...
log=$1 what=$2 advice=$3
shift 3
echo "setup: $what"
"$@" >"$log" 2>&1 && exit 0
tail -n 40 "$log" | sed 's/^/    /' >&2
printf 'setup: %s failed.\nsetup: %s\n' "$what" "$advice" >&2
exit 1
