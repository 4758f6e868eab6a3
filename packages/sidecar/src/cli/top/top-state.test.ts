import { describe, expect, it } from 'vitest';

import { FIRST_STATE, keysIn, press, type Shown, type TopState } from './top-state.ts';

const SHOWN: Shown = { rows: 10, page: 4, key: 'barista' };

function after(keys: readonly string[], from: Partial<TopState> = {}, shown = SHOWN): TopState | undefined {
	let state: TopState | undefined = { ...FIRST_STATE, ...from };
	for (const key of keys) state = state && press(state, key, shown);
	return state;
}

describe('the keys of top', () => {
	it('move the selection, never past the rows', () => {
		expect(after(['j', 'j', '\u001b[B', 'k'])?.selected).toBe(2);
		expect(after(['k', '\u001b[A'])?.selected).toBe(0);
		expect(after(['\u001b[6~', '\u001b[6~'])?.selected).toBe(8);
		expect([after(['G'])?.selected, after(['G', 'g'])?.selected]).toEqual([9, 0]);
		expect(after(['j'], { selected: 50 }, { ...SHOWN, rows: 3 })?.selected).toBe(2);
		expect(after(['j'], {}, { rows: 0, page: 4, key: undefined })?.selected).toBe(0);
	});

	it('change the tab, the order and the service', () => {
		expect(after(['\t'], { selected: 3 })).toMatchObject({ tab: 'connections', selected: 0 });
		expect(after(['\t', '\t', '\t'])?.tab).toBe('services');
		expect(after(['\u001b[Z'])?.tab).toBe('changes');
		expect(after(['s', 's'])?.orders.services).toBe(2);
		expect(after(['s', 's', 's', 's'])?.orders.services).toBe(0);
		expect(after(['\r'])).toMatchObject({ detail: 'barista', selected: 0 });
		expect(after(['\r', '\u001b'])?.detail).toBeUndefined();
		expect(after(['\r'], {}, { ...SHOWN, key: undefined })?.detail).toBeUndefined();
	});

	it('filter: letters are letters then, until enter or escape', () => {
		expect(after(['/', 'q', 's', 'j', '\u007f'])).toMatchObject({ filter: 'qs', isTyping: true });
		expect(after(['/', 'q', '\r'])).toMatchObject({ filter: 'q', isTyping: false });
		expect(after(['/', 'q', '\u001b'])).toMatchObject({ filter: '', isTyping: false });
		expect(after(['/', '\u001b[A', '\t'])?.filter).toBe('');
		expect(after(['/', 'a', '\r', '\u001b'])).toMatchObject({ filter: '', tab: 'services' });
		expect(after(['/', ...'x'.repeat(100)])?.filter).toHaveLength(64);
	});

	it('are explained by ?, until any key but Ctrl-C goes back', () => {
		expect(after(['?'])?.isHelp).toBe(true);
		expect(after(['?', 'q'])).toEqual(FIRST_STATE);
		expect(after(['?', '\u0003'])).toBeUndefined();
		expect(after(['/', '?'])).toMatchObject({ isHelp: false, filter: '?' });
	});

	it('end it: q, and Ctrl-C wherever one is', () => {
		expect(after(['q'])).toBeUndefined();
		expect(after(['/', '\u0003'])).toBeUndefined();
		expect(after(['z'])).toEqual(FIRST_STATE);
	});

	it('are told apart in what a terminal sends at once', () => {
		expect(keysIn('j\u001b[A\u001bOBq\u001b[5~é\u001b')).toEqual([
			'j',
			'\u001b[A',
			'\u001bOB',
			'q',
			'\u001b[5~',
			'é',
			'\u001b',
		]);
	});
});
