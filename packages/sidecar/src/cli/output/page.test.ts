import { describe, expect, it } from 'vitest';

import { type Look, Page, PLAIN, styled } from './page.ts';

const narrow = (width: number): Look => ({ ...PLAIN, width });
const marked: Look = { width: undefined, paint: (style, text) => `<${style}>${text}</>` };
/** As a terminal does it. */
const coloured: Look = { width: 30, paint: (_style, text) => `\u001b[31m${text}\u001b[39m` };

const ROWS = [
	['SERVED', 'INSTANCE', 'WHY'],
	['yes', 'n1/barista-1', 'all its checks pass'],
	['no', 'n2/b2', ''],
];

describe('a page', () => {
	it('has tables whose columns are aligned, without spaces at the ends of lines', () => {
		expect(
			new Page(PLAIN)
				.line('title')
				.line()
				.table(ROWS.slice(1), { titles: ROWS[0] as string[], indent: 2 })
				.toString()
				.split('\n'),
		).toEqual([
			'title',
			'',
			'  SERVED  INSTANCE      WHY',
			'  yes     n1/barista-1  all its checks pass',
			'  no      n2/b2',
		]);
	});

	it('leaves out a column of which no row has anything', () => {
		const rows = [
			['a', '', 'b'],
			['c', ''],
		];
		expect(new Page(PLAIN).table(rows, { titles: ['ONE', 'TWO', 'THREE'] }).toString()).toBe('ONE  THREE\na    b\nc');
	});

	it('wraps the widest cells where the terminal is narrow, and never breaks a line over its width', () => {
		const lines = new Page(narrow(34)).table(ROWS).toString().split('\n');
		expect(lines).toEqual([
			'SERVED  INSTANCE      WHY',
			'yes     n1/barista-1  all its',
			'                      checks pass',
			'no      n2/b2',
		]);
		const long = [['a'.repeat(100), 'b '.repeat(80), 'c']];
		for (const line of new Page(narrow(80)).table(long, { indent: 2 }).toString().split('\n'))
			expect(line.length).toBeLessThanOrEqual(80);
	});

	it('aligns by what is seen: colours take no room, wide letters take two', () => {
		const rows = [
			[styled('bad', 'no'), 'x'],
			['日本', 'y'],
		];
		expect(new Page(coloured).table(rows).toString().split('\n')).toEqual(['\u001b[31mno\u001b[39m    x', '日本  y']);
	});

	it('paints what is styled and lets no text steer the terminal', () => {
		const evil = '\u001b[31mred\n\u001b]52;c;AAAA\u0007';
		const text = new Page(marked)
			.line('a ', styled('good', evil), evil)
			.table([[[evil, styled('bad', 'b')]]])
			.toString();
		expect(text).not.toContain('\u001b');
		expect(text.split('\n')).toHaveLength(2);
		expect(text).toContain('a <good>\\u001b[31mred\\u000a');
		expect(text).toContain('<bad>b</>');
	});
});
