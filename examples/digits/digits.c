/* Recognises digits without Python: images on standard input, the likeliest digit of each on standard output. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

enum { N_IMAGES = 360, N_PIXELS = 64, N_DIGITS = 10 };

int main(int argc, char **argv) {
  static uint8_t images[N_IMAGES * N_PIXELS];
  static float probabilities[N_IMAGES * N_DIGITS];
  if (fread(images, 1, sizeof images, stdin) != sizeof images) return 1;
  tenon_executor threads;
  if (digits_threads_start(&threads, argc > 1 ? atoi(argv[1]) : 0) != TENON_OK) return 2;
  int code = digits_run(images, probabilities, NULL, &threads);
  digits_threads_stop(&threads);
  if (code != TENON_OK) return 3;
  for (int image = 0; image < N_IMAGES; image++) {
    int best = 0;
    for (int digit = 1; digit < N_DIGITS; digit++) {
      if (probabilities[image * N_DIGITS + digit] > probabilities[image * N_DIGITS + best]) best = digit;
    }
    putchar('0' + best);
  }
  putchar('\n');
  return 0;
}
