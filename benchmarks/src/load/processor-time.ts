import { readdirSync, readFileSync } from 'node:fs';

/**
 * Time that all threads of a process have had on a processor, in µs, from /proc (Linux only). The scheduler's own count,
 * in nanoseconds, and not the clock ticks of /proc/pid/stat, which are 10 ms.
 */
export function processorTimeUs(pid: number, proc: string = '/proc'): number {
	let nanoseconds = 0;
	for (const thread of readdirSync(`${proc}/${pid}/task`)) {
		try {
			nanoseconds += Number(readFileSync(`${proc}/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]);
		} catch (error) {
			// A thread that ends between the listing and the reading takes its time along.
			if ((error as NodeJS.ErrnoException).code !== 'ENOENT' && (error as NodeJS.ErrnoException).code !== 'ESRCH') {
				throw error;
			}
		}
	}
	return nanoseconds / 1000;
}

/** Resident memory of a process, in MB. */
export function residentMb(pid: number): number {
	const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
	return line === null ? 0 : Number(line[1]) / 1024;
}

/** The most memory that a process ever had resident, in MB. */
export function peakResidentMb(pid: number): number {
	const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
	return line === null ? 0 : Number(line[1]) / 1024;
}
