#ifndef ECHO_SAMPLES_H
#define ECHO_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Every latency is kept, so that a percentile is one that was measured and not the edge of a bucket. */
struct samples {
	uint64_t *values;
	size_t count;
	size_t capacity;
};

void samples_clear(struct samples *samples);
void samples_add(struct samples *samples, uint64_t value);
void samples_sort(struct samples *samples);

/* Returns the nearest-rank percentile of sorted samples, e.g. for 0.99, and 0 when there are none. */
uint64_t samples_percentile(const struct samples *samples, double fraction);

#endif
