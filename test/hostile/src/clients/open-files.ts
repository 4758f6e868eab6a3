import { readFileSync } from 'node:fs';

/** How many files a process of this user may open, as Linux says; Node raises its own limit to that. */
export function openFilesMax(): number {
	const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
	return Number(soft ?? 1024);
}
