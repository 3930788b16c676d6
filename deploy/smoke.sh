#!/usr/bin/env bash
# Proves that what is installed works by itself: puts the programs into a prefix of their own, checks that every shared
# library comes from there or from the system, then simulates, trains a tiny model, serves it, probes and predicts with
# nothing else in sight.
#
#   deploy/smoke.sh BUILD_DIR           installs from a finished build
#   deploy/smoke.sh --packages DIR      unpacks the Debian packages in DIR
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/interlacer_smoke_XXXXXX")
server_pid=
clean_up() {
  [ -z "$server_pid" ] || kill -KILL "$server_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
die() { printf 'smoke: %s\n' "$*" >&2; exit 1; }

if [ "${1:-}" = --packages ]; then
  packages=${2:?--packages needs a folder}; shift
  prefix=$work/root/usr
  for name in interlacer-server interlacer-tools; do
    dpkg-deb -x "$packages/$name"_*.deb "$work/root"
  done
else
  prefix=$work/prefix
  for component in server tools; do
    cmake --install "${1:?expected BUILD_DIR or --packages DIR}" --prefix "$prefix" --component "$component" >"$work/install.log" ||
      { tail "$work/install.log"; die "cannot install component $component"; }
  done
fi

# Neither the home directory nor any variable leads back to where the programs were built.
alone=(env -i PATH="$prefix/bin:/usr/bin:/bin" HOME="$work")
installed() { "${alone[@]}" "$@"; }

for program in interlacer interlacer-server; do
  installed ldd "$prefix/bin/$program" >"$work/ldd"
  ! grep -F 'not found' "$work/ldd" || die "$program lacks libraries"
  # "name => path (address)"; the loader and the kernel's own have no arrow.
  strays=$(awk '$2 == "=>" {print $3}' "$work/ldd" | xargs -n 1 realpath | grep -Ev "^($work|/usr/lib|/lib|/usr/local/lib)/" || true)
  [ -z "$strays" ] || die "$program loads from outside: $strays"
done
echo "smoke: libraries come from the prefix and the system"

installed interlacer version >"$work/log"
[ -d "$prefix/share/interlacer/robosuite_assets" ] || die "the robot model is not installed"
installed interlacer simulate --output "$work/episodes" --seed 7 --steps 4 --width 64 --height 48 --quiet >>"$work/log"
cat >"$work/run.json" <<'JSON'
{"preset": "small",
 "model": {"base": "small", "name": "smoke",
   "data": {"cameras": [{"name": "left", "width_px": 64, "height_px": 48}, {"name": "right", "width_px": 64, "height_px": 48}],
            "particle_count": 256, "min_particle_count": 64},
   "encoder": {"widths": [8, 16]}, "tokens": {"fourier_octaves": 2},
   "network": {"width": 32, "block_count": 1, "local": {"key_width": 16}},
   "renderer": {"samples_per_ray": 24, "hidden_width": 16}},
 "training": {"batch_size": 1, "rollout_steps": [{"from_step": 0, "value": 1}], "rays_per_step": 64}}
JSON
installed interlacer train --config "$work/run.json" --data "$work/episodes" --output "$work/run" --steps 1 --quiet >>"$work/log"
checkpoint=$work/run/checkpoint
echo "smoke: simulates and trains"

# The log is there before the loop below reads it, whoever of the two comes first.
: >"$work/server.log"
# Not through the function: the signals below are for the server itself.
"${alone[@]}" interlacer-server --config "$repo/deploy/server.toml" --model "smoke=$checkpoint" --address 127.0.0.1:0 \
  --metrics-address "" --log-format json 2>"$work/server.log" &
server_pid=$!
address=
for ((tries = 0; tries < 600; ++tries)); do
  address=$(sed -n 's/.*"message":"listening".*"port":"\([0-9]*\)".*/127.0.0.1:\1/p' "$work/server.log")
  [ -z "$address" ] || break
  kill -0 "$server_pid" 2>/dev/null || { cat "$work/server.log"; die "the server did not start"; }
  sleep 0.1
done
installed interlacer probe "$address" --wait 200s >>"$work/log" || { cat "$work/server.log"; die "the server is not ready"; }
installed interlacer info "$address" >"$work/info"
installed interlacer predict "$work/episodes/push_block_000007" --server "$address" --steps 1 --output "$work/prediction" --report --quiet >>"$work/log"
for file in prediction.json report.html particles/step_001.ply views/left/step_001.png; do
  [ -s "$work/prediction/$file" ] || die "the prediction lacks $file"
done
echo "smoke: serves and predicts"

kill -TERM "$server_pid"
status=0
wait "$server_pid" || status=$?
server_pid=
[ "$status" -eq 0 ] || { cat "$work/server.log"; die "the server ended with status $status"; }
echo "smoke: drains; all well"
