#include "data/importers/metre_units.h"

#include "common/number_text.h"

namespace interlacer {

StatusOr<double> UnitOfMetres(const MetreDepths& depths, std::optional<double> given_m,
                              const std::string& field, std::vector<Finding>* findings) {
  const double deepest_m = depths.largest_m;
  const std::string least_unit = NumberText(deepest_m / kMostDepthUnits);
  if (given_m) {
    if (deepest_m <= (kMostDepthUnits + 0.5) * *given_m) return *given_m;
    return Mismatch(reason::ARGUMENT_INVALID, "--depth-unit",
                    "a unit of at least " + least_unit + " m: the deepest measurement of " + field +
                        " is " + NumberText(deepest_m) + " m",
                    NumberText(*given_m));
  }
  if (deepest_m <= kMostDepthUnits * kTenthMillimeterM) return kTenthMillimeterM;
  if (depths.beyond_count == 0) return kMillimeterM;
  const std::string beyond = std::to_string(depths.beyond_count) + " of " +
                             std::to_string(depths.measured_count) + " depths above " +
                             NumberText(kMostDepthUnits * kMillimeterM) + " m, the deepest " +
                             NumberText(deepest_m) + " m";
  if (2 * depths.beyond_count > depths.measured_count) {
    return Mismatch(reason::DEPTH_RANGE_INVALID, field,
                    "metres; are they millimetres? convert them, or write integers of 16 bits; "
                    "for a scene as deep as that --depth-unit " +
                        least_unit + " or more",
                    beyond);
  }
  findings->push_back(
      {"DEPTH_BEYOND_UNIT",
       beyond + ", which became no measurement; --depth-unit " + least_unit + " or more keeps them",
       field});
  return kMillimeterM;
}

}  // namespace interlacer
