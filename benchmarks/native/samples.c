#include "samples.h"

#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 20 };

static void reserve(struct samples *samples, size_t capacity)
{
	uint64_t *values = realloc(samples->values, capacity * sizeof *values);
	if (values == NULL)
		fail("no memory for samples");
	samples->values = values;
	samples->capacity = capacity;
}

void samples_clear(struct samples *samples)
{
	if (samples->capacity == 0) {
		reserve(samples, FIRST_CAPACITY);
		/* The pages are touched now, since a page fault in the measured window would be measured. */
		memset(samples->values, 0xff, FIRST_CAPACITY * sizeof *samples->values);
	}
	samples->count = 0;
}

void samples_add(struct samples *samples, uint64_t value)
{
	if (samples->count == samples->capacity)
		reserve(samples, samples->capacity * 2);
	samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right)
{
	uint64_t first = *(const uint64_t *)left;
	uint64_t second = *(const uint64_t *)right;
	return (first > second) - (first < second);
}

void samples_sort(struct samples *samples)
{
	qsort(samples->values, samples->count, sizeof *samples->values, compare);
}

uint64_t samples_percentile(const struct samples *samples, double fraction)
{
	if (samples->count == 0)
		return 0;
	double exact = fraction * (double)samples->count;
	size_t rank = (size_t)exact;
	/* The rank is rounded up by hand: ceil would need the mathematics library on the build line. */
	if ((double)rank < exact)
		rank++;
	if (rank == 0)
		rank = 1;
	return samples->values[rank - 1];
}
