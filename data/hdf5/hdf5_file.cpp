#include "data/hdf5/hdf5_file.h"

#include <hdf5.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace interlacer {
namespace {

constexpr hsize_t kMostNumbers = hsize_t{1} << 28;
constexpr hsize_t kMostChunkBytes = hsize_t{1} << 28;
constexpr std::size_t kMostTextBytes = std::size_t{1} << 26;
/// Above what deflate reaches: arrays that claim more were never written.
constexpr double kMostRatio = 2000;
constexpr char kRewrite[] =
    "what newer writers made with libver='latest' is rewritten by their h5repack --low=0 --high=2";

/// The library is not thread-safe.
std::mutex& LibraryMutex() {
  static std::mutex mutex;
  return mutex;
}

/// Closes an identifier of the library.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  bool ok() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

template <typename T>
hid_t MemoryType();
template <>
hid_t MemoryType<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
hid_t MemoryType<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t MemoryType<double>() {
  return H5T_NATIVE_DOUBLE;
}

herr_t AddName(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t RefuseLink(const char* /*parent_file*/, const char* /*parent_group*/,
                  const char* /*child_file*/, const char* /*child_object*/, unsigned* /*flags*/,
                  hid_t /*access*/, void* /*data*/) {
  return -1;
}

/// Access of a class of objects that follows no link into another file: whoever wrote this one
/// chose its name, and what it holds would end in the episode.
Id InThisFile(hid_t access_class) {
  const hid_t access = H5Pcreate(access_class);
  H5Pset_elink_cb(access, RefuseLink, nullptr);
  return Id(access, H5Pclose);
}

/// Whether an array's numbers lie in the file itself, in chunks that memory holds.
bool IsHeldHere(hid_t set, std::size_t item_bytes) {
  const Id made(H5Dget_create_plist(set), H5Pclose);
  if (!made.ok() || H5Pget_external_count(made.get()) != 0) return false;
  const H5D_layout_t layout = H5Pget_layout(made.get());
  if (layout != H5D_CHUNKED) return layout == H5D_COMPACT || layout == H5D_CONTIGUOUS;
  hsize_t sides[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(made.get(), H5S_MAX_RANK, sides);
  hsize_t bytes = item_bytes;
  for (int a = 0; a < rank; ++a) {
    if (sides[a] == 0 || sides[a] > kMostChunkBytes / bytes) return false;
    bytes *= sides[a];
  }
  return rank > 0;
}

/// H5Lexists asks for one link at a time.
bool HasPath(hid_t file, const std::string& path) {
  const Id access = InThisFile(H5P_LINK_ACCESS);
  for (std::size_t end = path.find('/'); true; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && H5Lexists(file, part.c_str(), access.get()) <= 0) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace

struct Hdf5File::Handle {
  hid_t file = -1;
  ~Handle() {
    const std::lock_guard<std::mutex> lock(LibraryMutex());
    if (file >= 0) H5Fclose(file);
  }
};

StatusOr<Hdf5File> Hdf5File::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return NotFound(reason::FILE_NOT_FOUND, path + ": no such file").WithField(path);
  }
  const auto handle = std::make_shared<Handle>();
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to tell
  if (std::filesystem::is_regular_file(path, error) && H5Fis_hdf5(path.c_str()) > 0) {
    handle->file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  }
  if (handle->file < 0) {
    return Mismatch(reason::FILE_UNREADABLE, path,
                    "an HDF5 file that HDF5 1.10 reads; " + std::string(kRewrite),
                    "a file that is none, is cut, or is newer");
  }
  Hdf5File file;
  file.path_ = path;
  file.file_ = handle;
  return file;
}

bool Hdf5File::Has(const std::string& object) const {
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  return HasPath(file_->file, object);
}

std::vector<std::string> Hdf5File::Names(const std::string& group) const {
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  std::vector<std::string> names;
  if (!HasPath(file_->file, group)) return names;
  const Id access = InThisFile(H5P_GROUP_ACCESS);
  const Id id(H5Gopen2(file_->file, group.c_str(), access.get()), H5Gclose);
  if (id.ok()) H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, AddName, &names);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Hdf5Array> Hdf5File::FindArray(const std::string& path) const {
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  if (!HasPath(file_->file, path)) return std::nullopt;
  const Id access = InThisFile(H5P_DATASET_ACCESS);
  const Id set(H5Dopen2(file_->file, path.c_str(), access.get()), H5Dclose);
  if (!set.ok()) return std::nullopt;
  const Id type(H5Dget_type(set.get()), H5Tclose), space(H5Dget_space(set.get()), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || rank < 1) return std::nullopt;
  std::vector<hsize_t> sides(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), sides.data(), nullptr);
  if (!IsHeldHere(set.get(), H5Tget_size(type.get()))) return std::nullopt;
  double bytes = static_cast<double>(H5Tget_size(type.get()));
  for (const hsize_t side : sides) bytes *= static_cast<double>(side);
  if (bytes > kMostRatio * static_cast<double>(H5Dget_storage_size(set.get()))) return std::nullopt;
  return Hdf5Array{path, {sides.begin(), sides.end()}, kind == H5T_FLOAT, H5Tget_size(type.get())};
}

std::optional<std::string> Hdf5File::TextAttribute(const std::string& object,
                                                   const std::string& name) const {
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  if (!HasPath(file_->file, object)) return std::nullopt;
  const Id access = InThisFile(H5P_LINK_ACCESS);
  const Id id(H5Aopen_by_name(file_->file, object.c_str(), name.c_str(), H5P_DEFAULT, access.get()),
              H5Aclose);
  if (!id.ok()) return std::nullopt;
  const Id type(H5Aget_type(id.get()), H5Tclose);
  const Id space(H5Aget_space(id.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) {
    return std::nullopt;
  }
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(id.get(), type.get(), &text) < 0 || text == nullptr) return std::nullopt;
    std::string copy(text);
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, &text);
    return copy;
  }
  const std::size_t size = H5Tget_size(type.get());
  if (size > kMostTextBytes) return std::nullopt;
  std::string text(size, '\0');
  if (H5Aread(id.get(), type.get(), text.data()) < 0) return std::nullopt;
  return text.substr(0, text.find('\0'));
}

Status Hdf5File::Unreadable(const std::string& object) const {
  return Mismatch(
      reason::FILE_UNREADABLE, object,
      "an array of numbers in the file itself that HDF5 1.10 reads; " + std::string(kRewrite),
      "something else, kept in another file, damaged, or newer");
}

template <typename T>
StatusOr<std::vector<T>> Hdf5File::ReadRow(const Hdf5Array& array, std::int64_t row) const {
  const auto damaged = [&] {
    return InvalidArgument(reason::FILE_UNREADABLE, path_ + ": row " + std::to_string(row) +
                                                        " of " + array.path +
                                                        " cannot be read: damaged or cut?")
        .WithField(array.path);
  };
  std::vector<hsize_t> begin(array.shape.size()), count(array.shape.begin(), array.shape.end());
  begin[0] = static_cast<hsize_t>(row);
  count[0] = 1;
  hsize_t numbers = 1;
  for (const hsize_t side : count) {
    if (side == 0 || side > kMostNumbers / numbers) return damaged();
    numbers *= side;
  }
  const std::lock_guard<std::mutex> lock(LibraryMutex());
  const Id access = InThisFile(H5P_DATASET_ACCESS);
  const Id set(H5Dopen2(file_->file, array.path.c_str(), access.get()), H5Dclose);
  if (!set.ok()) return damaged();
  const Id space(H5Dget_space(set.get()), H5Sclose);
  const Id memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                  H5Sclose);
  std::vector<T> values(numbers);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(),
                          nullptr) < 0 ||
      H5Dread(set.get(), MemoryType<T>(), memory.get(), space.get(), H5P_DEFAULT, values.data()) <
          0) {
    return damaged();
  }
  return values;
}

template StatusOr<std::vector<std::uint8_t>> Hdf5File::ReadRow(const Hdf5Array&,
                                                               std::int64_t) const;
template StatusOr<std::vector<float>> Hdf5File::ReadRow(const Hdf5Array&, std::int64_t) const;
template StatusOr<std::vector<double>> Hdf5File::ReadRow(const Hdf5Array&, std::int64_t) const;

}  // namespace interlacer
