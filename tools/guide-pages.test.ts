import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** The sentences of a page's prose: no code, no tables, and of links only their words. */
function sentencesOf(page: string): string[] {
	const prose = page
		.replace(/^```.*?^```$/gms, '')
		.replace(/^\|.*$/gm, '')
		.replace(/^#.*$/gm, '.')
		.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/`[^`]*`/g, 'code');
	return prose.split(/[.!?](?=\s)|\n\s*\n|^- /m).map((sentence) => sentence.trim());
}

it('the guide of events is read in ten minutes: 1,500 words, in sentences of at most 40', () => {
	const page = read('docs/guide/events.md');
	expect(page.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(1500);
	const long = sentencesOf(page).filter((sentence) => sentence.split(/\s+/).length > 40);
	expect(long).toEqual([]);
});

it('the reference of events has no sentence of more than 45 words', () => {
	const long = sentencesOf(read('docs/reference/events.md')).filter((sentence) => sentence.split(/\s+/).length > 45);
	expect(long).toEqual([]);
});

it('what left the guide of events is in its reference', () => {
	const reference = read('docs/reference/events.md');
	const guide = read('docs/guide/events.md');
	for (const anchor of guide.matchAll(/reference\/events\.md#([a-z-]+)/g)) {
		const headings = [...reference.matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
			text.toLowerCase().replaceAll(' ', '-'),
		);
		expect(headings).toContain(anchor[1]);
	}
});
