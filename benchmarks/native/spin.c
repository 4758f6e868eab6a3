#include "common.h"

enum { STEPS_BETWEEN_LOOKS = 100 * 1000 };

/* Uses a processor up until SIGTERM, whose default is to end the process, or until the time is over. */
int run_spin(uint64_t seconds_max)
{
	uint64_t end_ns = now_ns() + seconds_max * NANOSECONDS_PER_SECOND;
	/* The counter is volatile, or else the compiler would leave the loop out. */
	volatile uint64_t steps = 0;
	while (now_ns() < end_ns)
		for (int step = 0; step < STEPS_BETWEEN_LOOKS; step++)
			steps = steps + 1;
	return 0;
}
