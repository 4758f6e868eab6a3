import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The processor cores this process may use, from /proc. */
export function allowedCores(): readonly number[] {
	return coresIn(readFileSync('/proc/self/status', 'utf8'));
}

/** The cores that a /proc/PID/status allows, such as `0-2,5`; core 0 alone if it says nothing. */
export function coresIn(status: string): readonly number[] {
	const line = /^Cpus_allowed_list:\s+(\S+)$/m.exec(status);
	return (line?.[1] ?? '0').split(',').flatMap((range) => {
		const [first = 0, last = first] = range.split('-').map(Number);
		return Array.from({ length: last - first + 1 }, (_, index) => first + index);
	});
}

/** Keeps every thread of a process on some cores. */
export function pin(pid: number, cores: readonly number[]): void {
	execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores.join(','), String(pid)], { stdio: 'ignore' });
}

/** Where the two processes of a contender run. */
export interface Placement {
	readonly server: readonly number[];
	readonly client: readonly number[];
}

/** Both on one core, on one each, or anywhere. The first core is left to the rest of the machine where there are enough. */
export function placements(cores: readonly number[]): Readonly<Record<'one' | 'two' | 'any', Placement>> {
	const [first = 0, second = first, third] = cores;
	const server = [third === undefined ? first : second];
	const client = [third ?? second];
	return { one: { server: client, client }, two: { server, client }, any: { server: cores, client: cores } };
}
