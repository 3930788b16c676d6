#pragma once

/// Passes a plain shared object from the forward to the backward pass of an autograd function.
/// Threads: as the object held.

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <string>
#include <utility>

namespace interlacer {

template <typename T>
class SavedObject : public torch::CustomClassHolder {
 public:
  explicit SavedObject(std::shared_ptr<const T> object) : object_(std::move(object)) {}
  const std::shared_ptr<const T>& object() const { return object_; }

 private:
  std::shared_ptr<const T> object_;
};

template <typename T>
void SaveObject(torch::autograd::AutogradContext* context, const std::string& name,
                std::shared_ptr<const T> object) {
  context->saved_data[name] =
      c10::IValue::make_capsule(c10::make_intrusive<SavedObject<T>>(std::move(object)));
}

template <typename T>
std::shared_ptr<const T> LoadObject(torch::autograd::AutogradContext* context,
                                    const std::string& name) {
  const auto holder = context->saved_data[name].toCapsule();
  return static_cast<const SavedObject<T>*>(holder.get())->object();
}

}  // namespace interlacer
