# Shared by the scripts beside it; sourced, never run. Needs bash.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${INTERLACER_BUILD_DIR:-$repo/build}
cache_dir=${INTERLACER_CACHE:-$HOME/.cache/interlacer}
export INTERLACER_CACHE=$cache_dir

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# stage NAME COMMAND...: runs the command and says how long it took, or on exit which stage failed. With
# INTERLACER_STAGE_TIMES, a file, the seconds stand there too.
current_stage=
stage() {
  current_stage=$1
  local start=$SECONDS; shift
  say "== $current_stage"
  "$@"
  say "== $current_stage: $((SECONDS - start)) s"
  [ -z "${INTERLACER_STAGE_TIMES:-}" ] || echo "$((SECONDS - start)) $current_stage" >>"$INTERLACER_STAGE_TIMES"
  current_stage=
}
report_failed_stage() {
  local status=$?
  [ -z "$current_stage" ] || printf 'error: %s failed with status %s after %s s\n' "$current_stage" "$status" "$SECONDS" >&2
}
trap report_failed_stage EXIT

# Compilers run at once: one a core, and 1.5 GB of free memory for each.
build_jobs() {
  local cores memory_kb by_memory
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  by_memory=$((memory_kb / 1500000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# CUDA kernels are compiled for this machine's GPUs; without one for the oldest that is supported, whose PTX newer ones
# take. Packages (preset package) hold machine code for all.
cuda_architectures() {
  local found
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d '. ' | sort -nu | paste -sd ';') || found=
  [[ $found =~ ^[0-9\;]+$ ]] || found=80
  echo "$found"
}

# configure PRESET [CMAKE_ARGUMENT...]: into the build folder.
configure() {
  local preset=$1; shift
  cmake --preset "$preset" -S "$repo" -B "$build_dir" -DINTERLACER_CACHE="$cache_dir" \
    -DINTERLACER_CUDA="${INTERLACER_CUDA:-AUTO}" -DINTERLACER_CUDA_ARCHITECTURES="$(cuda_architectures)" \
    -DINTERLACER_UNITY=ON -DINTERLACER_WERROR="${INTERLACER_WERROR:-OFF}" "$@" >"$build_dir.configure.log" 2>&1 ||
    { tail -40 "$build_dir.configure.log"; return 1; }
  mv "$build_dir.configure.log" "$build_dir/configure.log"
}

# build [TARGET...]: all targets without arguments.
build() {
  cmake --build "$build_dir" -j "$(build_jobs)" ${1:+--target "$@"}
}

# failed_tests LOG: what ctest wrote of each failed test, its last lines at most; then their names.
failed_tests() {
  awk '
    function print_tail(  i) { for (i = count > 60 ? count - 59 : 1; i <= count; ++i) print lines[i]; count = 0 }
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ { print_tail(); is_failed = !/ Passed |Skipped/ }
    /^ +Start +[0-9]+:/ { next }
    /tests passed, .* failed out of/ { print_tail(); is_failed = 0 }
    /^The following tests FAILED/ { is_list = 1 }
    is_list && !/\(Skipped\)/ { list = list $0 "\n" }
    is_failed { lines[++count] = $0 }
    END { print_tail(); printf "%s", list }' "$1"
}

# require_tests LOG REGEX...: says and fails where no test has such a name, and where one was skipped.
require_tests() {
  local log=$1 name status=0; shift
  for name in "$@"; do
    ! { grep -E "Test +#[0-9]+: $name" "$log" || say "no test $name: Skipped"; } | grep Skipped || status=1
  done
  return "$status"
}

# run_tests BUILD_FOLDER CTEST_ARGUMENT...: what failed, else ctest's closing lines. Tests skip what is not there; those of
# INTERLACER_REQUIRE, beginnings of their names, fail then.
run_tests() {
  local log=$1/test.log required; shift
  ctest --output-on-failure --parallel "$(nproc)" --no-tests=error "$@" >"$log" 2>&1 ||
    { failed_tests "$log"; return 1; }
  read -ra required <<<"${INTERLACER_REQUIRE:-}"
  require_tests "$log" "${required[@]}" || { say "error: these were skipped, and INTERLACER_REQUIRE names them"; return 1; }
  grep -E 'tests passed|Total Test time|Skipped' "$log"
}
