// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include "gen.h"
#include "sass.h"
static const char *sheet = R"(
@mixin box($w, $c: #336699, $rest...) { width: $w; border: 1px solid darken($c, 10%); &:hover { color: lighten($c, 5%); @content; } }
@function fib($n) { @if $n < 2 { @return $n; } @return fib($n - 1) + fib($n - 2); }
$map: (small: 1px, medium: 10px, large: 2em); $list: 1px 2px, 3px; %base { margin: { left: auto; right: auto } padding: 0 }
@each $name, $size in $map { .#{$name} { @include box($size * 2) { top: $size; } @extend %base; width: calc(100% - #{$size}); } }
@for $i from 1 through 12 { .col-#{$i} { width: percentage($i / 12); order: fib($i); &.a > b ~ c + d { z-index: nth($list, 1 + $i % 2); } } }
$j: 6; @while $j > 0 { .w#{$j} { content: "\201C#{$j}"; color: mix(rgba(255, 0, 0, .5), hsl($j * 30, 60%, 50%), 25%); $j: $j - 2 !global } }
@media screen and (min-width: 100px) { .small { &::after { color: invert(#abc); @media print { display: none } } } }
@supports (display: grid) and (not (display: inline-grid)) { a { b: map-get($map, large); c: str-slice("abcdef", 2, 4) + to-upper-case(x); d: type-of($list) length($list) join($list, (4px, 5px)); e: if(1 == 1, round(2.6px), no); f: unquote("x") selector-nest(".a", "&.b"); } }
@at-root { .top, .#{"in" + "ter"} { &-x { @extend .col-1; } } } @font-face { font-family: "F"; src: url(a.woff) }
)";
static void run(const std::string &text, Sass_Output_Style style, bool indented = false) {
  Sass_Data_Context *d = sass_make_data_context(sass_copy_c_string(text.c_str())); Sass_Context *c = sass_data_context_get_context(d); Sass_Options *o = sass_context_get_options(c); sass_option_set_output_style(o, style); sass_option_set_precision(o, 6); sass_option_set_is_indented_syntax_src(o, indented); sass_compile_data_context(d); const char *out = sass_context_get_output_string(c);
  if (sass_context_get_error_status(c)) { std::string m = sass_context_get_error_message(c); printf("error %zu,%zu %s\n", sass_context_get_error_line(c), sass_context_get_error_column(c), m.substr(0, m.find('\n')).c_str()); } else printf("%zu -> %zu %016llx\n", text.size(), strlen(out), (unsigned long long)gen_hash(out, strlen(out), 0)); sass_delete_data_context(d);
}
int main() {
  std::string big = sheet; gen_rng r; gen_seed(&r, 52); char w[64], l[300]; for (int i = 0; i < 400; i++) { gen_word(gen_below(&r, 900), w); snprintf(l, sizeof l, ".%s-%d { &:not(.%s) { @include box(%dpx, rgb(%d, %u, 9)); } a, b { @extend .col-%d; c: %d + %d * 2; } }\n", w, i, w, i, i % 256, gen_below(&r, 256), 1 + i % 12, i, i % 7); big += l; }
  for (Sass_Output_Style s : {SASS_STYLE_NESTED, SASS_STYLE_EXPANDED, SASS_STYLE_COMPACT, SASS_STYLE_COMPRESSED}) run(s == SASS_STYLE_NESTED ? big : sheet, s); run("a\n  b: 1px + 2px\n  &:x\n    c: d\n", SASS_STYLE_EXPANDED, true);
  for (const char *bad : {"a { b: c", "a { @include none; }", "a { b: 1px + 1s; }", "@function f() { }\na { b: f(); }", "a { @extend .zz; }", "a { b: $x; }", "@if { }", "a { b: nth(1 2, 5); }", "@import 'none';", "}"}) run(bad, SASS_STYLE_EXPANDED);
  return 0;
}
