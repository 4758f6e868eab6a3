import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import { processorTimeUs } from './processor-time.ts';

/** What the machine's processors have done, in seconds, from /proc/stat in its ticks of 10 ms: https://man7.org/linux/man-pages/man5/proc_stat.5.html */
export function busySeconds(proc: string = '/proc'): number {
	const stat = readFileSync(`${proc}/stat`, 'utf8');
	const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = stat.slice(5).trim().split(/\s+/).map(Number);
	return (user + nice + system + irq + softirq) / 100;
}

/** What a process and all that it has started have done, in seconds; those that have ended too, once their parents know it. */
export function familySeconds(pid: number, proc: string = '/proc'): number {
	const children = new Map<number, number[]>();
	const endedSeconds = new Map<number, number>();
	for (const name of readdirSync(proc).filter((entry) => /^\d+$/.test(entry))) {
		const { parent, ended } = unlessGone(() => readStat(readFileSync(`${proc}/${name}/stat`, 'utf8')), NOBODY);
		children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
		endedSeconds.set(Number(name), ended);
	}
	const family = [pid];
	// Grows while it is walked.
	for (const member of family) family.push(...(children.get(member) ?? []));
	return family.reduce((sum, member) => {
		const own = unlessGone(() => processorTimeUs(member, proc), 0) / 1e6;
		return sum + own + (endedSeconds.get(member) ?? 0);
	}, 0);
}

/** Starts to watch; what it returns says which share of the processors was used, since then, by processes that are not of this one's family. */
export function watchOthers(): () => number {
	const take = (): { atMs: number; used: number } => ({
		atMs: performance.now(),
		used: busySeconds() - familySeconds(process.pid),
	});
	const before = take();
	return () => {
		const { atMs, used } = take();
		return Math.max(0, ((used - before.used) * 1000) / ((atMs - before.atMs) * availableParallelism()));
	};
}

const NOBODY = { parent: 0, ended: 0 };

/** The parent of a process, and the seconds of its children that have ended. Its name stands before them, in brackets, and may have any sign in it. */
function readStat(stat: string): { readonly parent: number; readonly ended: number } {
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	const [userTicks = 0, systemTicks = 0] = fields.slice(13, 15).map(Number);
	return { parent: Number(fields[1]), ended: (userTicks + systemTicks) / 100 };
}

/** A process that ends between the listing and the reading counts no more. */
function unlessGone<T>(read: () => T, otherwise: T): T {
	try {
		return read();
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'ENOENT' || code === 'ESRCH') return otherwise;
		throw error;
	}
}
