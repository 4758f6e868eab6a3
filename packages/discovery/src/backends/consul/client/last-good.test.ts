import { describe, expect, it } from 'vitest';

import type { DiscoveryEvent } from '../../../foundation/discovery-event.ts';
import { LastGood } from './last-good.ts';

function lastGood(value: string) {
	const events: string[] = [];
	const onEvent = (event: DiscoveryEvent): void => void events.push(event.type);
	const isSame = (before: string, now: string): boolean => before.trim() === now.trim();
	return { good: new LastGood({ what: 'secret', files: ['secret.txt'], onEvent, isSame }, value), events };
}

describe('what was good last', () => {
	it('is the very same until it changes, and each change is told', () => {
		const { good, events } = lastGood('one');
		good.accept('one ');
		expect(good.value).toBe('one');
		expect(events).toEqual([]);
		good.accept('two');
		expect(good.value).toBe('two');
		expect(events).toEqual(['credentials-loaded']);
	});

	it('stays in force while it is bad, which is told once for each way; that it is good again is told too', () => {
		const { good, events } = lastGood('one');
		good.refuse(new Error('missing'));
		good.refuse(new Error('missing'));
		expect(events).toEqual(['credentials-refused']);
		good.refuse(new Error('empty'));
		expect(good.value).toBe('one');
		good.accept('one');
		expect(events).toEqual(['credentials-refused', 'credentials-refused', 'credentials-loaded']);
	});
});
