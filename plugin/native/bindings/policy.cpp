// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "core.h"
#include "python_error.h"

#include "../runtime/permitted.h"
#include "../runtime/policy_record.h"

namespace passpilot {

void bindPolicy(nb::module_ &M) {
  nb::class_<PolicyRecipe>(M, "PolicyRecipe")
      .def_ro("runners", &PolicyRecipe::Runners)
      .def_ro("pipeline", &PolicyRecipe::Pipeline)
      .def("options_for", &PolicyRecipe::optionsFor, nb::arg("triple"));
  nb::class_<PolicyRecord>(M, "PolicyRecord")
      .def_static(
          "parse",
          [](const std::string &Text) { return PolicyRecord::parse(Text); },
          nb::arg("text"))
      .def_static("find", &PolicyRecord::find, nb::arg("spec"),
                  nb::arg("plugin"))
      .def_static("places", &PolicyRecord::places, nb::arg("spec"),
                  nb::arg("plugin"))
      .def_ro("name", &PolicyRecord::Name)
      .def_prop_ro("recipe_count",
                   [](const PolicyRecord &P) { return P.Recipes.size(); })
      .def("who", &PolicyRecord::who)
      .def(
          "recipe",
          [](const PolicyRecord &P, const std::string &Spec) {
            std::string Error;
            const PolicyRecipe *R = P.recipe(Spec, Error);
            if (!R)
              raiseError("RunnerSpecError", Error);
            return *R;
          },
          nb::arg("spec"))
      .def(
          "runner",
          [](const PolicyRecord &P, const std::string &Spec,
             const std::string &Point) {
            std::string Error;
            std::string Runner = P.runner(Spec, Point, Error);
            if (!Error.empty())
              raiseError("RunnerSpecError", Error);
            return Runner;
          },
          nb::arg("spec"), nb::arg("point"))
      .def("refusal", &PolicyRecord::refusal, nb::arg("triple"));
  M.def("permitted_options", [] { return permittedOptions(); });
  M.def("permitted_passes", [] { return permittedPasses(); });
  M.def("permit_pass", &permitPass, nb::arg("name"));
  M.def("is_permitted_option", &isPermittedOption, nb::arg("text"));
  M.def("expected_value", &expectedValue, nb::arg("text"),
        "What a permitted option expects, if `text` sets it to a value that "
        "LLVM does not take; else empty.");
  M.def(
      "other_passes", &otherPasses, nb::arg("pipeline"),
      "The names in a pipeline that decision files and policies may not run.");
  M.attr("EXPECTED_OPTION") = ExpectedOption;
  M.attr("EXPECTED_PASS") = ExpectedPass;
}

} // namespace passpilot
