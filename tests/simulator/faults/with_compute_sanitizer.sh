#!/bin/sh
# Which of compute-sanitizer's tools report which fault kernel, on a machine with a GPU:
#
#     tests/simulator/faults/with_compute_sanitizer.sh build/default/bin/faults [NAME...]
#
# prints a row a fault for the table of docs/simulator_checks.md: what each tool reports of the faulty
# kernel (its first line), and whether one of them reports the sound twin, which none should. A kernel whose
# threads wait for ever is stopped after 20 seconds.
set -eu
faults=${1:?usage: with_compute_sanitizer.sh PATH_OF_FAULTS [NAME...]}
shift
[ $# -gt 0 ] || set -- $("$faults" --list --target cuda)
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# reported TOOL NAME [--sound]: whether a tool has anything to say.
reported() {
  tool=$1
  shift
  status=0
  timeout -s KILL 20 "$sanitizer" --tool "$tool" --error-exitcode 9 "$faults" "$@" --target cuda >"$output" 2>&1 ||
    status=$?
  if [ "$status" -eq 137 ]; then
    echo '========= Error: never ends' >>"$output"
    return 0
  fi
  [ "$status" -eq 9 ] || grep -q 'RACECHECK SUMMARY: [1-9]' "$output"
}

for name; do
  found=""
  for tool in memcheck racecheck initcheck synccheck; do
    if reported "$tool" "$name"; then
      line=$(grep -E '^========= *(Error: |Warning: |Invalid|Uninit|Program hit|Divergent|Barrier)' "$output" |
        head -n 1 | sed 's/^========= *//')
      found="$found; $tool: ${line:-reported}"
    fi
    if reported "$tool" "$name" --sound; then found="$found; $tool ALSO REPORTS THE SOUND TWIN"; fi
  done
  found=${found#; }
  echo "| $name | ${found:-nothing} |"
done
