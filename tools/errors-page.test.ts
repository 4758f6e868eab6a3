import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, errorCodes, errorHelp } from '../packages/protocol/src/errors/error-code.ts';
import { DOCUMENTATION } from '../packages/protocol/src/foundation/documentation.ts';

const page = readFileSync(fileURLToPath(new URL('../docs/reference/errors.md', import.meta.url)), 'utf8');
/** Each with the half of the page that it is in, and whether it says that a retry can help. */
const sections = page.split(/^## /m).flatMap((half) =>
	half.split(/^### /m).map((section) => ({
		code: section.slice(0, section.indexOf('\n')),
		wire: half.startsWith('From the sidecar'),
		retryable: /Retry: yes/.test(section),
		text: section,
	})),
);

describe('docs/reference/errors.md', () => {
	it.each(Object.entries(errorCodes))('%s: has a section, as the code says', (code, { wire, retryable }) => {
		const section = sections.find((each) => each.code === code);
		expect(section).toMatchObject({ wire, retryable });
		expect(section?.text).toMatch(/Retry: (yes|no)/);
	});

	it.each(Object.keys(errorCodes) as ErrorCode[])('%s: its details.help leads to the heading', (code) => {
		const [file, anchor] = errorHelp(code).split('#');
		expect(file).toBe(`${DOCUMENTATION}/reference/errors.md`);
		// As GitHub, and the site of the documentation, make anchors of headings.
		const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
			heading
				.toLowerCase()
				.replaceAll(/[^\w -]/g, '')
				.replaceAll(' ', '-'),
		);
		expect(anchors.filter((each) => each === anchor)).toHaveLength(1);
	});

	it('has no other codes', () => {
		const named = [...page.matchAll(/^### (.+)$/gm)].map(([, code]) => code);
		expect(named.toSorted()).toEqual(Object.keys(errorCodes).toSorted());
	});
});
