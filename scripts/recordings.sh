# Imports of the recordings that scripts/evaluate-recordings uses; sourced after lib.sh.

recordings_dir=${INTERLACER_TEST_DATA:-$repo/../shared/data}

# import_recording NAME DIRECTORY: DIRECTORY/NAME, unless it is there.
import_recording() {
  local name=$1 target=$2/$1 apc=$recordings_dir/realsense-apc redwood=$recordings_dir/redwood-rgbd
  [ ! -e "$target/manifest.json" ] || return 0
  case $name in
    scene-0000 | tote | shelf-A) "$interlacer" import apc "$apc/$name" --output "$target" ;;
    RGBD) "$interlacer" import redwood "$redwood/RGBD" --intrinsics 525,525,319.5,239.5 --output "$target" ;;
    livingroom1) "$interlacer" import redwood "$redwood/livingroom1" --intrinsics 525,525,319.5,239.5 --frame-stride 5 --output "$target" ;;
    *) die "unknown recording '$name'" ;;
  esac
}
