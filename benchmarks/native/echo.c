#include "common.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_mode(int count, char **arguments, const char *mode, int operands)
{
	return count == 2 + operands && strcmp(arguments[1], mode) == 0;
}

static uint64_t positive_number(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);
	if (number == 0 || *end != '\0')
		fail("an argument is no positive number");
	return number;
}

int main(int count, char **arguments)
{
	end_with_parent();
	if (is_mode(count, arguments, "server", 1))
		return run_server(arguments[2]);
	if (is_mode(count, arguments, "client", 2))
		return run_client(arguments[2], (pid_t)positive_number(arguments[3]));
	if (is_mode(count, arguments, "pacer", 0))
		return run_pacer();
	if (is_mode(count, arguments, "spin", 1))
		return run_spin(positive_number(arguments[2]));
	fputs("usage: echo server PATH | client PATH SERVER_PID | pacer | spin SECONDS_MAX\n", stderr);
	return 2;
}
