import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What happened in one pod. */
export interface PodStory {
	readonly title: string;
	readonly events: readonly { readonly afterMs: number; readonly what: string }[];
	/** All lookups of the app in its process. */
	readonly lookups: number;
	/** Calls over the wire, in tests that make some. */
	readonly calls: number;
	/** Of both. */
	readonly failed: number;
	/** The greatest age of an answer, in milliseconds; 0 if none was stale. */
	readonly longestAgeMs: number;
}

/** The file that the suite writes. */
const REPORT = fileURLToPath(new URL('../../../reports/kubelet.json', import.meta.url));

/** Puts a story into the report, in the place of an older one of the same title, and prints it. */
export function reportStory(story: PodStory): void {
	mkdirSync(dirname(REPORT), { recursive: true });
	const others = readStories().filter(({ title }) => title !== story.title);
	writeFileSync(REPORT, `${JSON.stringify([...others, story], null, 2)}\n`);
	const { title, events, lookups, calls, failed, longestAgeMs } = story;
	const lines = events.map(({ afterMs, what }) => `${(afterMs / 1000).toFixed(2).padStart(8)} s  ${what}`);
	const counts = `${lookups} lookups, ${calls} calls, ${failed} failed, greatest age ${Math.round(longestAgeMs)} ms`;
	process.stdout.write([title, ...lines, counts, ''].join('\n'));
}

function readStories(): PodStory[] {
	try {
		return JSON.parse(readFileSync(REPORT, 'utf8')) as PodStory[];
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
		throw error;
	}
}
