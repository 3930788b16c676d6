#include "model/network/radiance_field.h"

namespace interlacer {

RadianceField::RadianceField(const RendererConfig& config) {
  const auto dense = [&](const char* name, int in, int out) {
    return register_module(name, std::make_shared<Dense>(in, out, Precision::kNative));
  };
  first_ = dense("first", FieldInputWidth(config), config.hidden_width);
  second_ = dense("second", config.hidden_width, config.hidden_width);
  out_ = dense("out", config.hidden_width, kFieldOutputWidth);
}

FieldTensors RadianceField::tensors() const {
  return {first_->weight, first_->bias, second_->weight, second_->bias, out_->weight, out_->bias};
}

}  // namespace interlacer
