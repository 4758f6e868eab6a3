import { describe, expect, it } from 'vitest';

import { columnsOf, markdownTable } from './markdown.ts';

describe('markdownTable', () => {
	it('pads cells, figures to the right', () => {
		expect(
			markdownTable(columnsOf(1, ['Who', 'p50 µs']), [
				['a', '1'],
				['long name', '1,234,567'],
			]),
		).toBe(
			[
				'| Who       |    p50 µs |',
				'| --------- | --------: |',
				'| a         |         1 |',
				'| long name | 1,234,567 |',
			].join('\n'),
		);
	});

	it('escapes what would end a cell or a row, and fills missing cells', () => {
		expect(markdownTable(columnsOf(2, ['A', 'B']), [['x|y\nz']])).toContain('| x\\|y z |     |');
	});
});
