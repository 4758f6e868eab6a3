#ifndef ECHO_COMMON_H
#define ECHO_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)
#define NANOSECONDS_PER_MILLISECOND UINT64_C(1000000)

/* Says on stderr what went wrong and exits with 1. */
_Noreturn void fail(const char *what);

/* Does the same for a system call that has just failed: errno says why. */
_Noreturn void fail_call(const char *what);

/* Returns CLOCK_MONOTONIC in nanoseconds: Node's process.hrtime reads it too, so that times can be handed over. */
uint64_t now_ns(void);

struct timespec to_timespec(uint64_t nanoseconds);

/* Returns when arrival `index` of a steady rate is due. It is counted from the start, so that rounding never adds up. */
uint64_t due_ns(uint64_t start_ns, uint64_t index, double rate_per_second);

/* No mode outlives the process that started it, whatever way that one ends. */
void end_with_parent(void);

/* Timers fire when they are due: the kernel otherwise gathers those within 50 microseconds into one wake-up. */
void make_timers_precise(void);

void write_fully(int descriptor, const void *bytes, size_t length);

/* Returns the processor time of all living threads of a process so far, as the scheduler counts it. */
uint64_t processor_time_ns(pid_t process);

int run_server(const char *path);
int run_client(const char *path, pid_t server);
int run_pacer(void);
int run_spin(uint64_t seconds_max);

#endif
