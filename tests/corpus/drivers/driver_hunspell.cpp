// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <fstream>
#include <string>
#include "gen.h"
#include "hunspell.hxx"
int main(int, char **argv) {
  const std::string folder = argv[1];
  const char *names[] = {"base", "affixes", "alias3", "allcaps_utf", "breakdefault", "checkcompoundpattern", "checksharpsutf", "circumfix", "complexprefixes2", "compoundrule4", "conditionalprefix", "flagnum", "fullstrip", "germancompounding", "IJ", "morph", "nosuggest", "oconv", "phone", "rep", "slash", "sug", "utfcompound", "zeroaffix"};
  uint64_t total = 0;
  for (const char *name : names) {
    const std::string stem = folder + "/" + name; Hunspell h((stem + ".aff").c_str(), (stem + ".dic").c_str()); uint64_t hash = 0; int right = 0, wrong = 0, offered = 0;
    for (const char *kind : {".good", ".wrong"}) { std::ifstream words(stem + kind); std::string word;
      while (std::getline(words, word)) { int info = 0; std::string root; const bool known = h.spell(word, &info, &root); (known ? right : wrong)++; hash = gen_hash(root.data(), root.size(), hash + info);
        auto list = h.suggest(word); if (known) for (const auto &each : h.stem(word)) list.push_back(each); for (const auto &each : h.analyze(word)) list.push_back(each); for (const auto &each : list) { hash = gen_hash(each.data(), each.size(), hash); offered++; } } }
    total += hash; printf("%s: %d right, %d wrong, %d offered, %016llx\n", name, right, wrong, offered, (unsigned long long)hash);
  }
  Hunspell h((folder + "/base.aff").c_str(), (folder + "/base.dic").c_str()); gen_rng r; gen_seed(&r, 53); int known = 0;
  for (int i = 0; i < 900; i++) { char w[64]; gen_word(gen_below(&r, 4000), w); if (i % 3 == 0) h.add(w); known += h.spell(w); if (i % 30 == 0) for (const auto &each : h.suggest(std::string(w) + "e")) total = gen_hash(each.data(), each.size(), total); }
  printf("%d known, %s, %016llx\n", known, h.get_dict_encoding().c_str(), (unsigned long long)total);
  return 0;
}
