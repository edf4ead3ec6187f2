# Reads what ctest wrote with --output-junit and says in plain words how the tests went: which were
# skipped and why (a test says so itself, in a line "SKIPPED: reason"), which failed, and the count.
# A skipped test is not a passed one.

function plain(text) {
  gsub(/&lt;/, "<", text)
  gsub(/&gt;/, ">", text)
  gsub(/&quot;/, "\"", text)
  gsub(/&apos;/, "'", text)
  gsub(/&amp;/, "\\&", text)
  return text
}

/<testcase / {
  name = $0
  sub(/^.*<testcase name="/, "", name)
  sub(/" classname=.*$/, "", name)
  name = plain(name)
  # "run" is the only good status. "notrun" is a skipped test if the test asked for it.
  status = $0
  sub(/^.* status="/, "", status)
  sub(/".*$/, "", status)
  is_skipped = 0
  reason = "no reason given"
}
/<skipped message="SKIP_/ { is_skipped = 1 }
/SKIPPED: / && is_skipped {
  reason = $0
  sub(/^.*SKIPPED: /, "", reason)
  reason = plain(reason)
}
/<\/testcase>/ {
  if (status == "run") {
    ++num_passed
  } else if (is_skipped) {
    ++num_skipped
    if (!(reason in names_of)) reasons[++num_reasons] = reason
    ++count_of[reason]
    names_of[reason] = names_of[reason] "  " name "\n"
  } else {
    failed[++num_failed] = name
  }
}
END {
  if (num_passed + num_failed + num_skipped == 0) exit
  for (i = 1; i <= num_reasons; ++i) {
    reason = reasons[i]
    printf "\n%d skipped: %s\n%s", count_of[reason], reason, names_of[reason]
  }
  if (num_failed) printf "\n%d failed:\n", num_failed
  for (i = 1; i <= num_failed; ++i) printf "  %s\n", failed[i]
  printf "\n%d passed, %d failed, %d skipped\n", num_passed, num_failed, num_skipped
}
