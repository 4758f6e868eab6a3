import { describe, expect, it } from 'vitest';

import { coordinate, element, escapeXml, fitText, textElement, textWidth } from './svg-element.ts';

describe('escapeXml', () => {
	it('escapes what XML reads as markup', () => {
		expect(escapeXml(`<a b="c" d='e'>&amp;`)).toBe('&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;amp;');
	});

	it('replaces characters that XML does not allow, and no others', () => {
		expect(escapeXml('a\u0000b\u001bc\ud800d\ufffe')).toBe('a\ufffdb\ufffdc\ufffdd\ufffd');
		expect(escapeXml('µ × 😀\t')).toBe('µ × 😀\t');
	});
});

describe('elements', () => {
	it('escape attributes and text', () => {
		expect(element('g', { id: 'a"b' })).toBe('<g id="a&quot;b"/>');
		expect(textElement(1, 2, 'a < b')).toContain('>a &lt; b</text>');
	});

	it('round coordinates to one decimal, without a negative zero', () => {
		expect([1.25, 1.24, -0.01, 3].map(coordinate)).toEqual(['1.3', '1.2', '0', '3']);
	});
});

describe('fitText', () => {
	it('leaves a text that fits', () => expect(fitText('short', 12, 100)).toBe('short'));

	it('cuts a text that does not, within the width', () => {
		const fitted = fitText('a very long name of a processor', 12, 100);
		expect(fitted).toMatch(/^a very.*…$/);
		expect(textWidth(fitted, 12)).toBeLessThanOrEqual(100);
	});
});
