import { getEventListeners } from 'node:events';

import { expect, it } from 'vitest';

import { offAbort, onAbort, withAnySignal } from './abort-listeners.ts';

it('many listeners of a signal are one, told once and in order, and none is left', () => {
	const controller = new AbortController();
	const { signal } = controller;
	const told: number[] = [];
	const listeners = Array.from({ length: 5 }, (_, index) => () => {
		told.push(index);
		// What another ends is not told any more.
		if (index === 1) offAbort(signal, listeners[2] as () => void);
	});
	for (const listener of listeners) onAbort(signal, listener);
	onAbort(signal, { handleEvent: () => told.push(5) });
	expect(getEventListeners(signal, 'abort')).toHaveLength(1);
	offAbort(signal, listeners[0] as () => void);
	controller.abort();
	controller.abort();
	expect(told).toEqual([1, 3, 4, 5]);
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('nothing is left on a signal once the last listener is taken away', () => {
	const { signal } = new AbortController();
	const listener = (): void => undefined;
	for (let turn = 0; turn < 3; turn++) {
		onAbort(signal, listener);
		offAbort(signal, listener);
		offAbort(signal, listener);
		expect(getEventListeners(signal, 'abort')).toEqual([]);
	}
	offAbort(undefined, listener);
});

it('either of several signals aborts a call with its reason, and nothing is left on any', async () => {
	const [first, second] = [new AbortController(), new AbortController()];
	const signals = [first.signal, undefined, second.signal];
	expect(await withAnySignal(signals, async ({ aborted }) => aborted)).toBe(false);
	const reason = await withAnySignal(signals, async (either) => {
		second.abort('enough');
		return either.reason as unknown;
	});
	expect(reason).toBe('enough');
	expect(await withAnySignal(signals, async ({ aborted }) => aborted)).toBe(true);
	for (const { signal } of [first, second]) expect(getEventListeners(signal, 'abort')).toEqual([]);
});
