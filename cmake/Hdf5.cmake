# interlacer::hdf5, the serial C library. By hand: FindHDF5 runs compilers and finds parallel builds first.

find_path(HDF5_C_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
find_library(HDF5_C_LIBRARY NAMES hdf5_serial hdf5 REQUIRED)
mark_as_advanced(HDF5_C_INCLUDE HDF5_C_LIBRARY)
add_library(interlacer::hdf5_c UNKNOWN IMPORTED GLOBAL)
set_target_properties(interlacer::hdf5_c PROPERTIES
  IMPORTED_LOCATION "${HDF5_C_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${HDF5_C_INCLUDE}")
