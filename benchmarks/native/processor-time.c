#define _GNU_SOURCE
#include "common.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first field of schedstat is the time on a processor in nanoseconds; getrusage and stat are coarser. */
static uint64_t thread_time_ns(int directory, const char *thread)
{
	char path[288];
	snprintf(path, sizeof path, "%s/schedstat", thread);
	int file = openat(directory, path, O_RDONLY | O_CLOEXEC);
	/* A thread may end between the listing and this line; its time is then not to be had. */
	if (file < 0)
		return 0;
	char text[128];
	ssize_t length = read(file, text, sizeof text - 1);
	close(file);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	return strtoull(text, NULL, 10);
}

uint64_t processor_time_ns(pid_t process)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/task", (long)process);
	DIR *tasks = opendir(path);
	if (tasks == NULL)
		fail_call("cannot read the processor time of a process");
	uint64_t total = 0;
	for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks))
		if (isdigit((unsigned char)task->d_name[0]))
			total += thread_time_ns(dirfd(tasks), task->d_name);
	closedir(tasks);
	return total;
}
